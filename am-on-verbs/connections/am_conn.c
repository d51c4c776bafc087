// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Connections: allocation, connecting, failure and freeing. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>

#include "am_connections.h"
#include "objects/am_mapping.h"
#include "objects/am_wiring.h"

#define DEFAULT_CREDITS 8 /* paper 003, "chosen arbitrarily" */
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
	conn->eb->doubts += AM_DOUBTS;
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
	if (conn->eb->wiring->broken)
		conn->eb->wiring->broken(conn);
	am_conn_check(conn);
	for (unsigned int slot = 0; slot < conn->credits; slot++) {
		if (am_slot_waits(conn, slot))
			am_return_slot(conn, slot, status);
	}
}

static void forget_acks(struct am_conn *conn)
{
	struct am_conn **at = &conn->eb->acking;

	while (*at && *at != conn)
		at = &(*at)->acking;
	if (*at)
		*at = conn->acking;
	conn->acks = false;
}

/* The caller has removed @conn from its endpoint's list. */
void am_conn_free(struct am_conn *conn)
{
	struct am_eb *eb = conn->eb;

	am_wire_forget(conn);
	forget_acks(conn);
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
