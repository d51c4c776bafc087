// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Creation and destruction of queue pairs. Their attributes are in qp_attr.c. */
#include <errno.h>
#include <string.h>

#include "ioctl.h"
#include "link/link.h"
#include "objects.h"

struct qp_args {
	u64 user_handle;
	u64 type;
	struct uv_object *pd, *send_cq, *recv_cq;
	/* NULL without one. */
	struct uv_object *srq;
	/* XRC target: its domain; it has none of the above. */
	struct uv_object *xrcd;
	/* Indirection table of work queues that receive the frames (RSS); or NULL. */
	struct uv_object *table;
	/* Number of an existing XRC target to open; 0: create one. */
	u32 open_qpn;
	struct uv_object *events;
	struct ib_uverbs_qp_cap cap;
	bool sq_sig_all;
	/* Flags beyond IB_UVERBS_QP_CREATE_SQ_SIG_ALL. */
	u32 create_flags;
};

/* Send queue of tag matching, for the device: two requests for each rendezvous. */
static const struct ib_uverbs_qp_cap tm_sends = { .max_send_wr = 128,
						  .max_send_sge = VNET_TM_MAX_SGE,
						  .max_inline_data = 32 };

static int qp_start(struct uv_request *req, struct uv_object *obj)
{
	struct uv_qp *qp = UV_CAST(struct uv_qp, obj);

	if (qp->target)
		return uv_target_start(req->device, qp->target);
	if (uv_qp_is_rss(qp))
		return uv_rss_start(qp);
	return uv_created(req->device, nic_qp_create(&req->device->nic, &qp->params));
}

/* A queue pair that is attached to multicast groups cannot be destroyed. */
static bool qp_is_held(const struct uv_object *obj)
{
	return UV_CAST(const struct uv_qp, obj)->groups;
}

/*
 * Whether destruction must wait, for a limited time, for multicast messages and frames that are
 * still to be sent to other NICs. Hardware would have sent them by then.
 */
static bool qp_lingers(struct uv_qp *qp)
{
	struct nic *nic = &qp->obj.device->nic;
	u64 now;

	if (!nic_mcast_is_pending(nic, qp->params.qpn))
		return false;
	now = plat_clock();
	if (!qp->lingers_until)
		qp->lingers_until = now + NIC_MCAST_LINGER_MS * 1000000ull;
	return now < qp->lingers_until;
}

static int qp_stop(struct uv_object *obj)
{
	struct uv_qp *qp = UV_CAST(struct uv_qp, obj);
	int err;

	if (qp->target && uv_target_is_shared(qp->target))
		return 0;
	if (uv_qp_is_rss(qp))
		return uv_rss_stop(qp);
	if (qp_lingers(qp))
		return UV_PARK;
	err = uv_result(nic_qp_destroy(&obj->device->nic, qp->params.qpn));
	if (!err)
		uv_counters_retire(obj->device, qp->params.qpn);
	return err;
}

static void unuse_others(struct uv_qp *qp)
{
	uv_unuse(&qp->pd->obj);
	uv_unuse(&qp->send_cq->obj);
	if (qp->recv_cq)
		uv_unuse(&qp->recv_cq->obj);
	if (qp->srq)
		uv_unuse(&qp->srq->obj);
}

static void qp_release(struct uv_object *obj)
{
	struct device *device = obj->device;
	struct uv_qp *qp = UV_CAST(struct uv_qp, obj);

	uv_events_detach(obj);
	if (qp->target) {
		uv_target_leave(qp);
		uv_unuse(&qp->xrcd->obj);
		return;
	}
	if (uv_qp_is_rss(qp)) {
		uv_rss_release(qp);
		return;
	}
	uv_ring_put(obj, qp->sq);
	if (qp->rq)
		uv_ring_put(obj, qp->rq);
	uv_qpn_end(device, qp->params.qpn);
	unuse_others(qp);
}

static const struct uv_class qp_class = {
	.type = UVERBS_OBJECT_QP,
	.size = sizeof(struct uv_qp),
	.start = qp_start,
	.is_held = qp_is_held,
	.stop = qp_stop,
	.release = qp_release,
};

/* ----------------------------------------------- parameters and resources */

