/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Tells which pages of a process are in memory, by its page map.
 *
 * A copy of pages that are present does not sleep. A copy of an absent page of a file waits for the
 * file's server (FUSE, NFS), without a time limit, and no signal ends that wait. See Linux'
 * Documentation/admin-guide/mm/pagemap.rst.
 */
#ifndef PRESENCE_H
#define PRESENCE_H

#include <stdbool.h>

#include "layout/types.h"

/*
 * Returns a descriptor of the process' page map, or -errno (-ENOENT: the process has ended). The
 * caller closes it.
 */
int presence_open(u32 pid);

/*
 * Are all pages of [addr, addr + length) in memory? False for a process that has ended. True if the
 * map cannot be read: such memory is copied as if it were present.
 */
bool presence_of(int pagemap, u64 addr, u64 length);

#endif /* PRESENCE_H */
