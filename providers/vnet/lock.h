/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The spin lock of a queue, held for some tens of nanoseconds.
 *
 * It is skipped for objects that their creator promised to use from one thread at a time (thread
 * domain, single-threaded CQ, VNET_SINGLE_THREADED). While the process has only one thread, the
 * lock is taken by a plain store. A second thread sees that store, because the first thread must
 * have created it afterwards.
 */
#ifndef VNET_LOCK_H
#define VNET_LOCK_H

#include <stdbool.h>
#include <stdint.h>

#include <infiniband/driver.h>

#if defined(__has_include) && __has_include(<sys/single_threaded.h>)
#include <sys/single_threaded.h>
#define vnet_one_thread() (__libc_single_threaded)
#else
#define vnet_one_thread() false
#endif

struct vnet_lock {
	uint32_t held;
	bool skip;
};

/* Implemented in vnet.c. */
void vnet_lock_slow(struct vnet_lock *lock);

static inline void vnet_lock_init(struct vnet_lock *lock, bool skip)
{
	lock->held = 0;
	lock->skip = skip;
}

/* Acquire: pairs with the release in vnet_unlock(). */
static inline bool vnet_trylock(struct vnet_lock *lock)
{
	return !__atomic_exchange_n(&lock->held, 1, __ATOMIC_ACQUIRE);
}

static inline void vnet_lock(struct vnet_lock *lock)
{
	if (lock->skip)
		return;
	if (vnet_one_thread())
		__atomic_store_n(&lock->held, 1, __ATOMIC_RELAXED);
	else if (unlikely(!vnet_trylock(lock)))
		vnet_lock_slow(lock);
}

/* Release: pairs with the acquire in vnet_trylock(). */
static inline void vnet_unlock(struct vnet_lock *lock)
{
	if (!lock->skip)
		__atomic_store_n(&lock->held, 0, __ATOMIC_RELEASE);
}

#endif /* VNET_LOCK_H */
