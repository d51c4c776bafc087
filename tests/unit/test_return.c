// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Return to sender on one NIC: the status of datagrams that cannot be delivered. They complete
 * in order, with a status that says why, and the queue pair remains usable. Without return to
 * sender they complete with success.
 */
#include <string.h>

#include "world.h"

#define FROM 0x1000
#define TO 0x20000
/* Longer than a sender of datagrams stalls for a receive. */
#define LONG (5000 * MS)

static struct pair pair_that_returns(void)
{
	const struct qp_options options = { .returns = true };
	struct cq *ca = make_cq(&w.p[0], 64, 0), *cb = make_cq(&w.p[1], 64, 0);
	struct pair pair = {
		.a = make_qp_with(&w.p[0], NIC_QPT_UD, ca, ca, &options),
		.b = make_qp(&w.p[1], NIC_QPT_UD, cb, cb),
	};

	connect(pair.a, pair.b);
	return pair;
}

static struct vnet_send_wqe datagram(u64 wr_id, const struct qp *to)
{
	struct vnet_send_wqe wqe = wr(VNET_WR_SEND, wr_id);

	aim_datagram(&wqe, to);
	return wqe;
}

/* The datagram completes with this status, its data is intact, and the queue pair stays in RTS. */
static void comes_back(const struct pair *pair, const struct vnet_send_wqe *wqe, u32 length,
		       u32 status)
{
	struct sge from = sge(&w.p[0], FROM, length);
	u64 returned = w.agent.hdr->counters.returned;
	struct wc wc;

	fill(&w.p[0], FROM, length, 7);
	send_one(pair->a, wqe, &from);
	run_for(LONG);
	wc = expect(pair->a->scq, wqe->wr_id, status);
	assert_int_equal(wc.opcode, VNET_WC_SEND);
	assert_int_equal(wc.qp_num, pair->a->qpn);
	assert_true(filled(&w.p[0], FROM, length, 7));
	assert_int_equal(state_of(pair->a), NIC_QPS_RTS);
	assert_int_equal(w.agent.hdr->counters.returned, returned + 1);
	expect_none(pair->b->rcq);
}

static void arrives(const struct pair *pair, u64 wr_id)
{
	struct vnet_send_wqe wqe = datagram(wr_id, pair->b);
	struct sge from = sge(&w.p[0], FROM, 100), to = sge(&w.p[1], TO, 140);

	fill(&w.p[0], FROM, 100, (u32)wr_id);
	post_recv(pair->b, wr_id + 1000, &to, 1);
	send_one(pair->a, &wqe, &from);
	expect(pair->a->scq, wr_id, VNET_WC_SUCCESS);
	expect(pair->b->rcq, wr_id + 1000, VNET_WC_SUCCESS);
	assert_true(filled(&w.p[1], TO + VNET_GRH_SIZE, 100, (u32)wr_id));
}

static void nobody_there(void **state)
{
	struct pair pair = pair_that_returns(), rc = make_pair(NIC_QPT_RC);
	struct vnet_send_wqe wqe = datagram(1, pair.b);

	wqe.ud.remote_qpn = 0x123456;
	comes_back(&pair, &wqe, 10, VNET_WC_REM_OP_ERR);
	wqe = datagram(2, rc.b);
	comes_back(&pair, &wqe, 10, VNET_WC_REM_OP_ERR);
	wqe = datagram(3, pair.b);
	wqe.ud.dgid[15]++;
	comes_back(&pair, &wqe, 10, VNET_WC_RETRY_EXC_ERR);
	/* A group GID with the number of a queue pair. */
	wqe = datagram(4, pair.b);
	wqe.ud.dgid[0] = 0xff;
	comes_back(&pair, &wqe, 10, VNET_WC_REM_OP_ERR);
	arrives(&pair, 5);
}

