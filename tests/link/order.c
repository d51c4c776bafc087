// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Order of completions: a request's completion comes before the reply to it. This holds over a
 * reliable connection, even if both ends sleep and other processes receive for them.
 *
 *   link_order ROUNDS COMMAND...
 * COMMAND, such as "vnet run --node B", starts the other end.
 */
#define _GNU_SOURCE
#include <poll.h>

#include "other_end.h"
#include "side.h"

#define BYTES 64u
#define RECEIVES 4u

enum { SENT = 1000 };

static struct side side;

static void open_end(int sock)
{
	const struct wish wish = { .length = (size_t)(RECEIVES + 1) * BYTES,
				   .depth = 4 * RECEIVES,
				   .events = true };

	side_open(&side, &wish);
	for (uint32_t slot = 0; slot < RECEIVES; slot++)
		side_receive(&side, slot, (size_t)slot * BYTES, BYTES);
	side_meet(&side, sock);
}

/* Returns the next completion; this process sleeps until it comes. */
static struct ibv_wc next(void)
{
	struct pollfd channel = { .fd = side.channel->fd, .events = POLLIN };
	struct ibv_cq *cq;
	struct ibv_wc wc;
	void *context;
	int n;

	for (;;) {
		CHECK_EQ(ibv_req_notify_cq(side.cq, 0), 0);
		n = ibv_poll_cq(side.cq, 1, &wc);
		CHECK(n >= 0);
		if (n) {
			CHECK_EQ(wc.status, IBV_WC_SUCCESS);
			return wc;
		}
		CHECK_EQ(poll(&channel, 1, TIME_LIMIT * 1000), 1);
		CHECK_EQ(ibv_get_cq_event(side.channel, &cq, &context), 0);
		ibv_ack_cq_events(cq, 1);
	}
}

static void send_one(void)
{
	side_post(&side, IBV_WR_SEND, SENT, (size_t)RECEIVES * BYTES, BYTES);
}

/* Posts the receive of a message again. */
static void received(uint64_t slot)
{
	CHECK(slot < RECEIVES);
	side_receive(&side, slot, (size_t)slot * BYTES, BYTES);
}

static void ask(uint32_t turns)
{
	uint32_t overtaken = 0;

	for (uint32_t i = 0; i < turns; i++) {
		struct ibv_wc first, second;

		send_one();
		first = next();
		second = next();
		overtaken += first.wr_id != SENT;
		received(first.wr_id == SENT ? second.wr_id : first.wr_id);
	}
	if (overtaken)
		FAIL("%u of %u answers came before the word that their request had", overtaken,
		     turns);
}

/* Does not depend on the order of completions, which the other end checks. */
static void answer(uint32_t turns)
{
	uint32_t asked = 0, sent = 0;

	while (asked < turns || sent < turns) {
		struct ibv_wc wc = next();

		if (wc.wr_id == SENT) {
			sent++;
			continue;
		}
		asked++;
		received(wc.wr_id);
		send_one();
	}
}

struct start {
	char *const *command;
	char *const *program;
};

static void start_other(int sock, void *arg)
{
	const struct start *start = arg;

	become_other_end(sock, start->command, start->program);
}

int main(int argc, char **argv)
{
	char *program[] = { argv[0], argv[1], NULL };
	struct start start = { .command = argv + 2, .program = program };
	struct helper other;
	uint32_t turns;

	CHECK(argc > 3);
	turns = (uint32_t)strtoul(argv[1], NULL, 0);
	CHECK(turns);
	if (!strcmp(argv[2], "--end")) {
		open_end(atoi(argv[3]));
		answer(turns);
		meet(atoi(argv[3]));
		side_close(&side);
		return 0;
	}
	helper_start(&other, "called", start_other, &start);
	open_end(other.sock);
	ask(turns);
	meet(other.sock);
	side_close(&side);
	helper_join(&other);
	return 0;
}
