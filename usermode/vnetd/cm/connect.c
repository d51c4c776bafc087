// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* rdma_cm commands that establish, refuse and end connections. */
#include <errno.h>
#include <infiniband/verbs.h>

#include "inside.h"

/* Flag in the byte of the SL in a REQ. */
#define SUBNET_LOCAL (1 << 3)
#define MOST_BACKLOG 1024u

/* Transport service types of a REQ; EXTENDED: see the extended transport field. */
enum transport { TRANSPORT_RC, TRANSPORT_UC, TRANSPORT_EXTENDED = 3 };
#define EXTENDED_XRC 1

/* --------------------------------------------------------------------- REQ */

static int put_transport(struct mad *mad, const struct cm_id *id, bool flow_control, u32 timeout)
{
	u32 type;

	switch (id->qp_type) {
	case IBV_QPT_RC:
		type = TRANSPORT_RC;
		break;
	case IBV_QPT_UC:
		type = TRANSPORT_UC;
		break;
	case IBV_QPT_XRC_SEND:
		type = TRANSPORT_EXTENDED;
		mad->byte[REQ_CM_RETRIES] |= EXTENDED_XRC;
		break;
	default:
		return -EINVAL;
	}
	mad->byte[REQ_TRANSPORT] = (u8)(timeout << 3 | type << 1 | flow_control);
	return 0;
}

static void put_path(struct mad *mad, const struct cm_conn *conn)
{
	const struct cm_path *path = &conn->path;

	mad_put16(mad, REQ_PKEY, CM_PKEY);
	mad_put16(mad, REQ_LOCAL_LID, path->device->lid);
	mad_put16(mad, REQ_REMOTE_LID, path->port.lid);
	memcpy(&mad->byte[REQ_LOCAL_GID], cm_path_sgid(path), 16);
	memcpy(&mad->byte[REQ_REMOTE_GID], cm_path_dgid(path), 16);
	mad->byte[REQ_TCLASS] = path->traffic_class;
	mad->byte[REQ_HOPS] = cm_path_hops(path);
	mad->byte[REQ_SL] = path->device->lid ? SUBNET_LOCAL : 0;
	mad->byte[REQ_ACK_TIMEOUT] = (u8)(conn->ack_timeout << 3);
}

static int format_req(struct cm_conn *conn, const struct rdma_ucm_connect *cmd)
{
	const struct rdma_ucm_conn_param *param = &cmd->conn_param;
	const struct cm_id *id = conn->id;
	struct mad *mad = &conn->last;
	int err;

	mad_begin(mad, CM_REQ, conn->tid);
	mad_put32(mad, MAD_MODIFIER, cmd->ece.attr_mod);
	mad_put32(mad, CM_LOCAL_ID, conn->local_id);
	mad_put24(mad, REQ_VENDOR_ID, cmd->ece.vendor_id);
	mad_put64(mad, REQ_SERVICE_ID, conn->service_id);
	memcpy(&mad->byte[REQ_CA_GUID], conn->path.device->node_guid, 8);
	mad_put24(mad, REQ_QPN, conn->local_qpn);
	mad->byte[REQ_RESPONDER_RESOURCES] = conn->responder_resources;
	mad->byte[REQ_INITIATOR_DEPTH] = conn->initiator_depth;
	mad_put24(mad, REQ_PSN, conn->rq_psn);
	mad->byte[REQ_RETRY] = (u8)(conn->response_timeout << 3 | conn->retry_count);
	mad->byte[REQ_MTU_RNR] = (u8)(conn->path_mtu << 4 | conn->rnr_retry_count);
	mad->byte[REQ_CM_RETRIES] = (u8)(conn->most_retries << 4 | (param->srq ? 1 << 3 : 0));
	err = put_transport(mad, id, param->flow_control & 1, conn->response_timeout);
	put_path(mad, conn);
	cm_put_ip_header(mad, REQ_PRIVATE, id);
	memcpy(&mad->byte[REQ_PRIVATE + cm_ip_header_size(id)], param->private_data,
	       param->private_data_len);
	return err;
}

static u8 at_most_7(u8 count)
{
	return count < 7 ? count : 7;
}

static int send_req(struct cm_id *id, const struct rdma_ucm_connect *cmd)
{
	const struct rdma_ucm_conn_param *param = &cmd->conn_param;
	struct cm_conn *conn;
	int err;

	if (param->private_data_len > REQ_PRIVATE_SIZE - cm_ip_header_size(id))
		return -EINVAL;
	err = cm_conn_new(id->cm, id, &id->path, &conn);
	if (err)
		return err;
	conn->active = true;
	conn->service_id = cm_service_id(id, &id->dst);
	conn->local_qpn = id->qpn;
	conn->rq_psn = id->psn;
	conn->path_mtu = IBV_MTU_4096;
	conn->responder_resources = param->responder_resources;
	conn->initiator_depth = param->initiator_depth;
	conn->retry_count = at_most_7(param->retry_count);
	conn->rnr_retry_count = at_most_7(param->rnr_retry_count);
	conn->ack_timeout = (u8)(id->path.life_time + 1);
	err = format_req(conn, cmd);
	if (err)
		cm_conn_close(conn);
	else
		cm_conn_send(conn, CM_REQ_SENT);
	return err;
}

