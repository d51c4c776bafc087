/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Buffers of simulated processes, with byte patterns that reveal wrong writes. Each message has
 * a pattern of its own. Each buffer has one, too, which fills it while it is free, and always the
 * gap behind it. So data that is written late, twice or to a wrong place is detected.
 */
#ifndef SIM_BUFFER_H
#define SIM_BUFFER_H

#include "cluster/process.h"

#define BUFFER_CLASSES 5
#define BUFFER_GAP 64

enum buffer_state {
	/* Contains its own pattern. */
	BUFFER_FREE,
	BUFFER_USED,
	/*
	 * Its request failed: it may contain bytes of pattern `taint` besides its own; with
	 * taint 0, any bytes.
	 */
	BUFFER_TAINTED,
};

struct buffer {
	struct buffer *next;
	struct process *process;
	/* Life of the NIC in which its region was registered. */
	u64 life;
	u64 offset;
	u32 size;
	u32 class;
	/* Key of the region that contains it. */
	u32 key;
	enum buffer_state state;
	/* BUFFER_TAINTED: id of the pattern that may have been written, and its length. */
	u64 taint;
	u32 taint_length;
};

/* The buffers of a process. Each size class is a region. */
struct pool {
	struct process *process;
	u64 life;
	u32 key[BUFFER_CLASSES];
	u64 base[BUFFER_CLASSES], used[BUFFER_CLASSES], room[BUFFER_CLASSES];
	struct buffer *free[BUFFER_CLASSES];
	/* All buffers ever used. */
	struct buffer **all;
	u32 n, space;
};

/*
 * Register the regions of a pool, from `offset` of the process' memory. Returns the bytes used.
 * Called again after a reset of the NIC: buffers of its earlier life are not reused.
 */
u64 pool_setup(struct pool *pool, struct process *p, u64 offset);
/* Returns NULL if there is no free buffer of this size. */
struct buffer *buffer_get(struct pool *pool, u32 length);
/* Check a buffer, fill it with its own pattern, and free it. */
void buffer_put(struct pool *pool, struct buffer *buffer);
/* The request of a buffer failed. `id`: the pattern that may have been written; 0: any bytes. */
void buffer_taint(struct buffer *buffer, u64 id, u32 length);
/* Whether the whole buffer contains its own pattern. */
bool buffer_is_own(const struct buffer *buffer);
/* Check the gap and, by its state, the buffer. Returns false, after a violation, if one is wrong. */
bool buffer_check(const struct buffer *buffer);
/* Check all buffers of a pool. */
void pool_check(const struct pool *pool);

/* Write, or compare, the bytes of pattern `id` from position `from` on. */
void bytes_fill(u8 *to, u32 length, u64 id, u64 from);
bool bytes_are(const u8 *at, u32 length, u64 id, u64 from);
/* Whether each byte, from position 0, is that of one of the two patterns. */
bool bytes_either(const u8 *at, u32 length, u64 id, u64 other);
/* The id of a buffer's own pattern. */
u64 buffer_id(const struct buffer *buffer);
u8 *buffer_memory(const struct buffer *buffer);
u64 buffer_address(const struct buffer *buffer);

#endif /* SIM_BUFFER_H */
