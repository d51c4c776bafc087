/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * A message of Active Messages, as it crosses the network: a header of 16
 * bytes, the words, and what belongs to its class. Little-endian, as verbs'
 * hosts of today are.
 *
 * Requests travel in slots: their sender has as many as it has credits towards
 * the destination, and a slot's buffer keeps the message until it is answered,
 * by a reply, an acknowledgement (the handler did not reply) or a refusal.
 */
#ifndef AM_MESSAGE_H
#define AM_MESSAGE_H

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum am_what { AM_REQUEST, AM_REPLY, AM_ACK, AM_REFUSAL, AM_SYSTEM, AM_NUM_WHATS };

enum am_class { AM_SHORT, AM_MEDIUM, AM_BULK, AM_NUM_CLASSES };

#define AM_MAX_WORDS 16
#define AM_MAX_MEDIUM 4096
#define AM_MAX_LONG (1 << 20)
#define AM_MAX_CREDITS 64

struct am_message {
	uint8_t what; /* enum am_what */
	uint8_t class; /* enum am_class */
	uint8_t handler; /* of a refusal: why */
	uint8_t nargs; /* words; of an acknowledgement: slots that it answers, in args[] */
	uint32_t nbytes : 24; /* of medium or bulk data */
	uint32_t slot : 8; /* the request's */
	uint64_t tag; /* of a bulk reply: 0 */
	int32_t args[]; /* then, from a multiple of 8: the bulk offset, or the medium data */
};

static_assert(sizeof(struct am_message) == 16, "the smallest message is 16 bytes");
static_assert(AM_MAX_LONG < 1 << 24, "lengths have 24 bits");

/* Where what follows the words begins. */
static inline size_t am_tail(unsigned int nargs)
{
	return sizeof(struct am_message) + 4 * ((nargs + 1u) & ~1u);
}

/* The words end a message of one word sooner, where nothing follows them. */
static inline size_t am_message_size(const struct am_message *m)
{
	switch (m->class) {
	case AM_MEDIUM:
		return am_tail(m->nargs) + m->nbytes;
	case AM_BULK:
		return am_tail(m->nargs) + 8;
	default:
		return sizeof(*m) + 4u * m->nargs;
	}
}

static inline void *am_message_tail(struct am_message *m)
{
	return (char *)m + am_tail(m->nargs);
}

static inline uint64_t am_message_offset(const struct am_message *m)
{
	uint64_t offset;

	__builtin_memcpy(&offset, (const char *)m + am_tail(m->nargs), sizeof(offset));
	return offset;
}

/* The longest message. */
#define AM_MESSAGE_MAX (sizeof(struct am_message) + 4 * AM_MAX_WORDS + AM_MAX_MEDIUM)

/* Whether what came is a message: its length is its own, its fields in range. */
static inline bool am_message_ok(const struct am_message *m, size_t length)
{
	return length >= sizeof(*m) && m->what < AM_NUM_WHATS && m->class < AM_NUM_CLASSES &&
	       m->nargs <= (m->what == AM_ACK ? AM_MAX_CREDITS : AM_MAX_WORDS) &&
	       (m->class != AM_MEDIUM || m->nbytes <= AM_MAX_MEDIUM) && m->nbytes <= AM_MAX_LONG &&
	       length == am_message_size(m);
}

#endif
