/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Which paths are the device's, and where they lead: the daemon keeps a tree
 * of files below the node's directory that looks as /sys and /dev would.
 */
#ifndef PATHS_H
#define PATHS_H

#include <limits.h>
#include <stdbool.h>

/* Could this path be the device's? By its looks alone; cheap. */
bool paths_candidate(const char *path);

/*
 * Where a candidate leads: a path in `buffer` (PATH_MAX bytes), or the path
 * itself when it is not the device's after all. Starts the daemon if need be.
 */
const char *paths_lead(const char *path, char *buffer);

/*
 * realpath() of where paths_lead() led, where the C library cannot tell it as it may not look
 * at all folders of the name: NULL if that is not so.
 */
char *paths_real(const char *led, char *resolved);

/* A name in the tree, as the program knows it: in place; others are kept. */
void paths_restore(char *path);

#endif /* PATHS_H */
