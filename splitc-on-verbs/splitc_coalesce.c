// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Small stores to the same processor share messages, by Nagle's algorithm (RFC 896).
 *
 * While an acknowledgement of earlier messages is outstanding, stores are held back until
 * their message is full. Otherwise, they are sent at once. The library cannot know when the
 * next store comes. So any other operation, including a wait for a credit, sends held
 * stores first: before any other request to that processor, and at the beginning of each
 * poll and of each call but stores.
 *
 * An open message holds its credit, but is not in the queue of messages to be acknowledged
 * until it is sent.
 */
#include <string.h>

#include "splitc_core.h"
#include "cost/am_cost.h"

static void open_message(struct sc_peer *peer, uint64_t address, uint32_t n)
{
	am_cost_begin(AM_COST_SEND_BOOKKEEPING);
	peer->held_slot = sc_take_slot(peer);
	am_cost_end(AM_COST_SEND_BOOKKEEPING);
	am_cost_begin(AM_COST_BUILD_SEND);
	*sc_slot_message(peer, peer->held_slot) =
		(struct sc_message){ .op = SC_STORE,
				     .slot = (uint8_t)peer->held_slot,
				     .what = (uint16_t)(sc.epoch & 1),
				     .length = n,
				     .address = address };
	am_cost_end(AM_COST_BUILD_SEND);
	if (!peer->holding) {
		peer->holding = true;
		peer->next_holding = sc.holding;
		sc.holding = peer;
	}
}

/* Appends a store to the open message. All but the first are preceded by their place. */
static void append(struct sc_peer *peer, uint64_t address, const void *from, uint32_t n)
{
	uint32_t at = sc_place_at(peer->held);
	sc_place place = address | (uint64_t)n << SC_PLACE_BITS;
	struct sc_message *m = sc_slot_message(peer, peer->held_slot);

	am_cost_begin(AM_COST_COPY_DATA);
	if (at) {
		memcpy(m->data + at, &place, sizeof(place));
		at += (uint32_t)sizeof(place);
	}
	sc_copy_small(m->data + at, from, n);
	peer->held = at + n;
	am_cost_end(AM_COST_COPY_DATA);
}

static bool has_room(const struct sc_peer *peer, uint32_t n)
{
	return sc_place_at(peer->held) + sizeof(sc_place) + n <= (size_t)sc_settings.coalesce;
}

void sc_store_small(struct sc_peer *peer, uint64_t address, const void *from, uint32_t n)
{
	sc_not_serving();
	if (peer->held && !has_room(peer, n))
		sc_send_held(peer);
	if (!peer->held)
		open_message(peer, address, n);
	append(peer, address, from, n);
	/*
	 * No acknowledgement is outstanding, or the message has no room for another value:
	 * send it.
	 */
	if (peer->oneways < sc.ack_unit || !has_room(peer, sizeof(uint64_t)))
		sc_send_held(peer);
}

void sc_send_held(struct sc_peer *peer)
{
	uint32_t n = peer->held;

	peer->held = 0;
	sc_send_oneway(peer, peer->held_slot, n);
}

void sc_send_all_held(void)
{
	struct sc_peer *peer;

	while ((peer = sc.holding)) {
		sc.holding = peer->next_holding;
		peer->holding = false;
		sc_release(peer);
	}
}
