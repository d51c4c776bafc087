// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Flushing of queues in order, the states SQE and SQD, and the ways back to RTS. */
#include <string.h>

#include "world.h"

#define FROM 0x1000
#define TO 0x40000

static struct vnet_send_wqe put(u64 wr_id)
{
	return rdma(VNET_WR_RDMA_WRITE, wr_id, &w.p[1], TO);
}

static void expect_flushed(struct cq *cq, u64 first, u32 n)
{
	for (u32 i = 0; i < n; i++)
		expect_next(cq, first + i, VNET_WC_WR_FLUSH_ERR);
	expect_none(cq);
}

/* ------------------------------------------------------------------- flush */

static void error_flushes_both_queues_in_order(void **state)
{
	struct cq *tx = make_cq(&w.p[0], 64, 0), *rx = make_cq(&w.p[0], 64, 0);
	struct cq *cb = make_cq(&w.p[1], 64, 0);
	struct qp *a = make_qp(&w.p[0], NIC_QPT_RC, tx, rx);
	struct qp *b = make_qp(&w.p[1], NIC_QPT_RC, cb, cb);

	connect(a, b);
	for (u32 i = 0; i < 10; i++) {
		struct vnet_send_wqe wqe = wr(VNET_WR_SEND, i);

		wqe.flags = 0; /* flushed requests complete anyway */
		post_send(a, &wqe, NULL, 0);
		post_recv(a, 100 + i, NULL, 0);
	}
	ring_send(a); /* the first waits for a receive */
	assert_int_equal(to_state(a, NIC_QPS_ERR, 0), NIC_OK);
	run_for(3 * MS);
	expect_flushed(tx, 0, 10);
	expect_flushed(rx, 100, 10);
	assert_int_equal(a->sq.hdr->cons, 10);
	assert_int_equal(a->rq.hdr->cons, 10);
	assert_int_equal(state_of(b), NIC_QPS_RTS);
	/* No event, because the program requested the transition. */
	no_async();
}

/* Requests posted in the error state are flushed by the doorbell. */
static void posted_in_error(void **state)
{
	struct pair pair = make_pair(NIC_QPT_RC);
	struct vnet_send_wqe wqe = put(1);

	assert_int_equal(to_state(pair.a, NIC_QPS_ERR, 0), NIC_OK);
	run_for(3 * MS);
	send_one(pair.a, &wqe, NULL);
	expect(pair.a->scq, 1, VNET_WC_WR_FLUSH_ERR);
	post_recv(pair.a, 2, NULL, 0);
	expect(pair.a->rcq, 2, VNET_WC_WR_FLUSH_ERR);
	post_recv(pair.a, 3, NULL, 0);
	expect(pair.a->rcq, 3, VNET_WC_WR_FLUSH_ERR);
}

/* A receive whose poster did not see yet that a doorbell is needed. */
static void posted_just_before(void **state)
{
	struct pair pair = make_pair(NIC_QPT_RC);
	u64 next;

	assert_int_equal(to_state(pair.a, NIC_QPS_ERR, 0), NIC_OK);
	nic_run(&w.agent, 64, &next);
	pair.a->rq.hdr->need_doorbell = 0; /* as the poster read it before */
	post_recv(pair.a, 2, NULL, 0);
	pair.a->rq.hdr->need_doorbell = 1;
	run_for(3 * MS);
	expect(pair.a->rcq, 2, VNET_WC_WR_FLUSH_ERR);
}

/* A failed request completes first, then those behind it are flushed. */
static void failure_then_flush(void **state)
{
	struct pair pair = make_pair(NIC_QPT_RC);
	struct sge from = sge(&w.p[0], FROM, 8);

	for (u32 i = 0; i < 8; i++) {
		struct vnet_send_wqe wqe = put(i);

		wqe.flags = i < 4 ? VNET_WR_SIGNALED : 0;
		if (i == 3)
			wqe.rdma.rkey = 77;
		post_send(pair.a, &wqe, &from, 1);
		post_recv(pair.a, 50 + i, NULL, 0);
	}
	ring_send(pair.a);
	for (u32 i = 0; i < 3; i++)
		expect_next(pair.a->scq, i, VNET_WC_SUCCESS);
	expect_next(pair.a->scq, 3, VNET_WC_REM_ACCESS_ERR);
	for (u32 i = 4; i < 8; i++)
		expect_next(pair.a->scq, i, VNET_WC_WR_FLUSH_ERR);
	run_for(2 * MS);
	expect_flushed(pair.a->rcq, 50, 8);
}

