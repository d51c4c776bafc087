// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Rings: memory of the kernel, which the process that uses one maps. */
#include <linux/mm.h>
#include <linux/vmalloc.h>

#include "vnet_ib.h"

static int vnet_ring_offer(struct vnet_ring_mem *mem, struct ib_ucontext *ucontext)
{
	struct vnet_mmap *map;
	int err;

	map = kzalloc(sizeof(*map), GFP_KERNEL);
	if (!map)
		return -ENOMEM;
	map->memory = mem->ring;
	map->size = mem->size;
	err = rdma_user_mmap_entry_insert(ucontext, &map->entry, mem->size);
	if (err) {
		kfree(map);
		return err;
	}
	mem->mmap = map;
	return 0;
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
	int err;

	mem->size = PAGE_ALIGN(size);
	mem->mmap = NULL;
	mem->ring = vmalloc_user(mem->size);
	if (!mem->ring)
		return -ENOMEM;
	if (!ucontext)
		return 0;
	err = vnet_ring_offer(mem, ucontext);
	if (err) {
		vfree(mem->ring);
		mem->ring = NULL;
	}
	return err;
}

void vnet_ring_free(struct vnet_ring_mem *mem)
{
	if (mem->mmap)
		rdma_user_mmap_entry_remove(&mem->mmap->entry);
	else
		vfree(mem->ring);
	mem->ring = NULL;
	mem->mmap = NULL;
}

void vnet_ring_info(const struct vnet_ring_mem *mem, struct vnet_ring_info *info)
{
	if (!mem->mmap)
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

	vfree(map->memory);
	kfree(map);
}
