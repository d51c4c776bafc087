// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Measures the steps of a get of 8 bytes, on both sides, by the marks of am_cost.h.
 *
 * The program waits for each get before the next one.
 */
#include <stdio.h>
#include <string.h>

#include "cost/am_cost.h"
#include "measure.h"
#include "side.h"
#include "steps.h"

static long value;
static splitc_gptr theirs;

static int get(void *arg)
{
	(void)arg;
	splitc_get_long(&value, theirs);
	splitc_sync();
	return 0;
}

/* Runs on the server: resets its counts. */
static long reset(void *table, long a, long b)
{
	(void)table, (void)a, (void)b;
	am_cost_reset(STEPS_LIMIT_NS, NULL);
	return 0;
}

static long read_table(void *table, long a, long b)
{
	(void)a, (void)b;
	am_cost_read(table);
	return 0;
}

static void measure(unsigned long iters)
{
	struct am_cost mine[AM_COST_STEPS], server[AM_COST_STEPS];
	struct timing t;
	double own_ns;

	if (time_op(get, NULL, iters / 10 + 1, &t))
		splitc_error("no memory");
	splitc_atomic(reset, theirs, 0, 0);
	am_cost_reset(STEPS_LIMIT_NS, &own_ns);
	for (unsigned long i = 0; i < iters; i++)
		get(NULL);
	am_cost_read(mine);
	splitc_atomic(read_table, theirs, 0, 0);
	splitc_bulk_read(server, theirs, sizeof(server));
	printf("mark_ns\t%.1f\nget_marked_ns\t%.1f\n", own_ns, t.median_ns);
	steps_print("client", mine, (double)iters);
	steps_print("server", server, (double)iters);
}

int main(int argc, char **argv)
{
	static const struct bench_program prog = {
		.purpose = "What each step of a get costs in Split-C: vnet run -n 2 splitc_mapcost",
		.takes = BENCH_ITERS | BENCH_CPUS,
	};
	struct bench_options opt = { .iters = 100000, .cpu = { -1, -1 } };

	side_open(argc, argv, &prog, &opt);
	/* Calibrates the marks. This is not possible in reset(), which runs within a step. */
	am_cost_reset(STEPS_LIMIT_NS, NULL);
	side_memory(sizeof(struct am_cost) * AM_COST_STEPS, &theirs);
	splitc_on_one measure(opt.iters);
	splitc_barrier();
	splitc_exit(0);
}
