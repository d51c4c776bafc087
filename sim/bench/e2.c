// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * E2 (000): cost of each part of the protocol, in round-trip time and gap.
 *
 * Protection is not measured: keys and tags are checked with each frame, and the cost model has
 * one cost for all processing of a received frame. Acknowledgements do not add to the round
 * trip, as they are sent and received while the hosts poll. If they are piggybacked on the next
 * message, the round trip is longer: a request then completes no earlier than its reply arrives.
 */
#include "bench.h"

enum part {
	/* Baseline: acknowledgements and rounds of the NIC processor cost no time. */
	PART_NOTHING,
	PART_ANSWERS,
	/* With the costs of acknowledgements, and of the rounds that serve the timers. */
	PART_TIMERS,
};

static const struct variant {
	const char *label;
	enum part part;
	u32 unit, piggyback;
} variants[] = {
	{ "baseline", PART_NOTHING, 1, 0 }, { "+ answers", PART_ANSWERS, 1, 0 },
	{ "+ timers", PART_TIMERS, 1, 0 },  { "with data", PART_TIMERS, 0, 1 },
	{ "every 3", PART_TIMERS, 3, 1 },   { "every 16", PART_TIMERS, 16, 1 },
};

#define VARIANTS (sizeof(variants) / sizeof(variants[0]))

static void without_answers(struct cost *cost)
{
	cost->ack_tx = 0;
	cost->ack_rx = 0;
	cost->nic_run = 0;
}

static void without_timers(struct cost *cost)
{
	cost->nic_run = 0;
}

static void (*const without[])(struct cost *cost) = {
	[PART_NOTHING] = without_answers,
	[PART_ANSWERS] = without_timers,
};

/*
 * Only operations of the NIC cost time, because in AM-II, the NIC determined the gap. There is no
 * DMA, which short messages did not need in AM-II.
 *
 * With the costs of a host, the host determines the gap, and there are two regimes. With few
 * outstanding messages, the host posts and polls one message while the NIC sends another. With
 * many, the gap is longer: the NIC sends all posted messages, and then receives acknowledgements
 * faster than the host polls them. So the host empties its CQ only when it can post a whole
 * window, and host and NIC work in turn instead of in parallel.
 */
static void only_the_nic(struct cost *cost)
{
	cost->post = 0;
	cost->post_recv = 0;
	cost->poll = 0;
	cost->poll_empty = 0;
	cost->dma = 0;
	cost->dma_rate = 1e6;
}

static void gap_nothing(struct cost *cost)
{
	only_the_nic(cost);
	without_answers(cost);
}

static void gap_answers(struct cost *cost)
{
	only_the_nic(cost);
	without_timers(cost);
}

static void (*const gap_of[])(struct cost *cost) = {
	[PART_NOTHING] = gap_nothing,
	[PART_ANSWERS] = gap_answers,
	[PART_TIMERS] = only_the_nic,
};

static struct flow run_flow(const struct variant *v, void (*tune)(struct cost *), u32 window,
			    u32 reply)
{
	struct cluster cluster = {
		.nodes = 2,
		.polled = true,
		.fabric = FABRIC_MYRINET,
		.costs = "costs.now",
		.tune = tune,
		.settings = { .payload = 4096,
			      .window = 65536,
			      .ack_unit = v->unit,
			      .ack_delay = 50,
			      .channels = 64,
			      .rto_min = 5000,
			      .rto_max = 500000,
			      .unreachable = 3000,
			      .loiter = 64,
			      .sequence_bits = 32,
			      .adaptive = 0,
			      .piggyback = v->piggyback },
	};
	struct flow flow = { .client_node = 0,
			     .server_node = 1,
			     .size = 16,
			     .reply = reply,
			     .window = window,
			     .from = 2 * MS,
			     .until = 20 * MS };

	cluster_make(&cluster);
	flows_run(&flow, 1);
	flows_free(&flow, 1);
	return flow;
}

static void measure(struct report *report, const struct variant *v)
{
	struct flow round = run_flow(v, v->part == PART_TIMERS ? NULL : without[v->part], 1, 16);
	struct flow stream = run_flow(v, gap_of[v->part], 32, 0);
	struct flow exchange = run_flow(v, gap_of[v->part], 32, 16);
	double cells[4] = { 0, flow_latency(&round), 1e6 / flow_rate(&stream),
			    1e6 / flow_rate(&exchange) };

	report_row(report, v->label, cells);
}

static void run(struct report *r)
{
	double base, answers, timers;
	u32 i;

	r->title = "protocol parts: round trip and gap of small messages";
	r->published = "reliability adds most, then protection; timers not measurable (us lost)";
	r->columns = 4;
	r->column[0] = "parts";
	r->column[1] = "round trip us";
	r->column[2] = "gap us";
	r->column[3] = "with reply us";
	r->plots = 2;
	r->plot[0] = 2;
	r->plot[1] = 3;
	for (i = 0; i < VARIANTS; i++)
		measure(r, &variants[i]);
	base = r->cell[0][2];
	answers = r->cell[1][2] - base;
	timers = r->cell[2][2] - r->cell[1][2];
	report_verdict(r,
		       "answers add %.2f us (%.0f %%) to the gap, timers %.2f us; collected by 16, "
		       "answers add %.2f us; protection is not told apart by the cost model",
		       answers, 100 * answers / base, timers, r->cell[5][2] - base - timers);
}

const struct experiment experiment_e2 = { "E2", "ablation of protocol parts", run };
