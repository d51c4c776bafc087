// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Device memory (DM): parts of queue memory that processes map and register. */
#include <errno.h>

#include "ioctl.h"
#include "objects.h"

/* Blocks are page-aligned. */
#define MAX_LOG_ALIGN 12
#define ACCESS_DM                                                                                  \
	((u32)(IB_UVERBS_ACCESS_LOCAL_WRITE | IB_UVERBS_ACCESS_REMOTE_WRITE |                      \
	       IB_UVERBS_ACCESS_REMOTE_READ | IB_UVERBS_ACCESS_REMOTE_ATOMIC |                     \
	       IB_UVERBS_ACCESS_ZERO_BASED | NIC_ACCESS_FLUSH_GLOBAL))

static void dm_release(struct uv_object *obj)
{
	struct uv_dm *dm = UV_CAST(struct uv_dm, obj);

	obj->device->alloc->dm_bytes -= dm->block->size;
	uv_ring_put(obj, dm->block);
}

static const struct uv_class dm_class = {
	.type = UVERBS_OBJECT_DM,
	.size = sizeof(struct uv_dm),
	.release = dm_release,
};

static int put_place(struct uv_request *req, u16 id, const struct uv_dm *dm)
{
	struct vnet_alloc_dm_resp resp = {
		.mmap_offset = dm->block->offset,
		.mmap_size = dm->block->size,
		.length = dm->length,
	};

	return uv_attr_put_or_zero(req, id, &resp, sizeof(resp));
}

static int dm_new(struct uv_request *req, u64 length, struct uv_dm **out)
{
	struct device_alloc *alloc = req->device->alloc;
	struct uv_object *obj;
	struct uv_dm *dm;
	int err;

	err = uv_object_new(req, &dm_class, &obj);
	if (err)
		return err;
	dm = UV_CAST(struct uv_dm, obj);
	dm->length = length;
	dm->block = length <= UV_MAX_DM_SIZE - alloc->dm_bytes ? uv_heap_get(req->device, length) :
								 NULL;
	if (!dm->block) {
		uv_object_drop(obj);
		return -ENOMEM;
	}
	alloc->dm_bytes += dm->block->size;
	req->created = obj;
	*out = dm;
	return 0;
}

int uv_ioctl_alloc_dm(struct uv_request *req)
{
	struct uv_dm *dm;
	u32 alignment;
	u64 length;
	int err;

	err = uv_attr_get(req, UVERBS_ATTR_ALLOC_DM_LENGTH, &length, sizeof(length));
	if (!err)
		err = uv_attr_get(req, UVERBS_ATTR_ALLOC_DM_ALIGNMENT, &alignment,
				  sizeof(alignment));
	if (err)
		return err;
	if (!length || length > UV_MAX_DM_SIZE || alignment > MAX_LOG_ALIGN)
		return -EINVAL;
	err = dm_new(req, length, &dm);
	if (!err)
		err = put_place(req, VNET_ATTR_ALLOC_DM_RESP, dm);
	return err ? err : uv_attr_put_handle(req, UVERBS_ATTR_ALLOC_DM_HANDLE, dm->obj.handle);
}

int uv_ioctl_free_dm(struct uv_request *req)
{
	struct uv_object *obj = uv_attr_object(req, UVERBS_ATTR_FREE_DM_HANDLE);

	return uv_object_destroy(req->ctx, UVERBS_OBJECT_DM, obj->handle);
}

int uv_ioctl_query_dm(struct uv_request *req)
{
	struct uv_object *obj = uv_attr_object(req, VNET_ATTR_QUERY_DM_HANDLE);

	return put_place(req, VNET_ATTR_QUERY_DM_RESP, UV_CAST(struct uv_dm, obj));
}

/* ----------------------------------------------------------------- regions */

struct dm_range {
	u64 offset;
	u64 length;
	u32 access;
};

/* Validates in the order of the kernel, then of a driver. */
static int get_range(struct uv_request *req, const struct uv_dm *dm, struct dm_range *range)
{
	int err;

	err = uv_attr_get(req, UVERBS_ATTR_REG_DM_MR_OFFSET, &range->offset, sizeof(range->offset));
	if (!err)
		err = uv_attr_get(req, UVERBS_ATTR_REG_DM_MR_LENGTH, &range->length,
				  sizeof(range->length));
	if (!err)
		err = uv_attr_flags(req, UVERBS_ATTR_REG_DM_MR_ACCESS_FLAGS, 0xffffffff,
				    &range->access);
	if (err)
		return err;
	if (!(range->access & IB_UVERBS_ACCESS_ZERO_BASED))
		return -EINVAL;
	err = uv_mr_check_access(range->access);
	if (err)
		return err;
	if (range->offset > dm->length || range->length > dm->length - range->offset)
		return -EINVAL;
	/* Optional access flags are ignored. */
	return range->access & ~(ACCESS_DM | IB_UVERBS_ACCESS_OPTIONAL_RANGE) ? -EINVAL : 0;
}

static int put_keys(struct uv_request *req, const struct uv_mr *mr)
{
	const u32 *key = &mr->params.key;
	int err;

	err = uv_attr_put(req, UVERBS_ATTR_REG_DM_MR_RESP_LKEY, key, sizeof(*key));
	if (!err)
		err = uv_attr_put(req, UVERBS_ATTR_REG_DM_MR_RESP_RKEY, key, sizeof(*key));
	return err ? err : uv_attr_put_handle(req, UVERBS_ATTR_REG_DM_MR_HANDLE, mr->obj.handle);
}

int uv_ioctl_reg_dm_mr(struct uv_request *req)
{
	struct uv_object *pd = uv_attr_object(req, UVERBS_ATTR_REG_DM_MR_PD_HANDLE);
	struct uv_dm *dm =
		UV_CAST(struct uv_dm, uv_attr_object(req, UVERBS_ATTR_REG_DM_MR_DM_HANDLE));
	struct nic_mr_params params = { .kind = NIC_MR_DEVICE };
	struct dm_range range;
	struct uv_mr *mr;
	int err;

	err = get_range(req, dm, &range);
	if (err)
		return err;
	params.access = range.access & ACCESS_DM;
	params.addr = dm->block->offset + range.offset;
	params.length = range.length;
	err = uv_mr_new(req, &uv_mr_class, pd, &params, &mr);
	if (err)
		return err;
	mr->params.space = NIC_SPACE_DEVICE;
	mr->dm = dm;
	uv_use(&dm->obj);
	return put_keys(req, mr);
}
