/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * A spin lock between threads of this process, for short and rare sections. Signals are blocked
 * while it is held. Otherwise a signal handler of the program that uses the device could wait for
 * the thread that it interrupted.
 */
#ifndef LOCK_H
#define LOCK_H

#include <sched.h>

#include "base/sys.h"

struct lock {
	u32 taken;
};

static inline raw_sigset_t lock_take(struct lock *lock)
{
	raw_sigset_t saved = sys_block_signals();

	while (__atomic_exchange_n(&lock->taken, 1, __ATOMIC_ACQUIRE))
		(void)sys(SYS_sched_yield);
	return saved;
}

static inline void lock_release(struct lock *lock, raw_sigset_t saved)
{
	__atomic_store_n(&lock->taken, 0, __ATOMIC_RELEASE);
	sys_restore_signals(saved);
}

#endif /* LOCK_H */
