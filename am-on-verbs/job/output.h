/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The processes' output, line by line, with the rank before each. Reading goes
 * on only as fast as somebody takes what is written.
 */
#ifndef OUTPUT_H
#define OUTPUT_H

#include <poll.h>

struct output;

/* For so many ranks, to stdout and to @err. NULL: no memory. */
struct output *output_open(int ranks, int err);

/*
 * Make the pipes of one rank, whose write ends are @out and @err for the process
 * and to be closed by the caller then. 0 or an errno value.
 */
int output_pipes(struct output *output, int rank, int *out, int *err);

/* Descriptors to poll, of which there are this many at most. */
#define OUTPUT_FDS(ranks) (2 * (ranks) + 2)
nfds_t output_poll_fds(struct output *output, struct pollfd *fds);

/* What poll() found of them. */
void output_handle(struct output *output, const struct pollfd *fds, nfds_t n);

/* All processes are gone: print what they left, and wait until it is taken. */
void output_close(struct output *output);

#endif
