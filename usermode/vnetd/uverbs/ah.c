// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Address handles: validates and counts them. The provider keeps the address itself. */
#include <errno.h>

#include "address/address.h"
#include "ioctl.h"
#include "link/link.h"
#include "objects.h"

static void ah_release(struct uv_object *obj)
{
	struct uv_ah *ah = UV_CAST(struct uv_ah, obj);

	uv_number_put(&obj->device->alloc->ah, ah->index);
	uv_unuse(&ah->pd->obj);
}

static const struct uv_class ah_class = {
	.type = UVERBS_OBJECT_AH,
	.size = sizeof(struct uv_ah),
	.release = ah_release,
};

static int ah_new(struct uv_request *req, struct uv_pd *pd, struct uv_ah **out)
{
	struct uv_object *obj;
	struct uv_ah *ah;
	int err;

	err = uv_object_new(req, &ah_class, &obj);
	if (err)
		return err;
	ah = UV_CAST(struct uv_ah, obj);
	ah->index = uv_number_get(&req->device->alloc->ah, ah);
	if (ah->index == NIC_NONE) {
		uv_object_drop(obj);
		return -ENOMEM;
	}
	ah->pd = pd;
	uv_use(&pd->obj);
	req->created = obj;
	*out = ah;
	return 0;
}

/*
 * On Ethernet, addresses are global. On InfiniBand, an address has a LID; the LID of a group
 * requires a global route to that group (IB vol 1, 9.6.1.2 and 11.2.2.1).
 */
static bool ah_attr_valid(const struct device *device, const struct ib_uverbs_ah_attr *attr)
{
	if (attr->port_num != 1)
		return false;
	if (attr->is_global && !uv_gid_valid(device, attr->grh.sgid_index))
		return false;
	if (!device->lid)
		return attr->is_global;
	if (attr->is_global && attr->grh.dgid[0] == 0xff)
		return attr->dlid > NIC_LID_LAST && attr->dlid != NIC_LID_PERMISSIVE;
	return nic_lid_is_unicast(attr->dlid);
}

int uv_create_ah(struct uv_request *req)
{
	struct ib_uverbs_create_ah cmd;
	struct ib_uverbs_create_ah_resp resp;
	struct uv_object *pd;
	struct uv_ah *ah;
	int err;

	err = uv_get(req, &cmd, sizeof(cmd));
	if (err)
		return err;
	pd = uv_object_read(req, UVERBS_OBJECT_PD, cmd.pd_handle);
	if (!pd || !ah_attr_valid(req->device, &cmd.attr))
		return -EINVAL;
	err = ah_new(req, UV_CAST(struct uv_pd, pd), &ah);
	if (err)
		return err;
	if (nic_is_group_gid(cmd.attr.grh.dgid))
		discover_peers(req->device);
	ah->obj.user_handle = cmd.user_handle;
	resp = (struct ib_uverbs_create_ah_resp){ .ah_handle = ah->obj.handle };
	return uv_respond(req, &resp, sizeof(resp));
}

int uv_destroy_ah(struct uv_request *req)
{
	struct ib_uverbs_destroy_ah cmd;
	int err;

	err = uv_get(req, &cmd, sizeof(cmd));
	return err ? err : uv_object_destroy(req->ctx, UVERBS_OBJECT_AH, cmd.ah_handle);
}

int uv_ioctl_destroy_ah(struct uv_request *req)
{
	struct uv_object *obj = uv_attr_object(req, UVERBS_ATTR_DESTROY_AH_HANDLE);

	return uv_object_destroy(req->ctx, UVERBS_OBJECT_AH, obj->handle);
}
