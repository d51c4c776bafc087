// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Completion events and asynchronous events: conditions, and number of events. */
#include <string.h>

#include "world.h"

#define CHANNEL 3

static void nothing(void *arg)
{
}

static bool take(struct process *p, u64 *handle)
{
	return nic_channel_take(&p->nic, CHANNEL, handle, nothing, NULL) == NIC_OK;
}

/* Whether there is exactly one event, of the CQ with this handle. */
static bool one_event(struct process *p, u64 want)
{
	u64 handle;

	return take(p, &handle) && handle == want && !take(p, &handle);
}

static bool no_event(struct process *p)
{
	u64 handle;

	return !take(p, &handle);
}

/* A pair whose receiver's CQ has a channel. */
static struct pair pair_with_channel(u8 type)
{
	struct cq *ca = make_cq(&w.p[0], 64, 0), *cb;
	struct pair pair;

	assert_int_equal(nic_channel_create(&w.agent, CHANNEL, 1), NIC_OK);
	cb = make_cq_channel(&w.p[1], 64, CHANNEL, 99);
	pair.a = make_qp(&w.p[0], type, ca, ca);
	pair.b = make_qp(&w.p[1], type, cb, cb);
	connect(pair.a, pair.b);
	return pair;
}

/* Sends one message that its receiver does not poll. */
static void leave_unpolled(struct pair *pair, u8 flags)
{
	struct vnet_send_wqe wqe = wr(VNET_WR_SEND, 1);

	wqe.flags |= flags;
	post_recv(pair->b, 2, NULL, 0);
	send_one(pair->a, &wqe, NULL);
	expect(pair->a->scq, 1, VNET_WC_SUCCESS);
}

static void send_with(struct pair *pair, u8 flags)
{
	leave_unpolled(pair, flags);
	expect(pair->b->rcq, 2, VNET_WC_SUCCESS);
}

static void arm(struct cq *cq, u32 how)
{
	cq->ring.hdr->arm = how;
}

static void one_event_for_one_arm(void **state)
{
	struct pair pair = pair_with_channel(NIC_QPT_RC);

	send_with(&pair, 0);
	assert_true(no_event(&w.p[1]));
	arm(pair.b->rcq, VNET_CQ_ARM_NEXT);
	send_with(&pair, 0);
	assert_int_equal(pair.b->rcq->ring.hdr->arm, VNET_CQ_DISARMED);
	send_with(&pair, 0);
	assert_true(one_event(&w.p[1], 99));
	assert_int_equal(tp.readied[CHANNEL], 1);
}

/* The sender's host cannot wake the waiter: the NIC processor does, unless the event was read. */
static void woken_by_the_processor(void **state)
{
	struct pair pair = pair_with_channel(NIC_QPT_RC);
	struct nic_channel *ch = &w.agent.channel[CHANNEL];

	tp.unready = true;
	arm(pair.b->rcq, VNET_CQ_ARM_NEXT);
	nic_store(&w.agent.hdr->processor_sleeps, NIC_DOZES);
	send_with(&pair, 0);
	assert_int_equal(tp.readied[CHANNEL], 0);
	assert_int_equal(w.agent.hdr->processor_sleeps, NIC_AWAKE);
	ch->lock = 9;
	run_for(3 * MS);
	assert_int_equal(tp.readied[CHANNEL], 0);
	ch->lock = 0;
	run_for(2 * MS);
	assert_int_equal(tp.readied[CHANNEL], 1);
	assert_false(nic_has_work(&w.agent));
	assert_true(one_event(&w.p[1], 99));
	arm(pair.b->rcq, VNET_CQ_ARM_NEXT);
	send_with(&pair, 0);
	assert_true(one_event(&w.p[1], 99));
	run_for(2 * MS);
	assert_int_equal(tp.readied[CHANNEL], 1);
}

