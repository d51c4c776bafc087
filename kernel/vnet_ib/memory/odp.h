/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * On-demand paging, for the room memory: windows, shares of users, and requests for pages.
 * Addresses are those of the owning process. A file calls only files whose declarations are above
 * its own.
 *
 * Locks, outermost first: vnet_odp.fetching, vnet_window.lock; vnet_share.lock; vnet_odp.lock.
 * Copies read windows in a read section of an SRCU domain: vnet_copies_lock().
 */
#ifndef VNET_IB_MEMORY_ODP_H
#define VNET_IB_MEMORY_ODP_H

#include <linux/mmu_notifier.h>

#include "base/base.h"

#define VNET_WINDOW_SHIFT (PAGE_SHIFT + 9)
#define VNET_WINDOW_SIZE (1ull << VNET_WINDOW_SHIFT)
#define VNET_WINDOW_PAGES (1u << (VNET_WINDOW_SHIFT - PAGE_SHIFT))
static_assert(VNET_WINDOW_PAGES * sizeof(unsigned long) == PAGE_SIZE);

/*
 * Requests for pages of one region: outstanding ones, and ended ones whose failure is
 * remembered.
 */
#define VNET_FAULTS 16

struct vnet_window {
	struct mmu_interval_notifier notifier;
	struct vnet_odp *odp;
	u64 start;
	/* Protects the entries. May be taken with mmap_lock and reclaim locks held. */
	struct mutex lock;
	u32 present;
	unsigned long *entry;
	struct list_head ended;
};

enum vnet_fault_state {
	VNET_FAULT_FREE,
	VNET_FAULT_QUEUED,
	VNET_FAULT_RUNNING,
	/* Failed: these pages could not be brought. */
	VNET_FAULT_FAILED,
};

struct vnet_fault {
	u64 start, end;
	/* `order` is when it was queued, `began` when it was last executed (ns). */
	u64 order, began;
	enum vnet_fault_state state;
	bool write;
	/* Prefetch without waiting: no work request waits for it. */
	bool advice;
};

/* The windows of one user, in all processes and devices. */
struct vnet_share {
	struct list_head list;
	kuid_t user;
	u32 refs;
	atomic_long_t windows;
	/* Protects `regions`. */
	struct mutex lock;
	struct list_head regions;
};

struct vnet_odp {
	/* One reference of the region, and one of each prefetch. */
	refcount_t refs;
	struct vnet_dev *dev;
	struct workqueue_struct *wq;
	struct mm_struct *mm;
	bool writable;
	struct vnet_share *share;
	struct list_head of_user;
	struct xarray windows;
	/* Serializes changes of `windows`, and the use of pfns[]. */
	struct mutex fetching;
	unsigned long *pfns;
	/* Number of windows, and index from which the next eviction begins. */
	unsigned long nwindows, hand;
	spinlock_t lock;
	struct vnet_fault fault[VNET_FAULTS];
	u64 order;
	/* The region is ending: request and bring no more pages. Set under `lock`. */
	bool dying;
	struct work_struct work;
	/* Tasks for `work`: free empty windows; evict windows for another region of the user. */
	bool reap, yields;
};

enum vnet_fetch {
	/* Only look up pages that are present. */
	VNET_FETCH_NO_FAULT,
	VNET_FETCH_READ,
	VNET_FETCH_WRITE,
};

/* The end of the part of [start, end) that is in the window of `start`. */
static inline u64 vnet_part_end(u64 start, u64 end)
{
	return min_t(u64, end, round_down(start, VNET_WINDOW_SIZE) + VNET_WINDOW_SIZE);
}

/* -------------------------------------------------------------- odp_share.c */

/* Count one more window. Returns false, without a change, if the user's share is used up. */
bool vnet_window_charge(struct vnet_share *share);
void vnet_window_uncharge(struct vnet_share *share);
/* The share of the current user, with a reference, or NULL. */
struct vnet_share *vnet_share_get(void);
/* Drop a reference. */
void vnet_share_put(struct vnet_share *share);
void vnet_share_enter(struct vnet_share *share, struct vnet_odp *odp);
/* On return, no other region requests evictions from this one. */
void vnet_share_leave(struct vnet_odp *odp);

