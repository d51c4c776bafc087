// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Turns and stretches: limits of one call, long requests, and fairness. One call executes a
 * bounded number of requests and bytes, a long request is moved in pieces, and pending queue
 * pairs are served in turn.
 */
#include <string.h>

#include "pending/pending.h"
#include "requester/requester.h"
#include "world.h"

#define FROM 0x1000
#define TO 0x80000
/* Longer than any stretch. */
#define LONG 0x60000
static_assert(LONG > 2 * NIC_STRETCH_BYTES, "several stretches");
#define QUEUE 16

/* No stretch was longer than the limits. */
static void assert_bounded(void)
{
	const struct nic_counters *c = &w.agent.hdr->counters;

	assert_true(c->longest_requests && c->longest_requests <= NIC_STRETCH_REQUESTS);
	assert_true(c->longest_bytes <= NIC_STRETCH_BYTES);
}

static struct vnet_send_wqe request(u8 opcode, u64 wr_id)
{
	return rdma(opcode, wr_id, &w.p[1], TO);
}

static struct sge all(u32 process)
{
	return sge(&w.p[process], process ? TO : FROM, LONG);
}

static const u8 opcodes[] = { VNET_WR_SEND, VNET_WR_RDMA_WRITE, VNET_WR_RDMA_WRITE_IMM,
			      VNET_WR_RDMA_READ };

static bool takes_receive(u8 opcode)
{
	return opcode == VNET_WR_SEND || opcode == VNET_WR_RDMA_WRITE_IMM;
}

/* Posts a long request and its receive; the doorbell call leaves after one stretch. */
static void begin(struct pair *pair, u8 opcode)
{
	struct vnet_send_wqe wqe = request(opcode, 1);
	struct sge sg = all(0), to = all(1);
	bool read = opcode == VNET_WR_RDMA_READ;

	fill(&w.p[read], read ? TO : FROM, LONG, opcode);
	if (takes_receive(opcode))
		post_recv(pair->b, 2, &to, 1);
	tp.leaves = true;
	send_one(pair->a, &wqe, &sg);
	tp.leaves = false;
	expect_none(pair->a->scq);
	expect_none(pair->b->rcq);
}

static void end(struct pair *pair, u8 opcode)
{
	bool read = opcode == VNET_WR_RDMA_READ;

	expect(pair->a->scq, 1, VNET_WC_SUCCESS);
	if (takes_receive(opcode))
		expect(pair->b->rcq, 2, VNET_WC_SUCCESS);
	assert_true(filled(&w.p[!read], read ? FROM : TO, LONG, opcode));
	memset(mem(&w.p[0], FROM), 0, LONG);
	memset(mem(&w.p[1], TO), 0, LONG);
	assert_bounded();
}

/* ----------------------------------------------------------------- long requests */

/* The posting process executes the whole request, and calls plat_yield() between stretches. */
static void long_requests(void **state)
{
	struct pair pair = make_pair(NIC_QPT_RC);
	u32 before;

	for (u32 i = 0; i < sizeof(opcodes); i++) {
		struct vnet_send_wqe wqe = request(opcodes[i], 1);
		bool read = opcodes[i] == VNET_WR_RDMA_READ;
		struct sge sg = all(0), to = all(1);

		fill(&w.p[read], read ? TO : FROM, LONG, opcodes[i]);
		if (takes_receive(opcodes[i]))
			post_recv(pair.b, 2, &to, 1);
		before = tp.turns;
		send_one(pair.a, &wqe, &sg);
		assert_true(tp.turns - before >= LONG / NIC_STRETCH_BYTES - 1);
		end(&pair, opcodes[i]);
	}
}

/* If plat_yield() ends the call, the NIC processor does the rest, in several rounds. */
static void the_rest_is_left(void **state)
{
	struct pair pair = make_pair(NIC_QPT_RC);
	u32 rounds;
	u64 next;

	for (u32 i = 0; i < sizeof(opcodes); i++) {
		begin(&pair, opcodes[i]);
		assert_int_equal(frame(pair.a)->wait, NIC_WAIT_TURN);
		for (rounds = 1; nic_run(&w.agent, 64, &next); rounds++)
			assert_true(next <= tp.clock);
		assert_true(rounds >= LONG / NIC_STRETCH_BYTES - 1);
		end(&pair, opcodes[i]);
	}
}

