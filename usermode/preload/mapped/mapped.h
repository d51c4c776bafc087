/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Mapped regions: the whole pages of registered memory are moved into this process' memory file,
 * which peers map, so that RDMA is a plain copy by its initiator ("Mapped regions" in
 * doc/architecture.md). The program must not notice: the functions below make fork(), munmap(),
 * madvise() and others do to such pages what they do to private ones.
 */
#ifndef MAPPED_H
#define MAPPED_H

#include <stddef.h>
#include <sys/types.h>

#include "base/sys.h"

/* Does this process have pages in a memory file? One load. */
extern u32 mapped_count;

/*
 * The program is about to register this range: move its pages, unless that is not wanted or not
 * possible. on_demand: the region is paged on demand.
 */
void mapped_register(u64 start, u64 length, bool on_demand);

/* State of a change of mappings by the program. */
struct mapped_change {
	bool active;
	u64 start, end;
	raw_sigset_t saved;
};

/*
 * Around munmap(), or mmap() with MAP_FIXED: peers use the pages no longer, and afterwards
 * (done: the call succeeded) the memory file gives them back.
 */
void mapped_change_begin(struct mapped_change *c, const void *address, size_t length);
void mapped_change_end(struct mapped_change *c, bool done);

/*
 * Make these pages private again, before a call that shared ones would not permit. Returns false if
 * there is no memory or no descriptor for that.
 */
bool mapped_make_private(const void *address, size_t length);

/* madvise() of a range with mapped pages: 0 or a negative errno. */
long mapped_madvise(void *address, size_t length, int advice);

/* Another process is about to run in this address space: wait for the end of a move, and begin no more. */
void mapped_share(void);

/*
 * Have fork() call the handlers below; called before any other library's are registered. So an
 * allocator's locks are taken before ours, as when it unmaps pages with such a lock held; and a
 * child has its pages before handlers of others run in it.
 */
void mapped_register_handlers(void);
/*
 * Around a fork: the child gets a private copy of mapped pages. fork() itself is followed by
 * handlers; these are for _Fork() and clone().
 */
void mapped_fork_begin(void);
void mapped_fork_parent(void);
void mapped_fork_child(void);

#endif /* MAPPED_H */
