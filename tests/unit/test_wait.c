// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Requests that wait: RNR and transport timeouts, and bounded stalls of unreliable senders.
 * Also the processes that resume them. The test controls the clock.
 */
#include <string.h>

#include "pending/pending.h"
#include "world.h"

#define FROM 0x1000
#define TO 0x40000

/* 0.64 ms, from the table in the specification: min_rnr_timer 12. */
#define RNR_12 (640 * 1000ull)

static struct vnet_send_wqe put(u64 wr_id)
{
	return rdma(VNET_WR_RDMA_WRITE, wr_id, &w.p[1], TO);
}

static struct vnet_send_wqe plain_or_datagram(struct pair *pair, u64 wr_id)
{
	struct vnet_send_wqe wqe = wr(VNET_WR_SEND, wr_id);

	if (pair->a->type != NIC_QPT_UD)
		return wqe;
	aim_datagram(&wqe, pair->b);
	return wqe;
}

/* Returns the time in ns until a posted request completes, and checks its status. */
static u64 completes_after(struct cq *cq, u32 status, u64 limit)
{
	u64 start = tp.clock, next;
	struct wc wc;

	while (!poll(cq, &wc)) {
		if (tp.clock - start > limit)
			fail_msg("no completion after %llu ns", (unsigned long long)limit);
		tp.clock += 10000;
		nic_run(&w.agent, 64, &next);
	}
	assert_int_equal(wc.status, status);
	return tp.clock - start;
}

/* -------------------------------------------------------- receiver not ready */

static void rnr_fails_after_its_retries(void **state)
{
	for (u32 retries = 0; retries < 7; retries++) {
		struct pair pair = make_pair(NIC_QPT_RC);
		struct vnet_send_wqe wqe = wr(VNET_WR_SEND, 1);
		u64 ns;

		frame(pair.a)->attr.rnr_retry = (u8)retries;
		send_one(pair.a, &wqe, NULL);
		ns = completes_after(pair.a->scq, VNET_WC_RNR_RETRY_EXC_ERR, 100 * MS);
		assert_in_range(ns, RNR_12 * (retries + 1), RNR_12 * (retries + 1) + 100000);
		assert_int_equal(state_of(pair.a), NIC_QPS_ERR);
		assert_int_equal(state_of(pair.b), NIC_QPS_RTS);
		assert_int_equal(frame(pair.a)->counters.rnr_waits, retries + 1);
	}
}

static void rnr_timers(void **state)
{
	/* In 10 us (IB vol 1, table 45). */
	static const u32 timer[32] = {
		65536, 1,    2,    3,    4,    6,     8,     12,    16,    24,    32,
		48,    64,   96,   128,  192,  256,   384,   512,   768,   1024,  1536,
		2048,  3072, 4096, 6144, 8192, 12288, 16384, 24576, 32768, 49152,
	};
	struct pair pair = make_pair(NIC_QPT_RC);
	struct vnet_send_wqe wqe = wr(VNET_WR_SEND, 1);

	for (u32 i = 0; i < 32; i++) {
		u64 next;

		frame(pair.b)->attr.min_rnr_timer = (u8)i;
		frame(pair.a)->attr.rnr_retry = 0;
		send_one(pair.a, &wqe, NULL);
		tp.clock += timer[i] * 10000ull - 1;
		nic_run(&w.agent, 64, &next);
		expect_none(pair.a->scq);
		tp.clock += 1;
		nic_run(&w.agent, 64, &next);
		expect(pair.a->scq, 1, VNET_WC_RNR_RETRY_EXC_ERR);
		assert_int_equal(to_state(pair.a, NIC_QPS_RESET, 0), NIC_OK);
		bring_up(pair.a, pair.b->qpn);
	}
}

