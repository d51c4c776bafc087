// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Shared receive queues.
 */
#include <errno.h>

#include "ioctl.h"
#include "objects.h"

/* Bits of ib_uverbs_modify_srq.attr_mask: enum ibv_srq_attr_mask. */
enum {
	SRQ_MAX_WR = 1 << 0,
	SRQ_LIMIT = 1 << 1,
};

struct srq_args {
	u64 user_handle;
	struct uv_object *pd;
	/* XRC domain; ignored for other types. */
	struct uv_object *xrcd;
	struct uv_object *cq;
	struct uv_object *events;
	u64 type;
	u32 max_wr;
	u32 max_sge;
	/* Tag matching: size of the tag list. */
	u32 max_tags;
};

static int srq_start(struct uv_request *req, struct uv_object *obj)
{
	struct uv_srq *srq = UV_CAST(struct uv_srq, obj);

	return uv_created(req->device, nic_srq_create(&req->device->nic, srq->srqn, &srq->params));
}

static int srq_stop(struct uv_object *obj)
{
	struct uv_srq *srq = UV_CAST(struct uv_srq, obj);

	return uv_result(nic_srq_destroy(&obj->device->nic, srq->srqn));
}

static void srq_release(struct uv_object *obj)
{
	struct uv_srq *srq = UV_CAST(struct uv_srq, obj);

	uv_events_detach(obj);
	uv_ring_put(obj, srq->ring);
	uv_tm_release(srq);
	uv_srqn_end(obj->device, srq->srqn);
	uv_unuse(&srq->pd->obj);
	if (srq->xrcd)
		uv_unuse(&srq->xrcd->obj);
	if (srq->cq)
		uv_unuse(&srq->cq->obj);
}

static const struct uv_class srq_class = {
	.type = UVERBS_OBJECT_SRQ,
	.size = sizeof(struct uv_srq),
	.start = srq_start,
	.stop = srq_stop,
	.release = srq_release,
};

static int srq_check(const struct srq_args *args)
{
	if (args->type > IB_UVERBS_SRQT_TM || !args->pd)
		return -EINVAL;
	if (args->type == IB_UVERBS_SRQT_TM &&
	    (!args->cq || !args->max_tags || args->max_tags > UV_MAX_TAGS))
		return -EINVAL;
	if (args->type == IB_UVERBS_SRQT_XRC && (!args->xrcd || !args->cq))
		return -EINVAL;
	if (!args->max_wr || args->max_wr > UV_MAX_SRQ_WR || args->max_sge > VNET_MAX_SGE)
		return -EINVAL;
	return 0;
}

static void srq_fill_params(struct uv_request *req, struct uv_srq *srq, const struct srq_args *args)
{
	u32 shift = uv_recv_stride_shift(args->max_sge);

	srq->params = (struct nic_srq_params){
		.entries = uv_recv_entries(args->max_wr, UV_MAX_SRQ_WR),
		.stride_shift = (u8)shift,
		.max_sge = (u8)uv_recv_sges(args->max_sge, shift),
		.pdn = srq->pd->pdn,
		.space = req->client->space,
		.xrcdn = srq->xrcd ? srq->xrcd->domain->number : 0,
		.cqn = srq->cq ? srq->cq->cqn : 0,
	};
}

static void srq_use_others(struct uv_srq *srq)
{
	uv_use(&srq->pd->obj);
	if (srq->xrcd)
		uv_use(&srq->xrcd->obj);
	if (srq->cq)
		uv_use(&srq->cq->obj);
}

static int srq_reserve(struct device *device, struct uv_srq *srq)
{
	int err;

	srq->ring = uv_ring_get(device, srq->params.entries, srq->params.stride_shift);
	if (!srq->ring)
		return -ENOMEM;
	err = uv_srqn_new(device, srq, &srq->srqn);
	if (err) {
		uv_heap_put(device, srq->ring);
		return err;
	}
	srq->params.ring = srq->ring->offset;
	return 0;
}

/* Likewise, with the memory for tag matching. */
static int srq_reserve_all(struct device *device, struct uv_srq *srq, const struct srq_args *args)
{
	int err;

	err = srq_reserve(device, srq);
	if (err || args->type != IB_UVERBS_SRQT_TM)
		return err;
	err = uv_tm_reserve(device, srq, args->max_tags);
	if (err) {
		uv_srqn_end(device, srq->srqn);
		uv_heap_put(device, srq->ring);
	}
	return err;
}

