// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Modify and query of queue pairs. Makes the checks that the kernel makes before it calls its
 * driver; the firmware checks which attributes a transition may set.
 */
#include <errno.h>
#include <infiniband/verbs.h>
#include <string.h>

#include "objects.h"

/* Attributes of the non-extended command. */
#define STANDARD_MASK ((u32)(IBV_QP_RATE_LIMIT - 1) & ((1u << 21) - 1))

/* ----------------------------------------------------------------- modify */

/*
 * Validates an address vector. Its port must be that of the queue pair; both may change together
 * if the path can change (SQD).
 */
static int check_address(const struct device *device, const struct ib_uverbs_modify_qp *cmd)
{
	const struct ib_uverbs_qp_dest *dest = &cmd->dest;

	if (dest->port_num != 1)
		return -EINVAL;
	if (cmd->attr_mask & IBV_QP_PORT && cmd->port_num != dest->port_num)
		return -EINVAL;
	/* On Ethernet, addresses are global; the firmware checks LIDs. */
	if (dest->is_global ? !uv_gid_valid(device, dest->sgid_index) : !device->lid)
		return -EINVAL;
	return 0;
}

/* A controlled Q_Key requires CAP_NET_RAW: with it, a process can send to management QPs. */
static int check_qkey(const struct uv_request *req, const struct ib_uverbs_modify_qp *cmd)
{
	if (!(cmd->attr_mask & IBV_QP_QKEY) || !(cmd->qkey & NIC_QKEY_CONTROLLED))
		return 0;
	return uv_check_raw(req);
}

static int check_modify(const struct device *device, const struct ib_uverbs_modify_qp *cmd)
{
	u32 mask = cmd->attr_mask;

	if (mask & IBV_QP_PORT && cmd->port_num != 1)
		return -EINVAL;
	/* No alternate paths. */
	if (mask & IBV_QP_ALT_PATH)
		return -EINVAL;
	if (mask & IBV_QP_CUR_STATE && cmd->cur_qp_state > IBV_QPS_ERR)
		return -EINVAL;
	if (mask & IBV_QP_STATE && cmd->qp_state > IBV_QPS_ERR)
		return -EINVAL;
	return mask & IBV_QP_AV ? check_address(device, cmd) : 0;
}

static void set_address(struct nic_qp_attr *attr, const struct ib_uverbs_qp_dest *dest)
{
	memcpy(attr->dgid, dest->dgid, sizeof(attr->dgid));
	attr->flow_label = dest->flow_label;
	attr->sgid_index = dest->sgid_index;
	attr->hop_limit = dest->hop_limit;
	attr->traffic_class = dest->traffic_class;
	attr->sl = dest->sl;
	attr->static_rate = dest->static_rate;
	attr->src_path_bits = dest->src_path_bits;
	attr->is_global = dest->is_global;
	attr->dlid = dest->dlid;
}

static struct nic_qp_attr nic_attr(const struct ib_uverbs_ex_modify_qp *ex)
{
	const struct ib_uverbs_modify_qp *cmd = &ex->base;
	struct nic_qp_attr attr = {
		.qkey = cmd->qkey,
		.rq_psn = cmd->rq_psn,
		.sq_psn = cmd->sq_psn,
		.dest_qpn = cmd->dest_qp_num,
		.access = cmd->qp_access_flags,
		.pkey_index = cmd->pkey_index,
		.port = cmd->port_num,
		.path_mtu = cmd->path_mtu,
		.max_rd_atomic = cmd->max_rd_atomic,
		.max_dest_rd_atomic = cmd->max_dest_rd_atomic,
		.min_rnr_timer = cmd->min_rnr_timer,
		.timeout = cmd->timeout,
		.retry_cnt = cmd->retry_cnt,
		.rnr_retry = cmd->rnr_retry,
		.en_sqd_async_notify = cmd->en_sqd_async_notify,
		.path_mig_state = cmd->path_mig_state,
		.rate_limit = ex->rate_limit,
	};

	if (cmd->attr_mask & IBV_QP_AV)
		set_address(&attr, &cmd->dest);
	return attr;
}

static int qp_modify(struct uv_request *req, const struct ib_uverbs_ex_modify_qp *ex)
{
	const struct ib_uverbs_modify_qp *cmd = &ex->base;
	struct nic_qp_attr attr = nic_attr(ex);
	struct uv_object *obj;
	int err;

	obj = uv_object_read(req, UVERBS_OBJECT_QP, cmd->qp_handle);
	if (!obj)
		return -EINVAL;
	/* The states are those of its work queues. */
	if (uv_qp_is_rss(UV_CAST(struct uv_qp, obj)))
		return -EOPNOTSUPP;
	err = check_modify(req->device, cmd);
	if (!err)
		err = check_qkey(req, cmd);
	if (err)
		return err;
	return uv_result(nic_qp_modify(&req->device->nic, UV_CAST(struct uv_qp, obj)->params.qpn,
				       &attr, cmd->attr_mask, cmd->cur_qp_state, cmd->qp_state));
}

