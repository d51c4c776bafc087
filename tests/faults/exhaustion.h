/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Fills the tables of a device with objects of one kind, until the verb fails. */
#ifndef EXHAUSTION_H
#define EXHAUSTION_H

#include <infiniband/verbs.h>

struct kind {
	const char *name;
	void *(*make)(void);
	int (*end)(void *made);
	/* The least number that must fit, and the errno of the call that fails. */
	int room;
	int error;
};

/*
 * Creates objects until the verb fails, checks that the device still works, and destroys them
 * all.
 */
void exhaust(const struct kind *kind);

/* Objects that others need at creation. */
struct exhausted {
	struct ibv_context *context;
	struct ibv_pd *pd;
	struct ibv_cq *cq;
};

/* The tables of XRC domains, device memory, work queues, flows, counters and multicast groups. */
void exhaust_tables(const struct exhausted *e);

#endif /* EXHAUSTION_H */
