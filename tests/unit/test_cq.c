// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Completion queues and completion channels: creation, resizing and destruction. */
#include <string.h>

#include "world.h"

static struct nic_cq_params good_params(void)
{
	return (struct nic_cq_params){
		.ring = queue_alloc(VNET_RING_HDR_SIZE + 8 * VNET_CQE_SIZE),
		.entries = 8,
		.channel = NIC_NONE,
	};
}

static void create_checks(void **state)
{
	struct nic_cq_params good = good_params(), p;

	assert_int_equal(nic_cq_create(&w.agent, 0, &good), NIC_EINVAL);
	assert_int_equal(nic_cq_create(&w.agent, w.config.max_cq + 1, &good), NIC_EINVAL);
	p = good, p.entries = 0;
	assert_int_equal(nic_cq_create(&w.agent, 1, &p), NIC_EINVAL);
	p = good, p.entries = 6;
	assert_int_equal(nic_cq_create(&w.agent, 1, &p), NIC_EINVAL);
	p = good, p.entries = 0x80000000u;
	assert_int_equal(nic_cq_create(&w.agent, 1, &p), NIC_EINVAL);
	p = good, p.ring = 0;
	assert_int_equal(nic_cq_create(&w.agent, 1, &p), NIC_EINVAL);
	p = good, p.ring = ~0ull - 64;
	assert_int_equal(nic_cq_create(&w.agent, 1, &p), NIC_EINVAL);
	p = good, p.ring += 4;
	assert_int_equal(nic_cq_create(&w.agent, 1, &p), NIC_EINVAL);
	p = good, p.ring = tp.off_queue + tp.queue_bytes - VNET_RING_HDR_SIZE - 7 * VNET_CQE_SIZE;
	assert_int_equal(nic_cq_create(&w.agent, 1, &p), NIC_EINVAL);
	p = good, p.flags = 0x80;
	assert_int_equal(nic_cq_create(&w.agent, 1, &p), NIC_EINVAL);
	p = good, p.channel = 3;
	assert_int_equal(nic_cq_create(&w.agent, 1, &p), NIC_EINVAL);
	p = good, p.channel = w.config.max_channel;
	assert_int_equal(nic_cq_create(&w.agent, 1, &p), NIC_EINVAL);
	assert_int_equal(nic_cq_create(&w.agent, 1, &good), NIC_OK);
	assert_int_equal(nic_cq_create(&w.agent, 1, &good), NIC_EINUSE);
	assert_int_equal(nic_cq_create(&w.agent, w.config.max_cq, &good), NIC_OK);
}

static void destroyed_is_gone(void **state)
{
	struct cq *cq = make_cq(&w.p[0], 8, 0);
	struct nic_cq_params p = good_params();
	u32 events = 77;

	assert_int_equal(nic_cq_destroy(&w.agent, cq->cqn, &events), NIC_OK);
	assert_int_equal(events, 0);
	assert_int_equal(nic_cq_destroy(&w.agent, cq->cqn, &events), NIC_EINVAL);
	assert_int_equal(nic_cq_resize(&w.agent, cq->cqn, p.ring, 8), NIC_EINVAL);
	assert_int_equal(nic_cq_create(&w.agent, cq->cqn, &p), NIC_OK);
}

static void held_lock_is_busy(void **state)
{
	struct cq *cq = make_cq(&w.p[0], 8, 0);
	struct nic_cq *frame_cq = &w.agent.cq[cq->cqn - 1];
	struct nic_cq_params p = good_params();
	u32 events;

	frame_cq->lock = w.p[1].nic.self;
	assert_int_equal(nic_cq_destroy(&w.agent, cq->cqn, &events), NIC_BUSY);
	assert_int_equal(nic_cq_resize(&w.agent, cq->cqn, p.ring, 8), NIC_BUSY);
	assert_int_equal(frame_cq->num, cq->cqn);
	frame_cq->lock = 0;
	assert_int_equal(nic_cq_destroy(&w.agent, cq->cqn, &events), NIC_OK);
	/* A late holder of the old CQ's lock keeps the table entry in use. */
	frame_cq->lock = w.p[1].nic.self;
	assert_int_equal(nic_cq_create(&w.agent, cq->cqn, &p), NIC_BUSY);
	frame_cq->lock = 0;
}