/* Edge-triggered waiters are notified of each event, even if earlier ones are unread. */
static void an_edge_for_each_event(void **state)
{
	struct pair pair = pair_with_channel(NIC_QPT_RC);
	u64 handle;

	for (u32 i = 0; i < 3; i++) {
		arm(pair.b->rcq, VNET_CQ_ARM_NEXT);
		send_with(&pair, 0);
		assert_int_equal(tp.readied[CHANNEL], 1);
		assert_int_equal(tp.edges[CHANNEL], i);
	}
	for (u32 i = 0; i < 3; i++)
		assert_true(take(&w.p[1], &handle));
	assert_true(no_event(&w.p[1]));
	arm(pair.b->rcq, VNET_CQ_ARM_NEXT);
	send_with(&pair, 0);
	assert_int_equal(tp.readied[CHANNEL], 2);
}

/* Sends a message while earlier events are unread. Returns the number of edges that it makes. */
static u32 edges_of_one(struct pair *pair)
{
	u32 before = tp.edges[CHANNEL];

	arm(pair->b->rcq, VNET_CQ_ARM_NEXT);
	send_with(pair, 0);
	return tp.edges[CHANNEL] - before;
}

/* A reader that blocks in read() needs no edges, until somebody says that they are needed. */
static void no_edges_for_a_blocking_reader(void **state)
{
	struct pair pair = pair_with_channel(NIC_QPT_RC);
	struct nic *reader = &w.p[1].nic;

	arm(pair.b->rcq, VNET_CQ_ARM_NEXT);
	send_with(&pair, 0);
	nic_channel_reader_blocks(reader, CHANNEL, true);
	assert_int_equal(edges_of_one(&pair), 0);
	nic_channel_reader_blocks(reader, CHANNEL, false);
	assert_int_equal(edges_of_one(&pair), 1);
	nic_channel_reader_blocks(reader, CHANNEL, true);
	nic_channel_needs_edges(reader, CHANNEL);
	nic_channel_reader_blocks(reader, CHANNEL, true);
	assert_int_equal(edges_of_one(&pair), 1);
	assert_int_equal(tp.readied[CHANNEL], 1);
	/* A signal needs the notification of a first event. */
	nic_channel_needs_signals(reader, CHANNEL);
	nic_channel_needs_edges(reader, CHANNEL);
	assert_int_equal(edges_of_one(&pair), 0);
	assert_int_equal(tp.readied[CHANNEL], 2);

	assert_int_equal(nic_channel_destroy(&w.agent, CHANNEL), NIC_OK);
	assert_int_equal(nic_channel_create(&w.agent, CHANNEL, 2), NIC_OK);
	assert_int_equal(w.agent.channel[CHANNEL].reader, NIC_READER_ANY);
}

static void solicited_only(void **state)
{
	struct pair pair = pair_with_channel(NIC_QPT_RC);

	arm(pair.b->rcq, VNET_CQ_ARM_SOLICITED);
	send_with(&pair, 0);
	assert_true(no_event(&w.p[1]));
	assert_int_equal(pair.b->rcq->ring.hdr->arm, VNET_CQ_ARM_SOLICITED);
	send_with(&pair, VNET_WR_SOLICITED);
	assert_true(one_event(&w.p[1], 99));
	/* Armed for the next completion, a solicited one counts, too. */
	arm(pair.b->rcq, VNET_CQ_ARM_NEXT);
	send_with(&pair, VNET_WR_SOLICITED);
	assert_true(one_event(&w.p[1], 99));
}

