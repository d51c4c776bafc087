// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * SIDR: finds the queue pair number and Q_Key of a datagram service. No connection results, but
 * the passive side knows the requester's address afterwards.
 */
#include <errno.h>
#include <infiniband/verbs.h>

#include "inside.h"

/* Sets the Q_Key of the id, unless it has another one already. */
static int set_qkey(struct cm_id *id, u32 qkey)
{
	/* The program's value is used with AF_IB addresses only. */
	if (id->src.any.sa_family != CM_AF_IB)
		qkey = 0;
	if (id->qkey && qkey && id->qkey != qkey)
		return -EINVAL;
	if (!id->qkey)
		id->qkey = qkey ? qkey : CM_UD_QKEY;
	return 0;
}

/* ---------------------------------------------------------- active side */

int cm_sidr_connect(struct cm_id *id, const struct rdma_ucm_conn_param *param)
{
	struct cm_conn *conn;
	struct mad *mad;
	int err;

	if (param->private_data_len > SIDR_REQ_PRIVATE_SIZE - cm_ip_header_size(id))
		return -EINVAL;
	err = cm_conn_new(id->cm, id, &id->path, &conn);
	if (err)
		return err;
	conn->active = true;
	conn->service_id = cm_service_id(id, &id->dst);
	mad = &conn->last;
	mad_begin(mad, CM_SIDR_REQ, conn->tid);
	mad_put32(mad, SIDR_REQ_ID, conn->local_id);
	mad_put16(mad, SIDR_REQ_PKEY, CM_PKEY);
	mad_put64(mad, SIDR_REQ_SERVICE_ID, conn->service_id);
	cm_put_ip_header(mad, SIDR_REQ_PRIVATE, id);
	memcpy(&mad->byte[SIDR_REQ_PRIVATE + cm_ip_header_size(id)], param->private_data,
	       param->private_data_len);
	cm_conn_send(conn, CM_SIDR_REQ_SENT);
	return 0;
}

void cm_on_sidr_rep(struct cm *cm, const struct cm_arrival *arrival)
{
	struct rdma_ucm_event_resp resp = { .event = CM_EVENT_ESTABLISHED };
	struct rdma_ucm_ud_param *param = &resp.param.ud;
	const struct mad *mad = &arrival->mad;
	struct cm_conn *conn;
	struct cm_id *id;

	for (conn = cm->conns; conn; conn = conn->next)
		if (conn->state == CM_SIDR_REQ_SENT &&
		    conn->local_id == mad_get32(mad, SIDR_REP_ID) && cm_is_peers(conn, arrival))
			break;
	if (!conn)
		return;
	id = conn->id;
	param->private_data_len = SIDR_REP_PRIVATE_SIZE;
	memcpy(param->private_data, &mad->byte[SIDR_REP_PRIVATE], SIDR_REP_PRIVATE_SIZE);
	if (mad->byte[SIDR_REP_STATUS] != CM_SIDR_SUCCESS) {
		resp.event = CM_EVENT_UNREACHABLE;
		resp.status = mad->byte[SIDR_REP_STATUS];
	} else {
		param->qp_num = mad_get24(mad, SIDR_REP_QPN);
		param->qkey = mad_get32(mad, SIDR_REP_QKEY);
		id->qkey = param->qkey;
		cm_path_ah(&conn->path, &param->ah_attr);
	}
	cm_conn_close(conn);
	(void)cm_event(id, NULL, NULL, &resp);
}

/* ---------------------------------------------------------- passive side */

static void begin_reply(struct mad *mad, u64 tid, u32 request_id, u64 service_id,
			enum cm_sidr_status status)
{
	mad_begin(mad, CM_SIDR_REP, tid);
	mad_put32(mad, SIDR_REP_ID, request_id);
	mad->byte[SIDR_REP_STATUS] = (u8)status;
	mad_put64(mad, SIDR_REP_SERVICE_ID, service_id);
}

void cm_sidr_reply(struct cm_conn *conn, enum cm_sidr_status status, const void *data, u32 length)
{
	struct mad *mad = &conn->last;

	begin_reply(mad, conn->tid, conn->remote_id, conn->service_id, status);
	if (status == CM_SIDR_SUCCESS) {
		mad_put24(mad, SIDR_REP_QPN, conn->id->qpn);
		mad_put32(mad, SIDR_REP_QKEY, conn->id->qkey);
	}
	if (length)
		memcpy(&mad->byte[SIDR_REP_PRIVATE], data, length);
	cm_transmit(conn->cm, &conn->path, mad);
	/* Kept for a while, to answer repeated requests. */
	cm_conn_timewait(conn);
	conn->state = CM_SIDR_ANSWERED;
}

