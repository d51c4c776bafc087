/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The process that dies or stops in the middle: it sends numbered messages to
 * two queue pairs of a survivor, one of which has a shared receive queue, and
 * does whatever else takes locks. It tells in shared memory how far it came.
 */
#ifndef VICTIM_H
#define VICTIM_H

#include "side.h"

#define SLOTS 64
#define SLOT_SIZE 8192
/* Behind the receives: a word to add to, and an area to write and read. */
#define WORD_AT (SLOTS * SLOT_SIZE)
#define AREA_AT (WORD_AT + 4096)
#define AREA_SIZE 8192
#define SURVIVOR_SIZE (AREA_AT + AREA_SIZE)

/* The two for messages, and one on which the survivor refuses something. */
enum { PLAIN, SHARED, QUEUES, REFUSED = QUEUES, SIDES };

/* What it knows to have happened: completions that it has seen. */
struct progress {
	uint32_t sent[QUEUES];
	uint32_t added;
	uint32_t refused;
};

/* From the survivor, beside the addresses. */
struct orders {
	/*
	 * Of a window of the survivor's, which the first message invalidates;
	 * told last of all, as the word to begin.
	 */
	uint32_t window_rkey;
	/* 0: until something fails. */
	uint32_t messages;
	uint8_t timeout;
	uint8_t retry_cnt;
};

/* Each message has a length of its own: in the CQE, small, large. */
static inline uint32_t message_length(uint32_t number)
{
	static const uint32_t lengths[] = { 8, 100, 5000, 80 };

	return lengths[number % 4];
}

/*
 * Start it, with these environment strings "NAME=value" (NULL ends them) in
 * addition to ours, and exchange nothing yet.
 */
void victim_start(struct helper *h, struct progress **progress, const char *const *environment);
/* What main() does with the arguments that victim_start() gave. */
int victim_main(int argc, char **argv);

#endif /* VICTIM_H */
