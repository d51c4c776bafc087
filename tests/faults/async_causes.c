// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Tests each asynchronous event with its cause. The event names its object, occurs once, and no
 * other event occurs. Also tests the destruction of an object that has many unread events.
 */
#include <fcntl.h>
#include <unistd.h>

#include "side.h"

/* Unread events of one object: far more than a program that reads events has at a time. */
#define MANY 50

static void expect_qp_event(struct side *s, enum ibv_event_type type)
{
	struct ibv_async_event event = side_event(s);

	CHECK_EQ(event.event_type, type);
	CHECK(event.element.qp == s->qp);
}

static void expect_no_event(struct side *s)
{
	struct ibv_async_event event;

	CHECK_EQ(ibv_get_async_event(s->context, &event), -1);
	CHECK_EQ(errno, EAGAIN);
}

/* Each side has its own context, so that it reads only its own events. */
static void open_pair(struct side s[2], const struct wish *wish)
{
	pair_open(s, wish);
	for (int i = 0; i < 2; i++)
		CHECK_EQ(fcntl(s[i].context->async_fd, F_SETFL, O_NONBLOCK), 0);
}

static void close_pair(struct side s[2])
{
	expect_no_event(&s[0]);
	expect_no_event(&s[1]);
	pair_close(s);
}

/* IBV_EVENT_COMM_EST: the first message arrives while the responder is in RTR. */
static void communication_established(void)
{
	struct address address[2];
	struct side s[2];

	for (int i = 0; i < 2; i++) {
		side_open(&s[i], NULL);
		CHECK_EQ(fcntl(s[i].context->async_fd, F_SETFL, O_NONBLOCK), 0);
		address[i] = side_address(&s[i]);
	}
	side_to_rtr(&s[1], &address[0]);
	side_connect(&s[0], &address[1]);
	side_receive(&s[1], 1, 0, 8);
	side_receive(&s[1], 2, 0, 8);
	side_post(&s[0], IBV_WR_SEND, 3, 0, 8);
	(void)side_expect(&s[0], 3, IBV_WC_SUCCESS);
	(void)side_expect(&s[1], 1, IBV_WC_SUCCESS);
	expect_qp_event(&s[1], IBV_EVENT_COMM_EST);
	side_to_rts(&s[1]);
	side_post(&s[0], IBV_WR_SEND, 4, 0, 8);
	(void)side_expect(&s[0], 4, IBV_WC_SUCCESS);
	(void)side_expect(&s[1], 2, IBV_WC_SUCCESS);
	close_pair(s);
}

/* IBV_EVENT_SQ_DRAINED occurs only if en_sqd_async_notify is set. */
static void send_queue_drained(void)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_SQD, .en_sqd_async_notify = 1 };
	struct side s[2];

	open_pair(s, NULL);
	side_post(&s[0], IBV_WR_RDMA_WRITE, 1, 0, 8);
	CHECK_EQ(ibv_modify_qp(s[0].qp, &attr, IBV_QP_STATE | IBV_QP_EN_SQD_ASYNC_NOTIFY), 0);
	expect_qp_event(&s[0], IBV_EVENT_SQ_DRAINED);
	(void)side_expect(&s[0], 1, IBV_WC_SUCCESS);
	attr.qp_state = IBV_QPS_RTS;
	CHECK_EQ(ibv_modify_qp(s[0].qp, &attr, IBV_QP_STATE), 0);
	attr.qp_state = IBV_QPS_SQD;
	CHECK_EQ(ibv_modify_qp(s[0].qp, &attr, IBV_QP_STATE), 0);
	close_pair(s);
}

static void refused_access(void)
{
	struct side s[2];

	open_pair(s, NULL);
	s[0].peer.rkey ^= 1;
	side_post(&s[0], IBV_WR_RDMA_WRITE, 1, 0, 8);
	(void)side_expect(&s[0], 1, IBV_WC_REM_ACCESS_ERR);
	expect_qp_event(&s[1], IBV_EVENT_QP_ACCESS_ERR);
	close_pair(s);
}

/* A misaligned atomic. The responder has no receive whose completion could report the error. */
static void refused_request(void)
{
	struct side s[2];

	open_pair(s, NULL);
	side_post(&s[0], IBV_WR_ATOMIC_FETCH_AND_ADD, 1, 4, 8);
	(void)side_expect(&s[0], 1, IBV_WC_REM_INV_REQ_ERR);
	expect_qp_event(&s[1], IBV_EVENT_QP_REQ_ERR);
	close_pair(s);
}

/*
 * A CQ overrun, by completions that are not polled, moves the CQ and its queue pair to the
 * error state.
 */
static void overrun(void)
{
	unsigned int cq = 0, qp = 0;
	struct side s[2];

	open_pair(s, NULL);
	for (int n = 0; n <= s[1].cq->cqe; n++) {
		side_receive(&s[1], (uint64_t)n, 0, 8);
		CHECK_EQ(side_try_post(&s[0], IBV_WR_SEND, 0, 0, 8, IBV_SEND_SIGNALED), 0);
		(void)side_wait(&s[0]);
	}
	/* The two events may come in either order. */
	for (int i = 0; i < 2; i++) {
		struct ibv_async_event event = side_event(&s[1]);

		if (event.event_type == IBV_EVENT_CQ_ERR && event.element.cq == s[1].cq)
			cq++;
		else if (event.event_type == IBV_EVENT_QP_FATAL && event.element.qp == s[1].qp)
			qp++;
	}
	CHECK(cq == 1 && qp == 1);
	close_pair(s);
}

static void set_limit(struct side *s, uint32_t limit)
{
	CHECK_EQ(ibv_modify_srq(s->srq, &(struct ibv_srq_attr){ .srq_limit = limit },
				IBV_SRQ_LIMIT),
		 0);
}

static void take_one(struct side s[2])
{
	pair_send(s, 8);
}

/* IBV_EVENT_SRQ_LIMIT_REACHED occurs once for each time that the limit is armed. */
static void shared_limit(void)
{
	struct ibv_async_event event;
	struct side s[2];

	open_pair(s, &(struct wish){ .srq = true });
	side_receive(&s[1], 1, 0, 8);
	for (int i = 0; i < 2; i++) {
		set_limit(&s[1], 2);
		take_one(s);
		event = side_event(&s[1]);
		CHECK_EQ(event.event_type, IBV_EVENT_SRQ_LIMIT_REACHED);
		CHECK(event.element.srq == s[1].srq);
		take_one(s);
		expect_no_event(&s[1]);
	}
	close_pair(s);
}

static void last_shared_receive(void)
{
	struct side s[2];

	open_pair(s, &(struct wish){ .srq = true });
	qp_to_error(s[1].qp);
	expect_qp_event(&s[1], IBV_EVENT_QP_LAST_WQE_REACHED);
	close_pair(s);
}

/* Destroying an object removes its unread events, and does not wait for them. */
static void many_unread(void)
{
	struct side s[2];

	open_pair(s, &(struct wish){ .srq = true });
	side_receive(&s[1], 1, 0, 8);
	for (int i = 0; i < MANY; i++) {
		set_limit(&s[1], 2);
		take_one(s);
	}
	side_destroy_qp(&s[1]);
	side_destroy_srq(&s[1]);
	close_pair(s);
}

int main(void)
{
	alarm(4 * TIME_LIMIT);
	note("events of connections");
	communication_established();
	send_queue_drained();
	refused_access();
	refused_request();
	note("events of queues");
	overrun();
	shared_limit();
	last_shared_receive();
	note("%d events of a queue that goes", MANY);
	many_unread();
	return 0;
}