static void not_ready(void **state)
{
	static const u8 states[] = { NIC_QPS_RESET, NIC_QPS_INIT };
	struct pair pair = pair_that_returns();
	struct vnet_send_wqe wqe = datagram(1, pair.b);

	for (u32 i = 0; i < 2; i++) {
		assert_int_equal(to_state(pair.b, states[i], 0), NIC_OK);
		comes_back(&pair, &wqe, 10, VNET_WC_REM_OP_ERR);
	}
	assert_int_equal(to_state(pair.b, NIC_QPS_RTR, 0), NIC_OK);
	arrives(&pair, 2);
	assert_int_equal(to_state(pair.b, NIC_QPS_ERR, 0), NIC_OK);
	comes_back(&pair, &wqe, 10, VNET_WC_REM_OP_ERR);
	assert_int_equal(nic_qp_destroy(&w.agent, pair.b->qpn), NIC_OK);
	comes_back(&pair, &wqe, 10, VNET_WC_REM_OP_ERR);
}

static void wrong_key(void **state)
{
	struct pair pair = pair_that_returns();
	struct vnet_send_wqe wqe = datagram(1, pair.b);
	struct sge to = sge(&w.p[1], TO, 140);

	post_recv(pair.b, 9, &to, 1);
	wqe.ud.remote_qkey++;
	comes_back(&pair, &wqe, 10, VNET_WC_REM_ACCESS_ERR);
}

/* A request with a controlled Q_Key sends the queue pair's own Q_Key. */
static void own_key(void **state)
{
	struct pair pair = pair_that_returns();
	struct vnet_send_wqe wqe = datagram(1, pair.b);
	u32 *of_a = &frame(pair.a)->attr.qkey, *of_b = &frame(pair.b)->attr.qkey;
	struct sge from = sge(&w.p[0], FROM, 10), to = sge(&w.p[1], TO, 140);

	post_recv(pair.b, 9, &to, 1);
	*of_b = wqe.ud.remote_qkey = 0x80010000;
	comes_back(&pair, &wqe, 10, VNET_WC_REM_ACCESS_ERR);
	*of_a = 0x80010000;
	send_one(pair.a, &wqe, &from);
	run_for(LONG);
	expect(pair.a->scq, 1, VNET_WC_SUCCESS);
	expect(pair.b->rcq, 9, VNET_WC_SUCCESS);
}

static void no_receive(void **state)
{
	struct pair pair = pair_that_returns();
	struct vnet_send_wqe wqe = datagram(1, pair.b);

	/* A queue that never had a receive is not waited for. */
	comes_back(&pair, &wqe, 10, VNET_WC_RNR_RETRY_EXC_ERR);
	arrives(&pair, 2);
	/* This queue is waited for, without success. */
	comes_back(&pair, &wqe, 10, VNET_WC_RNR_RETRY_EXC_ERR);
	arrives(&pair, 3);
}

static void receive_too_small(void **state)
{
	struct pair pair = pair_that_returns();
	struct vnet_send_wqe wqe = datagram(1, pair.b);
	struct sge to = sge(&w.p[1], TO, 139);

	post_recv(pair.b, 9, &to, 1);
	comes_back(&pair, &wqe, 100, VNET_WC_REM_INV_REQ_ERR);
}

/* An invalid receive completes with an error, and the message is lost. */
static void bad_receive(void **state)
{
	struct pair pair = pair_that_returns();
	struct vnet_send_wqe wqe = datagram(1, pair.b);
	struct sge from = sge(&w.p[0], FROM, 100), to = sge(&w.p[1], TO, 140);

	to.lkey += 2;
	post_recv(pair.b, 9, &to, 1);
	send_one(pair.a, &wqe, &from);
	expect(pair.a->scq, 1, VNET_WC_REM_OP_ERR);
	expect(pair.b->rcq, 9, VNET_WC_LOC_PROT_ERR);
	assert_int_equal(state_of(pair.b), NIC_QPS_ERR);
	assert_int_equal(state_of(pair.a), NIC_QPS_RTS);
}

