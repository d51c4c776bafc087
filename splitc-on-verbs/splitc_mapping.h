/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The interface of a mapping of Split-C's operations onto queue pairs.
 *
 * There are two, one file each: messages and RDMA (direct). The operand is never on this
 * processor, except for atomic(). @n is not 0.
 *
 * @pending is incremented for each piece that is started, and decremented when it is
 * complete.
 */
#ifndef SPLITC_MAPPING_H
#define SPLITC_MAPPING_H

#include "splitc_core.h"

struct sc_mapping {
	const char *name;
	void (*get)(void *to, splitc_gptr from, size_t n, uint32_t *pending);
	/* @keep: @from stays unchanged until the put is complete. */
	void (*put)(splitc_gptr to, const void *from, size_t n, bool keep, uint32_t *pending);
	/* @from may be reused when it returns. */
	void (*store)(splitc_gptr to, const void *from, size_t n);
	/* Operands of 4 or 8 bytes. */
	int64_t (*atomic)(splitc_gptr at, size_t size, enum sc_atomic_op op, int64_t a, int64_t b);
	/* Makes sure that all operations to @proc (-1: to all) will be completed by polling. */
	void (*push)(int proc);
	/* Waits until all stores of this processor are complete at their targets. */
	void (*flush_stores)(void);
	/* Number of bytes stored into this processor's memory in this epoch. */
	uint64_t (*stored)(void);
	/* Tells @proc that this processor has reached round @round of barrier @number. */
	void (*barrier_tell)(int proc, unsigned int round, uint64_t number);
};

extern const struct sc_mapping sc_mapping_messages, sc_mapping_direct;

/* The messages mapping. The direct mapping also uses it, for memory that cannot be registered. */
void sc_messages_get(void *to, splitc_gptr from, size_t n, uint32_t *pending);
void sc_messages_put(splitc_gptr to, const void *from, size_t n, bool keep, uint32_t *pending);
void sc_messages_store(splitc_gptr to, const void *from, size_t n);
int64_t sc_messages_atomic(splitc_gptr at, size_t size, enum sc_atomic_op op, int64_t a, int64_t b);

#endif
