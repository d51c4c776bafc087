// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Measures tag matching by the device (paper 001, F53 to F59 and E15).
 *
 * For small messages, it compares the latency with that of plain receives. For large messages,
 * which the receiver's device reads (rendezvous), it measures how much of the transfer overlaps
 * with computation.
 */
#include <stdio.h>
#include <stdbool.h>

#include "measure.h"
#include "tags.h"

#define SMALL 8
#define LARGEST (4u << 20)
#define ROUNDS 41 /* rounds per size; the result is the median */

enum { TAG_PING = 1, TAG_DATA, TAG_GO };

struct bench {
	struct raw raw; /* connection for plain messages */
	struct tags tags;
	bool client;
};

/* ---------------------------------------------------------------- small messages */

static void plain_send(struct raw *raw)
{
	struct ibv_sge sge = { .addr = (uintptr_t)raw->buffer,
			       .length = SMALL,
			       .lkey = raw->mr->lkey };
	struct ibv_send_wr wr = { .sg_list = &sge, .num_sge = 1, .opcode = IBV_WR_SEND };

	if (raw->max_inline >= SMALL)
		wr.send_flags = IBV_SEND_INLINE;
	raw_post_send(raw, &wr);
}

static void plain_await(struct raw *raw)
{
	struct ibv_wc wc;
	int n;

	do
		n = ibv_poll_cq(raw->recv_cq, 1, &wc);
	while (!n);
	if (n < 0)
		two_fail(raw->two, "polling failed");
	raw_check_wc(raw, &wc);
}

static int plain_turn(void *arg)
{
	struct bench *b = arg;

	if (b->client)
		plain_send(&b->raw);
	plain_await(&b->raw);
	if (!b->client)
		plain_send(&b->raw);
	raw_post_recv(&b->raw, 64, SMALL);
	return 0;
}

/* As with plain receives, two buffers are posted when a message arrives. */
static int tagged_turn(void *arg)
{
	struct bench *b = arg;

	if (b->client)
		tags_send(&b->tags, TAG_PING, SMALL);
	tags_await(&b->tags);
	if (!b->client)
		tags_send(&b->tags, TAG_PING, SMALL);
	tags_expect(&b->tags, TAG_PING, 0, SMALL);
	return 0;
}

static void ping_pong(struct bench *b, const char *name, int (*turn)(void *arg), unsigned long n)
{
	struct timing t;

	/* Both sides make the same number of calls in time_op(). */
	if (time_op(turn, b, n, &t))
		two_fail(b->raw.two, "no memory");
	if (b->client)
		printf("%s_ns %.1f\n", name, t.median_ns / 2);
}

/* ---------------------------------------------------------------- large messages */

/* Computes for a time that is proportional to @n. */
static void compute(uint64_t n)
{
	uint64_t x = n;

	while (n--) {
		x = x * 6364136223846793005u + 1442695040888963407u;
		__asm__ volatile("" : "+r"(x));
	}
}

static uint64_t computing_ns(uint64_t n)
{
	uint64_t since = now_ns();

	compute(n);
	return now_ns() - since;
}

/* Receives @size bytes while computing. Returns the time from the posting until both have ended. */
static uint64_t receive_ns(struct bench *b, uint32_t size, uint64_t work)
{
	uint64_t since = now_ns();

	tags_expect(&b->tags, TAG_DATA, 0, size);
	tags_send(&b->tags, TAG_GO, SMALL);
	compute(work);
	tags_await(&b->tags);
	return now_ns() - since;
}

static double median_received(struct bench *b, uint32_t size, uint64_t work)
{
	uint64_t ns[ROUNDS];

	for (int i = 0; i < ROUNDS; i++)
		ns[i] = receive_ns(b, size, work);
	return percentile(ns, ROUNDS, 50);
}

static double median_computed(uint64_t work)
{
	uint64_t ns[ROUNDS];

	for (int i = 0; i < ROUNDS; i++)
		ns[i] = computing_ns(work);
	return percentile(ns, ROUNDS, 50);
}

static void measure_overlap(struct bench *b, uint32_t size)
{
	const uint64_t sample = 1 << 16;
	double transfer, each = median_computed(sample) / (double)sample;
	uint64_t work;

	(void)median_received(b, size, 0);
	transfer = median_received(b, size, 0);
	work = (uint64_t)(transfer / each);
	printf("overlap %u %.0f %.0f", size, transfer, median_computed(work));
	printf(" %.0f\n", median_received(b, size, work));
}

static void serve_overlap(struct bench *b, uint32_t size)
{
	for (int i = 0; i < 3 * ROUNDS; i++) {
		tags_await_asleep(&b->tags);
		tags_expect(&b->tags, TAG_GO, 0, SMALL);
		tags_offer(&b->tags, TAG_DATA, size);
		tags_await_fetched(&b->tags);
	}
}

/* ------------------------------------------------------------------------- program */

static void open_both(struct bench *b, struct two *two, const struct bench_options *opt)
{
	b->client = two->client;
	raw_open(&b->raw, two, opt->device, RAW_SIGNAL * 4, 4096);
	tags_open(&b->tags, two, opt->device, LARGEST);
	raw_post_recv(&b->raw, 64, SMALL);
	raw_post_recv(&b->raw, 128, SMALL);
	tags_expect(&b->tags, TAG_PING, 0, SMALL);
	tags_expect(&b->tags, TAG_PING, 0, SMALL);
	if (!b->client)
		tags_expect(&b->tags, TAG_GO, 0, SMALL);
	two_meet(two);
}

int main(int argc, char **argv)
{
	static const struct bench_program prog = {
		.purpose =
			"Tag matching by the device, of two processes: how long a message of\n"
			"8 bytes takes, to a plain receive (plain_ns) and to a tag (tagged_ns);\n"
			"and for large ones \"overlap SIZE TRANSFER COMPUTATION BOTH\", in ns:\n"
			"vnet run -n 2 raw_tags",
		.takes = BENCH_ITERS | BENCH_CPUS | BENCH_DEVICE,
	};
	struct bench_options opt = { .iters = 50000, .cpu = { -1, -1 } };
	static struct bench b;
	struct two two;

	two_open(&two, argc, argv, &prog, &opt);
	open_both(&b, &two, &opt);
	ping_pong(&b, "plain", plain_turn, opt.iters);
	ping_pong(&b, "tagged", tagged_turn, opt.iters);
	for (uint32_t size = 65536; size <= LARGEST; size *= 2) {
		if (b.client)
			measure_overlap(&b, size);
		else
			serve_overlap(&b, size);
	}
	tags_close(&b.tags);
	raw_close(&b.raw);
	two_close(&two);
	return 0;
}
