// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Allocation of object numbers and of queue memory. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/falloc.h>
#include <stdlib.h>
#include <string.h>

#include "../../platform/range.h"
#include "objects.h"

/* ---------------------------------------------------------------- indices */

int uv_numbers_init(struct uv_numbers *numbers, u32 first, u32 count)
{
	u32 *fifo = calloc(count, sizeof(*fifo));

	*numbers = (struct uv_numbers){ .count = count, .pool.fifo = fifo };
	numbers->uses = calloc(count, sizeof(*numbers->uses));
	numbers->last = calloc(count, sizeof(*numbers->last));
	numbers->owner = calloc(count, sizeof(*numbers->owner));
	if (!fifo || !numbers->uses || !numbers->last || !numbers->owner) {
		uv_numbers_fini(numbers);
		return -ENOMEM;
	}
	nic_pool_init(&numbers->pool, fifo, first, count);
	return 0;
}

void uv_numbers_fini(struct uv_numbers *numbers)
{
	free(numbers->pool.fifo);
	free(numbers->uses);
	free(numbers->last);
	free(numbers->owner);
	*numbers = (struct uv_numbers){ 0 };
}

u32 uv_number_get(struct uv_numbers *numbers, void *owner)
{
	u32 index = nic_pool_take(&numbers->pool);

	if (index != NIC_NONE)
		numbers->owner[index] = owner;
	return index;
}

bool uv_number_claim(struct uv_numbers *numbers, u32 index, void *owner)
{
	if (!nic_pool_claim(&numbers->pool, index))
		return false;
	numbers->owner[index] = owner;
	return true;
}

void uv_number_put(struct uv_numbers *numbers, u32 index)
{
	numbers->owner[index] = NULL;
	numbers->uses[index]++;
	nic_pool_put(&numbers->pool, index);
}

u32 uv_number_use(const struct uv_numbers *numbers, u32 index)
{
	return numbers->uses[index];
}

void uv_number_own(struct uv_numbers *numbers, u32 index, void *owner)
{
	numbers->owner[index] = owner;
}

void *uv_number_owner(const struct uv_numbers *numbers, u32 index)
{
	return index < numbers->count ? numbers->owner[index] : NULL;
}

/* ---------------------------------------------------------------- numbers */

typedef enum nic_result number_draw_fn(struct nic *nic, u32 index, u32 last, u32 *number);

static int number_new(struct device *device, struct uv_numbers *numbers, number_draw_fn *draw,
		      void *owner, u32 *number)
{
	enum nic_result result;
	u32 index;

	result = nic_pool_draw(&device->nic, &numbers->pool, &index);
	if (result != NIC_OK)
		return uv_result(result);
	result = draw(&device->nic, index, numbers->last[index], number);
	if (result != NIC_OK) {
		nic_pool_put(&numbers->pool, index);
		return uv_result(result);
	}
	numbers->last[index] = *number;
	numbers->owner[index] = owner;
	return 0;
}

int uv_qpn_new(struct device *device, void *owner, u32 *qpn)
{
	return number_new(device, &device->alloc->qp, nic_qpn_draw, owner, qpn);
}

int uv_srqn_new(struct device *device, void *owner, u32 *srqn)
{
	return number_new(device, &device->alloc->srq, nic_srqn_draw, owner, srqn);
}

int uv_key_new(struct device *device, void *owner, u32 *key)
{
	return number_new(device, &device->alloc->mr, nic_key_draw, owner, key);
}

void uv_qpn_end(struct device *device, u32 qpn)
{
	uv_number_put(&device->alloc->qp, nic_qpn_index(&device->nic, qpn));
}

void uv_srqn_end(struct device *device, u32 srqn)
{
	uv_number_put(&device->alloc->srq, nic_srqn_index(&device->nic, srqn));
}

/* ----------------------------------------------------------- queue memory */

static void block_insert_free(struct uv_block *heap, struct uv_block *block)
{
	block->free = true;
	block->free_before = heap;
	block->free_after = heap->free_after;
	heap->free_after->free_before = block;
	heap->free_after = block;
}

static void block_remove_free(struct uv_block *block)
{
	block->free = false;
	block->free_before->free_after = block->free_after;
	block->free_after->free_before = block->free_before;
}

static void block_insert_after(struct uv_block *place, struct uv_block *block)
{
	block->before = place;
	block->after = place->after;
	place->after->before = block;
	place->after = block;
}

/* Merges a block with the free block that follows it. */
static void block_absorb_next(struct uv_block *block)
{
	struct uv_block *next = block->after;

	block_remove_free(next);
	block->size += next->size;
	block->after = next->after;
	next->after->before = block;
	free(next);
}

static int heap_init(struct uv_block *heap, u64 offset, u64 size)
{
	struct uv_block *block = calloc(1, sizeof(*block));

	*heap = (struct uv_block){
		.before = heap, .after = heap, .free_before = heap, .free_after = heap
	};
	if (!block)
		return -ENOMEM;
	block->offset = offset;
	block->size = page_floor(size);
	block_insert_after(heap, block);
	block_insert_free(heap, block);
	return 0;
}

static void heap_fini(struct uv_block *heap)
{
	struct uv_block *block, *next;

	for (block = heap->after; block != heap; block = next) {
		next = block->after;
		free(block);
	}
}

static struct uv_block *heap_find(struct uv_block *heap, u64 size)
{
	struct uv_block *block;

	for (block = heap->free_after; block != heap; block = block->free_after)
		if (block->size >= size)
			return block;
	return NULL;
}

