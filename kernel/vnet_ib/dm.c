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

#include "vnet_ib.h"

/* Bytes allocated. Mappings of device memory outlive its object and the device. */
struct vnet_dm_room {
	struct kref kref;
	atomic_long_t bytes;
};

struct vnet_dm_room *vnet_dm_room_make(void)
{
	struct vnet_dm_room *room = kzalloc(sizeof(*room), GFP_KERNEL);

	if (room)
		kref_init(&room->kref);
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

void vnet_dm_give_back(struct vnet_dm_room *room, size_t size)
{
	atomic_long_sub(size, &room->bytes);
	kref_put(&room->kref, vnet_dm_room_free);
}

static int vnet_dm_tell(struct uverbs_attr_bundle *attrs, u16 id, const struct vnet_dm *dm,
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

	if (!vnet_reserve(&room->bytes, PAGE_ALIGN(length), VNET_MAX_DM_SIZE))
		return -ENOMEM;
	kref_get(&room->kref);
	err = vnet_shared_make(&dm->mem, ibuc, length);
	if (err)
		vnet_dm_give_back(room, PAGE_ALIGN(length));
	else
		dm->mem.mmap->room = room;
	return err;
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
	err = vnet_dm_tell(attrs, VNET_ATTR_ALLOC_DM_RESP, dm, attr->length);
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

	return vnet_dm_tell(attrs, VNET_ATTR_QUERY_DM_RESP, to_vdm(ibdm), ibdm->length);
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