/* A completion with error counts as solicited, on either side. */
static void errors_are_solicited(void **state)
{
	static const u8 types[] = { NIC_QPT_RC, NIC_QPT_UC };
	struct sge from = sge(&w.p[0], 0, 10);

	for (u32 i = 0; i < 2; i++) {
		struct vnet_send_wqe wqe = wr(VNET_WR_SEND, 1);
		struct pair pair = pair_with_channel(types[i]);

		arm(pair.b->rcq, VNET_CQ_ARM_SOLICITED);
		post_recv(pair.b, 2, NULL, 0); /* too short */
		send_one(pair.a, &wqe, &from);
		expect(pair.b->rcq, 2, VNET_WC_LOC_LEN_ERR);
		assert_true(one_event(&w.p[1], 99));

		/* The next one is flushed. */
		arm(pair.b->rcq, VNET_CQ_ARM_SOLICITED);
		post_recv(pair.b, 3, NULL, 0);
		run_for(3 * MS);
		expect(pair.b->rcq, 3, VNET_WC_WR_FLUSH_ERR);
		assert_true(one_event(&w.p[1], 99));

		wqe.opcode = VNET_WR_BIND_MW;
		assert_int_equal(to_state(pair.b, NIC_QPS_RESET, 0), NIC_OK);
		bring_up(pair.b, pair.a->qpn);
		arm(pair.b->scq, VNET_CQ_ARM_SOLICITED);
		send_one(pair.b, &wqe, NULL);
		expect(pair.b->scq, 1, VNET_WC_MW_BIND_ERR);
		assert_true(one_event(&w.p[1], 99));
		assert_int_equal(nic_channel_destroy(&w.agent, CHANNEL), NIC_OK);
	}
}

static void events_of_the_sender(void **state)
{
	struct vnet_send_wqe wqe = wr(VNET_WR_RDMA_WRITE, 1);
	struct pair pair = pair_with_channel(NIC_QPT_RC);

	arm(pair.b->scq, VNET_CQ_ARM_NEXT);
	wqe.flags = 0;
	send_one(pair.b, &wqe, NULL);
	assert_true(no_event(&w.p[1]));
	wqe.flags = VNET_WR_SIGNALED;
	send_one(pair.b, &wqe, NULL);
	assert_true(one_event(&w.p[1], 99));
	/* A successful completion of a send is never solicited. */
	arm(pair.b->scq, VNET_CQ_ARM_SOLICITED);
	wqe.flags |= VNET_WR_SOLICITED;
	send_one(pair.b, &wqe, NULL);
	assert_true(no_event(&w.p[1]));
}

static void immediate_data_too(void **state)
{
	struct vnet_send_wqe wqe = wr(VNET_WR_RDMA_WRITE_IMM, 1);
	struct pair pair = pair_with_channel(NIC_QPT_UC);

	for (u32 i = 0; i < 2; i++) {
		wqe.flags |= VNET_WR_SOLICITED;
		arm(pair.b->rcq, VNET_CQ_ARM_SOLICITED);
		post_recv(pair.b, 2, NULL, 0);
		send_one(pair.a, &wqe, NULL);
		expect(pair.b->rcq, 2, VNET_WC_SUCCESS);
		assert_true(one_event(&w.p[1], 99));
		/* The same for 64-bit immediate data. */
		wqe.flags |= VNET_WR_IMM64;
	}
}

/* ----------------------------------------------- armed with entries in the CQ */

/* Like ibv_req_notify_cq() of a CQ with entries. */
static void arm_late(struct cq *cq, u32 how)
{
	arm(cq, how);
	nic_cq_doorbell(&w.p[1].nic, cq->cqn);
}

static void unpolled_entries_make_the_event(void **state)
{
	struct pair pair = pair_with_channel(NIC_QPT_RC);

	leave_unpolled(&pair, 0);
	arm_late(pair.b->rcq, VNET_CQ_ARM_NEXT);
	assert_int_equal(pair.b->rcq->ring.hdr->arm, VNET_CQ_DISARMED);
	/* While the event is unread there is no second one, but the next completion makes one. */
	arm_late(pair.b->rcq, VNET_CQ_ARM_NEXT);
	assert_true(one_event(&w.p[1], 99));
	assert_int_equal(pair.b->rcq->ring.hdr->arm, VNET_CQ_ARM_NEXT);
	leave_unpolled(&pair, 0);
	assert_true(one_event(&w.p[1], 99));
}

