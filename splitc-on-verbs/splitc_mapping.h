/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * A mapping of Split-C's operations onto queue pairs: what differs between messages
 * and RDMA, a file each. The processor is never this one, except of atomic(); @n is
 * not 0.
 *
 * @pending is one less for each piece that is complete, and one more for each that
 * is begun.
 */
#ifndef SPLITC_MAPPING_H
#define SPLITC_MAPPING_H

#include "splitc_core.h"

struct sc_mapping {
	const char *name;
	void (*get)(void *to, splitc_gptr from, size_t n, uint32_t *pending);
	/* @keep: @from stays as it is until it is complete. */
	void (*put)(splitc_gptr to, const void *from, size_t n, bool keep, uint32_t *pending);
	/* @from may be used again when it returns. */
	void (*store)(splitc_gptr to, const void *from, size_t n);
	/* On 4 or 8 bytes. */
	int64_t (*atomic)(splitc_gptr at, size_t size, enum sc_atomic_op op, int64_t a, int64_t b);
	/* Sees to it that what is outstanding at @proc, or at all (-1), completes while one polls. */
	void (*push)(int proc);
	/* Until all stores of this processor are in their places. */
	void (*flush_stores)(void);
	/* Bytes stored into this processor's memory in this epoch. */
	uint64_t (*stored)(void);
	/* Tells @proc that this one has come to round @round of barrier @number. */
	void (*barrier_tell)(int proc, unsigned int round, uint64_t number);
};

extern const struct sc_mapping sc_mapping_messages, sc_mapping_direct;

/* Of messages, which the direct one needs, too: for memory that cannot be registered. */
void sc_messages_get(void *to, splitc_gptr from, size_t n, uint32_t *pending);
void sc_messages_put(splitc_gptr to, const void *from, size_t n, bool keep, uint32_t *pending);
void sc_messages_store(splitc_gptr to, const void *from, size_t n);
int64_t sc_messages_atomic(splitc_gptr at, size_t size, enum sc_atomic_op op, int64_t a, int64_t b);

#endif