/* The receiver's CQ has overrun. */
static void no_room(void **state)
{
	const struct qp_options options = { .returns = true };
	struct cq *ca = make_cq(&w.p[0], 64, 0), *cb = make_cq(&w.p[1], 1, 0);
	struct pair pair = {
		.a = make_qp_with(&w.p[0], NIC_QPT_UD, ca, ca, &options),
		.b = make_qp(&w.p[1], NIC_QPT_UD, cb, cb),
	};
	struct vnet_send_wqe wqe = datagram(1, pair.b);
	struct sge to = sge(&w.p[1], TO, 140);

	connect(pair.a, pair.b);
	for (u32 i = 0; i < 2; i++) {
		post_recv(pair.b, i, &to, 1);
		send_one(pair.a, &wqe, NULL);
		expect(pair.a->scq, 1, i ? VNET_WC_REM_OP_ERR : VNET_WC_SUCCESS);
	}
	assert_int_equal(state_of(pair.a), NIC_QPS_RTS);
}

/* Each request of a batch has its own status, in posting order. */
static void in_order(void **state)
{
	struct pair pair = pair_that_returns();
	struct vnet_send_wqe good, bad;
	struct sge to = sge(&w.p[1], TO, 140);

	for (u64 i = 0; i < 6; i++) {
		post_recv(pair.b, 100 + i, &to, 1);
		good = datagram(2 * i, pair.b);
		bad = datagram(2 * i + 1, pair.b);
		bad.ud.remote_qkey++;
		/* Failed requests complete even if they are not signaled. */
		bad.flags = 0;
		post_send(pair.a, &good, NULL, 0);
		post_send(pair.a, &bad, NULL, 0);
	}
	ring_send(pair.a);
	for (u64 i = 0; i < 6; i++) {
		expect_next(pair.a->scq, 2 * i, VNET_WC_SUCCESS);
		expect_next(pair.a->scq, 2 * i + 1, VNET_WC_REM_ACCESS_ERR);
		expect_next(pair.b->rcq, 100 + i, VNET_WC_SUCCESS);
	}
	expect_none(pair.b->rcq);
}

/* A local error still puts the queue pair into SQE. */
static void own_mistakes(void **state)
{
	struct pair pair = pair_that_returns();
	struct vnet_send_wqe wqe = datagram(1, pair.b);
	struct sge from = sge(&w.p[0], FROM, 10);

	from.lkey += 2;
	send_one(pair.a, &wqe, &from);
	expect(pair.a->scq, 1, VNET_WC_LOC_PROT_ERR);
	assert_int_equal(state_of(pair.a), NIC_QPS_SQE);
	assert_int_equal(w.agent.hdr->counters.returned, 0);
}

static void who_has_not_asked(void **state)
{
	struct pair pair = make_pair(NIC_QPT_UD);
	struct vnet_send_wqe wqe = datagram(1, pair.b);

	wqe.ud.remote_qkey++;
	send_one(pair.a, &wqe, NULL);
	expect(pair.a->scq, 1, VNET_WC_SUCCESS);
	assert_int_equal(w.agent.hdr->counters.drop_qkey, 1);
	assert_int_equal(w.agent.hdr->counters.returned, 0);
}

static void other_types(void **state)
{
	static const u8 types[] = { NIC_QPT_RC, NIC_QPT_UC, NIC_QPT_RAW_PACKET };
	const struct qp_options options = { .returns = true };
	struct cq *cq = make_cq(&w.p[0], 64, 0);

	for (u32 i = 0; i < 3; i++) {
		struct nic_qp_params params = qp_params(&w.p[0], types[i], cq, cq, &options);
		struct ring sq = ring_make(16, 10), rq = ring_make(16, 10);

		params.sq_ring = sq.offset;
		params.rq_ring = rq.offset;
		assert_int_equal(nic_qp_create(&w.agent, &params), NIC_EINVAL);
		params.returns = false;
		assert_int_equal(nic_qp_create(&w.agent, &params), NIC_OK);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(nobody_there),      TEST(not_ready),         TEST(wrong_key),
		TEST(no_receive),        TEST(receive_too_small), TEST(bad_receive),
		TEST(no_room),           TEST(in_order),          TEST(own_mistakes),
		TEST(who_has_not_asked), TEST(other_types),       TEST(own_key),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