static void unpolled_and_solicited(void **state)
{
	struct pair pair = pair_with_channel(NIC_QPT_RC);

	leave_unpolled(&pair, 0);
	arm_late(pair.b->rcq, VNET_CQ_ARM_SOLICITED);
	assert_true(no_event(&w.p[1]));
	leave_unpolled(&pair, VNET_WR_SOLICITED);
	assert_true(one_event(&w.p[1], 99));
	expect_next(pair.b->rcq, 2, VNET_WC_SUCCESS);
	expect(pair.b->rcq, 2, VNET_WC_SUCCESS);

	/* A solicited entry, and one behind it that is not. */
	leave_unpolled(&pair, VNET_WR_SOLICITED);
	leave_unpolled(&pair, 0);
	arm_late(pair.b->rcq, VNET_CQ_ARM_SOLICITED);
	assert_true(one_event(&w.p[1], 99));
	/* The solicited entry is polled: the other one alone makes no event. */
	expect_next(pair.b->rcq, 2, VNET_WC_SUCCESS);
	arm_late(pair.b->rcq, VNET_CQ_ARM_SOLICITED);
	run_for(150 * MS);
	assert_true(no_event(&w.p[1]));
}

static void unpolled_and_failed(void **state)
{
	struct pair pair = pair_with_channel(NIC_QPT_RC);
	struct sge from = sge(&w.p[0], 0, 10);
	struct vnet_send_wqe wqe = wr(VNET_WR_SEND, 1);

	post_recv(pair.b, 2, NULL, 0); /* too short */
	send_one(pair.a, &wqe, &from);
	arm_late(pair.b->rcq, VNET_CQ_ARM_SOLICITED);
	assert_true(one_event(&w.p[1], 99));
	expect(pair.b->rcq, 2, VNET_WC_LOC_LEN_ERR);
}

/*
 * A stopped process holds the channel's lock, so the event of a message waits: the receiver has
 * the completion; the sender's request is not complete.
 */
static struct pair message_with_held_event(void)
{
	struct vnet_send_wqe wqe = wr(VNET_WR_SEND, 1);
	struct pair pair = pair_with_channel(NIC_QPT_RC);

	arm(pair.b->rcq, VNET_CQ_ARM_NEXT);
	w.agent.channel[CHANNEL].lock = 7;
	post_recv(pair.b, 2, NULL, 0);
	send_one(pair.a, &wqe, NULL);
	expect(pair.b->rcq, 2, VNET_WC_SUCCESS);
	expect_none(pair.a->scq);
	return pair;
}

static void event_deferred(void **state)
{
	struct pair pair = message_with_held_event();

	run_for(3 * MS);
	expect_none(pair.a->scq);
	w.agent.channel[CHANNEL].lock = 0;
	run_for(2 * MS);
	assert_true(one_event(&w.p[1], 99));
	expect(pair.a->scq, 1, VNET_WC_SUCCESS);
	expect_none(pair.b->rcq);
}

/* The same at the sender's end. */
static void event_of_the_sender_deferred(void **state)
{
	struct vnet_send_wqe wqe = wr(VNET_WR_RDMA_WRITE, 1);
	struct pair pair = pair_with_channel(NIC_QPT_RC);

	arm(pair.b->scq, VNET_CQ_ARM_NEXT);
	w.agent.channel[CHANNEL].lock = 7;
	send_one(pair.b, &wqe, NULL);
	wqe.wr_id = 2;
	send_one(pair.b, &wqe, NULL);
	expect(pair.b->scq, 1, VNET_WC_SUCCESS);
	w.agent.channel[CHANNEL].lock = 0;
	run_for(2 * MS);
	assert_true(one_event(&w.p[1], 99));
	expect(pair.b->scq, 2, VNET_WC_SUCCESS);
}

