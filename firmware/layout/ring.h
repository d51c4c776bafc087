/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Rings of send, receive and completion queues, which processes share with the firmware: their
 * addresses, checked at each use, and the producer index of receive queues.
 */
#ifndef NIC_RING_H
#define NIC_RING_H

#include "layout/lookup.h"

/* Check a ring: `entries` (a power of two) slots of 1 << shift bytes, in queue memory; or NULL. */
struct vnet_ring *nic_ring_check(struct nic *nic, u64 ring, u32 entries, u8 shift);
/* Ring of a send queue; NULL: it is not valid queue memory. */
struct vnet_ring *nic_sq_ring(struct nic *nic, const struct nic_qp *qp);

/* -- receive queues; the caller holds the lock */

/* NULL: the ring is not valid queue memory. */
static inline struct vnet_ring *nic_rq_ring(struct nic *nic, const struct nic_rq *rq)
{
	if (!nic_slot_holds(rq->shift, VNET_RECV_HDR_SIZE, 0))
		return NULL;
	return plat_queue(nic, rq->ring, VNET_RING_HDR_SIZE + (((u64)rq->mask + 1) << rq->shift));
}

/* Posted receives, read from the ring; 0 also if the producer index is invalid. */
static inline u32 nic_rq_look(struct nic_rq *rq, const struct vnet_ring *ring)
{
	u32 n;

	/*
	 * Pairs with the release of prod by the process that wrote the entry. Stored for the next
	 * holder of the lock, and for nic_receive_prefetch(), which takes no lock.
	 */
	nic_store(&rq->prod_seen, nic_load_acquire(&ring->prod));
	n = rq->prod_seen - rq->cons;
	return n <= rq->mask + 1 ? n : 0;
}

/*
 * Number of posted receives. While receives are left by the producer index that was read last, the
 * ring is not read: the receiver writes that cache line at each post, so a read would miss the
 * cache. A queue with a limit needs the exact number.
 */
static inline u32 nic_rq_posted(struct nic_rq *rq, const struct vnet_ring *ring)
{
	u32 known = rq->prod_seen - rq->cons;

	if (likely(known - 1 <= rq->mask && !rq->limit))
		return known;
	return nic_rq_look(rq, ring);
}

#endif /* NIC_RING_H */
