// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* E5 (000): many clients to one server, small requests. */
#include "bench.h"

static void measure(struct report *report, u32 n)
{
	const struct cluster cluster = { .fabric = FABRIC_MYRINET, .costs = "costs.now" };
	const struct flow client = {
		.size = 16,
		.reply = 16,
		.window = 4,
		.from = 10 * MS,
		.until = 110 * MS,
	};
	struct crowd all = crowd_run(cluster, n, &client);
	double cells[4] = { n, all.rate / 1e3, all.share, all.latency };

	report_row(report, NULL, cells);
}

static void run(struct report *r)
{
	static const u32 clients[] = { 1, 2, 3, 4, 6, 8, 12, 16, 24, 32 };
	u32 i, n = sizeof(clients) / sizeof(clients[0]);

	r->title = "many clients to one server: small requests";
	r->published = "sustained near 1/g; each client has a fair share";
	r->columns = 4;
	r->column[0] = "clients";
	r->column[1] = "k requests/s";
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

const struct experiment experiment_e5 = { "E5", "many to one, small requests", run };