/* The sender dies while its request waits for the lock of the receiver's channel. */
static void event_of_the_dead(void **state)
{
	(void)message_with_held_event();
	nic_recover(&w.agent, w.p[0].nic.self, w.p[0].nic.space);
	run_for(3 * MS);
	w.agent.channel[CHANNEL].lock = 0;
	run_for(3 * MS);
	assert_true(one_event(&w.p[1], 99));
}

static void settle(void **state)
{
	struct pair pair = pair_with_channel(NIC_QPT_RC);
	u32 drained = 0;

	assert_int_equal(nic_channel_clear_stale(&w.agent, w.config.max_channel, nothing, &drained),
			 NIC_EINVAL);
	w.agent.channel[CHANNEL].lock = 7;
	assert_int_equal(nic_channel_clear_stale(&w.agent, CHANNEL, nothing, NULL), NIC_BUSY);
	w.agent.channel[CHANNEL].lock = 0;
	arm(pair.b->rcq, VNET_CQ_ARM_NEXT);
	send_with(&pair, 0);
	assert_int_equal(nic_channel_clear_stale(&w.agent, CHANNEL, nothing, NULL), NIC_OK);
	assert_true(one_event(&w.p[1], 99));
}

/* While a process spins on the channel's lock, the CQ is resized. */
static struct pair resized;

static void resize_now(void)
{
	struct ring ring = ring_make(128, 7);

	tp.on_relax = NULL;
	w.agent.channel[CHANNEL].lock = 0;
	assert_int_equal(nic_cq_resize(&w.agent, resized.b->rcq->cqn, ring.offset, 128), NIC_OK);
	resized.b->rcq->ring = ring;
}

static void event_against_resize(void **state)
{
	struct vnet_send_wqe wqe = wr(VNET_WR_SEND, 1);
	struct vnet_ring *old;

	resized = pair_with_channel(NIC_QPT_RC);
	old = resized.b->rcq->ring.hdr;
	arm(resized.b->rcq, VNET_CQ_ARM_NEXT);
	post_recv(resized.b, 2, NULL, 0);
	w.agent.channel[CHANNEL].lock = 7;
	tp.on_relax = resize_now;
	send_one(resized.a, &wqe, NULL);
	/* The old ring may already be memory of another queue. */
	assert_int_equal(old->arm, VNET_CQ_ARM_NEXT);
	assert_int_equal(resized.b->rcq->ring.hdr->arm, VNET_CQ_DISARMED);
	assert_true(one_event(&w.p[1], 99));
	expect(resized.b->rcq, 2, VNET_WC_SUCCESS);
}

/* ----------------------------------------------------------- asynchronous */

static void overrun_ends_the_cq(void **state)
{
	struct cq *small = make_cq(&w.p[1], 4, 0), *ca = make_cq(&w.p[0], 64, 0);
	struct qp *a = make_qp(&w.p[0], NIC_QPT_RC, ca, ca);
	struct qp *b = make_qp(&w.p[1], NIC_QPT_RC, small, small);
	struct vnet_send_wqe wqe = wr(VNET_WR_SEND, 0);
	struct wc wc;

	connect(a, b);
	for (u32 i = 0; i < 6; i++)
		post_recv(b, 10 + i, NULL, 0);
	for (u32 i = 0; i < 4; i++) {
		wqe.wr_id = i;
		send_one(a, &wqe, NULL);
		expect(ca, i, VNET_WC_SUCCESS);
	}
	no_async();
	send_one(a, &wqe, NULL);
	assert_true(async_event('q', b->qpn, NIC_EVENT_QP_FATAL));
	assert_true(async_event('c', small->cqn, NIC_EVENT_CQ_ERR));
	expect(ca, 3, VNET_WC_REM_OP_ERR);
	assert_int_equal(state_of(b), NIC_QPS_ERR);
	/* Earlier entries can still be polled; nothing is overwritten or added. */
	for (u32 i = 0; i < 4; i++)
		expect_next(small, 10 + i, VNET_WC_SUCCESS);
	assert_false(poll(small, &wc));
	run_for(5 * MS);
	assert_false(poll(small, &wc));
	no_async();
}

