// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* The trace: its hash, its last entries, and the first violated invariant. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/trace.h"
#include "base/event.h"
#include "base/random.h"

#define TRACE_KEPT 256

struct trace_entry {
	u64 time, step;
	u64 a, b, c;
	u32 node;
	enum trace_kind kind;
};

static struct {
	struct trace_entry kept[TRACE_KEPT];
	u64 n;
	u64 hash;
	bool loud;
	char violation[512];
} state;

/* Names of an entry and of its three numbers. */
static const struct {
	const char *name, *a, *b, *c;
} trace_names[TRACE_KINDS] = {
	[TRACE_SEND] = { "send", "to", "length", "frame" },
	[TRACE_PACKET] = { "  packet", "qp", "channel.seq", "opcode.psn" },
	[TRACE_ANSWER] = { "  answer", "code", "channel.seq", "result" },
	[TRACE_RECEIVE] = { "receive", "from", "length", "frame" },
	[TRACE_LOST] = { "lost", "to", "length", "frame" },
	[TRACE_DOUBLED] = { "doubled", "to", "length", "frame" },
	[TRACE_DAMAGED] = { "damaged", "to", "bit", "frame" },
	[TRACE_SHORTENED] = { "shortened", "to", "length", "frame" },
	[TRACE_DELAYED] = { "delayed", "to", "by", "frame" },
	[TRACE_FULL] = { "dropped-full", "at", "length", "frame" },
	[TRACE_CUT] = { "link-cut", "to", "length", "frame" },
	[TRACE_POST] = { "post", "qp", "wr", "opcode" },
	[TRACE_POST_RECEIVE] = { "post-receive", "queue", "wr", "length" },
	[TRACE_DOORBELL] = { "doorbell", "qp", "-", "-" },
	[TRACE_COMPLETION] = { "completion", "qp", "wr", "status" },
	[TRACE_RUN] = { "run", "pending", "next", "-" },
	[TRACE_ASYNC] = { "async", "kind", "number", "event" },
	[TRACE_FAULT] = { "fault", "kind", "what", "until" },
	[TRACE_QP] = { "qp", "number", "to-state", "peer" },
	[TRACE_BROKEN] = { "rule-broken", "rule", "channel", "seq" },
	[TRACE_FORGED] = { "forged", "to", "kind", "frame" },
	[TRACE_CHORE] = { "chore", "which", "with-node", "-" },
	[TRACE_STOP] = { "stops", "process", "step", "for-good" },
	[TRACE_DEATH] = { "death", "process", "-", "-" },
};

static void trace_print(FILE *to, const struct trace_entry *e)
{
	fprintf(to, "%10llu %12.3f us  node %-4u %-13s %s %llu %s %llu %s %llx\n",
		(unsigned long long)e->step, (double)e->time / 1e3, e->node,
		trace_names[e->kind].name, trace_names[e->kind].a, (unsigned long long)e->a,
		trace_names[e->kind].b, (unsigned long long)e->b, trace_names[e->kind].c,
		(unsigned long long)e->c);
}

static void trace_add(u64 x)
{
	state.hash = (state.hash ^ x) * 0x100000001b3ull;
	state.hash ^= state.hash >> 29;
}

void trace(enum trace_kind kind, u32 node, u64 a, u64 b, u64 c)
{
	struct trace_entry *e = &state.kept[state.n++ % TRACE_KEPT];

	*e = (struct trace_entry){
		.time = event_now(),
		.step = event_count(),
		.a = a,
		.b = b,
		.c = c,
		.node = node,
		.kind = kind,
	};
	trace_add(e->time);
	trace_add((u64)kind << 32 | node);
	trace_add(a);
	trace_add(b);
	trace_add(c);
	if (state.loud)
		trace_print(stdout, e);
}

u64 trace_hash(void)
{
	return random_mix(state.hash);
}

void trace_reset(void)
{
	state.n = 0;
	state.hash = 0xcbf29ce484222325ull;
	state.violation[0] = '\0';
}

void trace_loud(bool on)
{
	state.loud = on;
}

void trace_last(u32 n)
{
	u64 i = state.n;

	if (n > TRACE_KEPT)
		n = TRACE_KEPT;
	for (i = i > n ? i - n : 0; i < state.n; i++)
		trace_print(stderr, &state.kept[i % TRACE_KEPT]);
}

void violated(const char *format, ...)
{
	va_list args;

	if (state.violation[0])
		return;
	va_start(args, format);
	vsnprintf(state.violation, sizeof(state.violation), format, args);
	va_end(args);
}

bool is_violated(void)
{
	return state.violation[0] != '\0';
}

const char *violation(void)
{
	return state.violation;
}
