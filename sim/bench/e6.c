// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* E6 (000): many clients to one server, bulk transfers. */
#include "bench.h"

#define MOST 32

static void one_switch(struct cost *cost)
{
	cost->star_ports = MOST + 1;
}

static struct crowd measure(u32 n, void (*tune)(struct cost *cost))
{
	const struct cluster cluster = { .fabric = FABRIC_MYRINET,
					 .costs = "costs.now",
					 .tune = tune };
	const struct flow client = {
		.size = 8192,
		.reply = 16,
		.window = 4,
		.from = 100 * MS,
		.until = 600 * MS,
	};

	return crowd_run(cluster, n, &client);
}

static void run(struct report *r)
{
	static const u32 clients[] = { 1, 2, 3, 4, 6, 8, 12, 16, 24, 32 };
	u32 i, n = sizeof(clients) / sizeof(clients[0]);

	/*
	 * Links with back-pressure share bandwidth between inputs: each switch serves its inputs
	 * in turn, regardless of the number of clients behind each. To measure the fairness of
	 * the transport itself, connect all clients to one switch.
	 */
	r->title = "many clients to one server: bulk";
	r->published = "sustained MB/s; each client has a fair share";
	r->columns = 7;
	r->column[0] = "clients";
	r->column[1] = "MB/s in all";
	r->column[2] = "slowest/fastest";
	r->column[3] = "round trip us";
	r->column[4] = "tree: MB/s";
	r->column[5] = "tree: share";
	r->column[6] = "tree: us";
	r->plots = 2;
	r->plot[0] = 1;
	r->plot[1] = 4;
	for (i = 0; i < n; i++) {
		struct crowd star = measure(clients[i], one_switch);
		struct crowd tree = measure(clients[i], NULL);
		double row[7] = { clients[i],     star.bandwidth, star.share,  star.latency,
				  tree.bandwidth, tree.share,     tree.latency };

		report_row(r, NULL, row);
	}
	report_verdict(
		r,
		"at one switch, the slowest of 8 clients has %.3f of the fastest one's share, of 32 "
		"%.3f, and all have %.2f of what 8 have; over a tree of 8-port switches %.3f, %.3f "
		"and %.2f: each switch's inputs take turns, however many are behind one",
		r->cell[5][2], r->cell[9][2], r->cell[9][1] / r->cell[5][1], r->cell[5][5],
		r->cell[9][5], r->cell[9][4] / r->cell[5][4]);
}

const struct experiment experiment_e6 = { "E6", "many to one, bulk", run };
