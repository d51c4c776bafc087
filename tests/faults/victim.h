/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The process that is killed or stopped during its operations (the victim). It sends numbered
 * messages to two queue pairs of the survivor, one of which has a shared receive queue, and
 * uses other operations that take locks. It counts completed operations in shared memory.
 */
#ifndef VICTIM_H
#define VICTIM_H

#include "side.h"

#define SLOTS 64
#define SLOT_SIZE 8192
/* Behind the receive buffers: a word for atomics, and an area for RDMA writes and reads. */
#define WORD_AT (SLOTS * SLOT_SIZE)
#define AREA_AT (WORD_AT + 4096)
#define AREA_SIZE 8192
#define SURVIVOR_SIZE (AREA_AT + AREA_SIZE)

/* The two queue pairs for messages, and one on which a request is refused. */
enum { PLAIN, SHARED, QUEUES, REFUSED = QUEUES, SIDES };

/* Numbers of completions that the victim has polled. */
struct progress {
	uint32_t sent[QUEUES];
	uint32_t added;
	uint32_t refused;
};

/* Sent by the survivor to the victim, beside the addresses. */
struct orders {
	/*
	 * rkey of a window of the survivor, which the first message invalidates. It is sent
	 * last, as the signal to start.
	 */
	uint32_t window_rkey;
	/* Number of messages; 0: until a request fails. */
	uint32_t messages;
	uint8_t timeout;
	uint8_t retry_cnt;
};

/* Lengths vary: data in the CQE, small, large. */
static inline uint32_t message_length(uint32_t number)
{
	static const uint32_t lengths[] = { 8, 100, 5000, 80 };

	return lengths[number % 4];
}

/*
 * Starts the victim with additional environment strings "NAME=value" (terminated by NULL). Does
 * not exchange addresses yet.
 */
void victim_start(struct helper *h, struct progress **progress, const char *const *environment);
/* main() of the victim, with the arguments that victim_start() has given. */
int victim_main(int argc, char **argv);

#endif /* VICTIM_H */
