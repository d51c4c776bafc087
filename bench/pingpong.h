/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Ping-pong over a connected pair of sockets. */
#ifndef VNET_BENCH_PINGPONG_H
#define VNET_BENCH_PINGPONG_H

#include "options.h"

/* The largest message: what a datagram over IPv4 holds. */
#define PINGPONG_MAX_SIZE 65507

/*
 * Runs opt->iters round trips between fds[0] and fds[1], in two processes, and
 * prints the one-way time. Returns an exit status.
 */
int pingpong_run(const struct bench_options *opt, const int fds[2]);

#endif
