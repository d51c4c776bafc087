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
