/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * What the files of this room share: the table of moved pages, and its lock. All functions require
 * the lock, unless they say otherwise.
 */
#ifndef MAPPED_INSIDE_H
#define MAPPED_INSIDE_H

#include "base/lock.h"
#include "mapped/mapped.h"
#include "mapped/maps.h"
#include "session/session.h"
#include "../../platform/range.h"

/* Limit of ranges in the table, and of parts of one region that are to be moved. */
enum { MAPPED_RANGES = 4096, MAPPED_PARTS = 64 };
/* Entries that moves leave free, for ranges that are cut in two by munmap() and others. */
enum { MAPPED_SPARE = 256 };

/* Pages [start, end) are in the memory file of this session, at the offset `start`. */
struct mapped_range {
	struct session *session;
	u64 start, end;
	int prot;
	/* During a fork: a copy of the pages, for the child. */
	u8 *copy;
};

/* Held while pages are moved, and while the table is used; also during a fork. */
extern struct lock mapped_lock;
/* The first mapped_count entries are valid, and sorted by address. */
extern struct mapped_range mapped_range[MAPPED_RANGES];

/* ----------------------------------------------------------------- table.c */

/*
 * Around several changes that are one for mapped_surely_untouched(), which other threads call
 * without the lock. They nest.
 */
void mapped_change_table(void);
void mapped_table_changed(void);
/* Enter a range that overlaps no other. Returns false if the table is full. */
bool mapped_enter(struct session *s, u64 start, u64 end);
/* The same at index `i`, without merging it with its neighbours. */
bool mapped_insert(u32 i, const struct mapped_range *r);
/* Take [start, end) out of the table. If it is full, a rest is forgotten, too. */
void mapped_forget(u64 start, u64 end);
/* First range that ends after `addr`, or mapped_count. */
u32 mapped_first_after(u64 addr);
/* All ranges together. */
u64 mapped_bytes(void);
bool mapped_touches(u64 start, u64 end);
/* Are all these pages in the memory file of this session? */
bool mapped_covers(const struct session *s, u64 start, u64 end);
/*
 * Does the table certainly not touch [start, end)? Without the lock: an allocator may call munmap()
 * with a lock of its own held, for which the holder of ours may wait, as in a fork.
 */
bool mapped_surely_untouched(u64 start, u64 end);

/* ------------------------------------------------------------------ file.c */

/* Send VNET_MSG_MAP to the daemon. Returns 0 or a negative errno. */
int mapped_tell(struct session *s, u32 op, u32 why, u64 start, u64 end);
/* Obtain the memory file. Returns 0 or a negative errno. */
int mapped_open_file(struct session *s);
/* No page is in the memory file of this session. */
void mapped_close_file(struct session *s);
/* Give pages of the file back to the system: they read as zero from now on. */
void mapped_punch(const struct session *s, u64 start, u64 end);
/* The size of files is limited: a copy to the file would be answered by SIGXFSZ. */
bool mapped_files_are_limited(void);

/* ----------------------------------------------------------------- check.c */

/*
 * Compare the table with the mappings, and forget pages that the program has replaced. Returns 0, or
 * a negative errno if the mappings cannot be read: then the table may name replaced pages.
 */
int mapped_check(void);
/* Is this mapping part of the session's memory file, at its place? */
bool mapped_is_of(const struct session *s, const struct maps_entry *e);

/* ------------------------------------------------------------------ plan.c */

struct mapped_plan {
	struct session *session;
	u64 at, end;
	struct mapped_range part[MAPPED_PARTS];
	u32 nparts;
	/* enum vnet_unmapped; 0: the pages can be moved. */
	u32 why;
};

/* Find the parts of [p->at, p->end) that are to be moved; sets p->why if that is impossible. */
void mapped_make_plan(struct mapped_plan *p);

/* --------------------------------------------------------------- changes.c */

/* Read pages of the file into new private memory. Returns NULL if there is none. */
u8 *mapped_copy_out(const struct session *s, u64 start, u64 end);
/* Move such a copy to its address. Returns false, and changes nothing, if that is refused. */
bool mapped_put_copy(u8 *copy, u64 start, u64 end, int prot);

/*
 * The daemons of the sessions before `s` have ended, and no peer uses their memory files. Make the
 * pages private, so that they can be moved into the file of `s`; and close files without pages. A
 * process with several threads keeps the pages in the old file.
 */
void mapped_leave_before(const struct session *s);

#endif /* MAPPED_INSIDE_H */
