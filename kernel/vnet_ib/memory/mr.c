// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Memory regions and windows: their pages, pinned or on demand, and their keys. */
#include <linux/mm.h>
#include <linux/slab.h>
#include <linux/vmalloc.h>

#include "doorbells/doorbells.h"
#include "memory.h"
#include "odp.h"

static const u32 vnet_access_mask = IB_ACCESS_LOCAL_WRITE | IB_ACCESS_REMOTE_WRITE |
				    IB_ACCESS_REMOTE_READ | IB_ACCESS_REMOTE_ATOMIC |
				    IB_ACCESS_MW_BIND | IB_ZERO_BASED | IB_ACCESS_ON_DEMAND |
				    VNET_ACCESS_FLUSH;
/* For device memory and dma-bufs, to which no windows can be bound. */
static const u32 vnet_dm_access_mask = IB_ACCESS_LOCAL_WRITE | IB_ACCESS_REMOTE_WRITE |
				       IB_ACCESS_REMOTE_READ | IB_ACCESS_REMOTE_ATOMIC |
				       IB_ZERO_BASED | VNET_ACCESS_FLUSH;

/* Create the firmware's region or window. Its number has been assigned. */
static int vnet_mr_enter(struct vnet_dev *dev, struct vnet_object *obj,
			 const struct nic_mr_params *p)
{
	enum nic_result result;

	mutex_lock(&dev->commands);
	result = vnet_command(dev, nic_mr_create(&dev->agent.nic, p));
	mutex_unlock(&dev->commands);
	return vnet_errno(result);
}

/*
 * Destroy the firmware's region or window. On return, no operation that has found it is in
 * progress. -EBUSY: windows are bound to the region. The firmware finds the entry by the key's
 * index, as work requests may have changed the tag.
 */
static int vnet_mr_leave(struct vnet_dev *dev, u32 key)
{
	enum nic_result result;

	mutex_lock(&dev->commands);
	result = vnet_command(dev, nic_mr_destroy(&dev->agent.nic, key));
	mutex_unlock(&dev->commands);
	return vnet_errno(result);
}

static struct vnet_mr *vnet_mr_new(struct ib_pd *ibpd)
{
	struct vnet_dev *dev = to_vdev(ibpd->device);
	struct vnet_mr *mr = kzalloc(sizeof(*mr), GFP_KERNEL);
	int err;

	if (!mr)
		return ERR_PTR(-ENOMEM);
	err = vnet_number_draw(dev, &dev->mrs, nic_key_draw, &mr->obj, &mr->key);
	if (err) {
		kfree(mr);
		return ERR_PTR(err);
	}
	mutex_init(&mr->lock);
	return mr;
}

static void vnet_mr_drop_memory(struct vnet_mr *mr)
{
	ib_umem_release(mr->umem);
	kvfree(mr->pages);
	vnet_odp_free(mr->odp);
	vnet_dmabuf_put(mr);
}

static void vnet_mr_free(struct vnet_dev *dev, struct vnet_mr *mr)
{
	WRITE_ONCE(dev->mr[mr->obj.index], NULL);
	/* vnet_number_end() waits for prefetches: let them end early. */
	if (mr->odp)
		vnet_odp_stop(mr->odp);
	vnet_number_end(&dev->mrs, &mr->obj);
	vnet_mr_drop_memory(mr);
	kfree(mr);
}

/* Create the firmware's region. The region has its pages. */
static struct ib_mr *vnet_mr_publish(struct ib_pd *ibpd, struct vnet_mr *mr,
				     struct nic_mr_params *p)
{
	struct vnet_dev *dev = to_vdev(ibpd->device);
	int err;

	p->key = mr->key;
	p->pdn = vnet_pdn(ibpd);
	/* Pairs with the address dependency of READ_ONCE() in vnet_mr_find(). */
	if (mr->pages || mr->odp || mr->dmabuf)
		smp_store_release(&dev->mr[mr->obj.index], mr);
	err = vnet_mr_enter(dev, &mr->obj, p);
	if (err) {
		vnet_mr_free(dev, mr);
		return ERR_PTR(err);
	}
	mr->ibmr.lkey = mr->key;
	mr->ibmr.rkey = mr->key;
	return &mr->ibmr;
}

/* -------------------------------------------------------------- registration */

