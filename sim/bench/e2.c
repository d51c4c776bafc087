// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* E2 (000): what each part of the protocol adds to round trip and gap. */
#include "bench.h"

static void no_reliability(struct cost *cost)
{
	/* Answers are made and taken for nothing: as if there were none. */
	cost->ack_tx = 0;
	cost->ack_rx = 0;
	cost->nic_run = 0;
}

static void no_timers(struct cost *cost)
{
	cost->nic_run = 0;
}

static void measure(struct report *report, const char *label, void (*tune)(struct cost *), u32 unit,
		    u32 piggyback)
{
	struct cluster cluster = {
		.nodes = 2,
		.polled = true,
		.fabric = FABRIC_MYRINET,
		.costs = "costs.now",
		.tune = tune,
		.settings = { .payload = 4096,
			      .window = 65536,
			      .ack_unit = unit,
			      .ack_delay = 50,
			      .channels = 64,
			      .rto_min = 5000,
			      .rto_max = 500000,
			      .unreachable = 3000,
			      .loiter = 64,
			      .sequence_bits = 32,
			      .adaptive = 0,
			      .piggyback = piggyback },
	};
	struct flow round = { .client_node = 0,
			      .server_node = 1,
			      .size = 16,
			      .reply = 16,
			      .window = 1,
			      .from = 2 * MS,
			      .until = 20 * MS };
	struct flow stream = round;
	double cells[4] = { 0 };

	cluster_make(&cluster);
	flows_run(&round, 1);
	cells[1] = flow_latency(&round);
	flows_free(&round, 1);
	stream.reply = 0;
	stream.window = 32;
	cluster_make(&cluster);
	flows_run(&stream, 1);
	cells[2] = 1e6 / flow_rate(&stream);
	flows_free(&stream, 1);
	report_row(report, label, cells);
}

static void run(struct report *r)
{
	r->title = "protocol parts: round trip and gap of small messages";
	r->published = "reliability adds most, then protection; timers not measurable (us lost)";
	r->columns = 3;
	r->column[0] = "parts";
	r->column[1] = "round trip us";
	r->column[2] = "gap us";
	r->plots = 1;
	r->plot[0] = 2;
	measure(r, "no answers", no_reliability, 64, 1);
	measure(r, "each, no timer", no_timers, 1, 0);
	measure(r, "each packet", NULL, 1, 0);
	measure(r, "with data", NULL, 1, 1);
	measure(r, "every 3", NULL, 3, 1);
	measure(r, "every 16", NULL, 16, 1);
	report_verdict(
		r,
		"answers cost %.2f us of gap, timers %.2f us; collected by 16, answers cost %.2f us",
		r->cell[2][2] - r->cell[0][2], r->cell[2][2] - r->cell[1][2],
		r->cell[5][2] - r->cell[0][2]);
}

const struct experiment experiment_e2 = { "E2", "ablation of protocol parts", run };