/* Creates the object, and writes the driver-specific part of the response. */
static int srq_new(struct uv_request *req, const struct srq_args *args, struct uv_srq **out)
{
	struct vnet_create_srq_resp driver = { .srqn = 0 };
	struct uv_object *obj;
	struct uv_srq *srq;
	int err;

	err = srq_check(args);
	if (err)
		return err;
	err = uv_object_new(req, &srq_class, &obj);
	if (err)
		return err;
	srq = UV_CAST(struct uv_srq, obj);
	srq->pd = UV_CAST(struct uv_pd, args->pd);
	if (args->type == IB_UVERBS_SRQT_XRC) {
		srq->xrcd = UV_CAST(struct uv_xrcd, args->xrcd);
	}
	if (args->type != IB_UVERBS_SRQT_BASIC)
		srq->cq = UV_CAST(struct uv_cq, args->cq);
	srq_fill_params(req, srq, args);
	err = srq_reserve_all(req->device, srq, args);
	if (err) {
		uv_object_drop(obj);
		return err;
	}
	obj->user_handle = args->user_handle;
	uv_events_attach(obj, args->events);
	srq_use_others(srq);
	req->created = obj;
	*out = srq;
	driver.srqn = srq->srqn;
	uv_ring_info(srq->ring, srq->params.entries, srq->params.stride_shift, &driver.rq);
	driver.tags = srq->params.tm_tags;
	if (srq->ops)
		uv_ring_info(srq->ops, UV_TAG_OPS, VNET_TM_OP_SHIFT, &driver.ops);
	return uv_respond_driver(req, &driver, sizeof(driver));
}

/* ----------------------------------------------------------------- create */

static int write_create(struct uv_request *req, const struct srq_args *args)
{
	struct ib_uverbs_create_srq_resp resp;
	struct uv_srq *srq;
	int err;

	err = srq_new(req, args, &srq);
	if (err)
		return err;
	resp = (struct ib_uverbs_create_srq_resp){
		.srq_handle = srq->obj.handle,
		.max_wr = srq->params.entries,
		.max_sge = srq->params.max_sge,
		.srqn = srq->srqn,
	};
	return uv_respond(req, &resp, sizeof(resp));
}

int uv_create_srq(struct uv_request *req)
{
	struct ib_uverbs_create_srq cmd;
	struct srq_args args;
	int err;

	err = uv_get(req, &cmd, sizeof(cmd));
	if (err)
		return err;
	args = (struct srq_args){
		.user_handle = cmd.user_handle,
		.pd = uv_object_read(req, UVERBS_OBJECT_PD, cmd.pd_handle),
		.type = IB_UVERBS_SRQT_BASIC,
		.max_wr = cmd.max_wr,
		.max_sge = cmd.max_sge,
	};
	return write_create(req, &args);
}

int uv_create_xsrq(struct uv_request *req)
{
	struct ib_uverbs_create_xsrq cmd;
	struct srq_args args;
	int err;

	err = uv_get(req, &cmd, sizeof(cmd));
	if (err)
		return err;
	args = (struct srq_args){
		.user_handle = cmd.user_handle,
		.pd = uv_object_read(req, UVERBS_OBJECT_PD, cmd.pd_handle),
		.xrcd = uv_object_read(req, UVERBS_OBJECT_XRCD, cmd.xrcd_handle),
		.cq = uv_object_read(req, UVERBS_OBJECT_CQ, cmd.cq_handle),
		.type = cmd.srq_type,
		.max_wr = cmd.max_wr,
		.max_sge = cmd.max_sge,
		.max_tags = cmd.max_num_tags,
	};
	return write_create(req, &args);
}

static int get_ioctl_args(struct uv_request *req, struct srq_args *args)
{
	int err;

	*args = (struct srq_args){
		.pd = uv_attr_object(req, UVERBS_ATTR_CREATE_SRQ_PD_HANDLE),
		.xrcd = uv_attr_object(req, UVERBS_ATTR_CREATE_SRQ_XRCD_HANDLE),
		.cq = uv_attr_object(req, UVERBS_ATTR_CREATE_SRQ_CQ_HANDLE),
		.events = uv_attr_object(req, UVERBS_ATTR_CREATE_SRQ_EVENT_FD),
	};
	err = uv_attr_const(req, UVERBS_ATTR_CREATE_SRQ_TYPE, 0xffffffff, &args->type);
	if (!err)
		err = uv_attr_get(req, UVERBS_ATTR_CREATE_SRQ_USER_HANDLE, &args->user_handle,
				  sizeof(args->user_handle));
	if (!err)
		err = uv_attr_get(req, UVERBS_ATTR_CREATE_SRQ_MAX_WR, &args->max_wr,
				  sizeof(args->max_wr));
	if (!err)
		err = uv_attr_get(req, UVERBS_ATTR_CREATE_SRQ_MAX_SGE, &args->max_sge,
				  sizeof(args->max_sge));
	if (!err && uv_attr_present(req, UVERBS_ATTR_CREATE_SRQ_MAX_NUM_TAGS))
		err = uv_attr_get(req, UVERBS_ATTR_CREATE_SRQ_MAX_NUM_TAGS, &args->max_tags,
				  sizeof(args->max_tags));
	return err;
}

