// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Connects by rdma_cm: the passive side. */
#include <string.h>

#include "am_address.h"
#include "connections/am_connections.h"
#include "objects/am_process.h"
#include "wiring_cm.h"

static void reject(struct rdma_cm_id *id, int status, uint16_t port)
{
	struct cm_rejection r = { .magic = CM_MAGIC, .status = (uint8_t)status, .port = port };

	rdma_reject(id, &r, sizeof(r));
	rdma_destroy_id(id);
}

static void reject_absent(struct am_eb *eb, struct rdma_cm_id *id, const en_t *to)
{
	en_t now;

	if (am_endpoint_elsewhere(eb, to, &now))
		reject(id, CM_MOVED, now.port);
	else
		reject(id, EBADENDPOINT, 0);
}

static int accept_all(struct am_conn *conn)
{
	struct cm_wired *wired = conn->wired;
	struct cm_reply reply = { .magic = CM_MAGIC };
	int err = am_conn_connect(conn, &wired->theirs);

	memcpy(reply.offer, &conn->mine, sizeof(reply.offer));
	for (unsigned int i = 0; i < cm_queue_pairs(conn) && !err; i++) {
		struct rdma_conn_param param = cm_parameters(conn, i, &reply, sizeof(reply));

		err = rdma_accept(wired->end[i].id, &param);
	}
	return err;
}

/* Returns the connection that a REQ asks for, or NULL and the reason to reject in *@status. */
static struct am_conn *wanted(struct am_ep *ep, const en_t *from, const struct cm_request *r,
			      int *status)
{
	struct am_conn *conn = am_conn_find(ep, from);
	struct cm_wired *wired;

	*status = ECONGESTION;
	if (!conn) {
		conn = am_conn_make(ep, from);
		if (conn)
			am_wire_watch(conn);
	}
	if (!conn)
		return NULL;
	*status = EUNREACHABLE;
	if (conn->state != AM_CONNECTING)
		return NULL;
	wired = conn->wired;
	if (wired && wired->asked && wired->attempt == r->attempt)
		return conn;
	*status = CM_CROSSED;
	if (wired && !wired->asked && am_wire_smaller(&ep->name, from))
		return NULL;
	*status = ECONGESTION;
	if (!cm_make_wired(conn))
		return NULL;
	wired = conn->wired;
	wired->asked = true;
	wired->attempt = r->attempt;
	wired->theirs = (struct am_offer){ .board = r->board,
					   .buffers = r->buffers,
					   .board_rkey = r->rkey,
					   .buffers_rkey = r->rkey,
					   .mapping = r->mapping,
					   .credits = r->credits,
					   .imm64 = r->imm64 };
	return conn;
}

static void take_request(struct am_eb *eb, struct rdma_cm_id *id, const struct cm_request *r)
{
	en_t to = { .endpoint = r->to_endpoint, .incarnation = r->to };
	en_t from = { .endpoint = r->from_endpoint, .incarnation = r->from };
	struct am_ep *ep = am_wire_endpoint(eb, &to);
	struct am_conn *conn;
	struct cm_wired *wired;
	int status = EUNREACHABLE;

	am_address_to_gid(rdma_get_peer_addr(id), from.gid);
	if (!ep) {
		reject_absent(eb, id, &to);
		return;
	}
	conn = am_wire_same_mapping(r->mapping) ? wanted(ep, &from, r, &status) : NULL;
	if (!conn) {
		reject(id, status, 0);
		return;
	}
	wired = conn->wired;
	if (r->index >= cm_queue_pairs(conn) || wired->end[r->index].id) {
		reject(id, EUNREACHABLE, 0);
		return;
	}
	wired->end[r->index] = (struct cm_end){ .conn = conn, .id = id, .heard = true };
	id->context = &wired->end[r->index];
	if (!cm_all_heard(conn))
		return;
	am_wire_forget(conn);
	if (accept_all(conn)) {
		am_conn_broken(conn, EUNREACHABLE);
		return;
	}
	conn->state = AM_ACCEPTED;
	am_wire_watch(conn);
}

void cm_requested(struct am_eb *eb, const struct cm_event *event)
{
	const struct cm_request *r = (const void *)event->data;

	if (event->length < sizeof(*r) || r->magic != CM_MAGIC)
		reject(event->id, EUNREACHABLE, 0);
	else
		take_request(eb, event->id, r);
}
