/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Internal header of the random workload: posting of receives and requests, and connections.
 * workload.c calls these functions in the main loop of each process.
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

/* receives.c: post receives to all receive queues of a process, up to the intended number. */
void stock_all(struct actor *a);

/* requests.c: post a few random requests to one queue pair with room, and ring its doorbell. */
void post_some(struct actor *a);

/* connections.c: whether requests can be posted to this end. */
bool is_usable(const struct end *e);
/* Whether the process is alive and is not about to be killed. */
bool can_connect(const struct actor *a);
/* Whether the node is alive and its NIC has room for the objects of another process. */
bool has_room(const struct node *node);
/* Connect to some living processes, and create a UD queue pair. */
void connect_some(struct actor *a);
/* Replace one failed connection or UD queue pair. Returns false if none has failed. */
bool repair_some(struct actor *a);

#endif /* SIM_ACTOR_H */
