/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Memory that is paged on demand: what its windows, its users' shares, and requests for
 * its pages know of each other.
 */
#ifndef VNET_ODP_H
#define VNET_ODP_H

#include <linux/mmu_notifier.h>

#include "vnet_ib.h"

#define VNET_WINDOW_SHIFT (PAGE_SHIFT + 9)
#define VNET_WINDOW_SIZE (1ull << VNET_WINDOW_SHIFT)
#define VNET_WINDOW_PAGES (1u << (VNET_WINDOW_SHIFT - PAGE_SHIFT))
static_assert(VNET_WINDOW_PAGES * sizeof(unsigned long) == PAGE_SIZE);

/* What is asked for at a time, of a region; and how it ended, if not well. */
#define VNET_FAULTS 16

struct vnet_window {
	struct mmu_interval_notifier notifier;
	struct vnet_odp *odp;
	u64 start;
	/* Held by who changes entries; system locks may be held around it. */
	struct mutex lock;
	u32 present;
	unsigned long *entry;
	struct list_head ended;
};

enum vnet_fault_state {
	VNET_FAULT_FREE,
	VNET_FAULT_ASKED,
	VNET_FAULT_RUNS,
	/* These pages could not be had. */
	VNET_FAULT_LOST,
};

struct vnet_fault {
	u64 start, end;
	/* In which order they were asked for; when it was tried. */
	u64 order, began;
	enum vnet_fault_state state;
	bool write;
	/* Nobody waits for it. */
	bool advice;
};

/* What a user has of it all, by however many processes. */
struct vnet_share {
	struct list_head list;
	kuid_t user;
	u32 refs;
	atomic_long_t windows;
	/* Regions come and go, and are looked at. */
	struct mutex lock;
	struct list_head regions;
};

struct vnet_odp {
	/* Its region's, and those of who prefetches. */
	refcount_t refs;
	struct vnet_dev *dev;
	struct workqueue_struct *wq;
	struct mm_struct *mm;
	bool writable;
	struct vnet_share *share;
	struct list_head of_user;
	struct xarray windows;
	/* Windows come and go; pages are brought to pfns[]. */
	struct mutex fetching;
	unsigned long *pfns;
	/* How many there are; and where the next one is that goes for others. */
	unsigned long nwindows, hand;
	spinlock_t lock;
	struct vnet_fault fault[VNET_FAULTS];
	u64 order;
	/* Nothing is asked for any more, nor brought; set under the lock. */
	bool dying;
	struct work_struct work;
	/* Some window may have nothing any more; some are to go. */
	bool reap, yields;
};

/* Where the part of [start, end) ends that is in one window. */
static inline u64 vnet_part_end(u64 start, u64 end)
{
	return min_t(u64, end, round_down(start, VNET_WINDOW_SIZE) + VNET_WINDOW_SIZE);
}

/* ------------------------------------------------------------- odp_window.c */

/* The first page of [addr, end) that is not there; end: all are. */
u64 vnet_odp_missing(struct vnet_odp *odp, u64 addr, u64 end, bool write);
/* -ENOSPC: the user has as many as it may. */
struct vnet_window *vnet_window_alloc(struct vnet_odp *odp, u64 start);
/* Nobody finds it any more. */
void vnet_window_free(struct vnet_window *w);
/* Have the system bring a part of one window. */
int vnet_window_fetch(struct vnet_window *w, u64 start, u64 end, enum vnet_fetch how);
/* Windows go that have nothing, or all of them. */
void vnet_windows_end(struct vnet_odp *odp, bool all);
/*
 * Some go, whatever they have, in turn; not more than half of them, should requests need
 * several at once. The caller holds odp->fetching.
 */
void vnet_windows_yield(struct vnet_odp *odp);

/* -------------------------------------------------------------- odp_share.c */

/* One window more; false: the user has as many as it may. */
bool vnet_window_charge(struct vnet_share *share);
void vnet_window_uncharge(struct vnet_share *share);
/* That of the calling process' user, with another region; or NULL. */
struct vnet_share *vnet_share_get(void);
/* It has nothing of it any more. */
void vnet_share_put(struct vnet_share *share);
void vnet_share_enter(struct vnet_share *share, struct vnet_odp *odp);
/* Nobody wants anything of it from here on. */
void vnet_share_leave(struct vnet_odp *odp);
/*
 * The user has its share: that of its regions has some windows go which has most. 0: they
 * are gone; -ENOSPC: they will be; -ENOMEM: there are none. The caller holds odp->fetching,
 * and waits for no other region: that may have its pages brought by a process that waits.
 */
int vnet_share_yield(struct vnet_odp *odp);

/* -------------------------------------------------------------- odp_fault.c */

void vnet_odp_work(struct work_struct *work);

/* --------------------------------------------------------------------- odp.c */

/*
 * Have a part of one window brought, if the process is still there; what it takes is the
 * process' account. One window at a time: so long does the end of the process wait, or that
 * of the region.
 */
int vnet_odp_bring(struct vnet_odp *odp, u64 start, u64 end, enum vnet_fetch how);

#endif /* VNET_ODP_H */
