// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Tests whether the last bytes of a copy become visible before the others.
 *
 * Programs poll the last bytes of an RDMA write, and then read the others. On x86, the
 * kernel copies by fast string instructions, which may store cache lines in any order. Only
 * the stores of two consecutive copies are ordered.
 */
#include "options.h"
#include "pair.h"
#include "remote.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define MAX_SIZE 65536

struct method {
	const char *name;
	int (*op)(void *copy);
	enum remote_split split;
};

static const struct method methods[] = {
	{ "process_vm_writev", remote_process_vm_writev, REMOTE_WHOLE },
	{ "  source in two", remote_process_vm_writev, REMOTE_SPLIT_LOCAL },
	{ "  target in two", remote_process_vm_writev, REMOTE_SPLIT_REMOTE },
	{ "pwrite to mem", remote_pwrite, REMOTE_WHOLE },
	{ "  source in two (pwritev)", remote_pwritev, REMOTE_SPLIT_LOCAL },
};

struct copy_order {
	const struct bench_options *opt;
	const struct method *method;
	size_t words;
	uint64_t *source, *target; /* private memory of the client and of the server */
	uint64_t *seen; /* shared memory: the last round that the server has checked */
};

static void await_value(const uint64_t *word, uint64_t value)
{
	while (__atomic_load_n(word, __ATOMIC_ACQUIRE) != value)
		;
}

/* Checks the words from the end: these are most likely to arrive late. */
static bool body_arrived(const struct copy_order *b, uint64_t value)
{
	for (size_t i = b->words - 1; i-- > 0;)
		if (__atomic_load_n(&b->target[i], __ATOMIC_RELAXED) != value)
			return false;
	return true;
}

static int server(struct pair *pair, void *arg)
{
	struct copy_order *b = arg;
	unsigned long early = 0;

	memset(b->target, 0, MAX_SIZE);
	if (pair_post(pair))
		return 1;
	for (uint64_t i = 1; i <= b->opt->iters; i++) {
		await_value(&b->target[b->words - 1], i);
		early += !body_arrived(b, i);
		__atomic_store_n(b->seen, i, __ATOMIC_RELEASE);
	}
	printf("%-26s %lu\n", b->method->name, early);
	fflush(stdout);
	return 0;
}

static int client(struct pair *pair, void *arg)
{
	struct copy_order *b = arg;
	struct remote_copy copy = { .pid = pair->peer };
	int err = 0;

	if (pair_await(pair))
		return 1;
	copy.memfd = remote_open_mem(pair->peer);
	if (copy.memfd < 0)
		return 1;

	remote_aim(&copy, b->source, b->target, b->words * sizeof(uint64_t), b->method->split);
	for (uint64_t i = 1; i <= b->opt->iters && !err; i++) {
		for (size_t w = 0; w < b->words; w++)
			b->source[w] = i;
		err = b->method->op(&copy);
		if (!err)
			await_value(b->seen, i);
	}
	if (err)
		fprintf(stderr, "%s: %s\n", b->method->name, strerror(err));
	close(copy.memfd);
	return err ? 1 : 0;
}

static void *map(int flags)
{
	void *mem = mmap(NULL, MAX_SIZE, PROT_READ | PROT_WRITE, flags | MAP_ANONYMOUS, -1, 0);

	if (mem != MAP_FAILED)
		return mem;
	perror("mmap");
	return NULL;
}

int main(int argc, char **argv)
{
	static const struct bench_program prog = {
		.purpose =
			"How often a process that polls the last 8 bytes of a copy into its memory\n"
			"saw them before the rest, by method. Needs a CPU for each of the two.",
		.takes = BENCH_ITERS | BENCH_SIZE | BENCH_CPUS,
		.max_size = MAX_SIZE,
	};
	struct bench_options opt = { .iters = 300000, .size = 1024, .cpu = { -1, -1 } };
	struct copy_order b = { .opt = &opt };
	int ret = 0;

	bench_parse(argc, argv, &prog, &opt);
	if (opt.size % 8 || opt.size < 16) {
		fprintf(stderr, "%s: --size wants a multiple of 8, from 16\n", argv[0]);
		return 2;
	}
	b.words = opt.size / sizeof(uint64_t);
	b.source = map(MAP_PRIVATE);
	b.target = map(MAP_PRIVATE);
	b.seen = map(MAP_SHARED);
	if (!b.source || !b.target || !b.seen)
		return 1;

	printf("%-26s rounds, of %lu of %zu bytes, that saw the end early\n", "", opt.iters,
	       opt.size);
	fflush(stdout);
	for (size_t m = 0; m < sizeof(methods) / sizeof(methods[0]); m++) {
		*b.seen = 0;
		b.method = &methods[m];
		ret |= pair_run(&opt, server, client, &b);
	}
	return ret;
}
