/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Filling the tables of a device, one kind of object after the other. */
#ifndef EXHAUSTION_H
#define EXHAUSTION_H

#include <infiniband/verbs.h>

struct kind {
	const char *name;
	void *(*make)(void);
	int (*end)(void *made);
	/* How many there must be room for, at least; and why there are no more. */
	int room;
	int error;
};

/* Make as many as there can be, use the device, and give them all back. */
void exhaust(const struct kind *kind);

/* What objects are made of. */
struct exhausted {
	struct ibv_context *context;
	struct ibv_pd *pd;
	struct ibv_cq *cq;
};

/* The tables of domains, device memory, work queues, flows, counters and groups. */
void exhaust_tables(const struct exhausted *e);

#endif /* EXHAUSTION_H */
