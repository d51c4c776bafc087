/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* A Split-C benchmark of two processors: processor 0 measures, processor 1 serves. */
#ifndef VNET_BENCH_SPLITC_SIDE_H
#define VNET_BENCH_SPLITC_SIDE_H

#include <splitc.h>

#include "options.h"

/*
 * Parses the command line into @opt, initialises Split-C, and pins each processor to its
 * CPU. Device and mapping are those of the environment (SPLITC_SETTINGS).
 */
void side_open(int argc, char **argv, const struct bench_program *prog, struct bench_options *opt);

/*
 * Collective: allocates @size bytes on each processor. Returns this processor's memory;
 * *@theirs is that of the other one.
 */
void *side_memory(size_t size, splitc_gptr *theirs);

#endif
