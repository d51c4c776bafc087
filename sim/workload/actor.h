/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * What simulated processes do in a random schedule: receives, requests, connections. Each part
 * is a file of its own. workload.c runs them.
 */
#ifndef SIM_ACTOR_H
#define SIM_ACTOR_H

#include "workload/workload.h"

#define SRQ_ENTRIES 64
#define US 1000ull
#define MS 1000000ull

static inline u32 below(struct actor *a, u32 n)
{
	return random_below(&a->random, n);
}

static inline bool chance(struct actor *a, double p)
{
	return random_chance(&a->random, p);
}

/* receives.c: post receives up to the wanted number, on all queues. */
void stock_all(struct actor *a);

/* requests.c: post a few requests to a queue pair that has room. */
void post_some(struct actor *a);

/* connections.c: whether requests can be posted to this end. */
bool is_usable(const struct end *e);
/* Whether this process takes part in new connections. */
bool can_connect(const struct actor *a);
/* Whether the node has room for another process. */
bool has_room(const struct node *node);
/* Connect to some living processes, and create a datagram queue pair. */
void connect_some(struct actor *a);
/* Replace a failed connection: destroy it and make a new one. Returns false if none has failed. */
bool repair_some(struct actor *a);

#endif /* SIM_ACTOR_H */
