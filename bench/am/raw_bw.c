// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Measures the bandwidth of plain verbs, by size.
 *
 *   write    RDMA writes, without a notification
 *   notify   RDMA writes, each followed by a small message that notifies the receiver
 *   copy     copies by the CPU, for comparison
 */
#include <string.h>

#include "bandwidth.h"
#include "raw_message.h"

static void post_write(struct raw_messages *m, size_t size)
{
	struct ibv_sge sge = { (uintptr_t)m->raw.buffer, (uint32_t)size, m->raw.mr->lkey };
	struct ibv_send_wr wr = { .sg_list = &sge, .num_sge = 1, .opcode = IBV_WR_RDMA_WRITE };

	wr.wr.rdma.remote_addr = m->raw.theirs.buffer;
	wr.wr.rdma.rkey = m->raw.theirs.rkey;
	raw_post_send(&m->raw, &wr);
}

static int send_write(void *arg, size_t size)
{
	post_write(arg, size);
	return 0;
}

static int drain_writes(void *arg)
{
	struct raw_messages *m = arg;

	raw_flush_sends(&m->raw);
	return 0;
}

static int send_notified(void *arg, size_t size)
{
	post_write(arg, size);
	raw_messages_send(arg, false);
	return 0;
}

static int drain_notified(void *arg)
{
	raw_messages_drain(arg);
	return drain_writes(arg);
}

static int copy(void *arg, size_t size)
{
	struct raw_messages *m = arg;

	memcpy(m->raw.buffer + BANDWIDTH_MAX, m->raw.buffer, size);
	__asm__ volatile("" : : "r"(m->raw.buffer) : "memory");
	return 0;
}

static int nothing(void *arg)
{
	(void)arg;
	return 0;
}

static void measure(struct raw_messages *m, unsigned long bytes)
{
	int err = bandwidth_measure("write", send_write, drain_writes, m, BANDWIDTH_MAX, bytes);

	if (!err)
		err = bandwidth_measure("notify", send_notified, drain_notified, m, BANDWIDTH_MAX,
					bytes);
	if (!err)
		err = bandwidth_measure("copy", copy, nothing, m, BANDWIDTH_MAX, bytes);
	raw_check(&m->raw, "measuring", err);
	raw_messages_end(m);
}

int main(int argc, char **argv)
{
	static const struct bench_program prog = {
		.purpose =
			"Bandwidth of plain verbs by size, of two processes; --iters are the\n"
			"bytes of a stream, --size those of a notification, --window how many of\n"
			"them may be outstanding: vnet run -n 2 raw_bw",
		.takes = BENCH_ITERS | BENCH_SIZE | BENCH_CPUS | BENCH_DEVICE | BENCH_WINDOW,
		.max_size = RAW_MESSAGE_MAX,
	};
	struct bench_options opt = {
		.iters = 16 << 20, .size = 32, .cpu = { -1, -1 }, .window = 64
	};
	struct raw_messages m;
	struct two two;

	two_open(&two, argc, argv, &prog, &opt);
	raw_messages_open(&m, &two, &opt, 2 * BANDWIDTH_MAX);
	if (two.client)
		measure(&m, opt.iters);
	else
		while (raw_messages_take(&m))
			;
	raw_messages_close(&m);
	two_close(&two);
	return 0;
}
