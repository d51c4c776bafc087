// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Tests that the resources of a server with many short-lived peers stay bounded: its connections,
 * and its address handles. Peers free their endpoints, die without a word, or never exist.
 */
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

#include "objects/am_core.h"
#include "check.h"

enum { ASK = 5, ANSWER };

#define PEERS 20
#define FEW 4 /* connections of peers that are ending, or whose end is not known yet */
#define STRANGERS 200
#define HANDLES 128 /* one for each of 64 send buffers, in two bundles */

static eb_t mine; /* of a peer */
static en_t name; /* of the server */
static int answers, handles;

/* Replace libibverbs' functions, to count address handles. */
struct ibv_ah *ibv_create_ah(struct ibv_pd *pd, struct ibv_ah_attr *attr)
{
	static struct ibv_ah *(*next)(struct ibv_pd * pd, struct ibv_ah_attr * attr);
	struct ibv_ah *ah;

	if (!next)
		*(void **)&next = dlsym(RTLD_NEXT, "ibv_create_ah");
	CHECK(next);
	ah = next(pd, attr);
	handles += ah ? 1 : 0;
	return ah;
}

int ibv_destroy_ah(struct ibv_ah *ah)
{
	static int (*next)(struct ibv_ah * ah);

	if (!next)
		*(void **)&next = dlsym(RTLD_NEXT, "ibv_destroy_ah");
	CHECK(next);
	handles--;
	return next(ah);
}

static void ask(void *token)
{
	OK(AM_Reply0(token, ANSWER));
}

static void answer(void *token)
{
	answers++;
}

static int connections(void)
{
	int n = 0;

	for (const struct am_conn *conn = ep->conns; conn; conn = conn->next)
		n++;
	return n;
}

static void poll_both(void)
{
	OK(AM_Poll(eb));
	OK(AM_Poll(mine));
}

static ep_t endpoint(eb_t bundle, en_t *its_name)
{
	ep_t made;

	OK(AM_AllocateEndpoint(bundle, &made, its_name));
	OK(AM_SetTag(made, AM_ALL));
	OK(AM_SetHandler(made, 0, keep_returned));
	OK(AM_SetHandler(made, ASK, ask));
	OK(AM_SetHandler(made, ANSWER, answer));
	return made;
}

/* Sends a request that needs no answer, and polls both bundles until the connection exists. */
static void send_to(ep_t from, int index, handler_t handler)
{
	int err;

	while ((err = AM_RequestXferAsync0(from, index, 0, handler, NULL, 0)) == AM_ERR_NOT_SENT)
		poll_both();
	OK(err);
}

/* Makes a peer that the server has answered. */
static ep_t peer_answered(en_t *its_name)
{
	ep_t made = endpoint(mine, its_name);
	int before = answers;

	OK(AM_Map(made, 0, name, 1));
	send_to(made, 0, ASK);
	while (answers == before)
		poll_both();
	return made;
}

/* Moves the peer's queue pairs to the error state, as its death would: the server is not told. */
static void kill_peer(ep_t victim)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_ERR };
	struct am_conn *conn = victim->conns;

	for (int i = 0; i < AM_MAX_QPS && conn->qp[i]; i++)
		IS(ibv_modify_qp(conn->qp[i], &attr, IBV_QP_STATE), 0);
	conn->state = AM_BROKEN;
	OK(AM_FreeEndpoint(victim));
}

static void peers_end(void)
{
	en_t unused;

	for (int i = 0; i < PEERS; i++) {
		OK(AM_FreeEndpoint(peer_answered(&unused)));
		CHECK(connections() <= FEW);
	}
	while (connections())
		OK(AM_Poll(eb));
}

/* The server's entry keeps the connection, which tells why its requests are returned. */
static void peer_with_entry_ends(void)
{
	int before = came_back.count;
	en_t its_name;
	ep_t made = peer_answered(&its_name);

	OK(AM_Map(ep, 0, its_name, 1));
	OK(AM_Map(ep, 1, its_name, 1));
	send_to(ep, 0, ASK);
	OK(AM_FreeEndpoint(made));
	while (ep->conns->state != AM_BROKEN)
		OK(AM_Poll(eb));
	for (int i = 0; i < 2; i++) {
		OK(AM_Poll(eb));
		IS(connections(), 1);
		OK(AM_Request0(ep, i, ASK));
		OK(AM_Poll(eb));
		IS(came_back.arguments.index, i);
		OK(AM_UnMap(ep, i));
	}
	CHECK(came_back.count >= before + 2);
	OK(AM_Poll(eb));
	IS(connections(), 0);
}

/* Whether the server has probed the peers that it doubts, and knows the results. */
static bool probed(void)
{
	const struct am_conn *conn = ep->conns;

	while (conn &&
	       (conn->state != AM_READY || !conn->probed || conn->sq[0].sent == conn->sq[0].done))
		conn = conn->next;
	return !conn && !eb->doubts;
}

/* Dead peers are found when others come. */
static void peers_die(void)
{
	en_t unused;

	for (int i = 0; i < 2 * FEW; i++)
		kill_peer(peer_answered(&unused));
	for (int i = 0; connections() > FEW; i++) {
		CHECK(i < 4 * PEERS);
		OK(AM_FreeEndpoint(peer_answered(&unused)));
		while (!probed())
			OK(AM_Poll(eb));
	}
}

/* Requests to endpoints that do not exist, each at a port of its own. */
static void strangers(void)
{
	en_t stranger = name;
	int most = 0;

	for (int i = 0; i < STRANGERS; i++) {
		stranger.endpoint = 1000u + (uint32_t)i;
		stranger.lid = (uint16_t)i;
		OK(AM_Map(ep, i, stranger, 1));
		IS(AM_RequestXferAsync0(ep, i, 0, ASK, NULL, 0), AM_ERR_NOT_SENT);
		most = handles > most ? handles : most;
		OK(AM_UnMap(ep, i));
	}
	CHECK(most <= HANDLES);
	while (connections())
		OK(AM_Poll(eb));
}

int main(void)
{
	OK(AM_SetOption("keepalive", "5"));
	OK(AM_SetOption("connect-timeout", "300"));
	OK(AM_Init());
	OK(AM_AllocateBundle(AM_SEQ, &eb));
	OK(AM_AllocateBundle(AM_SEQ, &mine));
	ep = endpoint(eb, &name);
	peers_end();
	peer_with_entry_ends();
	if (!name.port) { /* not wired by rdma_cm, which tells the server at once */
		strangers();
		peers_die();
	}
	OK(AM_Terminate());
	IS(handles, 0);
	return 0;
}
