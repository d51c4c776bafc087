// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * On-demand paging: creation and end of memory regions whose pages are not pinned. The pages that
 * are present are recorded in windows (odp_window.c). Copies that miss pages request them
 * (odp_fault.c).
 */
#include <linux/hugetlb.h>
#include <linux/mm.h>
#include <linux/sched/mm.h>
#include <linux/slab.h>

#include "odp.h"

/* Regions of one context whose pages are brought at the same time. */
#define VNET_PAGERS 16

/* Whether the region begins in a mapping of huge pages. */
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

/* A workqueue of each context, so that slow pages of one process do not delay others. */
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
	/* Windows would still have MMU notifiers. */
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
 * Invalidations may queue the work until all windows have been freed. No new windows are
 * created: vnet_odp_bring() checks `dying` with odp->fetching held.
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
