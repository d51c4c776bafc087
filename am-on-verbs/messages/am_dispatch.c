// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Runs the handlers of received and returned messages. */
#include <stdlib.h>

#include "am_messages.h"
#include "connections/am_connections.h"
#include "cost/am_cost.h"
#include "objects/am_mapping.h"

/* Macros that call a handler with as many words as the message has, each as its own parameter. */
#define W(i) , int32_t
#define T0
#define T1 , int32_t
#define T2 T1, int32_t
#define T3 T2, int32_t
#define T4 T3, int32_t
#define T5 T4, int32_t
#define T6 T5, int32_t
#define T7 T6, int32_t
#define T8 T7, int32_t
#define T9 T8, int32_t
#define T10 T9, int32_t
#define T11 T10, int32_t
#define T12 T11, int32_t
#define T13 T12, int32_t
#define T14 T13, int32_t
#define T15 T14, int32_t
#define T16 T15, int32_t
#define A0
#define A1 , a[0]
#define A2 A1, a[1]
#define A3 A2, a[2]
#define A4 A3, a[3]
#define A5 A4, a[4]
#define A6 A5, a[5]
#define A7 A6, a[6]
#define A8 A7, a[7]
#define A9 A8, a[8]
#define A10 A9, a[9]
#define A11 A10, a[10]
#define A12 A11, a[11]
#define A13 A12, a[12]
#define A14 A13, a[13]
#define A15 A14, a[14]
#define A16 A15, a[15]
#undef W

