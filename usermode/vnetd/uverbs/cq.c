// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Completion queues. */
#include <errno.h>

#include "ioctl.h"
#include "objects.h"

#define CQ_FLAGS (IB_UVERBS_CQ_FLAGS_TIMESTAMP_COMPLETION | IB_UVERBS_CQ_FLAGS_IGNORE_OVERRUN)
#define DRIVER_FLAGS                                                                               \
	((u32)(VNET_CREATE_CQ_TIMESTAMP | VNET_CREATE_CQ_IGNORE_OVERRUN | VNET_CREATE_CQ_IMM64))

/* The command and the driver-specific part use the same bits. */
static_assert((u32)IB_UVERBS_CQ_FLAGS_TIMESTAMP_COMPLETION == (u32)VNET_CREATE_CQ_TIMESTAMP,
	      "flags");
static_assert((u32)IB_UVERBS_CQ_FLAGS_IGNORE_OVERRUN == (u32)VNET_CREATE_CQ_IGNORE_OVERRUN,
	      "flags");

/* Value of IBV_CQ_ATTR_MODERATE. */
#define CQ_MODERATE 1u

#define CQE_SHIFT 7
static_assert(1 << CQE_SHIFT == VNET_CQE_SIZE, "slots are entries");

struct cq_args {
	u64 user_handle;
	u32 cqe;
	u32 comp_vector;
	/* Flags of the command, and of its driver-specific part. */
	u32 flags;
	u32 driver_flags;
	/* Completion channel and event file, or NULL. */
	struct uv_object *channel;
	struct uv_object *events;
};

static int cq_start(struct uv_request *req, struct uv_object *obj)
{
	struct uv_cq *cq = UV_CAST(struct uv_cq, obj);
	struct nic_cq_params params = {
		.ring = cq->ring->offset,
		.entries = cq->entries,
		.flags = cq->flags,
		.channel = cq->channel ? cq->channel->index : NIC_NONE,
		.user_handle = obj->user_handle,
	};

	return uv_created(req->device, nic_cq_create(&req->device->nic, cq->cqn, &params));
}

static int cq_stop(struct uv_object *obj)
{
	struct uv_cq *cq = UV_CAST(struct uv_cq, obj);

	return uv_result(nic_cq_destroy(&obj->device->nic, cq->cqn, &cq->comp_events));
}

static void cq_release(struct uv_object *obj)
{
	struct uv_cq *cq = UV_CAST(struct uv_cq, obj);

	uv_events_detach(obj);
	if (cq->channel)
		uv_channel_put(cq->channel);
	uv_ring_put(obj, cq->ring);
	uv_number_put(&obj->device->alloc->cq, cq->cqn - 1);
}

static const struct uv_class cq_class = {
	.type = UVERBS_OBJECT_CQ,
	.size = sizeof(struct uv_cq),
	.start = cq_start,
	.stop = cq_stop,
	.release = cq_release,
};

#define LEAST_CQE_SHIFT 2

static int cq_check(const struct cq_args *args)
{
	if (args->comp_vector >= UV_COMP_VECTORS)
		return -EINVAL;
	if (!args->cqe || args->cqe > UV_MAX_CQE)
		return -EINVAL;
	return args->flags & ~CQ_FLAGS ? -EOPNOTSUPP : 0;
}

static int cq_reserve(struct device *device, struct uv_cq *cq, const struct cq_args *args)
{
	u32 shift = uv_ceil_log2(args->cqe), index;

	/*
	 * Adapters round up. A program that asks for one entry may have two for a moment: the next
	 * request completes before it has polled the last completion.
	 */
	if (shift < LEAST_CQE_SHIFT)
		shift = LEAST_CQE_SHIFT;

	cq->ring = uv_ring_get(device, 1u << shift, CQE_SHIFT);
	if (!cq->ring)
		return -ENOMEM;
	index = uv_number_get(&device->alloc->cq, cq);
	if (index == NIC_NONE) {
		uv_heap_put(device, cq->ring);
		return -ENOMEM;
	}
	cq->cqn = index + 1;
	cq->entries = 1u << shift;
	cq->flags = args->flags | args->driver_flags;
	return 0;
}

