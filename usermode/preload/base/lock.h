/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * A spin lock between threads of this process, for short and rare sections. Signals are blocked
 * while it is held. Otherwise a signal handler of the program that uses the device could wait for
 * the thread that it interrupted.
 */
#ifndef LOCK_H
#define LOCK_H

#include <sched.h>
#include <time.h>

#include "base/sys.h"

struct lock {
	u32 taken;
};

/*
 * sched_yield() by a thread with a real-time priority does not let a thread of lower priority run,
 * which may hold the lock; so a longer wait sleeps.
 */
static inline void lock_wait(u32 tries)
{
	const struct timespec time = { .tv_nsec = 50000 };

	if (tries < 100)
		(void)sys(SYS_sched_yield);
	else
		(void)sys(SYS_nanosleep, &time, NULL);
}

static inline raw_sigset_t lock_take(struct lock *lock)
{
	raw_sigset_t saved = sys_block_signals();

	for (u32 tries = 0; __atomic_exchange_n(&lock->taken, 1, __ATOMIC_ACQUIRE); tries++)
		lock_wait(tries);
	return saved;
}

static inline void lock_release(struct lock *lock, raw_sigset_t saved)
{
	__atomic_store_n(&lock->taken, 0, __ATOMIC_RELEASE);
	sys_restore_signals(saved);
}

#endif /* LOCK_H */
