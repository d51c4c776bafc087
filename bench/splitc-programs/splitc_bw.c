// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Measures the bandwidth of Split-C's bulk operations by size, from one sender.
 *
 * A stream of puts, gets or stores ends when all data have arrived.
 */
#include "bandwidth.h"
#include "side.h"

static void *mine;
static splitc_gptr theirs;

static int put(void *arg, size_t size)
{
	(void)arg;
	splitc_bulk_put(theirs, mine, size);
	return 0;
}

static int get(void *arg, size_t size)
{
	(void)arg;
	splitc_bulk_get(mine, theirs, size);
	return 0;
}

static int store(void *arg, size_t size)
{
	(void)arg;
	splitc_bulk_store(theirs, mine, size);
	return 0;
}

static int sync_all(void *arg)
{
	(void)arg;
	splitc_sync();
	return 0;
}

/* A store reports no completion to its sender. A later read is executed after it. */
static int read_behind(void *arg)
{
	(void)arg;
	splitc_read_char(theirs);
	return 0;
}

static void measure(unsigned long bytes)
{
	bandwidth_measure("put", put, sync_all, NULL, BANDWIDTH_MAX, bytes);
	bandwidth_measure("get", get, sync_all, NULL, BANDWIDTH_MAX, bytes);
	bandwidth_measure("store", store, read_behind, NULL, BANDWIDTH_MAX, bytes);
}

int main(int argc, char **argv)
{
	static const struct bench_program prog = {
		.purpose =
			"Bandwidth of Split-C by size, of two processors; --iters are the bytes of\n"
			"a stream: vnet run -n 2 splitc_bw",
		.takes = BENCH_ITERS | BENCH_CPUS,
	};
	struct bench_options opt = { .iters = 16 << 20, .cpu = { -1, -1 } };

	side_open(argc, argv, &prog, &opt);
	mine = side_memory(BANDWIDTH_MAX, &theirs);
	splitc_on_one measure(opt.iters);
	splitc_all_store_sync();
	splitc_exit(0);
}
