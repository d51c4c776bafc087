/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Folders in which the machine's own devices and vnet's stand side by side, for
 * programs that want both: folders of links, below the node's directory.
 */
#ifndef MERGED_H
#define MERGED_H

#include <stdbool.h>

/* Bring the links up to date. The daemon's tree is there. */
void merged_update(void);

/*
 * Is this path (from the root, without its first slash) such a folder itself?
 * Then where it is, in `buffer` (PATH_MAX bytes).
 */
bool merged_lead(const char *path, char *buffer);

#endif /* MERGED_H */