static int check_type(u64 type)
{
	switch (type) {
	case IB_UVERBS_QPT_RC:
	case IB_UVERBS_QPT_UC:
	case IB_UVERBS_QPT_UD:
	case IB_UVERBS_QPT_XRC_INI:
	case IB_UVERBS_QPT_XRC_TGT:
	case IB_UVERBS_QPT_RAW_PACKET:
		return 0;
	case IB_UVERBS_QPT_DRIVER:
		return -EOPNOTSUPP;
	default:
		return -EINVAL;
	}
}

/* An XRC initiator only sends, and an indirection table receives through its work queues. */
static bool has_receives(const struct qp_args *args)
{
	return args->type != IB_UVERBS_QPT_XRC_INI && !args->table;
}

static bool is_tm(const struct qp_args *args)
{
	return args->srq && uv_srq_is_tm(UV_CAST(struct uv_srq, args->srq));
}

bool uv_qp_posted_by_nic(const struct uv_qp *qp)
{
	return qp->target || (qp->srq && uv_srq_is_tm(qp->srq));
}

/* Checks a queue pair with an indirection table, which has no queue of its own. */
static int check_rss_qp(const struct qp_args *args)
{
	const struct ib_uverbs_qp_cap *cap = &args->cap;

	if (args->type != IB_UVERBS_QPT_RAW_PACKET || !args->pd || args->send_cq || args->srq ||
	    cap->max_send_wr || cap->max_recv_wr || cap->max_recv_sge)
		return -EINVAL;
	return args->create_flags ? -EOPNOTSUPP : 0;
}

static int qp_check(const struct qp_args *args)
{
	const struct ib_uverbs_qp_cap *cap = &args->cap;
	int err;

	err = check_type(args->type);
	if (err)
		return err;
	if (args->type == IB_UVERBS_QPT_XRC_TGT) {
		if (!args->xrcd)
			return -EINVAL;
		return args->create_flags ? -EOPNOTSUPP : 0;
	}
	if (args->table)
		return check_rss_qp(args);
	if (!args->pd || !args->send_cq || (has_receives(args) && !args->recv_cq))
		return -EINVAL;
	/* Receives of an XRC shared receive queue are for XRC targets only. */
	if (args->srq && UV_CAST(struct uv_srq, args->srq)->xrcd)
		return -EINVAL;
	/* With tag matching, only the device uses the send queue. */
	if (is_tm(args) && (args->type != IB_UVERBS_QPT_RC || cap->max_send_wr))
		return -EINVAL;
	if (args->create_flags)
		return -EOPNOTSUPP;
	if (cap->max_send_wr > UV_MAX_QP_WR || cap->max_send_sge > VNET_MAX_SGE ||
	    cap->max_inline_data > VNET_MAX_INLINE)
		return -EINVAL;
	if (has_receives(args) && !args->srq &&
	    (cap->max_recv_wr > UV_MAX_QP_WR || cap->max_recv_sge > VNET_MAX_SGE))
		return -EINVAL;
	return 0;
}

static void fill_send_queue(struct nic_qp_params *params, const struct ib_uverbs_qp_cap *cap)
{
	u32 shift = uv_send_stride_shift(cap->max_send_sge, cap->max_inline_data);

	params->sq_entries = 1u << uv_ceil_log2(cap->max_send_wr);
	params->sq_stride_shift = (u8)shift;
	params->max_send_sge = (u8)uv_send_sges(cap->max_send_sge, shift);
	params->max_inline = (u16)uv_send_inline(cap->max_send_sge, cap->max_inline_data, shift);
}

static void fill_recv_queue(struct nic_qp_params *params, const struct ib_uverbs_qp_cap *cap)
{
	u32 shift = uv_recv_stride_shift(cap->max_recv_sge);

	params->rq_entries = uv_recv_entries(cap->max_recv_wr, UV_MAX_QP_WR);
	params->rq_stride_shift = (u8)shift;
	params->max_recv_sge = (u8)uv_recv_sges(cap->max_recv_sge, shift);
}

static void qp_fill_params(struct uv_request *req, struct uv_qp *qp, const struct qp_args *args)
{
	qp->params = (struct nic_qp_params){
		.type = (u8)args->type,
		.sq_sig_all = args->sq_sig_all,
		.pdn = qp->pd->pdn,
		.send_cqn = qp->send_cq->cqn,
		.recv_cqn = qp->recv_cq ? qp->recv_cq->cqn : 0,
		.srqn = qp->srq ? qp->srq->srqn : 0,
		.space = req->client->space,
		.owner_pid = (u32)req->client->pid,
	};
	if (qp->srq && uv_srq_is_tm(qp->srq)) {
		/*
		 * All completions go to the shared receive queue's CQ, and only if it requests
		 * them.
		 */
		qp->params.sq_sig_all = 0;
		qp->params.send_cqn = qp->srq->cq->cqn;
		qp->params.recv_cqn = qp->srq->cq->cqn;
		fill_send_queue(&qp->params, &tm_sends);
		return;
	}
	fill_send_queue(&qp->params, &args->cap);
	if (has_receives(args) && !qp->srq)
		fill_recv_queue(&qp->params, &args->cap);
}