struct ib_mr *vnet_get_dma_mr(struct ib_pd *ibpd, int access)
{
	struct nic_mr_params p = {
		.kind = NIC_MR_REGION,
		.access = access & vnet_access_mask,
		/* Addresses are kernel virtual addresses. */
		.length = ~0ull,
		.space = NIC_SPACE_POINTER,
	};
	struct vnet_mr *mr = vnet_mr_new(ibpd);

	return IS_ERR(mr) ? ERR_CAST(mr) : vnet_mr_publish(ibpd, mr, &p);
}

static int vnet_mr_list_pages(struct vnet_mr *mr)
{
	struct sg_page_iter iter;
	u32 n = 0;

	mr->max_pages = DIV_ROUND_UP(ib_umem_offset(mr->umem) + mr->umem->length, PAGE_SIZE);
	mr->pages = kvmalloc_array(mr->max_pages, sizeof(*mr->pages),
				   GFP_KERNEL_ACCOUNT | __GFP_NOWARN);
	if (!mr->pages)
		return -ENOMEM;
	for_each_sgtable_page(&mr->umem->sgt_append.sgt, &iter, 0)
	{
		if (WARN_ON_ONCE(n == mr->max_pages))
			return -EINVAL;
		mr->pages[n++] = sg_page_iter_page(&iter);
	}
	mr->npages = n;
	return n == mr->max_pages ? 0 : -EINVAL;
}

/*
 * Pin the pages of a range, or prepare it for on-demand paging. On failure, vnet_mr_free() or
 * vnet_mr_drop_memory() releases what has been acquired.
 */
static int vnet_mr_get_memory(struct vnet_ucontext *uc, struct vnet_mr *mr, u64 start, u64 length,
			      int access)
{
	struct vnet_dev *dev = to_vdev(uc->ibuc.device);
	struct vnet_odp *odp;
	struct ib_umem *umem;

	mr->start = start;
	mr->length = length;
	if (access & IB_ACCESS_ON_DEMAND) {
		odp = vnet_odp_make(dev, uc, start, access);
		if (IS_ERR(odp))
			return PTR_ERR(odp);
		mr->odp = odp;
		return 0;
	}
	umem = ib_umem_get(&dev->ibdev, start, length, access);
	if (IS_ERR(umem))
		return PTR_ERR(umem);
	mr->umem = umem;
	return vnet_mr_list_pages(mr);
}

/* Whether it is an implicit on-demand region: the whole address space of the process. */
static bool vnet_is_implicit(u64 start, u64 length, int access)
{
	return access & IB_ACCESS_ON_DEMAND && !start && length == U64_MAX;
}

static int vnet_check_range(u64 start, u64 length, u64 iova, int access)
{
	if (vnet_is_implicit(start, length, access))
		return iova ? -EINVAL : 0;
	/* Neither the range nor its last page wraps around. */
	if (!length || length > VNET_MAX_MR_SIZE || iova + length < iova ||
	    PAGE_ALIGN(start + length) < start)
		return -EINVAL;
	return 0;
}

/*
 * Set the range in the firmware's terms: an offset in the page list, or, on demand, the process'
 * own addresses.
 */
static void vnet_set_range(struct nic_mr_params *p, u64 start, u64 length, u64 iova)
{
	p->iova = p->access & IB_ZERO_BASED ? 0 : iova;
	p->addr = p->access & IB_ACCESS_ON_DEMAND ? start : offset_in_page(start);
	p->length = length;
}

struct ib_mr *vnet_reg_user_mr(struct ib_pd *ibpd, u64 start, u64 length, u64 iova, int access,
			       struct ib_udata *udata)
{
	struct vnet_dev *dev = to_vdev(ibpd->device);
	struct nic_mr_params p = {
		.kind = NIC_MR_REGION,
		.access = access & vnet_access_mask,
		.space = VNET_SPACE_PAGES,
	};
	struct vnet_mr *mr;
	int err;

	err = vnet_check_range(start, length, iova, access);
	if (err)
		return ERR_PTR(err);
	vnet_set_range(&p, start, length, iova);
	mr = vnet_mr_new(ibpd);
	if (IS_ERR(mr))
		return ERR_CAST(mr);
	mr->iova = p.iova;
	err = vnet_mr_get_memory(to_vuc(ibpd->uobject->context), mr, start, length, access);
	if (err) {
		vnet_mr_free(dev, mr);
		return ERR_PTR(err);
	}
	return vnet_mr_publish(ibpd, mr, &p);
}

