/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Tracks registered memory whose pages lose read or write permission. Peers access this process'
 * memory in ways that ignore PROT_READ and PROT_NONE. When the program takes permissions away from
 * a registered range, the region is marked, and peers check each page of marked regions.
 */
#ifndef REGIONS_H
#define REGIONS_H

#include "session/session.h"

/* The process has registered this range. */
void regions_note(u64 start, u64 length);
/* These pages now have these permissions (PROT_*). */
void regions_protected(const void *address, size_t length, int prot);

#endif /* REGIONS_H */
