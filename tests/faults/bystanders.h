/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Bystanders: two processes that a fault does not concern and whose traffic must not be
 * disturbed. They exchange messages, RDMA writes and reads, and check every byte and the memory
 * around their buffers.
 */
#ifndef BYSTANDERS_H
#define BYSTANDERS_H

#include "side.h"

struct bystanders {
	struct helper h[2];
	/* In shared memory: completed rounds, and the request to stop. */
	struct watch {
		uint64_t rounds;
		uint32_t stop;
	} * watch;
	uint64_t seen;
};

void bystanders_start(struct bystanders *b);
/* Waits until a round was completed since the last check; ends the test if none is. */
void bystanders_check(struct bystanders *b);
/* Ends the bystanders regularly, and checks their exit status. */
void bystanders_stop(struct bystanders *b);
/* Kills the bystanders, after a failure of the device that may have ended them already. */
void bystanders_abandon(struct bystanders *b);

/* A side whose buffer lies between two areas of unregistered memory. */
struct guarded {
	struct side s;
	uint8_t *memory;
};

#define GUARD 65536

void guarded_open(struct guarded *g, const struct wish *wish);
/* Ends the test if the memory around the buffer was written. */
void guarded_check(const struct guarded *g);
void guarded_close(struct guarded *g);

#endif /* BYSTANDERS_H */
