// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Connections: allocation, connecting, failure, probing and draining. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>

#include "objects/am_mapping.h"
#include "objects/am_wiring.h"

#define DEFAULT_CREDITS 8 /* paper 003, "chosen arbitrarily" */
#define DOUBTS 2 /* idle connections that are probed for each new one */
#define BOARDS 128 /* bytes: the peer's segment, and the source of writes to the peer's board */

struct am_conn *am_conn_find(struct am_ep *ep, const en_t *peer)
{
	struct am_conn *conn = ep->conns;

	while (conn && !AM_NameEqual(conn->peer, *peer))
		conn = conn->next;
	return conn;
}

static unsigned int credits_of(const struct am_ep *ep)
{
	unsigned int credits = (unsigned int)am_settings.credits;

	if (!credits)
		credits = ep->credits ? ep->credits : DEFAULT_CREDITS;
	return credits < ep->eb->mapping->max_credits ? credits : ep->eb->mapping->max_credits;
}

static size_t out_size(const struct am_conn *conn)
{
	return 2 * conn->mine.credits * sizeof(((struct am_buffer *)0)->bytes);
}

static int make_memory(struct am_conn *conn)
{
	int access = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE;

	conn->memory_size = BOARDS + out_size(conn) + conn->eb->mapping->memory(conn);
	conn->memory = mmap(NULL, conn->memory_size, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (conn->memory == MAP_FAILED)
		return ENOMEM;
	conn->mr = ibv_reg_mr(conn->eb->device->pd, conn->memory, conn->memory_size, access);
	if (!conn->mr) {
		munmap(conn->memory, conn->memory_size);
		return ENOMEM;
	}
	conn->board = conn->memory;
	conn->out = (uint8_t *)conn->memory + BOARDS;
	return 0;
}

static void free_memory(struct am_conn *conn)
{
	ibv_dereg_mr(conn->mr);
	munmap(conn->memory, conn->memory_size);
}

static int make_offer(struct am_conn *conn)
{
	struct am_offer *mine = &conn->mine;
	uint8_t random[8];

	if (getrandom(random, sizeof(random), 0) != sizeof(random))
		return EIO;
	memcpy(&conn->cookie, random, sizeof(conn->cookie));
	mine->psn = (uint32_t)conn->cookie & 0xffffff;
	mine->mapping = (uint8_t)am_settings.mapping;
	mine->mtu = (uint8_t)conn->eb->device->port_attr.active_mtu;
	mine->board = (uintptr_t)conn->board;
	mine->board_rkey = conn->mr->rkey;
	mine->buffers_rkey = conn->mr->rkey;
	mine->segment = am_segment_mine(conn->ep);
	return 0;
}

struct am_conn *am_conn_make(struct am_ep *ep, const en_t *peer)
{
	struct am_conn *conn = calloc(1, sizeof(*conn));

	if (!conn)
		return NULL;
	conn->ep = ep;
	conn->eb = ep->eb;
	conn->peer = *peer;
	conn->heard = ep->eb->clock;
	conn->mine.credits = (uint8_t)credits_of(ep);
	if (make_memory(conn))
		goto free;
	if (make_offer(conn) || conn->eb->mapping->open(conn, conn->out + out_size(conn)))
		goto free_memory;
	conn->next = ep->conns;
	ep->conns = conn;
	conn->eb->doubts += DOUBTS;
	return conn;
free_memory:
	free_memory(conn);
free:
	free(conn);
	return NULL;
}

int am_conn_connect(struct am_conn *conn, const struct am_offer *theirs)
{
	conn->theirs = *theirs;
	conn->credits = conn->mine.credits;
	if (theirs->credits < conn->credits)
		conn->credits = theirs->credits;
	if (!conn->credits)
		return EPROTO;
	/* In this order, slot 0 is taken first, and the same few slots are reused. */
	for (conn->nfree = 0; conn->nfree < conn->credits; conn->nfree++)
		conn->free[conn->nfree] = (uint8_t)(conn->credits - 1 - conn->nfree);
	conn->board[0] = theirs->segment;
	return conn->eb->mapping->connect(conn);
}

/*
 * Breaks the connection, and returns its outstanding requests with @status. Does not wait
 * for the queue pairs to be flushed. They are moved to the error state before any memory is
 * released that they may be reading.
 */
void am_conn_broken(struct am_conn *conn, int status)
{
	if (conn->state == AM_BROKEN)
		return;
	conn->state = AM_BROKEN;
	conn->status = status;
	am_qp_stop(conn);
	am_wire_broken(conn);
	am_conn_check(conn);
	for (unsigned int slot = 0; slot < conn->credits; slot++) {
		if (am_slot_waits(conn, slot))
			am_return_slot(conn, slot, status);
	}
}

/* The caller has removed @conn from its endpoint's list. */
void am_conn_free(struct am_conn *conn)
{
	struct am_eb *eb = conn->eb;

	am_wire_forget(conn);
	am_acks_forget(conn);
	am_conn_broken(conn, EUNREACHABLE);
	for (unsigned int slot = 0; slot < conn->credits; slot++) {
		if (conn->slot[slot].outstanding)
			am_slot_done(conn, slot);
	}
	eb->mapping->close(conn);
	free_memory(conn);
	free(conn->wired);
	free(conn);
}

void am_conn_check(struct am_conn *conn)
{
	if (conn->state != AM_BROKEN)
		return;
	conn->unchecked = true;
	conn->eb->chores = true;
}

void am_conn_hold(struct am_conn *conn)
{
	conn->held++;
}

void am_conn_release(struct am_conn *conn)
{
	conn->held--;
	am_conn_check(conn);
}

/* Whether an entry of the translation table is bound to the peer. */
static bool named(const struct am_conn *conn)
{
	const struct am_ep *ep = conn->ep;

	for (int i = 0; i < ep->ntranslations; i++) {
		if (ep->entry[i].inuse && AM_NameEqual(ep->entry[i].name, conn->peer))
			return true;
	}
	return false;
}

static bool unneeded(struct am_conn *conn)
{
	if (!conn->unchecked || conn->held)
		return false;
	conn->unchecked = false;
	return !named(conn);
}

/* Removes a connection that is not needed any more from the endpoint's list. NULL: none. */
static struct am_conn *take_unneeded(struct am_ep *ep)
{
	struct am_conn **at = &ep->conns, *conn;

	while (*at && !unneeded(*at))
		at = &(*at)->next;
	conn = *at;
	if (conn)
		*at = conn->next;
	return conn;
}

/*
 * Frees broken connections to which nothing refers. While an entry is bound to the peer, the
 * connection tells why requests are returned, so it is kept. The caller refers to no connection.
 * Freeing polls, which may queue messages; the next call frees the rest then.
 */
void am_conns_reap(struct am_eb *eb)
{
	struct am_conn *conn;

	for (struct am_ep *ep = eb->eps; ep; ep = ep->next) {
		while (!eb->requests.first && !eb->replies.first && (conn = take_unneeded(ep)))
			am_conn_free(conn);
	}
	if (eb->requests.first || eb->replies.first)
		eb->chores = true;
}

/* Posts an empty RDMA write. Its completion shows that all before it has arrived. */
static int nudge(struct am_conn *conn)
{
	return conn->eb->mapping->write(conn, conn->memory, 0, conn->theirs.board,
					conn->theirs.board_rkey);
}

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
			nudge(conn);
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

static uint64_t end_of_patience(void)
{
	return am_now() + (uint64_t)am_settings.connect_timeout * 1000000u;
}

/* Writes to all connections first, then waits, so that timeouts of dead peers overlap. */
void am_conns_drain(struct am_ep *ep)
{
	nudge_all(ep);
	await_all(ep, end_of_patience());
}

/* The same for all endpoints of a bundle. */
void am_bundle_drain(struct am_eb *eb)
{
	uint64_t end = end_of_patience();
	struct am_ep *ep;

	for (ep = eb->eps; ep; ep = ep->next)
		nudge_all(ep);
	for (ep = eb->eps; ep; ep = ep->next)
		await_all(ep, end);
}

static bool outstanding(const struct am_conn *conn)
{
	return conn->state == AM_READY && conn->nfree < conn->credits;
}

static void probe(struct am_conn *conn)
{
	conn->probed = conn->eb->clock;
	nudge(conn);
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
 * ever. For each new connection, DOUBTS idle ones are probed: more than one, so that dead peers
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