/* Creates the object, and writes the driver-specific part of the response. */
static int cq_new(struct uv_request *req, const struct cq_args *args, struct uv_cq **out)
{
	struct vnet_create_cq_resp driver = { .cqn = 0 };
	struct uv_object *obj;
	struct uv_cq *cq;
	int err;

	err = cq_check(args);
	if (err)
		return err;
	err = uv_object_new(req, &cq_class, &obj);
	if (err)
		return err;
	cq = UV_CAST(struct uv_cq, obj);
	err = cq_reserve(req->device, cq, args);
	if (err) {
		uv_object_drop(obj);
		return err;
	}
	obj->user_handle = args->user_handle;
	uv_events_attach(obj, args->events);
	if (args->channel) {
		cq->channel = UV_CAST(struct uv_channel, args->channel);
		uv_use(args->channel);
	}
	req->created = obj;
	*out = cq;
	driver.cqn = cq->cqn;
	uv_ring_info(cq->ring, cq->entries, CQE_SHIFT, &driver.cq);
	return uv_respond_driver(req, &driver, sizeof(driver));
}

/* Reads the flags of the driver-specific part. */
static int get_driver_flags(struct uv_request *req, u32 *flags)
{
	struct vnet_create_cq_req driver;
	int err;

	err = uv_get_driver(req, &driver, sizeof(driver));
	if (err)
		return err;
	if (driver.flags & ~DRIVER_FLAGS || driver.reserved_20[0] || driver.reserved_20[1] ||
	    driver.reserved_20[2] || driver.reserved_20[3])
		return -EINVAL;
	*flags = driver.flags;
	return 0;
}

/* ----------------------------------------------------------------- create */

static int write_create(struct uv_request *req, const struct ib_uverbs_ex_create_cq *cmd,
			struct uv_cq **out)
{
	struct cq_args args = {
		.user_handle = cmd->user_handle,
		.cqe = cmd->cqe,
		.comp_vector = cmd->comp_vector,
		.flags = cmd->flags,
	};
	int err;

	if (cmd->comp_channel >= 0) {
		err = uv_channel_find(req, cmd->comp_channel, &args.channel);
		if (err)
			return err;
	}
	err = get_driver_flags(req, &args.driver_flags);
	return err ? err : cq_new(req, &args, out);
}

int uv_create_cq(struct uv_request *req)
{
	struct ib_uverbs_create_cq cmd;
	struct ib_uverbs_create_cq_resp resp = { .cq_handle = 0 };
	struct ib_uverbs_ex_create_cq ex = { .user_handle = 0 };
	struct uv_cq *cq;
	int err;

	err = uv_get(req, &cmd, sizeof(cmd));
	if (err)
		return err;
	ex.user_handle = cmd.user_handle;
	ex.cqe = cmd.cqe;
	ex.comp_vector = cmd.comp_vector;
	ex.comp_channel = cmd.comp_channel;
	err = write_create(req, &ex, &cq);
	if (err)
		return err;
	resp.cq_handle = cq->obj.handle;
	resp.cqe = cq->entries;
	return uv_respond(req, &resp, sizeof(resp));
}

int uv_ex_create_cq(struct uv_request *req)
{
	struct ib_uverbs_ex_create_cq_resp resp = { .comp_mask = 0 };
	struct ib_uverbs_ex_create_cq cmd;
	struct uv_cq *cq;
	int err;

	err = uv_get(req, &cmd, sizeof(cmd));
	if (err)
		return err;
	if (cmd.comp_mask || cmd.reserved)
		return -EINVAL;
	err = write_create(req, &cmd, &cq);
	if (err)
		return err;
	resp.base.cq_handle = cq->obj.handle;
	resp.base.cqe = cq->entries;
	resp.response_length = uv_response_length(req, sizeof(resp));
	return uv_respond(req, &resp, sizeof(resp));
}

