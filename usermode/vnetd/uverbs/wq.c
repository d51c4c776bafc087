// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Work queues (WQ). In the NIC, each is a queue pair that only receives; its send queue is not
 * used.
 */
#include <errno.h>

#include "ioctl.h"
#include "objects.h"

/* Values of enum ibv_wq_type, ibv_wq_attr_mask and ibv_wq_state. */
#define WQT_RQ 0u
enum {
	WQ_ATTR_STATE = 1 << 0,
	WQ_ATTR_CURR_STATE = 1 << 1,
	WQ_ATTR_FLAGS = 1 << 2,
};
enum {
	WQS_RESET = 0,
	WQS_RDY = 1,
	WQS_ERR = 2,
};
#define QP_STATE 1u

struct wq_args {
	u64 user_handle;
	u64 type;
	struct uv_object *pd, *cq, *events;
	u32 max_wr;
	u32 max_sge;
	u32 flags;
};

static int wq_start(struct uv_request *req, struct uv_object *obj)
{
	struct uv_wq *wq = UV_CAST(struct uv_wq, obj);

	return uv_created(req->device, nic_qp_create(&req->device->nic, &wq->params));
}

static int wq_stop(struct uv_object *obj)
{
	struct uv_wq *wq = UV_CAST(struct uv_wq, obj);
	int err;

	err = uv_result(nic_qp_destroy(&obj->device->nic, wq->params.qpn));
	if (!err)
		uv_counters_retire(obj->device, wq->params.qpn);
	return err;
}

static void wq_release(struct uv_object *obj)
{
	struct uv_wq *wq = UV_CAST(struct uv_wq, obj);
	struct device *device = obj->device;

	uv_events_detach(obj);
	/* No process has mapped the send queue. */
	uv_heap_put(device, wq->sq);
	uv_ring_put(obj, wq->rq);
	uv_qpn_end(device, wq->params.qpn);
	uv_unuse(&wq->cq->obj);
	uv_unuse(&wq->pd->obj);
}

static const struct uv_class wq_class = {
	.type = UVERBS_OBJECT_WQ,
	.size = sizeof(struct uv_wq),
	.start = wq_start,
	.stop = wq_stop,
	.release = wq_release,
};

/* ----------------------------------------------------------------- create */

static int wq_check(const struct wq_args *args)
{
	if (!args->pd || !args->cq || args->type != WQT_RQ)
		return -EINVAL;
	/* No creation flags (scatter FCS, VLAN stripping, padding, delay drop) are supported. */
	if (args->flags)
		return -EOPNOTSUPP;
	if (!args->max_wr || args->max_wr > UV_MAX_QP_WR || args->max_sge > VNET_MAX_SGE)
		return -EINVAL;
	return 0;
}

static int wq_reserve_rings(struct device *device, struct uv_wq *wq)
{
	struct nic_qp_params *params = &wq->params;

	wq->sq = uv_ring_get(device, params->sq_entries, params->sq_stride_shift);
	if (!wq->sq)
		return -ENOMEM;
	wq->rq = uv_ring_get(device, params->rq_entries, params->rq_stride_shift);
	if (!wq->rq) {
		uv_heap_put(device, wq->sq);
		return -ENOMEM;
	}
	params->sq_ring = wq->sq->offset;
	params->rq_ring = wq->rq->offset;
	return 0;
}

static int wq_reserve(struct device *device, struct uv_wq *wq)
{
	int err;

	err = uv_qpn_new(device, wq, &wq->params.qpn);
	if (err)
		return err;
	err = wq_reserve_rings(device, wq);
	if (err)
		uv_qpn_end(device, wq->params.qpn);
	return err;
}

static void wq_fill(struct uv_request *req, struct uv_wq *wq, const struct wq_args *args)
{
	u32 shift = uv_recv_stride_shift(args->max_sge);

	wq->pd = UV_CAST(struct uv_pd, args->pd);
	wq->cq = UV_CAST(struct uv_cq, args->cq);
	wq->params = (struct nic_qp_params){
		.type = NIC_QPT_WQ,
		.sq_stride_shift = (u8)uv_send_stride_shift(0, 0),
		.sq_entries = 1,
		.rq_stride_shift = (u8)shift,
		.rq_entries = 1u << uv_ceil_log2(args->max_wr),
		.max_recv_sge = (u8)uv_recv_sges(args->max_sge, shift),
		.pdn = wq->pd->pdn,
		.send_cqn = wq->cq->cqn,
		.recv_cqn = wq->cq->cqn,
		.space = req->client->space,
		.owner_pid = (u32)req->client->pid,
	};
}

