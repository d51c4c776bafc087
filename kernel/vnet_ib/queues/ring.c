// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Rings: kernel memory that the process that uses a ring maps. Accounting and mmap(). */
#include <linux/anon_inodes.h>
#include <linux/file.h>
#include <linux/fs.h>
#include <linux/mm.h>
#include <linux/slab.h>
#include <linux/srcu.h>
#include <linux/vmalloc.h>

#include "queues.h"

/*
 * Rings are charged to the memory cgroup of their creator. Not every cgroup is limited, so all
 * rings together are limited to this part of the machine's memory.
 */
#define VNET_RINGS_PART 4
/* Large requests fail instead of invoking the OOM killer. */
#define VNET_RINGS_GFP (GFP_KERNEL_ACCOUNT | __GFP_ZERO | __GFP_RETRY_MAYFAIL | __GFP_NOWARN)

static atomic_long_t vnet_ring_bytes = ATOMIC_LONG_INIT(0);

static void vnet_ring_uncharge(size_t size)
{
	atomic_long_sub(size, &vnet_ring_bytes);
}

static bool vnet_ring_try_charge(size_t size)
{
	long limit = totalram_pages() / VNET_RINGS_PART << PAGE_SHIFT;

	if (atomic_long_add_return(size, &vnet_ring_bytes) <= limit)
		return true;
	vnet_ring_uncharge(size);
	return false;
}

static bool vnet_ring_charge(size_t size)
{
	if (vnet_ring_try_charge(size))
		return true;
	/* Memory that was released just now is not free yet: see vnet_map_put(). */
	srcu_barrier(&vnet_inside);
	return vnet_ring_try_charge(size);
}

static void vnet_map_free(struct rcu_head *rcu)
{
	struct vnet_mmap *map = container_of(rcu, struct vnet_mmap, rcu);

	vfree(map->memory);
	vnet_ring_uncharge(map->size);
	if (map->freed)
		map->freed(map);
	kfree(map);
}

static void vnet_map_release(struct kref *kref)
{
	struct vnet_mmap *map = container_of(kref, struct vnet_mmap, kref);

	call_srcu(&vnet_inside, &map->rcu, vnet_map_free);
}

/*
 * Drop a reference. The memory is freed, and counted until then, after the last mapping is gone
 * and all readers of vnet_inside have left.
 */
static void vnet_map_put(struct vnet_mmap *map)
{
	kref_put(&map->kref, vnet_map_release);
}

int vnet_ring_make(struct vnet_ring_mem *mem, struct ib_ucontext *ucontext, u32 entries, u32 shift)
{
	mem->entries = entries;
	mem->shift = shift;
	/* The limits of entries and shift exclude an overflow. */
	return vnet_shared_make(mem, ucontext, VNET_RING_HDR_SIZE + ((size_t)entries << shift));
}

int vnet_shared_make(struct vnet_ring_mem *mem, struct ib_ucontext *ucontext, size_t size)
{
	struct vnet_mmap *map = kzalloc(sizeof(*map), GFP_KERNEL_ACCOUNT);
	int err = -ENOMEM;

	if (!map)
		return -ENOMEM;
	kref_init(&map->kref);
	map->size = PAGE_ALIGN(size);
	if (!vnet_ring_charge(map->size))
		goto free_map;
	map->memory = __vmalloc(map->size, VNET_RINGS_GFP);
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

/* ---------------------------------------------------------------- mappings */

/*
 * Each mapping has a file of its own, instead of the device file. It keeps the memory (with its
 * accounting) and the module, through forks, splits and moves of the mapping, also after the end
 * of the object, the context and the device.
 */
static int vnet_mapping_release(struct inode *inode, struct file *file)
{
	vnet_map_put(file->private_data);
	return 0;
}

static const struct file_operations vnet_mapping_ops = {
	.owner = THIS_MODULE,
	.release = vnet_mapping_release,
};

/* All pages are inserted by mmap(), so no faults need to be handled. */
static const struct vm_operations_struct vnet_mapping_vm_ops = {};

static struct file *vnet_mapping_file(struct vnet_mmap *map)
{
	struct file *file;

	kref_get(&map->kref);
	file = anon_inode_getfile("[vnet-memory]", &vnet_mapping_ops, map, O_RDWR);
	if (IS_ERR(file))
		vnet_map_put(map);
	return file;
}

static int vnet_map_pages(struct vm_area_struct *vma, const struct vnet_mmap *map)
{
	size_t done;
	int err = 0;

	vnet_vm_flags_set(vma, VM_DONTEXPAND | VM_DONTDUMP);
	for (done = 0; done < map->size && !err; done += PAGE_SIZE) {
		err = vm_insert_page(vma, vma->vm_start + done,
				     vmalloc_to_page(map->memory + done));
	}
	return err;
}

static int vnet_map(struct vm_area_struct *vma, struct vnet_mmap *map)
{
	struct file *file;
	int err;

	if (!(vma->vm_flags & VM_SHARED) || vma->vm_end - vma->vm_start != map->size)
		return -EINVAL;
	file = vnet_mapping_file(map);
	if (IS_ERR(file))
		return PTR_ERR(file);
	err = vnet_map_pages(vma, map);
	if (!err) {
		vma->vm_ops = &vnet_mapping_vm_ops;
		vma_set_file(vma, file);
		if (map->mapped)
			WRITE_ONCE(*map->mapped, true);
	}
	fput(file);
	return err;
}

int vnet_mmap(struct ib_ucontext *ucontext, struct vm_area_struct *vma)
{
	struct rdma_user_mmap_entry *entry;
	int err;

	entry = rdma_user_mmap_entry_get(ucontext, vma);
	if (!entry)
		return -EINVAL;
	err = vnet_map(vma, container_of(entry, struct vnet_mmap, entry));
	rdma_user_mmap_entry_put(entry);
	return err;
}

void vnet_mmap_free(struct rdma_user_mmap_entry *entry)
{
	vnet_map_put(container_of(entry, struct vnet_mmap, entry));
}
