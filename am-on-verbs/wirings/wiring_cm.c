// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Connects endpoints by rdma_cm: bundles and events.
 *
 * Each bundle listens on a port of its own, which the names of its endpoints contain. Each
 * queue pair of a connection has its own rdma_cm_id. Private data:
 *
 *   REQ    struct cm_request: names, and a part of the offer, because there are only
 *          56 bytes
 *   REP    struct cm_reply: the whole offer of the passive side
 *   REJ    struct cm_rejection: the reason
 *
 * A REQ has no room for the segment and the tag. The active side writes them to the peer's
 * board as soon as the queue pairs are connected. Then it sends an acknowledgement of no
 * slots, by which the passive side learns that it may send requests, too. So the active
 * side sends first, as iWARP requires. If a connection has several queue pairs, none is
 * accepted before all have been requested.
 *
 * The CM retransmits lost messages. A failed attempt that the peer has not rejected is
 * repeated from the beginning until the time limit. If both sides connect at once, the
 * attempt of the smaller name counts.
 *
 * There is no thread for events. The event channel is polled from time to time, and
 * AM_WaitSema() also sleeps on it.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "am_address.h"
#include "am_wirings.h"
#include "connections/am_connections.h"
#include "objects/am_mapping.h"
#include "wiring_cm.h"

#define BACKLOG 1024
#define QUIET_NS 50000u /* interval of polls while no connection is being set up */

/* ---------------------------------------------------------------------- bundles */

static void cm_address(const struct am_eb *eb, en_t *name)
{
	const struct cm_wire *cm = eb->wire;

	am_address_to_gid(rdma_get_local_addr(cm->listener), name->gid);
	name->qpn = 0;
	name->port = rdma_get_src_port(cm->listener);
}

static const char *listen_for(struct am_eb *eb, struct cm_wire *cm)
{
	struct sockaddr_storage address;

	if (am_address_own(eb->device, &address))
		return "the address is none";
	if (rdma_create_id(cm->channel, &cm->listener, NULL, RDMA_PS_TCP))
		return "no id";
	if (rdma_bind_addr(cm->listener, (struct sockaddr *)&address))
		return "the device has no such address";
	if (!cm->listener->verbs || strcmp(ibv_get_device_name(cm->listener->verbs->device),
					   ibv_get_device_name(eb->device->context->device)) != 0)
		return "the address is another device's";
	return rdma_listen(cm->listener, BACKLOG) ? "cannot listen" : NULL;
}

static void close_channel(struct cm_wire *cm)
{
	if (cm->listener)
		rdma_destroy_id(cm->listener);
	rdma_destroy_event_channel(cm->channel);
}

static int cm_open(struct am_eb *eb)
{
	struct cm_wire *cm = calloc(1, sizeof(*cm));
	const char *why = "there is none";
	int err;

	if (!cm)
		return ENOMEM;
	cm->channel = rdma_create_event_channel();
	if (cm->channel) {
		fcntl(cm->channel->fd, F_SETFL, fcntl(cm->channel->fd, F_GETFL) | O_NONBLOCK);
		why = listen_for(eb, cm);
	}
	if (!why) {
		eb->wire = cm;
		return 0;
	}
	err = errno ? errno : EADDRNOTAVAIL;
	fprintf(stderr, "am: rdma_cm: %s: %s\n", why, strerror(err));
	if (cm->channel)
		close_channel(cm);
	free(cm);
	return err;
}

static void cm_close(struct am_eb *eb)
{
	close_channel(eb->wire);
	free(eb->wire);
}

static int cm_fd(const struct am_eb *eb)
{
	return ((const struct cm_wire *)eb->wire)->channel->fd;
}

/* ------------------------------------------------------------------ queue pairs */

static int to_state(struct rdma_cm_id *id, struct ibv_qp *qp, enum ibv_qp_state state)
{
	struct ibv_qp_attr attr = { .qp_state = state };
	int mask;

	if (rdma_init_qp_attr(id, &attr, &mask))
		return errno;
	am_qp_attributes(&attr, mask);
	/* iWARP: mask is 0, because the CM itself modifies the queue pair. */
	return mask ? ibv_modify_qp(qp, &attr, mask) : 0;
}

