/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Two processes that have nothing to do with what goes wrong beside them: they
 * exchange data of all kinds and check every byte, and the memory around it.
 */
#ifndef BYSTANDERS_H
#define BYSTANDERS_H

#include "side.h"

struct bystanders {
	struct helper h[2];
	/* Shared memory: rounds that were made; and the word to stop. */
	struct watch {
		uint64_t rounds;
		uint32_t stop;
	} * watch;
	uint64_t seen;
};

void bystanders_start(struct bystanders *b);
/* Have they gone on since the last look? Dies if they do not. */
void bystanders_check(struct bystanders *b);
/* They end well. */
void bystanders_stop(struct bystanders *b);
/* The device has failed: they end as they like. */
void bystanders_abandon(struct bystanders *b);

/* A side whose buffer lies between memory that is not registered. */
struct guarded {
	struct side s;
	uint8_t *memory;
};

#define GUARD 65536

void guarded_open(struct guarded *g, const struct wish *wish);
/* Dies if anything around the buffer was written. */
void guarded_check(const struct guarded *g);
void guarded_close(struct guarded *g);

#endif /* BYSTANDERS_H */
