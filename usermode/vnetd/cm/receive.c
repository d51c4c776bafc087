// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Handlers for CM messages on existing connections. A message that does not fit the state is
 * dropped.
 */
#include "inside.h"

/* Finds the connection by both communication ids; the remote id is not known yet in REQ_SENT. */
static struct cm_conn *find(struct cm *cm, const struct cm_arrival *arrival)
{
	const struct mad *mad = &arrival->mad;
	u32 local_id = mad_get32(mad, CM_REMOTE_ID), remote_id = mad_get32(mad, CM_LOCAL_ID);
	struct cm_conn *conn;

	for (conn = cm->conns; conn; conn = conn->next)
		if (conn->local_id == local_id && conn->state <= CM_TIMEWAIT &&
		    (conn->state == CM_REQ_SENT || conn->remote_id == remote_id) &&
		    cm_is_peers(conn, arrival))
			return conn;
	return NULL;
}

/* --------------------------------------------------------------------- REP */

static void report_rep(struct cm_conn *conn, const struct mad *mad)
{
	struct rdma_ucm_event_resp resp = { .event = CM_EVENT_CONNECT_RESPONSE };
	struct rdma_ucm_conn_param *param = &resp.param.conn;

	param->qp_num = conn->remote_qpn;
	param->responder_resources = conn->responder_resources;
	param->initiator_depth = conn->initiator_depth;
	param->flow_control = mad->byte[REP_FLOW_CONTROL] & 1;
	param->rnr_retry_count = conn->rnr_retry_count;
	param->srq = mad->byte[REP_RNR_SRQ] >> 4 & 1;
	param->private_data_len = REP_PRIVATE_SIZE;
	memcpy(param->private_data, &mad->byte[REP_PRIVATE], REP_PRIVATE_SIZE);
	resp.ece.vendor_id = (u32)mad->byte[REP_VENDOR_HIGH] << 16 |
			     (u32)mad->byte[REP_VENDOR_MIDDLE] << 8 | mad->byte[REP_VENDOR_LOW];
	resp.ece.attr_mod = mad_get32(mad, MAD_MODIFIER);
	(void)cm_event(conn->id, NULL, NULL, &resp);
}

static void on_rep(struct cm *cm, const struct cm_arrival *arrival)
{
	struct cm_conn *conn = find(cm, arrival);
	const struct mad *mad = &arrival->mad;

	if (!conn || !conn->active)
		return;
	switch (conn->state) {
	case CM_REQ_SENT:
		break;
	case CM_REP_RECEIVED:
		cm_send_mra(conn);
		return;
	case CM_ESTABLISHED:
		/* The RTU was lost: send it again. */
		cm_transmit(cm, &conn->path, &conn->last);
		return;
	default:
		return;
	}
	cm_conn_answered(conn);
	conn->state = CM_REP_RECEIVED;
	conn->remote_id = mad_get32(mad, CM_LOCAL_ID);
	conn->remote_guid = mad_get64(mad, REP_CA_GUID);
	conn->remote_qpn = mad_get24(mad, REP_QPN);
	conn->sq_psn = mad_get24(mad, REP_PSN);
	conn->initiator_depth = mad->byte[REP_RESPONDER_RESOURCES];
	conn->responder_resources = mad->byte[REP_INITIATOR_DEPTH];
	conn->rnr_retry_count = mad->byte[REP_RNR_SRQ] >> 5;
	report_rep(conn, mad);
}

static void on_rtu(struct cm *cm, const struct cm_arrival *arrival)
{
	struct cm_conn *conn = find(cm, arrival);

	if (!conn || conn->state != CM_REP_SENT)
		return;
	cm_conn_answered(conn);
	conn->state = CM_ESTABLISHED;
	cm_plain_event(conn->id, CM_EVENT_ESTABLISHED, 0);
}

/* ------------------------------------------------------------- MRA and REJ */

/*
 * Finds the connection of an MRA. Before REP, the peer's id is not known; for an MRA of a REP, it
 * must match.
 */
static struct cm_conn *find_delayed(struct cm *cm, const struct cm_arrival *arrival)
{
	const struct mad *mad = &arrival->mad;
	u32 local_id = mad_get32(mad, CM_REMOTE_ID), remote_id = mad_get32(mad, CM_LOCAL_ID);
	u32 about = mad->byte[MRA_MESSAGE] >> 6;
	struct cm_conn *conn;

	for (conn = cm->conns; conn; conn = conn->next) {
		if (conn->local_id != local_id || !cm_is_peers(conn, arrival))
			continue;
		if (conn->state == CM_REQ_SENT && about == CM_ABOUT_REQ)
			return conn;
		if (conn->state == CM_REP_SENT && about == CM_ABOUT_REP &&
		    conn->remote_id == remote_id)
			return conn;
	}
	return NULL;
}

/* Extends the timeout: the peer needs more time to answer. */
static void on_mra(struct cm *cm, const struct cm_arrival *arrival)
{
	struct cm_conn *conn = find_delayed(cm, arrival);

	if (!conn)
		return;
	conn->due = clock_now() + cm_interval(arrival->mad.byte[MRA_TIMEOUT] >> 3) +
		    cm_interval(conn->response_timeout);
	cm->due = earlier(cm->due, conn->due);
}

/*
 * Finds the connection of a REJ, usually by communication ids. A REJ of a request has no remote
 * id yet. A REJ for a timeout may lack the local id, because the answers were lost; the peer
 * identifies itself by its GUID and its own id.
 */
