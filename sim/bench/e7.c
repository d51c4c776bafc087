// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* E7 (000): round-trip time over the number of clients. */
#include "bench.h"

static void measure(struct report *report, u32 n)
{
	const struct cluster cluster = { .fabric = FABRIC_MYRINET, .costs = "costs.now" };
	const struct flow client = {
		.size = 16,
		.reply = 16,
		.window = 1,
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

	r->title = "round trip over the number of clients";
	r->published = "grows with each client by the gap g, exactly";
	r->columns = 4;
	r->column[0] = "clients";
	r->column[1] = "k requests/s";
	r->column[2] = "slowest/fastest";
	r->column[3] = "round trip us";
	r->plots = 1;
	r->plot[0] = 3;
	for (i = 0; i < n; i++)
		measure(r, clients[i]);
	report_verdict(r, "from 8 clients on, each one more adds %.2f us; the gap is %.2f us",
		       (r->cell[9][3] - r->cell[5][3]) / (32 - 8), 1e3 / r->cell[9][1]);
}

const struct experiment experiment_e7 = { "E7", "round trip over clients", run };
