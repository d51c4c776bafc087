// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* E16 (001, extension): collection size, the number of frames that one acknowledgement covers. */
#include "bench.h"

static double goodput(u32 unit, double loss)
{
	struct cluster cluster = {
		.nodes = 2,
		.polled = true,
		.fabric = FABRIC_ETHERNET,
		.costs = "costs.emp",
		.loss = loss,
		.settings = { .payload = 1400,
			      .window = 65536,
			      .ack_unit = unit,
			      .ack_delay = 500,
			      .channels = 64,
			      .rto_min = 2000,
			      .rto_max = 200000,
			      .unreachable = 3000,
			      .loiter = 64,
			      .sequence_bits = 32,
			      .adaptive = 1,
			      .piggyback = 1 },
	};
	struct flow flow = { .client_node = 0,
			     .server_node = 1,
			     .size = 10240,
			     .window = 8,
			     .from = 20 * MS,
			     .until = 220 * MS };
	double mbits;

	cluster_make(&cluster);
	flows_run(&flow, 1);
	mbits = flow_bandwidth(&flow) * 8;
	flows_free(&flow, 1);
	return mbits;
}

static void run(struct report *r)
{
	static const u32 units[] = { 1, 2, 3, 4, 6, 8, 16, 32, 64 };
	u32 i;

	r->title =
		"collection size: frames for each answer, 10 KB messages in frames of 1,500 bytes";
	r->published = "3 was chosen; no figure. 880 Mb/s at best";
	r->columns = 4;
	r->column[0] = "frames";
	r->column[1] = "Mb/s";
	r->column[2] = "Mb/s, 0.1% loss";
	r->column[3] = "Mb/s, 1% loss";
	r->plots = 2;
	r->plot[0] = 1;
	r->plot[1] = 3;
	for (i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
		double cells[4] = { units[i], goodput(units[i], 0), goodput(units[i], 0.001),
				    goodput(units[i], 0.01) };

		report_row(r, NULL, cells);
	}
	report_verdict(
		r,
		"an answer for every 3 frames has %.2f times the goodput of one for each; for every 16, %.2f",
		r->cell[2][1] / r->cell[0][1], r->cell[6][1] / r->cell[0][1]);
}

const struct experiment experiment_e16 = { "E16", "collection size", run };
