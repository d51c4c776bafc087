/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Measures ping-pong latency over a pair of connected sockets. */
#ifndef VNET_BENCH_PINGPONG_H
#define VNET_BENCH_PINGPONG_H

#include "options.h"

/* Maximum message size: the payload of a UDP datagram over IPv4. */
#define PINGPONG_MAX_SIZE 65507

/*
 * Runs opt->iters round trips between fds[0] and fds[1], in two processes, and prints the
 * one-way latency. Returns an exit status.
 */
int pingpong_run(const struct bench_options *opt, const int fds[2]);

#endif
