// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Injected faults: async events, failed QPs, and receives that are not found. */
#include "world.h"

static bool raised(char kind, u32 num, u32 event)
{
	const struct nic_async want = { .kind = kind, .num = num, .event = event };
	struct nic_async async;

	return nic_async_raise(&w.agent, &want) == NIC_OK && nic_async_take(&w.agent, &async) &&
	       async.kind == kind && async.num == num && async.event == event &&
	       !nic_async_take(&w.agent, &async);
}

static void events_of_each_kind(void **state)
{
	struct pair pair = make_pair(NIC_QPT_RC);
	struct srq *srq = make_srq(&w.p[0], 16);

	assert_true(raised('q', pair.a->qpn, NIC_EVENT_PATH_MIG));
	assert_true(raised('c', pair.a->scq->cqn, NIC_EVENT_CQ_ERR));
	assert_true(raised('s', srq->srqn, NIC_EVENT_SRQ_LIMIT_REACHED));
}

static void nobody_is_told_of_nothing(void **state)
{
	struct pair pair = make_pair(NIC_QPT_RC);
	struct nic_async event = { .num = 4711, .event = NIC_EVENT_COMM_EST };
	struct nic_async async;

	for (const char *kind = "qcsd"; *kind; kind++) {
		event.kind = *kind;
		assert_int_equal(nic_async_raise(&w.agent, &event), NIC_EINVAL);
	}
	assert_int_equal(nic_qp_error(&w.agent, 4711, NIC_EVENT_QP_FATAL), NIC_EINVAL);
	assert_false(nic_async_take(&w.agent, &async));
	assert_int_equal(frame(pair.a)->state, NIC_QPS_RTS);
}

/* A QP that fails is flushed, and does not answer its peer any more. */
static void a_failed_qp_is_flushed(void **state)
{
	struct pair pair = make_pair(NIC_QPT_RC);
	struct vnet_send_wqe wqe = wr(VNET_WR_SEND, 1);

	post_recv(pair.b, 2, NULL, 0);
	assert_true(raised('q', pair.b->qpn, NIC_EVENT_QP_FATAL));
	run_for(0);
	expect(pair.b->rcq, 2, VNET_WC_WR_FLUSH_ERR);
	assert_int_equal(frame(pair.b)->state, NIC_QPS_ERR);
	send_one(pair.a, &wqe, NULL);
	run_for(0);
	expect_none(pair.a->scq);
	/* The event cannot be injected a second time. */
	assert_false(raised('q', pair.b->qpn, NIC_EVENT_QP_FATAL));
}

/* A starving NIC finds no receives for messages, but flushes them. */
static void a_starving_nic_finds_no_receive(void **state)
{
	struct pair pair = make_pair(NIC_QPT_RC);
	struct vnet_send_wqe wqe = wr(VNET_WR_SEND, 1);
	struct nic_qp_attr attr = good_attr(0);

	frame(pair.a)->attr.rnr_retry = 7;
	post_recv(pair.b, 2, NULL, 0);
	post_recv(pair.b, 3, NULL, 0);
	nic_starve(&w.agent, true);
	send_one(pair.a, &wqe, NULL);
	run_for(20 * MS);
	expect_none(pair.a->scq);
	expect_none(pair.b->rcq);
	assert_true(frame(pair.a)->counters.rnr_waits > 1);
	nic_starve(&w.agent, false);
	run_for(20 * MS);
	expect(pair.a->scq, 1, VNET_WC_SUCCESS);
	expect(pair.b->rcq, 2, VNET_WC_SUCCESS);
	nic_starve(&w.agent, true);
	assert_int_equal(modify(pair.b, &attr, M_STATE, NIC_QPS_ERR), NIC_OK);
	run_for(0);
	expect(pair.b->rcq, 3, VNET_WC_WR_FLUSH_ERR);
}

/* Several events of one object are all delivered. */
static void several(void **state)
{
	struct pair pair = make_pair(NIC_QPT_RC);
	struct nic_async event = { .kind = 'q', .num = pair.a->qpn }, async;
	u32 seen = 0;

	event.event = NIC_EVENT_COMM_EST;
	assert_int_equal(nic_async_raise(&w.agent, &event), NIC_OK);
	event.event = NIC_EVENT_SQ_DRAINED;
	assert_int_equal(nic_async_raise(&w.agent, &event), NIC_OK);
	while (nic_async_take(&w.agent, &async))
		seen |= 1u << async.event;
	assert_int_equal(seen, 1u << NIC_EVENT_COMM_EST | 1u << NIC_EVENT_SQ_DRAINED);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(events_of_each_kind),    TEST(nobody_is_told_of_nothing),       TEST(several),
		TEST(a_failed_qp_is_flushed), TEST(a_starving_nic_finds_no_receive),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