/* Two queue pairs put each other into the error state: each flushes its own queues. */
static void crossing_errors(void **state)
{
	struct pair pair = make_pair(NIC_QPT_RC);
	struct vnet_send_wqe wqe = put(1);
	struct sge a = sge(&w.p[0], FROM, 8), b = sge(&w.p[1], FROM, 8);

	wqe.rdma.rkey = 77;
	post_send(pair.a, &wqe, &a, 1);
	post_send(pair.b, &wqe, &b, 1);
	post_recv(pair.a, 2, NULL, 0);
	post_recv(pair.b, 2, NULL, 0);
	ring_send(pair.a);
	ring_send(pair.b);
	run_for(3 * MS);
	expect_next(pair.a->scq, 1, VNET_WC_REM_ACCESS_ERR);
	expect(pair.a->scq, 2, VNET_WC_WR_FLUSH_ERR);
	expect_next(pair.b->scq, 1, VNET_WC_WR_FLUSH_ERR);
	expect(pair.b->scq, 2, VNET_WC_WR_FLUSH_ERR);
}

/* A stopped process holds the CQ's lock: the flush continues afterwards. */
static void flush_deferred(void **state)
{
	struct cq *tx = make_cq(&w.p[0], 64, 0), *rx = make_cq(&w.p[0], 64, 0);
	struct qp *qp = make_qp(&w.p[0], NIC_QPT_RC, tx, rx);

	bring_up(qp, qp->qpn + 1);
	for (u32 i = 0; i < 4; i++) {
		struct vnet_send_wqe wqe = put(i);

		post_send(qp, &wqe, NULL, 0);
		post_recv(qp, 10 + i, NULL, 0);
	}
	w.agent.cq[tx->cqn - 1].lock = 7;
	w.agent.cq[rx->cqn - 1].lock = 7;
	assert_int_equal(to_state(qp, NIC_QPS_ERR, 0), NIC_OK);
	run_for(3 * MS);
	expect_none(tx);
	expect_none(rx);
	w.agent.cq[tx->cqn - 1].lock = 0;
	run_for(3 * MS);
	expect_flushed(tx, 0, 4);
	w.agent.cq[rx->cqn - 1].lock = 0;
	run_for(3 * MS);
	expect_flushed(rx, 10, 4);
}

static void error_then_reset_then_work(void **state)
{
	struct pair pair = make_pair(NIC_QPT_RC);
	struct vnet_send_wqe wqe = put(1);

	for (u32 i = 0; i < 3; i++) {
		assert_int_equal(to_state(pair.a, NIC_QPS_ERR, 0), NIC_OK);
		post_recv(pair.a, 9, NULL, 0);
		run_for(3 * MS);
		expect(pair.a->rcq, 9, VNET_WC_WR_FLUSH_ERR);
		assert_int_equal(to_state(pair.a, NIC_QPS_RESET, 0), NIC_OK);
		bring_up(pair.a, pair.b->qpn);
		send_one(pair.a, &wqe, NULL);
		expect(pair.a->scq, 1, VNET_WC_SUCCESS);
		assert_int_equal(pair.a->rq.hdr->need_doorbell, 0);
	}
}

/* ------------------------------------------------------------ SQE, and back */

static void send_queue_error(u8 type)
{
	struct pair pair = make_pair(type);
	struct vnet_send_wqe bad = wr(VNET_WR_RDMA_READ, 1), good = wr(VNET_WR_SEND, 2);
	struct sge to = sge(&w.p[0], TO, 100), to_b = sge(&w.p[1], TO, 100);
	struct vnet_send_wqe back = wr(VNET_WR_SEND, 5);

	if (type == NIC_QPT_UD) {
		memcpy(good.ud.dgid, w.agent.hdr->gid[1], 16);
		good.ud.sgid_index = 1;
		good.ud.remote_qkey = TEST_QKEY;
		back.ud = good.ud;
		good.ud.remote_qpn = pair.b->qpn;
		back.ud.remote_qpn = pair.a->qpn;
	}
	post_recv(pair.b, 10, &to_b, 1);
	post_recv(pair.a, 11, &to, 1);
	post_send(pair.a, &good, NULL, 0);
	post_send(pair.a, &bad, NULL, 0);
	post_send(pair.a, &good, NULL, 0);
	ring_send(pair.a);
	expect_next(pair.a->scq, 2, VNET_WC_SUCCESS);
	expect_next(pair.a->scq, 1, VNET_WC_LOC_QP_OP_ERR);
	expect(pair.a->scq, 2, VNET_WC_WR_FLUSH_ERR);
	expect(pair.b->rcq, 10, VNET_WC_SUCCESS);
	assert_int_equal(state_of(pair.a), NIC_QPS_SQE);
	/* The receive queue is still usable. */
	send_one(pair.b, &back, NULL);
	expect_next(pair.b->scq, 5, VNET_WC_SUCCESS);
	expect(pair.a->rcq, 11, VNET_WC_SUCCESS);
	send_one(pair.a, &good, NULL);
	expect(pair.a->scq, 2, VNET_WC_WR_FLUSH_ERR);
	/* The send queue is usable after the transition to RTS. */
	assert_int_equal(to_state(pair.a, NIC_QPS_RTS, 0), NIC_OK);
	post_recv(pair.b, 12, &to_b, 1);
	send_one(pair.a, &good, NULL);
	expect(pair.a->scq, 2, VNET_WC_SUCCESS);
	expect(pair.b->rcq, 12, VNET_WC_SUCCESS);
}

