/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Buffers of simulated processes, and what is in them: each message has bytes of its
 * own, and a buffer that nobody uses has bytes of its own too (and so have the gaps
 * behind all of them), so that whatever comes too late, twice, or elsewhere shows.
 */
#ifndef SIM_BUFFER_H
#define SIM_BUFFER_H

#include "process.h"

#define BUFFER_CLASSES 5
#define BUFFER_GAP 64

enum buffer_state {
	/* Has its own bytes. */
	BUFFER_FREE,
	BUFFER_USED,
	/* A request that used it failed: its own bytes, or (all or in part) those. */
	BUFFER_TAINTED,
};

struct buffer {
	struct buffer *next;
	struct process *process;
	/* Of the NIC, when its region was registered. */
	u64 life;
	u64 offset;
	u32 size;
	u32 class;
	/* Key of the region that it is in. */
	u32 key;
	enum buffer_state state;
	/* Tainted: whose bytes may be in it, and how many. */
	u64 taint;
	u32 taint_length;
};

/* A process' buffers, in regions one for each class. */
struct pool {
	struct process *process;
	u64 life;
	u32 key[BUFFER_CLASSES];
	u64 base[BUFFER_CLASSES], used[BUFFER_CLASSES], room[BUFFER_CLASSES];
	struct buffer *free[BUFFER_CLASSES];
	/* All that were ever used. */
	struct buffer **all;
	u32 n, space;
};

/*
 * Register regions, from `offset` of the process' memory; how much they take. Again
 * after a reset of the NIC: older buffers are not used any more.
 */
u64 pool_setup(struct pool *pool, struct process *p, u64 offset);
/* NULL: there is none for so many bytes. */
struct buffer *buffer_get(struct pool *pool, u32 length);
/* It has its own bytes again. */
void buffer_put(struct pool *pool, struct buffer *buffer);
/* Its request failed. id: whose bytes it may get; 0: nobody's. */
void buffer_taint(struct buffer *buffer, u64 id, u32 length);
/* No byte of it is another's. */
bool buffer_is_own(const struct buffer *buffer);
/* Its gap, and all of a free one, is as it should be; false, and told. */
bool buffer_check(const struct buffer *buffer);
/* All of a pool. */
void pool_check(const struct pool *pool);

/* The bytes of message id from `from`: write them, or compare. */
void bytes_fill(u8 *to, u32 length, u64 id, u64 from);
bool bytes_are(const u8 *at, u32 length, u64 id, u64 from);
/* Each byte of one of two. */
bool bytes_either(const u8 *at, u32 length, u64 id, u64 other);
/* A buffer's own. */
u64 buffer_id(const struct buffer *buffer);
u8 *buffer_memory(const struct buffer *buffer);
u64 buffer_address(const struct buffer *buffer);

#endif /* SIM_BUFFER_H */
