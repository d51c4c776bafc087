/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Which pages of a process are in memory: what is there is copied at once, while a page
 * of a file may be waited for as long as its server does not answer (FUSE, NFS), and no
 * signal ends that. Linux' Documentation/admin-guide/mm/pagemap.rst.
 */
#ifndef PRESENCE_H
#define PRESENCE_H

#include <stdbool.h>

#include "layout/types.h"

/* The page map of a process, or -errno (-ENOENT: it is gone). The caller closes it. */
int presence_open(u32 pid);

/*
 * Are all pages of [addr, addr + length) in memory? None is of a process that is gone. Also
 * true where that cannot be read: such memory is copied as if it were there.
 */
bool presence_of(int pagemap, u64 addr, u64 length);

#endif /* PRESENCE_H */