#define SHORT_CASE(n)                                                                              \
	case n:                                                                                    \
		((void (*)(void *T##n))function)(token A##n);                                      \
		break
#define DATA_CASE(n)                                                                               \
	case n:                                                                                    \
		((void (*)(void *, void *, int T##n))function)(token, data, nbytes A##n);          \
		break
#define ALL_CASES(CASE)                                                                            \
	CASE(0);                                                                                   \
	CASE(1);                                                                                   \
	CASE(2);                                                                                   \
	CASE(3);                                                                                   \
	CASE(4);                                                                                   \
	CASE(5);                                                                                   \
	CASE(6);                                                                                   \
	CASE(7);                                                                                   \
	CASE(8);                                                                                   \
	CASE(9);                                                                                   \
	CASE(10);                                                                                  \
	CASE(11);                                                                                  \
	CASE(12);                                                                                  \
	CASE(13);                                                                                  \
	CASE(14);                                                                                  \
	CASE(15);                                                                                  \
	CASE(16)

static void call_short(am_handler_fn_t function, void *token, const int32_t *a, unsigned int nargs)
{
	switch (nargs) {
		ALL_CASES(SHORT_CASE);
	}
}

static void call_data(am_handler_fn_t function, void *token, void *data, int nbytes,
		      const int32_t *a, unsigned int nargs)
{
	switch (nargs) {
		ALL_CASES(DATA_CASE);
	}
}

/* Address of the data of a received message. NULL: not within the segment (any more). */
static void *data_of(struct am_conn *conn, struct am_message *m)
{
	uint64_t offset;

	if (m->class == AM_MEDIUM)
		return am_message_tail(m);
	offset = am_message_offset(m);
	if (offset > conn->ep->segment_length || m->nbytes > conn->ep->segment_length - offset)
		return NULL;
	return (char *)conn->ep->segment + offset;
}

static void run_handler(struct am_token *token, am_handler_fn_t function, void *data)
{
	const struct am_message *m = token->message;
	struct am_eb *eb = token->conn->eb;

	eb->running = token->is_request ? AM_IN_REQUEST : AM_IN_REPLY;
	if (m->class == AM_SHORT)
		call_short(function, token, m->args, m->nargs);
	else
		call_data(function, token, data, (int)m->nbytes, m->args, m->nargs);
	eb->running = AM_IDLE;
}

/* The reason (EBAD...) why a request cannot be delivered, or 0. */
static int objection(const struct am_ep *ep, const struct am_message *m)
{
	if (ep->tag != m->tag && ep->tag != AM_ALL)
		return EBADTAG;
	if (!ep->tag)
		return EBADTAG; /* AM_NONE */
	if (!m->handler || !ep->handler[m->handler])
		return EBADHANDLER;
	return 0;
}

static void run_request(struct am_conn *conn, struct am_message *m, struct am_buffer *buffer)
{
	struct am_ep *ep = conn->ep;
	struct am_token token = { .conn = conn, .message = m, .is_request = true };
	const struct am_mapping *mapping = conn->eb->mapping;
	unsigned int slot = m->slot;
	void *data = NULL;
	int status;

	am_cost_begin(AM_COST_READ_DATA);
	status = objection(ep, m);
	if (!status && m->class != AM_SHORT) {
		data = data_of(conn, m);
		if (!data && m->nbytes)
			status = EBADSEGOFF;
	}
	am_cost_end(AM_COST_READ_DATA);
	if (status) {
		mapping->release(conn, buffer);
		am_refuse(conn, slot, status);
		return;
	}
	ep->statistics.requests_received[m->class]++;
	am_cost_begin(AM_COST_ACT);
	run_handler(&token, ep->handler[m->handler], data);
	am_cost_end(AM_COST_ACT);
	mapping->release(conn, buffer);
	if (!token.replied)
		am_acknowledge(conn, slot);
}

static am_system_fn_t system_functions[8];

void am_system_handler(handler_t handler, am_system_fn_t function)
{
	system_functions[handler] = function;
}

static am_system_fn_t system_function(handler_t handler)
{
	size_t n = sizeof(system_functions) / sizeof(system_functions[0]);

	return handler < n ? system_functions[handler] : NULL;
}

static void run_system(struct am_conn *conn, struct am_message *m, struct am_buffer *buffer)
{
	am_system_fn_t function = system_function(m->handler);
	unsigned int slot = m->slot;

	if (function && m->class == AM_MEDIUM)
		function(conn->ep, m, am_message_tail(m));
	conn->eb->mapping->release(conn, buffer);
	am_acknowledge(conn, slot);
}

static void run_reply(struct am_conn *conn, struct am_message *m, struct am_buffer *buffer)
{
	struct am_ep *ep = conn->ep;
	struct am_token token = { .conn = conn, .message = m };
	void *data;

	am_cost_begin(AM_COST_READ_DATA);
	data = m->class == AM_SHORT ? NULL : data_of(conn, m);
	am_cost_end(AM_COST_READ_DATA);
	am_cost_begin(AM_COST_PROCESS_RECEIVED);
	am_slot_done(conn, m->slot);
	am_cost_end(AM_COST_PROCESS_RECEIVED);
	ep->statistics.replies_received[m->class]++;
	/* A reply for handler 0 or for an unset handler is dropped. */
	if (m->handler && ep->handler[m->handler] && (m->class == AM_SHORT || data || !m->nbytes)) {
		am_cost_begin(AM_COST_ACT);
		run_handler(&token, ep->handler[m->handler], data);
		am_cost_end(AM_COST_ACT);
	}
	conn->eb->mapping->release(conn, buffer);
}

void am_run_message(struct am_buffer *buffer)
{
	struct am_conn *conn = buffer->conn;
	struct am_message *m = buffer->at;

	if (m->what == AM_REQUEST)
		run_request(conn, m, buffer);
	else if (m->what == AM_SYSTEM)
		run_system(conn, m, buffer);
	else
		run_reply(conn, m, buffer);
}

/* Whether the entry by which the message was sent is still bound to its destination. */
static bool bound(const struct am_arguments *a)
{
	const struct am_ep *ep = a->ep;

	return a->index < ep->ntranslations && ep->entry[a->index].inuse &&
	       AM_NameEqual(ep->entry[a->index].name, a->destination);
}

void am_run_error(struct am_eb *eb, struct am_returned *r)
{
	am_error_fn_t function = (am_error_fn_t)r->arguments.ep->handler[0];

	/* Handlers may have changed the table since the message was queued. */
	if (r->status != EBADENTRY && !bound(&r->arguments))
		r->arguments.index = -1;
	eb->running = AM_IN_ERROR;
	function(r->status, r->opcode, &r->arguments);
	eb->running = AM_IDLE;
	free(r);
}

int AM_GetSourceEndpoint(void *token, en_t *gan)
{
	const struct am_token *t = token;

	if (!t || !gan)
		return AM_ERR_BAD_ARG;
	*gan = t->conn->peer;
	return AM_OK;
}

int AM_GetDestEndpoint(void *token, ep_t *endp)
{
	const struct am_token *t = token;

	if (!t || !endp)
		return AM_ERR_BAD_ARG;
	*endp = t->conn->ep;
	return AM_OK;
}

int AM_GetMsgTag(void *token, tag_t *tagp)
{
	const struct am_token *t = token;

	if (!t || !tagp)
		return AM_ERR_BAD_ARG;
	*tagp = t->is_request ? t->message->tag : t->conn->ep->tag;
	return AM_OK;
}
