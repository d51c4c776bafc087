/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Slot sizes and construction of send and receive queues. */
#ifndef VNET_IB_VERBS_WQ_H
#define VNET_IB_VERBS_WQ_H

#include <linux/log2.h>

#include "queues/queues.h"

/* Number of SGEs granted for a slot with this room: at least the request, rounded up. */
static inline u32 vnet_grant_sges(u32 sges, u32 room)
{
	u32 most = min_t(u32, VNET_MAX_SGE, room / sizeof(struct vnet_sge));

	return min_t(u32, roundup_pow_of_two(max(sges, 1u)), most);
}

static inline int vnet_recv_wq_make(struct vnet_wq *wq, struct ib_ucontext *ucontext, u32 wrs,
				    u32 sges)
{
	u32 shift = ilog2(
		roundup_pow_of_two(VNET_RECV_HDR_SIZE + max(sges, 1u) * sizeof(struct vnet_sge)));

	spin_lock_init(&wq->lock);
	wq->prod = 0;
	wq->max_sge = vnet_grant_sges(sges, (1u << shift) - VNET_RECV_HDR_SIZE);
	return vnet_ring_make(&wq->mem, ucontext, roundup_pow_of_two(max(wrs, 1u)), shift);
}

/*
 * *max_inline: in, the requested inline size; out, the granted one, at least the room of the
 * SGEs.
 */
static inline int vnet_send_wq_make(struct vnet_wq *wq, struct ib_ucontext *ucontext, u32 wrs,
				    u32 sges, u32 *max_inline)
{
	u32 tail = max_t(u32, max(sges, 1u) * sizeof(struct vnet_sge), *max_inline);
	u32 shift = ilog2(roundup_pow_of_two(VNET_WQE_HDR_SIZE + tail));
	u32 room = (1u << shift) - VNET_WQE_HDR_SIZE;

	spin_lock_init(&wq->lock);
	wq->prod = 0;
	wq->max_sge = vnet_grant_sges(sges, room);
	*max_inline = min_t(u32, VNET_MAX_INLINE,
			    max_t(u32, *max_inline, wq->max_sge * sizeof(struct vnet_sge)));
	return vnet_ring_make(&wq->mem, ucontext, roundup_pow_of_two(max(wrs, 1u)), shift);
}

#endif /* VNET_IB_VERBS_WQ_H */
