/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Two processes, each on its own CPU: the client measures, the server serves. */
#ifndef VNET_BENCH_PAIR_H
#define VNET_BENCH_PAIR_H

#include "options.h"

#include <sys/types.h>

struct pair {
	pid_t peer;
	int sync; /* stream socket to the peer, for pair_post() and so on */
};

typedef int (*pair_fn)(struct pair *pair, void *arg); /* returns an exit status */

/*
 * Forks the server, runs the client in the caller, ends both, and returns the
 * exit status of the two: 0 only if both succeeded. Whoever waits for a peer
 * that has died is told so by pair_await(), and nobody outlives the parent.
 */
int pair_run(const struct bench_options *opt, pair_fn server, pair_fn client, void *arg);

/* Meet the peer: one posts, the other awaits. 0, or -1 if the peer is gone. */
int pair_post(struct pair *pair);
int pair_await(struct pair *pair);

#endif