int cm_cmd_connect(const struct cm_call *call)
{
	struct rdma_ucm_connect cmd = { .reserved = 0 };
	size_t size = sizeof(cmd), least = offsetof(struct rdma_ucm_connect, ece);
	struct cm_id *id;
	int err;

	if (call->in_length < least)
		return -EINVAL;
	/* Older programs pass a structure without `ece`. */
	err = cm_get(call, &cmd, call->in_length < size ? least : size);
	if (err)
		return err;
	if (!cmd.conn_param.valid)
		return -EINVAL;
	err = cm_call_device_id(call, cmd.id, &id);
	if (err)
		return err;
	if (id->state != CM_ID_ROUTE_RESOLVED)
		return -EINVAL;
	id->qpn = cmd.conn_param.qp_num & 0xffffff;
	id->srq = cmd.conn_param.srq;
	err = id->qp_type == IBV_QPT_UD ? cm_sidr_connect(id, &cmd.conn_param) : send_req(id, &cmd);
	if (!err)
		id->state = CM_ID_CONNECT;
	return err;
}

/* ------------------------------------------------------------------ listening */

int cm_cmd_listen(const struct cm_call *call)
{
	union cm_address any = { .any.sa_family = AF_INET };
	struct rdma_ucm_listen cmd;
	struct cm_id *id;
	int err;

	err = cm_get(call, &cmd, sizeof(cmd));
	if (!err)
		err = cm_call_id(call, cmd.id, &id);
	if (!err && id->state == CM_ID_IDLE)
		err = cm_bind(id, &any, NULL);
	if (err)
		return err;
	if (id->state != CM_ID_BOUND)
		return -EINVAL;
	err = cm_port_may_listen(id);
	if (err)
		return err;
	id->backlog = (s32)cmd.backlog > 0 && cmd.backlog < MOST_BACKLOG ? cmd.backlog :
									   MOST_BACKLOG;
	id->state = CM_ID_LISTEN;
	cm_early_deliver(id);
	return 0;
}

/* --------------------------------------------------------------------- REP */

static int send_rep(struct cm_id *id, const struct rdma_ucm_accept *cmd)
{
	const struct rdma_ucm_conn_param *param = &cmd->conn_param;
	struct cm_conn *conn = id->conn;
	struct mad *mad = &conn->last;

	if (conn->state != CM_REQ_RECEIVED || param->private_data_len > REP_PRIVATE_SIZE)
		return -EINVAL;
	conn->local_qpn = id->qpn;
	conn->responder_resources = param->responder_resources;
	conn->initiator_depth = param->initiator_depth;
	mad_begin(mad, CM_REP, conn->tid);
	mad_put32(mad, MAD_MODIFIER, cmd->ece.attr_mod);
	mad_put32(mad, CM_LOCAL_ID, conn->local_id);
	mad_put32(mad, CM_REMOTE_ID, conn->remote_id);
	mad_put24(mad, REP_QPN, conn->local_qpn);
	mad->byte[REP_VENDOR_LOW] = (u8)cmd->ece.vendor_id;
	mad->byte[REP_VENDOR_MIDDLE] = (u8)(cmd->ece.vendor_id >> 8);
	mad->byte[REP_VENDOR_HIGH] = (u8)(cmd->ece.vendor_id >> 16);
	mad_put24(mad, REP_PSN, conn->rq_psn);
	mad->byte[REP_RESPONDER_RESOURCES] = conn->responder_resources;
	mad->byte[REP_INITIATOR_DEPTH] = conn->initiator_depth;
	mad->byte[REP_FLOW_CONTROL] = param->flow_control & 1;
	mad->byte[REP_RNR_SRQ] =
		(u8)(at_most_7(param->rnr_retry_count) << 5 | (param->srq ? 1 << 4 : 0));
	memcpy(&mad->byte[REP_CA_GUID], conn->path.device->node_guid, 8);
	memcpy(&mad->byte[REP_PRIVATE], param->private_data, param->private_data_len);
	cm_conn_send(conn, CM_REP_SENT);
	return 0;
}

/* Sends the RTU: the peer's REP has arrived, and the local queue pair is ready. */
static int acknowledge(struct cm_id *id)
{
	if (!id->conn || id->conn->state != CM_REP_RECEIVED)
		return -EINVAL;
	cm_send_rtu(id->conn);
	return 0;
}

