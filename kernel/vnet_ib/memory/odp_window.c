// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Windows of on-demand paging: which pages of the process are present, in units of 2 MiB. Each
 * window has an MMU interval notifier, by which the kernel takes pages back. Copies read windows
 * under SRCU and never wait. The notifier waits for the copies that may use a page.
 */
#include <linux/hmm.h>
#include <linux/jiffies.h>
#include <linux/mm.h>
#include <linux/slab.h>
#include <linux/uaccess.h>

#include "odp.h"

#if !IS_ENABLED(CONFIG_HMM_MIRROR)
#error "vnet_ib has the system bring pages: it needs a kernel with CONFIG_INFINIBAND_ON_DEMAND_PAGING"
#endif

/* Windows that are evicted at a time. */
#define VNET_EVICT_BATCH 32

DEFINE_STATIC_SRCU(vnet_copies);

/* Flags in the low bits of an entry. The rest is the page's kernel address. */
enum vnet_entry {
	/* The page is not being invalidated. */
	VNET_ENTRY_VALID = 1 << 0,
	VNET_ENTRY_WRITE = 1 << 1,
};

/* ----------------------------------------------------------------- look-ups */

int vnet_copies_lock(void) __acquires(&vnet_copies)
{
	return srcu_read_lock(&vnet_copies);
}

void vnet_copies_unlock(int idx) __releases(&vnet_copies)
{
	srcu_read_unlock(&vnet_copies, idx);
}

static u32 vnet_window_page(u64 addr)
{
	return (addr & (VNET_WINDOW_SIZE - 1)) >> PAGE_SHIFT;
}

/*
 * Whether a copy may use an entry. checked: this copy has found it valid since
 * vnet_copies_lock(). Then it may use the page even if it is being invalidated, as the notifier
 * waits for the copy.
 */
static bool vnet_entry_fits(unsigned long entry, bool write, bool checked)
{
	if (write && !(entry & VNET_ENTRY_WRITE))
		return false;
	return checked ? entry & PAGE_MASK : entry & VNET_ENTRY_VALID;
}

void *vnet_odp_at(struct vnet_odp *odp, u64 addr, bool write, bool checked, u64 *have)
{
	const struct vnet_window *w = xa_load(&odp->windows, addr >> VNET_WINDOW_SHIFT);
	u64 n = PAGE_SIZE - offset_in_page(addr);
	u32 i = vnet_window_page(addr);
	unsigned long entry, next;

	entry = w ? READ_ONCE(w->entry[i]) : 0;
	if (!vnet_entry_fits(entry, write, checked))
		return NULL;
	for (next = entry; n < *have && ++i < VNET_WINDOW_PAGES; n += PAGE_SIZE) {
		next = (next & PAGE_MASK) + PAGE_SIZE;
		if ((READ_ONCE(w->entry[i]) & PAGE_MASK) != next ||
		    !vnet_entry_fits(READ_ONCE(w->entry[i]), write, checked))
			break;
	}
	*have = min(n, *have);
	return (void *)(entry & PAGE_MASK) + offset_in_page(addr);
}

u64 vnet_odp_missing(struct vnet_odp *odp, u64 addr, u64 end, bool write)
{
	u64 have;

	while (addr < end) {
		have = end - addr;
		if (!vnet_odp_at(odp, addr, write, false, &have))
			return addr;
		addr += have;
	}
	return end;
}

bool vnet_odp_is_there(struct vnet_odp *odp, u64 addr, u64 length, bool write)
{
	return vnet_odp_missing(odp, addr, addr + length, write) == addr + length;
}

/* ----------------------------------------------------------- invalidation */

/* Copies that begin from now on do not use these entries. */
static void vnet_window_close(struct vnet_window *w, u32 first, u32 end)
{
	u32 i;

	lockdep_assert_held(&w->lock);
	for (i = first; i < end; i++)
		WRITE_ONCE(w->entry[i], w->entry[i] & ~VNET_ENTRY_VALID);
}

static void vnet_window_forget(struct vnet_window *w, u32 first, u32 end)
{
	u32 i;

	lockdep_assert_held(&w->lock);
	for (i = first; i < end; i++) {
		unsigned long entry = w->entry[i];

		if (!entry)
			continue;
		/* As the hardware marks a page that it writes by page tables. */
		if (entry & VNET_ENTRY_WRITE)
			set_page_dirty(virt_to_page((void *)(entry & PAGE_MASK)));
		WRITE_ONCE(w->entry[i], 0);
		w->present--;
	}
}

static bool vnet_window_has(const struct vnet_window *w, u32 first, u32 end)
{
	while (first < end && !w->entry[first])
		first++;
	return first < end;
}

