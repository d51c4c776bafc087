// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* E6 (000): many to one, bulk. */
#include "bench.h"

#define MOST 32

static void measure(struct report *report, u32 n)
{
	static struct flow flows[MOST];
	struct cluster cluster = { .nodes = n + 1, .fabric = FABRIC_MYRINET, .costs = "costs.now" };
	double cells[5] = { n }, least = 1e18, most = 0, rate;
	u32 i;

	for (i = 0; i < n; i++)
		flows[i] = (struct flow){
			.client_node = i + 1,
			.size = 8192,
			.reply = 16,
			.window = 4,
			.from = 100 * MS,
			.until = 600 * MS,
		};
	cluster_make(&cluster);
	flows_run(flows, n);
	for (i = 0; i < n; i++) {
		rate = flow_bandwidth(&flows[i]);
		cells[1] += rate;
		least = rate < least ? rate : least;
		most = rate > most ? rate : most;
		cells[3] += flow_latency(&flows[i]) / n;
	}
	cells[2] = most > 0 ? least / most : 0;
	flows_free(flows, n);
	report_row(report, NULL, cells);
}

static void run(struct report *r)
{
	static const u32 clients[] = { 1, 2, 3, 4, 6, 8, 12, 16, 24, 32 };
	u32 i, n = sizeof(clients) / sizeof(clients[0]);

	/*
	 * Beyond the server's own switch (star_ports), shares are the switches': each
	 * gives its inputs turns, whether one client is behind it or many.
	 */
	r->title = "many clients to one server: bulk";
	r->published = "sustained MB/s; each client has a fair share";
	r->columns = 4;
	r->column[0] = "clients";
	r->column[1] = "MB/s in all";
	r->column[2] = "slowest/fastest";
	r->column[3] = "round trip us";
	r->plots = 1;
	r->plot[0] = 1;
	for (i = 0; i < n; i++)
		measure(r, clients[i]);
	report_verdict(
		r,
		"with 8 clients, the slowest has %.3f of the fastest one's share; with 32, %.3f; "
		"all of them have %.2f of what 8 have",
		r->cell[5][2], r->cell[9][2], r->cell[9][1] / r->cell[5][1]);
}

const struct experiment experiment_e6 = { "E6", "many to one, bulk", run };
