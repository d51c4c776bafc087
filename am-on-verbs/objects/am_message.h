/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The format of an Active Message on the network.
 *
 * A message is a header of 16 bytes, the words, and the data of its class. All fields are
 * little-endian, because hosts of verbs devices are.
 *
 * A request uses a slot: the sender has as many slots as credits for that destination. The
 * slot's send buffer keeps the request until it is answered by a reply, an acknowledgement
 * (the handler did not reply) or a refusal.
 */
#ifndef AM_MESSAGE_H
#define AM_MESSAGE_H

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "settings/am_limits.h"

enum am_what { AM_REQUEST, AM_REPLY, AM_ACK, AM_REFUSAL, AM_SYSTEM, AM_NUM_WHATS };

enum am_class { AM_SHORT, AM_MEDIUM, AM_BULK, AM_NUM_CLASSES };

struct am_message {
	uint8_t what; /* enum am_what */
	uint8_t class; /* enum am_class */
	uint8_t handler; /* of a refusal: the reason (EBAD...) */
	/* number of words; of an acknowledgement: number of slots in args[] that it answers */
	uint8_t nargs;
	uint32_t nbytes : 24; /* length of the medium or bulk data */
	uint32_t slot : 8; /* slot of the request */
	uint64_t tag; /* of a bulk reply: 0 */
	int32_t args[]; /* then, 8-byte aligned: the bulk offset, or the medium data */
};

static_assert(sizeof(struct am_message) == 16, "the smallest message is 16 bytes");
static_assert(AM_MAX_LONG < 1 << 24, "lengths have 24 bits");

/* Offset of the data behind the words. */
static inline size_t am_tail(unsigned int nargs)
{
	return sizeof(struct am_message) + 4 * ((nargs + 1u) & ~1u);
}

/* Length of a message. A short one with an odd number of words has no padding at its end. */
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

/* Length of the longest message. */
#define AM_MESSAGE_MAX (sizeof(struct am_message) + 4 * AM_MAX_WORDS + AM_MAX_MEDIUM)

/* Whether a received message is well-formed: @length matches its fields, which are in range. */
static inline bool am_message_ok(const struct am_message *m, size_t length)
{
	return length >= sizeof(*m) && m->what < AM_NUM_WHATS && m->class < AM_NUM_CLASSES &&
	       m->nargs <= (m->what == AM_ACK ? AM_MAX_CREDITS : AM_MAX_WORDS) &&
	       (m->class != AM_MEDIUM || m->nbytes <= AM_MAX_MEDIUM) && m->nbytes <= AM_MAX_LONG &&
	       length == am_message_size(m);
}

#endif
