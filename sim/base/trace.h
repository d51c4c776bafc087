/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* The trace of a schedule (its hash, its last entries), and the report of a violation. */
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

/* Record a node and three numbers, whose meaning depends on the kind (trace.c). */
void trace(enum trace_kind kind, u32 node, u64 a, u64 b, u64 c);
u64 trace_hash(void);
void trace_reset(void);
/* Print each entry from now on. */
void trace_loud(bool on);
/* Print the last n entries to stderr. */
void trace_last(u32 n);

/*
 * Report that an invariant does not hold. Returns to the caller; the run ends after the current
 * event. Only the first message is kept.
 */
void violated(const char *format, ...) __attribute__((format(printf, 1, 2)));
bool is_violated(void);
const char *violation(void);

#endif /* SIM_TRACE_H */