/* Or the owner does, when it polls. */
static void its_owner_goes_on(void **state)
{
	struct pair pair = make_pair(NIC_QPT_RC);
	u32 polls;

	for (u32 i = 0; i < sizeof(opcodes); i++) {
		begin(&pair, opcodes[i]);
		for (polls = 0; frame(pair.a)->sq_cons != pair.a->sq_prod; polls++)
			idle(&w.p[0]);
		assert_true(polls >= LONG / NIC_STRETCH_BYTES - 1);
		end(&pair, opcodes[i]);
	}
}

/* The NIC processor is woken for the rest, whether it sleeps or dozes. */
static void the_rest_wakes_the_processor(void **state)
{
	struct pair pair = make_pair(NIC_QPT_RC);
	u64 kicks;

	w.agent.hdr->processor_sleeps = NIC_SLEEPS;
	kicks = w.agent.hdr->counters.kicks;
	begin(&pair, VNET_WR_RDMA_WRITE);
	assert_int_equal(w.agent.hdr->counters.kicks, kicks + 1);
	run_for(MS);
	end(&pair, VNET_WR_RDMA_WRITE);

	/* Also by a process that executes one turn of the queue. */
	begin(&pair, VNET_WR_RDMA_WRITE);
	w.agent.hdr->processor_sleeps = NIC_DOZES;
	kicks = w.agent.hdr->counters.kicks;
	assert_true(nic_qp_run_turn(&w.p[0].nic, frame(pair.a), 64));
	assert_int_equal(w.agent.hdr->counters.kicks, kicks + 1);
	run_for(MS);
	end(&pair, VNET_WR_RDMA_WRITE);
}

/* A request that has begun is completed before the queue is drained. */
static void drains_to_its_end(void **state)
{
	struct pair pair = make_pair(NIC_QPT_RC);
	u8 draining = 0;
	struct nic_qp_attr attr;

	begin(&pair, VNET_WR_RDMA_WRITE);
	assert_int_equal(to_state(pair.a, NIC_QPS_SQD, 0), NIC_OK);
	assert_int_equal(nic_qp_query(&w.agent, pair.a->qpn, &attr, &(u8){ 0 }, &draining), NIC_OK);
	assert_true(draining);
	run_for(MS);
	assert_int_equal(nic_qp_query(&w.agent, pair.a->qpn, &attr, &(u8){ 0 }, &draining), NIC_OK);
	assert_false(draining);
	end(&pair, VNET_WR_RDMA_WRITE);
}

/* The request is flushed, and no more data is written. */
static void fails_in_between(void **state)
{
	struct pair pair = make_pair(NIC_QPT_RC);

	begin(&pair, VNET_WR_RDMA_WRITE);
	assert_int_equal(to_state(pair.a, NIC_QPS_ERR, 0), NIC_OK);
	memset(mem(&w.p[1], TO), 0, LONG);
	run_for(MS);
	expect(pair.a->scq, 1, VNET_WC_WR_FLUSH_ERR);
	assert_true(untouched(&w.p[1], TO, LONG));
}

/* Its memory is deregistered: keys are checked again for each piece. */
static void memory_goes_in_between(void **state)
{
	struct pair pair = make_pair(NIC_QPT_RC);
	struct vnet_send_wqe wqe = request(VNET_WR_RDMA_WRITE, 1);
	u32 key = reg_mr(&w.p[1], TO, LONG, ALL_ACCESS);
	struct sge sg = all(0);

	wqe.rdma.rkey = key;
	tp.leaves = true;
	send_one(pair.a, &wqe, &sg);
	tp.leaves = false;
	assert_int_equal(nic_mr_destroy(&w.agent, key), NIC_OK);
	memset(mem(&w.p[1], TO), 0, LONG);
	run_for(MS);
	expect(pair.a->scq, 1, VNET_WC_REM_ACCESS_ERR);
	assert_true(untouched(&w.p[1], TO, LONG));
}

/* The executor dies between or within pieces: the owner's queue continues. */
static void executor_dies(void **state)
{
	struct pair pair = make_pair(NIC_QPT_RC);

	for (u32 i = 0; i < sizeof(opcodes); i++) {
		begin(&pair, opcodes[i]);
		frame(pair.a)->sq_lock = w.p[2].nic.self;
		nic_recover(&w.agent, w.p[2].nic.self, w.p[2].nic.space);
		run_for(MS);
		end(&pair, opcodes[i]);
	}
}

/* ------------------------------------------------------------ shared receive queues */