static int cm_connect_qp(struct am_conn *conn, struct ibv_qp *qp, uint32_t dest_qpn)
{
	const struct cm_wired *wired = conn->wired;
	unsigned int i = 0;
	int err;

	(void)dest_qpn;
	while (i < AM_MAX_QPS && conn->qp[i] != qp)
		i++;
	if (i == AM_MAX_QPS || !wired || !wired->end[i].id)
		return EINVAL;
	err = to_state(wired->end[i].id, qp, IBV_QPS_RTR);
	return err ? err : to_state(wired->end[i].id, qp, IBV_QPS_RTS);
}

/* ------------------------------------------------------------------------ close */

static bool cm_goodbye(struct am_conn *conn)
{
	return !am_segment_goodbye(conn);
}

/* Handles what the peer sent before it disconnected; its GOODBYE mark may be there already. */
static void disconnected(struct am_conn *conn)
{
	while (conn->eb->mapping->poll(conn->eb) > 0)
		;
	cm_broken(conn, conn->board->goodbye == 1 ? EBADENDPOINT : EUNREACHABLE);
}

static void failed(struct am_conn *conn)
{
	if (conn->state == AM_CONNECTING)
		cm_drop(conn);
	else
		cm_broken(conn, EUNREACHABLE);
}

/* ----------------------------------------------------------------------- events */

static void handle(struct cm_end *end, const struct cm_event *event)
{
	int err = 0;

	switch (event->type) {
	case RDMA_CM_EVENT_ADDR_RESOLVED:
		err = cm_resolve_route(end);
		break;
	case RDMA_CM_EVENT_ROUTE_RESOLVED:
		err = cm_request(end);
		break;
	case RDMA_CM_EVENT_CONNECT_RESPONSE:
		cm_answered(end, event);
		break;
	case RDMA_CM_EVENT_ESTABLISHED:
		/*
		 * Active side on iWARP: the answer. The passive side waits for the first
		 * message instead.
		 */
		cm_answered(end, event);
		break;
	case RDMA_CM_EVENT_REJECTED:
		if (end->conn->state == AM_CONNECTING && !end->heard)
			cm_refused(end->conn, event);
		else
			failed(end->conn);
		break;
	case RDMA_CM_EVENT_DISCONNECTED:
		disconnected(end->conn);
		break;
	case RDMA_CM_EVENT_ADDR_ERROR:
	case RDMA_CM_EVENT_ROUTE_ERROR:
	case RDMA_CM_EVENT_CONNECT_ERROR:
	case RDMA_CM_EVENT_UNREACHABLE:
	case RDMA_CM_EVENT_DEVICE_REMOVAL:
		failed(end->conn);
		break;
	default:
		break;
	}
	if (err)
		failed(end->conn);
}

static bool next_event(struct cm_wire *cm, struct cm_event *event)
{
	struct pollfd fd = { .fd = cm->channel->fd, .events = POLLIN };
	struct rdma_cm_event *e;

	if (poll(&fd, 1, 0) <= 0 || rdma_get_cm_event(cm->channel, &e))
		return false;
	*event = (struct cm_event){ .type = e->event,
				    .id = e->id,
				    .status = e->status,
				    .length = e->param.conn.private_data_len };
	if (e->param.conn.private_data)
		memcpy(event->data, e->param.conn.private_data, event->length);
	else
		event->length = 0;
	rdma_ack_cm_event(e);
	return true;
}

static void cm_events(struct am_eb *eb)
{
	struct cm_wire *cm = eb->wire;
	struct cm_event event;

	if (!eb->connecting && eb->clock < cm->next_look)
		return;
	cm->next_look = eb->clock + QUIET_NS;
	while (next_event(cm, &event)) {
		if (event.type == RDMA_CM_EVENT_CONNECT_REQUEST)
			cm_requested(eb, &event);
		else if (event.id->context)
			handle(event.id->context, &event);
	}
}

const struct am_wiring am_wiring_cm = {
	.name = "cm",
	.open = cm_open,
	.close = cm_close,
	.address = cm_address,
	.ask = cm_ask,
	.again = cm_again,
	.connect_qp = cm_connect_qp,
	.goodbye = cm_goodbye,
	.broken = cm_drop,
	.events = cm_events,
	.fd = cm_fd,
};