/* Creates the object, and writes the driver-specific part of the response. */
static int wq_new(struct uv_request *req, const struct wq_args *args, struct uv_wq **out)
{
	struct vnet_create_wq_resp driver = { .wqn = 0 };
	struct uv_object *obj;
	struct uv_wq *wq;
	int err;

	err = wq_check(args);
	if (err)
		return err;
	err = uv_object_new(req, &wq_class, &obj);
	if (err)
		return err;
	wq = UV_CAST(struct uv_wq, obj);
	wq_fill(req, wq, args);
	err = wq_reserve(req->device, wq);
	if (err) {
		uv_object_drop(obj);
		return err;
	}
	uv_use(args->pd);
	uv_use(args->cq);
	obj->user_handle = args->user_handle;
	uv_events_attach(obj, args->events);
	req->created = obj;
	*out = wq;
	driver.wqn = wq->params.qpn;
	uv_ring_info(wq->rq, wq->params.rq_entries, wq->params.rq_stride_shift, &driver.rq);
	return uv_respond_driver(req, &driver, sizeof(driver));
}

int uv_create_wq(struct uv_request *req)
{
	struct ib_uverbs_ex_create_wq_resp resp = { .comp_mask = 0 };
	struct ib_uverbs_ex_create_wq cmd;
	struct wq_args args;
	struct uv_wq *wq;
	int err;

	err = uv_get(req, &cmd, sizeof(cmd));
	if (err)
		return err;
	if (cmd.comp_mask)
		return -EOPNOTSUPP;
	args = (struct wq_args){
		.user_handle = cmd.user_handle,
		.type = cmd.wq_type,
		.pd = uv_object_read(req, UVERBS_OBJECT_PD, cmd.pd_handle),
		.cq = uv_object_read(req, UVERBS_OBJECT_CQ, cmd.cq_handle),
		.max_wr = cmd.max_wr,
		.max_sge = cmd.max_sge,
		.flags = cmd.create_flags,
	};
	err = wq_new(req, &args, &wq);
	if (err)
		return err;
	resp.response_length = uv_response_length(req, sizeof(resp));
	resp.wq_handle = wq->obj.handle;
	resp.max_wr = wq->params.rq_entries;
	resp.max_sge = wq->params.max_recv_sge;
	resp.wqn = wq->params.qpn;
	return uv_respond(req, &resp, sizeof(resp));
}

static int get_ioctl_args(struct uv_request *req, struct wq_args *args)
{
	int err;

	*args = (struct wq_args){
		.pd = uv_attr_object(req, UVERBS_ATTR_CREATE_WQ_PD_HANDLE),
		.cq = uv_attr_object(req, UVERBS_ATTR_CREATE_WQ_CQ_HANDLE),
		.events = uv_attr_object(req, UVERBS_ATTR_CREATE_WQ_EVENT_FD),
	};
	err = uv_attr_get(req, UVERBS_ATTR_CREATE_WQ_USER_HANDLE, &args->user_handle,
			  sizeof(args->user_handle));
	if (!err)
		err = uv_attr_const(req, UVERBS_ATTR_CREATE_WQ_TYPE, 0xffffffff, &args->type);
	if (!err)
		err = uv_attr_get(req, UVERBS_ATTR_CREATE_WQ_MAX_WR, &args->max_wr,
				  sizeof(args->max_wr));
	if (!err)
		err = uv_attr_get(req, UVERBS_ATTR_CREATE_WQ_MAX_SGE, &args->max_sge,
				  sizeof(args->max_sge));
	if (!err)
		err = uv_attr_flags(req, UVERBS_ATTR_CREATE_WQ_FLAGS, 0xf, &args->flags);
	return err;
}

