// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#define _GNU_SOURCE
#include "bystanders.h"

#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#define GUARD_BYTE 0xa5
/* Layout of a buffer: received message at 0, sent message, area for RDMA writes and reads. */
#define SEND_AT 20480
#define AREA_AT 40960
#define AREA_SIZE 4096

/* ----------------------------------------------------------- guarded memory */

void guarded_open(struct guarded *g, const struct wish *wish)
{
	size_t length;

	side_open(&g->s, wish);
	length = g->s.length;
	g->memory = mmap(NULL, length + 2 * GUARD, PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	CHECK(g->memory != MAP_FAILED);
	memset(g->memory, GUARD_BYTE, length + 2 * GUARD);
	CHECK_EQ(ibv_dereg_mr(g->s.mr), 0);
	munmap(g->s.buffer, length);
	g->s.buffer = g->memory + GUARD;
	g->s.mr = MADE(ibv_reg_mr(g->s.pd, g->s.buffer, length, SIDE_ACCESS));
}

static void check_guard(const uint8_t *guard)
{
	for (size_t i = 0; i < GUARD; i++)
		if (guard[i] != GUARD_BYTE)
			FAIL("memory that is not registered was written");
}

void guarded_check(const struct guarded *g)
{
	check_guard(g->memory);
	check_guard(g->memory + GUARD + g->s.length);
}

void guarded_close(struct guarded *g)
{
	size_t length = g->s.length;

	guarded_check(g);
	g->s.buffer = NULL;
	side_close(&g->s);
	munmap(g->memory, length + 2 * GUARD);
}

/* ------------------------------------------------------------------ exchange */

#define END_LENGTH 1

/* Polls for a completion. Yields, because more processes poll than there are processors. */
static struct ibv_wc wait_politely(struct side *s)
{
	uint64_t since = now_ns();
	struct ibv_wc wc;

	while (!ibv_poll_cq(s->cq, 1, &wc)) {
		sched_yield();
		if (is_past(since, TIME_LIMIT * 1000000000ull))
			FAIL("bystanders do not get on");
	}
	if (wc.status)
		FAIL("bystanders: %s", ibv_wc_status_str(wc.status));
	return wc;
}

static size_t length_of(uint64_t round)
{
	static const size_t lengths[] = { 8, 80, 3000, 20000 };

	return lengths[round % 4];
}

static void send_message(struct side *s, size_t length, uint32_t mark)
{
	fill(s->buffer + SEND_AT, length, mark);
	side_post(s, IBV_WR_SEND, 1, SEND_AT, length);
}

static void check_message(const struct side *s, const struct ibv_wc *wc, uint64_t round,
			  uint32_t mark)
{
	CHECK_EQ(wc->byte_len, length_of(round));
	CHECK(is_filled(s->buffer, wc->byte_len, mark));
}

static void one_sided(struct side *s, uint32_t mark)
{
	fill(s->buffer + AREA_AT, AREA_SIZE, mark);
	side_post(s, IBV_WR_RDMA_WRITE, 1, AREA_AT, AREA_SIZE);
	CHECK_EQ(wait_politely(s).wr_id, 1);
	memset(s->buffer + AREA_AT, 0, AREA_SIZE);
	side_post(s, IBV_WR_RDMA_READ, 1, AREA_AT, AREA_SIZE);
	CHECK_EQ(wait_politely(s).wr_id, 1);
	CHECK(is_filled(s->buffer + AREA_AT, AREA_SIZE, mark));
}

static void lead(struct guarded *g, struct watch *watch)
{
	struct side *s = &g->s;
	struct ibv_wc wc;

	for (uint64_t round = 0; !__atomic_load_n(&watch->stop, __ATOMIC_ACQUIRE); round++) {
		uint32_t mark = 2 * (uint32_t)round;

		side_receive(s, 2, 0, SEND_AT);
		send_message(s, length_of(round), mark);
		for (int i = 0; i < 2; i++) {
			wc = wait_politely(s);
			if (wc.opcode == IBV_WC_RECV)
				check_message(s, &wc, round, mark + 1);
		}
		one_sided(s, mark);
		if (round % 256 == 0)
			guarded_check(g);
		__atomic_store_n(&watch->rounds, round, __ATOMIC_RELAXED);
	}
	send_message(s, END_LENGTH, 0);
	(void)wait_politely(s);
}

/* Waits for the next message, and for the completion of the last send, in either order. */
static struct ibv_wc wait_for_message(struct side *s, bool *sent)
{
	struct ibv_wc wc, message = { .opcode = IBV_WC_SEND };

	while (message.opcode != IBV_WC_RECV || !*sent) {
		wc = wait_politely(s);
		if (wc.opcode == IBV_WC_RECV)
			message = wc;
		else
			*sent = true;
	}
	return message;
}

static void follow(struct guarded *g)
{
	struct side *s = &g->s;
	bool sent = true;
	struct ibv_wc wc;

	for (uint64_t round = 0;; round++) {
		uint32_t mark = 2 * (uint32_t)round;

		wc = wait_for_message(s, &sent);
		if (wc.byte_len == END_LENGTH)
			return;
		check_message(s, &wc, round, mark);
		side_receive(s, 2, 0, SEND_AT);
		sent = false;
		send_message(s, length_of(round), mark + 1);
		if (round % 256 == 0)
			guarded_check(g);
	}
}

/* One bystander. `sock` connects it to the other bystander, not to the test process. */
struct role {
	struct watch *watch;
	bool leads;
	int sock;
};

static void body(int sock, void *arg)
{
	const struct role *role = arg;
	struct guarded g;

	guarded_open(&g, NULL);
	if (!role->leads)
		side_receive(&g.s, 2, 0, SEND_AT);
	side_meet(&g.s, role->sock);
	meet(sock);
	if (role->leads)
		lead(&g, role->watch);
	else
		follow(&g);
	/* A queue pair is destroyed only when the peer no longer needs it. */
	meet(role->sock);
	guarded_close(&g);
}

void bystanders_start(struct bystanders *b)
{
	int pair[2];

	memset(b, 0, sizeof(*b));
	b->watch = mmap(NULL, sizeof(*b->watch), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
			-1, 0);
	CHECK(b->watch != MAP_FAILED);
	CHECK_EQ(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair), 0);
	for (int i = 0; i < 2; i++) {
		struct role role = { .watch = b->watch, .leads = !i, .sock = pair[i] };

		helper_start(&b->h[i], i ? "bystander 2" : "bystander 1", body, &role);
	}
	for (int i = 0; i < 2; i++) {
		close(pair[i]);
		meet(b->h[i].sock);
	}
	bystanders_check(b);
}

void bystanders_check(struct bystanders *b)
{
	uint64_t since = now_ns();
	uint64_t rounds_made;

	while ((rounds_made = __atomic_load_n(&b->watch->rounds, __ATOMIC_RELAXED)) == b->seen) {
		sched_yield();
		if (is_past(since, TIME_LIMIT * 1000000000ull))
			FAIL("the bystanders' traffic does not flow");
	}
	b->seen = rounds_made;
}

void bystanders_stop(struct bystanders *b)
{
	bystanders_check(b);
	__atomic_store_n(&b->watch->stop, 1, __ATOMIC_RELEASE);
	for (int i = 0; i < 2; i++)
		helper_join(&b->h[i]);
	note("bystanders: %llu rounds", (unsigned long long)b->seen);
}

void bystanders_abandon(struct bystanders *b)
{
	for (int i = 0; i < 2; i++) {
		kill(b->h[i].pid, SIGKILL);
		waitpid(b->h[i].pid, NULL, 0);
		close(b->h[i].sock);
	}
}
