// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Waits until the peers have acknowledged all that was sent to them. */
#include "am_messages.h"
#include "connections/am_connections.h"

static bool alive(const struct am_conn *conn)
{
	return conn->state == AM_READY || conn->state == AM_ACCEPTED;
}

static bool draining(const struct am_conn *conn)
{
	for (unsigned int i = 0; i < AM_MAX_SEQUENCES; i++) {
		if (conn->sq[i].sent != conn->sq[i].done)
			return alive(conn);
	}
	return false;
}

static void nudge_all(struct am_ep *ep)
{
	for (struct am_conn *conn = ep->conns; conn; conn = conn->next) {
		am_flush_acks(conn);
		/*
		 * Often all has been acknowledged already, but the completions have not
		 * been polled.
		 */
		if (draining(conn))
			am_drain(conn->eb);
		if (draining(conn))
			am_conn_nudge(conn);
		for (unsigned int i = 0; i < AM_MAX_SEQUENCES; i++)
			conn->sq[i].awaited = conn->sq[i].sent;
	}
}

/*
 * Whether work requests that were counted in nudge_all() are not complete. Later ones, of
 * other threads, do not count: they may be unsignaled.
 */
static bool awaited(const struct am_conn *conn)
{
	for (unsigned int i = 0; i < AM_MAX_SEQUENCES; i++) {
		if ((int32_t)(conn->sq[i].done - conn->sq[i].awaited) < 0)
			return alive(conn);
	}
	return false;
}

static void await_all(struct am_ep *ep, uint64_t end)
{
	for (struct am_conn *conn = ep->conns; conn; conn = conn->next) {
		am_conn_hold(conn);
		while (awaited(conn) && am_now() < end) {
			if (!am_drain(ep->eb))
				am_yield(ep->eb);
		}
		am_conn_release(conn);
	}
}

static uint64_t drain_deadline(void)
{
	return am_now() + (uint64_t)am_settings.connect_timeout * 1000000u;
}

/* Writes to all connections first, then waits, so that timeouts of dead peers overlap. */
void am_conns_drain(struct am_ep *ep)
{
	nudge_all(ep);
	await_all(ep, drain_deadline());
}

/* The same for all endpoints of a bundle. */
void am_bundle_drain(struct am_eb *eb)
{
	uint64_t end = drain_deadline();
	struct am_ep *ep;

	for (ep = eb->eps; ep; ep = ep->next)
		nudge_all(ep);
	for (ep = eb->eps; ep; ep = ep->next)
		await_all(ep, end);
}
