// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* E25 (002, extension): goodput and latency over the loss rate. */
#include "bench.h"

struct outcome {
	double goodput, median, tail;
};

static struct outcome measure(enum fabric_kind fabric, double loss)
{
	struct cluster cluster = { .nodes = 2, .fabric = fabric };
	struct flow bulk = { .client_node = 0,
			     .server_node = 1,
			     .size = 65536,
			     .window = 8,
			     .from = 5 * MS,
			     .until = 105 * MS };
	struct flow small = bulk;
	struct outcome out;

	if (fabric == FABRIC_ATM)
		cluster.cell_loss = loss;
	else
		cluster.loss = loss;
	cluster_make(&cluster);
	flows_run(&bulk, 1);
	out.goodput = flow_bandwidth(&bulk);
	flows_free(&bulk, 1);
	small.size = small.reply = 64;
	small.window = 1;
	cluster_make(&cluster);
	flows_run(&small, 1);
	out.median = flow_percentile(&small, 0.5);
	out.tail = flow_percentile(&small, 0.999);
	flows_free(&small, 1);
	return out;
}

static void run(struct report *r)
{
	static const double losses[] = { 0, 0.0001, 0.001, 0.005, 0.01, 0.02, 0.05, 0.1 };
	u32 i;

	r->title = "loss: 64 KB messages and small round trips, frames and cells lost";
	r->published = "unpublished";
	r->columns = 6;
	r->column[0] = "loss %";
	r->column[1] = "frames MB/s";
	r->column[2] = "median us";
	r->column[3] = "99.9 % us";
	r->column[4] = "cells MB/s";
	r->column[5] = "cell median us";
	r->plots = 1;
	r->plot[0] = 1;
	for (i = 0; i < sizeof(losses) / sizeof(losses[0]); i++) {
		struct outcome frames = measure(FABRIC_ETHERNET, losses[i]);
		struct outcome cells = measure(FABRIC_ATM, losses[i] / 100);
		double row[6] = { losses[i] * 100, frames.goodput, frames.median,
				  frames.tail,     cells.goodput,  cells.median };

		report_row(r, NULL, row);
	}
	report_verdict(
		r,
		"at 1 %% loss of frames, %.2f of the goodput without; cells are lost 100 times more seldom",
		r->cell[4][1] / r->cell[0][1]);
}

const struct experiment experiment_e25 = { "E25", "loss", run };
