// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Incast: many to one, over a switch that drops frames when a queue is full. Compares adaptive
 * senders, which use fewer channels after losses, with senders that always use all.
 */
#include "bench.h"

#define MOST 32

static void one_switch(struct cost *cost)
{
	cost->star_ports = MOST + 1;
}

static struct crowd measure(u32 n, u32 adaptive)
{
	const struct cluster cluster = {
		.fabric = FABRIC_ETHERNET,
		.costs = "costs.now",
		.tune = one_switch,
		.settings = { .payload = 4096,
			      .window = 1 << 20,
			      .ack_unit = 1,
			      .ack_delay = 50,
			      .channels = 64,
			      .rto_min = 200,
			      .rto_max = 500000,
			      .unreachable = 3000,
			      .loiter = 64,
			      .sequence_bits = 32,
			      .adaptive = adaptive,
			      .piggyback = 1 },
	};
	const struct flow client = {
		.size = 65536,
		.reply = 16,
		.window = 4,
		.from = 100 * MS,
		.until = 10100 * MS,
	};

	return crowd_run(cluster, n, &client);
}

static void run(struct report *r)
{
	static const u32 clients[] = { 1, 2, 4, 8, 16, 32 };
	u32 i, n = sizeof(clients) / sizeof(clients[0]);

	r->title = "many clients to one server, over a switch that drops";
	r->published = "a sender that adapts degrades gracefully (no figure)";
	r->columns = 7;
	r->column[0] = "clients";
	r->column[1] = "MB/s in all";
	r->column[2] = "slowest/fastest";
	r->column[3] = "round trip us";
	r->column[4] = "fixed: MB/s";
	r->column[5] = "fixed: share";
	r->column[6] = "fixed: us";
	r->plots = 2;
	r->plot[0] = 1;
	r->plot[1] = 4;
	for (i = 0; i < n; i++) {
		struct crowd on = measure(clients[i], 1), off = measure(clients[i], 0);
		double row[7] = { clients[i],    on.bandwidth, on.share,   on.latency,
				  off.bandwidth, off.share,    off.latency };

		report_row(r, NULL, row);
	}
	report_verdict(r,
		       "32 clients have %.2f of what one has when senders adapt, and %.2f when all "
		       "use their 64 channels whatever happens",
		       r->cell[n - 1][1] / r->cell[0][1], r->cell[n - 1][4] / r->cell[0][4]);
}

const struct experiment experiment_incast = { "incast", "channels that adapt, many to one", run };
