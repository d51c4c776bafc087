// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include <errno.h>
#include <stdbool.h>
#include <sys/mman.h>

#include "vnet.h"

/*
 * The agent is trusted, but an agent of another version could return a layout that leads outside of
 * the mapping.
 */
static bool plausible(const struct vnet_ring_info *info)
{
	uint64_t slots;

	if (!info->entries || info->entries & (info->entries - 1))
		return false;
	if (info->stride_shift < 4 || info->stride_shift > 16)
		return false;
	slots = (uint64_t)info->entries << info->stride_shift;
	return info->mmap_size >= VNET_RING_HDR_SIZE + slots;
}

/* Returns the ring's address if the agent has mapped it already, or NULL. */
static void *ring_in_place(const struct vnet_context *ctx, const struct vnet_ring_info *info)
{
	if (!ctx->gate.ring)
		return NULL;
	return ctx->gate.ring(ctx->gate_cookie, info->mmap_offset, info->mmap_size);
}

int vnet_ring_map(struct vnet_ring_map *map, const struct vnet_context *ctx,
		  const struct vnet_ring_info *info)
{
	void *addr;

	map->hdr = NULL;
	map->size = 0;
	if (!info->mmap_size)
		return 0;
	if (!plausible(info))
		return EPROTO;

	map->hdr = ring_in_place(ctx, info);
	if (map->hdr)
		return 0;
	addr = mmap(NULL, info->mmap_size, PROT_READ | PROT_WRITE, MAP_SHARED,
		    ctx->ibv_ctx.context.cmd_fd, (off_t)info->mmap_offset);
	if (addr == MAP_FAILED)
		return errno;
	map->hdr = addr;
	map->size = info->mmap_size;
	return 0;
}

void vnet_ring_unmap(struct vnet_ring_map *map)
{
	if (map->size)
		munmap(map->hdr, map->size);
	map->hdr = NULL;
}

int vnet_wq_init(struct vnet_wq *wq, const struct vnet_context *ctx,
		 const struct vnet_ring_info *info, uint32_t slot_size, bool skip_lock)
{
	int ret;

	vnet_lock_init(&wq->lock, skip_lock);
	ret = vnet_ring_map(&wq->map, ctx, info);
	if (ret)
		return ret;
	wq->ring = wq->map.hdr;
	if (!wq->ring)
		return 0;
	if (slot_size > 1u << info->stride_shift) {
		vnet_ring_unmap(&wq->map);
		return EPROTO;
	}

	wq->entries = info->entries;
	wq->stride_shift = info->stride_shift;
	wq->slots = (uint8_t *)wq->ring + VNET_RING_HDR_SIZE;
	/*
	 * Start at the ring's prod: its memory may have been used by another queue before, also of
	 * another thread.
	 */
	wq->prod = __atomic_load_n(&wq->ring->prod, __ATOMIC_RELAXED);
	wq->cons = wq->prod;
	return 0;
}

void vnet_wq_fini(struct vnet_wq *wq)
{
	vnet_ring_unmap(&wq->map);
}

bool vnet_wq_still_full(struct vnet_wq *wq, uint32_t prod)
{
	if (!wq->ring)
		return true;

	/*
	 * Acquire: pairs with the NIC's release of ring->cons, so that the NIC has read the slots
	 * before they are overwritten.
	 */
	wq->cons = __atomic_load_n(&wq->ring->cons, __ATOMIC_ACQUIRE);
	return prod - wq->cons >= wq->entries;
}
