// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Measures RDMA writes and reads of plain verbs.
 *
 * For each, it prints the time from post to completion, and the time per operation in a
 * stream. Writes are inline if the device supports that.
 */
#include <stdio.h>

#include "measure.h"
#include "raw.h"

#define STREAMS 41
#define STREAM 500 /* maximum number of operations */
#define DEPTH 128
#define MAX_SIZE 4096
#define FLAG MAX_SIZE /* offset in the buffer of the byte that tells the server to exit */

struct rdma {
	struct raw raw;
	struct ibv_sge sge;
	struct ibv_send_wr wr;
};

static void open_rdma(struct rdma *r, struct two *two, const struct bench_options *opt)
{
	raw_open(&r->raw, two, opt->device, DEPTH, 2 * MAX_SIZE);
	r->sge = (struct ibv_sge){ (uintptr_t)r->raw.buffer, (uint32_t)opt->size, r->raw.mr->lkey };
	r->wr = (struct ibv_send_wr){ .sg_list = &r->sge, .num_sge = 1 };
	r->wr.wr.rdma.remote_addr = r->raw.theirs.buffer;
	r->wr.wr.rdma.rkey = r->raw.theirs.rkey;
}

static void choose(struct rdma *r, enum ibv_wr_opcode opcode)
{
	r->wr.opcode = opcode;
	r->wr.send_flags = 0;
	if (opcode == IBV_WR_RDMA_WRITE && r->sge.length <= r->raw.max_inline)
		r->wr.send_flags = IBV_SEND_INLINE;
}

static int one(void *arg)
{
	struct rdma *r = arg;

	raw_post_signaled(&r->raw, &r->wr);
	raw_flush_sends(&r->raw);
	return 0;
}

static uint64_t stream(struct rdma *r, unsigned long n)
{
	uint64_t start = now_ns();

	for (unsigned long i = 0; i < n; i++)
		raw_post_send(&r->raw, &r->wr);
	raw_flush_sends(&r->raw);
	return now_ns() - start;
}

static void measure(struct rdma *r, const char *name, enum ibv_wr_opcode opcode,
		    unsigned long iters)
{
	unsigned long n = iters < STREAM ? iters : STREAM;
	uint64_t time[STREAMS];
	struct timing t;

	choose(r, opcode);
	raw_check(&r->raw, name, time_op(one, r, iters, &t));
	stream(r, n);
	for (int i = 0; i < STREAMS; i++)
		time[i] = stream(r, n);
	printf("%s_ns %.1f\n%s_gap_ns %.1f\n", name, t.median_ns, name,
	       percentile(time, STREAMS, 50) / (double)n);
}

static void tell(struct rdma *r)
{
	r->raw.buffer[FLAG] = 1;
	r->sge.addr += FLAG;
	r->sge.length = 1;
	r->wr.wr.rdma.remote_addr += FLAG;
	choose(r, IBV_WR_RDMA_WRITE);
	one(r);
}

/* Polls, so that the CPU of the server is as busy as in benchmarks with messages. */
static void await_flag(const struct rdma *r)
{
	while (!__atomic_load_n(&r->raw.buffer[FLAG], __ATOMIC_RELAXED))
		;
}

int main(int argc, char **argv)
{
	static const struct bench_program prog = {
		.purpose = "RDMA writes and reads by plain verbs, alone and in streams, of two\n"
			   "processes: vnet run -n 2 raw_rdma",
		.takes = BENCH_ITERS | BENCH_SIZE | BENCH_CPUS | BENCH_DEVICE,
		.max_size = MAX_SIZE,
	};
	struct bench_options opt = { .iters = 20000, .size = 8, .cpu = { -1, -1 } };
	struct rdma rdma;
	struct two two;

	two_open(&two, argc, argv, &prog, &opt);
	open_rdma(&rdma, &two, &opt);
	two_meet(&two);
	if (two.client) {
		measure(&rdma, "write", IBV_WR_RDMA_WRITE, opt.iters);
		measure(&rdma, "read", IBV_WR_RDMA_READ, opt.iters);
		tell(&rdma);
	} else {
		await_flag(&rdma);
	}
	raw_close(&rdma.raw);
	two_close(&two);
	return 0;
}
