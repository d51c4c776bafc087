// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* E4 (000): permutation traffic: circular shift, neighbour, bisection. */
#include "bench.h"

#define NODES 32

static u32 shift(u32 i)
{
	return (i + 1) % NODES;
}

static u32 neighbour(u32 i)
{
	return i ^ 1;
}

static u32 bisect(u32 i)
{
	return (i + NODES / 2) % NODES;
}

static void measure(struct report *report, const char *label, u32 (*partner)(u32))
{
	static struct flow flows[NODES];
	struct cluster cluster = { .nodes = NODES, .fabric = FABRIC_MYRINET, .costs = "costs.now" };
	double cells[4] = { 0 };
	u32 i, round;

	for (round = 0; round < 2; round++) {
		for (i = 0; i < NODES; i++)
			flows[i] = (struct flow){
				.client_node = i,
				.server_node = partner(i),
				.server = i,
				.size = round ? 16 : 8192,
				.reply = 16,
				.window = round ? 1 : 4,
				.from = 5 * MS,
				.until = 30 * MS,
			};
		cluster_make(&cluster);
		flows_run(flows, NODES);
		for (i = 0; i < NODES; i++) {
			if (round)
				cells[3] += flow_latency(&flows[i]) / NODES;
			else
				cells[2] += flow_bandwidth(&flows[i]);
		}
		flows_free(flows, NODES);
	}
	cells[1] = cells[2] / NODES;
	report_row(report, label, cells);
}

static void run(struct report *r)
{
	r->title = "permutations of 32 nodes over a fat tree with half of its bandwidth on top";
	r->published = "shift and neighbour near peak; bisect saturates the links between switches";
	r->columns = 4;
	r->column[0] = "pattern";
	r->column[1] = "MB/s each";
	r->column[2] = "aggregate MB/s";
	r->column[3] = "round trip us";
	r->plots = 1;
	r->plot[0] = 1;
	measure(r, "cshift", shift);
	measure(r, "neighbour", neighbour);
	measure(r, "bisect", bisect);
	report_verdict(r, "bisect has %.2f of neighbour's bandwidth, cshift %.2f",
		       r->cell[2][1] / r->cell[1][1], r->cell[0][1] / r->cell[1][1]);
}

const struct experiment experiment_e4 = { "E4", "permutations over a fat tree", run };
