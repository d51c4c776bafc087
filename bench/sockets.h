/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Pairs of connected sockets over the loopback interface. */
#ifndef VNET_BENCH_SOCKETS_H
#define VNET_BENCH_SOCKETS_H

/* Both return 0, or say what failed and return -1. */
int tcp_pair(int fds[2]); /* without Nagle's delay */
int udp_pair(int fds[2]);

#endif
