// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Rings: memory of the kernel, which the process that uses one maps. */
#include <linux/mm.h>
#include <linux/slab.h>
#include <linux/srcu.h>
#include <linux/vmalloc.h>

#include "vnet_ib.h"

DEFINE_SRCU(vnet_inside);

/*
 * Rings are the kernel's memory, which no limit of a process counts: so all of
 * them together are at most a part of the machine's.
 */
#define VNET_RINGS_PART 4

static atomic_long_t vnet_ring_pages = ATOMIC_LONG_INIT(0);

static bool vnet_ring_charge(size_t size)
{
	long pages = size >> PAGE_SHIFT;

	if (atomic_long_add_return(pages, &vnet_ring_pages) <= totalram_pages() / VNET_RINGS_PART)
		return true;
	atomic_long_sub(pages, &vnet_ring_pages);
	return false;
}

static void vnet_ring_uncharge(size_t size)
{
	atomic_long_sub(size >> PAGE_SHIFT, &vnet_ring_pages);
}

static void vnet_map_free(struct rcu_head *rcu)
{
	struct vnet_mmap *map = container_of(rcu, struct vnet_mmap, rcu);

	vfree(map->memory);
	kfree(map);
}

int vnet_ring_make(struct vnet_ring_mem *mem, struct ib_ucontext *ucontext, u32 entries, u32 shift)
{
	mem->entries = entries;
	mem->shift = shift;
	/* Limits of entries and strides keep this far from wrapping. */
	return vnet_shared_make(mem, ucontext, VNET_RING_HDR_SIZE + ((size_t)entries << shift));
}

int vnet_shared_make(struct vnet_ring_mem *mem, struct ib_ucontext *ucontext, size_t size)
{
	struct vnet_mmap *map = kzalloc(sizeof(*map), GFP_KERNEL);
	int err = -ENOMEM;

	if (!map)
		return -ENOMEM;
	map->size = PAGE_ALIGN(size);
	if (!vnet_ring_charge(map->size))
		goto free_map;
	map->memory = vmalloc_user(map->size);
	if (!map->memory)
		goto uncharge;
	if (ucontext) {
		err = rdma_user_mmap_entry_insert(ucontext, &map->entry, map->size);
		if (err)
			goto free_memory;
	}
	mem->ring = map->memory;
	mem->size = map->size;
	mem->mmap = map;
	mem->offered = ucontext;
	return 0;

free_memory:
	vfree(map->memory);
uncharge:
	vnet_ring_uncharge(map->size);
free_map:
	kfree(map);
	mem->ring = NULL;
	return err;
}

void vnet_ring_free(struct vnet_ring_mem *mem)
{
	if (mem->offered)
		rdma_user_mmap_entry_remove(&mem->mmap->entry);
	else
		vnet_mmap_free(&mem->mmap->entry);
	mem->ring = NULL;
	mem->mmap = NULL;
}

void vnet_ring_info(const struct vnet_ring_mem *mem, struct vnet_ring_info *info)
{
	if (!mem->offered)
		return;
	info->mmap_offset = rdma_user_mmap_get_offset(&mem->mmap->entry);
	info->mmap_size = mem->size;
	info->entries = mem->entries;
	info->stride_shift = mem->shift;
}

/*
 * The pages are counted: a mapping keeps its own after the ring is freed, and
 * nobody reads there any more.
 */
int vnet_mmap(struct ib_ucontext *ucontext, struct vm_area_struct *vma)
{
	struct rdma_user_mmap_entry *entry;
	struct vnet_mmap *map;
	int err = -EINVAL;

	entry = rdma_user_mmap_entry_get(ucontext, vma);
	if (!entry)
		return -EINVAL;
	map = container_of(entry, struct vnet_mmap, entry);
	if (vma->vm_flags & VM_SHARED && vma->vm_end - vma->vm_start == map->size)
		err = remap_vmalloc_range(vma, map->memory, 0);
	if (!err && map->mapped)
		WRITE_ONCE(*map->mapped, true);
	rdma_user_mmap_entry_put(entry);
	return err;
}

void vnet_mmap_free(struct rdma_user_mmap_entry *entry)
{
	struct vnet_mmap *map = container_of(entry, struct vnet_mmap, entry);

	vnet_ring_uncharge(map->size);
	call_srcu(&vnet_inside, &map->rcu, vnet_map_free);
}
