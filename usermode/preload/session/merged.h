/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Folders of symbolic links that show the machine's own devices beside vnet's. They are in the
 * node's directory, for programs that want both (--with-host-devices).
 */
#ifndef MERGED_H
#define MERGED_H

#include <stdbool.h>

/* Update the links. The daemon's tree exists. */
void merged_update(void);

/*
 * If this path (without its leading slash) is such a folder itself, write the folder's location to
 * `buffer` (PATH_MAX bytes) and return true.
 */
bool merged_redirect(const char *path, char *buffer);

#endif /* MERGED_H */