static int qp_reserve_rings(struct device *device, struct uv_qp *qp)
{
	struct nic_qp_params *params = &qp->params;

	qp->sq = uv_ring_get(device, params->sq_entries, params->sq_stride_shift);
	if (!qp->sq)
		return -ENOMEM;
	params->sq_ring = qp->sq->offset;
	if (!params->rq_entries)
		return 0;
	qp->rq = uv_ring_get(device, params->rq_entries, params->rq_stride_shift);
	if (!qp->rq) {
		uv_heap_put(device, qp->sq);
		return -ENOMEM;
	}
	params->rq_ring = qp->rq->offset;
	return 0;
}

static int qp_reserve(struct device *device, struct uv_qp *qp)
{
	int err;

	err = uv_qpn_new(device, qp, &qp->params.qpn);
	if (err)
		return err;
	err = qp_reserve_rings(device, qp);
	if (err)
		uv_qpn_end(device, qp->params.qpn);
	return err;
}

static void qp_use_others(struct uv_qp *qp)
{
	uv_use(&qp->pd->obj);
	uv_use(&qp->send_cq->obj);
	if (qp->recv_cq)
		uv_use(&qp->recv_cq->obj);
	if (qp->srq)
		uv_use(&qp->srq->obj);
}

static int respond_driver(struct uv_request *req, const struct uv_qp *qp)
{
	struct vnet_create_qp_resp driver = { .qpn = qp->params.qpn };

	if (qp->sq && !uv_qp_posted_by_nic(qp))
		uv_ring_info(qp->sq, qp->params.sq_entries, qp->params.sq_stride_shift, &driver.sq);
	if (qp->rq)
		uv_ring_info(qp->rq, qp->params.rq_entries, qp->params.rq_stride_shift, &driver.rq);
	return uv_respond_driver(req, &driver, sizeof(driver));
}

/* Reads the flags of the driver-specific part, without RSS. Only UD has any. */
static int qp_get_flags(struct uv_request *req, const struct qp_args *args, u32 *flags)
{
	static const struct vnet_create_qp_req none;
	struct vnet_create_qp_req driver;
	int err;

	err = uv_get_driver(req, &driver, sizeof(driver));
	if (err)
		return err;
	*flags = driver.flags;
	driver.flags = 0;
	if (*flags & ~(u32)VNET_CREATE_QP_RETURN || memcmp(&driver, &none, sizeof(none)) != 0)
		return -EINVAL;
	return *flags && args->type != IB_UVERBS_QPT_UD ? -EOPNOTSUPP : 0;
}

/* Sets up a queue pair with queues of its own, and reserves its resources. */
static int qp_make(struct uv_request *req, struct uv_qp *qp, const struct qp_args *args)
{
	u32 flags;
	int err;

	err = qp_get_flags(req, args, &flags);
	if (err)
		return err;
	qp->pd = UV_CAST(struct uv_pd, args->pd);
	qp->send_cq = UV_CAST(struct uv_cq, args->send_cq);
	if (has_receives(args)) {
		qp->recv_cq = UV_CAST(struct uv_cq, args->recv_cq);
		qp->srq = UV_CAST(struct uv_srq, args->srq);
	}
	qp_fill_params(req, qp, args);
	qp->params.returns = flags & VNET_CREATE_QP_RETURN;
	err = qp_reserve(req->device, qp);
	if (!err)
		qp_use_others(qp);
	return err;
}

static int qp_make_rss(struct uv_request *req, struct uv_qp *qp, const struct qp_args *args)
{
	struct nic_rss rss;
	int err;

	err = uv_rss_get(req, &rss);
	if (err)
		return err;
	qp->pd = UV_CAST(struct uv_pd, args->pd);
	return uv_rss_new(req, qp, UV_CAST(struct uv_table, args->table), &rss);
}