/* The entries of a window that a notifier range covers. */
static void vnet_window_part(const struct vnet_window *w, const struct mmu_notifier_range *range,
			     u32 *first, u32 *end)
{
	u64 from = max_t(u64, range->start, w->start);
	u64 to = min_t(u64, range->end, w->start + VNET_WINDOW_SIZE);

	*first = vnet_window_page(from);
	*end = *first;
	if (from < to)
		*end += DIV_ROUND_UP(to - (from & PAGE_MASK), PAGE_SIZE);
}

/*
 * Under memory pressure, reclaim invalidates page after page. Invalidate the whole window with
 * the first page, so that there is one wait for copies. Pages that are still in use are brought
 * again soon. Returns whether the range was extended.
 */
static bool vnet_window_widen(u32 *first, u32 *end)
{
	if (!(current->flags & PF_MEMALLOC))
		return false;
	*first = 0;
	*end = VNET_WINDOW_PAGES;
	return true;
}

/* Free an empty window if it is likely to remain empty: after an unmap, but not after a fork. */
static void vnet_window_emptied(struct vnet_window *w, enum mmu_notifier_event event)
{
	if (event != MMU_NOTIFY_UNMAP && event != MMU_NOTIFY_CLEAR)
		return;
	WRITE_ONCE(w->odp->reap, true);
	queue_work(w->odp->wq, &w->odp->work);
}

/*
 * MMU notifier. If it must not block (as for the OOM reaper), it returns false where it would
 * have to wait. A window without pages in the range needs no wait.
 */
static bool vnet_window_invalidate(struct mmu_interval_notifier *notifier,
				   const struct mmu_notifier_range *range, unsigned long seq)
{
	struct vnet_window *w = container_of(notifier, struct vnet_window, notifier);
	bool may_wait = mmu_notifier_range_blockable(range);
	bool has, all = false, done = true;
	u32 first, end;

	if (may_wait)
		mutex_lock(&w->lock);
	else if (!mutex_trylock(&w->lock))
		return false;
	vnet_window_part(w, range, &first, &end);
	has = w->present && vnet_window_has(w, first, end);
	if (has && !may_wait) {
		done = false;
		goto unlock;
	}
	mmu_interval_set_seq(notifier, seq);
	if (has) {
		all = vnet_window_widen(&first, &end);
		vnet_window_close(w, first, end);
		synchronize_srcu_expedited(&vnet_copies);
		vnet_window_forget(w, first, end);
	}
	/*
	 * After an extended invalidation, pages may come back. Then the next one frees the
	 * window.
	 */
	if (!w->present && !all)
		vnet_window_emptied(w, range->event);
unlock:
	mutex_unlock(&w->lock);
	return done;
}

static const struct mmu_interval_notifier_ops vnet_window_ops = {
	.invalidate = vnet_window_invalidate,
};

/* ------------------------------------------------------------------- windows */

void vnet_window_free(struct vnet_window *w)
{
	/* With the lock held, the notifier cannot release the pages. */
	mutex_lock(&w->lock);
	vnet_window_forget(w, 0, VNET_WINDOW_PAGES);
	mutex_unlock(&w->lock);
	mmu_interval_notifier_remove(&w->notifier);
	vnet_window_uncharge(w->odp->share);
	free_page((unsigned long)w->entry);
	kfree(w);
}

struct vnet_window *vnet_window_alloc(struct vnet_odp *odp, u64 start)
{
	struct vnet_window *w;
	int err = -ENOMEM;

	if (!vnet_window_charge(odp->share))
		return ERR_PTR(-ENOSPC);
	w = kzalloc(sizeof(*w), GFP_KERNEL_ACCOUNT);
	if (!w)
		goto uncharge;
	w->entry = (unsigned long *)get_zeroed_page(GFP_KERNEL_ACCOUNT);
	if (!w->entry)
		goto free_window;
	w->odp = odp;
	w->start = start;
	mutex_init(&w->lock);
	err = mmu_interval_notifier_insert(&w->notifier, odp->mm, start, VNET_WINDOW_SIZE,
					   &vnet_window_ops);
	if (!err)
		return w;
	free_page((unsigned long)w->entry);
free_window:
	kfree(w);
uncharge:
	vnet_window_uncharge(odp->share);
	return ERR_PTR(err);
}

/* Remove a window from the region: copies that begin from now on do not find it. */
static void vnet_window_erase(struct vnet_odp *odp, struct vnet_window *w, struct list_head *ended)
{
	lockdep_assert_held(&odp->fetching);
	xa_erase(&odp->windows, w->start >> VNET_WINDOW_SHIFT);
	WRITE_ONCE(odp->nwindows, odp->nwindows - 1);
	list_add(&w->ended, ended);
}

