/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Commands to opened device files: handed to the daemon as they are. */
#ifndef UVERBS_H
#define UVERBS_H

#include "fdtable.h"

/* write() and the RDMA_VERBS_IOCTL ioctl: as the system call, negative errno. */
long uverbs_write(const struct fd_entry *entry, const void *buffer, size_t count);
long uverbs_ioctl(const struct fd_entry *entry, void *argument);

#endif /* UVERBS_H */