/* Creates an XRC target, or opens an existing one. */
static int qp_make_target(struct uv_request *req, struct uv_qp *qp, const struct qp_args *args)
{
	int err;

	qp->xrcd = UV_CAST(struct uv_xrcd, args->xrcd);
	err = args->open_qpn ? uv_target_open(qp, args->open_qpn) : uv_target_new(req, qp);
	if (!err)
		uv_use(args->xrcd);
	return err;
}

/* Creates the object, and writes the driver-specific part of the response. */
static int qp_new(struct uv_request *req, const struct qp_args *args, struct uv_qp **out)
{
	struct uv_object *obj;
	struct uv_qp *qp;
	int err = 0;

	if (args->type == IB_UVERBS_QPT_RAW_PACKET)
		/* Raw packets are Ethernet frames. */
		err = req->device->lid ? -EOPNOTSUPP : uv_check_raw(req);
	if (!err)
		err = qp_check(args);
	if (err)
		return err;
	err = uv_object_new(req, &qp_class, &obj);
	if (err)
		return err;
	qp = UV_CAST(struct uv_qp, obj);
	if (args->type == IB_UVERBS_QPT_XRC_TGT)
		err = qp_make_target(req, qp, args);
	else if (args->table)
		err = qp_make_rss(req, qp, args);
	else
		err = qp_make(req, qp, args);
	if (err) {
		uv_object_drop(obj);
		return err;
	}
	obj->user_handle = args->user_handle;
	uv_events_attach(obj, args->events);
	req->created = obj;
	*out = qp;
	/* Its frames go to all NICs. */
	if (args->type == IB_UVERBS_QPT_RAW_PACKET)
		discover_peers(req->device);
	return respond_driver(req, qp);
}

/* ----------------------------------------------------------------- create */

static int write_create(struct uv_request *req, const struct ib_uverbs_ex_create_qp *cmd,
			struct ib_uverbs_create_qp_resp *resp)
{
	struct qp_args args = {
		.user_handle = cmd->user_handle,
		.type = cmd->qp_type,
		.pd = uv_object_read(req, UVERBS_OBJECT_PD, cmd->pd_handle),
		.send_cq = uv_object_read(req, UVERBS_OBJECT_CQ, cmd->send_cq_handle),
		.recv_cq = uv_object_read(req, UVERBS_OBJECT_CQ, cmd->recv_cq_handle),
		.cap = { cmd->max_send_wr, cmd->max_recv_wr, cmd->max_send_sge, cmd->max_recv_sge,
			 cmd->max_inline_data },
		.sq_sig_all = cmd->sq_sig_all,
		.create_flags = cmd->create_flags,
	};
	struct uv_qp *qp;
	int err;

	/* An XRC target passes its domain in pd_handle. */
	if (cmd->qp_type == IB_UVERBS_QPT_XRC_TGT)
		args.xrcd = uv_object_read(req, UVERBS_OBJECT_XRCD, cmd->pd_handle);
	else if (cmd->is_srq && cmd->qp_type != IB_UVERBS_QPT_XRC_INI) {
		args.srq = uv_object_read(req, UVERBS_OBJECT_SRQ, cmd->srq_handle);
		if (!args.srq)
			return -EINVAL;
	}
	if (cmd->comp_mask & IB_UVERBS_CREATE_QP_MASK_IND_TABLE) {
		args.table =
			uv_object_read(req, UVERBS_OBJECT_RWQ_IND_TBL, cmd->rwq_ind_tbl_handle);
		if (!args.table)
			return -EINVAL;
		/* With a table, the CQ handles are ignored. */
		args.send_cq = NULL;
		args.recv_cq = NULL;
	}
	err = qp_new(req, &args, &qp);
	if (err)
		return err;
	*resp = (struct ib_uverbs_create_qp_resp){
		.qp_handle = qp->obj.handle,
		.qpn = qp->params.qpn,
	};
	if (uv_qp_posted_by_nic(qp))
		return 0;
	resp->max_send_wr = qp->params.sq_entries;
	resp->max_recv_wr = qp->params.rq_entries;
	resp->max_send_sge = qp->params.max_send_sge;
	resp->max_recv_sge = qp->params.max_recv_sge;
	resp->max_inline_data = qp->params.max_inline;
	return 0;
}

