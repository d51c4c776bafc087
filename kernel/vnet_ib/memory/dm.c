// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Device memory: kernel pages that the process maps like a ring. Regions of device memory are in
 * mr.c. The core keeps the memory until all of its regions have ended.
 */
#include <linux/slab.h>
#include <rdma/uverbs_ioctl.h>
#define UVERBS_MODULE_NAME vnet_ib
#include <rdma/uverbs_named_ioctl.h>
#include <rdma/uverbs_std_types.h>

#include "memory.h"

/* Bytes allocated. Mappings of device memory outlive its object and the device. */
struct vnet_dm_room {
	struct kref kref;
	/* Bytes of each user, by UID, and of all users. The array's lock protects both. */
	struct xarray users;
	u64 bytes;
};

struct vnet_dm_room *vnet_dm_room_make(void)
{
	struct vnet_dm_room *room = kzalloc(sizeof(*room), GFP_KERNEL);

	if (!room)
		return NULL;
	kref_init(&room->kref);
	/* Memory is given back in SRCU callbacks, with softirqs disabled. */
	xa_init_flags(&room->users, XA_FLAGS_LOCK_BH);
	return room;
}

static void vnet_dm_room_free(struct kref *kref)
{
	kfree(container_of(kref, struct vnet_dm_room, kref));
}

void vnet_dm_room_end(struct vnet_dm_room *room)
{
	if (room)
		kref_put(&room->kref, vnet_dm_room_free);
}

static bool vnet_dm_fits(const struct vnet_dm_room *room, u64 own, u64 all)
{
	return all <= VNET_MAX_DM_SIZE &&
	       (vnet_in_quota(own, all, VNET_MAX_DM_SIZE) || !vnet_has_quota());
}

/* Reserve memory for the caller. */
static bool vnet_dm_try(struct vnet_dm_room *room, size_t size)
{
	unsigned long user = __kuid_val(current_uid());
	bool fits;
	u64 own;

	xa_lock_bh(&room->users);
	own = xa_to_value(xa_load(&room->users, user)) + size;
	fits = vnet_dm_fits(room, own, room->bytes + size) &&
	       !xa_is_err(__xa_store(&room->users, user, xa_mk_value(own), GFP_ATOMIC));
	if (fits)
		room->bytes += size;
	xa_unlock_bh(&room->users);
	return fits;
}

static bool vnet_dm_take(struct vnet_dm_room *room, size_t size)
{
	if (vnet_dm_try(room, size))
		goto taken;
	/* Memory that was released just now is not free yet: see vnet_map_put(). */
	srcu_barrier(&vnet_inside);
	if (!vnet_dm_try(room, size))
		return false;
taken:
	kref_get(&room->kref);
	return true;
}

static void vnet_dm_give_back(struct vnet_dm_room *room, kuid_t owner, size_t size)
{
	unsigned long user = __kuid_val(owner);
	u64 own;

	xa_lock_bh(&room->users);
	own = xa_to_value(xa_load(&room->users, user)) - size;
	/* Neither needs memory, as the entry exists. */
	if (own)
		__xa_store(&room->users, user, xa_mk_value(own), 0);
	else
		__xa_erase(&room->users, user);
	room->bytes -= size;
	xa_unlock_bh(&room->users);
	kref_put(&room->kref, vnet_dm_room_free);
}

static void vnet_dm_freed(struct vnet_mmap *map)
{
	vnet_dm_give_back(map->room, map->user, map->size);
}

static int vnet_dm_respond(struct uverbs_attr_bundle *attrs, u16 id, const struct vnet_dm *dm,
			   u64 length)
{
	struct vnet_alloc_dm_resp resp = {
		.mmap_offset = rdma_user_mmap_get_offset(&dm->mem.mmap->entry),
		.mmap_size = dm->mem.size,
		.length = length,
	};

	return uverbs_copy_to_struct_or_zero(attrs, id, &resp, sizeof(resp));
}