int uv_modify_qp(struct uv_request *req)
{
	struct ib_uverbs_ex_modify_qp cmd = { .rate_limit = 0 };
	int err;

	err = uv_get(req, &cmd.base, sizeof(cmd.base));
	if (err)
		return err;
	if (cmd.base.attr_mask & ~STANDARD_MASK)
		return -EOPNOTSUPP;
	return qp_modify(req, &cmd);
}

int uv_ex_modify_qp(struct uv_request *req)
{
	struct ib_uverbs_ex_modify_qp_resp resp = {
		.response_length = uv_response_length(req, sizeof(resp)),
	};
	struct ib_uverbs_ex_modify_qp cmd;
	int err;

	err = uv_get(req, &cmd, sizeof(cmd));
	if (err)
		return err;
	if (cmd.base.attr_mask & ~(STANDARD_MASK | IBV_QP_RATE_LIMIT))
		return -EOPNOTSUPP;
	err = uv_respond(req, &resp, sizeof(resp));
	return err ? err : qp_modify(req, &cmd);
}

/* ------------------------------------------------------------------ query */

static void fill_address(struct ib_uverbs_qp_dest *dest, const struct nic_qp_attr *attr)
{
	memcpy(dest->dgid, attr->dgid, sizeof(dest->dgid));
	dest->flow_label = attr->flow_label;
	dest->sgid_index = attr->sgid_index;
	dest->hop_limit = attr->hop_limit;
	dest->traffic_class = attr->traffic_class;
	dest->sl = attr->sl;
	dest->static_rate = attr->static_rate;
	dest->src_path_bits = attr->src_path_bits;
	dest->is_global = attr->is_global;
	dest->dlid = attr->dlid;
	dest->port_num = attr->port;
}

static void fill_capacity(struct ib_uverbs_query_qp_resp *resp, const struct nic_qp_params *params)
{
	resp->max_send_wr = params->sq_entries;
	resp->max_recv_wr = params->rq_entries;
	resp->max_send_sge = params->max_send_sge;
	resp->max_recv_sge = params->max_recv_sge;
	resp->max_inline_data = params->max_inline;
	resp->sq_sig_all = params->sq_sig_all;
}

static void fill_attributes(struct ib_uverbs_query_qp_resp *resp, const struct nic_qp_attr *attr)
{
	resp->qkey = attr->qkey;
	resp->rq_psn = attr->rq_psn;
	resp->sq_psn = attr->sq_psn;
	resp->dest_qp_num = attr->dest_qpn;
	resp->qp_access_flags = attr->access;
	resp->pkey_index = attr->pkey_index;
	resp->alt_pkey_index = attr->alt_pkey_index;
	resp->path_mtu = attr->path_mtu;
	resp->path_mig_state = attr->path_mig_state;
	resp->max_rd_atomic = attr->max_rd_atomic;
	resp->max_dest_rd_atomic = attr->max_dest_rd_atomic;
	resp->min_rnr_timer = attr->min_rnr_timer;
	resp->port_num = attr->port;
	resp->timeout = attr->timeout;
	resp->retry_cnt = attr->retry_cnt;
	resp->rnr_retry = attr->rnr_retry;
	resp->alt_port_num = attr->alt_port;
	resp->alt_timeout = attr->alt_timeout;
	fill_address(&resp->dest, attr);
}

int uv_query_qp(struct uv_request *req)
{
	struct ib_uverbs_query_qp_resp resp;
	struct ib_uverbs_query_qp cmd;
	const struct nic_qp_params *params;
	const struct uv_qp *qp;
	struct nic_qp_attr attr;
	struct uv_object *obj;
	u8 state, draining;
	int err;

	err = uv_get(req, &cmd, sizeof(cmd));
	if (err)
		return err;
	obj = uv_object_read(req, UVERBS_OBJECT_QP, cmd.qp_handle);
	if (!obj)
		return -EINVAL;
	qp = UV_CAST(struct uv_qp, obj);
	if (uv_qp_is_rss(qp))
		return -EOPNOTSUPP;
	params = &qp->params;
	err = uv_result(nic_qp_query(&req->device->nic, params->qpn, &attr, &state, &draining));
	if (err)
		return err;
	memset(&resp, 0, sizeof(resp));
	resp.qp_state = state;
	resp.cur_qp_state = state;
	resp.sq_draining = draining;
	/* An XRC target has no queues to post to. */
	if (!qp->target)
		fill_capacity(&resp, params);
	fill_attributes(&resp, &attr);
	return uv_respond(req, &resp, sizeof(resp));
}
