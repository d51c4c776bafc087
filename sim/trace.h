/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * What happened: a hash of all of it, the last of it for those who look for a
 * mistake, and every line of it where that is asked for. And failing.
 */
#ifndef SIM_TRACE_H
#define SIM_TRACE_H

#include "layout/types.h"

enum trace_kind {
	TRACE_SEND,
	TRACE_PACKET,
	TRACE_ANSWER,
	TRACE_RECEIVE,
	TRACE_LOST,
	TRACE_DOUBLED,
	TRACE_DAMAGED,
	TRACE_SHORTENED,
	TRACE_DELAYED,
	TRACE_FULL,
	TRACE_CUT,
	TRACE_POST,
	TRACE_POST_RECEIVE,
	TRACE_DOORBELL,
	TRACE_COMPLETION,
	TRACE_RUN,
	TRACE_ASYNC,
	TRACE_FAULT,
	TRACE_QP,
	TRACE_BROKEN,
	TRACE_FORGED,
	TRACE_CHORE,
	TRACE_STOP,
	TRACE_DEATH,
	TRACE_KINDS,
};

/* node and three numbers, whose meaning the kind tells (trace.c). */
void trace(enum trace_kind kind, u32 node, u64 a, u64 b, u64 c);
u64 trace_hash(void);
void trace_reset(void);
/* Print each from now on. */
void trace_loud(bool on);
/* The last ones, to stderr. */
void trace_last(u32 n);

/*
 * An invariant does not hold. Returns; the run ends after this step, and the
 * first message is what it failed with.
 */
void violated(const char *format, ...) __attribute__((format(printf, 1, 2)));
bool is_violated(void);
const char *violation(void);

#endif /* SIM_TRACE_H */
