/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Maps the device's paths below /sys and /dev to the daemon's tree of files. The tree is in the
 * node's directory and looks like /sys and /dev on a machine with the device.
 */
#ifndef PATHS_H
#define PATHS_H

#include <limits.h>
#include <stdbool.h>

/* Could this path be the device's? Looks at the text only; cheap. */
bool paths_candidate(const char *path);

/*
 * Returns the path to use for a candidate: in `buffer` (PATH_MAX bytes), or `path` itself if it is
 * not the device's after all. Starts the daemon if necessary.
 */
const char *paths_redirect(const char *path, char *buffer);

/*
 * realpath() of a result of paths_redirect(), for paths through a held folder descriptor, where the C
 * library fails because it may not search all folders of the name. NULL if `led` is no such path.
 */
char *paths_real(const char *led, char *resolved);

/*
 * Convert a path inside the tree to the one that the program knows, in place. Other paths are not
 * changed.
 */
void paths_restore(char *path);

#endif /* PATHS_H */