int uv_ioctl_create_wq(struct uv_request *req)
{
	struct wq_args args;
	struct uv_wq *wq;
	u32 max_sge;
	int err;

	err = get_ioctl_args(req, &args);
	if (!err)
		err = wq_new(req, &args, &wq);
	if (err)
		return err;
	max_sge = wq->params.max_recv_sge;
	err = uv_attr_put(req, UVERBS_ATTR_CREATE_WQ_RESP_MAX_WR, &wq->params.rq_entries,
			  sizeof(wq->params.rq_entries));
	if (!err)
		err = uv_attr_put(req, UVERBS_ATTR_CREATE_WQ_RESP_MAX_SGE, &max_sge,
				  sizeof(max_sge));
	if (!err)
		err = uv_attr_put(req, UVERBS_ATTR_CREATE_WQ_RESP_WQ_NUM, &wq->params.qpn,
				  sizeof(wq->params.qpn));
	return err ? err : uv_attr_put_handle(req, UVERBS_ATTR_CREATE_WQ_HANDLE, wq->obj.handle);
}

/* ----------------------------------------------------------------- modify */

static u32 wq_state(u8 state)
{
	if (state == NIC_QPS_RESET)
		return WQS_RESET;
	return state == NIC_QPS_ERR ? WQS_ERR : WQS_RDY;
}

/* Transitions: RESET to RDY, RDY to ERR, any to RESET. */
static int wq_to_state(struct uv_request *req, const struct uv_wq *wq, u32 state)
{
	static const u8 states[] = {
		[WQS_RESET] = NIC_QPS_RESET, [WQS_RDY] = NIC_QPS_RTR, [WQS_ERR] = NIC_QPS_ERR
	};
	const struct nic_qp_attr attr = { .qkey = 0 };

	return uv_result(nic_qp_modify(&req->device->nic, wq->params.qpn, &attr, QP_STATE, 0,
				       states[state]));
}

static int wq_modify(struct uv_request *req, const struct uv_wq *wq,
		     const struct ib_uverbs_ex_modify_wq *cmd)
{
	struct nic_qp_attr attr;
	u8 state, draining;
	int err;

	err = uv_result(nic_qp_query(&req->device->nic, wq->params.qpn, &attr, &state, &draining));
	if (err)
		return err;
	if (cmd->attr_mask & WQ_ATTR_CURR_STATE && cmd->curr_wq_state != wq_state(state))
		return -EINVAL;
	if (!(cmd->attr_mask & WQ_ATTR_STATE))
		return 0;
	if (cmd->wq_state > WQS_ERR)
		return -EINVAL;
	/* No change. */
	if (cmd->wq_state == wq_state(state) && cmd->wq_state != WQS_RESET)
		return 0;
	return wq_to_state(req, wq, cmd->wq_state);
}

int uv_modify_wq(struct uv_request *req)
{
	struct ib_uverbs_ex_modify_wq cmd;
	struct uv_object *obj;
	int err;

	err = uv_get(req, &cmd, sizeof(cmd));
	if (err)
		return err;
	if (!cmd.attr_mask ||
	    cmd.attr_mask & ~(u32)(WQ_ATTR_STATE | WQ_ATTR_CURR_STATE | WQ_ATTR_FLAGS))
		return -EINVAL;
	obj = uv_object_read(req, UVERBS_OBJECT_WQ, cmd.wq_handle);
	if (!obj)
		return -EINVAL;
	if (cmd.attr_mask & WQ_ATTR_FLAGS)
		return -EOPNOTSUPP;
	return wq_modify(req, UV_CAST(struct uv_wq, obj), &cmd);
}

/* ---------------------------------------------------------------- destroy */

int uv_destroy_wq(struct uv_request *req)
{
	struct ib_uverbs_ex_destroy_wq_resp resp = { .comp_mask = 0 };
	u32 handle;
	int err;

	err = uv_get_masked_handle(req, -EOPNOTSUPP, &handle);
	if (err)
		return err;
	resp.response_length = uv_response_length(req, sizeof(resp));
	err = uv_object_end(req->ctx, UVERBS_OBJECT_WQ, handle, &resp.events_reported);
	return err ? err : uv_respond(req, &resp, sizeof(resp));
}

int uv_ioctl_destroy_wq(struct uv_request *req)
{
	return uv_ioctl_destroy_count_events(req, UVERBS_ATTR_DESTROY_WQ_HANDLE,
					     UVERBS_ATTR_DESTROY_WQ_RESP);
}
