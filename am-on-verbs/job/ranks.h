/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Starts and reaps the processes of a job, one per rank.
 *
 * Each process is in a process group of its own, and is killed if the launcher dies.
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
	int fds[3]; /* its stdin, stdout and stderr */
	sigset_t mask; /* its signal mask */
};

/*
 * Starts a process. Its process group id is its pid. Returns the pid, or -1 and errno,
 * which is that of execve() if the program cannot be run.
 */
pid_t rank_start(const struct rank_start *start);

/*
 * Returns the pid of the next process that has ended, or 0. The process stays a zombie
 * until rank_reap(), so its pid cannot be reused before.
 */
pid_t rank_next_ended(void);

/* Kills what is left of a process's group, and returns the wait status of the process. */
int rank_reap(pid_t pid);

#endif