static void rnr_without_end(void **state)
{
	struct pair pair = make_pair(NIC_QPT_RC);
	struct vnet_send_wqe wqe = wr(VNET_WR_SEND, 1);

	frame(pair.a)->attr.rnr_retry = 7;
	send_one(pair.a, &wqe, NULL);
	run_for(20000 * MS);
	expect_none(pair.a->scq);
	post_recv(pair.b, 2, NULL, 0);
	run_for(2 * MS);
	expect(pair.a->scq, 1, VNET_WC_SUCCESS);
	expect(pair.b->rcq, 2, VNET_WC_SUCCESS);
}

/* RNR retries are counted for each request, not for the queue. */
static void rnr_budget_is_per_request(void **state)
{
	struct pair pair = make_pair(NIC_QPT_RC);

	for (u32 i = 0; i < 5; i++) {
		struct vnet_send_wqe wqe = wr(VNET_WR_SEND, i);

		post_send(pair.a, &wqe, NULL, 0);
	}
	ring_send(pair.a);
	for (u32 i = 0; i < 5; i++) {
		run_for(RNR_12 * 2 + RNR_12 / 2); /* 2.5 of 3 waits */
		expect_none(pair.a->scq);
		post_recv(pair.b, 10 + i, NULL, 0);
		run_for(0);
		idle(&w.p[0]);
		expect(pair.a->scq, i, VNET_WC_SUCCESS);
		expect(pair.b->rcq, 10 + i, VNET_WC_SUCCESS);
	}
}

/* The owner's empty poll resumes the request at once, without the daemon. */
static void idle_poll_resumes(void **state)
{
	struct pair pair = make_pair(NIC_QPT_RC);
	struct vnet_send_wqe wqe = wr(VNET_WR_SEND, 1);

	send_one(pair.a, &wqe, NULL);
	idle(&w.p[0]);
	expect_none(pair.a->scq);
	post_recv(pair.b, 2, NULL, 0);
	idle(&w.p[1]); /* not the owner */
	idle(&w.p[2]);
	expect_none(pair.a->scq);
	idle(&w.p[0]);
	expect(pair.a->scq, 1, VNET_WC_SUCCESS);
	expect(pair.b->rcq, 2, VNET_WC_SUCCESS);
}

/* After an attempt by the NIC processor, posting a receive wakes it. */
static void receive_doorbell_wakes_the_processor(void **state)
{
	struct pair pair = make_pair(NIC_QPT_RC);
	struct vnet_send_wqe wqe = wr(VNET_WR_SEND, 1);
	u64 next;

	send_one(pair.a, &wqe, NULL);
	assert_int_equal(pair.b->rq.hdr->need_doorbell, 0);
	assert_true(nic_run(&w.agent, 64, &next));
	assert_int_equal(pair.b->rq.hdr->need_doorbell, 1);
	w.agent.hdr->processor_sleeps = NIC_DOZES;
	tp.kicks = 0;
	post_recv(pair.b, 2, NULL, 0);
	assert_int_equal(tp.kicks, 1);
	assert_int_equal(pair.b->rq.hdr->need_doorbell, 0);
	assert_int_equal(w.agent.hdr->processor_sleeps, NIC_AWAKE);
	assert_false(nic_run(&w.agent, 64, &next));
	expect(pair.a->scq, 1, VNET_WC_SUCCESS);
}

static void pending_work_wakes_the_processor(void **state)
{
	struct pair pair = make_pair(NIC_QPT_RC);
	struct vnet_send_wqe wqe = wr(VNET_WR_SEND, 1);

	run_for(MS); /* becoming RTS was pending work too */
	tp.kicks = 0;
	w.agent.hdr->processor_sleeps = NIC_SLEEPS;
	send_one(pair.a, &wqe, NULL);
	assert_int_equal(tp.kicks, 1);
	/* A NIC processor that is awake, or has a tick due, needs no kick. */
	idle(&w.p[0]);
	assert_int_equal(tp.kicks, 1);
	w.agent.hdr->processor_sleeps = NIC_DOZES;
	idle(&w.p[0]);
	assert_int_equal(tp.kicks, 1);
}

