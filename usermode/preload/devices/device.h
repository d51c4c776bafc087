/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Opened device files and sockets: connections to the daemon that the program holds. */
#ifndef DEVICE_H
#define DEVICE_H

#include "session/fdtable.h"

/* open() of this device. Returns a descriptor or a negative errno. */
int device_open(u32 minor, int flags);
/* socket() of NETLINK_RDMA. Returns a descriptor or a negative errno; flags as for open(). */
int device_socket(u32 type, int flags);
/*
 * Check a descriptor that came from another process, or without our notice. If it belongs to the
 * device, enter it in the table and return true.
 */
bool device_adopt(int fd);
/* Change the result of fstat() to that of a device file. */
void device_stat(struct stat *st, u32 minor);
/*
 * Find the session by which this process may use the file. After a fork it is another one than the
 * entry's. Returns 0 or a negative errno.
 */
int device_session(const struct fd_entry *entry, struct session **session);

#endif /* DEVICE_H */