static struct cm_conn *find_rejected(struct cm *cm, const struct cm_arrival *arrival)
{
	const struct mad *mad = &arrival->mad;
	u32 remote_id = mad_get32(mad, CM_LOCAL_ID), local_id = mad_get32(mad, CM_REMOTE_ID);
	struct cm_conn *conn;

	for (conn = cm->conns; conn; conn = conn->next) {
		bool named = conn->local_id == local_id &&
			     (conn->state == CM_REQ_SENT || conn->remote_id == remote_id);

		if (conn->state >= CM_TIMEWAIT)
			continue;
		/* Before the first answer, GUID and id of the peer are not known. */
		if (mad_get16(mad, REJ_REASON) == CM_REJ_TIMEOUT && conn->state != CM_REQ_SENT)
			named |= conn->remote_id == remote_id &&
				 conn->remote_guid == mad_get64(mad, REJ_INFO);
		if (named && cm_is_peers(conn, arrival))
			return conn;
	}
	return NULL;
}

static void report_rejected(struct cm_id *id, const struct mad *mad)
{
	struct rdma_ucm_event_resp resp = {
		.event = CM_EVENT_REJECTED,
		.status = mad_get16(mad, REJ_REASON),
	};

	resp.param.conn.private_data_len = REJ_PRIVATE_SIZE;
	memcpy(resp.param.conn.private_data, &mad->byte[REJ_PRIVATE], REJ_PRIVATE_SIZE);
	(void)cm_event(id, NULL, NULL, &resp);
}

static void on_rej(struct cm *cm, const struct cm_arrival *arrival)
{
	const struct mad *mad = &arrival->mad;
	struct cm_conn *conn = find_rejected(cm, arrival);
	struct cm_id *id;

	if (!conn) {
		/* The peer has given up: drop a request that is kept for a later listener. */
		if (mad_get16(mad, REJ_REASON) == CM_REJ_TIMEOUT)
			cm_early_forget(cm, arrival, CM_REQ);
		return;
	}
	id = conn->id;
	cm_conn_answered(conn);
	if (conn->state == CM_ESTABLISHED || conn->state == CM_DREQ_SENT ||
	    conn->state == CM_DREQ_RECEIVED || conn->state == CM_REP_RECEIVED)
		cm_conn_timewait(conn);
	else
		cm_conn_close(conn);
	if (id)
		report_rejected(id, mad);
}

/* ------------------------------------------------------------- disconnect */

/* Answers a DREQ for an unknown connection, so that the peer stops resending. */
static void answer_unknown(struct cm *cm, const struct cm_arrival *arrival)
{
	struct cm_path path;
	struct mad mad;

	if (!cm_arrival_path(arrival, &path))
		return;
	mad_begin(&mad, CM_DREP, mad_get64(&arrival->mad, MAD_TID));
	mad_put32(&mad, CM_LOCAL_ID, mad_get32(&arrival->mad, CM_REMOTE_ID));
	mad_put32(&mad, CM_REMOTE_ID, mad_get32(&arrival->mad, CM_LOCAL_ID));
	cm_transmit(cm, &path, &mad);
}

static void on_dreq(struct cm *cm, const struct cm_arrival *arrival)
{
	struct cm_conn *conn = find(cm, arrival);
	bool both;

	if (!conn) {
		answer_unknown(cm, arrival);
		return;
	}
	both = conn->state == CM_DREQ_SENT;
	if (mad_get24(&arrival->mad, DREQ_QPN) != conn->local_qpn)
		return;
	switch (conn->state) {
	case CM_REP_SENT:
	case CM_REP_RECEIVED:
	case CM_ESTABLISHED:
	case CM_DREQ_SENT:
		cm_conn_answered(conn);
		conn->state = CM_DREQ_RECEIVED;
		conn->tid = mad_get64(&arrival->mad, MAD_TID);
		break;
	case CM_TIMEWAIT:
		answer_unknown(cm, arrival);
		return;
	default:
		return;
	}
	cm_disconnected(conn, 0);
	/*
	 * Send the DREP now if the local program has disconnected as well, or has destroyed the id.
	 */
	if (both || !conn->id)
		cm_send_drep(conn);
}

static void on_drep(struct cm *cm, const struct cm_arrival *arrival)
{
	struct cm_conn *conn = find(cm, arrival);

	if (!conn || (conn->state != CM_DREQ_SENT && conn->state != CM_DREQ_RECEIVED))
		return;
	cm_conn_timewait(conn);
	cm_disconnected(conn, 0);
}

/* ---------------------------------------------------------------- dispatch */

void cm_receive(struct cm *cm, const struct cm_arrival *arrival)
{
	const struct mad *mad = &arrival->mad;

	if (!mad_is_cm(mad))
		return;
	switch (mad_attribute(mad)) {
	case CM_REQ:
		cm_on_req(cm, arrival);
		break;
	case CM_MRA:
		on_mra(cm, arrival);
		break;
	case CM_REJ:
		on_rej(cm, arrival);
		break;
	case CM_REP:
		on_rep(cm, arrival);
		break;
	case CM_RTU:
		on_rtu(cm, arrival);
		break;
	case CM_DREQ:
		on_dreq(cm, arrival);
		break;
	case CM_DREP:
		on_drep(cm, arrival);
		break;
	case CM_SIDR_REQ:
		cm_on_sidr_req(cm, arrival);
		break;
	case CM_SIDR_REP:
		cm_on_sidr_rep(cm, arrival);
		break;
	}
}
