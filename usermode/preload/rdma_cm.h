/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* The connection manager's file: its commands go to the daemon. */
#ifndef RDMA_CM_H
#define RDMA_CM_H

#include "fdtable.h"

/* write() of a command: as the system call. */
long rdma_cm_write(int fd, const struct fd_entry *entry, const void *buffer, size_t count);

#endif /* RDMA_CM_H */
