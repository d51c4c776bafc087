// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Fairness: many queue pairs between two nodes send as fast as they can. Checks how much each
 * has sent when the first one is done, and that all finish.
 *
 *   link_share PAIRS MESSAGES one|both SHARE COMMAND...
 * COMMAND, such as "vnet run --node B", starts the other end. One end or both send, and each
 * message has its number. SHARE is the least allowed ratio of the slowest to the fastest.
 */
#include "other_end.h"
#include "side.h"

#define MOST_PAIRS 256u
/* Outstanding sends and receives of each queue pair. */
#define WINDOW 8u
#define RECEIVES 16u
#define BYTES 1024u
/* Words of a message. The first and the last identify it. */
#define WORDS (BYTES / sizeof(uint32_t))
/* Words of the command line before COMMAND. */
#define OPTIONS 5

static struct side sides[MOST_PAIRS];
static struct {
	uint32_t posted, sent, received;
} done[MOST_PAIRS];
static uint32_t pairs;
/* Messages that each queue pair of this end sends and receives. */
static uint32_t to_send, to_receive;
static double least_share;

static uint32_t *room(const struct side *s, uint32_t slot)
{
	return (uint32_t *)(void *)(s->buffer + (size_t)slot * BYTES);
}

static void receive_one(uint32_t i, uint32_t slot)
{
	side_receive(&sides[i], WINDOW + slot, (size_t)(WINDOW + slot) * BYTES, BYTES);
}

static void send_one(uint32_t i, uint32_t slot)
{
	uint32_t *words = room(&sides[i], slot);

	words[0] = i;
	words[WORDS - 1] = done[i].posted++;
	side_post(&sides[i], IBV_WR_SEND, slot, (size_t)slot * BYTES, BYTES);
}

static void take(uint32_t i, const struct ibv_wc *wc)
{
	const uint32_t *words = room(&sides[i], (uint32_t)wc->wr_id);

	if (wc->status != IBV_WC_SUCCESS)
		FAIL("queue pair %u: status %d (%s) after %u sent and %u received", i,
		     (int)wc->status, ibv_wc_status_str(wc->status), done[i].sent,
		     done[i].received);
	if (wc->wr_id < WINDOW) {
		done[i].sent++;
		if (done[i].posted < to_send)
			send_one(i, (uint32_t)wc->wr_id);
		return;
	}
	CHECK_EQ(words[0], i);
	CHECK_EQ(words[WORDS - 1], done[i].received);
	done[i].received++;
	receive_one(i, (uint32_t)wc->wr_id - WINDOW);
}

/* Number of messages that the slowest queue pair has sent. */
static uint32_t least(void)
{
	uint32_t n = to_send;

	for (uint32_t i = 0; i < pairs; i++)
		n = done[i].sent < n ? done[i].sent : n;
	return n;
}

/* Polls all CQs; returns false if all were empty. */
static bool look(void)
{
	struct ibv_wc wc[4];
	bool any = false;

	for (uint32_t i = 0; i < pairs; i++) {
		int n = ibv_poll_cq(sides[i].cq, 4, wc);

		CHECK(n >= 0);
		for (int j = 0; j < n; j++)
			take(i, &wc[j]);
		any |= n > 0;
	}
	return any;
}

static uint32_t ended(void)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < pairs; i++)
		n += done[i].sent == to_send && done[i].received == to_receive;
	return n;
}

static bool one_has_sent_all(void)
{
	for (uint32_t i = 0; i < pairs; i++)
		if (done[i].sent == to_send)
			return true;
	return false;
}

static void run(const char *who)
{
	uint64_t heard = now_ns(), begin = heard;
	double share = -1;

	while (ended() < pairs) {
		if (look())
			heard = now_ns();
		else if (is_past(heard, TIME_LIMIT * 1000000000ull))
			FAIL("nothing comes; %u of %u queue pairs are done, the slowest sent %u of %u",
			     ended(), pairs, least(), to_send);
		if (share < 0 && to_send && one_has_sent_all())
			share = (double)least() / to_send;
	}
	if (!to_send)
		return;
	printf("%s: %u queue pairs sent %u messages each in %.0f ms: slowest / fastest = %.2f\n",
	       who, pairs, to_send, (double)(now_ns() - begin) / 1e6, share);
	fflush(stdout);
	if (share < least_share)
		FAIL("%s: a share of %.2f, not at least %.2f", who, share, least_share);
}

static void open_all(int sock)
{
	const struct wish wish = { .length = (size_t)(WINDOW + RECEIVES) * BYTES,
				   .depth = 2 * (WINDOW + RECEIVES),
				   .timeout = 18,
				   .context = open_device() };

	for (uint32_t i = 0; i < pairs; i++) {
		side_open(&sides[i], &wish);
		for (uint32_t slot = 0; slot < RECEIVES; slot++)
			receive_one(i, slot);
		side_meet(&sides[i], sock);
	}
}

static void one_end(const char *who, int sock)
{
	open_all(sock);
	for (uint32_t i = 0; i < pairs; i++)
		for (uint32_t slot = 0; slot < WINDOW && to_send; slot++)
			send_one(i, slot);
	run(who);
	/* If one end left at once, acknowledgements that the other waits for might be lost. */
	meet(sock);
	for (uint32_t i = 0; i < pairs; i++)
		side_close(&sides[i]);
}

static void start_other(int sock, void *arg)
{
	char *const *argv = arg;
	char *program[OPTIONS + 1] = {};

	memcpy(program, argv, OPTIONS * sizeof(*program));
	become_other_end(sock, argv + OPTIONS, program);
}

static void read_options(char **argv, bool called)
{
	uint32_t messages = (uint32_t)strtoul(argv[2], NULL, 0);
	bool both = !strcmp(argv[3], "both");

	pairs = (uint32_t)strtoul(argv[1], NULL, 0);
	CHECK(pairs && pairs <= MOST_PAIRS && messages >= WINDOW);
	CHECK(both || !strcmp(argv[3], "one"));
	to_send = both || !called ? messages : 0;
	to_receive = both || called ? messages : 0;
	least_share = strtod(argv[4], NULL);
}

int main(int argc, char **argv)
{
	struct helper other;
	bool called;

	CHECK(argc > OPTIONS);
	called = !strcmp(argv[OPTIONS], "--end");
	read_options(argv, called);
	if (called) {
		CHECK_EQ(argc, OPTIONS + 2);
		one_end("called", atoi(argv[OPTIONS + 1]));
		return 0;
	}
	helper_start(&other, "called", start_other, argv);
	one_end("caller", other.sock);
	helper_join(&other);
	return 0;
}
