/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* The command line of the benchmark programs. */
#ifndef VNET_BENCH_OPTIONS_H
#define VNET_BENCH_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>

/* The options that a program takes; --help is always one of them. */
enum {
	BENCH_ITERS = 1 << 0,
	BENCH_SIZE = 1 << 1,
	BENCH_CPUS = 1 << 2,
	BENCH_SPIN = 1 << 3,
	BENCH_DEVICE = 1 << 4,
	BENCH_WINDOW = 1 << 5,
	BENCH_CURVES = 1 << 6,
};

struct bench_program {
	const char *purpose; /* for --help: what is measured, what is printed */
	unsigned int takes;
	size_t max_size;
};

struct bench_options {
	unsigned long iters;
	size_t size;
	int cpu[2]; /* of the client and of the server; -1: not pinned */
	bool spin;
	const char *device; /* "": the first */
	unsigned int window; /* requests that may be outstanding */
	bool curves;
};

/* Fills @opt, which holds the defaults. Exits for --help and for a wrong option. */
void bench_parse(int argc, char **argv, const struct bench_program *prog,
		 struct bench_options *opt);

#endif
