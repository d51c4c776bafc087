/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* The command line of the benchmark programs. */
#ifndef VNET_BENCH_OPTIONS_H
#define VNET_BENCH_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>

/* Options that a program may take. All take --help. */
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
	const char *purpose; /* for --help: what is measured and printed */
	unsigned int takes;
	size_t max_size;
};

struct bench_options {
	unsigned long iters;
	size_t size;
	int cpu[2]; /* CPUs of client and server; -1: not pinned */
	bool spin;
	const char *device; /* "": the first device */
	unsigned int window; /* limit of outstanding requests */
	bool curves;
};

/*
 * Parses the command line into @opt, which contains the defaults. Exits for --help and for
 * invalid options.
 */
void bench_parse(int argc, char **argv, const struct bench_program *prog,
		 struct bench_options *opt);

#endif
