// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Memory that is paged on demand: regions whose pages are not pinned, but those that
 * their process has at the moment.
 *
 * What is known of them stands in windows, each with a notifier by which the system
 * takes pages back. Copies read windows under SRCU and never wait; what they lack is
 * asked for, and a work of the region's own has the system bring it. Who takes a page
 * back waits for the copies that might use it.
 */
#include <linux/hmm.h>
#include <linux/hugetlb.h>
#include <linux/jiffies.h>
#include <linux/ktime.h>
#include <linux/memcontrol.h>
#include <linux/mm.h>
#include <linux/mmu_notifier.h>
#include <linux/sched/mm.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include <linux/uaccess.h>

#include "vnet_ib.h"

#if !IS_ENABLED(CONFIG_HMM_MIRROR)
#error "vnet_ib has the system bring pages: it needs a kernel with CONFIG_INFINIBAND_ON_DEMAND_PAGING"
#endif

#define VNET_WINDOW_SHIFT (PAGE_SHIFT + 9)
#define VNET_WINDOW_SIZE (1ull << VNET_WINDOW_SHIFT)
#define VNET_WINDOW_PAGES (1u << (VNET_WINDOW_SHIFT - PAGE_SHIFT))
static_assert(VNET_WINDOW_PAGES * sizeof(unsigned long) == PAGE_SIZE);

/*
 * No limit of a process counts them, however much it has mapped and looked at: so all of
 * them together are at most a part of the machine's memory, and those of a user at most a
 * part of what is left of that, so that there is always some for the next.
 */
#define VNET_WINDOWS_PART 32
#define VNET_SHARE_PART 4
static atomic_long_t vnet_windows = ATOMIC_LONG_INIT(0);
/* Who has a share has so many go at a time, for others. */
#define VNET_YIELD 32

/* Of so many regions of a context the system brings pages at the same time. */
#define VNET_PAGERS 16

/* What is asked for at a time, of a region; and how it ended, if not well. */
#define VNET_FAULTS 16
/* Nobody waits long for the end of so much. */
#define VNET_FAULT_SHORT (4 * VNET_WINDOW_SIZE)

DEFINE_STATIC_SRCU(vnet_copies);

/* Bits of an entry, besides the page's address in the kernel. */
enum vnet_entry {
	/* Not yet taken back. */
	VNET_ENTRY_VALID = 1 << 0,
	VNET_ENTRY_WRITE = 1 << 1,
};

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

/* Shares come and go. */
static DEFINE_MUTEX(vnet_shares_lock);
static LIST_HEAD(vnet_shares);

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

/* ----------------------------------------------------------------- look-ups */

int vnet_copies_lock(void)
{
	return srcu_read_lock(&vnet_copies);
}

void vnet_copies_unlock(int idx)
{
	srcu_read_unlock(&vnet_copies, idx);
}

static u32 vnet_window_page(u64 addr)
{
	return (addr & (VNET_WINDOW_SIZE - 1)) >> PAGE_SHIFT;
}

/*
 * checked: by this copy, since vnet_copies_lock(). Such an entry may be losing its page,
 * but has it until the copy is over.
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

/* The first page of [addr, end) that is not there; end: all are. */
static u64 vnet_odp_missing(struct vnet_odp *odp, u64 addr, u64 end, bool write)
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

/* ------------------------------------------------------- pages taken back */

/* Copies that begin now use none of these entries. */
static void vnet_window_close(struct vnet_window *w, u32 first, u32 end)
{
	u32 i;

	for (i = first; i < end; i++)
		WRITE_ONCE(w->entry[i], w->entry[i] & ~VNET_ENTRY_VALID);
}