/* ------------------------------------------------------------------ resize */

/* A QP of process 0 that is connected to itself and completes into cq. */
static struct qp *loop_qp(struct cq *cq)
{
	struct qp *qp = make_qp(&w.p[0], NIC_QPT_RC, cq, cq);

	bring_up(qp, qp->qpn);
	return qp;
}

/* Makes n completions with consecutive wr_ids from `first`. */
static void complete(struct qp *qp, u64 first, u32 n)
{
	for (u32 i = 0; i < n; i++) {
		struct vnet_send_wqe wqe = wr(VNET_WR_RDMA_WRITE, first + i);

		wqe.rdma.rkey = w.p[0].key;
		wqe.rdma.remote_addr = at(&w.p[0], 4096);
		post_send(qp, &wqe, NULL, 0);
	}
	ring_send(qp);
}

static void resize_to(struct cq *cq, u32 entries, enum nic_result result)
{
	struct ring ring = ring_make(entries, 7);

	assert_int_equal(nic_cq_resize(&w.agent, cq->cqn, ring.offset, entries), result);
	if (result == NIC_OK)
		cq->ring = ring;
}

static void resize_keeps_unpolled(void **state)
{
	struct cq *cq = make_cq(&w.p[0], 8, 0);
	struct qp *qp = loop_qp(cq);

	complete(qp, 0, 5);
	expect_next(cq, 0, VNET_WC_SUCCESS);
	expect_next(cq, 1, VNET_WC_SUCCESS);
	complete(qp, 5, 5); /* 8 unpolled: full */
	resize_to(cq, 4, NIC_EINVAL);
	resize_to(cq, 32, NIC_OK);
	complete(qp, 10, 4);
	for (u32 i = 2; i < 14; i++)
		expect_next(cq, i, VNET_WC_SUCCESS);
	expect_none(cq);
	resize_to(cq, 1, NIC_OK);
	complete(qp, 14, 1);
	expect(cq, 14, VNET_WC_SUCCESS);
}

static void resize_checks(void **state)
{
	struct cq *cq = make_cq(&w.p[0], 8, 0);

	resize_to(cq, 16, NIC_OK);
	assert_int_equal(nic_cq_resize(&w.agent, cq->cqn, cq->ring.offset, 12), NIC_EINVAL);
	assert_int_equal(nic_cq_resize(&w.agent, cq->cqn, 4096, 16), NIC_EINVAL);
	assert_int_equal(nic_cq_resize(&w.agent, cq->cqn + 1, cq->ring.offset, 16), NIC_EINVAL);
	/* An impossible consumer index. */
	cq->ring.hdr->cons = 77;
	resize_to(cq, 16, NIC_EINVAL);
	cq->ring.hdr->cons = 0;
}

static void resize_keeps_arm(void **state)
{
	struct cq *cq = make_cq(&w.p[0], 8, 0);

	cq->ring.hdr->arm = VNET_CQ_ARM_SOLICITED;
	resize_to(cq, 16, NIC_OK);
	assert_int_equal(cq->ring.hdr->arm, VNET_CQ_ARM_SOLICITED);
}

/* Sets the indices of a CQ to values just before they wrap around. */
static void age(struct cq *cq, u32 index)
{
	struct nic_cq *c = &w.agent.cq[cq->cqn - 1];

	for (u32 i = 0; i <= cq->ring.mask; i++) {
		u32 slot = (index + i) & cq->ring.mask;

		((struct vnet_cqe *)cq->ring.slots)[slot].seq = index + i - cq->ring.mask;
	}
	c->prod = c->cons_seen = cq->cons = index;
	cq->ring.hdr->prod = cq->ring.hdr->cons = index;
}

