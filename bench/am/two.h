/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* A job of two processes: rank 0, the client, measures and prints; rank 1 serves. */
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

/*
 * Parses the command line into @opt, joins the job, and pins the process to its CPU (--cpus).
 * Ends the job if it does not have two processes.
 */
void two_open(struct two *two, int argc, char **argv, const struct bench_program *prog,
	      struct bench_options *opt);

/* Exchanges @size bytes with the other process. Ends the job on error. */
void two_swap(struct two *two, const void *mine, void *theirs, size_t size);

/* Waits for the other process. */
void two_meet(struct two *two);

void two_close(struct two *two);

/* Ends both processes. */
void two_fail(struct two *two, const char *format, ...)
	__attribute__((noreturn, format(printf, 2, 3)));

#endif
