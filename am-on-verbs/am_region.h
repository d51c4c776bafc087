/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* A registration: of a program's memory, or of a buffer for copies. */
#ifndef AM_REGION_H
#define AM_REGION_H

#include "am_device.h"

struct am_region {
	struct am_region *next; /* the most recently used first */
	struct ibv_mr *mr; /* NULL: being registered */
	uintptr_t begin, end;
	int access; /* beyond reading by this device */
	unsigned int users;
	bool stale; /* its memory has gone, or cannot be watched: it is not found again */
	bool copy; /* its memory is a buffer of am_copies.c */
};

#endif