struct shared {
	struct srq *srq;
	struct cq *rcq;
	struct pair pair[2];
};

/* Two connections to one shared receive queue. */
static struct shared make_shared(void)
{
	struct qp_options options = { .sq_entries = QUEUE };
	struct shared s;

	s.srq = make_srq(&w.p[1], QUEUE);
	options.srq = s.srq;
	s.rcq = make_cq(&w.p[1], 2 * QUEUE, 0);
	for (u32 i = 0; i < 2; i++) {
		struct cq *cq = make_cq(&w.p[0], 2 * QUEUE, 0);

		s.pair[i].a = make_qp(&w.p[0], NIC_QPT_RC, cq, cq);
		s.pair[i].b = make_qp_with(&w.p[1], NIC_QPT_RC, s.rcq, s.rcq, &options);
		connect(s.pair[i].a, s.pair[i].b);
	}
	return s;
}

/* A long message on the first connection has begun, then a short one arrives on the second. */
static struct shared contend(void)
{
	struct sge sg = all(0), to = all(1), short_from = sge(&w.p[0], FROM, 100);
	struct sge short_to = sge(&w.p[1], 0x1000, 100);
	struct vnet_send_wqe wqe = wr(VNET_WR_SEND, 1);
	struct shared s = make_shared();

	fill(&w.p[0], FROM, LONG, 1);
	post_srq_recv(s.srq, 10, &to, 1);
	post_srq_recv(s.srq, 11, &short_to, 1);
	tp.leaves = true;
	send_one(s.pair[0].a, &wqe, &sg);
	tp.leaves = false;
	wqe.wr_id = 2;
	send_one(s.pair[1].a, &wqe, &short_from);
	expect_none(s.pair[1].a->scq);
	expect_none(s.rcq);
	return s;
}

/* No other message takes the receive between the pieces. */
static void a_receive_is_claimed(void **state)
{
	struct shared s = contend();

	run_for(5 * MS);
	expect(s.pair[0].a->scq, 1, VNET_WC_SUCCESS);
	expect(s.pair[1].a->scq, 2, VNET_WC_SUCCESS);
	expect_next(s.rcq, 10, VNET_WC_SUCCESS);
	expect(s.rcq, 11, VNET_WC_SUCCESS);
	assert_true(filled(&w.p[1], TO, LONG, 1));
	assert_int_equal(frame(s.pair[1].a)->retries_used, 0);
	assert_bounded();
}

/* The claim ends with the message, even if the message fails. */
static void a_claim_ends(void **state)
{
	struct shared s = contend();

	assert_int_equal(to_state(s.pair[0].a, NIC_QPS_ERR, 0), NIC_OK);
	run_for(5 * MS);
	expect(s.pair[0].a->scq, 1, VNET_WC_WR_FLUSH_ERR);
	expect(s.pair[1].a->scq, 2, VNET_WC_SUCCESS);
	expect(s.rcq, 10, VNET_WC_SUCCESS);
}

/* ---------------------------------------------------------------------- fairness */

#define CROWD 100
#define EACH 8

/*
 * Many busy queue pairs: each is served before any of them has a second turn, and no round is
 * longer than a stretch.
 */
static void turns_go_round(void **state)
{
	struct qp_options options = { .sq_entries = QUEUE, .rq_entries = 1 };
	struct cq *cq = make_cq(&w.p[0], 8192, 0);
	struct cq *far = make_cq(&w.p[1], 1, 0);
	struct qp *a[CROWD];
	u32 least, most;
	u64 next;

	for (u32 i = 0; i < CROWD; i++) {
		struct vnet_send_wqe wqe = request(VNET_WR_RDMA_WRITE, i);
		struct sge sg = sge(&w.p[0], FROM, 64);
		struct qp *b = make_qp_with(&w.p[1], NIC_QPT_RC, far, far, &options);

		a[i] = make_qp_with(&w.p[0], NIC_QPT_RC, cq, cq, &options);
		connect(a[i], b);
		for (u32 k = 0; k < EACH; k++)
			post_send(a[i], &wqe, &sg, 1);
		nic_pend(&w.agent, frame(a[i]));
	}
	while (nic_run(&w.agent, 1, &next)) {
		assert_true(next <= tp.clock);
		least = EACH;
		most = 0;
		for (u32 i = 0; i < CROWD; i++) {
			u32 done = frame(a[i])->sq_cons;

			least = done < least ? done : least;
			most = done > most ? done : most;
		}
		assert_true(most - least <= 1);
	}
	for (u32 i = 0; i < CROWD; i++)
		assert_int_equal(frame(a[i])->sq_cons, EACH);
	assert_bounded();
}

