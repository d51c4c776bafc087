// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Shares of users in the windows of on-demand paging. */
#include <linux/cred.h>
#include <linux/mm.h>
#include <linux/slab.h>

#include "odp.h"

/*
 * No resource limit of a process counts windows. So all windows together are limited to a part
 * of the machine's pages, and those of one user to a part of what others have left, so that
 * there is always room for another user.
 */
#define VNET_WINDOWS_PART 32
#define VNET_SHARE_PART 4
static atomic_long_t vnet_windows = ATOMIC_LONG_INIT(0);

/* Protects the list and the reference counts. */
static DEFINE_MUTEX(vnet_shares_lock);
static LIST_HEAD(vnet_shares);

void vnet_window_uncharge(struct vnet_share *share)
{
	atomic_long_dec(&share->windows);
	atomic_long_dec(&vnet_windows);
}

bool vnet_window_charge(struct vnet_share *share)
{
	long left = totalram_pages() / VNET_WINDOWS_PART - atomic_long_inc_return(&vnet_windows);

	if (atomic_long_inc_return(&share->windows) <= left / VNET_SHARE_PART)
		return true;
	vnet_window_uncharge(share);
	return false;
}

struct vnet_share *vnet_share_get(void)
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

void vnet_share_put(struct vnet_share *share)
{
	mutex_lock(&vnet_shares_lock);
	if (!--share->refs) {
		list_del(&share->list);
		kfree(share);
	}
	mutex_unlock(&vnet_shares_lock);
}

void vnet_share_enter(struct vnet_share *share, struct vnet_odp *odp)
{
	odp->share = share;
	mutex_lock(&share->lock);
	list_add_tail(&odp->of_user, &share->regions);
	mutex_unlock(&share->lock);
}

void vnet_share_leave(struct vnet_odp *odp)
{
	mutex_lock(&odp->share->lock);
	list_del(&odp->of_user);
	mutex_unlock(&odp->share->lock);
}

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

int vnet_share_evict(struct vnet_odp *odp)
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