static void nothing_pending_nothing_to_do(void **state)
{
	struct pair pair = make_pair(NIC_QPT_RC);
	struct vnet_send_wqe wqe = put(1);
	u64 next;

	run_for(MS);
	send_one(pair.a, &wqe, NULL);
	assert_false(nic_run(&w.agent, 64, &next));
	assert_int_equal(w.agent.hdr->pending_summary, 0);
}

/* -------------------------------------------------------------- silent peers */

static void is_destroyed(struct qp *b)
{
	assert_int_equal(nic_qp_destroy(&w.agent, b->qpn), NIC_OK);
}

static void is_in_reset(struct qp *b)
{
	assert_int_equal(to_state(b, NIC_QPS_RESET, 0), NIC_OK);
}

static void is_in_init(struct qp *b)
{
	is_in_reset(b);
	assert_int_equal(to_state(b, NIC_QPS_INIT, 0), NIC_OK);
}

static void is_in_error(struct qp *b)
{
	assert_int_equal(to_state(b, NIC_QPS_ERR, 0), NIC_OK);
}

static void talks_to_another(struct qp *b)
{
	frame(b)->attr.dest_qpn = 77;
}

static void died(struct qp *b)
{
	nic_recover(&w.agent, b->p->nic.self, b->p->nic.space);
}

static void (*const ways_to_be_silent[])(struct qp *b) = {
	is_destroyed, is_in_reset, is_in_init, is_in_error, talks_to_another, died,
};

/* RETRY_EXC after timeout * (retry_cnt + 1), then flush. */
static void silent_peers(void **state)
{
	u64 period = 4096ull << 8;

	for (u32 i = 0; i < sizeof(ways_to_be_silent) / sizeof(ways_to_be_silent[0]); i++) {
		for (u32 retries = 0; retries <= 7; retries += 7) {
			struct pair pair = make_pair(NIC_QPT_RC);
			struct vnet_send_wqe first = put(1), second = put(2);
			u64 ns;

			frame(pair.a)->attr.timeout = 8;
			frame(pair.a)->attr.retry_cnt = (u8)retries;
			ways_to_be_silent[i](pair.b);
			post_send(pair.a, &first, NULL, 0);
			post_send(pair.a, &second, NULL, 0);
			ring_send(pair.a);
			{
				u64 start = tp.clock, next;

				while (pair.a->scq->ring.hdr->prod == 0) {
					tp.clock += 10000;
					nic_run(&w.agent, 64, &next);
					assert_true(tp.clock - start < 100 * MS);
				}
				ns = tp.clock - start;
			}
			assert_in_range(ns, period * (retries + 1),
					period * (retries + 1) + 100000);
			expect_next(pair.a->scq, 1, VNET_WC_RETRY_EXC_ERR);
			expect(pair.a->scq, 2, VNET_WC_WR_FLUSH_ERR);
			assert_int_equal(frame(pair.a)->counters.retries, retries);
		}
	}
}

static void timeout_zero_is_for_ever(void **state)
{
	struct pair pair = make_pair(NIC_QPT_RC);
	struct vnet_send_wqe wqe = put(1);

	frame(pair.a)->attr.timeout = 0;
	is_in_init(pair.b);
	send_one(pair.a, &wqe, NULL);
	run_for(30000 * MS);
	expect_none(pair.a->scq);
	assert_int_equal(to_state(pair.b, NIC_QPS_RTR, pair.a->qpn), NIC_OK);
	run_for(2 * MS);
	expect(pair.a->scq, 1, VNET_WC_SUCCESS);
}