struct ib_mr *vnet_reg_dmabuf_mr(struct ib_pd *ibpd, u64 offset, u64 length, u64 iova, int fd,
				 int access, vnet_reg_dmabuf_input *input)
{
	struct vnet_dev *dev = to_vdev(ibpd->device);
	struct nic_mr_params p = {
		.kind = NIC_MR_REGION,
		.access = access & vnet_dm_access_mask,
		.space = VNET_SPACE_PAGES,
	};
	struct vnet_mr *mr;
	int err;

	err = vnet_check_range(offset, length, iova, p.access);
	if (err)
		return ERR_PTR(err);
	p.iova = iova;
	p.addr = offset;
	p.length = length;
	mr = vnet_mr_new(ibpd);
	if (IS_ERR(mr))
		return ERR_CAST(mr);
	err = vnet_dmabuf_get(dev, mr, fd, offset, length, access);
	if (err) {
		vnet_mr_free(dev, mr);
		return ERR_PTR(err);
	}
	/* For regions of user addresses, the core sets these. */
	mr->ibmr.length = length;
	mr->ibmr.iova = iova;
	return vnet_mr_publish(ibpd, mr, &p);
}

/* ----------------------------------------------------------- reregistration */

/* The region's parameters, read from the firmware's entry. */
static struct nic_mr_params vnet_mr_params(const struct vnet_dev *dev, const struct vnet_mr *mr)
{
	const struct nic_mr *entry = &dev->agent.nic.mr[mr->obj.index];

	return (struct nic_mr_params){
		.key = mr->key,
		.kind = entry->kind,
		.access = entry->access,
		.pdn = entry->pdn,
		.iova = entry->iova,
		.addr = entry->addr,
		.length = entry->length,
		.space = entry->space,
	};
}

static void vnet_mr_swap_memory(struct vnet_mr *a, struct vnet_mr *b)
{
	mutex_lock(&a->lock);
	swap(a->umem, b->umem);
	swap(a->pages, b->pages);
	swap(a->npages, b->npages);
	swap(a->max_pages, b->max_pages);
	swap(a->odp, b->odp);
	swap(a->start, b->start);
	swap(a->length, b->length);
	swap(a->iova, b->iova);
	mutex_unlock(&a->lock);
}

static bool vnet_mr_has_memory(const struct vnet_mr *mr)
{
	return mr->umem || mr->odp;
}

/*
 * Exchange the memory and parameters of a region. The key stays the same: the firmware's region
 * is destroyed and created again. uverbs has locked the handle, so there is no concurrent
 * change. On failure, the region is as before.
 */
static int vnet_mr_change(struct vnet_dev *dev, struct vnet_mr *mr, struct vnet_mr *memory,
			  const struct nic_mr_params *p)
{
	struct nic_mr_params before = vnet_mr_params(dev, mr);
	int err;

	bool changes = vnet_mr_has_memory(memory);

	err = vnet_mr_leave(dev, mr->key);
	if (err)
		return err;
	if (changes)
		vnet_mr_swap_memory(mr, memory);
	err = vnet_mr_enter(dev, &mr->obj, p);
	if (!err)
		return 0;
	if (changes)
		vnet_mr_swap_memory(mr, memory);
	WARN_ON_ONCE(vnet_mr_enter(dev, &mr->obj, &before));
	return err;
}

/* Whether the pinned pages can be kept for these access rights. */
static bool vnet_mr_memory_fits(const struct vnet_mr *mr, int access)
{
	if (mr->odp || access & IB_ACCESS_ON_DEMAND)
		return false;
	return !ib_access_writable(access) || mr->umem->writable;
}

/* Get new memory if the range changes, or if pages are to become writable, pinned or unpinned. */
static int vnet_mr_renew_memory(struct vnet_ucontext *uc, const struct vnet_mr *mr,
				struct vnet_mr *memory, u64 start, struct nic_mr_params *p,
				int flags)
{
	memory->iova = p->iova;
	if (flags & IB_MR_REREG_TRANS)
		return vnet_mr_get_memory(uc, memory, start, p->length, p->access);
	if (!(flags & IB_MR_REREG_ACCESS) || vnet_mr_memory_fits(mr, p->access))
		return 0;
	/* Only the process that registered the memory can map it again. */
	if (mr->odp ? !vnet_odp_is_own(mr->odp) : mr->umem->owning_mm != current->mm)
		return -EINVAL;
	/* An implicit region cannot be pinned. */
	if (mr->length == U64_MAX && !(p->access & IB_ACCESS_ON_DEMAND))
		return -EINVAL;
	p->addr = p->access & IB_ACCESS_ON_DEMAND ? mr->start : offset_in_page(mr->start);
	return vnet_mr_get_memory(uc, memory, mr->start, mr->length, p->access);
}