/* Free the removed windows when no copy uses them any more. */
static void vnet_windows_free(struct list_head *ended)
{
	struct vnet_window *w, *next;

	if (list_empty(ended))
		return;
	synchronize_srcu_expedited(&vnet_copies);
	list_for_each_entry_safe(w, next, ended, ended) vnet_window_free(w);
}

void vnet_windows_end(struct vnet_odp *odp, bool all)
{
	struct vnet_window *w;
	unsigned long index;
	LIST_HEAD(ended);

	mutex_lock(&odp->fetching);
	xa_for_each(&odp->windows, index, w)
	{
		if (all || !READ_ONCE(w->present))
			vnet_window_erase(odp, w, &ended);
	}
	vnet_windows_free(&ended);
	mutex_unlock(&odp->fetching);
}

void vnet_windows_evict(struct vnet_odp *odp)
{
	unsigned long n = min_t(unsigned long, VNET_EVICT_BATCH, DIV_ROUND_UP(odp->nwindows, 2));
	struct vnet_window *w;
	LIST_HEAD(ended);

	atomic64_add(n, &odp->dev->odp_counters.yields);
	while (n--) {
		w = xa_find(&odp->windows, &odp->hand, ULONG_MAX, XA_PRESENT);
		if (!w) {
			odp->hand = 0;
			w = xa_find(&odp->windows, &odp->hand, ULONG_MAX, XA_PRESENT);
		}
		vnet_window_erase(odp, w, &ended);
	}
	vnet_windows_free(&ended);
}

/* ---------------------------------------------------------- faulting in pages */

/*
 * Whether the page is in the kernel's direct map. Pages of memfd_secret(2) are not, and copies
 * could not handle a fault.
 */
static bool vnet_page_is_ours(const void *at)
{
	u8 byte;

	return !copy_from_kernel_nofault(&byte, at, sizeof(byte));
}

static unsigned long vnet_entry(unsigned long pfn, bool writable)
{
	void *at = page_address(hmm_pfn_to_page(pfn));

	if (!vnet_page_is_ours(at))
		return 0;
	return (unsigned long)at | VNET_ENTRY_VALID |
	       (pfn & HMM_PFN_WRITE && writable ? VNET_ENTRY_WRITE : 0);
}

/*
 * Store the pages that hmm_range_fault() has found. The caller holds w->lock and has checked the
 * notifier's sequence number. Returns false if a page cannot be used.
 */
static bool vnet_window_enter(struct vnet_window *w, u32 first, u32 n)
{
	const unsigned long *pfns = w->odp->pfns;
	unsigned long entry, *at;
	bool all = true;
	u32 i;

	lockdep_assert_held(&w->lock);
	for (i = 0; i < n; i++) {
		at = &w->entry[first + i];
		if (!(pfns[i] & HMM_PFN_VALID) || pfns[i] & HMM_PFN_ERROR)
			continue;
		entry = vnet_entry(pfns[i], w->odp->writable);
		if (!entry) {
			all = false;
			continue;
		}
		if (!*at)
			w->present++;
		else if ((*at & PAGE_MASK) == (entry & PAGE_MASK))
			entry |= *at & VNET_ENTRY_WRITE;
		WRITE_ONCE(*at, entry);
	}
	return all;
}

int vnet_window_fetch(struct vnet_window *w, u64 start, u64 end, enum vnet_fetch how)
{
	unsigned long timeout = jiffies + msecs_to_jiffies(HMM_RANGE_DEFAULT_TIMEOUT);
	struct hmm_range range = {
		.notifier = &w->notifier,
		.start = start,
		.end = end,
		.hmm_pfns = w->odp->pfns,
	};
	bool all;
	int err;

	if (how != VNET_FETCH_NO_FAULT)
		range.default_flags = HMM_PFN_REQ_FAULT;
	if (how == VNET_FETCH_WRITE)
		range.default_flags |= HMM_PFN_REQ_WRITE;
	for (;;) {
		range.notifier_seq = mmu_interval_read_begin(range.notifier);
		mmap_read_lock(w->odp->mm);
		err = hmm_range_fault(&range);
		mmap_read_unlock(w->odp->mm);
		if (err && err != -EBUSY)
			return err;
		if (!err) {
			mutex_lock(&w->lock);
			if (!mmu_interval_read_retry(range.notifier, range.notifier_seq))
				break;
			mutex_unlock(&w->lock);
		}
		if (time_after(jiffies, timeout))
			return -EBUSY;
		cond_resched();
	}
	all = vnet_window_enter(w, vnet_window_page(start), (end - start) >> PAGE_SHIFT);
	mutex_unlock(&w->lock);
	return all || how == VNET_FETCH_NO_FAULT ? 0 : -EFAULT;
}
