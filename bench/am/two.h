/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The two processes of a job, each on its CPU: rank 0, the client, measures and
 * prints, rank 1 serves.
 */
#ifndef VNET_BENCH_TWO_H
#define VNET_BENCH_TWO_H

#include <stdbool.h>
#include <stddef.h>

#include "job.h"
#include "options.h"

struct two {
	struct job *job;
	bool client;
};

/* Reads the command line into @opt. Exits if this is not a job of two. */
void two_open(struct two *two, int argc, char **argv, const struct bench_program *prog,
	      struct bench_options *opt);

/* Gives @mine to the other process and gets @theirs. Ends the job if that fails. */
void two_swap(struct two *two, const void *mine, void *theirs, size_t size);

/* Waits for the other process. */
void two_meet(struct two *two);

void two_close(struct two *two);

/* Ends both processes. */
void two_fail(struct two *two, const char *format, ...)
	__attribute__((noreturn, format(printf, 2, 3)));

#endif