/* Properties that the flags do not name stay the same. */
struct ib_mr *vnet_rereg_user_mr(struct ib_mr *ibmr, int flags, u64 start, u64 length, u64 iova,
				 int access, struct ib_pd *ibpd, struct ib_udata *udata)
{
	struct vnet_dev *dev = to_vdev(ibmr->device);
	struct vnet_mr *mr = to_vmr(ibmr);
	struct nic_mr_params p = vnet_mr_params(dev, mr);
	struct vnet_mr *memory;
	int err = 0;

	if (!vnet_mr_has_memory(mr))
		return ERR_PTR(-EOPNOTSUPP);
	if (flags & IB_MR_REREG_PD)
		p.pdn = vnet_pdn(ibpd);
	if (flags & IB_MR_REREG_ACCESS)
		p.access = access & vnet_access_mask;
	if (flags & IB_MR_REREG_TRANS)
		err = vnet_check_range(start, length, iova, p.access);
	if (err)
		return ERR_PTR(err);
	if (flags & IB_MR_REREG_TRANS)
		vnet_set_range(&p, start, length, iova);

	memory = kzalloc(sizeof(*memory), GFP_KERNEL);
	if (!memory)
		return ERR_PTR(-ENOMEM);
	err = vnet_mr_renew_memory(to_vuc(mr->ibmr.pd->uobject->context), mr, memory, start, &p,
				   flags);
	if (!err)
		err = vnet_mr_change(dev, mr, memory, &p);
	/* The old memory, or on failure the new one. */
	vnet_mr_drop_memory(memory);
	kfree(memory);
	/* NULL: the handle continues to name the same region. */
	return ERR_PTR(err);
}

/* ---------------------------------------------------------- device memory */

/* A region of length 0 gets a list, too, as a region without one is not published. */
static int vnet_mr_list_dm(struct vnet_mr *mr, const struct vnet_dm *dm, u64 offset, u64 length)
{
	void *at = (void *)dm->mem.ring + (offset & PAGE_MASK);
	u32 i, n = DIV_ROUND_UP(offset_in_page(offset) + length, PAGE_SIZE);

	mr->pages = kvmalloc_array(max(n, 1u), sizeof(*mr->pages), GFP_KERNEL_ACCOUNT);
	if (!mr->pages)
		return -ENOMEM;
	for (i = 0; i < n; i++)
		mr->pages[i] = vmalloc_to_page(at + i * PAGE_SIZE);
	mr->max_pages = n;
	mr->npages = n;
	return 0;
}

/* The core has checked the range, and that IB_ZERO_BASED is set. */
struct ib_mr *vnet_reg_dm_mr(struct ib_pd *ibpd, struct ib_dm *ibdm, struct ib_dm_mr_attr *attr,
			     struct uverbs_attr_bundle *attrs)
{
	struct nic_mr_params p = {
		.kind = NIC_MR_REGION,
		.access = attr->access_flags & vnet_dm_access_mask,
		.space = VNET_SPACE_PAGES,
	};
	struct vnet_mr *mr;
	int err;

	if (attr->access_flags & ~(vnet_dm_access_mask | IB_ACCESS_OPTIONAL))
		return ERR_PTR(-EINVAL);
	vnet_set_range(&p, attr->offset, attr->length, 0);
	mr = vnet_mr_new(ibpd);
	if (IS_ERR(mr))
		return ERR_CAST(mr);
	err = vnet_mr_list_dm(mr, to_vdm(ibdm), attr->offset, attr->length);
	if (err) {
		vnet_mr_free(to_vdev(ibpd->device), mr);
		return ERR_PTR(err);
	}
	return vnet_mr_publish(ibpd, mr, &p);
}

/* ------------------------------------------------------- kernel consumers */

