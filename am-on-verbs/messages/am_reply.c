// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Replies, acknowledgements and refusals: the answers to requests.
 *
 * An answer needs no credit. It uses the slot of its request on both sides.
 */
#include <errno.h>
#include <string.h>

#include "am_messages.h"
#include "am_outgoing.h"
#include "connections/am_connections.h"
#include "cost/am_cost.h"
#include "objects/am_mapping.h"
#include "objects/am_process.h"

static int reply(struct am_token *token, const struct am_outgoing *o)
{
	struct am_conn *conn = token->conn;
	unsigned int slot = token->message->slot;
	struct am_message *m = am_reply_buffer(conn, slot);
	struct am_bulk bulk = { .source = o->source, .nbytes = o->nbytes };
	struct am_segment s;
	size_t size;
	int err;

	if (o->class == AM_BULK) {
		s = am_segment_of(conn);
		if (o->offset > s.length || o->nbytes > s.length - o->offset)
			return AM_ERR_BAD_ARG;
		bulk.address = s.address + o->offset;
		bulk.rkey = s.rkey;
	}
	/* A reply to a peer that is gone counts as delivered. */
	token->replied = true;
	conn->replying[slot] = false;
	if (conn->state == AM_BROKEN)
		return AM_OK;
	am_cost_begin(AM_COST_BUILD_SEND);
	size = am_build(m, o, AM_REPLY, slot, 0);
	err = conn->eb->mapping->send(conn, slot, true, size, o->class == AM_BULK ? &bulk : NULL);
	am_cost_end(AM_COST_BUILD_SEND);
	if (err)
		return conn->state == AM_BROKEN ? AM_OK : AM_ERR_RESOURCE;
	conn->ep->statistics.replies_sent[o->class]++;
	conn->ep->statistics.bytes_sent[o->class] += o->nbytes;
	return AM_OK;
}

static int reply_checked(void *token, const struct am_outgoing *o)
{
	struct am_token *t = token;
	int err;

	if (!am_initialised())
		return AM_ERR_NOT_INIT;
	if (!t || !t->is_request || t->replied || !am_outgoing_ok(o))
		return AM_ERR_BAD_ARG;
	am_cost_begin(AM_COST_SEND_BOOKKEEPING);
	err = reply(t, o);
	am_cost_end(AM_COST_SEND_BOOKKEEPING);
	return err;
}

int AM_ReplyV(void *token, handler_t handler, int nargs, ...)
{
	struct am_outgoing o;
	va_list list;

	o = am_outgoing_short(AM_REPLY, handler, nargs);
	va_start(list, nargs);
	am_outgoing_words(&o, list);
	va_end(list);
	return reply_checked(token, &o);
}

int AM_ReplyIV(void *token, handler_t handler, const void *source, size_t nbytes, int nargs, ...)
{
	struct am_outgoing o;
	va_list list;

	o = am_outgoing_medium(AM_REPLY, handler, nargs, source, nbytes);
	va_start(list, nargs);
	am_outgoing_words(&o, list);
	va_end(list);
	return reply_checked(token, &o);
}

int AM_ReplyXferV(void *token, uintptr_t dest_offset, handler_t handler, const void *source,
		  size_t nbytes, int nargs, ...)
{
	struct am_outgoing o;
	va_list list;

	o = am_outgoing_bulk(AM_REPLY, handler, nargs, source, nbytes, dest_offset);
	va_start(list, nargs);
	am_outgoing_words(&o, list);
	va_end(list);
	return reply_checked(token, &o);
}

/* Acknowledges all requests in conn->ack[] with one message, in the slot of the first one. */
void am_flush_acks(struct am_conn *conn)
{
	struct am_message *m;

	if (!conn->nacks)
		return;
	for (unsigned int i = 0; i < conn->nacks; i++)
		conn->replying[conn->ack[i]] = false;
	if (conn->state != AM_BROKEN) {
		m = am_reply_buffer(conn, conn->ack[0]);
		*m = (struct am_message){ .what = AM_ACK,
					  .nargs = (uint8_t)conn->nacks,
					  .slot = conn->ack[0] };
		for (unsigned int i = 0; i < conn->nacks; i++)
			m->args[i] = conn->ack[i];
		conn->eb->mapping->send(conn, m->slot, true, am_message_size(m), NULL);
		conn->ep->statistics.acknowledgements_sent++;
	}
	conn->nacks = 0;
}

/*
 * Records that the request in @slot is to be acknowledged. ack_unit requests share one
 * acknowledgement. A poll that finds nothing sends incomplete ones, too, because the peer
 * may send no more requests.
 */
void am_acknowledge(struct am_conn *conn, unsigned int slot)
{
	struct am_eb *eb = conn->eb;

	conn->ack[conn->nacks++] = (uint8_t)slot;
	if (conn->nacks >= (unsigned int)am_settings.ack_unit || conn->nacks == conn->credits) {
		am_flush_acks(conn);
		return;
	}
	if (!conn->acks) {
		conn->acks = true;
		conn->acking = eb->acking;
		eb->acking = conn;
	}
}

void am_refuse(struct am_conn *conn, unsigned int slot, int status)
{
	struct am_message *m = am_reply_buffer(conn, slot);

	conn->replying[slot] = false;
	if (conn->state == AM_BROKEN)
		return;
	*m = (struct am_message){ .what = AM_REFUSAL,
				  .handler = (uint8_t)status,
				  .slot = slot & 0xff };
	conn->eb->mapping->send(conn, slot, true, am_message_size(m), NULL);
}
