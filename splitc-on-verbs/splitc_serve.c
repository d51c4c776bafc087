// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Serves requests and one-way messages of other processors. */
#include <string.h>

#include "splitc_core.h"
#include "cost/am_cost.h"

static void require(const struct sc_peer *peer, bool so)
{
	if (__builtin_expect(!so, 0))
		sc_fail("processor %d sent what is no request", peer->proc);
}

static void serve_get(struct sc_peer *peer, const struct sc_message *m)
{
	require(peer, m->length <= SC_FRAGMENT);
	am_cost_begin(AM_COST_READ_DATA);
	sc_copy_out(sc_answer_data(peer, m->slot), m->address, m->length, peer->proc);
	am_cost_end(AM_COST_READ_DATA);
	sc_answer(peer, m->slot, m->length);
}

static void serve_atomic(struct sc_peer *peer, const struct sc_message *m, uint32_t nbytes)
{
	struct sc_atomic a;
	int64_t old;

	require(peer, nbytes == sizeof(a) && m->what < SC_NUM_ATOMICS);
	memcpy(&a, m->data, sizeof(a));
	if (m->what == SC_ATOMIC_CALL) {
		old = sc_run_atomic(a.function, m->address, a.a, a.b, peer->proc);
	} else {
		require(peer, (m->length == 4 || m->length == 8) && m->address % m->length == 0);
		old = sc_modify(m->address, m->length, m->what, a.a, a.b, peer->proc);
	}
	memcpy(sc_answer_data(peer, m->slot), &old, sizeof(old));
	sc_answer(peer, m->slot, sizeof(old));
}

static void serve_rpc(struct sc_peer *peer, const struct sc_message *m, uint32_t nbytes)
{
	require(peer, nbytes == m->length && m->what <= SPLITC_RPC_MAX);
	sc_run_rpc(m->address, m->data, nbytes, sc_answer_data(peer, m->slot), m->what, peer->proc);
	sc_answer(peer, m->slot, m->what);
}

/* Handles a message with one or more stores. It ends with the data of the last one. */
static void serve_stores(struct sc_peer *peer, const struct sc_message *m, uint32_t nbytes)
{
	uint64_t address = m->address;
	uint32_t length = m->length, at = 0;
	sc_place place;

	for (;;) {
		require(peer, length <= nbytes - at);
		am_cost_begin(AM_COST_READ_DATA);
		sc_copy_in(address, m->data + at, length, peer->proc, "store");
		am_cost_end(AM_COST_READ_DATA);
		sc.stored[m->what & 1] += length;
		at += length;
		if (at == nbytes)
			return;
		at = sc_place_at(at);
		require(peer, at + sizeof(place) <= nbytes);
		memcpy(&place, m->data + at, sizeof(place));
		at += (uint32_t)sizeof(place);
		address = place & (((uint64_t)1 << SC_PLACE_BITS) - 1);
		length = (uint32_t)(place >> SC_PLACE_BITS);
	}
}

void sc_serve(struct sc_peer *peer, const struct sc_message *m, uint32_t nbytes)
{
	switch (m->op) {
	case SC_GET:
		serve_get(peer, m);
		break;
	case SC_PUT:
		require(peer, nbytes == m->length);
		am_cost_begin(AM_COST_READ_DATA);
		sc_copy_in(m->address, m->data, nbytes, peer->proc, "write");
		am_cost_end(AM_COST_READ_DATA);
		sc_answer(peer, m->slot, 0);
		break;
	case SC_ATOMIC:
		serve_atomic(peer, m, nbytes);
		break;
	case SC_RPC:
		serve_rpc(peer, m, nbytes);
		break;
	case SC_FLUSH:
		sc_answer(peer, m->slot, 0);
		break;
	case SC_LOOKUP:
		sc_lookup(peer, m);
		break;
	case SC_REVOKE:
		sc_revoked(peer, m);
		sc_answer(peer, m->slot, 0);
		break;
	case SC_STORE:
		serve_stores(peer, m, nbytes);
		break;
	case SC_COLLECT:
		sc_collected(peer, m, nbytes);
		break;
	case SC_BARRIER:
		sc_arrived_at_barrier(m);
		break;
	}
}
