// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Compares the system calls that copy into another process's memory.
 *
 * The user-mode platform chooses its calls by these results: by size, by whether the last bytes
 * are a separate iovec, and by the cost of a check that the address space is still the
 * registered one.
 */
#include "measure.h"
#include "options.h"
#include "pair.h"
#include "remote.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define MAX_SIZE 65536
#define PAGE 4096
/*
 * Rounds alternate between methods, so that changes in the machine's speed affect all
 * methods equally.
 */
#define ROUNDS 5

struct raw_copy {
	const struct bench_options *opt;
	void *local;
	void *target;
	void *proof;
};

static int copy_here(void *arg)
{
	const struct remote_copy *c = arg;

	memcpy(c->remote[0].iov_base, c->local[0].iov_base, c->len);
	__asm__ volatile("" : : "r"(c->remote[0].iov_base) : "memory");
	return 0;
}

static int probe_then_process_vm_writev(void *arg)
{
	int err = remote_probe(arg);

	return err ? err : remote_process_vm_writev(arg);
}

static const struct {
	const char *name;
	int (*op)(void *copy);
	unsigned int split;
} methods[] = {
	{ "process_vm_writev", remote_process_vm_writev, REMOTE_WHOLE },
	{ "  source in two", remote_process_vm_writev, REMOTE_SPLIT_LOCAL },
	{ "  target in two", remote_process_vm_writev, REMOTE_SPLIT_REMOTE },
	{ "  a byte of proof in front", remote_process_vm_writev, REMOTE_PROOF },
	{ "  both, as RDMA writes do", remote_process_vm_writev,
	  REMOTE_PROOF | REMOTE_SPLIT_LOCAL },
	{ "  after a probe", probe_then_process_vm_writev, REMOTE_WHOLE },
	{ "pwrite to mem", remote_pwrite, REMOTE_WHOLE },
	{ "  source in two (pwritev)", remote_pwritev, REMOTE_SPLIT_LOCAL },
	{ "probe (pread of one byte)", remote_probe, REMOTE_WHOLE },
	{ "memcpy in one process", copy_here, REMOTE_WHOLE },
};

static const size_t sizes[] = { 2, 8, 64, 256, 1024, 4096, 8192, 16384, 32768, MAX_SIZE };

#define N_METHODS (sizeof(methods) / sizeof(methods[0]))
#define N_SIZES (sizeof(sizes) / sizeof(sizes[0]))

static int server(struct pair *pair, void *arg)
{
	struct raw_copy *b = arg;

	memset(b->target, 1, MAX_SIZE);
	memset(b->proof, 1, PAGE);
	if (pair_post(pair))
		return 1;
	pair_await(pair);
	return 0;
}

/* Times of a method by size and round, or the errno if it is not permitted (seccomp, Yama). */
struct result {
	uint64_t ns[N_SIZES][ROUNDS];
	int err;
};

static struct result results[N_METHODS];

static void time_method(struct raw_copy *b, struct remote_copy *copy, size_t m, size_t round)
{
	struct result *r = &results[m];
	struct timing t;

	for (size_t s = 0; s < N_SIZES && !r->err; s++) {
		remote_aim(copy, b->local, b->target, sizes[s], methods[m].split);
		r->err = time_op(methods[m].op, copy, b->opt->iters / ROUNDS, &t);
		if (!r->err)
			r->ns[s][round] = (uint64_t)t.median_ns;
	}
}

static void print_method(size_t m)
{
	struct result *r = &results[m];

	printf("%-26s", methods[m].name);
	if (r->err)
		printf(" %s", strerror(r->err));
	for (size_t s = 0; s < N_SIZES && !r->err; s++)
		printf(" %7.3f", percentile(r->ns[s], ROUNDS, 50) / 1e3);
	printf("\n");
}

static int client(struct pair *pair, void *arg)
{
	struct raw_copy *b = arg;
	struct remote_copy copy = {
		.pid = pair->peer,
		.proof_local = { b->local, 1 },
		.proof_remote = { b->proof, 1 },
	};

	memset(b->local, 2, MAX_SIZE);
	memset(b->target, 3, MAX_SIZE);
	if (pair_await(pair))
		return 1;
	copy.memfd = remote_open_mem(pair->peer);
	if (copy.memfd < 0)
		return 1;
	for (size_t round = 0; round < ROUNDS; round++) {
		for (size_t m = 0; m < N_METHODS; m++)
			time_method(b, &copy, m, round);
	}
	close(copy.memfd);

	printf("%-26s", "microseconds for bytes:");
	for (size_t s = 0; s < N_SIZES; s++)
		printf(" %7zu", sizes[s]);
	printf("\n");
	for (size_t m = 0; m < N_METHODS; m++)
		print_method(m);
	return 0;
}

int main(int argc, char **argv)
{
	static const struct bench_program prog = {
		.purpose =
			"Time of one copy into another process' memory, by method and size: median of\n"
			"five rounds, methods in turn. \"In two\": the last 8 bytes are an iovec of\n"
			"their own, so that they are stored last. \"Of proof\": an iovec in front, to a\n"
			"page that only the right address space has.",
		.takes = BENCH_ITERS | BENCH_CPUS,
	};
	struct bench_options opt = { .iters = 20000, .cpu = { -1, -1 } };
	struct raw_copy b = { .opt = &opt };
	char *mem;

	bench_parse(argc, argv, &prog, &opt);
	mem = mmap(NULL, 2 * MAX_SIZE + PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
		   -1, 0);
	if (mem == MAP_FAILED) {
		perror("mmap");
		return 1;
	}
	b.local = mem;
	b.target = mem + MAX_SIZE;
	b.proof = mem + 2 * MAX_SIZE;
	return pair_run(&opt, server, client, &b);
}
