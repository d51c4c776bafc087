// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Measures ping-pong by writes into the memory of a process that polls it.
 *
 * This is the lower bound for an RDMA write between two processes: the kernel's copy and the
 * transfer of the polled cache line.
 */
#include "measure.h"
#include "options.h"
#include "pair.h"
#include "remote.h"

#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define MESSAGE 8

struct remote_pingpong {
	const struct bench_options *opt;
	unsigned long *inbox; /* private memory of each process */
	unsigned long *outbox;
	const char *name;
	int (*op)(void *copy);
};

static int put(struct remote_pingpong *b, struct remote_copy *copy, unsigned long value)
{
	int err;

	*b->outbox = value;
	err = b->op(copy);
	if (err)
		fprintf(stderr, "%s: %s\n", b->name, strerror(err));
	return err;
}

static void await_value(struct remote_pingpong *b, unsigned long value)
{
	while (__atomic_load_n(b->inbox, __ATOMIC_ACQUIRE) != value)
		;
}

static int prepare(struct remote_pingpong *b, struct pair *pair, struct remote_copy *copy)
{
	/*
	 * Ends copy-on-write sharing of these pages with the peer, before the peer writes
	 * to them.
	 */
	*b->inbox = 0;
	*b->outbox = 0;
	copy->pid = pair->peer;
	copy->memfd = remote_open_mem(pair->peer);
	if (copy->memfd < 0)
		return -1;
	remote_aim(copy, b->outbox, b->inbox, MESSAGE, REMOTE_WHOLE);
	return pair_post(pair) || pair_await(pair) ? -1 : 0;
}

static int server(struct pair *pair, void *arg)
{
	struct remote_pingpong *b = arg;
	struct remote_copy copy;

	if (prepare(b, pair, &copy))
		return 1;
	for (unsigned long i = 1; i <= b->opt->iters; i++) {
		await_value(b, i);
		if (put(b, &copy, i))
			return 1;
	}
	return 0;
}

static int client(struct pair *pair, void *arg)
{
	struct remote_pingpong *b = arg;
	unsigned long warmup = b->opt->iters / 10;
	struct remote_copy copy;
	uint64_t start = 0;

	if (prepare(b, pair, &copy))
		return 1;
	for (unsigned long i = 1; i <= b->opt->iters; i++) {
		if (i == warmup + 1)
			start = now_ns();
		if (put(b, &copy, i))
			return 1;
		await_value(b, i);
	}
	printf("%s_one_way_usec %.4f\n", b->name,
	       (double)(now_ns() - start) / 2e3 / (double)(b->opt->iters - warmup));
	close(copy.memfd);
	return 0;
}

int main(int argc, char **argv)
{
	static const struct bench_program prog = {
		.purpose = "Two processes write 8 bytes into each other's memory, which the other\n"
			   "polls: one-way time by method. Needs a CPU for each of them.",
		.takes = BENCH_ITERS | BENCH_CPUS,
	};
	struct bench_options opt = { .iters = 200000, .cpu = { -1, -1 } };
	struct remote_pingpong b = { .opt = &opt };
	char *mem;
	int ret;

	bench_parse(argc, argv, &prog, &opt);
	mem = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (mem == MAP_FAILED) {
		perror("mmap");
		return 1;
	}
	b.inbox = (void *)mem;
	b.outbox = (void *)(mem + 4096);

	b.name = "process_vm_writev";
	b.op = remote_process_vm_writev;
	ret = pair_run(&opt, server, client, &b);
	b.name = "mem_pwrite";
	b.op = remote_pwrite;
	return pair_run(&opt, server, client, &b) || ret;
}
