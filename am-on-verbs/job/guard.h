/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The guard: a process that cleans up after the launcher, however the launcher ends.
 *
 * It kills the process groups that still run, and removes the session's directory.
 */
#ifndef GUARD_H
#define GUARD_H

#include <sys/types.h>

#include "ranks.h"

struct guard {
	pid_t pid;
	int alive; /* write end of a pipe; the guard acts when it is closed */
	pid_t *groups; /* MAX_RANKS process groups, shared with the guard; 0: none */
};

/* Starts the guard. The process must not have other threads yet. 0 or an errno value. */
int guard_open(struct guard *guard, const char *directory);

/* Makes the guard clean up, and waits until it has ended. */
void guard_close(struct guard *guard);

#endif
