// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Sends and receives messages (paper 003, items 22 to 24; F100 to F102).
 *
 * A request takes a credit, which is a slot with a send buffer. Its answer returns the
 * credit. One-way messages are acknowledged n at a time, in order, where n is a quarter of
 * the credits. An answer needs no credit: it uses the slot of its request. Serving a
 * request never waits, so there is no deadlock.
 */
#include "splitc_core.h"
#include "cost/am_cost.h"

struct sc_message *sc_slot_message(struct sc_peer *peer, unsigned int slot)
{
	return (struct sc_message *)(void *)(peer->out + (size_t)slot * SC_BUFFER);
}

static struct sc_answer *answer_buffer(struct sc_peer *peer, unsigned int slot)
{
	return (struct sc_answer *)(void *)(peer->out + (size_t)(sc.credits + slot) * SC_BUFFER);
}

/* Sends @n bytes of @message, followed by the data of @more, if that is not NULL. */
static void send_message(struct sc_peer *peer, const void *message, uint32_t n,
			 const struct ibv_sge *more)
{
	struct ibv_send_wr *wr = &peer->message;

	am_cost_begin(AM_COST_BUILD_SEND);
	sc_room(peer, 1);
	sc_note_nothing(peer);
	peer->message_sge[0].addr = (uintptr_t)message;
	peer->message_sge[0].length = n;
	wr->num_sge = 1;
	wr->send_flags = 0;
	if (more) {
		peer->message_sge[1] = *more;
		wr->num_sge = 2;
	} else if (n <= sc.max_inline) {
		wr->send_flags = IBV_SEND_INLINE;
	}
	sc_post(peer, wr);
	am_cost_end(AM_COST_BUILD_SEND);
}

unsigned int sc_take_slot(struct sc_peer *peer)
{
	sc_wait_until(peer->nfree);
	return peer->free[--peer->nfree];
}

static void free_slot(struct sc_peer *peer, unsigned int slot)
{
	struct sc_slot *s = &peer->slot[slot];

	s->busy = false;
	if (s->pending)
		--*s->pending;
	peer->free[peer->nfree++] = (uint8_t)slot;
}

/*
 * Returns the scatter/gather entry of a request's data if they can be sent in place, or
 * NULL if they must be copied.
 */
static struct ibv_sge *gather(const struct sc_request *r, struct ibv_sge *sge)
{
	uint64_t address = (uintptr_t)r->data;
	const struct sc_export *memory;
	bool there;

	if (!r->keep || r->nbytes <= (uint32_t)sc_settings.copy)
		return NULL;
	memory = sc_export(address, r->nbytes, false, &there);
	if (!memory || memory->ask || memory->end - address < r->nbytes)
		return NULL;
	*sge = (struct ibv_sge){ .addr = address, .length = r->nbytes, .lkey = memory->lkey };
	return sge;
}

static void await_acknowledgement(struct sc_peer *peer, unsigned int slot)
{
	peer->oneway[(peer->oneway_first + peer->oneways) % SC_MAX_CREDITS] = (uint8_t)slot;
	peer->oneways++;
}

/* Takes a slot, waiting for a credit, and records what to do when the answer arrives. */
static unsigned int begin_request(struct sc_peer *peer, const struct sc_request *r)
{
	unsigned int number = sc_take_slot(peer);

	peer->slot[number] = (struct sc_slot){
		.busy = true, .to = r->to, .length = r->wanted, .pending = r->pending
	};
	if (r->op >= SC_FIRST_ONEWAY)
		await_acknowledgement(peer, number);
	return number;
}

void sc_send_oneway(struct sc_peer *peer, unsigned int slot, uint32_t nbytes)
{
	struct sc_message *m = sc_slot_message(peer, slot);

	am_cost_begin(AM_COST_SEND_BOOKKEEPING);
	peer->slot[slot] = (struct sc_slot){ .busy = true };
	await_acknowledgement(peer, slot);
	am_cost_end(AM_COST_SEND_BOOKKEEPING);
	send_message(peer, m, (uint32_t)sizeof(*m) + nbytes, NULL);
}

