// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Tests that the last byte of an RDMA write becomes visible last. Programs poll that byte, and
 * then use all data. This must hold for all sizes, alignments and numbers of SGEs.
 *
 *   last_bytes processes|threads
 */
#include <pthread.h>
#include <sched.h>

#include "side.h"

#define LARGE 65536
/* Offset of the byte that answers each write. */
#define ANSWER LARGE
#define ROOM (LARGE + 4096)

struct plan {
	unsigned int large, small;
};

struct message {
	size_t start, length;
	unsigned int pieces;
};

/* Both sides compute the same message for a round. */
static struct message message_of(unsigned int round, const struct plan *plan)
{
	uint64_t x = (round + 1) * 0x9e3779b97f4a7c15ull;
	struct message m = { .length = LARGE, .pieces = 1 };

	x ^= x >> 29;
	if (round >= plan->large) {
		m.length = 9 + x % 4088;
		m.start = (x >> 16) % 4096;
	}
	m.pieces = 1 + (x >> 40) % 3;
	return m;
}

/* Consecutive rounds have different marks; 0, the initial content, is no mark. */
static uint8_t mark_of(unsigned int round)
{
	return (uint8_t)(1 + round % 251);
}

static void post_pieces(struct side *s, const struct message *m)
{
	struct ibv_sge sge[3];
	struct ibv_send_wr wr = {
		.sg_list = sge,
		.num_sge = (int)m->pieces,
		.opcode = IBV_WR_RDMA_WRITE,
		.send_flags = IBV_SEND_SIGNALED,
		.wr.rdma = { .remote_addr = s->peer.addr + m->start, .rkey = s->peer.rkey },
	};
	size_t at = m->start, left = m->length, step;
	struct ibv_send_wr *bad;

	for (unsigned int i = 0; i < m->pieces; i++) {
		step = i + 1 == m->pieces ? left : left / 3 + 1;
		sge[i] = side_sge(s, at, step);
		at += step;
		left -= step;
	}
	CHECK_EQ(ibv_post_send(s->qp, &wr, &bad), 0);
}

static void await_byte(const uint8_t *place, uint8_t value)
{
	unsigned int turns = 0;
	uint64_t since = 0;

	while (__atomic_load_n(place, __ATOMIC_ACQUIRE) != value) {
		if (++turns % (1 << 14))
			continue;
		/* The writer may need this processor. */
		sched_yield();
		since = since ? since : now_ns();
		if (is_past(since, TIME_LIMIT * 1000000000ull))
			FAIL("the last byte never came");
	}
}

static void check_bytes(const uint8_t *data, const struct message *m, uint8_t mark,
			unsigned int round)
{
	for (size_t i = 0; i < m->length; i++)
		if (data[i] != mark)
			FAIL("round %u: byte %zu of %zu (%u pieces at +%zu) came after the last",
			     round, i, m->length, m->pieces, m->start);
}

static void write_side(struct side *s, const struct plan *plan)
{
	unsigned int round, count = plan->large + plan->small;

	for (round = 0; round < count; round++) {
		struct message m = message_of(round, plan);

		memset(s->buffer + m.start, mark_of(round), m.length);
		post_pieces(s, &m);
		CHECK_EQ(side_wait(s).status, IBV_WC_SUCCESS);
		await_byte(s->buffer + ANSWER, mark_of(round));
	}
}

/*
 * Clears the last byte of the next round before the writer starts. Marks repeat, so the byte
 * could still have that mark from an earlier round.
 */
static void clear_next(struct side *s, unsigned int round, const struct plan *plan)
{
	struct message next = message_of(round + 1, plan);

	s->buffer[next.start + next.length - 1] = 0;
}

static void poll_side(struct side *s, const struct plan *plan)
{
	unsigned int round, count = plan->large + plan->small;

	for (round = 0; round < count; round++) {
		struct message m = message_of(round, plan);
		uint8_t mark = mark_of(round);

		await_byte(s->buffer + m.start + m.length - 1, mark);
		check_bytes(s->buffer + m.start, &m, mark, round);
		clear_next(s, round, plan);
		s->buffer[ANSWER] = mark;
		side_post(s, IBV_WR_RDMA_WRITE, round, ANSWER, 1);
		CHECK_EQ(side_wait(s).status, IBV_WC_SUCCESS);
	}
}

static struct plan make_plan(void)
{
	unsigned int n = rounds(in_kernel() ? 2000 : 20000, in_kernel() ? 10000 : 1000000);

	return (struct plan){ .large = n, .small = n };
}

static const struct wish wish = { .length = ROOM };

static void poller_process(int sock, void *arg)
{
	struct side s;

	side_open(&s, &wish);
	side_meet(&s, sock);
	poll_side(&s, arg);
	meet(sock);
	side_close(&s);
}

static void in_processes(struct plan *plan)
{
	struct helper poller;
	struct side s;

	helper_start(&poller, "poller", poller_process, plan);
	side_open(&s, &wish);
	side_meet(&s, poller.sock);
	write_side(&s, plan);
	meet(poller.sock);
	side_close(&s);
	helper_join(&poller);
}

static struct plan thread_plan;

static void *poller_thread(void *arg)
{
	poll_side(arg, &thread_plan);
	return NULL;
}

static void in_threads(const struct plan *plan)
{
	struct side s[2];
	pthread_t thread;

	thread_plan = *plan;
	pair_open(s, &wish);
	CHECK_EQ(pthread_create(&thread, NULL, poller_thread, &s[1]), 0);
	write_side(&s[0], plan);
	CHECK_EQ(pthread_join(thread, NULL), 0);
	pair_close(s);
}

int main(int argc, char **argv)
{
	struct plan plan = make_plan();
	uint64_t since = now_ns();

	if (argc == 2 && !strcmp(argv[1], "processes"))
		in_processes(&plan);
	else if (argc == 2 && !strcmp(argv[1], "threads"))
		in_threads(&plan);
	else
		FAIL("usage: last_bytes processes|threads");
	note("%u writes of 64 KiB and %u of 9 to 4096 bytes in %.1f s", plan.large, plan.small,
	     (double)(now_ns() - since) / 1e9);
	return 0;
}
