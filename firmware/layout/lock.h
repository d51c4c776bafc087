/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Locks of NIC memory. A lock is only tried: after a brief spin the caller gives up and comes back
 * later, because the holder may be stopped, in a debugger, or dead.
 *
 * Order: sq_lock, rq.lock of a QP, rq.lock of its SRQ, then either the CQ and the channel, or
 * frame_lock and a row's lock, or row_lock. The locks of atomic operations are leaves, taken with
 * sq_lock held; the lock of the replay record is taken with no other lock held. Two operations try
 * a lock once in the reverse order, without a spin: an endpoint is loaded or evicted (another QP's
 * sq_lock under frame_lock), and a row is reclaimed (its lock under row_lock). See
 * doc/architecture.md, "Locks and death".
 */
#ifndef NIC_LOCK_H
#define NIC_LOCK_H

#include "nic.h"

/* Spins before giving up: some microseconds, several times a long hold. */
#define NIC_LOCK_SPINS 2000

bool nic_lock_slow(struct nic *nic, nic_lock_t *lock);

/* Acquire pairs with the exchange in nic_unlock(). */
static inline bool nic_trylock(struct nic *nic, nic_lock_t *lock)
{
	u32 free = 0;

	return __atomic_compare_exchange_n(lock, &free, nic->self, false, __ATOMIC_SEQ_CST,
					   __ATOMIC_RELAXED);
}

/* Try, with a brief spin. false: the lock is held by another. */
static inline bool nic_lock(struct nic *nic, nic_lock_t *lock)
{
	if (likely(nic_trylock(nic, lock)))
		return true;
	return nic_lock_slow(nic, lock);
}

/*
 * Unlock with a full barrier. Another process stores new work and then finds the lock taken (or
 * stores `arm` and then looks at the CQ); what the caller loads after this unlock includes that
 * store.
 */
static inline void nic_unlock(nic_lock_t *lock)
{
	nic_xchg(lock, 0);
}

/* Unlock if nothing is checked afterwards. Release pairs with the acquire of a try. */
static inline void nic_unlock_release(nic_lock_t *lock)
{
	nic_store_release(lock, 0);
}

static inline bool nic_holds(const struct nic *nic, const nic_lock_t *lock)
{
	return nic_load(lock) == nic->self;
}

#endif /* NIC_LOCK_H */
