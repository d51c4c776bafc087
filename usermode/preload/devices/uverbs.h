/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Commands of opened uverbs files: forwarded to the daemon unchanged. */
#ifndef UVERBS_H
#define UVERBS_H

#include "session/fdtable.h"

/* write() and the RDMA_VERBS_IOCTL ioctl. Return as the system calls, errors as negative errno. */
long uverbs_write(const struct fd_entry *entry, const void *buffer, size_t count);
long uverbs_ioctl(const struct fd_entry *entry, void *argument);

#endif /* UVERBS_H */
