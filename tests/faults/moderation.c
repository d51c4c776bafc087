// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Tests the moderation of completion events by count and by time (ibv_modify_cq(3)). An event
 * that is due by time must also come if nothing else happens on the device.
 */
#include <poll.h>
#include <unistd.h>

#include "side.h"

#define PERIOD_US 300

static bool event_comes(struct side *s, int ms)
{
	struct pollfd pfd = { .fd = s->channel->fd, .events = POLLIN };
	struct ibv_cq *cq;
	void *cq_context;

	if (poll(&pfd, 1, ms) != 1)
		return false;
	CHECK_EQ(ibv_get_cq_event(s->channel, &cq, &cq_context), 0);
	CHECK(cq == s->cq);
	ibv_ack_cq_events(cq, 1);
	return true;
}

static void moderate(struct side *s, uint16_t count, uint16_t period)
{
	struct ibv_modify_cq_attr attr = {
		.attr_mask = IBV_CQ_ATTR_MODERATE,
		.moderate = { .cq_count = count, .cq_period = period },
	};

	CHECK_EQ(ibv_modify_cq(s->cq, &attr), 0);
}

static void send_one(struct side s[2], uint64_t n)
{
	side_receive(&s[1], n, 0, 64);
	side_post(&s[0], IBV_WR_SEND, n, 0, 64);
	(void)side_expect(&s[0], n, IBV_WC_SUCCESS);
}

/* One completion, fewer than the count: its event comes, but not before the period has passed. */
static void by_time(struct side s[2], uint64_t count)
{
	uint64_t since;

	moderate(&s[1], 1000, PERIOD_US);
	for (uint64_t n = 0; n < count; n++) {
		CHECK_EQ(ibv_req_notify_cq(s[1].cq, 0), 0);
		since = now_ns();
		send_one(s, n);
		CHECK(event_comes(&s[1], TIME_LIMIT * 1000));
		CHECK(is_past(since, PERIOD_US * 1000ull - 1));
		(void)side_expect(&s[1], n, IBV_WC_SUCCESS);
	}
}

/* The event comes with the third completion, as moderate() asks. */
static void by_number(struct side s[2])
{
	moderate(&s[1], 3, 0);
	CHECK_EQ(ibv_req_notify_cq(s[1].cq, 0), 0);
	for (uint64_t n = 0; n < 3; n++) {
		CHECK(!event_comes(&s[1], 0));
		send_one(s, n);
	}
	CHECK(event_comes(&s[1], TIME_LIMIT * 1000));
	for (uint64_t n = 0; n < 3; n++)
		(void)side_expect(&s[1], n, IBV_WC_SUCCESS);
}

int main(void)
{
	struct side s[2];

	alarm(4 * TIME_LIMIT);
	pair_open(s, &(struct wish){ .events = true });
	note("by time");
	by_time(s, 300);
	note("by number");
	by_number(s);
	pair_close(s);
	return 0;
}
