/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The event loop: descriptors to watch, the time, and parked operations, which are retried until
 * they complete. Called by all rooms; calls none.
 */
#ifndef VNETD_LOOP_H
#define VNETD_LOOP_H

#include "vnetd.h"

/* ------------------------------------------------------------------ loop.c */

/* A descriptor in the epoll set. Embedded in a larger structure. */
struct source {
	int fd;
	/* NULL after removal: events that are already in the current batch are dropped. */
	void (*ready)(struct source *source, u32 events);
	/* Removed in this turn: list and memory that are freed at its end. */
	bool garbage;
	struct source *next_garbage;
	void *memory;
};

struct loop {
	int epoll_fd;
	struct source timer;
	u64 armed;
	struct source *garbage;
};

u64 clock_now(void);
int loop_init(struct loop *loop);
int loop_add(struct loop *loop, struct source *source, u32 events);
/* Switches level-triggered EPOLLIN on or off. Hang-ups are always reported. */
void loop_listen(struct loop *loop, struct source *source, bool on);
/* Replaces the events to watch. */
void loop_change(struct loop *loop, struct source *source, u32 events);
/*
 * Stops watching the source (idempotent). `memory`, which contains the source, is freed at the
 * end of this turn; NULL: nothing is freed.
 */
void loop_remove(struct loop *loop, struct source *source, void *memory);
/* Waits for events until `deadline`, and dispatches them. */
void loop_turn(struct loop *loop, u64 deadline);

/* ------------------------------------------------------------------ park.c */

/*
 * What a handler returns. A call that would have to wait is parked, and its handler is called again.
 * So a handler may run several times for one call; before it returns CALL_PARK, it must have
 * changed nothing, or only in an idempotent way.
 */
enum call_outcome {
	CALL_DONE,
	/* Call the handler again later (within a few milliseconds). */
	CALL_PARK,
};

/* An operation that is retried until it completes. */
struct parked {
	/* Returning CALL_DONE removes it from the list. */
	enum call_outcome (*retry)(struct parked *parked);
	u64 since;
	u64 due;
	bool queued;
	struct parked *prev, *next;
};

struct park {
	struct parked head;
};

void park_init(struct park *park);
void park_add(struct park *park, struct parked *parked);
void park_remove(struct parked *parked);
/* Whether any operation has been parked for at least `time`. */
bool park_waits(const struct park *park, u64 now, u64 time);
/* Retries operations that are due. Returns the time of the next call. */
u64 park_run(struct park *park, u64 now);

#endif /* VNETD_LOOP_H */
