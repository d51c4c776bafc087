// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Requests for on-demand pages: queued in any context, executed by a work item of the region. */
#include <linux/ktime.h>

#include "odp.h"

/* Requests of up to this length are complete soon. */
#define VNET_FAULT_SHORT (4 * VNET_WINDOW_SIZE)

static struct vnet_fault *vnet_fault_oldest(struct vnet_odp *odp)
{
	struct vnet_fault *f, *oldest = NULL;

	lockdep_assert_held(&odp->lock);
	for (f = odp->fault; f < odp->fault + VNET_FAULTS; f++) {
		if (f->state == VNET_FAULT_QUEUED && (!oldest || f->order < oldest->order))
			oldest = f;
	}
	return oldest;
}

/*
 * Record the result of the first part of a request. Returns whether those who wait for pages
 * should try again.
 */
static bool vnet_fault_tried(struct vnet_odp *odp, struct vnet_fault *f, u64 next, int err)
{
	lockdep_assert_held(&odp->lock);
	switch (err) {
	case 0:
		f->start = next;
		f->state = next < f->end ? VNET_FAULT_QUEUED : VNET_FAULT_FREE;
		/* Queue it behind other requests. */
		f->order = ++odp->order;
		return true;
	case -EBUSY:
		/* The pages were invalidated repeatedly. The requester asks again. */
		f->state = VNET_FAULT_FREE;
		return true;
	case -ENOSPC:
		/* The requester asks again at a later tick, when there may be room. */
		f->state = VNET_FAULT_FREE;
		return false;
	default:
		f->end = next;
		f->state = VNET_FAULT_FAILED;
		return true;
	}
}

/* Execute the first part of the oldest request. Returns false if there is none. */
static bool vnet_fault_run(struct vnet_odp *odp)
{
	struct vnet_fault *f;
	u64 start, next;
	bool write, look;
	int err;

	spin_lock_irq(&odp->lock);
	f = odp->dying ? NULL : vnet_fault_oldest(odp);
	if (f) {
		f->state = VNET_FAULT_RUNNING;
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

/* Evict windows, as another region of the user needs room. */
static void vnet_odp_evict(struct vnet_odp *odp)
{
	struct vnet_odp *other;

	mutex_lock(&odp->fetching);
	vnet_windows_evict(odp);
	mutex_unlock(&odp->fetching);
	/* Any region of the user may be waiting, on any device. */
	mutex_lock(&odp->share->lock);
	list_for_each_entry(other, &odp->share->regions, of_user) plat_kick(&other->dev->agent.nic);
	mutex_unlock(&odp->share->lock);
}

void vnet_odp_work(struct work_struct *work)
{
	struct vnet_odp *odp = container_of(work, struct vnet_odp, work);

	do {
		if (xchg(&odp->yields, false))
			vnet_odp_evict(odp);
		cond_resched();
	} while (vnet_fault_run(odp));
	if (xchg(&odp->reap, false))
		vnet_windows_end(odp, false);
}

/*
 * Whether request `f` will bring the pages of `want` soon. A long request is executed part by
 * part, so a short one for its end is queued separately and served earlier. One for half of it
 * or more would not be served earlier, and is not queued: this limits overlapping requests.
 */
static bool vnet_fault_brings(const struct vnet_fault *f, const struct vnet_fault *want)
{
	u64 length = f->end - f->start;

	if (f->start > want->start || f->end < want->end || (want->write && !f->write))
		return false;
	return length <= VNET_FAULT_SHORT || vnet_part_end(f->start, f->end) >= want->end ||
	       want->end - want->start >= length / 2;
}

/* Whether `want` should use the slot `f` rather than the slot `other`, which may be NULL. */
static bool vnet_fault_replaces(const struct vnet_fault *f, const struct vnet_fault *other,
				const struct vnet_fault *want)
{
	switch (f->state) {
	case VNET_FAULT_FREE:
		return true;
	case VNET_FAULT_FAILED:
		/*
		 * Reuse the oldest failure, and only without a free slot: it may not have been
		 * reported.
		 */
		return !other || other->state == VNET_FAULT_QUEUED ||
		       (other->state == VNET_FAULT_FAILED && f->began < other->began);
	case VNET_FAULT_QUEUED:
		return !other && f->advice && !want->advice;
	case VNET_FAULT_RUNNING:
		break;
	}
	return false;
}

/*
 * Returns -EAGAIN if the pages are already requested, -EFAULT if they could not be brought at
 * `since` or later, else 0 and in *slot a slot for the request, or NULL. `whole` is the first
 * page of the range; want->start is the first missing one.
 */
static int vnet_fault_find(struct vnet_odp *odp, const struct vnet_fault *want, u64 whole,
			   u64 since, struct vnet_fault **slot)
{
	struct vnet_fault *f;

	lockdep_assert_held(&odp->lock);
	*slot = NULL;
	for (f = odp->fault; f < odp->fault + VNET_FAULTS; f++) {
		switch (f->state) {
		case VNET_FAULT_QUEUED:
		case VNET_FAULT_RUNNING:
			if (vnet_fault_brings(f, want))
				return -EAGAIN;
			break;
		case VNET_FAULT_FAILED:
			if (f->start >= whole && f->end <= want->end && f->began >= since &&
			    (want->write || !f->write))
				return -EFAULT;
			break;
		case VNET_FAULT_FREE:
			break;
		}
		if (vnet_fault_replaces(f, *slot, want))
			*slot = f;
	}
	return 0;
}

int vnet_odp_request(struct vnet_odp *odp, u64 addr, u64 length, bool write, u64 since)
{
	struct vnet_fault *slot, want = { .state = VNET_FAULT_QUEUED, .write = write };
	unsigned long flags;
	int idx, ret;
	u64 missing;

	want.advice = since == U64_MAX;
	want.end = PAGE_ALIGN(addr + length);
	if (addr + length < addr || want.end < addr || want.end > odp->mm->task_size ||
	    (write && !odp->writable))
		return -EFAULT;
	idx = vnet_copies_lock();
	missing = vnet_odp_missing(odp, addr, addr + length, write);
	vnet_copies_unlock(idx);
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
	/* Without a slot, the caller asks again after other requests have been executed. */
	return ret ? ret : -EAGAIN;
}