static int get_ioctl_args(struct uv_request *req, struct cq_args *args)
{
	int err;

	*args = (struct cq_args){
		.channel = uv_attr_object(req, UVERBS_ATTR_CREATE_CQ_COMP_CHANNEL),
		.events = uv_attr_object(req, UVERBS_ATTR_CREATE_CQ_EVENT_FD),
	};
	err = uv_attr_get(req, UVERBS_ATTR_CREATE_CQ_COMP_VECTOR, &args->comp_vector,
			  sizeof(args->comp_vector));
	if (!err)
		err = uv_attr_get(req, UVERBS_ATTR_CREATE_CQ_CQE, &args->cqe, sizeof(args->cqe));
	if (!err)
		err = uv_attr_get(req, UVERBS_ATTR_CREATE_CQ_USER_HANDLE, &args->user_handle,
				  sizeof(args->user_handle));
	if (!err)
		err = uv_attr_flags(req, UVERBS_ATTR_CREATE_CQ_FLAGS, CQ_FLAGS, &args->flags);
	return err ? err : get_driver_flags(req, &args->driver_flags);
}

int uv_ioctl_create_cq(struct uv_request *req)
{
	struct cq_args args;
	struct uv_cq *cq;
	int err;

	err = get_ioctl_args(req, &args);
	if (!err)
		err = cq_new(req, &args, &cq);
	if (!err)
		err = uv_attr_put(req, UVERBS_ATTR_CREATE_CQ_RESP_CQE, &cq->entries,
				  sizeof(cq->entries));
	if (err)
		return err;
	return uv_attr_put_handle(req, UVERBS_ATTR_CREATE_CQ_HANDLE, cq->obj.handle);
}

/* ----------------------------------------------------------------- resize */

static int respond_resize(struct uv_request *req, const struct uv_block *ring, u32 entries)
{
	struct ib_uverbs_resize_cq_resp resp = { .cqe = entries };
	struct vnet_resize_cq_resp driver;
	int err;

	uv_ring_info(ring, entries, CQE_SHIFT, &driver.cq);
	err = uv_respond_driver(req, &driver, sizeof(driver));
	return err ? err : uv_respond(req, &resp, sizeof(resp));
}

static int cq_resize(struct uv_request *req, struct uv_cq *cq, u32 entries)
{
	struct device *device = req->device;
	struct uv_block *ring, *old = cq->ring;
	int err;

	ring = uv_ring_get(device, entries, CQE_SHIFT);
	if (!ring)
		return -ENOMEM;
	err = respond_resize(req, ring, entries);
	if (!err)
		err = uv_result(nic_cq_resize(&device->nic, cq->cqn, ring->offset, entries));
	if (err) {
		uv_heap_put(device, ring);
		return err;
	}
	cq->ring = ring;
	cq->entries = entries;
	uv_heap_put(device, old);
	return 0;
}

/* Whether a send on an unreliable queue pair of this CQ waits for a receive at its peer. */
static bool sends_stall(const struct uctx *ctx, const struct uv_cq *cq)
{
	const struct nic *nic = &ctx->device->nic;
	const struct uv_object *obj;
	const struct uv_qp *qp;
	u32 i;

	for (i = 0; i < ctx->capacity; i++) {
		obj = ctx->object[i];
		if (!obj || !obj->live || obj->class->type != UVERBS_OBJECT_QP)
			continue;
		qp = UV_CAST(const struct uv_qp, obj);
		if (qp->send_cq == cq &&
		    nic_load(&nic->qp[qp->params.qpn & nic->qp_index_mask].wait) == NIC_WAIT_STALL)
			return true;
	}
	return false;
}

