// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* E8 to E11 (000): several virtual networks at one server with seven endpoint frames. */
#include <stdlib.h>

#include "bench.h"

#define FRAMES 7
#define MOST 28
#define SLICES 12
#define SLICE_NS (2 * MS)

static struct flow flows[MOST];

/* single: one server process polls all endpoints. Otherwise each has a process, which sleeps. */
static void serve(u32 n, bool single)
{
	struct cluster cluster = {
		.nodes = n + 1, .fabric = FABRIC_MYRINET, .costs = "costs.now", .frames = FRAMES
	};
	u32 i;

	for (i = 0; i < n; i++) {
		flows[i] = (struct flow){
			.client_node = i + 1,
			.server = single ? 0 : i,
			.sleeps = !single,
			.size = 16,
			.reply = 16,
			.window = 4,
			.from = 20 * MS,
			.until = 220 * MS,
			.slice_ns = SLICE_NS,
			.nslices = SLICES,
		};
		flows[i].slice = calloc(SLICES, sizeof(*flows[i].slice));
	}
	cluster_make(&cluster);
	flows_run(flows, n);
}

static void measure(struct report *report, u32 n, bool single)
{
	double cells[6] = { n }, least = 1e18, most = 0, rate;
	const struct nic_counters *count;
	u32 i;

	serve(n, single);
	count = &sim.node[0].nic.hdr->counters;
	for (i = 0; i < n; i++) {
		rate = flow_rate(&flows[i]) / 1e3;
		cells[1] += rate;
		least = rate < least ? rate : least;
		most = rate > most ? rate : most;
	}
	cells[2] = most > 0 ? least / most : 0;
	cells[3] = (double)count->loads;
	cells[4] = (double)count->nacks_sent;
	flows_free(flows, n);
	report_row(report, NULL, cells);
}

static void columns(struct report *r)
{
	r->columns = 5;
	r->column[0] = "networks";
	r->column[1] = "k requests/s";
	r->column[2] = "slowest/fastest";
	r->column[3] = "loads";
	r->column[4] = "NACKs";
	r->plots = 1;
	r->plot[0] = 1;
}

static void run_e8(struct report *r)
{
	u32 n;

	r->title = "1 to 7 virtual networks at one single-threaded server, all resident";
	r->published = "aggregate near 1/g; each client near 1/N of it";
	columns(r);
	for (n = 1; n <= FRAMES; n++)
		measure(r, n, true);
	report_verdict(
		r,
		"7 networks have %.2f of what 2 have; the slowest client has %.3f of the fastest one's",
		r->cell[6][1] / r->cell[1][1], r->cell[6][2]);
}

static void many(struct report *r, bool single)
{
	static const u32 networks[] = { 4, 7, 8, 10, 14, 21, 28 };
	u32 i;

	columns(r);
	for (i = 0; i < sizeof(networks) / sizeof(networks[0]); i++)
		measure(r, networks[i], single);
	report_verdict(
		r,
		"28 networks in 7 frames have %.2f of what 7 have; the slowest client has %.3f of the fastest one's",
		r->cell[6][1] / r->cell[1][1], r->cell[6][2]);
}

static void run_e9(struct report *r)
{
	r->title = "more virtual networks than the 7 frames: a thread for each endpoint";
	r->published = "graceful: slightly below the peak, small variance";
	many(r, false);
}

static void run_e10(struct report *r)
{
	r->title = "more virtual networks than the 7 frames: one thread for all";
	r->published =
		"predicted: NACKs, and throughput falls sharply (no figure; there a write to an absent endpoint suspends the server)";
	many(r, true);
}

static void run_e11(struct report *r)
{
	static const char *const slice[SLICES] = { "0",  "2",  "4",  "6",  "8",  "10",
						   "12", "14", "16", "18", "20", "22" };
	static const char *const client[] = { "ms",       "client 1", "client 2",
					      "client 3", "client 4", "client 5",
					      "client 6", "client 7", "in all" };
	double cells[9];
	u32 i, j, silent = 0;

	r->title = "who is served when: 14 clients, 7 frames, requests in each 2 ms";
	r->published = "resident clients burst, the others have nothing until they are loaded";
	r->columns = 9;
	for (j = 0; j < 9; j++)
		r->column[j] = client[j];
	r->plots = 1;
	r->plot[0] = 1;
	serve(14, false);
	for (i = 0; i < SLICES; i++) {
		cells[0] = (double)i * 2;
		cells[8] = 0;
		for (j = 0; j < 14; j++) {
			if (j < 7)
				cells[1 + j] = flows[j].slice[i];
			cells[8] += flows[j].slice[i];
			silent += !flows[j].slice[i];
		}
		report_row(r, slice[i], cells);
	}
	flows_free(flows, 14);
	report_verdict(r, "in %.0f %% of the slices a client has nothing",
		       100.0 * silent / (14 * SLICES));
}

const struct experiment experiment_e8 = { "E8", "virtual networks that are all resident", run_e8 };
const struct experiment experiment_e9 = { "E9", "overcommitted frames, a thread each", run_e9 };
const struct experiment experiment_e10 = { "E10", "overcommitted frames, one thread", run_e10 };
const struct experiment experiment_e11 = { "E11", "residency over time", run_e11 };
