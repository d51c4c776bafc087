// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Probes peers that have been silent for long, by RDMA writes that fail if the process has died. */
#include "am_connections.h"
#include "objects/am_mapping.h"

/* Posts an empty RDMA write. Its completion shows that all before it has arrived. */
int am_conn_nudge(struct am_conn *conn)
{
	return conn->eb->mapping->write(conn, conn->memory, 0, conn->theirs.board,
					conn->theirs.board_rkey);
}

static bool outstanding(const struct am_conn *conn)
{
	return conn->state == AM_READY && conn->nfree < conn->credits;
}

static void probe(struct am_conn *conn)
{
	conn->probed = conn->eb->clock;
	am_conn_nudge(conn);
}

/* Time since the peer was heard, or probed. */
static uint64_t silence(const struct am_conn *conn)
{
	return conn->eb->clock - (conn->heard > conn->probed ? conn->heard : conn->probed);
}

static uint64_t keepalive(void)
{
	return (uint64_t)am_settings.keepalive * 1000000u;
}

/* Of the connections that have been silent for long, the one that has been so for longest. */
static struct am_conn *quietest(struct am_eb *eb)
{
	struct am_conn *found = NULL;
	uint64_t longest = keepalive();

	for (struct am_ep *ep = eb->eps; ep; ep = ep->next) {
		for (struct am_conn *conn = ep->conns; conn; conn = conn->next) {
			if (conn->state != AM_READY || silence(conn) < longest)
				continue;
			longest = silence(conn);
			found = conn;
		}
	}
	return found;
}

static void probe_outstanding(struct am_eb *eb)
{
	for (struct am_ep *ep = eb->eps; ep; ep = ep->next) {
		for (struct am_conn *conn = ep->conns; conn; conn = conn->next) {
			if (outstanding(conn) && silence(conn) >= keepalive())
				probe(conn);
		}
	}
}

/*
 * Probes peers that have been silent for long. A process that has died says nothing, but an
 * RDMA write to it fails.
 *
 * Peers with a request outstanding are probed regularly, because the request would wait for
 * ever. For each new connection, AM_DOUBTS idle ones are probed: more than one, so that dead peers
 * are removed faster than new peers are added.
 */
void am_conn_probe(struct am_eb *eb)
{
	struct am_conn *conn;

	if (eb->outstanding)
		probe_outstanding(eb);
	while (eb->doubts && (conn = quietest(eb))) {
		eb->doubts--;
		probe(conn);
	}
	eb->doubts = 0;
}
