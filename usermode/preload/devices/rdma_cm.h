/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* The rdma_cm device file: its commands go to the daemon. */
#ifndef RDMA_CM_H
#define RDMA_CM_H

#include "session/fdtable.h"

/* write() of a command. Returns as the system call, errors as negative errno. */
long rdma_cm_write(int fd, const struct fd_entry *entry, const void *buffer, size_t count);

#endif /* RDMA_CM_H */
