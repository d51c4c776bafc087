/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* The random workload: processes that post, poll, repair connections, and execute chores. */
#ifndef SIM_WORKLOAD_H
#define SIM_WORKLOAD_H

#include "schedule.h"

#define MAX_ACTORS 8192

struct workload {
	struct random random;
	struct actor *actor[MAX_ACTORS];
	u32 nactors;
	/* Number of requests that remain to be posted. */
	u32 left;
	u32 total;
	/* All requests are complete: programs return. */
	bool stop;
	/*
	 * Number of connections that are being repaired, and of dead processes whose objects are
	 * being destroyed.
	 */
	u32 repairs;
	/* Version: with an older one, seeds keep their meaning. */
	u32 version;
	u32 deaths;
};

extern struct workload workload;

/* Create a process with queues and buffers on this node. */
struct actor *actor_new(struct node *node, u64 seed);
/* Create a connection of two processes or, with b NULL, a UD queue pair. */
void make_ends(struct actor *a, struct actor *b, u8 type);
void actor_program(struct process *p, void *arg);
/* process_died: let the agent destroy the objects of a killed process, and replace it. */
void actor_died(struct process *p);
/* Fail a connection, so that one of its processes repairs it. */
void give_up(struct end *end);

#endif /* SIM_WORKLOAD_H */
