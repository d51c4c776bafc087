/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * A process that outlives the launcher, to clean up behind it however it ends:
 * ends the process groups that still run, and removes the session's directory.
 */
#ifndef GUARD_H
#define GUARD_H

#include <sys/types.h>

#include "ranks.h"

struct guard {
	pid_t pid;
	int alive; /* end of a pipe, whose closing tells the guard of our end */
	pid_t *groups; /* MAX_RANKS; shared with the guard; 0: there is none */
};

/* Start it, before there are other threads. 0 or an errno value. */
int guard_open(struct guard *guard, const char *directory);

/* Have it clean up, and wait until it has. */
void guard_close(struct guard *guard);

#endif