/* A timer of one queue pair expires while another one is busy for much longer. */
static void timers_fire_meanwhile(void **state)
{
	struct pair busy = make_pair(NIC_QPT_RC), late = make_pair(NIC_QPT_RC);
	struct vnet_send_wqe wqe = wr(VNET_WR_SEND, 7);
	u32 rounds = 0;
	struct wc wc;
	u64 next;

	frame(late.a)->attr.rnr_retry = 0;
	frame(late.b)->attr.min_rnr_timer = 1;
	send_one(late.a, &wqe, NULL);
	for (u32 i = 0; i < 8; i++) {
		struct vnet_send_wqe put = request(VNET_WR_RDMA_WRITE, i);
		struct sge sg = all(0);

		post_send(busy.a, &put, &sg, 1);
	}
	nic_pend(&w.agent, frame(busy.a));
	/* Each round takes some time, and the tick is on time. */
	while (!poll(late.a->scq, &wc)) {
		assert_true(nic_run(&w.agent, 64, &next));
		tp.clock += MS / 10;
		assert_true(++rounds <= 12);
	}
	assert_int_equal(wc.status, VNET_WC_RNR_RETRY_EXC_ERR);
	assert_true(frame(busy.a)->sq_cons < 8);
	run_for(10 * MS);
	assert_int_equal(frame(busy.a)->sq_cons, 8);
	assert_bounded();
}

/* Many waiting queue pairs do not keep the NIC processor busy: each is checked once in a tick. */
static void waiting_costs_a_look_in_a_tick(void **state)
{
	struct qp_options options = { .sq_entries = 2, .rq_entries = 1 };
	struct cq *cq = make_cq(&w.p[0], 128, 0);
	struct cq *far = make_cq(&w.p[1], 1, 0);
	struct vnet_send_wqe wqe = wr(VNET_WR_SEND, 1);
	u32 rounds;
	u64 next;

	for (u32 i = 0; i < CROWD; i++) {
		struct qp *a = make_qp_with(&w.p[0], NIC_QPT_RC, cq, cq, &options);

		connect(a, make_qp_with(&w.p[1], NIC_QPT_RC, far, far, &options));
		frame(a)->attr.rnr_retry = 7;
		send_one(a, &wqe, NULL);
	}
	for (u32 i = 0; i < 5; i++) {
		rounds = 0;
		do {
			assert_true(nic_run(&w.agent, 64, &next));
			rounds++;
		} while (next <= tp.clock);
		assert_true(rounds <= 2 + 2 * CROWD / NIC_STRETCH_REQUESTS);
		tp.clock = next;
	}
	assert_bounded();
}

/* Thousands of receives are flushed in stretches, too. */
static void flushes_take_turns(void **state)
{
	struct qp_options options = { .sq_entries = 1, .rq_entries = 4096 };
	struct cq *cq = make_cq(&w.p[0], 4096, 0);
	struct qp *qp = make_qp_with(&w.p[0], NIC_QPT_RC, cq, cq, &options);
	u32 rounds;
	u64 next;

	bring_up(qp, qp->qpn + 1);
	for (u32 i = 0; i < 1000; i++)
		post_recv(qp, i, NULL, 0);
	assert_int_equal(to_state(qp, NIC_QPS_ERR, 0), NIC_OK);
	for (rounds = 1; nic_run(&w.agent, 64, &next); rounds++)
		tp.clock = next > tp.clock ? next : tp.clock;
	for (u32 i = 0; i < 1000; i++)
		expect_next(cq, i, VNET_WC_WR_FLUSH_ERR);
	assert_true(rounds >= 1000 / NIC_STRETCH_REQUESTS);
	assert_bounded();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(long_requests),
		TEST(the_rest_is_left),
		TEST(its_owner_goes_on),
		TEST(the_rest_wakes_the_processor),
		TEST(drains_to_its_end),
		TEST(fails_in_between),
		TEST(memory_goes_in_between),
		TEST(executor_dies),
		TEST(a_receive_is_claimed),
		TEST(a_claim_ends),
		TEST(turns_go_round),
		TEST(timers_fire_meanwhile),
		TEST(waiting_costs_a_look_in_a_tick),
		TEST(flushes_take_turns),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
