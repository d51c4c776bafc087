// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Sends requests: finds the translation and connection, takes a credit, builds and sends
 * the message.
 *
 * A request that waits handles messages of other endpoints meanwhile. That prevents
 * deadlock (papers 002 and 003).
 */
#include <errno.h>
#include <string.h>

#include "am_messages.h"
#include "am_outgoing.h"
#include "connections/am_connections.h"
#include "cost/am_cost.h"
#include "objects/am_mapping.h"
#include "objects/am_process.h"

static const op_t request_opcode[AM_NUM_CLASSES] = { AM_REQUEST_M, AM_REQUEST_IM,
						     AM_REQUEST_XFER_M };

/* Returns a request to the program without sending it. */
static int come_back(struct am_ep *ep, int index, const struct am_outgoing *o, int status)
{
	const struct am_entry *entry = &ep->entry[index];
	struct am_arguments a = { .ep = ep,
				  .index = index,
				  .handler = o->handler,
				  .nargs = o->nargs,
				  .source = o->source,
				  .nbytes = o->nbytes,
				  .dest_offset = o->offset };

	if (entry->inuse) {
		a.destination = entry->name;
		a.tag = entry->tag;
	}
	memcpy(a.args, o->args, 4 * (size_t)o->nargs);
	am_return_call(ep, status, request_opcode[o->class], &a);
	return AM_OK;
}

/* The connection of an entry, which may not be ready yet. NULL: out of resources. */
static struct am_conn *connection(struct am_ep *ep, struct am_entry *entry)
{
	struct am_conn *conn = entry->conn;

	if (conn)
		return conn;
	conn = am_conn_find(ep, &entry->name);
	if (!conn) {
		conn = am_conn_make(ep, &entry->name);
		if (conn)
			am_wire_connect(conn);
	}
	entry->conn = conn;
	return conn;
}

/*
 * Waits until a slot is free or the connection is broken. Runs handlers, which may change
 * the translation table, so the caller must check the entry again. Returns AM_ERR_NOT_SENT
 * if the request is asynchronous and would wait longer.
 */
static int wait_for_slot(struct am_ep *ep, struct am_conn *conn, bool async)
{
	bool waited = false;
	int err = AM_OK;

	am_conn_hold(conn);
	while (!err && conn->state != AM_BROKEN && (conn->state != AM_READY || !conn->nfree)) {
		if (!waited)
			ep->statistics.credit_waits += conn->state == AM_READY;
		waited = true;
		if (!am_progress(ep->eb))
			am_yield(ep->eb);
		if (async && (conn->state != AM_READY || !conn->nfree))
			err = AM_ERR_NOT_SENT;
	}
	am_conn_release(conn);
	return err;
}

/* Finds the target of @o in the peer's segment. Returns 0 or an EBAD... status. */
static int check_target(struct am_conn *conn, const struct am_outgoing *o, struct am_bulk *bulk)
{
	struct am_segment s = am_segment_of(conn);

	if (o->offset > s.length || (!s.length && o->nbytes))
		return EBADSEGOFF;
	if (o->nbytes > s.length - o->offset)
		return EBADLENGTH;
	*bulk = (struct am_bulk){ .source = o->source,
				  .nbytes = o->nbytes,
				  .address = s.address + o->offset,
				  .rkey = s.rkey,
				  .async = o->async };
	return 0;
}

