/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* umad device files: management datagrams and registrations go to the daemon. */
#ifndef UMAD_H
#define UMAD_H

#include "session/fdtable.h"

/* Return as the system calls, errors as negative errno. */
long umad_read(int fd, const struct fd_entry *entry, void *buffer, size_t count);
long umad_write(const struct fd_entry *entry, const void *buffer, size_t count);
long umad_ioctl(const struct fd_entry *entry, unsigned long request, void *argument);

#endif /* UMAD_H */