/* The peer becomes ready after the first message was sent: nothing is lost. */
static void peer_comes_up_late(void **state)
{
	struct cq *ca = make_cq(&w.p[0], 16, 0), *cb = make_cq(&w.p[1], 16, 0);
	struct qp *a = make_qp(&w.p[0], NIC_QPT_RC, ca, ca);
	struct qp *b = make_qp(&w.p[1], NIC_QPT_RC, cb, cb);
	struct vnet_send_wqe wqe = wr(VNET_WR_SEND, 1);
	struct sge from = sge(&w.p[0], FROM, 100), to = sge(&w.p[1], TO, 100);

	fill(&w.p[0], FROM, 100, 1);
	bring_up(a, b->qpn);
	send_one(a, &wqe, &from);
	run_for(50 * MS);
	post_recv(b, 2, &to, 1);
	assert_int_equal(to_state(b, NIC_QPS_INIT, a->qpn), NIC_OK);
	run_for(5 * MS);
	expect_none(ca);
	assert_int_equal(to_state(b, NIC_QPS_RTR, a->qpn), NIC_OK);
	run_for(5 * MS);
	expect(ca, 1, VNET_WC_SUCCESS);
	expect(cb, 2, VNET_WC_SUCCESS);
	assert_true(filled(&w.p[1], TO, 100, 1));
	assert_true(async_event('q', b->qpn, NIC_EVENT_COMM_EST));
}

/* A new QP in the table entry of the old peer is not the peer. */
static void next_user_of_the_peers_frame(void **state)
{
	struct pair pair = make_pair(NIC_QPT_RC);
	struct cq *cq = make_cq(&w.p[2], 16, 0);
	struct vnet_send_wqe wqe = wr(VNET_WR_SEND, 1);
	struct qp *other;

	is_destroyed(pair.b);
	w.next_qpn = pair.b->qpn + w.config.max_qp;
	other = make_qp(&w.p[2], NIC_QPT_RC, cq, cq);
	assert_ptr_equal(frame(other), frame(pair.b));
	bring_up(other, pair.a->qpn);
	post_recv(other, 5, NULL, 0);
	send_one(pair.a, &wqe, NULL);
	run_for(4096ull * (1 << 14) * 5);
	expect(pair.a->scq, 1, VNET_WC_RETRY_EXC_ERR);
	expect_none(cq);
}

static struct qp *replaced, *replacement;

/* ... even if it is replaced while the sender spins on a lock. */
static void replace_the_peer(void)
{
	u32 qpn = replaced->qpn;
	struct cq *cq = make_cq(&w.p[2], 16, 0);

	tp.on_relax = NULL;
	frame(replaced)->rq.lock = 0;
	assert_int_equal(nic_qp_destroy(&w.agent, qpn), NIC_OK);
	w.next_qpn = qpn + w.config.max_qp;
	replacement = make_qp(&w.p[2], NIC_QPT_UD, cq, cq);
	bring_up(replacement, 0);
	post_recv(replacement, 5, NULL, 0);
}

static void peer_replaced_under_a_waiting_sender(void **state)
{
	struct pair pair = make_pair(NIC_QPT_UD);
	struct vnet_send_wqe wqe = plain_or_datagram(&pair, 1);

	replaced = pair.b;
	frame(pair.b)->rq.lock = 7;
	tp.on_relax = replace_the_peer;
	send_one(pair.a, &wqe, NULL);
	expect_none(replacement->rcq);
	run_for(100 * MS);
	expect(pair.a->scq, 1, VNET_WC_SUCCESS);
	expect_none(replacement->rcq);
}

/* ------------------------------------------------- unreliable: bounded stall */