static int send_request(struct am_ep *ep, int index, struct am_conn *conn,
			const struct am_outgoing *o)
{
	struct am_entry *entry = &ep->entry[index];
	struct am_bulk bulk;
	struct am_slot *slot;
	unsigned int at;
	size_t size;
	int err;

	if (o->class == AM_BULK) {
		err = check_target(conn, o, &bulk);
		if (err)
			return come_back(ep, index, o, err);
	}
	at = conn->free[--conn->nfree];
	slot = &conn->slot[at];
	slot->outstanding = true;
	slot->index = index;
	slot->source = o->source;
	bulk.slot = slot;
	entry->outstanding++;
	ep->eb->outstanding++;
	am_cost_begin(AM_COST_BUILD_SEND);
	size = am_build(am_request_buffer(conn, at), o, o->what, at, entry->tag);
	err = ep->eb->mapping->send(conn, at, false, size, o->class == AM_BULK ? &bulk : NULL);
	am_cost_end(AM_COST_BUILD_SEND);
	/* The connection broke meanwhile, which returned this request with the others. */
	if (err && conn->state == AM_BROKEN)
		return AM_OK;
	if (err) {
		am_slot_done(conn, at);
		return AM_ERR_RESOURCE;
	}
	if (o->what == AM_REQUEST) {
		ep->statistics.requests_sent[o->class]++;
		ep->statistics.bytes_sent[o->class] += o->nbytes;
	}
	return AM_OK;
}

static int request(struct am_ep *ep, int index, const struct am_outgoing *o)
{
	struct am_conn *conn;
	int err;

	if (ep->eb->running || index < 0 || index >= ep->ntranslations)
		return AM_ERR_BAD_ARG;
	if (!ep->entry[index].inuse)
		return come_back(ep, index, o, EBADENTRY);
	conn = connection(ep, &ep->entry[index]);
	if (!conn)
		return AM_ERR_RESOURCE;
	if (__builtin_expect(conn->state != AM_READY || !conn->nfree, 0)) {
		err = wait_for_slot(ep, conn, o->async);
		if (err)
			return err;
		/* A handler may have shrunk the table. */
		if (index >= ep->ntranslations)
			return AM_ERR_BAD_ARG;
		if (!ep->entry[index].inuse || ep->entry[index].conn != conn)
			return come_back(ep, index, o, EBADENTRY);
	}
	if (conn->state == AM_BROKEN)
		return come_back(ep, index, o, conn->status);
	return send_request(ep, index, conn, o);
}

static int request_checked(ep_t ep, int index, const struct am_outgoing *o)
{
	int err;

	if (!am_initialised())
		return AM_ERR_NOT_INIT;
	if (!ep || !am_outgoing_ok(o))
		return AM_ERR_BAD_ARG;
	am_cost_begin(AM_COST_SEND_BOOKKEEPING);
	am_lock(ep->eb);
	err = request(ep, index, o);
	am_unlock(ep->eb);
	am_cost_end(AM_COST_SEND_BOOKKEEPING);
	return err;
}

int AM_RequestV(ep_t ep, int index, handler_t handler, int nargs, ...)
{
	struct am_outgoing o;
	va_list list;

	o = am_outgoing_short(AM_REQUEST, handler, nargs);
	va_start(list, nargs);
	am_outgoing_words(&o, list);
	va_end(list);
	return request_checked(ep, index, &o);
}

int AM_RequestIV(ep_t ep, int index, handler_t handler, const void *source, size_t nbytes,
		 int nargs, ...)
{
	struct am_outgoing o;
	va_list list;

	o = am_outgoing_medium(AM_REQUEST, handler, nargs, source, nbytes);
	va_start(list, nargs);
	am_outgoing_words(&o, list);
	va_end(list);
	return request_checked(ep, index, &o);
}

int AM_RequestXferV(ep_t ep, int index, uintptr_t dest_offset, handler_t handler,
		    const void *source, size_t nbytes, int async, int nargs, ...)
{
	struct am_outgoing o;
	va_list list;

	o = am_outgoing_bulk(AM_REQUEST, handler, nargs, source, nbytes, dest_offset);
	o.async = async;
	va_start(list, nargs);
	am_outgoing_words(&o, list);
	va_end(list);
	return request_checked(ep, index, &o);
}

int am_system_request(struct am_ep *ep, int index, handler_t handler, int nargs,
		      const int32_t *args, const void *data, size_t nbytes)
{
	struct am_outgoing o = am_outgoing_medium(AM_SYSTEM, handler, nargs, data, nbytes);

	if (nargs)
		memcpy(o.args, args, 4 * (size_t)nargs);
	return request_checked(ep, index, &o);
}