void sc_request(const struct sc_request *r)
{
	struct sc_peer *peer = &sc.peers[r->proc];
	struct sc_message *m;
	struct ibv_sge sge, *more;
	unsigned int number;

	sc_release(peer);
	am_cost_begin(AM_COST_SEND_BOOKKEEPING);
	number = begin_request(peer, r);
	am_cost_end(AM_COST_SEND_BOOKKEEPING);
	am_cost_begin(AM_COST_BUILD_SEND);
	m = sc_slot_message(peer, number);
	*m = (struct sc_message){ .op = (uint8_t)r->op,
				  .slot = (uint8_t)number,
				  .what = r->what,
				  .length = r->length,
				  .address = r->address };
	more = gather(r, &sge);
	am_cost_end(AM_COST_BUILD_SEND);
	if (!more) {
		am_cost_begin(AM_COST_COPY_DATA);
		sc_copy_small(m->data, r->data, r->nbytes);
		am_cost_end(AM_COST_COPY_DATA);
	}
	send_message(peer, m, (uint32_t)sizeof(*m) + (more ? 0 : r->nbytes), more);
}

void sc_call(const struct sc_request *request)
{
	struct sc_request r = *request;
	uint32_t pending = 1;

	r.pending = &pending;
	sc_request(&r);
	sc_wait_until(!pending);
}

void *sc_answer_data(struct sc_peer *peer, unsigned int slot)
{
	return answer_buffer(peer, slot)->data;
}

static void answer(struct sc_peer *peer, unsigned int slot, enum sc_op op, uint32_t nbytes)
{
	struct sc_answer *a = answer_buffer(peer, slot);

	a->op = (uint8_t)op;
	a->slot = (uint8_t)slot;
	a->acknowledged = (uint16_t)peer->unacknowledged;
	a->length = nbytes;
	peer->unacknowledged = 0;
	send_message(peer, a, (uint32_t)sizeof(*a) + nbytes, NULL);
}

void sc_answer(struct sc_peer *peer, unsigned int slot, uint32_t nbytes)
{
	answer(peer, slot, SC_REPLY, nbytes);
}

static void bad_message(const struct sc_peer *peer) __attribute__((noreturn));

static void bad_message(const struct sc_peer *peer)
{
	sc_fail("processor %d sent what is no message", peer->proc);
}

static void acknowledged(struct sc_peer *peer, unsigned int n)
{
	if (n > peer->oneways)
		bad_message(peer);
	for (; n; n--) {
		unsigned int slot = peer->oneway[peer->oneway_first];

		peer->oneway_first = (peer->oneway_first + 1) % SC_MAX_CREDITS;
		peer->oneways--;
		free_slot(peer, slot);
	}
}

static void answered(struct sc_peer *peer, const struct sc_answer *a, uint32_t length)
{
	struct sc_slot *slot = &peer->slot[a->slot];

	if (length != sizeof(*a) + a->length)
		bad_message(peer);
	if (a->acknowledged)
		acknowledged(peer, a->acknowledged);
	if (a->op == SC_ACK)
		return;
	if (!slot->busy || a->length != slot->length)
		bad_message(peer);
	am_cost_begin(AM_COST_READ_DATA);
	sc_copy_small(slot->to, a->data, a->length);
	am_cost_end(AM_COST_READ_DATA);
	free_slot(peer, a->slot);
}

void sc_arrival(struct sc_peer *peer, const struct sc_message *m, uint32_t length)
{
	if (length < sizeof(struct sc_answer) || m->op >= SC_NUM_OPS || m->slot >= sc.credits)
		bad_message(peer);
	if (m->op >= SC_FIRST_ANSWER) {
		am_cost_begin(AM_COST_PROCESS_RECEIVED);
		answered(peer, (const struct sc_answer *)(const void *)m, length);
		am_cost_end(AM_COST_PROCESS_RECEIVED);
		return;
	}
	if (length < sizeof(*m))
		bad_message(peer);
	am_cost_begin(AM_COST_ACT);
	sc_serve(peer, m, length - (uint32_t)sizeof(*m));
	am_cost_end(AM_COST_ACT);
	if (m->op >= SC_FIRST_ONEWAY && ++peer->unacknowledged >= sc.ack_unit)
		answer(peer, m->slot, SC_ACK, 0);
}

void sc_flush_oneways(void)
{
	uint32_t pending = 0;

	for (int i = 0; i < splitc_procs; i++) {
		if (!sc.peers[i].oneways)
			continue;
		pending++;
		sc_request(&(struct sc_request){ .proc = i, .op = SC_FLUSH, .pending = &pending });
	}
	sc_wait_until(!pending);
}