static void stall_then_drop(u8 type)
{
	struct pair pair = make_pair(type);
	struct vnet_send_wqe wqe = plain_or_datagram(&pair, 1);
	struct sge to = sge(&w.p[1], TO, 100);
	u64 ns, dropped = w.agent.hdr->counters.drop_no_receive;

	/* A queue pair that never had a receive is not waited for. */
	send_one(pair.a, &wqe, NULL);
	expect(pair.a->scq, 1, VNET_WC_SUCCESS);
	assert_int_equal(w.agent.hdr->counters.drop_no_receive, ++dropped);
	post_recv(pair.b, 1, &to, 1);
	send_one(pair.a, &wqe, NULL);
	expect(pair.a->scq, 1, VNET_WC_SUCCESS);
	expect(pair.b->rcq, 1, VNET_WC_SUCCESS);

	send_one(pair.a, &wqe, NULL);
	expect_none(pair.a->scq);
	ns = completes_after(pair.a->scq, VNET_WC_SUCCESS, 200 * MS);
	assert_in_range(ns, 50 * MS, 51 * MS);
	assert_int_equal(w.agent.hdr->counters.drop_no_receive, dropped + 1);
	/* The queue is known to be empty: the next messages do not stall. */
	send_one(pair.a, &wqe, NULL);
	expect(pair.a->scq, 1, VNET_WC_SUCCESS);
	send_one(pair.a, &wqe, NULL);
	expect(pair.a->scq, 1, VNET_WC_SUCCESS);
	assert_int_equal(frame(pair.b)->counters.dropped, 4);
	/* After a new receive, messages wait again. */
	post_recv(pair.b, 2, &to, 1);
	send_one(pair.a, &wqe, NULL);
	expect(pair.a->scq, 1, VNET_WC_SUCCESS);
	expect(pair.b->rcq, 2, VNET_WC_SUCCESS);
	send_one(pair.a, &wqe, NULL);
	expect_none(pair.a->scq);
	post_recv(pair.b, 3, &to, 1);
	run_for(2 * MS);
	expect(pair.a->scq, 1, VNET_WC_SUCCESS);
	expect(pair.b->rcq, 3, VNET_WC_SUCCESS);
}

static void stall_uc(void **state)
{
	stall_then_drop(NIC_QPT_UC);
}

static void stall_ud(void **state)
{
	stall_then_drop(NIC_QPT_UD);
}

static void unreliable_to_nobody(void **state)
{
	struct pair pair = make_pair(NIC_QPT_UC);
	struct vnet_send_wqe wqe = put(1);

	is_destroyed(pair.b);
	send_one(pair.a, &wqe, NULL);
	expect(pair.a->scq, 1, VNET_WC_SUCCESS);
	wqe = wr(VNET_WR_SEND, 2);
	send_one(pair.a, &wqe, NULL);
	expect(pair.a->scq, 2, VNET_WC_SUCCESS);
}

/* While a receive is missing, a write's data is in place but not signaled. */
static void write_with_immediate_waits(void **state)
{
	struct pair pair = make_pair(NIC_QPT_RC);
	struct vnet_send_wqe wqe = put(1);
	struct sge from = sge(&w.p[0], FROM, 100);

	wqe.opcode = VNET_WR_RDMA_WRITE_IMM;
	fill(&w.p[0], FROM, 100, 2);
	send_one(pair.a, &wqe, &from);
	expect_none(pair.b->rcq);
	run_for(MS);
	/* The request completes after a receive is posted. */
	post_recv(pair.b, 2, NULL, 0);
	run_for(2 * MS);
	expect(pair.a->scq, 1, VNET_WC_SUCCESS);
	expect(pair.b->rcq, 2, VNET_WC_SUCCESS);
	assert_true(filled(&w.p[1], TO, 100, 2));
}

/* ------------------------------------------------------ many that wait at once */

#define CROWD 100

static void a_crowd_waits(void **state)
{
	struct cq *ca = make_cq(&w.p[0], 256, 0), *cb = make_cq(&w.p[1], 256, 0);
	struct qp_options small = { .sq_entries = 4, .rq_entries = 4 };
	struct qp *a[CROWD], *b[CROWD];
	struct vnet_send_wqe wqe = wr(VNET_WR_SEND, 0);

	for (u32 i = 0; i < CROWD; i++) {
		a[i] = make_qp_with(&w.p[0], NIC_QPT_RC, ca, ca, &small);
		b[i] = make_qp_with(&w.p[1], NIC_QPT_RC, cb, cb, &small);
		connect(a[i], b[i]);
		frame(a[i])->attr.rnr_retry = 7;
		wqe.wr_id = i;
		send_one(a[i], &wqe, NULL);
	}
	run_for(10 * MS);
	expect_none(ca);
	for (u32 i = 0; i < CROWD; i++) {
		u32 j = (i * 37) % CROWD;

		post_recv(b[j], 1000 + j, NULL, 0);
		run_for(2 * MS);
		expect(ca, j, VNET_WC_SUCCESS);
		expect(cb, 1000 + j, VNET_WC_SUCCESS);
	}
	assert_int_equal(w.agent.hdr->pending_summary, 0);
}

