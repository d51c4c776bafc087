/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* What the processes of a random schedule do, a file each; workload.c runs them. */
#ifndef SIM_ACTOR_H
#define SIM_ACTOR_H

#include "workload.h"

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

/* receives.c: post what is missing. */
void stock_all(struct actor *a);

/* requests.c: a few, on one queue pair that has room. */
void post_some(struct actor *a);

/* connections.c. Can requests be posted to it? */
bool is_usable(const struct end *e);
/* A process that connections can be made to. */
bool can_connect(const struct actor *a);
/* Is there room for another process? */
bool has_room(const struct node *node);
/* Connections to some that live, and an end for datagrams. */
void make_acquaintance(struct actor *a);
/* One that failed: down with it, and a new one. false: none has. */
bool repair_some(struct actor *a);

#endif /* SIM_ACTOR_H */
