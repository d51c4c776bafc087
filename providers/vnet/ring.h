/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Rings shared with the NIC: mapping them, and producing into those that the
 * process fills (send, receive and shared receive queues).
 */
#ifndef VNET_RING_H
#define VNET_RING_H

#include <stddef.h>
#include <stdint.h>

#include "lock.h"
#include "vnet-abi.h"
#include "vnet_hw.h"

/* A ring as it was mapped; hdr is NULL where an object has none. */
struct vnet_ring_map {
	struct vnet_ring *hdr;
	/* To be unmapped; 0 where the agent had it mapped already. */
	size_t size;
};

struct vnet_context;

/*
 * A queue that this process fills. prod runs ahead of the ring's while a batch
 * is built, under the lock; cons is the ring's as last seen.
 */
struct vnet_wq {
	struct vnet_lock lock;
	uint32_t prod;
	uint32_t cons;
	/* 0 where there is no ring: the queue is full at once. */
	uint32_t entries;
	uint32_t stride_shift;
	uint32_t max_sge;
	struct vnet_ring *ring;
	uint8_t *slots;
	struct vnet_ring_map map;
};

/* ring.c: 0 or an errno value */
int vnet_ring_map(struct vnet_ring_map *map, const struct vnet_context *ctx,
		  const struct vnet_ring_info *info);
void vnet_ring_unmap(struct vnet_ring_map *map);
int vnet_wq_init(struct vnet_wq *wq, const struct vnet_context *ctx,
		 const struct vnet_ring_info *info, uint32_t slot_size, bool skip_lock);
void vnet_wq_fini(struct vnet_wq *wq);
bool vnet_wq_still_full(struct vnet_wq *wq, uint32_t prod);

static inline void *vnet_wq_slot(const struct vnet_wq *wq, uint32_t index)
{
	return wq->slots + ((size_t)(index & (wq->entries - 1)) << wq->stride_shift);
}

/* No slot for entry `prod`; the caller holds the queue's lock. */
static inline bool vnet_wq_full(struct vnet_wq *wq, uint32_t prod)
{
	return unlikely(prod - wq->cons >= wq->entries) && vnet_wq_still_full(wq, prod);
}

/*
 * Hand the entries below `prod` to the NIC. Release: pairs with the NIC's
 * acquire of ring->prod, so that it reads entries that are whole.
 */
static inline void vnet_wq_publish(struct vnet_wq *wq, uint32_t prod)
{
	wq->prod = prod;
	__atomic_store_n(&wq->ring->prod, prod, __ATOMIC_RELEASE);
}

/*
 * A sender waits for a receive of this queue. Relaxed: the flag only shortens
 * the wait, the NIC's timer finds a receive whose doorbell was left out.
 */
static inline bool vnet_wq_needs_doorbell(const struct vnet_wq *wq)
{
	return __atomic_load_n(&wq->ring->need_doorbell, __ATOMIC_RELAXED);
}

#endif /* VNET_RING_H */