/* A budget splits long queues into rounds, and loses nothing. */
static void budget(void **state)
{
	struct pair pair = make_pair(NIC_QPT_RC);
	u64 next;

	run_for(MS);
	for (u32 i = 0; i < 15; i++) {
		struct vnet_send_wqe wqe = put(i);

		post_send(pair.a, &wqe, NULL, 0);
	}
	frame(pair.a)->sq_lock = 7; /* the doorbell finds it busy */
	ring_send(pair.a);
	frame(pair.a)->sq_lock = 0;
	w.agent.pending[pair.a->qpn / 64] |= 1ull << (pair.a->qpn % 64);
	w.agent.hdr->pending_summary = ~0ull;
	for (u32 i = 0; i < 15; i++) {
		expect_none(pair.a->scq);
		nic_run(&w.agent, 1, &next);
		expect_next(pair.a->scq, i, VNET_WC_SUCCESS);
	}
	while (nic_run(&w.agent, 1, &next))
		;
	expect_none(pair.a->scq);
}

/* The holder of the lock may have marked the QP just before: the mark stays. */
static void pending_stays_while_locked(void **state)
{
	struct pair pair = make_pair(NIC_QPT_RC);
	struct vnet_send_wqe wqe = wr(VNET_WR_SEND, 1);
	u64 next;

	send_one(pair.a, &wqe, NULL);
	frame(pair.a)->sq_lock = w.p[0].nic.self;
	assert_true(nic_run(&w.agent, 64, &next));
	idle(&w.p[0]);
	frame(pair.a)->sq_lock = 0;
	post_recv(pair.b, 2, NULL, 0);
	run_for(2 * MS);
	expect(pair.a->scq, 1, VNET_WC_SUCCESS);
}

static u32 steps_seen;

static void summary_is_not_empty(int step)
{
	steps_seen++;
	assert_int_not_equal(w.agent.hdr->pending_summary, 0);
}

/* Not every empty poll looks at the receiver's queue, to avoid cache misses there. */
static void idle_poll_looks_now_and_then(void **state)
{
	struct pair pair = make_pair(NIC_QPT_RC);
	struct vnet_send_wqe wqe = wr(VNET_WR_SEND, 1);

	send_one(pair.a, &wqe, NULL);
	steps_seen = 0;
	tp.on_step = summary_is_not_empty;
	nic_idle(&w.p[0].nic);
	assert_int_equal(steps_seen, 0);
	idle(&w.p[0]);
	assert_true(steps_seen > 0);
	tp.on_step = NULL;
}

/* While a process executes its own requests, the daemon still sees pending work. */
static void idle_hides_nothing_from_the_processor(void **state)
{
	struct pair one = make_pair(NIC_QPT_RC), two = make_pair(NIC_QPT_RC);
	struct vnet_send_wqe wqe = wr(VNET_WR_SEND, 1);

	send_one(one.a, &wqe, NULL);
	send_one(two.b, &wqe, NULL);
	tp.on_step = summary_is_not_empty;
	idle(&w.p[0]);
	tp.on_step = NULL;
	assert_true(steps_seen > 0);
}

/* -------------------------------------------------- the NIC processor's turns */

/* Posts as many requests as the queue holds, to be executed by the NIC processor. */
static void leave_work(struct qp *qp)
{
	struct vnet_send_wqe wqe = put(1);
	struct sge sg = sge(qp->p, FROM, 1);

	for (u32 i = 0; i < qp->sq.mask; i++)
		post_send(qp, &wqe, &sg, 1);
	nic_pend(&w.agent, frame(qp));
}

static u32 executed(struct qp *qp)
{
	return frame(qp)->sq_cons;
}

