/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Management datagrams: what is sent and asked goes to the daemon. */
#ifndef UMAD_H
#define UMAD_H

#include "fdtable.h"

/* As the system calls. */
long umad_read(int fd, const struct fd_entry *entry, void *buffer, size_t count);
long umad_write(const struct fd_entry *entry, const void *buffer, size_t count);
long umad_ioctl(const struct fd_entry *entry, unsigned long request, void *argument);

#endif /* UMAD_H */
