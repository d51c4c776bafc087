/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* A receive queue's ring, with its lock held. */
#ifndef NIC_RQ_H
#define NIC_RQ_H

#include "nic_internal.h"

/* NULL: its ring is not to be had. */
static inline struct vnet_ring *nic_rq_ring(struct nic *nic, const struct nic_rq *rq)
{
	if (!nic_slot_holds(rq->shift, VNET_RECV_HDR_SIZE, 0))
		return NULL;
	return plat_queue(nic, rq->ring, VNET_RING_HDR_SIZE + (((u64)rq->mask + 1) << rq->shift));
}

/* Receives that are posted and not taken; 0 for a nonsensical index too. */
static inline u32 nic_rq_look(struct nic_rq *rq, const struct vnet_ring *ring)
{
	u32 n;

	/*
	 * Pairs with the release of prod by the process that wrote the entry. Kept for
	 * who has the lock next, and for nic_expect(), which does not.
	 */
	nic_store(&rq->prod_seen, nic_load_acquire(&ring->prod));
	n = rq->prod_seen - rq->cons;
	return n <= rq->mask + 1 ? n : 0;
}

/*
 * The same; those that are known, as long as there are any: the receiver writes that
 * line whenever it posts. Who is to tell when few are left has to know.
 */
static inline u32 nic_rq_posted(struct nic_rq *rq, const struct vnet_ring *ring)
{
	u32 known = rq->prod_seen - rq->cons;

	if (likely(known - 1 <= rq->mask && !rq->limit))
		return known;
	return nic_rq_look(rq, ring);
}

#endif /* NIC_RQ_H */
