/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * What a device hands out: numbers and queue memory. All of it is private
 * memory of the daemon.
 */
#ifndef UVERBS_ALLOC_H
#define UVERBS_ALLOC_H

#include "../vnetd.h"

/* Indices below `count`, and the objects that have them. */
struct uv_numbers {
	u32 count;
	struct nic_pool pool;
	/* How often each index was freed. */
	u32 *uses;
	/* The last number drawn for each index: see uv_qpn_new(). */
	u32 *last;
	/* What has the index now, NULL if it is free. */
	void **owner;
};

/* Indices below `first` are never given. */
int uv_numbers_init(struct uv_numbers *numbers, u32 first, u32 count);
void uv_numbers_fini(struct uv_numbers *numbers);
/* Take this index; false if it is in use. */
bool uv_number_claim(struct uv_numbers *numbers, u32 index, void *owner);
/* NIC_NONE if there is none left. */
u32 uv_number_get(struct uv_numbers *numbers, void *owner);
void uv_number_put(struct uv_numbers *numbers, u32 index);
/* How often the index was given out before: 0, 1, 2 ... */
u32 uv_number_use(const struct uv_numbers *numbers, u32 index);
void *uv_number_owner(const struct uv_numbers *numbers, u32 index);
/* An index that is given out gets another owner. */
void uv_number_own(struct uv_numbers *numbers, u32 index, void *owner);

/* A range of queue memory; blocks in order of address, and a list of the free. */
struct uv_block {
	/* From the start of NIC memory. */
	u64 offset;
	u64 size;
	bool free;
	struct uv_block *before, *after;
	struct uv_block *free_before, *free_after;
	/* Of a process that may have it mapped still: see uv_ring_put(). */
	struct device *device;
	struct uv_block *next_mapped;
};

struct device_alloc {
	struct uv_numbers qp, cq, srq, mr, channel, pd, ah, xrcd, table, flow, counters;
	/* Bytes of it that are device memory. */
	u64 dm_bytes;
	/* Head of both lists of blocks; itself empty. */
	struct uv_block heap;
	/* Every opened device file. */
	struct uctx *contexts;
	/* Closed channels that the NIC would not let go yet. */
	struct uv_channel *stuck_channels;
	/* Domains of extended reliable connections. */
	struct uv_domain *domains;
};

/* Zeroed queue memory, page aligned, of at least so many bytes; NULL: none. */
struct uv_block *uv_heap_get(struct device *device, u64 size);
/* Give back; whatever was in it is gone. Nobody may use it any more. */
void uv_heap_put(struct device *device, struct uv_block *block);

/*
 * Random numbers of new objects, which a peer cannot predict from other numbers. 0,
 * -ENOMEM if no index is free, or -EAGAIN without random bytes.
 */
int uv_qpn_new(struct device *device, void *owner, u32 *qpn);
int uv_srqn_new(struct device *device, void *owner, u32 *srqn);
int uv_key_new(struct device *device, void *owner, u32 *key);
void uv_qpn_end(struct device *device, u32 qpn);
void uv_srqn_end(struct device *device, u32 srqn);

#endif /* UVERBS_ALLOC_H */
