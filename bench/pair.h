/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Runs a benchmark as two processes, client and server, which --cpus pins to CPUs. */
#ifndef VNET_BENCH_PAIR_H
#define VNET_BENCH_PAIR_H

#include "options.h"

#include <sys/types.h>

struct pair {
	pid_t peer;
	int sync; /* stream socket to the peer, for pair_post() and pair_await() */
};

typedef int (*pair_fn)(struct pair *pair, void *arg); /* returns an exit status */

/*
 * Forks the server, runs the client in the calling process, and waits for the server. Returns
 * an exit status: 0 only if both succeeded. If the server fails first, the calling process exits.
 * The server does not outlive its parent.
 */
int pair_run(const struct bench_options *opt, pair_fn server, pair_fn client, void *arg);

/* Synchronise with the peer: one posts, the other waits. 0, or -1 if the peer is gone. */
int pair_post(struct pair *pair);
int pair_await(struct pair *pair);

#endif