static int put_ioctl_results(struct uv_request *req, const struct uv_srq *srq)
{
	u32 max_wr = srq->params.entries, max_sge = srq->params.max_sge;
	int err;

	err = uv_attr_put(req, UVERBS_ATTR_CREATE_SRQ_RESP_MAX_WR, &max_wr, sizeof(max_wr));
	if (!err)
		err = uv_attr_put(req, UVERBS_ATTR_CREATE_SRQ_RESP_MAX_SGE, &max_sge,
				  sizeof(max_sge));
	if (!err)
		err = uv_attr_put(req, UVERBS_ATTR_CREATE_SRQ_RESP_SRQ_NUM, &srq->srqn,
				  sizeof(srq->srqn));
	if (err)
		return err;
	return uv_attr_put_handle(req, UVERBS_ATTR_CREATE_SRQ_HANDLE, srq->obj.handle);
}

int uv_ioctl_create_srq(struct uv_request *req)
{
	struct srq_args args;
	struct uv_srq *srq;
	int err;

	err = get_ioctl_args(req, &args);
	if (!err)
		err = srq_new(req, &args, &srq);
	return err ? err : put_ioctl_results(req, srq);
}

/* ------------------------------------------------------- modify and query */

static int srq_modify(struct uv_request *req, const struct uv_srq *srq,
		      const struct ib_uverbs_modify_srq *cmd)
{
	if (cmd->attr_mask & ~(u32)(SRQ_MAX_WR | SRQ_LIMIT))
		return -EINVAL;
	/* The device does not report IBV_DEVICE_SRQ_RESIZE. */
	if (cmd->attr_mask & SRQ_MAX_WR)
		return -EOPNOTSUPP;
	if (!(cmd->attr_mask & SRQ_LIMIT))
		return 0;
	if (cmd->srq_limit > srq->params.entries)
		return -EINVAL;
	return uv_result(nic_srq_set_limit(&req->device->nic, srq->srqn, cmd->srq_limit));
}

int uv_modify_srq(struct uv_request *req)
{
	struct ib_uverbs_modify_srq cmd;
	struct uv_object *obj;
	int err;

	err = uv_get(req, &cmd, sizeof(cmd));
	if (err)
		return err;
	obj = uv_object_read(req, UVERBS_OBJECT_SRQ, cmd.srq_handle);
	return obj ? srq_modify(req, UV_CAST(struct uv_srq, obj), &cmd) : -EINVAL;
}

int uv_query_srq(struct uv_request *req)
{
	struct ib_uverbs_query_srq_resp resp = { .max_wr = 0 };
	struct ib_uverbs_query_srq cmd;
	struct uv_object *obj;
	struct uv_srq *srq;
	int err;

	err = uv_get(req, &cmd, sizeof(cmd));
	if (err)
		return err;
	obj = uv_object_read(req, UVERBS_OBJECT_SRQ, cmd.srq_handle);
	if (!obj)
		return -EINVAL;
	srq = UV_CAST(struct uv_srq, obj);
	err = uv_result(nic_srq_get_limit(&req->device->nic, srq->srqn, &resp.srq_limit));
	if (err)
		return err;
	resp.max_wr = srq->params.entries;
	resp.max_sge = srq->params.max_sge;
	return uv_respond(req, &resp, sizeof(resp));
}

/* ---------------------------------------------------------------- destroy */

int uv_destroy_srq(struct uv_request *req)
{
	return uv_destroy_count_events(req, UVERBS_OBJECT_SRQ);
}

int uv_ioctl_destroy_srq(struct uv_request *req)
{
	return uv_ioctl_destroy_count_events(req, UVERBS_ATTR_DESTROY_SRQ_HANDLE,
					     UVERBS_ATTR_DESTROY_SRQ_RESP);
}
