// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Faulting in of on-demand pages: creates the windows that record them, and makes room in the
 * user's share.
 */
#include <linux/memcontrol.h>
#include <linux/mm.h>
#include <linux/sched/mm.h>
#include <linux/sched/signal.h>

#include "odp.h"

/* ------------------------------------------------------------------ eviction */

/*
 * The region of the user that has most windows, except regions that have been asked already,
 * whose work may be delayed. Returns `odp` only if there is no other, so that the pages that one
 * request needs can be present at the same time.
 */
static struct vnet_odp *vnet_share_most(struct vnet_odp *odp)
{
	struct vnet_odp *other, *most = odp;

	lockdep_assert_held(&odp->share->lock);
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
 * Make room in the user's share: evict windows of the region that has most. Returns 0 if windows
 * of `odp` itself were evicted; -ENOSPC if another region will evict some later; -ENOMEM if the
 * user has no windows. The caller holds odp->fetching, so it does not wait for another region:
 * the pages of that one may be brought by a process that waits for this one.
 */
static int vnet_share_evict(struct vnet_odp *odp)
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
		vnet_windows_evict(odp);
		return 0;
	}
	/* Windows that are being filled are in no region yet, but will be evictable. */
	if (atomic_long_read(&odp->share->windows)) {
		atomic64_inc(&odp->dev->odp_counters.waits);
		return -ENOSPC;
	}
	atomic64_inc(&odp->dev->odp_counters.no_room);
	return -ENOMEM;
}

/* ---------------------------------------------------------- faulting in pages */

static struct vnet_window *vnet_window_make(struct vnet_odp *odp, u64 start)
{
	struct vnet_window *w = vnet_window_alloc(odp, start);
	int err;

	if (w != ERR_PTR(-ENOSPC))
		return w;
	err = vnet_share_evict(odp);
	return err ? ERR_PTR(err) : vnet_window_alloc(odp, start);
}

/*
 * Bring pages of one window, and create the window if necessary. A new window is published only
 * if it has pages, else it is freed. The caller holds odp->fetching and a reference to the mm.
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

int vnet_odp_bring(struct vnet_odp *odp, u64 start, u64 end, enum vnet_fetch how)
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
	/* If this is the last user of the mm, do not tear it down here. */
	mmput_async(odp->mm);
unlock:
	mutex_unlock(&odp->fetching);
	return err;
}

int vnet_odp_prefetch(struct vnet_odp *odp, u64 addr, u64 length, enum vnet_fetch how)
{
	u64 start = addr & PAGE_MASK, end = PAGE_ALIGN(addr + length);
	int err = 0;

	if (addr + length < addr || end < start || end > odp->mm->task_size)
		return -EFAULT;
	while (start < end && !err) {
		u64 next = vnet_part_end(start, end);

		/* The caller may be killed during a long prefetch. */
		if (fatal_signal_pending(current))
			return -EINTR;
		err = vnet_odp_bring(odp, start, next, how);
		/*
		 * Retry if the pages were invalidated again and again (-EBUSY), or after a tick
		 * if there is no room (-ENOSPC).
		 */
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