static void turns_are_by_weight(void **state)
{
	struct pair heavy = make_pair(NIC_QPT_RC), light = make_pair(NIC_QPT_RC);
	u64 next;

	w.agent.hdr->settings.weight[5] = 3;
	frame(heavy.a)->attr.sl = 5;
	leave_work(heavy.a);
	leave_work(light.a);
	nic_run(&w.agent, 2, &next);
	assert_int_equal(executed(heavy.a), 6);
	assert_int_equal(executed(light.a), 2);
	nic_run(&w.agent, 2, &next);
	assert_int_equal(executed(heavy.a), 12);
	assert_int_equal(executed(light.a), 4);
}

static void nobody_starves(void **state)
{
	struct pair greedy = make_pair(NIC_QPT_RC), modest = make_pair(NIC_QPT_RC);
	struct vnet_send_wqe wqe = put(7);
	struct sge sg = sge(modest.a->p, FROM, 1);
	struct wc wc;
	u64 next;

	w.agent.hdr->settings.weight[15] = 255;
	frame(greedy.a)->attr.sl = 15;
	for (u32 round = 0; round < 20; round++) {
		leave_work(greedy.a);
		post_send(modest.a, &wqe, &sg, 1);
		nic_pend(&w.agent, frame(modest.a));
		nic_run(&w.agent, 1, &next);
		assert_true(poll(modest.a->scq, &wc));
		assert_int_equal(wc.status, VNET_WC_SUCCESS);
		while (frame(greedy.a)->sq_cons != greedy.a->sq_prod)
			nic_run(&w.agent, 64, &next);
		while (poll(greedy.a->scq, &wc))
			;
	}
}

static u32 turns_until_post;
static struct qp *late;

static void post_late(void)
{
	struct vnet_send_wqe wqe = put(9);
	struct sge sg = sge(late->p, FROM, 1);

	if (turns_until_post && !--turns_until_post)
		post_send(late, &wqe, &sg, 1);
}

static void the_processor_lingers(void **state)
{
	struct pair pair = make_pair(NIC_QPT_RC);
	u64 next;

	late = pair.a;
	tp.on_relax = post_late;
	turns_until_post = 3;
	w.agent.hdr->settings.linger = 5;
	nic_pend(&w.agent, frame(pair.a));
	nic_run(&w.agent, 64, &next);
	tp.on_relax = NULL;
	expect(pair.a->scq, 9, VNET_WC_SUCCESS);
}

static void the_budget_has_bounds(void **state)
{
	assert_int_equal(nic_budget(&w.agent), 64);
	w.agent.hdr->settings.budget = 1;
	assert_int_equal(nic_budget(&w.agent), 1);
	w.agent.hdr->settings.budget = NIC_MOST_BUDGET;
	assert_int_equal(nic_budget(&w.agent), NIC_MOST_BUDGET);
	/* Invalid values, whoever wrote them, are replaced by the default. */
	w.agent.hdr->settings.budget = NIC_MOST_BUDGET + 1;
	assert_int_equal(nic_budget(&w.agent), 64);
	w.agent.hdr->settings.budget = 0;
	assert_int_equal(nic_budget(&w.agent), 64);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(turns_are_by_weight),
		TEST(the_budget_has_bounds),
		TEST(nobody_starves),
		TEST(the_processor_lingers),
		TEST(rnr_fails_after_its_retries),
		TEST(rnr_timers),
		TEST(rnr_without_end),
		TEST(rnr_budget_is_per_request),
		TEST(idle_poll_resumes),
		TEST(receive_doorbell_wakes_the_processor),
		TEST(pending_work_wakes_the_processor),
		TEST(nothing_pending_nothing_to_do),
		TEST(silent_peers),
		TEST(timeout_zero_is_for_ever),
		TEST(peer_comes_up_late),
		TEST(next_user_of_the_peers_frame),
		TEST(peer_replaced_under_a_waiting_sender),
		TEST(stall_uc),
		TEST(stall_ud),
		TEST(unreliable_to_nobody),
		TEST(write_with_immediate_waits),
		TEST(a_crowd_waits),
		TEST(budget),
		TEST(pending_stays_while_locked),
		TEST(idle_poll_looks_now_and_then),
		TEST(idle_hides_nothing_from_the_processor),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
