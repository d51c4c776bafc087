/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Reading a folder without memory to allocate, as may be needed in a signal
 * handler, or in a child of a process that had several threads.
 */
#ifndef ENTRIES_H
#define ENTRIES_H

/* Calls for the name of each entry, but "." and "..". 0 or negative errno. */
int entries_each(const char *path, void (*call)(const char *name, void *arg), void *arg);

#endif /* ENTRIES_H */
