// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Tests the counters of "vnet status". Each is made to change here: messages and bytes, waits
 * for receives, retries, errors, and completions by status.
 */
#include <unistd.h>

#include "side.h"

#define LENGTH 100

static void expect_counters(const struct side *s, const char *fields, const char *values)
{
	char question[256];

	snprintf(question, sizeof(question),
		 "[.devices[].qps[] | select(.qpn == %u) | %s] | tostring", s->qp->qp_num, fields);
	await_status(question, values);
}

/* Counts of the device since its creation; only this test uses it. */
static void expect_completions(const char *status, const char *count)
{
	char question[128];

	snprintf(question, sizeof(question), ".devices[].completions.%s", status);
	await_status(question, count);
}

/* "vnet status" prints a line for the queue pair that contains @words, in this order. */
static void expect_line(const struct side *s, const char *words)
{
	char command[256];

	snprintf(command, sizeof(command), "\"$VNET\" status | grep -qE '^ +%u +%s'", s->qp->qp_num,
		 words);
	/* The shell is needed for the pipe. */
	CHECK_EQ(system(command), 0); // NOLINT(cert-env33-c)
}

static void messages(void)
{
	struct side s[2];

	pair_open(s, NULL);
	for (uint64_t i = 0; i < 3; i++)
		pair_send(s, LENGTH);
	expect_counters(&s[0], ".sent_msgs, .sent_bytes, .got_msgs, .send_errors", "[3,300,0,0]");
	expect_counters(&s[1], ".sent_msgs, .got_msgs, .got_bytes, .dropped", "[0,3,300,0]");
	expect_completions("success", "6");
	expect_line(&s[0], "RC +RTS .* 3 +300 +0 +0 +0 +0 +0");
	expect_line(&s[1], "RC +RTS .* 0 +0 +3 +300 +0 +0 +0");
	pair_close(s);
}

static void waits_for_receives(void)
{
	struct side s[2];

	pair_open(s, NULL);
	side_post(&s[0], IBV_WR_SEND, 1, 0, LENGTH);
	expect_counters(&s[0], ".rnr_waits > 0, .sent_msgs", "[true,0]");
	side_receive(&s[1], 2, 0, LENGTH);
	(void)side_expect(&s[0], 1, IBV_WC_SUCCESS);
	expect_counters(&s[0], ".rnr_waits > 0, .sent_msgs, .send_errors", "[true,1,0]");
	pair_close(s);

	pair_open(s, &(struct wish){ .no_rnr_retry = true });
	side_post(&s[0], IBV_WR_SEND, 1, 0, LENGTH);
	(void)side_expect(&s[0], 1, IBV_WC_RNR_RETRY_EXC_ERR);
	expect_counters(&s[0], ".send_errors", "[1]");
	expect_completions("rnr_retry_exceeded", "1");
	pair_close(s);
}

static void retries(void)
{
	struct side s[2];

	pair_open(s, &(struct wish){ .timeout = 1, .retry_cnt = 3 });
	side_to_reset(&s[1]);
	side_post(&s[0], IBV_WR_RDMA_WRITE, 1, 0, LENGTH);
	(void)side_expect(&s[0], 1, IBV_WC_RETRY_EXC_ERR);
	expect_counters(&s[0], ".retries, .sent_msgs, .send_errors", "[3,0,1]");
	expect_completions("retry_exceeded", "1");
	expect_line(&s[0], "RC +ERR .* 0 +0 +0 +0 +0 +3 +1");
	pair_close(s);
}

static void refusals(void)
{
	struct side s[2];

	pair_open(s, NULL);
	s[0].peer.rkey ^= 1;
	side_post(&s[0], IBV_WR_RDMA_WRITE, 1, 0, LENGTH);
	(void)side_expect(&s[0], 1, IBV_WC_REM_ACCESS_ERR);
	expect_completions("remote_access", "1");
	expect_completions("flushed", "0");
	side_post(&s[0], IBV_WR_RDMA_WRITE, 2, 0, LENGTH);
	side_post(&s[0], IBV_WR_SEND, 3, 0, LENGTH);
	(void)side_expect(&s[0], 2, IBV_WC_WR_FLUSH_ERR);
	(void)side_expect(&s[0], 3, IBV_WC_WR_FLUSH_ERR);
	expect_completions("flushed", "2");
	pair_close(s);
}

int main(void)
{
	alarm(4 * TIME_LIMIT);
	messages();
	waits_for_receives();
	retries();
	refusals();
	return 0;
}
