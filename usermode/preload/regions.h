/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Memory regions against the protection of the pages below them. Peers reach
 * this process' memory by ways that ignore PROT_READ and PROT_NONE; they look
 * page by page where they are told that a program took rights away.
 */
#ifndef REGIONS_H
#define REGIONS_H

#include "session.h"

/* The process registered this range. */
void regions_note(u64 start, u64 length);
/* These pages have these rights (PROT_*) now. */
void regions_protected(const void *address, size_t length, int prot);

#endif /* REGIONS_H */