/* ------------------------------------------------------------- odp_window.c */

/* SRCU read section of a copy, from the look-up of on-demand pages to the end of their use. */
int vnet_copies_lock(void) __acquires(&vnet_copies);
void vnet_copies_unlock(int idx) __releases(&vnet_copies);
bool vnet_odp_is_there(struct vnet_odp *odp, u64 addr, u64 length, bool write);
/*
 * Returns the kernel address of the memory at `addr`, or NULL if it is not present. *have: in,
 * the bytes wanted; out, how many of them are contiguous. `checked`: vnet_odp_is_there() has
 * found the range present since vnet_copies_lock(); then a page that is being invalidated may
 * still be used.
 */
void *vnet_odp_at(struct vnet_odp *odp, u64 addr, bool write, bool checked, u64 *have);
/* The first address in [addr, end) whose page is not present, or `end`. */
u64 vnet_odp_missing(struct vnet_odp *odp, u64 addr, u64 end, bool write);
/* Returns an ERR_PTR() on failure; -ENOSPC: the user's share is used up. */
struct vnet_window *vnet_window_alloc(struct vnet_odp *odp, u64 start);
/* The window has been removed from odp->windows, and no copy uses it. */
void vnet_window_free(struct vnet_window *w);
/* Bring pages in one window. Returns 0, -EBUSY if they were invalidated repeatedly, or -errno. */
int vnet_window_fetch(struct vnet_window *w, u64 start, u64 end, enum vnet_fetch how);
/* Free the windows that have no pages, or all. Takes odp->fetching. */
void vnet_windows_end(struct vnet_odp *odp, bool all);
/*
 * Evict some windows, in round-robin order, whether they are used or not; at most half of them,
 * as a request may need several at once. The caller holds odp->fetching.
 */
void vnet_windows_evict(struct vnet_odp *odp);

/* -------------------------------------------------------------- odp_fetch.c */

/*
 * Bring the pages of a range, and wait for them. Returns 0, -EFAULT if a page cannot be brought,
 * -EINTR if the caller is killed, or another negative errno. Sleeps.
 */
int vnet_odp_prefetch(struct vnet_odp *odp, u64 addr, u64 length, enum vnet_fetch how);
/*
 * Bring pages in one window, if the process still exists. Memory is charged to the process'
 * cgroup. The end of the region, or of the process, waits for this call, so it brings one window
 * only. Returns 0, -EFAULT, -EINTR or another negative errno.
 */
int vnet_odp_bring(struct vnet_odp *odp, u64 start, u64 end, enum vnet_fetch how);

/* -------------------------------------------------------------- odp_fault.c */

/*
 * Request the pages of a range. Returns 0 if they are present; -EAGAIN if not yet: then the NIC
 * processor is woken later; -EFAULT if they could not be brought when it was tried at time
 * `since` (ktime_get_ns()) or later. since == U64_MAX: the request is advice. Any context.
 */
int vnet_odp_request(struct vnet_odp *odp, u64 addr, u64 length, bool write, u64 since);
void vnet_odp_work(struct work_struct *work);

/* --------------------------------------------------------------------- odp.c */

/*
 * On-demand memory of the calling process from address `start` on. access: enum ib_access_flags.
 * Returns an ERR_PTR() on failure.
 */
struct vnet_odp *vnet_odp_make(struct vnet_dev *dev, struct vnet_ucontext *uc, u64 start,
			       int access);
/*
 * Hold a reference during a prefetch, as the region may be deregistered or reregistered
 * meanwhile.
 */
void vnet_odp_get(struct vnet_odp *odp);
void vnet_odp_put(struct vnet_odp *odp);
/* Bring no more pages: the region is about to end. */
void vnet_odp_stop(struct vnet_odp *odp);
/* End the memory, after it has become unfindable. NULL is allowed. May sleep. */
void vnet_odp_free(struct vnet_odp *odp);
/* Whether it is memory of the calling process. */
bool vnet_odp_is_own(const struct vnet_odp *odp);

#endif /* VNET_IB_MEMORY_ODP_H */
