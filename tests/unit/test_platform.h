/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The platform functions for unit tests. NIC memory and address spaces are plain memory of the
 * test process, the test controls the clock, and every access to a space is checked.
 */
#ifndef TEST_PLATFORM_H
#define TEST_PLATFORM_H

#include "nic.h"

#define TP_MAX_SPACES 8
#define TP_MAX_REGIONS 64
#define TP_MAX_CHANNELS 64

enum tp_rights {
	TP_READ = 1 << 0,
	TP_WRITE = 1 << 1,
};

/* A range of a space that copies may access, as the test registered it. */
struct tp_region {
	u32 space;
	u64 addr;
	u64 length;
	/* enum tp_rights; 0: not in use. */
	u32 rights;
};

/* An address space of `size` bytes, at addresses [start, start + size). */
struct tp_space {
	u8 *memory;
	u64 start;
	u64 size;
	bool gone;
	/* Injected faults: ranges that cannot be read or written. */
	u64 no_read, no_read_len;
	u64 no_write, no_write_len;
	/*
	 * A range that is not resident; number of fetches of it, and the `since` of the last
	 * one.
	 */
	u64 absent, absent_len;
	u32 fetches;
	u64 fetched_since;
	/* Time of the last failed attempt to bring the range; 0: none. */
	u64 lost_at;
};

/* State of the platform; initially all zero. Counters and readable[] are atomic. */
struct tp {
	void *memory;
	u64 memory_size;
	u64 off_queue;
	u64 queue_bytes;
	u64 clock;
	/* Use the machine's clock. */
	bool real_time;
	/* plat_random() fails. */
	bool no_random;
	struct tp_space space[TP_MAX_SPACES];
	/* If check_regions is set: all ranges that copies may access. */
	struct tp_region region[TP_MAX_REGIONS];
	bool check_regions;
	/*
	 * If not 0, all spaces are paged on demand: a piece of a copy is missing with
	 * probability 1 / pages_miss. A long copy may move a part before that.
	 */
	u32 pages_miss;
	u32 missed;
	u32 random;
	/* plat_resolve() succeeds for every GID; frames are lost. */
	bool resolves;
	/*
	 * A copy accessed memory outside of regions (or, without check_regions, outside of
	 * spaces).
	 */
	bool violated;
	u32 copies;
	u32 kicks;
	/* Whether the channel's descriptor is readable, and how often it became so. */
	bool readable[TP_MAX_CHANNELS];
	u32 readied[TP_MAX_CHANNELS];
	/* Processes cannot make channels readable, only the agent can. */
	bool unready;
	/* Number of events on a channel that was already readable. */
	u32 edges[TP_MAX_CHANNELS];
	/* Called at each numbered step, with its number. */
	void (*on_step)(int step);
	/* Called once, at the next look at the clock. */
	void (*on_clock)(void);
	/* Called in each iteration of a spin loop. */
	void (*on_relax)(void);
	/* Number of calls of plat_yield(), and whether it tells callers to leave. */
	u32 turns;
	bool leaves;
};

extern struct tp tp;

/* Bytes [addr, addr + length) of a space; NULL if the space does not have them. */
void *tp_memory(u32 space, u64 addr, u64 length);
void tp_allow(u32 space, u64 addr, u64 length, u32 rights);

#endif
