// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Protection domains: numbers that regions, windows and queues share. */
#include <errno.h>

#include "ioctl.h"
#include "objects.h"

static void pd_release(struct uv_object *obj)
{
	uv_number_put(&obj->device->alloc->pd, UV_CAST(struct uv_pd, obj)->pdn);
}

static const struct uv_class pd_class = {
	.type = UVERBS_OBJECT_PD,
	.size = sizeof(struct uv_pd),
	.release = pd_release,
};

static int pd_new(struct uv_request *req, struct uv_pd **out)
{
	struct uv_object *obj;
	struct uv_pd *pd;
	int err;

	err = uv_object_new(req, &pd_class, &obj);
	if (err)
		return err;
	pd = UV_CAST(struct uv_pd, obj);
	pd->pdn = uv_number_get(&req->device->alloc->pd, pd);
	if (pd->pdn == NIC_NONE) {
		uv_object_drop(obj);
		return -ENOMEM;
	}
	req->created = obj;
	*out = pd;
	return 0;
}

int uv_alloc_pd(struct uv_request *req)
{
	struct ib_uverbs_alloc_pd cmd;
	struct ib_uverbs_alloc_pd_resp resp;
	struct vnet_alloc_pd_resp driver;
	struct uv_pd *pd;
	int err;

	err = uv_get(req, &cmd, sizeof(cmd));
	if (!err)
		err = pd_new(req, &pd);
	if (err)
		return err;
	driver = (struct vnet_alloc_pd_resp){ .pdn = pd->pdn };
	err = uv_respond_driver(req, &driver, sizeof(driver));
	if (err)
		return err;
	resp = (struct ib_uverbs_alloc_pd_resp){ .pd_handle = pd->obj.handle };
	return uv_respond(req, &resp, sizeof(resp));
}

int uv_dealloc_pd(struct uv_request *req)
{
	struct ib_uverbs_dealloc_pd cmd;
	int err;

	err = uv_get(req, &cmd, sizeof(cmd));
	return err ? err : uv_object_destroy(req->ctx, UVERBS_OBJECT_PD, cmd.pd_handle);
}

int uv_ioctl_destroy_pd(struct uv_request *req)
{
	struct uv_object *obj = uv_attr_object(req, UVERBS_ATTR_DESTROY_PD_HANDLE);

	return uv_object_destroy(req->ctx, UVERBS_OBJECT_PD, obj->handle);
}