int cm_sidr_accept(struct cm_id *id, const struct rdma_ucm_conn_param *param)
{
	int err;

	if (id->conn->state != CM_SIDR_REQ_RECEIVED ||
	    param->private_data_len > SIDR_REP_PRIVATE_SIZE)
		return -EINVAL;
	err = set_qkey(id, param->qkey);
	if (!err)
		cm_sidr_reply(id->conn, CM_SIDR_SUCCESS, param->private_data,
			      param->private_data_len);
	return err;
}

void cm_refuse_sidr(struct cm *cm, const struct cm_arrival *arrival, enum cm_sidr_status status)
{
	const struct mad *from = &arrival->mad;
	struct cm_path path;
	struct mad mad;

	if (!cm_arrival_path(arrival, &path))
		return;
	begin_reply(&mad, mad_get64(from, MAD_TID), mad_get32(from, SIDR_REQ_ID),
		    mad_get64(from, SIDR_REQ_SERVICE_ID), status);
	cm_transmit(cm, &path, &mad);
}

static bool is_same_request(const struct cm_conn *conn, const struct cm_arrival *arrival)
{
	return !conn->active &&
	       (conn->state == CM_SIDR_REQ_RECEIVED || conn->state == CM_SIDR_ANSWERED) &&
	       conn->remote_id == mad_get32(&arrival->mad, SIDR_REQ_ID) &&
	       conn->service_id == mad_get64(&arrival->mad, SIDR_REQ_SERVICE_ID) &&
	       !memcmp(conn->path.dgid, arrival->sgid, sizeof(arrival->sgid));
}

static bool is_repeated(struct cm *cm, const struct cm_arrival *arrival)
{
	struct cm_conn *conn;

	for (conn = cm->conns; conn; conn = conn->next) {
		if (!is_same_request(conn, arrival))
			continue;
		if (conn->state == CM_SIDR_ANSWERED)
			cm_transmit(cm, &conn->path, &conn->last);
		return true;
	}
	return false;
}

static bool report_request(struct cm_id *listener, struct cm_id *id, const struct mad *mad)
{
	struct rdma_ucm_event_resp resp = { .event = CM_EVENT_CONNECT_REQUEST };
	u32 header = cm_ip_header_size(listener), length = SIDR_REQ_PRIVATE_SIZE - header;

	resp.param.ud.private_data_len = (u8)length;
	memcpy(resp.param.ud.private_data, &mad->byte[SIDR_REQ_PRIVATE + header], length);
	return cm_event(listener, NULL, id, &resp);
}

void cm_on_sidr_req(struct cm *cm, const struct cm_arrival *arrival)
{
	const struct mad *mad = &arrival->mad;
	u64 service_id = mad_get64(mad, SIDR_REQ_SERVICE_ID);
	struct cm_id *owner, *id;
	union cm_address src, dst;
	struct cm_conn *conn;
	bool by_ip, fits;

	if (is_repeated(cm, arrival))
		return;
	by_ip = cm_get_addresses(arrival, SIDR_REQ_PRIVATE, service_id, &src, &dst);
	owner = cm_early_owner(cm, arrival, service_id, &dst);
	if (!owner && !by_ip &&
	    cm_port_owner(cm, CM_ID_LISTEN, service_id, NULL, arrival->device)) {
		cm_refuse_sidr(cm, arrival, CM_SIDR_REJECT);
		return;
	}
	fits = owner && owner->qp_type == IBV_QPT_UD;
	if (owner ? fits && cm_early_keep(owner, arrival) :
		    cm_early_keep_port(cm, arrival, service_id))
		return;
	if (!fits || owner->state != CM_ID_LISTEN) {
		if (!owner && by_ip)
			cm_neighbour_report(cm, arrival, &dst);
		cm_refuse_sidr(cm, arrival, CM_SIDR_UNSUPPORTED);
		return;
	}
	id = cm_request_id(owner, arrival, &src, &dst, service_id);
	if (!id)
		return;
	if (cm_conn_new(cm, id, &id->path, &conn)) {
		cm_request_drop(owner, id);
		return;
	}
	conn->remote_id = mad_get32(mad, SIDR_REQ_ID);
	conn->tid = mad_get64(mad, MAD_TID);
	conn->service_id = service_id;
	conn->state = CM_SIDR_REQ_RECEIVED;
	if (!report_request(owner, id, mad))
		cm_request_drop(owner, id);
}
