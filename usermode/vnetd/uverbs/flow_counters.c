// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Counters objects: packets and bytes of the flows that they are attached to. A read always
 * returns both, in this order; the provider maps them to the program's descriptions.
 */
#include <errno.h>

#include "ioctl.h"
#include "objects.h"

/* Flag of enum ib_uverbs_read_counters_flags; the values are always current. */
#define PREFER_CACHED 1u

static int counters_start(struct uv_request *req, struct uv_object *obj)
{
	u32 index = UV_CAST(struct uv_flow_counters, obj)->index;

	return uv_result(nic_flow_counter_reset(&req->device->nic, index));
}

static void counters_release(struct uv_object *obj)
{
	uv_number_put(&obj->device->alloc->counters, UV_CAST(struct uv_flow_counters, obj)->index);
}

static const struct uv_class counters_class = {
	.type = UVERBS_OBJECT_COUNTERS,
	.size = sizeof(struct uv_flow_counters),
	.start = counters_start,
	.release = counters_release,
};

int uv_ioctl_create_counters(struct uv_request *req)
{
	struct uv_object *obj;
	u32 index;
	int err;

	/* Counters are few, so only processes that may create flows can allocate them. */
	err = uv_check_raw(req);
	if (!err)
		err = uv_object_new(req, &counters_class, &obj);
	if (err)
		return err;
	index = uv_number_get(&req->device->alloc->counters, obj);
	if (index == NIC_NONE) {
		uv_object_drop(obj);
		return -ENOMEM;
	}
	UV_CAST(struct uv_flow_counters, obj)->index = index;
	req->created = obj;
	return uv_attr_put_handle(req, UVERBS_ATTR_CREATE_COUNTERS_HANDLE, obj->handle);
}

int uv_ioctl_destroy_counters(struct uv_request *req)
{
	struct uv_object *obj = uv_attr_object(req, UVERBS_ATTR_DESTROY_COUNTERS_HANDLE);

	return uv_object_destroy(req->ctx, UVERBS_OBJECT_COUNTERS, obj->handle);
}

int uv_ioctl_read_counters(struct uv_request *req)
{
	struct uv_object *obj = uv_attr_object(req, UVERBS_ATTR_READ_COUNTERS_HANDLE);
	struct nic_flow_counter count;
	u64 values[2];
	u32 flags;
	int err;

	err = uv_attr_flags(req, UVERBS_ATTR_READ_COUNTERS_FLAGS, PREFER_CACHED, &flags);
	if (err)
		return err;
	/* Not attached to any flow. */
	if (!obj->uses || uv_attr_length(req, UVERBS_ATTR_READ_COUNTERS_BUFF) % sizeof(u64))
		return -EINVAL;
	err = uv_result(nic_flow_counter_read(
		&req->device->nic, UV_CAST(struct uv_flow_counters, obj)->index, &count));
	if (err)
		return err;
	values[0] = count.packets;
	values[1] = count.bytes;
	return uv_attr_put_or_zero(req, UVERBS_ATTR_READ_COUNTERS_BUFF, values, sizeof(values));
}