static void resize_where_indices_wrap(void **state)
{
	struct cq *cq = make_cq(&w.p[0], 8, 0);
	struct qp *qp = loop_qp(cq);

	age(cq, 0xfffffffau);
	complete(qp, 0, 3);
	/* The slot for index 0xffffffff, whose valid seq is 0, is zeroed memory now. */
	resize_to(cq, 16, NIC_OK);
	for (u32 i = 0; i < 3; i++)
		expect_next(cq, i, VNET_WC_SUCCESS);
	expect_none(cq);
	complete(qp, 3, 2);
	for (u32 i = 3; i < 5; i++)
		expect_next(cq, i, VNET_WC_SUCCESS);
	expect_none(cq);
	complete(qp, 5, 6);
	for (u32 i = 5; i < 11; i++)
		expect_next(cq, i, VNET_WC_SUCCESS);
	expect_none(cq);
}

/* ---------------------------------------------------------------- channels */

static u32 drained;

static void drain(void *arg)
{
	u32 channel = *(u32 *)arg;

	tp.readable[channel] = false;
	drained++;
}

static void take(u32 channel, u64 handle, bool last)
{
	u64 got = 0;

	drained = 0;
	assert_int_equal(nic_channel_take(&w.p[0].nic, channel, &got, drain, &channel), NIC_OK);
	assert_int_equal(got, handle);
	assert_int_equal(drained, last);
	assert_int_equal(tp.readable[channel], !last);
}

/* Arms the CQ and makes a completion, n times. */
static void make_events(struct cq *cq, struct qp *qp, u32 n)
{
	while (n--) {
		cq->ring.hdr->arm = VNET_CQ_ARM_NEXT;
		complete(qp, 0, 1);
		expect(cq, 0, VNET_WC_SUCCESS);
		assert_int_equal(cq->ring.hdr->arm, VNET_CQ_DISARMED);
	}
}

static void channel_create_checks(void **state)
{
	assert_int_equal(nic_channel_create(&w.agent, w.config.max_channel, 1), NIC_EINVAL);
	assert_int_equal(nic_channel_create(&w.agent, 0, 0), NIC_EINVAL);
	assert_int_equal(nic_channel_create(&w.agent, 0, 1), NIC_OK);
	assert_int_equal(nic_channel_create(&w.agent, 0, 2), NIC_EINUSE);
	assert_int_equal(nic_channel_destroy(&w.agent, 1), NIC_EINVAL);
	assert_int_equal(nic_channel_destroy(&w.agent, w.config.max_channel), NIC_EINVAL);
	w.agent.channel[0].lock = 7;
	assert_int_equal(nic_channel_destroy(&w.agent, 0), NIC_BUSY);
	w.agent.channel[0].lock = 0;
	assert_int_equal(nic_channel_destroy(&w.agent, 0), NIC_OK);
	assert_int_equal(nic_channel_destroy(&w.agent, 0), NIC_EINVAL);
	assert_int_equal(nic_channel_create(&w.agent, 0, 2), NIC_OK);
}

static void events_in_order(void **state)
{
	struct cq *cq[3];
	struct qp *qp[3];
	u32 channel = 2;

	assert_int_equal(nic_channel_create(&w.agent, channel, 5), NIC_OK);
	for (u32 i = 0; i < 3; i++) {
		cq[i] = make_cq_channel(&w.p[0], 8, channel, 100 + i);
		qp[i] = loop_qp(cq[i]);
	}
	make_events(cq[1], qp[1], 1);
	make_events(cq[0], qp[0], 2);
	make_events(cq[2], qp[2], 1);
	assert_int_equal(tp.readied[channel], 1);
	take(channel, 101, false);
	take(channel, 100, false);
	take(channel, 102, false);
	take(channel, 100, true);
	make_events(cq[2], qp[2], 1);
	take(channel, 102, true);
}

