// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Shared receive queues: commands, use by several QPs, and the limit event. */
#include <string.h>

#include "world.h"

static void create_checks(void **state)
{
	struct nic_srq_params good = {
		.ring = queue_alloc(VNET_RING_HDR_SIZE + 8 * 128),
		.entries = 8,
		.stride_shift = 7,
		.max_sge = 7,
		.pdn = 1,
		.space = 1,
	}, p;
	u32 limit;

	assert_int_equal(nic_srq_create(&w.agent, 0, &good), NIC_EINVAL);
	assert_int_equal(nic_srq_create(&w.agent, 1u << NIC_QPN_BITS, &good), NIC_EINVAL);
	p = good, p.entries = 3;
	assert_int_equal(nic_srq_create(&w.agent, 1, &p), NIC_EINVAL);
	p = good, p.max_sge = 8;
	assert_int_equal(nic_srq_create(&w.agent, 1, &p), NIC_EINVAL);
	p = good, p.max_sge = 33, p.stride_shift = 10;
	assert_int_equal(nic_srq_create(&w.agent, 1, &p), NIC_EINVAL);
	p = good, p.stride_shift = 3, p.max_sge = 0;
	assert_int_equal(nic_srq_create(&w.agent, 1, &p), NIC_EINVAL);
	p = good, p.stride_shift = 64;
	assert_int_equal(nic_srq_create(&w.agent, 1, &p), NIC_EINVAL);
	p = good, p.ring = tp.off_queue + tp.queue_bytes;
	assert_int_equal(nic_srq_create(&w.agent, 1, &p), NIC_EINVAL);
	assert_int_equal(nic_srq_create(&w.agent, 1, &good), NIC_OK);
	assert_int_equal(nic_srq_create(&w.agent, 1, &good), NIC_EINUSE);
	assert_int_equal(nic_srq_get_limit(&w.agent, 1, &limit), NIC_OK);
	assert_int_equal(limit, 0);
}

static void limit_checks(void **state)
{
	struct srq *srq = make_srq(&w.p[0], 8);
	struct nic_srq *f = &w.agent.srq[srq->srqn - 1];
	u32 limit;

	assert_int_equal(nic_srq_set_limit(&w.agent, srq->srqn, 9), NIC_EINVAL);
	assert_int_equal(nic_srq_set_limit(&w.agent, srq->srqn + 1, 1), NIC_EINVAL);
	assert_int_equal(nic_srq_set_limit(&w.agent, 0, 1), NIC_EINVAL);
	assert_int_equal(nic_srq_set_limit(&w.agent, srq->srqn, 8), NIC_OK);
	f->rq.lock = 7;
	assert_int_equal(nic_srq_set_limit(&w.agent, srq->srqn, 2), NIC_BUSY);
	assert_int_equal(nic_srq_destroy(&w.agent, srq->srqn), NIC_BUSY);
	f->rq.lock = 0;
	assert_int_equal(nic_srq_get_limit(&w.agent, srq->srqn, &limit), NIC_OK);
	assert_int_equal(limit, 8);
	assert_int_equal(nic_srq_destroy(&w.agent, srq->srqn), NIC_OK);
	assert_int_equal(nic_srq_get_limit(&w.agent, srq->srqn, &limit), NIC_EINVAL);
	assert_int_equal(nic_srq_destroy(&w.agent, srq->srqn), NIC_EINVAL);
}

/* Two QPs of process 1 with one SRQ, and their peers in process 0. */
struct shared {
	struct srq *srq;
	struct cq *tx;
	struct cq *rx;
	struct qp *from[2];
	struct qp *to[2];
};

static struct shared make_shared(u8 type)
{
	struct shared s = {
		.srq = make_srq(&w.p[1], 16),
		.tx = make_cq(&w.p[0], 64, 0),
		.rx = make_cq(&w.p[1], 64, 0),
	};
	struct qp_options with_srq = { .srq = s.srq };

	for (u32 i = 0; i < 2; i++) {
		s.from[i] = make_qp(&w.p[0], type, s.tx, s.tx);
		s.to[i] = make_qp_with(&w.p[1], type, s.rx, s.rx, &with_srq);
		connect(s.from[i], s.to[i]);
	}
	return s;
}

