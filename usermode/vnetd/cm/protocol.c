// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * CM connections: creation and end, their messages without addresses, and timers. A message that
 * requires an answer is kept and resent. A connection whose id is destroyed ends by itself after
 * the peer has answered the DREQ, or its retries are exhausted.
 */
#include <errno.h>
#include <stdlib.h>
#include <sys/random.h>

#include "inside.h"

/* Retransmission timeout, 4.096 µs << n (0.5 s); and retry limit. */
#define RESPONSE_TIMEOUT 17
#define MOST_RETRIES 15
/* Service timeout in an MRA: how long the program may take to answer, likewise (69 s). */
#define SERVICE_TIMEOUT 24

u64 cm_interval(u32 exponent)
{
	return 4096ull << (exponent & 31);
}

static void set_due(struct cm_conn *conn, u64 due)
{
	conn->due = due;
	conn->cm->due = earlier(conn->cm->due, due);
}

/* -------------------------------------------------------------------- life */

bool cm_random(void *bytes, size_t length)
{
	return getrandom(bytes, length, GRND_NONBLOCK) == (ssize_t)length;
}

static bool is_local_id(const struct cm *cm, u32 id)
{
	const struct cm_conn *conn;

	for (conn = cm->conns; conn; conn = conn->next)
		if (conn->local_id == id)
			return true;
	return false;
}

/*
 * Draws the communication id (for SIDR, the request id) and the transaction id at random, so that
 * a node that has seen no message of a connection cannot forge one.
 */
static bool choose_names(struct cm_conn *conn)
{
	if (!cm_random(&conn->local_id, sizeof(conn->local_id)) ||
	    !cm_random(&conn->tid, sizeof(conn->tid)))
		return false;
	while (!conn->local_id || is_local_id(conn->cm, conn->local_id))
		conn->local_id++;
	return true;
}

int cm_conn_new(struct cm *cm, struct cm_id *id, const struct cm_path *path, struct cm_conn **made)
{
	struct cm_conn *conn = calloc(1, sizeof(*conn));

	if (!conn)
		return -ENOMEM;
	conn->cm = cm;
	conn->id = id;
	conn->path = *path;
	if (!choose_names(conn)) {
		free(conn);
		return -EAGAIN;
	}
	conn->response_timeout = RESPONSE_TIMEOUT;
	conn->most_retries = MOST_RETRIES;
	conn->due = NEVER;
	conn->next = cm->conns;
	cm->conns = conn;
	if (id)
		id->conn = conn;
	*made = conn;
	return 0;
}

/* Does not free the connection: the caller may iterate over the list. cm_conns_run() frees it. */
void cm_conn_close(struct cm_conn *conn)
{
	if (conn->id)
		conn->id->conn = NULL;
	conn->id = NULL;
	conn->state = CM_CLOSED;
	set_due(conn, 0);
}

/* ---------------------------------------------------------------- messages */

/*
 * A client may have received the refusal of an earlier request, which the daemon has not looked at
 * yet: it must not end this one (cm_refused()).
 */
static void settle_refusals(const struct cm_conn *conn)
{
	struct host *host = &conn->path.device->host;

	if (host->link.memory)
		link_report_refusals(host);
}

void cm_conn_send(struct cm_conn *conn, enum cm_conn_state state)
{
	settle_refusals(conn);
	conn->state = state;
	conn->retries_left = conn->most_retries;
	set_due(conn, clock_now() + cm_interval(conn->response_timeout));
	cm_transmit(conn->cm, &conn->path, &conn->last);
}

void cm_conn_answered(struct cm_conn *conn)
{
	conn->due = NEVER;
}

static void begin(const struct cm_conn *conn, struct mad *mad, enum cm_attribute attribute)
{
	mad_begin(mad, attribute, conn->tid);
	mad_put32(mad, CM_LOCAL_ID, conn->local_id);
	mad_put32(mad, CM_REMOTE_ID, conn->remote_id);
}

static enum cm_message message_to_name(const struct cm_conn *conn)
{
	switch (conn->state) {
	case CM_REQ_RECEIVED:
		return CM_ABOUT_REQ;
	case CM_REP_RECEIVED:
		return CM_ABOUT_REP;
	default:
		return CM_ABOUT_OTHER;
	}
}

void cm_send_rej(struct cm_conn *conn, u32 reason, const void *data, u32 length)
{
	struct mad mad;

	begin(conn, &mad, CM_REJ);
	mad.byte[REJ_MESSAGE] = (u8)(message_to_name(conn) << 6);
	/* The peer does not know the local id before REP. */
	if (conn->state == CM_REQ_RECEIVED)
		mad_put32(&mad, CM_LOCAL_ID, 0);
	mad_put16(&mad, REJ_REASON, reason);
	/* GUID of the CA whose REQ timed out. */
	if (reason == CM_REJ_TIMEOUT) {
		mad.byte[REJ_INFO_LENGTH] = 8 << 1;
		memcpy(&mad.byte[REJ_INFO], conn->path.device->node_guid, 8);
	}
	if (length)
		memcpy(&mad.byte[REJ_PRIVATE], data, length);
	cm_transmit(conn->cm, &conn->path, &mad);
}

