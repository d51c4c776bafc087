/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * NETLINK_RDMA sockets, answered by the daemon. The program holds a Unix socket from which it reads
 * the answers as they are; requests, addresses and options are emulated here. The functions return
 * as the system calls, errors as negative errno.
 */
#ifndef PRELOAD_NETLINK_H
#define PRELOAD_NETLINK_H

#include <sys/uio.h>

#include "session/fdtable.h"

/* socket() */
int netlink_socket(int type);
/* Is the descriptor (still) such a socket? For descriptors whose fdtable_hint() is FD_NETLINK. */
bool netlink_is(int fd);

long netlink_send(const struct fd_entry *entry, const struct iovec *iov, size_t n);
/* The same, with an address (NULL: none), which can only be the kernel's. */
long netlink_send_to(const struct fd_entry *entry, const struct msghdr *msg, int flags);
long netlink_receive(int fd, struct msghdr *msg, int flags);
long netlink_read(int fd, void *buffer, size_t count);

int netlink_bind(const struct fd_entry *entry, const void *address, socklen_t length);
int netlink_connect(const struct fd_entry *entry, const void *address, socklen_t length);
int netlink_name(const struct fd_entry *entry, void *address, socklen_t *length);
/* The peer's address, which is always the kernel's. */
int netlink_peer(void *address, socklen_t *length);

/* Options whose values differ from those of a Unix socket. */
bool netlink_has_option(int level, int option);
int netlink_get_option(const struct fd_entry *entry, int level, int option, void *value,
		       socklen_t *length);
int netlink_set_option(const struct fd_entry *entry, int option, const void *value,
		       socklen_t length);

#endif /* PRELOAD_NETLINK_H */