static int vnet_dm_make(struct vnet_dev *dev, struct vnet_dm *dm, struct ib_ucontext *ibuc,
			u64 length)
{
	struct vnet_dm_room *room = dev->dm_room;
	int err;

	if (!vnet_dm_take(room, PAGE_ALIGN(length)))
		return -ENOMEM;
	err = vnet_shared_make(&dm->mem, ibuc, length);
	if (err) {
		vnet_dm_give_back(room, current_uid(), PAGE_ALIGN(length));
		return err;
	}
	dm->mem.mmap->room = room;
	dm->mem.mmap->user = current_uid();
	dm->mem.mmap->freed = vnet_dm_freed;
	return 0;
}

static void vnet_dm_free(struct vnet_dm *dm)
{
	vnet_ring_free(&dm->mem);
	kfree(dm);
}

struct ib_dm *vnet_alloc_dm(struct ib_device *ibdev, struct ib_ucontext *ibuc,
			    struct ib_dm_alloc_attr *attr, struct uverbs_attr_bundle *attrs)
{
	struct vnet_dev *dev = to_vdev(ibdev);
	struct vnet_dm *dm;
	int err;

	/* The memory is page-aligned. */
	if (!attr->length || attr->length > VNET_MAX_DM_SIZE || attr->alignment > PAGE_SHIFT)
		return ERR_PTR(-EINVAL);
	dm = kzalloc(sizeof(*dm), GFP_KERNEL);
	if (!dm)
		return ERR_PTR(-ENOMEM);
	err = vnet_dm_make(dev, dm, ibuc, attr->length);
	if (err) {
		kfree(dm);
		return ERR_PTR(err);
	}
	err = vnet_dm_respond(attrs, VNET_ATTR_ALLOC_DM_RESP, dm, attr->length);
	if (err) {
		vnet_dm_free(dm);
		return ERR_PTR(err);
	}
	return &dm->ibdm;
}

int vnet_dealloc_dm(struct ib_dm *ibdm, struct uverbs_attr_bundle *attrs)
{
	vnet_dm_free(to_vdm(ibdm));
	return 0;
}

/* ------------------------------------------------------------- importing */

static int UVERBS_HANDLER(VNET_METHOD_DM_QUERY)(struct uverbs_attr_bundle *attrs)
{
	struct ib_dm *ibdm = uverbs_attr_get_obj(attrs, VNET_ATTR_QUERY_DM_HANDLE);

	return vnet_dm_respond(attrs, VNET_ATTR_QUERY_DM_RESP, to_vdm(ibdm), ibdm->length);
}

DECLARE_UVERBS_NAMED_METHOD(
	VNET_METHOD_DM_QUERY,
	UVERBS_ATTR_IDR(VNET_ATTR_QUERY_DM_HANDLE, UVERBS_OBJECT_DM, UVERBS_ACCESS_READ,
			UA_MANDATORY),
	UVERBS_ATTR_PTR_OUT(VNET_ATTR_QUERY_DM_RESP,
			    UVERBS_ATTR_STRUCT(struct vnet_alloc_dm_resp, length), UA_MANDATORY));

DECLARE_UVERBS_GLOBAL_METHODS(UVERBS_OBJECT_DM, &UVERBS_METHOD(VNET_METHOD_DM_QUERY));

ADD_UVERBS_ATTRIBUTES_SIMPLE(
	vnet_dm_alloc, UVERBS_OBJECT_DM, UVERBS_METHOD_DM_ALLOC,
	UVERBS_ATTR_PTR_OUT(VNET_ATTR_ALLOC_DM_RESP,
			    UVERBS_ATTR_STRUCT(struct vnet_alloc_dm_resp, length), UA_MANDATORY));

const struct uapi_definition vnet_dm_uapi[] = {
	UAPI_DEF_CHAIN_OBJ_TREE(UVERBS_OBJECT_DM, &vnet_dm_alloc),
	UAPI_DEF_CHAIN_OBJ_TREE_NAMED(UVERBS_OBJECT_DM),
	{},
};