void cm_send_rtu(struct cm_conn *conn)
{
	begin(conn, &conn->last, CM_RTU);
	conn->state = CM_ESTABLISHED;
	cm_conn_answered(conn);
	cm_transmit(conn->cm, &conn->path, &conn->last);
}

void cm_send_dreq(struct cm_conn *conn)
{
	begin(conn, &conn->last, CM_DREQ);
	mad_put24(&conn->last, DREQ_QPN, conn->remote_qpn);
	cm_conn_send(conn, CM_DREQ_SENT);
}

void cm_send_drep(struct cm_conn *conn)
{
	begin(conn, &conn->last, CM_DREP);
	cm_transmit(conn->cm, &conn->path, &conn->last);
	cm_conn_timewait(conn);
}

void cm_send_mra(struct cm_conn *conn)
{
	struct mad mad;

	begin(conn, &mad, CM_MRA);
	mad.byte[MRA_MESSAGE] = (u8)(message_to_name(conn) << 6);
	mad.byte[MRA_TIMEOUT] = SERVICE_TIMEOUT << 3;
	cm_transmit(conn->cm, &conn->path, &mad);
}

/* -------------------------------------------------------------------- end */

/* Waits while packets of the connection may still be in flight. */
void cm_conn_timewait(struct cm_conn *conn)
{
	conn->state = CM_TIMEWAIT;
	set_due(conn, clock_now() + cm_interval(conn->path.life_time + 1u));
}

void cm_disconnected(struct cm_conn *conn, int status)
{
	struct cm_id *id = conn->id;

	if (!id || id->state != CM_ID_CONNECT)
		return;
	id->state = CM_ID_DISCONNECT;
	cm_plain_event(id, CM_EVENT_DISCONNECTED, status);
}

void cm_conn_release(struct cm_conn *conn, bool quiet)
{
	conn->id->conn = NULL;
	conn->id = NULL;
	switch (conn->state) {
	case CM_REQ_SENT:
		cm_send_rej(conn, CM_REJ_TIMEOUT, NULL, 0);
		break;
	case CM_REQ_RECEIVED:
		if (quiet)
			break;
		/* fall through */
	case CM_REP_SENT:
	case CM_REP_RECEIVED:
		cm_send_rej(conn, CM_REJ_CONSUMER_DEFINED, NULL, 0);
		break;
	case CM_ESTABLISHED:
		cm_send_dreq(conn);
		return;
	case CM_DREQ_RECEIVED:
		cm_send_drep(conn);
		return;
	case CM_DREQ_SENT:
	case CM_TIMEWAIT:
		return;
	case CM_SIDR_REQ_RECEIVED:
		if (!quiet)
			cm_sidr_reply(conn, CM_SIDR_REJECT, NULL, 0);
		break;
	case CM_SIDR_ANSWERED:
		return;
	case CM_SIDR_REQ_SENT:
	case CM_CLOSED:
		break;
	}
	cm_conn_close(conn);
}

/* -------------------------------------------------------------------- time */

static void gave_up(struct cm_conn *conn)
{
	struct cm_id *id = conn->id;

	switch (conn->state) {
	case CM_DREQ_SENT:
		cm_disconnected(conn, -ETIMEDOUT);
		cm_conn_timewait(conn);
		return;
	case CM_REQ_SENT:
		/* The peer may have answered, and only the answers were lost. */
		cm_send_rej(conn, CM_REJ_TIMEOUT, NULL, 0);
		break;
	case CM_REP_SENT:
		cm_send_rej(conn, CM_REJ_TIMEOUT, NULL, 0);
		break;
	default:
		break;
	}
	cm_conn_close(conn);
	if (id)
		cm_plain_event(id, CM_EVENT_UNREACHABLE, -ETIMEDOUT);
}

static void act(struct cm_conn *conn, u64 now)
{
	struct cm_id *id = conn->id;

	if (conn->state == CM_TIMEWAIT || conn->state == CM_SIDR_ANSWERED) {
		bool told = conn->state == CM_TIMEWAIT && id;

		cm_conn_close(conn);
		if (told)
			cm_plain_event(id, CM_EVENT_TIMEWAIT_EXIT, 0);
		return;
	}
	if (!conn->retries_left) {
		gave_up(conn);
		return;
	}
	conn->retries_left--;
	set_due(conn, now + cm_interval(conn->response_timeout));
	cm_transmit(conn->cm, &conn->path, &conn->last);
}

void cm_refused(struct cm *cm, const struct device *device, const u8 *gid)
{
	struct cm_conn *conn;

	for (conn = cm->conns; conn; conn = conn->next) {
		if (conn->state != CM_REQ_SENT && conn->state != CM_SIDR_REQ_SENT)
			continue;
		if (conn->path.device != device || memcmp(conn->path.dgid, gid, 16) != 0)
			continue;
		conn->retries_left = 0;
		set_due(conn, 0);
	}
}

u64 cm_conns_run(struct cm *cm, u64 now)
{
	struct cm_conn **place = &cm->conns, *conn;

	if (cm->due > now)
		return cm->due;
	cm->due = NEVER;
	while ((conn = *place)) {
		if (conn->state != CM_CLOSED && conn->due <= now)
			act(conn, now);
		if (conn->state == CM_CLOSED) {
			*place = conn->next;
			free(conn);
			continue;
		}
		cm->due = earlier(cm->due, conn->due);
		place = &conn->next;
	}
	return cm->due;
}
