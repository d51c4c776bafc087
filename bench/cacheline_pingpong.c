// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Measures the one-way latency of a cache line between two processes.
 *
 * It is the lower bound for communication by shared memory.
 */
#include "measure.h"
#include "options.h"
#include "pair.h"

#include <stdatomic.h>
#include <stdio.h>
#include <sys/mman.h>

struct lines {
	const struct bench_options *opt;
	/* Written by the client and by the server, respectively; on separate pages. */
	_Atomic unsigned long *ping, *pong;
};

static void await_value(_Atomic unsigned long *line, unsigned long value)
{
	/* Pairs with the peer's release store, like polling for a completion. */
	while (atomic_load_explicit(line, memory_order_acquire) != value)
		;
}

static int server(struct pair *pair, void *arg)
{
	struct lines *l = arg;

	(void)pair;
	for (unsigned long i = 1; i <= l->opt->iters; i++) {
		await_value(l->ping, i);
		atomic_store_explicit(l->pong, i, memory_order_release);
	}
	return 0;
}

static int client(struct pair *pair, void *arg)
{
	struct lines *l = arg;
	unsigned long warmup = l->opt->iters / 10;
	uint64_t start = 0;

	(void)pair;
	for (unsigned long i = 1; i <= l->opt->iters; i++) {
		if (i == warmup + 1)
			start = now_ns();
		atomic_store_explicit(l->ping, i, memory_order_release);
		await_value(l->pong, i);
	}
	printf("one_way_average_usec %.4f\n",
	       (double)(now_ns() - start) / 2e3 / (double)(l->opt->iters - warmup));
	return 0;
}

int main(int argc, char **argv)
{
	static const struct bench_program prog = {
		.purpose = "Two processes wait for each other's store to shared memory:\n"
			   "one-way time of a cache line. Needs a CPU for each of them.",
		.takes = BENCH_ITERS | BENCH_CPUS,
	};
	struct bench_options opt = { .iters = 1000000, .cpu = { -1, -1 } };
	struct lines l = { .opt = &opt };
	char *mem;

	bench_parse(argc, argv, &prog, &opt);
	mem = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (mem == MAP_FAILED) {
		perror("mmap");
		return 1;
	}
	l.ping = (void *)mem;
	l.pong = (void *)(mem + 4096);
	return pair_run(&opt, server, client, &l);
}