/* Destroys CQs with 0, 1 and several unread events, at each position of the list. */
static void destroy_reports_what_was_read(void **state)
{
	struct cq *cq[4];
	struct qp *qp[4];
	u32 channel = 1, events;

	assert_int_equal(nic_channel_create(&w.agent, channel, 9), NIC_OK);
	for (u32 i = 0; i < 4; i++) {
		cq[i] = make_cq_channel(&w.p[0], 8, channel, 100 + i);
		qp[i] = loop_qp(cq[i]);
	}
	for (u32 i = 0; i < 4; i++)
		make_events(cq[i], qp[i], 3);
	take(channel, 100, false);
	take(channel, 101, false);
	/* The order is now 2 3 0 1: destroy the first, a middle one, and the last. */
	assert_int_equal(nic_cq_destroy(&w.agent, cq[2]->cqn, &events), NIC_OK);
	assert_int_equal(events, 0);
	assert_int_equal(nic_cq_destroy(&w.agent, cq[0]->cqn, &events), NIC_OK);
	assert_int_equal(events, 1);
	assert_int_equal(nic_cq_destroy(&w.agent, cq[1]->cqn, &events), NIC_OK);
	assert_int_equal(events, 1);
	take(channel, 103, false);
	take(channel, 103, false);
	take(channel, 103, true);
	assert_int_equal(nic_cq_destroy(&w.agent, cq[3]->cqn, &events), NIC_OK);
	assert_int_equal(events, 3);
	assert_int_equal(w.agent.channel[channel].head, NIC_NONE);
	assert_int_equal(w.agent.channel[channel].tail, NIC_NONE);
}

static void destroy_waits_for_channel(void **state)
{
	struct cq *cq;
	u32 events;

	assert_int_equal(nic_channel_create(&w.agent, 0, 1), NIC_OK);
	cq = make_cq_channel(&w.p[0], 8, 0, 1);
	w.agent.channel[0].lock = 7;
	assert_int_equal(nic_cq_destroy(&w.agent, cq->cqn, &events), NIC_BUSY);
	assert_int_equal(w.agent.cq[cq->cqn - 1].lock, 0);
	w.agent.channel[0].lock = 0;
	assert_int_equal(nic_cq_destroy(&w.agent, cq->cqn, &events), NIC_OK);
}

static void scribbled_list_ends(void **state)
{
	struct cq *cq[2];
	struct qp *qp[2];
	u32 events;

	assert_int_equal(nic_channel_create(&w.agent, 0, 1), NIC_OK);
	for (u32 i = 0; i < 2; i++) {
		cq[i] = make_cq_channel(&w.p[0], 8, 0, i);
		qp[i] = loop_qp(cq[i]);
		make_events(cq[i], qp[i], 1);
	}
	/* A circular list that does not contain the CQ that is destroyed. */
	w.agent.cq[cq[0]->cqn - 1].ev_next = cq[0]->cqn - 1;
	assert_int_equal(nic_cq_destroy(&w.agent, cq[1]->cqn, &events), NIC_OK);
	w.agent.cq[cq[0]->cqn - 1].ev_next = 0x7fffffff;
	assert_int_equal(nic_cq_destroy(&w.agent, cq[0]->cqn, &events), NIC_OK);
}

static void cq_outlives_channel(void **state)
{
	struct cq *cq;
	struct qp *qp;
	u32 events;

	assert_int_equal(nic_channel_create(&w.agent, 0, 1), NIC_OK);
	cq = make_cq_channel(&w.p[0], 8, 0, 1);
	qp = loop_qp(cq);
	make_events(cq, qp, 2);
	assert_int_equal(nic_channel_destroy(&w.agent, 0), NIC_OK);
	assert_int_equal(nic_channel_create(&w.agent, 0, 2), NIC_OK);
	tp.readied[0] = 0;
	cq->ring.hdr->arm = VNET_CQ_ARM_NEXT;
	complete(qp, 0, 1);
	expect(cq, 0, VNET_WC_SUCCESS);
	/* This is not an event of the new channel. */
	assert_int_equal(tp.readied[0], 0);
	assert_int_equal(w.agent.channel[0].head, NIC_NONE);
	assert_int_equal(nic_cq_destroy(&w.agent, cq->cqn, &events), NIC_OK);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(create_checks),
		TEST(destroyed_is_gone),
		TEST(held_lock_is_busy),
		TEST(resize_keeps_unpolled),
		TEST(resize_checks),
		TEST(resize_keeps_arm),
		TEST(resize_where_indices_wrap),
		TEST(channel_create_checks),
		TEST(events_in_order),
		TEST(destroy_reports_what_was_read),
		TEST(destroy_waits_for_channel),
		TEST(scribbled_list_ends),
		TEST(cq_outlives_channel),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