int uv_create_qp(struct uv_request *req)
{
	struct ib_uverbs_create_qp_resp resp;
	struct ib_uverbs_create_qp cmd;
	struct ib_uverbs_ex_create_qp ex;
	int err;

	err = uv_get(req, &cmd, sizeof(cmd));
	if (err)
		return err;
	ex = (struct ib_uverbs_ex_create_qp){
		.user_handle = cmd.user_handle,
		.pd_handle = cmd.pd_handle,
		.send_cq_handle = cmd.send_cq_handle,
		.recv_cq_handle = cmd.recv_cq_handle,
		.srq_handle = cmd.srq_handle,
		.max_send_wr = cmd.max_send_wr,
		.max_recv_wr = cmd.max_recv_wr,
		.max_send_sge = cmd.max_send_sge,
		.max_recv_sge = cmd.max_recv_sge,
		.max_inline_data = cmd.max_inline_data,
		.sq_sig_all = cmd.sq_sig_all,
		.qp_type = cmd.qp_type,
		.is_srq = cmd.is_srq,
	};
	err = write_create(req, &ex, &resp);
	return err ? err : uv_respond(req, &resp, sizeof(resp));
}

int uv_open_qp(struct uv_request *req)
{
	struct ib_uverbs_create_qp_resp resp = { .qp_handle = 0 };
	struct ib_uverbs_open_qp cmd;
	struct qp_args args;
	struct uv_qp *qp;
	int err;

	err = uv_get(req, &cmd, sizeof(cmd));
	if (err)
		return err;
	args = (struct qp_args){
		.user_handle = cmd.user_handle,
		.type = IB_UVERBS_QPT_XRC_TGT,
		.xrcd = uv_object_read(req, UVERBS_OBJECT_XRCD, cmd.pd_handle),
		.open_qpn = cmd.qpn,
	};
	if (cmd.qp_type != IB_UVERBS_QPT_XRC_TGT || !cmd.qpn)
		return -EINVAL;
	err = qp_new(req, &args, &qp);
	if (err)
		return err;
	resp.qp_handle = qp->obj.handle;
	resp.qpn = qp->params.qpn;
	return uv_respond(req, &resp, sizeof(resp));
}

int uv_ex_create_qp(struct uv_request *req)
{
	struct ib_uverbs_ex_create_qp_resp resp = { .comp_mask = 0 };
	struct ib_uverbs_ex_create_qp cmd;
	int err;

	err = uv_get(req, &cmd, sizeof(cmd));
	if (err)
		return err;
	if (cmd.comp_mask & ~(u32)IB_UVERBS_CREATE_QP_MASK_IND_TABLE || cmd.reserved)
		return -EINVAL;
	err = write_create(req, &cmd, &resp.base);
	if (err)
		return err;
	resp.response_length = uv_response_length(req, sizeof(resp));
	return uv_respond(req, &resp, sizeof(resp));
}

static int get_ioctl_flags(struct uv_request *req, struct qp_args *args)
{
	u64 known = IB_UVERBS_QP_CREATE_BLOCK_MULTICAST_LOOPBACK | IB_UVERBS_QP_CREATE_SCATTER_FCS |
		    IB_UVERBS_QP_CREATE_CVLAN_STRIPPING |
		    IB_UVERBS_QP_CREATE_PCI_WRITE_END_PADDING | IB_UVERBS_QP_CREATE_SQ_SIG_ALL;
	u32 flags;
	int err;

	err = uv_attr_flags(req, UVERBS_ATTR_CREATE_QP_FLAGS, known, &flags);
	args->sq_sig_all = flags & IB_UVERBS_QP_CREATE_SQ_SIG_ALL;
	args->create_flags = flags & ~(u32)IB_UVERBS_QP_CREATE_SQ_SIG_ALL;
	if (!err && uv_attr_present(req, UVERBS_ATTR_CREATE_QP_SOURCE_QPN))
		err = -EOPNOTSUPP;
	return err;
}

/* Checks that exactly the objects are present that the type requires. */
static int check_ioctl_objects(const struct qp_args *args)
{
	if (args->type == IB_UVERBS_QPT_XRC_TGT) {
		if (args->pd || args->send_cq || args->recv_cq)
			return -EINVAL;
		return args->xrcd ? 0 : -ENOENT;
	}
	if (args->xrcd || (args->srq && !has_receives(args)))
		return -EINVAL;
	if (args->table)
		return args->pd ? 0 : -ENOENT;
	if (!args->pd || !args->send_cq || (has_receives(args) && !args->recv_cq))
		return -ENOENT;
	return 0;
}

