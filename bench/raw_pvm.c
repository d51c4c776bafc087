// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Measures process_vm_writev(), the system call behind an RDMA write to another process. */
#include "measure.h"
#include "options.h"
#include "pair.h"
#include "remote.h"

#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#define LATENCY_SIZE 8
#define BANDWIDTH_SIZE 65536

struct raw_pvm {
	const struct bench_options *opt;
	void *local; /* source, of the client */
	void *target; /* destination, of the server; the same address in both processes */
};

/* Sleeps while the client writes its memory. */
static int server(struct pair *pair, void *arg)
{
	struct raw_pvm *b = arg;

	memset(b->target, 1, BANDWIDTH_SIZE);
	if (pair_post(pair))
		return 1;
	pair_await(pair);
	return 0;
}

static int time_size(struct raw_pvm *b, pid_t pid, size_t size, struct timing *t)
{
	struct remote_copy copy = { .pid = pid, .memfd = -1 };
	int err;

	remote_aim(&copy, b->local, b->target, size, REMOTE_WHOLE);
	err = time_op(remote_process_vm_writev, &copy, b->opt->iters, t);
	if (err)
		fprintf(stderr, "process_vm_writev of %zu bytes: %s\n", size, strerror(err));
	return err;
}

static int client(struct pair *pair, void *arg)
{
	struct raw_pvm *b = arg;
	struct timing small, large;

	memset(b->local, 2, BANDWIDTH_SIZE);
	if (pair_await(pair) || time_size(b, pair->peer, LATENCY_SIZE, &small) ||
	    time_size(b, pair->peer, BANDWIDTH_SIZE, &large))
		return 1;

	printf("latency_usec %.4f\n", small.median_ns / 1e3);
	printf("bandwidth_mib_per_sec %.1f\n", BANDWIDTH_SIZE / large.average_ns * 1e9 / (1 << 20));
	return 0;
}

int main(int argc, char **argv)
{
	static const struct bench_program prog = {
		.purpose = "One process writes the memory of another by process_vm_writev:\n"
			   "latency of 8 bytes (median) and bandwidth at 64 KiB (average).",
		.takes = BENCH_ITERS | BENCH_CPUS,
	};
	struct bench_options opt = { .iters = 50000, .cpu = { -1, -1 } };
	struct raw_pvm b = { .opt = &opt };
	char *mem;

	bench_parse(argc, argv, &prog, &opt);
	mem = mmap(NULL, 2 * BANDWIDTH_SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
		   -1, 0);
	if (mem == MAP_FAILED) {
		perror("mmap");
		return 1;
	}
	b.local = mem;
	b.target = mem + BANDWIDTH_SIZE;
	return pair_run(&opt, server, client, &b);
}
