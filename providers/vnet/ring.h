/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Rings shared with the NIC: maps them, and posts entries to the send and receive queues.
 */
#ifndef VNET_RING_H
#define VNET_RING_H

#include <stddef.h>
#include <stdint.h>

#include "lock.h"
#include "vnet-abi.h"
#include "vnet_hw.h"

/* A mapped ring; hdr is NULL if the object has none. */
struct vnet_ring_map {
	struct vnet_ring *hdr;
	/* Size for munmap(); 0 if the agent had mapped it already. */
	size_t size;
};

struct vnet_context;

/*
 * A queue to which this process posts. While a batch is being built, under the lock, prod is ahead
 * of the ring's prod. cons is the last value read from the ring.
 */
struct vnet_wq {
	struct vnet_lock lock;
	uint32_t prod;
	uint32_t cons;
	/* 0 if there is no ring; then the queue is always full. */
	uint32_t entries;
	uint32_t stride_shift;
	uint32_t max_sge;
	struct vnet_ring *ring;
	uint8_t *slots;
	struct vnet_ring_map map;
};

/* ring.c: these return 0 or an errno value. */
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

/* Is there no slot for entry `prod`? The caller holds the queue's lock. */
static inline bool vnet_wq_full(struct vnet_wq *wq, uint32_t prod)
{
	return unlikely(prod - wq->cons >= wq->entries) && vnet_wq_still_full(wq, prod);
}

/*
 * Pass the entries below `prod` to the NIC. Release: pairs with the NIC's acquire of ring->prod, so
 * that it reads complete entries.
 */
static inline void vnet_wq_publish(struct vnet_wq *wq, uint32_t prod)
{
	wq->prod = prod;
	__atomic_store_n(&wq->ring->prod, prod, __ATOMIC_RELEASE);
}

/*
 * Does a sender wait for a receive in this queue? A relaxed load suffices: the doorbell only
 * shortens the wait, and the NIC's timer finds a receive without one.
 */
static inline bool vnet_wq_needs_doorbell(const struct vnet_wq *wq)
{
	return __atomic_load_n(&wq->ring->need_doorbell, __ATOMIC_RELAXED);
}

#endif /* VNET_RING_H */