/* A region that is registered by a work request, with the pages of vnet_map_mr_sg(). */
struct ib_mr *vnet_alloc_mr(struct ib_pd *ibpd, enum ib_mr_type type, u32 max_sg)
{
	struct nic_mr_params p = { .kind = NIC_MR_FAST, .space = VNET_SPACE_PAGES };
	struct vnet_mr *mr;

	if (type != IB_MR_TYPE_MEM_REG)
		return ERR_PTR(-EOPNOTSUPP);
	if (!max_sg || max_sg > VNET_MAX_FAST_PAGES)
		return ERR_PTR(-EINVAL);
	mr = vnet_mr_new(ibpd);
	if (IS_ERR(mr))
		return ERR_CAST(mr);
	mr->pages = kvcalloc(max_sg, sizeof(*mr->pages), GFP_KERNEL);
	if (!mr->pages) {
		vnet_mr_free(to_vdev(ibpd->device), mr);
		return ERR_PTR(-ENOMEM);
	}
	mr->max_pages = max_sg;
	return vnet_mr_publish(ibpd, mr, &p);
}

/* Without a DMA device, the core's DMA addresses are kernel virtual addresses. */
static struct page *vnet_page_of(u64 addr)
{
	void *at = (void *)(uintptr_t)addr;

	return is_vmalloc_addr(at) ? vmalloc_to_page(at) : virt_to_page(at);
}

static int vnet_set_page(struct ib_mr *ibmr, u64 addr)
{
	struct vnet_mr *mr = to_vmr(ibmr);
	u32 i;

	for (i = 0; i < ibmr->page_size / PAGE_SIZE; i++) {
		if (mr->npages == mr->max_pages)
			return -ENOMEM;
		mr->pages[mr->npages++] = vnet_page_of(addr + i * PAGE_SIZE);
	}
	return 0;
}

/*
 * The consumer has invalidated the region, if it was ever registered, so no operation reads the
 * page list.
 */
int vnet_map_mr_sg(struct ib_mr *ibmr, struct scatterlist *sg, int nents, unsigned int *offset)
{
	if (ibmr->page_size < PAGE_SIZE)
		return -EINVAL;
	to_vmr(ibmr)->npages = 0;
	return ib_sg_to_pages(ibmr, sg, nents, offset, vnet_set_page);
}

int vnet_dereg_mr(struct ib_mr *ibmr, struct ib_udata *udata)
{
	struct vnet_dev *dev = to_vdev(ibmr->device);
	struct vnet_mr *mr = to_vmr(ibmr);
	int err;

	err = vnet_mr_leave(dev, mr->key);
	if (err)
		return err;
	vnet_mr_free(dev, mr);
	return 0;
}

/* ----------------------------------------------------------------- prefetch */

/*
 * Look up an on-demand region by key, and take a reference. Errors: -ENOENT, -EINVAL or -EPERM,
 * as with other drivers.
 */
static struct vnet_mr *vnet_mr_find(struct ib_pd *ibpd, u32 key, bool write)
{
	struct vnet_dev *dev = to_vdev(ibpd->device);
	u32 index = nic_key_index(&dev->agent.nic, key);
	struct vnet_object *obj = vnet_object_get(&dev->mrs, index);
	const struct nic_mr *entry;
	struct vnet_mr *mr;
	int err = -EINVAL;

	if (!obj)
		return ERR_PTR(-ENOENT);
	mr = READ_ONCE(dev->mr[index]);
	/* Windows have no entry here, nor has a region that is being deregistered. */
	if (!mr || &mr->obj != obj)
		goto put;
	entry = &dev->agent.nic.mr[index];
	err = -ENOENT;
	if (mr->key != key || !(nic_load(&entry->access) & IB_ACCESS_ON_DEMAND))
		goto put;
	err = -EPERM;
	if (mr->ibmr.pd != ibpd || (write && !(nic_load(&entry->access) & IB_ACCESS_LOCAL_WRITE)))
		goto put;
	return mr;
put:
	vnet_object_put(obj);
	return ERR_PTR(err);
}

/*
 * Returns the region's on-demand memory with a reference, and the process' address of the range
 * in *at. NULL if the range is not in the region, which may have been reregistered meanwhile.
 */
static struct vnet_odp *vnet_mr_range(struct vnet_mr *mr, const struct ib_sge *sge, u64 *at)
{
	struct vnet_odp *odp = NULL;
	u64 offset;

