// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Connection setup that is common to all wirings: states, retries and time limits. */
#include <stdio.h>

#include "am_connections.h"
#include "objects/am_wiring.h"

#define LAST_WAIT 500000000u /* ns: the longest interval between attempts */

void am_wire_ready(struct am_conn *conn)
{
	conn->state = AM_READY;
	conn->heard = conn->eb->clock;
	/* AM_SetSeg() may have been called since the offer was made. */
	if (conn->mine.segment.after != conn->ep->segment_version)
		am_segment_tell(conn);
}

/* Called for each message. The first one shows that the peer is ready. */
void am_wire_heard(struct am_conn *conn)
{
	if (conn->state == AM_ACCEPTED)
		am_wire_ready(conn);
}

/* Connects an endpoint with itself: each queue pair is its own peer. */
static void connect_itself(struct am_conn *conn)
{
	if (am_conn_connect(conn, &conn->mine))
		am_conn_broken(conn, EUNREACHABLE);
	else
		am_wire_ready(conn);
}

static bool with_itself(const struct am_conn *conn)
{
	return AM_NameEqual(conn->peer, conn->ep->name);
}

void am_wire_connect(struct am_conn *conn)
{
	conn->state = AM_CONNECTING;
	if (with_itself(conn)) {
		connect_itself(conn);
		return;
	}
	am_wire_watch(conn);
	conn->eb->wiring->ask(conn);
}

int am_qp_connect(struct am_conn *conn, struct ibv_qp *qp, uint32_t dest_qpn)
{
	if (with_itself(conn))
		return am_qp_connect_by_hand(conn, qp, dest_qpn);
	return conn->eb->wiring->connect_qp(conn, qp, dest_qpn);
}

static void give_up(struct am_conn *conn)
{
	am_wire_forget(conn);
	am_conn_broken(conn, conn->congested ? ECONGESTION : EUNREACHABLE);
}

static void look_after(struct am_eb *eb, struct am_conn *conn)
{
	if (conn->state != AM_CONNECTING && conn->state != AM_ACCEPTED) {
		am_wire_forget(conn);
		return;
	}
	if (eb->clock < conn->due)
		return;
	if (eb->clock >= conn->deadline) {
		give_up(conn);
		return;
	}
	if (conn->wait < LAST_WAIT)
		conn->wait *= 2;
	conn->due = eb->clock + conn->wait;
	eb->wiring->again(conn);
}

void am_wire_look(struct am_eb *eb)
{
	struct am_conn *conn, *next;

	if (eb->wiring->events)
		eb->wiring->events(eb);
	for (conn = eb->connecting; conn; conn = next) {
		next = conn->connecting;
		look_after(eb, conn);
	}
}

int am_wire_fd(const struct am_eb *eb)
{
	return eb->wiring->fd ? eb->wiring->fd(eb) : -1;
}

bool am_wire_goodbye(struct am_conn *conn)
{
	if ((conn->state != AM_READY && conn->state != AM_ACCEPTED) || with_itself(conn))
		return false;
	return conn->eb->wiring->goodbye(conn);
}

struct am_ep *am_wire_endpoint(struct am_eb *eb, const en_t *name)
{
	struct am_ep *ep = eb->eps;

	while (ep &&
	       (ep->name.endpoint != name->endpoint || ep->name.incarnation != name->incarnation))
		ep = ep->next;
	return ep;
}

bool am_wire_smaller(const en_t *a, const en_t *b)
{
	return a->incarnation != b->incarnation ? a->incarnation < b->incarnation :
						  a->endpoint < b->endpoint;
}

bool am_wire_same_mapping(unsigned int mapping)
{
	if (mapping == am_settings.mapping)
		return true;
	fprintf(stderr, "am: a peer wants mapping v%u, this process has v%ld\n", mapping,
		am_settings.mapping);
	return false;
}
