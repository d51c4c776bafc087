/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Lists the entries of a folder without allocating memory. This also works in a signal handler, and
 * in a forked child of a multi-threaded process.
 */
#ifndef ENTRIES_H
#define ENTRIES_H

/*
 * Calls the function for the name of each entry except "." and "..". Returns 0 or a negative errno.
 */
int entries_each(const char *path, void (*call)(const char *name, void *arg), void *arg);

#endif /* ENTRIES_H */