static void in_the_order_of_arrival(void **state)
{
	struct shared s = make_shared(NIC_QPT_RC);
	struct vnet_send_wqe wqe = wr(VNET_WR_SEND, 1);
	struct sge data = sge(&w.p[0], 0, 200);

	fill(&w.p[0], 0, 200, 3);
	for (u32 i = 0; i < 6; i++) {
		struct sge to = sge(&w.p[1], i * 1000, 1000);

		post_srq_recv(s.srq, 100 + i, &to, 1);
	}
	for (u32 i = 0; i < 6; i++) {
		struct wc wc;

		send_one(s.from[i % 2], &wqe, &data);
		expect(s.tx, 1, VNET_WC_SUCCESS);
		wc = expect(s.rx, 100 + i, VNET_WC_SUCCESS);
		assert_int_equal(wc.qp_num, s.to[i % 2]->qpn);
		assert_int_equal(wc.byte_len, 200);
		assert_true(filled(&w.p[1], i * 1000, 200, 3));
	}
}

static void limit_event_once(void **state)
{
	struct shared s = make_shared(NIC_QPT_RC);
	struct vnet_send_wqe wqe = wr(VNET_WR_SEND, 1);
	struct sge to = sge(&w.p[1], 0, 100);
	u32 limit;

	while (async_event('q', s.to[0]->qpn, NIC_EVENT_COMM_EST))
		;
	for (u32 i = 0; i < 5; i++)
		post_srq_recv(s.srq, i, &to, 1);
	assert_int_equal(nic_srq_set_limit(&w.agent, s.srq->srqn, 3), NIC_OK);
	send_one(s.from[0], &wqe, NULL);
	send_one(s.from[0], &wqe, NULL);
	no_async();
	send_one(s.from[0], &wqe, NULL);
	assert_true(async_event('s', s.srq->srqn, NIC_EVENT_SRQ_LIMIT_REACHED));
	assert_int_equal(nic_srq_get_limit(&w.agent, s.srq->srqn, &limit), NIC_OK);
	assert_int_equal(limit, 0);
	send_one(s.from[0], &wqe, NULL);
	no_async();
	/* Armed while below the limit: the next consumed receive raises the event. */
	assert_int_equal(nic_srq_set_limit(&w.agent, s.srq->srqn, 3), NIC_OK);
	no_async();
	send_one(s.from[1], &wqe, NULL);
	assert_true(async_event('s', s.srq->srqn, NIC_EVENT_SRQ_LIMIT_REACHED));
	no_async();
}

/* A QP that fails takes no receives of the SRQ, and raises LAST_WQE_REACHED. */
static void last_wqe_reached(void **state)
{
	struct shared s = make_shared(NIC_QPT_RC);
	struct sge to = sge(&w.p[1], 0, 100);
	struct vnet_send_wqe wqe = wr(VNET_WR_SEND, 1);

	post_srq_recv(s.srq, 5, &to, 1);
	assert_int_equal(to_state(s.to[0], NIC_QPS_ERR, 0), NIC_OK);
	assert_true(async_event('q', s.to[0]->qpn, NIC_EVENT_QP_LAST_WQE_REACHED));
	run_for(2 * MS);
	no_async();
	expect_none(s.rx);
	send_one(s.from[1], &wqe, NULL);
	expect(s.rx, 5, VNET_WC_SUCCESS);
	/* A second transition to the error state raises no second event. */
	assert_int_equal(to_state(s.to[0], NIC_QPS_ERR, 0), NIC_OK);
	no_async();
}

static void rnr_until_posted(void **state)
{
	struct shared s = make_shared(NIC_QPT_RC);
	struct sge to = sge(&w.p[1], 0, 100);
	struct vnet_send_wqe wqe = wr(VNET_WR_SEND, 1);

	send_one(s.from[0], &wqe, NULL);
	expect_none(s.tx);
	post_srq_recv(s.srq, 5, &to, 1);
	run_for(2 * MS);
	expect(s.tx, 1, VNET_WC_SUCCESS);
	expect(s.rx, 5, VNET_WC_SUCCESS);
}

static void datagrams(void **state)
{
	struct shared s = make_shared(NIC_QPT_UD);
	struct vnet_send_wqe wqe = wr(VNET_WR_SEND, 1);
	struct sge data = sge(&w.p[0], 0, 100), to = sge(&w.p[1], 0, 140);

	fill(&w.p[0], 0, 100, 1);
	aim_datagram(&wqe, s.to[1]);
	post_srq_recv(s.srq, 7, &to, 1);
	send_one(s.from[0], &wqe, &data);
	expect(s.tx, 1, VNET_WC_SUCCESS);
	assert_int_equal(expect(s.rx, 7, VNET_WC_SUCCESS).byte_len, 140);
	assert_true(filled(&w.p[1], 40, 100, 1));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(create_checks),    TEST(limit_checks),     TEST(in_the_order_of_arrival),
		TEST(limit_event_once), TEST(last_wqe_reached), TEST(rnr_until_posted),
		TEST(datagrams),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
