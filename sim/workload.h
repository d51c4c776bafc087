/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * What the processes of a random schedule do: random requests of all operations,
 * receives, polling, and what a program does about connections that failed.
 */
#ifndef SIM_WORKLOAD_H
#define SIM_WORKLOAD_H

#include "schedule.h"

#define MAX_ACTORS 8192

struct workload {
	struct random random;
	struct actor *actor[MAX_ACTORS];
	u32 nactors;
	/* Requests that are still to be posted. */
	u32 left;
	u32 total;
	/* All is posted and complete: programs return. */
	bool stop;
	/* Connections that are being taken down or made anew, and dead processes' things. */
	u32 repairs;
	/* Which one: older seeds mean what they meant. */
	u32 version;
	u32 deaths;
};

extern struct workload workload;

/* A process with its queues and buffers, on this node. */
struct actor *actor_new(struct node *node, u64 seed);
/* A connection between two; or an end for datagrams (b NULL). */
void make_ends(struct actor *a, struct actor *b, u8 type);
void actor_program(struct process *p, void *arg);
/* A process was killed: others go on, and another one comes. */
void actor_died(struct process *p);
/* Have somebody take this connection down and make it anew. */
void give_up(struct end *end);

#endif /* SIM_WORKLOAD_H */
