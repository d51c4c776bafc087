// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Memory windows. They are entries of the region table that processes bind and invalidate through
 * their queue pairs.
 */
#include <errno.h>

#include "ioctl.h"
#include "objects.h"

static const struct uv_class mw_class = {
	.type = UVERBS_OBJECT_MW,
	.size = sizeof(struct uv_mr),
	.start = uv_mr_start,
	.stop = uv_mr_stop,
	.release = uv_mr_release,
};

static u8 window_kind(u8 type)
{
	switch (type) {
	case 1:
		return NIC_MR_WINDOW_1;
	case 2:
		return NIC_MR_WINDOW_2;
	default:
		return NIC_MR_FREE;
	}
}

int uv_alloc_mw(struct uv_request *req)
{
	struct nic_mr_params params = { .kind = NIC_MR_FREE };
	struct ib_uverbs_alloc_mw_resp resp;
	struct ib_uverbs_alloc_mw cmd;
	struct uv_object *pd;
	struct uv_mr *mw;
	int err;

	err = uv_get(req, &cmd, sizeof(cmd));
	if (err)
		return err;
	pd = uv_object_read(req, UVERBS_OBJECT_PD, cmd.pd_handle);
	params.kind = window_kind(cmd.mw_type);
	if (!pd || params.kind == NIC_MR_FREE)
		return -EINVAL;
	err = uv_mr_new(req, &mw_class, pd, &params, &mw);
	if (err)
		return err;
	resp = (struct ib_uverbs_alloc_mw_resp){
		.mw_handle = mw->obj.handle,
		.rkey = mw->params.key,
	};
	return uv_respond(req, &resp, sizeof(resp));
}

int uv_dealloc_mw(struct uv_request *req)
{
	struct ib_uverbs_dealloc_mw cmd;
	int err;

	err = uv_get(req, &cmd, sizeof(cmd));
	return err ? err : uv_object_destroy(req->ctx, UVERBS_OBJECT_MW, cmd.mw_handle);
}

int uv_ioctl_destroy_mw(struct uv_request *req)
{
	struct uv_object *obj = uv_attr_object(req, UVERBS_ATTR_DESTROY_MW_HANDLE);

	return uv_object_destroy(req->ctx, UVERBS_OBJECT_MW, obj->handle);
}
