/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* This process' mappings, as /proc/self/maps and smaps show them. */
#ifndef MAPS_H
#define MAPS_H

#include <stdbool.h>
#include <sys/types.h>

#include "layout/types.h"

/* One mapping. */
struct maps_entry {
	u64 start, end;
	/* PROT_* */
	int prot;
	bool shared;
	u64 offset;
	/* Of its file; inode 0: none. */
	u32 major, minor;
	u64 inode;
	/* The rest of the line: "[heap]", a path, or "". */
	const char *name;
	/* Only with maps_read(details): flags that ordinary private anonymous memory lacks. */
	bool special;
};

/*
 * Calls the function for each mapping in the order of addresses, until it returns false. Allocates
 * nothing. Returns 0 or a negative errno.
 */
int maps_read(bool details, bool (*call)(const struct maps_entry *entry, void *arg), void *arg);

#endif /* MAPS_H */
