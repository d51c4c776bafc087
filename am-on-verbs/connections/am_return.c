// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Return to sender (paper 000, F29, F30) of undeliverable messages.
 *
 * The next poll passes them to handler 0 of the endpoint that sent them.
 */
#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "am_connections.h"

/* Frees @slot: its request has been answered, or has failed. */
void am_slot_done(struct am_conn *conn, unsigned int slot)
{
	struct am_slot *s = &conn->slot[slot];
	struct am_ep *ep = conn->ep;

	s->outstanding = false;
	s->answered = false;
	if (s->region) {
		am_region_put(conn->eb->device, s->region);
		s->region = NULL;
	}
	if (s->index < ep->ntranslations && ep->entry[s->index].conn == conn)
		ep->entry[s->index].outstanding--;
	conn->eb->outstanding--;
	conn->free[conn->nfree++] = (uint8_t)slot;
}

void am_return_call(struct am_ep *ep, int status, op_t opcode, const struct am_arguments *arguments)
{
	bool medium = opcode == AM_REQUEST_IM;
	struct am_eb *eb = ep->eb;
	struct am_returned *r = malloc(sizeof(*r) + (medium ? arguments->nbytes : 0));

	if (!r) {
		fprintf(stderr, "am: no memory for a message that came back\n");
		abort();
	}
	r->next = NULL;
	r->status = status;
	r->opcode = opcode;
	r->arguments = *arguments;
	if (medium) {
		if (arguments->source)
			memcpy(r->data, arguments->source, arguments->nbytes);
		r->arguments.source = r->data;
	}
	*eb->returned_last = r;
	eb->returned_last = &r->next;
	eb->chores = true;
	ep->statistics.returned++;
}

void am_return_slot(struct am_conn *conn, unsigned int slot, int status)
{
	static const op_t opcode[AM_NUM_CLASSES] = { AM_REQUEST_M, AM_REQUEST_IM,
						     AM_REQUEST_XFER_M };
	struct am_message *m = am_request_buffer(conn, slot);
	struct am_arguments a = { .ep = conn->ep,
				  .index = conn->slot[slot].index,
				  .destination = conn->peer,
				  .tag = m->tag,
				  .handler = m->handler,
				  .nargs = m->nargs,
				  .nbytes = m->nbytes };

	memcpy(a.args, m->args, 4u * m->nargs);
	if (m->class == AM_MEDIUM)
		a.source = am_message_tail(m);
	if (m->class == AM_BULK) {
		a.source = conn->slot[slot].source;
		a.dest_offset = am_message_offset(m);
	}
	if (m->what != AM_SYSTEM)
		am_return_call(conn->ep, status, opcode[m->class], &a);
	am_slot_done(conn, slot);
}

static const char *status_text(int status)
{
	switch (status) {
	case EBADARGS:
		return "its arguments are invalid (EBADARGS)";
	case EBADENTRY:
		return "the translation table has no such entry (EBADENTRY)";
	case EBADTAG:
		return "its tag is not the destination's (EBADTAG)";
	case EBADHANDLER:
		return "the destination has no such handler (EBADHANDLER)";
	case EBADSEGOFF:
		return "its offset is outside of the destination's segment (EBADSEGOFF)";
	case EBADLENGTH:
		return "it goes beyond the end of the destination's segment (EBADLENGTH)";
	case EBADENDPOINT:
		return "the destination is not there (EBADENDPOINT)";
	case ECONGESTION:
		return "the destination has no room (ECONGESTION)";
	case EUNREACHABLE:
		return "the destination does not answer (EUNREACHABLE)";
	default:
		return "the destination refused it (EREPLYREJECTED)";
	}
}

void am_default_error(int status, op_t opcode, void *argblock)
{
	static const char *const class[] = { "short", "medium", "bulk" };
	const struct am_arguments *a = argblock;
	char gid[INET6_ADDRSTRLEN];

	inet_ntop(AF_INET6, a->destination.gid, gid, sizeof(gid));
	fprintf(stderr,
		"am: a %s request came back: %s; destination %d (endpoint %u at %s), "
		"handler %u, %d words, %zu bytes\n",
		class[(unsigned int)(opcode - AM_REQUEST_M) % 3], status_text(status), a -> index,
		a -> destination.endpoint, gid, a->handler, a->nargs, a->nbytes);
	abort();
}