static void send_queue_error_uc(void **state)
{
	send_queue_error(NIC_QPT_UC);
}

static void send_queue_error_ud(void **state)
{
	send_queue_error(NIC_QPT_UD);
}

/* ------------------------------------------------------------ SQD, and back */

static u8 draining(struct qp *qp)
{
	struct nic_qp_attr attr;
	u8 state, sq_draining;

	nic_qp_query(&w.agent, qp->qpn, &attr, &state, &sq_draining);
	return sq_draining;
}

static enum nic_result drain(struct qp *qp, bool notify)
{
	struct nic_qp_attr attr = good_attr(0);

	attr.en_sqd_async_notify = notify;
	return modify(qp, &attr, M_STATE | M_SQD_NOTIFY, NIC_QPS_SQD);
}

static void drained_at_once(void **state)
{
	struct pair pair = make_pair(NIC_QPT_RC);
	struct vnet_send_wqe wqe = put(1);
	struct vnet_send_wqe back = wr(VNET_WR_SEND, 5);

	assert_int_equal(drain(pair.a, true), NIC_OK);
	assert_true(async_event('q', pair.a->qpn, NIC_EVENT_SQ_DRAINED));
	assert_int_equal(draining(pair.a), 0);
	/* No request begins; messages are still received. */
	send_one(pair.a, &wqe, NULL);
	run_for(5 * MS);
	expect_none(pair.a->scq);
	post_recv(pair.a, 6, NULL, 0);
	send_one(pair.b, &back, NULL);
	expect(pair.a->rcq, 6, VNET_WC_SUCCESS);
	assert_int_equal(to_state(pair.a, NIC_QPS_RTS, 0), NIC_OK);
	run_for(2 * MS);
	expect(pair.a->scq, 1, VNET_WC_SUCCESS);
	no_async();
}

static void drained_without_event(void **state)
{
	struct pair pair = make_pair(NIC_QPT_UD);

	assert_int_equal(drain(pair.a, true), NIC_OK);
	assert_true(async_event('q', pair.a->qpn, NIC_EVENT_SQ_DRAINED));
	assert_int_equal(to_state(pair.a, NIC_QPS_RTS, 0), NIC_OK);
	assert_int_equal(drain(pair.a, false), NIC_OK);
	assert_int_equal(to_state(pair.a, NIC_QPS_RTS, 0), NIC_OK);
	/* This time the program did not request the event. */
	assert_int_equal(to_state(pair.a, NIC_QPS_SQD, 0), NIC_OK);
	no_async();
}

/* The outstanding request completes, and the next one does not begin. */
static void drains_what_is_under_way(void **state)
{
	struct pair pair = make_pair(NIC_QPT_RC);
	struct nic_qp_attr attr = good_attr(0);
	struct vnet_send_wqe wqe = wr(VNET_WR_SEND, 1);

	frame(pair.a)->attr.rnr_retry = 7;
	post_send(pair.a, &wqe, NULL, 0);
	wqe.wr_id = 2;
	post_send(pair.a, &wqe, NULL, 0);
	ring_send(pair.a);
	assert_int_equal(drain(pair.a, true), NIC_OK);
	run_for(5 * MS);
	assert_int_equal(draining(pair.a), 1);
	no_async();
	/* The path is in use and cannot be changed. */
	assert_int_equal(modify(pair.a, &attr, M_STATE | M_TIMEOUT, NIC_QPS_SQD), NIC_EINVAL);
	post_recv(pair.b, 11, NULL, 0);
	post_recv(pair.b, 12, NULL, 0);
	run_for(5 * MS);
	expect(pair.a->scq, 1, VNET_WC_SUCCESS);
	expect(pair.b->rcq, 11, VNET_WC_SUCCESS);
	assert_int_equal(draining(pair.a), 0);
	assert_true(async_event('q', pair.a->qpn, NIC_EVENT_SQ_DRAINED));
	no_async();
	attr.timeout = 9;
	assert_int_equal(modify(pair.a, &attr, M_STATE | M_TIMEOUT, NIC_QPS_SQD), NIC_OK);
	assert_int_equal(frame(pair.a)->attr.timeout, 9);
	assert_int_equal(to_state(pair.a, NIC_QPS_RTS, 0), NIC_OK);
	run_for(2 * MS);
	expect(pair.a->scq, 2, VNET_WC_SUCCESS);
	expect(pair.b->rcq, 12, VNET_WC_SUCCESS);
}