static void overrun_by_the_sender(void **state)
{
	struct cq *small = make_cq(&w.p[0], 2, 0);
	struct qp *qp = make_qp(&w.p[0], NIC_QPT_RC, small, small);
	struct vnet_send_wqe wqe = wr(VNET_WR_RDMA_WRITE, 1);

	bring_up(qp, qp->qpn);
	for (u32 i = 0; i < 5; i++)
		post_send(qp, &wqe, NULL, 0);
	ring_send(qp);
	assert_true(async_event('q', qp->qpn, NIC_EVENT_QP_FATAL));
	assert_true(async_event('c', small->cqn, NIC_EVENT_CQ_ERR));
	assert_int_equal(state_of(qp), NIC_QPS_ERR);
	run_for(5 * MS);
	assert_int_equal(qp->sq.hdr->cons, 5);
	no_async();
}

static void overrun_ignored_on_request(void **state)
{
	struct cq *small = make_cq(&w.p[0], 4, VNET_CREATE_CQ_IGNORE_OVERRUN);
	struct qp *qp = make_qp(&w.p[0], NIC_QPT_RC, small, small);
	struct vnet_send_wqe wqe = wr(VNET_WR_RDMA_WRITE, 0);

	bring_up(qp, qp->qpn);
	for (u32 i = 0; i < 9; i++) {
		wqe.wr_id = i;
		post_send(qp, &wqe, NULL, 0);
	}
	ring_send(qp);
	no_async();
	assert_int_equal(state_of(qp), NIC_QPS_RTS);
	assert_int_equal(qp->sq.hdr->cons, 9);
	/* The newest entries are there, each in its slot. */
	small->cons = 9 - 4;
	for (u32 i = 5; i < 9; i++)
		expect_next(small, i, VNET_WC_SUCCESS);
	expect_none(small);
}

static void established_once(void **state)
{
	struct cq *ca = make_cq(&w.p[0], 64, 0), *cb = make_cq(&w.p[1], 64, 0);
	struct qp *a = make_qp(&w.p[0], NIC_QPT_RC, ca, ca);
	struct qp *b = make_qp(&w.p[1], NIC_QPT_RC, cb, cb);
	struct vnet_send_wqe wqe = wr(VNET_WR_SEND, 1);

	assert_int_equal(to_state(b, NIC_QPS_INIT, a->qpn), NIC_OK);
	assert_int_equal(to_state(b, NIC_QPS_RTR, a->qpn), NIC_OK);
	bring_up(a, b->qpn);
	post_recv(b, 1, NULL, 0);
	post_recv(b, 2, NULL, 0);
	send_one(a, &wqe, NULL);
	assert_true(async_event('q', b->qpn, NIC_EVENT_COMM_EST));
	send_one(a, &wqe, NULL);
	no_async();
}

/* Several events of several objects: each is delivered once. */
static void many_events(void **state)
{
	struct pair pair[3];
	struct nic_async async;
	u32 seen = 0;

	for (u32 i = 0; i < 3; i++) {
		struct vnet_send_wqe wqe = wr(VNET_WR_RDMA_WRITE, 1);
		struct sge from = sge(&w.p[0], 0, 8);

		pair[i] = make_pair(NIC_QPT_RC);
		wqe.rdma.rkey = 1;
		w.agent.hdr->processor_sleeps = NIC_SLEEPS;
		tp.kicks = 0;
		send_one(pair[i].a, &wqe, &from);
		assert_true(tp.kicks > 0);
	}
	while (nic_async_take(&w.agent, &async)) {
		assert_int_equal(async.kind, 'q');
		assert_int_equal(async.event, NIC_EVENT_QP_ACCESS_ERR);
		for (u32 i = 0; i < 3; i++) {
			if (async.num == pair[i].b->qpn)
				seen += 1u << (4 * i);
		}
	}
	assert_int_equal(seen, 0x111);
}

