// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Connects by rdma_cm: the active side. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "am_address.h"
#include "connections/am_connections.h"
#include "objects/am_mapping.h"
#include "wiring_cm.h"

#define RESOLVE_MS 2000
#define NO_SUCH_SERVICE 8 /* reject reason if nobody listens on the port */

static unsigned int index_of(const struct cm_end *end)
{
	const struct cm_wired *wired = end->conn->wired;

	return (unsigned int)(end - wired->end);
}

static int resolve(struct am_conn *conn, struct cm_end *end)
{
	struct cm_wire *cm = conn->eb->wire;
	struct sockaddr_storage from, to;

	am_address_of(rdma_get_local_addr(cm->listener), &from);
	am_address_of_gid(conn->peer.gid, conn->peer.port, &from, &to);
	if (rdma_create_id(cm->channel, &end->id, end, RDMA_PS_TCP)) {
		end->id = NULL;
		return errno;
	}
	return rdma_resolve_addr(end->id, (struct sockaddr *)&from, (struct sockaddr *)&to,
				 RESOLVE_MS) ?
		       errno :
		       0;
}

/* Starts a new attempt with new ids. If it fails at once, it is repeated later. */
void cm_ask(struct am_conn *conn)
{
	struct cm_wired *wired;
	int err = 0;

	if (!conn->peer.port) {
		fprintf(stderr, "am: a peer is wired by hand, this process by rdma_cm\n");
		cm_broken(conn, EUNREACHABLE);
		return;
	}
	if (!cm_make_wired(conn))
		return;
	wired = conn->wired;
	wired->asked = false;
	wired->attempt++;
	for (unsigned int i = 0; i < cm_queue_pairs(conn) && !err; i++)
		err = resolve(conn, &wired->end[i]);
	if (err)
		cm_drop(conn);
}

/* Repeats the attempt unless one is in progress, by either side. */
void cm_again(struct am_conn *conn)
{
	const struct cm_wired *wired = conn->wired;

	if (conn->state == AM_CONNECTING && (!wired || (!wired->asked && !wired->end[0].id)))
		cm_ask(conn);
}

int cm_resolve_route(const struct cm_end *end)
{
	return rdma_resolve_route(end->id, RESOLVE_MS);
}

int cm_request(const struct cm_end *end)
{
	const struct am_conn *conn = end->conn;
	const struct cm_wired *wired = conn->wired;
	unsigned int index = index_of(end);
	struct cm_request r = { .magic = CM_MAGIC,
				.mapping = conn->mine.mapping,
				.credits = conn->mine.credits,
				.imm64 = conn->mine.imm64,
				.index = (uint8_t)index,
				.to = conn->peer.incarnation,
				.from = conn->ep->name.incarnation,
				.board = conn->mine.board,
				.buffers = conn->mine.buffers,
				.rkey = conn->mine.board_rkey,
				.to_endpoint = conn->peer.endpoint,
				.from_endpoint = conn->ep->name.endpoint,
				.attempt = wired->attempt };
	struct rdma_conn_param param = cm_parameters(conn, index, &r, sizeof(r));

	return rdma_connect(end->id, &param);
}

/* Sends an acknowledgement of no slots, by which the peer learns that the connection works. */
static int hello(struct am_conn *conn)
{
	struct am_message *m = am_reply_buffer(conn, 0);

	*m = (struct am_message){ .what = AM_ACK };
	return conn->eb->mapping->send(conn, 0, true, am_message_size(m), NULL);
}

static int establish(const struct am_conn *conn)
{
	const struct cm_wired *wired = conn->wired;
	int err = 0;

	for (unsigned int i = 0; i < cm_queue_pairs(conn) && !err; i++)
		err = rdma_establish(wired->end[i].id);
	return err;
}

void cm_answered(struct cm_end *end, const struct cm_event *event)
{
	const struct cm_reply *reply = (const void *)event->data;
	struct am_conn *conn = end->conn;
	struct cm_wired *wired = conn->wired;

	if (conn->state != AM_CONNECTING || wired->asked || end->heard)
		return;
	if (event->length < sizeof(*reply) || reply->magic != CM_MAGIC) {
		cm_broken(conn, EUNREACHABLE);
		return;
	}
	end->heard = true;
	memcpy(&wired->theirs, reply->offer, sizeof(wired->theirs));
	if (!cm_all_heard(conn))
		return;
	am_wire_forget(conn);
	if (wired->theirs.mapping != conn->mine.mapping || am_conn_connect(conn, &wired->theirs) ||
	    establish(conn)) {
		am_conn_broken(conn, EUNREACHABLE);
		return;
	}
	/* The REQ had no room for the segment: make am_wire_ready() send it. */
	conn->mine.segment.after = conn->ep->segment_version - 1;
	am_wire_ready(conn);
	if (hello(conn))
		am_conn_broken(conn, EUNREACHABLE);
}

void cm_refused(struct am_conn *conn, const struct cm_event *event)
{
	const struct cm_rejection *r = (const void *)event->data;
	bool told = event->length >= sizeof(*r) && r->magic == CM_MAGIC;

	cm_drop(conn);
	if (!told) {
		if (event->status == NO_SUCH_SERVICE || event->status == -ECONNREFUSED)
			cm_broken(conn, EUNREACHABLE);
	} else if (r->status == CM_MOVED) {
		conn->peer.port = r->port;
		cm_ask(conn);
	} else if (r->status == ECONGESTION) {
		conn->congested = true;
	} else if (r->status != CM_CROSSED) {
		cm_broken(conn, r->status == EBADENDPOINT ? EBADENDPOINT : EUNREACHABLE);
	}
}
