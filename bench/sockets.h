/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Makes pairs of connected sockets on the loopback interface. */
#ifndef VNET_BENCH_SOCKETS_H
#define VNET_BENCH_SOCKETS_H

/* Both return 0, or print an error and return -1. */
int tcp_pair(int fds[2]); /* with TCP_NODELAY */
int udp_pair(int fds[2]);

#endif