/* Executed at the peer, but the requester's completion is late. */
static void drains_a_late_completion(void **state)
{
	struct pair pair = make_pair(NIC_QPT_RC);
	struct vnet_send_wqe wqe = put(1);
	struct nic_cq *cq = &w.agent.cq[pair.a->scq->cqn - 1];

	cq->lock = 7;
	send_one(pair.a, &wqe, NULL);
	assert_int_equal(drain(pair.a, true), NIC_OK);
	assert_int_equal(draining(pair.a), 1);
	no_async();
	cq->lock = 0;
	run_for(2 * MS);
	expect(pair.a->scq, 1, VNET_WC_SUCCESS);
	assert_int_equal(draining(pair.a), 0);
	assert_true(async_event('q', pair.a->qpn, NIC_EVENT_SQ_DRAINED));
	no_async();
}

static void drain_that_ends_in_failure(void **state)
{
	struct pair pair = make_pair(NIC_QPT_RC);
	struct vnet_send_wqe wqe = wr(VNET_WR_SEND, 1);

	frame(pair.a)->attr.rnr_retry = 0;
	post_send(pair.a, &wqe, NULL, 0);
	post_send(pair.a, &wqe, NULL, 0);
	ring_send(pair.a);
	assert_int_equal(drain(pair.a, true), NIC_OK);
	run_for(50 * MS);
	expect_next(pair.a->scq, 1, VNET_WC_RNR_RETRY_EXC_ERR);
	expect(pair.a->scq, 1, VNET_WC_WR_FLUSH_ERR);
	assert_int_equal(state_of(pair.a), NIC_QPS_ERR);
}

static void back_to_rts_before_it_is_drained(void **state)
{
	struct pair pair = make_pair(NIC_QPT_RC);
	struct vnet_send_wqe wqe = wr(VNET_WR_SEND, 1);

	frame(pair.a)->attr.rnr_retry = 7;
	send_one(pair.a, &wqe, NULL);
	assert_int_equal(drain(pair.a, true), NIC_OK);
	assert_int_equal(to_state(pair.a, NIC_QPS_RTS, 0), NIC_OK);
	post_recv(pair.b, 11, NULL, 0);
	run_for(2 * MS);
	expect(pair.a->scq, 1, VNET_WC_SUCCESS);
	no_async();
}

/* ------------------------------------------------------- death of the agent */

static void flush_own(void **state)
{
	struct pair pair = make_pair(NIC_QPT_RC), other = make_pair(NIC_QPT_UD);
	struct vnet_send_wqe wqe = wr(VNET_WR_SEND, 1);

	send_one(pair.a, &wqe, NULL); /* waits */
	post_recv(pair.a, 2, NULL, 0);
	post_recv(other.a, 3, NULL, 0);
	post_recv(pair.b, 4, NULL, 0);
	pair.b->rq.hdr->cons = 0;
	for (u32 i = 0; i < 3; i++)
		nic_flush_own(&w.p[0].nic);
	expect_next(pair.a->scq, 1, VNET_WC_WR_FLUSH_ERR);
	expect(pair.a->rcq, 2, VNET_WC_WR_FLUSH_ERR);
	expect(other.a->rcq, 3, VNET_WC_WR_FLUSH_ERR);
	/* Other processes flush their own queues. */
	expect_none(pair.b->rcq);
	assert_int_equal(state_of(pair.b), NIC_QPS_RTS);
	/* Requests that are posted later are flushed, too. */
	send_one(other.a, &wqe, NULL);
	expect(other.a->scq, 1, VNET_WC_WR_FLUSH_ERR);
	post_recv(other.a, 5, NULL, 0);
	expect(other.a->rcq, 5, VNET_WC_WR_FLUSH_ERR);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(error_flushes_both_queues_in_order),
		TEST(posted_in_error),
		TEST(posted_just_before),
		TEST(failure_then_flush),
		TEST(crossing_errors),
		TEST(flush_deferred),
		TEST(error_then_reset_then_work),
		TEST(send_queue_error_uc),
		TEST(send_queue_error_ud),
		TEST(drained_at_once),
		TEST(drained_without_event),
		TEST(drains_what_is_under_way),
		TEST(drains_a_late_completion),
		TEST(drain_that_ends_in_failure),
		TEST(back_to_rts_before_it_is_drained),
		TEST(flush_own),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
