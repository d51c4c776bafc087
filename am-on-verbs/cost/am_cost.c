// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Reads the counted ticks in nanoseconds, and subtracts the time that the marks take. */
#include "am_cost.h"

#include <string.h>
#include <time.h>

static const struct {
	const char *name;
	enum am_cost_group group;
} steps[AM_COST_STEPS] = {
	[AM_COST_POST_SEND] = { "post send", AM_COST_VERBS },
	[AM_COST_POST_RECV] = { "post receive", AM_COST_VERBS },
	[AM_COST_RECYCLE_SEND] = { "recycle send", AM_COST_VERBS },
	[AM_COST_RECYCLE_RECV] = { "recycle receive", AM_COST_VERBS },
	[AM_COST_BUILD_SEND] = { "build send request", AM_COST_VERBS },
	[AM_COST_POLL_SEND] = { "poll CQ, send", AM_COST_EVENTS },
	[AM_COST_POLL_RECV] = { "poll CQ, receive", AM_COST_EVENTS },
	[AM_COST_SEND_BOOKKEEPING] = { "send bookkeeping", AM_COST_FLOW_CONTROL },
	[AM_COST_PROCESS_RECEIVED] = { "process received", AM_COST_FLOW_CONTROL },
	[AM_COST_COPY_DATA] = { "copy data", AM_COST_SEMANTICS },
	[AM_COST_READ_DATA] = { "read data", AM_COST_SEMANTICS },
	[AM_COST_ACT] = { "act", AM_COST_SEMANTICS },
};

static const char *const groups[AM_COST_GROUPS] = {
	[AM_COST_VERBS] = "verbs",
	[AM_COST_EVENTS] = "event notification",
	[AM_COST_FLOW_CONTROL] = "flow control",
	[AM_COST_SEMANTICS] = "semantics",
};

const char *am_cost_step_name(enum am_cost_step step)
{
	return steps[step].name;
}

enum am_cost_group am_cost_group_of(enum am_cost_step step)
{
	return steps[step].group;
}

const char *am_cost_group_name(enum am_cost_group group)
{
	return groups[group];
}

#ifdef AM_COST

#define ROUNDS 50
#define PAIRS 1000

__thread struct am_cost_counts am_cost_counts;

/* Ticks of a pair of marks: the part that the pair itself counts, and the rest. */
static __thread struct {
	double inside, outside;
	double ticks_per_ns;
} own;

static double now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static double measure_ticks_per_ns(void)
{
	double start_ns = now_ns(), ns;
	uint64_t start = am_cost_ticks();

	do {
		ns = now_ns() - start_ns;
	} while (ns < 2e7);
	return (double)(am_cost_ticks() - start) / ns;
}

/* Takes the minimum of several rounds, to exclude interrupted ones. */
static void calibrate(void)
{
	double inside, whole;

	own.ticks_per_ns = measure_ticks_per_ns();
	own.inside = own.outside = 1e18;
	for (int round = 0; round < ROUNDS; round++) {
		uint64_t start;

		memset(&am_cost_counts, 0, sizeof(am_cost_counts));
		am_cost_counts.limit = UINT64_MAX;
		am_cost_begin(AM_COST_ACT);
		start = am_cost_ticks();
		for (int i = 0; i < PAIRS; i++) {
			am_cost_begin(AM_COST_READ_DATA);
			am_cost_end(AM_COST_READ_DATA);
		}
		whole = (double)(am_cost_ticks() - start) / PAIRS;
		am_cost_end(AM_COST_ACT);
		inside = (double)am_cost_counts.sum[AM_COST_READ_DATA].ticks / PAIRS;
		if (inside < own.inside)
			own.inside = inside;
		if (whole - inside < own.outside)
			own.outside = whole - inside;
	}
}

void am_cost_reset(double limit_ns, double *own_ns)
{
	unsigned int depth = am_cost_counts.depth;

	/* Within a step, calibration would be wrong: nothing is calibrated or counted then. */
	if (!own.ticks_per_ns && !depth)
		calibrate();
	memset(&am_cost_counts, 0, sizeof(am_cost_counts));
	am_cost_counts.depth = depth;
	am_cost_counts.limit = (uint64_t)(limit_ns * own.ticks_per_ns);
	if (own_ns)
		*own_ns = (own.inside + own.outside) / own.ticks_per_ns;
}

/* The marks' time varies a little, so the result may be negative: return 0 then. */
static double net_ns(const struct am_cost_sum *sum)
{
	double ticks = (double)sum->ticks - (double)sum->calls * own.inside -
		       (double)sum->within * own.outside;

	return ticks > 0 ? ticks / own.ticks_per_ns : 0;
}

void am_cost_read(struct am_cost table[AM_COST_STEPS])
{
	const struct am_cost_counts *c = &am_cost_counts;

	for (int i = 0; i < AM_COST_STEPS; i++)
		table[i] = (struct am_cost){
			.calls = c->sum[i].calls,
			.ns = net_ns(&c->sum[i]),
			.empty = c->empty[i].calls,
			.empty_ns = net_ns(&c->empty[i]),
			.interrupted = c->interrupted[i],
		};
}

#else

void am_cost_reset(double limit_ns, double *own_ns)
{
	(void)limit_ns;
	if (own_ns)
		*own_ns = 0;
}

void am_cost_read(struct am_cost table[AM_COST_STEPS])
{
	memset(table, 0, AM_COST_STEPS * sizeof(*table));
}

#endif
