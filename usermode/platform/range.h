/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Arithmetic of ranges: the smaller and the larger of two bounds, and whole pages. */
#ifndef RANGE_H
#define RANGE_H

#include "layout/types.h"

/* The smallest page. Code that depends on the kernel's page size calls sysconf(_SC_PAGESIZE). */
#define PAGE_BYTES 4096ull

static inline u64 smaller(u64 a, u64 b)
{
	return a < b ? a : b;
}

static inline u64 larger(u64 a, u64 b)
{
	return a > b ? a : b;
}

/* The start of the page of `addr`. */
static inline u64 page_floor(u64 addr)
{
	return addr & ~(PAGE_BYTES - 1);
}

/* `addr` itself, or else the start of the next page. */
static inline u64 page_ceiling(u64 addr)
{
	return page_floor(addr + PAGE_BYTES - 1);
}

#endif /* RANGE_H */