	mutex_lock(&mr->lock);
	offset = sge->addr - mr->iova;
	if (mr->odp && sge->addr >= mr->iova && offset <= mr->length &&
	    sge->length <= mr->length - offset) {
		*at = mr->start + offset;
		odp = mr->odp;
		vnet_odp_get(odp);
	}
	mutex_unlock(&mr->lock);
	return odp;
}

/* Prefetch one range. waits: return when its pages are present, or cannot be brought. */
static int vnet_mr_prefetch(struct vnet_mr *mr, const struct ib_sge *sge, enum vnet_fetch how,
			    bool waits)
{
	struct vnet_odp *odp;
	int err = 0;
	u64 at;

	odp = vnet_mr_range(mr, sge, &at);
	if (!odp)
		return -EFAULT;
	if (sge->length && (waits || how == VNET_FETCH_NO_FAULT))
		err = vnet_odp_prefetch(odp, at, sge->length, how);
	else if (sge->length)
		vnet_odp_request(odp, at, sge->length, how == VNET_FETCH_WRITE, U64_MAX);
	vnet_odp_put(odp);
	return err;
}

/*
 * All keys are checked before any page is brought. Errors of ranges are only reported if the
 * caller waits.
 */
int vnet_advise_mr(struct ib_pd *ibpd, enum ib_uverbs_advise_mr_advice advice, u32 flags,
		   struct ib_sge *sges, u32 num_sge, struct uverbs_attr_bundle *attrs)
{
	static const enum vnet_fetch how[] = {
		[IB_UVERBS_ADVISE_MR_ADVICE_PREFETCH] = VNET_FETCH_READ,
		[IB_UVERBS_ADVISE_MR_ADVICE_PREFETCH_WRITE] = VNET_FETCH_WRITE,
		[IB_UVERBS_ADVISE_MR_ADVICE_PREFETCH_NO_FAULT] = VNET_FETCH_NO_FAULT,
	};
	bool waits = flags & IB_UVERBS_ADVISE_MR_FLAG_FLUSH;
	struct vnet_mr *mr;
	bool does = false;
	u32 i = 0;
	int err;

	if ((u32)advice >= ARRAY_SIZE(how))
		return -EOPNOTSUPP;
	while (i < num_sge) {
		mr = vnet_mr_find(ibpd, sges[i].lkey, how[advice] == VNET_FETCH_WRITE);
		if (IS_ERR(mr))
			return PTR_ERR(mr);
		err = 0;
		if (does)
			err = vnet_mr_prefetch(mr, &sges[i], how[advice], waits);
		vnet_object_put(&mr->obj);
		if (err && (waits || err == -EINTR))
			return err;
		/* In a second pass, prefetch the ranges. */
		if (++i == num_sge && !does) {
			does = true;
			i = 0;
		}
	}
	return 0;
}

/* ----------------------------------------------------------------- windows */

int vnet_alloc_mw(struct ib_mw *ibmw, struct ib_udata *udata)
{
	struct vnet_mw *mw = container_of(ibmw, struct vnet_mw, ibmw);
	struct vnet_dev *dev = to_vdev(ibmw->device);
	struct nic_mr_params p = {
		.kind = ibmw->type == IB_MW_TYPE_1 ? NIC_MR_WINDOW_1 : NIC_MR_WINDOW_2,
		.pdn = vnet_pdn(ibmw->pd),
	};
	int err;

	if (ibmw->type != IB_MW_TYPE_1 && ibmw->type != IB_MW_TYPE_2)
		return -EINVAL;
	err = vnet_number_draw(dev, &dev->mrs, nic_key_draw, &mw->obj, &p.key);
	if (err)
		return err;
	err = vnet_mr_enter(dev, &mw->obj, &p);
	if (err) {
		vnet_number_end(&dev->mrs, &mw->obj);
		return err;
	}
	ibmw->rkey = p.key;
	return 0;
}

int vnet_dealloc_mw(struct ib_mw *ibmw)
{
	struct vnet_mw *mw = container_of(ibmw, struct vnet_mw, ibmw);
	struct vnet_dev *dev = to_vdev(ibmw->device);
	int err;

	err = vnet_mr_leave(dev, ibmw->rkey);
	if (!err)
		vnet_number_end(&dev->mrs, &mw->obj);
	return err;
}