static int get_ioctl_args(struct uv_request *req, struct qp_args *args)
{
	int err;

	*args = (struct qp_args){
		.pd = uv_attr_object(req, UVERBS_ATTR_CREATE_QP_PD_HANDLE),
		.send_cq = uv_attr_object(req, UVERBS_ATTR_CREATE_QP_SEND_CQ_HANDLE),
		.recv_cq = uv_attr_object(req, UVERBS_ATTR_CREATE_QP_RECV_CQ_HANDLE),
		.srq = uv_attr_object(req, UVERBS_ATTR_CREATE_QP_SRQ_HANDLE),
		.xrcd = uv_attr_object(req, UVERBS_ATTR_CREATE_QP_XRCD_HANDLE),
		.table = uv_attr_object(req, UVERBS_ATTR_CREATE_QP_IND_TABLE_HANDLE),
		.events = uv_attr_object(req, UVERBS_ATTR_CREATE_QP_EVENT_FD),
	};
	err = uv_attr_get(req, UVERBS_ATTR_CREATE_QP_CAP, &args->cap, sizeof(args->cap));
	if (!err)
		err = uv_attr_get(req, UVERBS_ATTR_CREATE_QP_USER_HANDLE, &args->user_handle,
				  sizeof(args->user_handle));
	if (!err)
		err = uv_attr_const(req, UVERBS_ATTR_CREATE_QP_TYPE, 0xffffffff, &args->type);
	if (!err)
		err = check_type(args->type);
	if (err)
		return err;
	err = check_ioctl_objects(args);
	return err ? err : get_ioctl_flags(req, args);
}

static int put_ioctl_results(struct uv_request *req, const struct uv_qp *qp)
{
	const struct nic_qp_params *params = &qp->params;
	struct ib_uverbs_qp_cap cap = { .max_send_wr = 0 };
	int err;

	if (!uv_qp_posted_by_nic(qp))
		cap = (struct ib_uverbs_qp_cap){
			.max_send_wr = params->sq_entries,
			.max_recv_wr = params->rq_entries,
			.max_send_sge = params->max_send_sge,
			.max_recv_sge = params->max_recv_sge,
			.max_inline_data = params->max_inline,
		};

	err = uv_attr_put_or_zero(req, UVERBS_ATTR_CREATE_QP_RESP_CAP, &cap, sizeof(cap));
	if (!err)
		err = uv_attr_put(req, UVERBS_ATTR_CREATE_QP_RESP_QP_NUM, &params->qpn,
				  sizeof(params->qpn));
	if (err)
		return err;
	return uv_attr_put_handle(req, UVERBS_ATTR_CREATE_QP_HANDLE, qp->obj.handle);
}

int uv_ioctl_create_qp(struct uv_request *req)
{
	struct qp_args args;
	struct uv_qp *qp;
	int err;

	err = get_ioctl_args(req, &args);
	if (!err)
		err = qp_new(req, &args, &qp);
	return err ? err : put_ioctl_results(req, qp);
}

/* ---------------------------------------------------------------- destroy */

int uv_destroy_qp(struct uv_request *req)
{
	return uv_destroy_count_events(req, UVERBS_OBJECT_QP);
}

int uv_ioctl_destroy_qp(struct uv_request *req)
{
	return uv_ioctl_destroy_count_events(req, UVERBS_ATTR_DESTROY_QP_HANDLE,
					     UVERBS_ATTR_DESTROY_QP_RESP);
}

/* --------------------------------------------------------------- doorbell */

/*
 * POST_SEND without work requests is the doorbell of a provider that cannot run the firmware
 * itself. Work requests inside the command are not supported: the rings hold them.
 */
int uv_post_send(struct uv_request *req)
{
	struct ib_uverbs_post_send_resp resp = { .bad_wr = 0 };
	struct ib_uverbs_post_send cmd;
	struct uv_object *obj;
	int err;

	err = uv_get(req, &cmd, sizeof(cmd));
	if (err)
		return err;
	obj = uv_object_read(req, UVERBS_OBJECT_QP, cmd.qp_handle);
	if (!obj)
		return -EINVAL;
	if (cmd.wr_count || cmd.sge_count)
		return -EOPNOTSUPP;
	err = uv_respond(req, &resp, sizeof(resp));
	if (!err)
		nic_send_doorbell(&req->device->nic, UV_CAST(struct uv_qp, obj)->params.qpn);
	return err;
}
