/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* A memory registration: of the program's memory, or of a copy buffer. */
#ifndef AM_REGION_H
#define AM_REGION_H

#include "am_device.h"

struct am_region {
	struct am_region *next; /* most recently used first */
	struct ibv_mr *mr; /* NULL: registration in progress */
	uintptr_t begin, end;
	int access; /* access rights in addition to local read */
	unsigned int users;
	bool stale; /* not found in the cache again: the memory is unmapped, or not watched */
	bool copy; /* a buffer of am_copies.c */
};

#endif