/*
 * Whether a resize must wait for stalled sends. On a network, a send without a receive is lost and
 * completes at once. Here it may complete later, and its completion may not fit into a smaller CQ.
 * The wait is bounded.
 */
static bool must_wait_for_sends(const struct uctx *ctx, struct uv_cq *cq)
{
	u64 now = plat_clock();

	if (!sends_stall(ctx, cq)) {
		cq->stall_deadline = 0;
		return false;
	}
	if (!cq->stall_deadline)
		cq->stall_deadline = now + 4 * ctx->device->nic.stall_ns;
	return now < cq->stall_deadline;
}

int uv_resize_cq(struct uv_request *req)
{
	struct ib_uverbs_resize_cq cmd;
	struct uv_object *obj;
	struct uv_cq *cq;
	u32 entries;
	int err;

	err = uv_get(req, &cmd, sizeof(cmd));
	if (err)
		return err;
	obj = uv_object_read(req, UVERBS_OBJECT_CQ, cmd.cq_handle);
	if (!obj || !cmd.cqe || cmd.cqe > UV_MAX_CQE)
		return -EINVAL;
	cq = UV_CAST(struct uv_cq, obj);
	entries = 1u << uv_ceil_log2(cmd.cqe);
	if (entries < cq->entries && must_wait_for_sends(req->ctx, cq))
		return UV_PARK;
	return cq_resize(req, cq, entries);
}

/* ----------------------------------------------------------------- modify */

int uv_modify_cq(struct uv_request *req)
{
	struct ib_uverbs_ex_modify_cq cmd;
	struct uv_object *obj;
	int err;

	err = uv_get(req, &cmd, sizeof(cmd));
	if (err)
		return err;
	if (!cmd.attr_mask || cmd.reserved)
		return -EINVAL;
	if (cmd.attr_mask != CQ_MODERATE)
		return -EOPNOTSUPP;
	obj = uv_object_read(req, UVERBS_OBJECT_CQ, cmd.cq_handle);
	if (!obj)
		return -EINVAL;
	static_assert(UV_MAX_EVENT_COUNT == 0xffff && UV_MAX_EVENT_PERIOD == 0xffff,
		      "whatever the command can name");
	return uv_result(nic_cq_moderate(&req->device->nic, UV_CAST(struct uv_cq, obj)->cqn,
					 cmd.attr.cq_count, cmd.attr.cq_period));
}

/* ---------------------------------------------------------------- destroy */

static int cq_destroy(struct uv_request *req, u32 handle, struct ib_uverbs_destroy_cq_resp *resp)
{
	struct uv_object *obj;
	int err;

	err = uv_object_find_dying(req->ctx, UVERBS_OBJECT_CQ, handle, &obj);
	if (!err)
		err = uv_object_stop(obj);
	if (err)
		return err;
	*resp = (struct ib_uverbs_destroy_cq_resp){
		.comp_events_reported = UV_CAST(struct uv_cq, obj)->comp_events,
		.async_events_reported = obj->events_reported,
	};
	uv_object_free(obj);
	return 0;
}

int uv_destroy_cq(struct uv_request *req)
{
	struct ib_uverbs_destroy_cq_resp resp;
	struct ib_uverbs_destroy_cq cmd;
	int err;

	err = uv_get(req, &cmd, sizeof(cmd));
	if (!err)
		err = cq_destroy(req, cmd.cq_handle, &resp);
	return err ? err : uv_respond(req, &resp, sizeof(resp));
}

int uv_ioctl_destroy_cq(struct uv_request *req)
{
	struct uv_object *obj = uv_attr_object(req, UVERBS_ATTR_DESTROY_CQ_HANDLE);
	struct ib_uverbs_destroy_cq_resp resp;
	int err;

	err = cq_destroy(req, obj->handle, &resp);
	return err ? err : uv_attr_put(req, UVERBS_ATTR_DESTROY_CQ_RESP, &resp, sizeof(resp));
}
