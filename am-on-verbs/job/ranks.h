/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The processes that the launcher started: one for each rank, each in a process
 * group of its own, which dies with the launcher.
 */
#ifndef RANKS_H
#define RANKS_H

#include <signal.h>
#include <stdbool.h>
#include <sys/types.h>

#define MAX_RANKS 256

struct rank_start {
	char **argv;
	char **env;
	int fds[3]; /* stdin, stdout, stderr of it */
	sigset_t mask; /* of signals */
};

/*
 * Start one; its process group has the same number. -1 and errno, which is
 * execve()'s where it is the program that cannot be run.
 */
pid_t rank_start(const struct rank_start *start);

/*
 * Next process that ended, 0 if there is none. It is a zombie until
 * rank_reap(), so that its number cannot be somebody else's yet.
 */
pid_t rank_next_ended(void);

/* End what a process left in its group, and take its wait status. */
int rank_reap(pid_t pid);

#endif