static int accept_with(struct cm_id *id, const struct rdma_ucm_accept *cmd)
{
	int err;

	if (!id->conn)
		return -EINVAL;
	id->qpn = cmd->conn_param.qp_num & 0xffffff;
	id->srq = cmd->conn_param.srq;
	err = id->qp_type == IBV_QPT_UD ? cm_sidr_accept(id, &cmd->conn_param) : send_rep(id, cmd);
	/* A request whose acceptance fails is rejected. */
	if (err && id->conn->state == CM_REQ_RECEIVED) {
		cm_send_rej(id->conn, CM_REJ_CONSUMER_DEFINED, NULL, 0);
		cm_conn_close(id->conn);
	}
	if (!err) {
		id->uid = cmd->uid;
		cm_orphan_write(id);
	}
	return err;
}

int cm_cmd_accept(const struct cm_call *call)
{
	struct rdma_ucm_accept cmd = { .reserved = 0 };
	size_t size = sizeof(cmd), least = offsetof(struct rdma_ucm_accept, ece);
	struct cm_id *id;
	int err;

	if (call->in_length < least)
		return -EINVAL;
	err = cm_get(call, &cmd, call->in_length < size ? least : size);
	if (!err)
		err = cm_call_device_id(call, cmd.id, &id);
	if (err)
		return err;
	if (id->state != CM_ID_CONNECT)
		return -EINVAL;
	return cmd.conn_param.valid ? accept_with(id, &cmd) : acknowledge(id);
}

/* --------------------------------------------------------- reject and disconnect */

static int reject(struct cm_id *id, const struct rdma_ucm_reject *cmd)
{
	struct cm_conn *conn = id->conn;

	if (!conn)
		return -EINVAL;
	if (conn->state == CM_SIDR_REQ_RECEIVED) {
		if (cmd->private_data_len > SIDR_REP_PRIVATE_SIZE)
			return -EINVAL;
		cm_sidr_reply(conn, CM_SIDR_REJECT, cmd->private_data, cmd->private_data_len);
		return 0;
	}
	if (conn->state > CM_REP_RECEIVED || cmd->private_data_len > REJ_PRIVATE_SIZE)
		return -EINVAL;
	cm_send_rej(conn, cmd->reason, cmd->private_data, cmd->private_data_len);
	cm_conn_close(conn);
	return 0;
}

int cm_cmd_reject(const struct cm_call *call)
{
	struct rdma_ucm_reject cmd;
	struct cm_id *id;
	int err;

	err = cm_get(call, &cmd, sizeof(cmd));
	if (err)
		return err;
	if (!cmd.reason)
		cmd.reason = CM_REJ_CONSUMER_DEFINED;
	if (cmd.reason != CM_REJ_CONSUMER_DEFINED &&
	    cmd.reason != CM_REJ_VENDOR_OPTION_NOT_SUPPORTED)
		return -EINVAL;
	err = cm_call_device_id(call, cmd.id, &id);
	return err ? err : reject(id, &cmd);
}

int cm_cmd_disconnect(const struct cm_call *call)
{
	struct rdma_ucm_disconnect cmd;
	struct cm_id *id;
	int err;

	err = cm_get(call, &cmd, sizeof(cmd));
	if (!err)
		err = cm_call_device_id(call, cmd.id, &id);
	if (err)
		return err;
	if (id->state != CM_ID_CONNECT && id->state != CM_ID_DISCONNECT)
		return -EINVAL;
	/* The connection may have ended already. */
	if (!id->conn)
		return 0;
	if (id->conn->state == CM_ESTABLISHED)
		cm_send_dreq(id->conn);
	else if (id->conn->state == CM_DREQ_RECEIVED)
		cm_send_drep(id->conn);
	return 0;
}

/* -------------------------------------------------------------------- notify */

/* A message on the queue pair shows that the peer has established the connection (COMM_EST). */
static int established(struct cm_id *id)
{
	struct cm_conn *conn = id->conn;

	if (!conn)
		return -EINVAL;
	if (conn->state == CM_ESTABLISHED)
		return -EISCONN;
	if (conn->state != CM_REP_SENT)
		return -EINVAL;
	cm_conn_answered(conn);
	conn->state = CM_ESTABLISHED;
	cm_plain_event(id, CM_EVENT_ESTABLISHED, 0);
	return 0;
}

int cm_cmd_notify(const struct cm_call *call)
{
	struct rdma_ucm_notify cmd;
	struct cm_id *id;
	int err;

	err = cm_get(call, &cmd, sizeof(cmd));
	if (!err)
		err = cm_call_device_id(call, cmd.id, &id);
	if (err)
		return err;
	return cmd.event == IBV_EVENT_COMM_EST ? established(id) : -EINVAL;
}
