/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Output of the processes of a job, line by line, each prefixed with its rank.
 *
 * Output is read from the processes only as fast as it can be written.
 */
#ifndef OUTPUT_H
#define OUTPUT_H

#include <poll.h>

struct output;

/* Output of @ranks processes, to stdout and to @err. NULL: out of memory. */
struct output *output_open(int ranks, int err);

/*
 * Makes the pipes of one rank. *@out and *@err are the write ends, for the process; the
 * caller closes them afterwards. 0 or an errno value.
 */
int output_pipes(struct output *output, int rank, int *out, int *err);

/* Fills in the descriptors to poll, at most OUTPUT_FDS(ranks). Returns their number. */
#define OUTPUT_FDS(ranks) (2 * (ranks) + 2)
nfds_t output_poll_fds(struct output *output, struct pollfd *fds);

/* Handles the result of poll() for these descriptors. */
void output_handle(struct output *output, const struct pollfd *fds, nfds_t n);

/* Prints the remaining output, and waits until it is written. All processes have ended. */
void output_close(struct output *output);

#endif