static void events_die_with_their_object(void **state)
{
	struct pair pair = make_pair(NIC_QPT_RC);
	struct vnet_send_wqe wqe = wr(VNET_WR_RDMA_WRITE, 1);
	struct sge from = sge(&w.p[0], 0, 8);

	wqe.rdma.rkey = 1;
	send_one(pair.a, &wqe, &from);
	assert_int_equal(nic_qp_destroy(&w.agent, pair.b->qpn), NIC_OK);
	no_async();
}

static void send_to(struct pair *pair, u32 count)
{
	struct vnet_send_wqe wqe = wr(VNET_WR_SEND, 1);
	struct sge to = sge(pair->b->p, 0, 64), from = sge(pair->a->p, 0, 8);

	while (count--) {
		post_recv(pair->b, 2, &to, 1);
		send_one(pair->a, &wqe, &from);
	}
}

static void moderated_by_count(void **state)
{
	struct pair pair = pair_with_channel(NIC_QPT_RC);
	u32 cqn = pair.b->rcq->cqn;

	assert_int_equal(nic_cq_moderate(&w.agent, cqn + 1000, 1, 1), NIC_EINVAL);
	assert_int_equal(nic_cq_moderate(&w.agent, cqn, 3, 0), NIC_OK);
	arm(pair.b->rcq, VNET_CQ_ARM_NEXT);
	send_to(&pair, 2);
	run_for(100 * MS);
	assert_true(no_event(pair.b->p));
	send_to(&pair, 1);
	assert_true(one_event(pair.b->p, 99));
	arm(pair.b->rcq, VNET_CQ_ARM_NEXT);
	send_to(&pair, 2);
	assert_true(no_event(pair.b->p));
	/* Without moderation, a delayed event is delivered. */
	assert_int_equal(nic_cq_moderate(&w.agent, cqn, 0, 0), NIC_OK);
	run_for(5 * MS);
	assert_true(one_event(pair.b->p, 99));
	arm(pair.b->rcq, VNET_CQ_ARM_NEXT);
	send_to(&pair, 1);
	assert_true(one_event(pair.b->p, 99));
}

static void moderated_by_time(void **state)
{
	struct pair pair = pair_with_channel(NIC_QPT_RC);

	assert_int_equal(nic_cq_moderate(&w.agent, pair.b->rcq->cqn, 4, 10000), NIC_OK);
	arm(pair.b->rcq, VNET_CQ_ARM_NEXT);
	send_to(&pair, 1);
	run_for(6 * MS);
	send_to(&pair, 1);
	assert_true(no_event(pair.b->p));
	run_for(6 * MS);
	assert_true(one_event(pair.b->p, 99));
	/* When the count is reached, the event is not delayed. */
	arm(pair.b->rcq, VNET_CQ_ARM_NEXT);
	send_to(&pair, 4);
	assert_true(one_event(pair.b->p, 99));
	run_for(30 * MS);
	assert_true(no_event(pair.b->p));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(one_event_for_one_arm),
		TEST(woken_by_the_processor),
		TEST(an_edge_for_each_event),
		TEST(no_edges_for_a_blocking_reader),
		TEST(solicited_only),
		TEST(errors_are_solicited),
		TEST(events_of_the_sender),
		TEST(immediate_data_too),
		TEST(unpolled_entries_make_the_event),
		TEST(unpolled_and_solicited),
		TEST(unpolled_and_failed),
		TEST(event_deferred),
		TEST(event_of_the_sender_deferred),
		TEST(event_of_the_dead),
		TEST(settle),
		TEST(event_against_resize),
		TEST(overrun_ends_the_cq),
		TEST(overrun_by_the_sender),
		TEST(overrun_ignored_on_request),
		TEST(established_once),
		TEST(many_events),
		TEST(events_die_with_their_object),
		TEST(moderated_by_count),
		TEST(moderated_by_time),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