static void vnet_window_forget(struct vnet_window *w, u32 first, u32 end)
{
	u32 i;

	for (i = first; i < end; i++) {
		unsigned long entry = w->entry[i];

		if (!entry)
			continue;
		/* As the processor's own tables would have noted it. */
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

/* The entries that a change of the process' memory is about. */
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
 * Who is short of memory wants page after page, each by itself: all that the window has goes
 * with the first, and there is no wait for the others. What is used still is there again soon.
 */
static bool vnet_window_widen(u32 *first, u32 *end)
{
	if (!(current->flags & PF_MEMALLOC))
		return false;
	*first = 0;
	*end = VNET_WINDOW_PAGES;
	return true;
}

/* Windows that have nothing go where that is likely to stay so: not for mere forks. */
static void vnet_window_emptied(struct vnet_window *w, enum mmu_notifier_event event)
{
	if (event != MMU_NOTIFY_UNMAP && event != MMU_NOTIFY_CLEAR)
		return;
	WRITE_ONCE(w->odp->reap, true);
	queue_work(w->odp->wq, &w->odp->work);
}

/* Not blockable: somebody is to die, and gets by without what takes a wait. */
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
	/* Unless that was more than was wanted: it goes with the next page. */
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

static void vnet_window_uncharge(struct vnet_share *share)
{
	atomic_long_dec(&share->windows);
	atomic_long_dec(&vnet_windows);
}

static bool vnet_window_charge(struct vnet_share *share)
{
	long left = totalram_pages() / VNET_WINDOWS_PART - atomic_long_inc_return(&vnet_windows);

	if (atomic_long_inc_return(&share->windows) <= left / VNET_SHARE_PART)
		return true;
	vnet_window_uncharge(share);
	return false;
}

/* Nobody finds it any more. */
static void vnet_window_free(struct vnet_window *w)
{
	/* While the system cannot take its pages. */
	mutex_lock(&w->lock);
	vnet_window_forget(w, 0, VNET_WINDOW_PAGES);
	mutex_unlock(&w->lock);
	mmu_interval_notifier_remove(&w->notifier);
	vnet_window_uncharge(w->odp->share);
	free_page((unsigned long)w->entry);
	kfree(w);
}

/* -ENOSPC: the user has as many as it may. */
static struct vnet_window *vnet_window_alloc(struct vnet_odp *odp, u64 start)
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

/* Copies that begin now do not find it. */
static void vnet_window_erase(struct vnet_odp *odp, struct vnet_window *w, struct list_head *ended)
{
	xa_erase(&odp->windows, w->start >> VNET_WINDOW_SHIFT);
	WRITE_ONCE(odp->nwindows, odp->nwindows - 1);
	list_add(&w->ended, ended);
}

/* Nor is any of them in one of these when this returns. */
static void vnet_windows_free(struct list_head *ended)
{
	struct vnet_window *w, *next;

	if (list_empty(ended))
		return;
	synchronize_srcu_expedited(&vnet_copies);
	list_for_each_entry_safe(w, next, ended, ended) vnet_window_free(w);
}

/* Windows go that have nothing, or all of them. */
static void vnet_windows_end(struct vnet_odp *odp, bool all)
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

/*
 * Some go, whatever they have, in turn; not more than half of them, should requests need
 * several at once. The caller holds odp->fetching.
 */
static void vnet_windows_yield(struct vnet_odp *odp)
{
	unsigned long n = min_t(unsigned long, VNET_YIELD, DIV_ROUND_UP(odp->nwindows, 2));
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

/* ------------------------------------------------------------------- shares */

/* That of the calling process' user, with another region; or NULL. */
static struct vnet_share *vnet_share_get(void)
{
	struct vnet_share *share;

	mutex_lock(&vnet_shares_lock);
	list_for_each_entry(share, &vnet_shares, list)
	{
		if (uid_eq(share->user, current_uid()))
			goto found;
	}
	share = kzalloc(sizeof(*share), GFP_KERNEL_ACCOUNT);
	if (!share)
		goto unlock;
	share->user = current_uid();
	mutex_init(&share->lock);
	INIT_LIST_HEAD(&share->regions);
	list_add(&share->list, &vnet_shares);
found:
	share->refs++;
unlock:
	mutex_unlock(&vnet_shares_lock);
	return share;
}

/* It has nothing of it any more. */
static void vnet_share_put(struct vnet_share *share)
{
	mutex_lock(&vnet_shares_lock);
	if (!--share->refs) {
		list_del(&share->list);
		kfree(share);
	}
	mutex_unlock(&vnet_shares_lock);
}

static void vnet_share_enter(struct vnet_share *share, struct vnet_odp *odp)
{
	odp->share = share;
	mutex_lock(&share->lock);
	list_add_tail(&odp->of_user, &share->regions);
	mutex_unlock(&share->lock);
}

/* Nobody wants anything of it from here on. */
static void vnet_share_leave(struct vnet_odp *odp)
{
	mutex_lock(&odp->share->lock);
	list_del(&odp->of_user);
	mutex_unlock(&odp->share->lock);
}

/*
 * The one that has most, of those that were not asked before: these may not come to it for
 * long. Another one rather: what a request needs at once comes together in the end.
 */
static struct vnet_odp *vnet_share_most(struct vnet_odp *odp)
{
	struct vnet_odp *other, *most = odp;

	list_for_each_entry(other, &odp->share->regions, of_user)
	{
		unsigned long n = READ_ONCE(other->nwindows);

		if (other == odp || !n || READ_ONCE(other->yields))
			continue;
		if (most == odp || n > READ_ONCE(most->nwindows))
			most = other;
	}
	return most;
}

/*
 * The user has its share: that of its regions has some windows go which has most. 0: they
 * are gone; -ENOSPC: they will be; -ENOMEM: there are none. The caller holds odp->fetching,
 * and waits for no other region: that may have its pages brought by a process that waits.
 */
static int vnet_share_yield(struct vnet_odp *odp)
{
	struct vnet_odp *most;

	mutex_lock(&odp->share->lock);
	most = vnet_share_most(odp);
	if (most != odp) {
		WRITE_ONCE(most->yields, true);
		queue_work(most->wq, &most->work);
	}
	mutex_unlock(&odp->share->lock);
	if (most == odp && odp->nwindows) {
		vnet_windows_yield(odp);
		return 0;
	}
	/* Those that are being filled come back, too. */
	if (atomic_long_read(&odp->share->windows)) {
		atomic64_inc(&odp->dev->odp_counters.waits);
		return -ENOSPC;
	}
	atomic64_inc(&odp->dev->odp_counters.no_room);
	return -ENOMEM;
}

/* ------------------------------------------------------------- bringing pages */

/*
 * Some memory is its process' alone: it is mapped there, and nowhere in the kernel
 * (memfd_secret(2)). Copies would find out too late.
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

/* What the system said is entered, unless it takes it back just now. False: not all can be. */
static bool vnet_window_enter(struct vnet_window *w, u32 first, u32 n)
{
	const unsigned long *pfns = w->odp->pfns;
	unsigned long entry, *at;
	bool all = true;
	u32 i;

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

/* A part of one window. */
static int vnet_window_fetch(struct vnet_window *w, u64 start, u64 end, enum vnet_fetch how)
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

static struct vnet_window *vnet_window_make(struct vnet_odp *odp, u64 start)
{
	struct vnet_window *w = vnet_window_alloc(odp, start);
	int err;

	if (w != ERR_PTR(-ENOSPC))
		return w;
	err = vnet_share_yield(odp);
	return err ? ERR_PTR(err) : vnet_window_alloc(odp, start);
}

/*
 * The same, of the window that is there, or of a new one: which nobody has seen yet, and
 * which goes again if there is nothing. The process is not gone.
 */
static int vnet_odp_fetch(struct vnet_odp *odp, u64 start, u64 end, enum vnet_fetch how)
{
	unsigned long index = start >> VNET_WINDOW_SHIFT;
	struct vnet_window *w = xa_load(&odp->windows, index);
	int err, stored = -ENOENT;

	if (w)
		return vnet_window_fetch(w, start, end, how);
	w = vnet_window_make(odp, (u64)index << VNET_WINDOW_SHIFT);
	if (IS_ERR(w))
		return PTR_ERR(w);
	err = vnet_window_fetch(w, start, end, how);
	if (READ_ONCE(w->present)) {
		stored = xa_err(xa_store(&odp->windows, index, w, GFP_KERNEL_ACCOUNT));
		err = err ? err : stored;
	}
	if (stored)
		vnet_window_free(w);
	else
		WRITE_ONCE(odp->nwindows, odp->nwindows + 1);
	return err;
}

/*
 * The same, if the process is still there; what it takes is the process' account. One
 * window at a time: so long does the end of the process wait, or that of the region.
 */
static int vnet_odp_bring(struct vnet_odp *odp, u64 start, u64 end, enum vnet_fetch how)
{
	struct mem_cgroup *memcg, *before;
	int err = -EFAULT;

	if (mutex_lock_killable(&odp->fetching))
		return -EINTR;
	if (READ_ONCE(odp->dying) || !mmget_not_zero(odp->mm))
		goto unlock;
	memcg = get_mem_cgroup_from_mm(odp->mm);
	before = set_active_memcg(memcg);
	err = vnet_odp_fetch(odp, start, end, how);
	set_active_memcg(before);
	mem_cgroup_put(memcg);
	/* Should we be its last user, its end is not our work. */
	mmput_async(odp->mm);
unlock:
	mutex_unlock(&odp->fetching);
	return err;
}

/* Where the part of [start, end) ends that is in one window. */
static u64 vnet_part_end(u64 start, u64 end)
{
	return min_t(u64, end, round_down(start, VNET_WINDOW_SIZE) + VNET_WINDOW_SIZE);
}

int vnet_odp_prefetch(struct vnet_odp *odp, u64 addr, u64 length, enum vnet_fetch how)
{
	u64 start = addr & PAGE_MASK, end = PAGE_ALIGN(addr + length);
	int err = 0;

	if (addr + length < addr || end < start || end > odp->mm->task_size)
		return -EFAULT;
	while (start < end && !err) {
		u64 next = vnet_part_end(start, end);

		/* Who waits for much may be killed meanwhile. */
		if (fatal_signal_pending(current))
			return -EINTR;
		err = vnet_odp_bring(odp, start, next, how);
		/* What the system took back again and again is had in the end; and so is room. */
		if (err == -ENOSPC)
			schedule_timeout_killable(1);
		if (err == -ENOSPC || err == -EBUSY)
			err = 0;
		else
			start = next;
		cond_resched();
	}
	return err == -EPERM ? -EFAULT : err;
}

/* ------------------------------------------------------------- what is asked for */

static struct vnet_fault *vnet_fault_oldest(struct vnet_odp *odp)
{
	struct vnet_fault *f, *oldest = NULL;

	for (f = odp->fault; f < odp->fault + VNET_FAULTS; f++) {
		if (f->state == VNET_FAULT_ASKED && (!oldest || f->order < oldest->order))
			oldest = f;
	}
	return oldest;
}

/* Its first part was tried. True: who waits for any of it is to look again. */
static bool vnet_fault_tried(struct vnet_odp *odp, struct vnet_fault *f, u64 next, int err)
{
	switch (err) {
	case 0:
		f->start = next;
		f->state = next < f->end ? VNET_FAULT_ASKED : VNET_FAULT_FREE;
		/* After others that wait for less. */
		f->order = ++odp->order;
		return true;
	case -EBUSY:
		/* What the system took back again and again is asked for anew. */
		f->state = VNET_FAULT_FREE;
		return true;
	case -ENOSPC:
		/* So is this: from time to time. */
		f->state = VNET_FAULT_FREE;
		return false;
	default:
		f->end = next;
		f->state = VNET_FAULT_LOST;
		return true;
	}
}

/* A part of what was asked for; false: there is nothing. */
static bool vnet_fault_run(struct vnet_odp *odp)
{
	struct vnet_fault *f;
	u64 start, next;
	bool write, look;
	int err;

	spin_lock_irq(&odp->lock);
	f = odp->dying ? NULL : vnet_fault_oldest(odp);
	if (f) {
		f->state = VNET_FAULT_RUNS;
		f->began = ktime_get_ns();
		start = f->start;
		next = vnet_part_end(start, f->end);
		write = f->write;
	}
	spin_unlock_irq(&odp->lock);
	if (!f)
		return false;
	err = vnet_odp_bring(odp, start, next, write ? VNET_FETCH_WRITE : VNET_FETCH_READ);
	spin_lock_irq(&odp->lock);
	look = vnet_fault_tried(odp, f, next, err);
	spin_unlock_irq(&odp->lock);
	if (look)
		plat_kick(&odp->dev->agent.nic);
	return true;
}

/* Another region of the user's waits for it. */
static void vnet_odp_yield(struct vnet_odp *odp)
{
	struct vnet_odp *other;

	mutex_lock(&odp->fetching);
	vnet_windows_yield(odp);
	mutex_unlock(&odp->fetching);
	/* Whoever it was, on whichever device. */
	mutex_lock(&odp->share->lock);
	list_for_each_entry(other, &odp->share->regions, of_user) plat_kick(&other->dev->agent.nic);
	mutex_unlock(&odp->share->lock);
}

static void vnet_odp_work(struct work_struct *work)
{
	struct vnet_odp *odp = container_of(work, struct vnet_odp, work);

	do {
		if (xchg(&odp->yields, false))
			vnet_odp_yield(odp);
		cond_resched();
	} while (vnet_fault_run(odp));
	if (xchg(&odp->reap, false))
		vnet_windows_end(odp, false);
}

/*
 * Is it brought with this, and soon? What is long comes part by part: who wants little of
 * its end is served before. Who wants half of it would not be served sooner on its own;
 * so those that contain each other are few.
 */
static bool vnet_fault_brings(const struct vnet_fault *f, const struct vnet_fault *want)
{
	u64 length = f->end - f->start;

	if (f->start > want->start || f->end < want->end || (want->write && !f->write))
		return false;
	return length <= VNET_FAULT_SHORT || vnet_part_end(f->start, f->end) >= want->end ||
	       want->end - want->start >= length / 2;
}

/* May what is wanted have the place of f rather than that of `other`, which may be none? */
static bool vnet_fault_gives_way(const struct vnet_fault *f, const struct vnet_fault *other,
				 const struct vnet_fault *want)
{
	switch (f->state) {
	case VNET_FAULT_FREE:
		return true;
	case VNET_FAULT_LOST:
		/* As long as there is another place, somebody may still be told of it. */
		return !other || other->state == VNET_FAULT_ASKED ||
		       (other->state == VNET_FAULT_LOST && f->began < other->began);
	case VNET_FAULT_ASKED:
		return !other && f->advice && !want->advice;
	case VNET_FAULT_RUNS:
		break;
	}
	return false;
}

/* Is it being brought, or could it not be: -EFAULT; 0: neither. *slot: a place to ask. */
static int vnet_fault_find(struct vnet_odp *odp, const struct vnet_fault *want, u64 whole,
			   u64 since, struct vnet_fault **slot)
{
	struct vnet_fault *f;

	*slot = NULL;
	for (f = odp->fault; f < odp->fault + VNET_FAULTS; f++) {
		switch (f->state) {
		case VNET_FAULT_ASKED:
		case VNET_FAULT_RUNS:
			if (vnet_fault_brings(f, want))
				return -EAGAIN;
			break;
		case VNET_FAULT_LOST:
			if (f->start >= whole && f->end <= want->end && f->began >= since &&
			    (want->write || !f->write))
				return -EFAULT;
			break;
		case VNET_FAULT_FREE:
			break;
		}
		if (vnet_fault_gives_way(f, *slot, want))
			*slot = f;
	}
	return 0;
}

int vnet_odp_ask(struct vnet_odp *odp, u64 addr, u64 length, bool write, u64 since)
{
	struct vnet_fault *slot, want = { .state = VNET_FAULT_ASKED, .write = write };
	unsigned long flags;
	int idx, ret;
	u64 missing;

	want.advice = since == U64_MAX;
	want.end = PAGE_ALIGN(addr + length);
	if (addr + length < addr || want.end < addr || want.end > odp->mm->task_size ||
	    (write && !odp->writable))
		return -EFAULT;
	idx = srcu_read_lock(&vnet_copies);
	missing = vnet_odp_missing(odp, addr, addr + length, write);
	srcu_read_unlock(&vnet_copies, idx);
	if (missing == addr + length)
		return 0;
	want.start = missing & PAGE_MASK;
	spin_lock_irqsave(&odp->lock, flags);
	ret = odp->dying ? -EFAULT : vnet_fault_find(odp, &want, addr & PAGE_MASK, since, &slot);
	if (!ret && slot) {
		want.order = ++odp->order;
		*slot = want;
		queue_work(odp->wq, &odp->work);
	}
	spin_unlock_irqrestore(&odp->lock, flags);
	/* Where there was no place, there will be one when others have theirs. */
	return ret ? ret : -EAGAIN;
}

/* ---------------------------------------------------------------------- life */

/* The size of its pages is that of those where it begins. */
static bool vnet_is_huge(u64 start)
{
	struct vm_area_struct *vma;
	bool huge;

	mmap_read_lock(current->mm);
	vma = find_vma(current->mm, start);
	huge = vma && vma->vm_start <= start && is_vm_hugetlb_page(vma);
	mmap_read_unlock(current->mm);
	return huge;
}

/* What is slow in one process is so for itself. */
static struct workqueue_struct *vnet_pagers(struct vnet_ucontext *uc)
{
	struct workqueue_struct *wq = READ_ONCE(uc->pagers), *other;

	if (wq)
		return wq;
	wq = alloc_workqueue("vnet_pages", WQ_UNBOUND, VNET_PAGERS);
	if (!wq)
		return NULL;
	other = cmpxchg(&uc->pagers, NULL, wq);
	if (!other)
		return wq;
	destroy_workqueue(wq);
	return other;
}

struct vnet_odp *vnet_odp_make(struct vnet_dev *dev, struct vnet_ucontext *uc, u64 start,
			       int access)
{
	struct vnet_share *share;
	struct vnet_odp *odp;

	if (!current->mm || (access & IB_ACCESS_HUGETLB && !vnet_is_huge(start)))
		return ERR_PTR(-EINVAL);
	odp = kzalloc(sizeof(*odp), GFP_KERNEL_ACCOUNT);
	if (!odp)
		return ERR_PTR(-ENOMEM);
	odp->wq = vnet_pagers(uc);
	odp->pfns = (unsigned long *)get_zeroed_page(GFP_KERNEL_ACCOUNT);
	share = vnet_share_get();
	if (!odp->wq || !odp->pfns || !share)
		goto no_memory;
	refcount_set(&odp->refs, 1);
	odp->dev = dev;
	odp->mm = current->mm;
	mmgrab(odp->mm);
	odp->writable = ib_access_writable(access);
	xa_init(&odp->windows);
	mutex_init(&odp->fetching);
	spin_lock_init(&odp->lock);
	INIT_WORK(&odp->work, vnet_odp_work);
	vnet_share_enter(share, odp);
	atomic_inc(&dev->on_demand);
	return odp;

no_memory:
	if (share)
		vnet_share_put(share);
	free_page((unsigned long)odp->pfns);
	kfree(odp);
	return ERR_PTR(-ENOMEM);
}

bool vnet_odp_is_own(const struct vnet_odp *odp)
{
	return odp->mm == current->mm;
}

void vnet_odp_get(struct vnet_odp *odp)
{
	refcount_inc(&odp->refs);
}

void vnet_odp_put(struct vnet_odp *odp)
{
	if (!refcount_dec_and_test(&odp->refs))
		return;
	/* Whose windows would stay the system's business. */
	WARN_ON_ONCE(!xa_empty(&odp->windows));
	xa_destroy(&odp->windows);
	mmdrop(odp->mm);
	free_page((unsigned long)odp->pfns);
	kfree(odp);
}

void vnet_odp_stop(struct vnet_odp *odp)
{
	spin_lock_irq(&odp->lock);
	WRITE_ONCE(odp->dying, true);
	spin_unlock_irq(&odp->lock);
}

/*
 * The system may take pages back, which asks for the work once more, until all windows
 * are gone. No more are made: that is done with the mutex held, and looks first.
 */
void vnet_odp_free(struct vnet_odp *odp)
{
	if (!odp)
		return;
	vnet_odp_stop(odp);
	vnet_share_leave(odp);
	cancel_work_sync(&odp->work);
	vnet_windows_end(odp, true);
	cancel_work_sync(&odp->work);
	vnet_share_put(odp->share);
	atomic_dec(&odp->dev->on_demand);
	vnet_odp_put(odp);
}