struct uv_block *uv_heap_get(struct device *device, u64 size)
{
	struct uv_block *heap = &device->alloc->heap;
	struct uv_block *block, *rest;

	size = page_ceiling(size);
	block = heap_find(heap, size);
	if (!block)
		return NULL;
	if (block->size > size) {
		rest = calloc(1, sizeof(*rest));
		if (!rest)
			return NULL;
		rest->offset = block->offset + size;
		rest->size = block->size - size;
		block->size = size;
		block_insert_after(block, rest);
		block_insert_free(heap, rest);
	}
	block_remove_free(block);
	return block;
}

/* Punches a hole, which returns the pages to the system and zeroes the range. */
static void block_clear(struct device *device, const struct uv_block *block)
{
	int mode = FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE;

	if (fallocate(device->memory_fd, mode, (off_t)block->offset, (off_t)block->size) < 0)
		memset((u8 *)device->memory + block->offset, 0, block->size);
}

void uv_heap_put(struct device *device, struct uv_block *block)
{
	struct uv_block *heap = &device->alloc->heap;

	block_clear(device, block);
	block_insert_free(heap, block);
	if (block->after->free)
		block_absorb_next(block);
	if (block->before->free)
		block_absorb_next(block->before);
}

u32 uv_ceil_log2(u32 n)
{
	return n <= 1 ? 0 : 32 - (u32)__builtin_clz(n - 1);
}

void uv_ring_info(const struct uv_block *block, u32 entries, u32 stride_shift,
		  struct vnet_ring_info *info)
{
	*info = (struct vnet_ring_info){
		.mmap_offset = block->offset,
		.mmap_size = block->size,
		.entries = entries,
		.stride_shift = stride_shift,
	};
}

struct uv_block *uv_ring_get(struct device *device, u32 entries, u32 stride_shift)
{
	return uv_heap_get(device, VNET_RING_HDR_SIZE + ((u64)entries << stride_shift));
}

void uv_ring_put(struct uv_object *obj, struct uv_block *ring)
{
	struct client *client = obj->client;

	if (!obj->ctx->file->closing || client->dead) {
		uv_heap_put(obj->device, ring);
		return;
	}
	ring->device = obj->device;
	ring->next_mapped = client->mapped;
	client->mapped = ring;
}

void uv_rings_put_mapped(struct client *client)
{
	struct uv_block *ring;

	while ((ring = client->mapped)) {
		client->mapped = ring->next_mapped;
		uv_heap_put(ring->device, ring);
	}
}

/* ----------------------------------------------------------------- device */

static void numbers_fini_all(struct device_alloc *alloc)
{
	uv_numbers_fini(&alloc->qp);
	uv_numbers_fini(&alloc->cq);
	uv_numbers_fini(&alloc->srq);
	uv_numbers_fini(&alloc->mr);
	uv_numbers_fini(&alloc->channel);
	uv_numbers_fini(&alloc->pd);
	uv_numbers_fini(&alloc->ah);
	uv_numbers_fini(&alloc->xrcd);
	uv_numbers_fini(&alloc->table);
	uv_numbers_fini(&alloc->flow);
	uv_numbers_fini(&alloc->counters);
}

/* PD and XRCD numbers start at 1. Region index 0 could have key 0, which means none. */
static int numbers_init_all(struct device_alloc *alloc, const struct nic *nic)
{
	if (uv_numbers_init(&alloc->qp, 0, nic->max_qp) ||
	    uv_numbers_init(&alloc->cq, 0, nic->max_cq) ||
	    uv_numbers_init(&alloc->srq, 0, nic->max_srq) ||
	    uv_numbers_init(&alloc->mr, 1, nic->max_mr) ||
	    uv_numbers_init(&alloc->channel, 0, nic->max_channel) ||
	    uv_numbers_init(&alloc->pd, 1, UV_MAX_PD + 1) ||
	    uv_numbers_init(&alloc->ah, 0, UV_MAX_AH) ||
	    uv_numbers_init(&alloc->xrcd, 1, UV_MAX_XRCD + 1) ||
	    uv_numbers_init(&alloc->table, 1, UV_MAX_TABLES + 1) ||
	    uv_numbers_init(&alloc->flow, 0, NIC_MAX_FLOWS) ||
	    uv_numbers_init(&alloc->counters, 0, NIC_MAX_FLOW_COUNTERS))
		return -ENOMEM;
	return 0;
}

int uverbs_device_init(struct device *device)
{
	const struct nic *nic = &device->nic;
	struct device_alloc *alloc;
	int err;

	/* Queue pair numbers, SRQ numbers and keys need random bits above the index. */
	if (nic->max_qp > 1u << (NIC_QPN_BITS - 2) || nic->max_srq > 1u << (NIC_QPN_BITS - 2) ||
	    nic->max_mr < 2 || nic->max_mr >= NIC_KEY_CLAIMED >> NIC_KEY_TAG_BITS ||
	    nic->off_queue % PAGE_BYTES)
		return -EINVAL;
	alloc = calloc(1, sizeof(*alloc));
	if (!alloc)
		return -ENOMEM;
	err = numbers_init_all(alloc, nic);
	if (err)
		goto err_numbers;
	err = heap_init(&alloc->heap, nic->off_queue, nic->queue_bytes);
	if (err)
		goto err_numbers;
	device->alloc = alloc;
	return 0;

err_numbers:
	numbers_fini_all(alloc);
	free(alloc);
	return err;
}

void uverbs_device_fini(struct device *device)
{
	uv_channel_forget(device);
	heap_fini(&device->alloc->heap);
	numbers_fini_all(device->alloc);
	free(device->alloc);
	device->alloc = NULL;
}
