/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* The two processors of a Split-C program that measures: 0 does so, 1 serves. */
#ifndef VNET_BENCH_SPLITC_SIDE_H
#define VNET_BENCH_SPLITC_SIDE_H

#include <splitc.h>

#include "options.h"

/*
 * Reads the command line into @opt, begins, and runs each processor where it was
 * told. The device and the mapping are those of the environment (SPLITC_SETTINGS).
 */
void side_open(int argc, char **argv, const struct bench_program *prog, struct bench_options *opt);

/* All: @size bytes at each processor. Those that are here, and where the other's are. */
void *side_memory(size_t size, splitc_gptr *theirs);

#endif
