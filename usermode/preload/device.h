/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Opened device files and sockets: connections to the daemon that the program holds. */
#ifndef DEVICE_H
#define DEVICE_H

#include "fdtable.h"

/* open() of this device: a descriptor, or negative errno. */
int device_open(u32 minor, int flags);
/* socket() of NETLINK_RDMA: the same; flags as for open(). */
int device_socket(u32 type, int flags);
/*
 * A descriptor that came from another process, or in a way that we did not see:
 * is it the device's? Then it is in the table from now on.
 */
bool device_adopt(int fd);
/* What fstat() says of an opened device file. */
void device_stat(struct stat *st, u32 minor);
/*
 * The session by which this process may use the file: another one than the
 * entry's where the process was forked since. 0 or negative errno.
 */
int device_session(const struct fd_entry *entry, struct session **session);

#endif /* DEVICE_H */
