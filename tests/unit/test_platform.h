/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The firmware's platform for tests: NIC memory and address spaces are plain
 * memory of this process, the clock stands still unless told, and every access
 * to a space is checked.
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

/* A range of a space that copies may touch, as the test registered it. */
struct tp_region {
	u32 space;
	u64 addr;
	u64 length;
	/* enum tp_rights; 0: not in use. */
	u32 rights;
};

/* An address space: `size` bytes that it calls [start, start + size). */
struct tp_space {
	u8 *memory;
	u64 start;
	u64 size;
	bool gone;
	/* Injected: bytes that cannot be read, or written. */
	u64 no_read, no_read_len;
	u64 no_write, no_write_len;
	/* Paged on demand: bytes that are not there; who asks for them, since when. */
	u64 absent, absent_len;
	u32 fetches;
	u64 fetched_since;
	/* When they were last tried to be brought, and could not be; 0: never. */
	u64 lost_at;
};

/*
 * The state of the platform; all zero means nothing happened yet. Counters and
 * readable[] are atomic.
 */
struct tp {
	void *memory;
	u64 memory_size;
	u64 off_queue;
	u64 queue_bytes;
	u64 clock;
	/* The clock is the machine's. */
	bool real_time;
	/* plat_random() has nothing. */
	bool no_random;
	struct tp_space space[TP_MAX_SPACES];
	/* With check_regions: all that copies may touch. */
	struct tp_region region[TP_MAX_REGIONS];
	bool check_regions;
	/*
	 * All spaces are paged on demand: one in so many copies finds a page missing, at
	 * random, which is there a try or a few later; or, one in so many of those, is
	 * missing when half is copied.
	 */
	u32 pages_miss;
	u32 missed;
	u32 random;
	/* Other nodes have every GID; what is sent there is lost. */
	bool resolves;
	/*
	 * A copy touched what was no region; without check_regions: what was no
	 * memory.
	 */
	bool violated;
	u32 copies;
	u32 kicks;
	/* As a descriptor: readable or not; how often it was made so. */
	bool readable[TP_MAX_CHANNELS];
	u32 readied[TP_MAX_CHANNELS];
	/* More events of what was readable. */
	u32 edges[TP_MAX_CHANNELS];
	/* Called at each numbered step, with its number. */
	void (*on_step)(int step);
	/* Called once, by who looks at the clock next. */
	void (*on_clock)(void);
	/* Called in each turn of a spin loop. */
	void (*on_relax)(void);
	/* Stretches of work after which others had their turn, and whether callers are to leave. */
	u32 turns;
	bool leaves;
};

extern struct tp tp;

/* Bytes [addr, addr + length) of a space; NULL where it has none. */
void *tp_memory(u32 space, u64 addr, u64 length);
void tp_allow(u32 space, u64 addr, u64 length, u32 rights);

#endif
