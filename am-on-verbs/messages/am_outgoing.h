/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Builds a message in a send buffer from the program's arguments. */
#ifndef AM_OUTGOING_H
#define AM_OUTGOING_H

#include <stdarg.h>
#include <string.h>

#include "cost/am_cost.h"
#include "include/am.h"
#include "objects/am_message.h"

struct am_outgoing {
	enum am_what what;
	enum am_class class;
	bool async;
	handler_t handler;
	int nargs;
	const void *source;
	size_t nbytes;
	uintptr_t offset;
	int32_t args[AM_MAX_WORDS];
};

/*
 * o.args[] stays uninitialised here, and is filled in next. (Clearing it would cost as much
 * as sending the words.)
 */
static inline struct am_outgoing am_outgoing_bulk(enum am_what what, handler_t handler, int nargs,
						  const void *source, size_t nbytes,
						  uintptr_t offset)
{
	struct am_outgoing o;

	o.what = what;
	o.class = AM_BULK;
	o.async = false;
	o.handler = handler;
	o.nargs = nargs;
	o.source = source;
	o.nbytes = nbytes;
	o.offset = offset;
	return o;
}

static inline struct am_outgoing am_outgoing_medium(enum am_what what, handler_t handler, int nargs,
						    const void *source, size_t nbytes)
{
	struct am_outgoing o = am_outgoing_bulk(what, handler, nargs, source, nbytes, 0);

	o.class = AM_MEDIUM;
	return o;
}

static inline struct am_outgoing am_outgoing_short(enum am_what what, handler_t handler, int nargs)
{
	struct am_outgoing o = am_outgoing_bulk(what, handler, nargs, NULL, 0, 0);

	o.class = AM_SHORT;
	return o;
}

static inline void am_outgoing_words(struct am_outgoing *o, va_list list)
{
	for (int i = 0; i < o->nargs && i < AM_MAX_WORDS; i++)
		o->args[i] = va_arg(list, int32_t);
}

static inline bool am_outgoing_ok(const struct am_outgoing *o)
{
	size_t max = o->class == AM_BULK ? AM_MAX_LONG : AM_MAX_MEDIUM;

	return o->nargs >= 0 && o->nargs <= AM_MAX_WORDS && o->nbytes <= max &&
	       (o->source || !o->nbytes);
}

/* Builds the message of @o in @m. Returns its length. */
static inline size_t am_build(struct am_message *m, const struct am_outgoing *o, enum am_what what,
			      unsigned int slot, uint64_t tag)
{
	const uint64_t offset = o->offset;

	m->what = (uint8_t)what;
	m->class = (uint8_t)o->class;
	m->handler = o->handler;
	m->nargs = (uint8_t)o->nargs;
	m->nbytes = (uint32_t)o->nbytes & 0xffffff;
	m->slot = slot & 0xff;
	m->tag = tag;
	for (int i = 0; i < o->nargs; i++)
		m->args[i] = o->args[i];
	if (o->class == AM_MEDIUM && o->nbytes) {
		am_cost_begin(AM_COST_COPY_DATA);
		memcpy(am_message_tail(m), o->source, o->nbytes);
		am_cost_end(AM_COST_COPY_DATA);
	} else if (o->class == AM_BULK) {
		memcpy(am_message_tail(m), &offset, sizeof(offset));
	}
	return am_message_size(m);
}

#endif
