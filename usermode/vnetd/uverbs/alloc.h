/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Allocators of a device: object numbers and queue memory. All state is in private memory of the
 * daemon.
 */
#ifndef UVERBS_ALLOC_H
#define UVERBS_ALLOC_H

#include "vnetd.h"

/* A set of indices below `count`, and the objects that own them. */
struct uv_numbers {
	u32 count;
	struct nic_pool pool;
	/* How often each index was freed. */
	u32 *uses;
	/* The last number drawn for each index: see uv_qpn_new(). */
	u32 *last;
	/* The object that has the index; NULL: free. */
	void **owner;
};

/* Indices below `first` are never allocated. */
int uv_numbers_init(struct uv_numbers *numbers, u32 first, u32 count);
void uv_numbers_fini(struct uv_numbers *numbers);
/* Allocates this index. Returns false if it is in use. */
bool uv_number_claim(struct uv_numbers *numbers, u32 index, void *owner);
/* Allocates any index. Returns NIC_NONE if none is left. */
u32 uv_number_get(struct uv_numbers *numbers, void *owner);
void uv_number_put(struct uv_numbers *numbers, u32 index);
/* How often the index has been freed. */
u32 uv_number_use(const struct uv_numbers *numbers, u32 index);
void *uv_number_owner(const struct uv_numbers *numbers, u32 index);
/* Changes the owner of an allocated index. */
void uv_number_own(struct uv_numbers *numbers, u32 index, void *owner);

/* A range of queue memory. Blocks form a list in address order; free ones form a second list. */
struct uv_block {
	/* Offset in NIC memory. */
	u64 offset;
	u64 size;
	bool free;
	struct uv_block *before, *after;
	struct uv_block *free_before, *free_after;
	/* For rings that a process may still have mapped: see uv_ring_put(). */
	struct device *device;
	struct uv_block *next_mapped;
};

struct device_alloc {
	struct uv_numbers qp, cq, srq, mr, channel, pd, ah, xrcd, table, flow, counters;
	/* Bytes of queue memory that are used as device memory (DM). */
	u64 dm_bytes;
	/* Head of both lists of blocks; not a block itself. */
	struct uv_block heap;
	/* All open device files. */
	struct uctx *contexts;
	/* Closed channels that could not be destroyed yet, because their lock was held. */
	struct uv_channel *stuck_channels;
	/* XRC domains. */
	struct uv_domain *domains;
};

/* Allocates at least `size` bytes of zeroed, page-aligned queue memory; NULL if there is none. */
struct uv_block *uv_heap_get(struct device *device, u64 size);
/* Frees and clears a block. No process may use it any more. */
void uv_heap_put(struct device *device, struct uv_block *block);

/*
 * Draw random numbers for new objects, which a peer cannot predict from other numbers. Return 0,
 * -ENOMEM if no index is free, or -EAGAIN without random bytes.
 */
int uv_qpn_new(struct device *device, void *owner, u32 *qpn);
int uv_srqn_new(struct device *device, void *owner, u32 *srqn);
int uv_key_new(struct device *device, void *owner, u32 *key);
void uv_qpn_end(struct device *device, u32 qpn);
void uv_srqn_end(struct device *device, u32 srqn);

#endif /* UVERBS_ALLOC_H */
