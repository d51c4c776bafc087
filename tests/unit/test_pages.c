// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * On-demand paging on one NIC, with a host that must fetch pages. Requests wait for the pages
 * of either side and are executed once, or fail if the pages are lost.
 */
#include <string.h>

#include "layout/lock.h"
#include "world.h"

#define FROM 0x1000
#define TO 0x40000
#define LENGTH 600
#define STALL_NS (50 * MS)

/* Copies of the host reach all memory, like the kernel's. */
static void reach_everything(bool everything)
{
	w.agent.direct = everything;
	for (u32 i = 0; i < PROCESSES; i++)
		w.p[i].nic.direct = everything;
}

static void take_away(u32 i, u64 offset)
{
	struct tp_space *s = &tp.space[i + 1];

	s->absent = s->start + offset;
	s->absent_len = 4096;
	s->fetches = 0;
}

static void bring(u32 i)
{
	tp.space[i + 1].absent_len = 0;
}

/* The last attempt to fetch the pages has just failed. */
static void lose(u32 i)
{
	tp.space[i + 1].lost_at = tp.clock;
}

/* Properties of an operation. */
struct operation {
	u8 opcode;
	u32 length;
	bool takes_receive;
	/* It writes to the requester's memory. */
	bool reads;
};

static const struct operation operations[] = {
	{ VNET_WR_SEND, LENGTH, true, false },
	{ VNET_WR_SEND, 16, true, false },
	{ VNET_WR_SEND_IMM, LENGTH, true, false },
	{ VNET_WR_RDMA_WRITE, LENGTH, false, false },
	{ VNET_WR_RDMA_WRITE_IMM, LENGTH, true, false },
	{ VNET_WR_RDMA_READ, LENGTH, false, true },
	{ VNET_WR_ATOMIC_FETCH_ADD, 8, false, true },
	{ VNET_WR_ATOMIC_CMP_SWP, 8, false, true },
	{ VNET_WR_ATOMIC_WRITE, 8, false, false },
};

#define OPERATIONS (sizeof(operations) / sizeof(operations[0]))

static struct vnet_send_wqe request(const struct operation *op, u64 wr_id)
{
	struct vnet_send_wqe wqe = rdma(op->opcode, wr_id, &w.p[1], TO);

	/* Compare with 5, add 5. */
	wqe.rdma.compare_add = 5;
	wqe.rdma.swap = 77;
	return wqe;
}

/* Sets the memory of both sides to its initial state. */
static void prepare(const struct operation *op)
{
	u64 five = 5;

	memset(mem(&w.p[0], FROM), 0, 4096);
	memset(mem(&w.p[1], TO), 0, 4096);
	fill(op->reads ? &w.p[1] : &w.p[0], op->reads ? TO : FROM, LENGTH, op->opcode);
	if (op->length == 8 && op->reads)
		memcpy(mem(&w.p[1], TO), &five, 8);
}

static void post(struct pair *pair, const struct operation *op)
{
	struct vnet_send_wqe wqe = request(op, 1);
	struct sge sg = sge(pair->a->p, FROM, op->length), to = sge(pair->b->p, TO, op->length);

	if (op->takes_receive)
		post_recv(pair->b, 2, &to, 1);
	send_one(pair->a, &wqe, &sg);
}

static bool is_untouched(const struct operation *op)
{
	u64 word;

	if (op->length != 8 || !op->reads)
		return untouched(op->reads ? &w.p[0] : &w.p[1], op->reads ? FROM : TO, LENGTH);
	memcpy(&word, mem(&w.p[0], FROM), 8);
	return !word;
}

static void check_done(const struct operation *op)
{
	u64 word, old;

	memcpy(&word, mem(&w.p[1], TO), 8);
	memcpy(&old, mem(&w.p[0], FROM), 8);
	switch (op->opcode) {
	case VNET_WR_ATOMIC_FETCH_ADD:
		assert_int_equal(word, 10);
		assert_int_equal(old, 5);
		break;
	case VNET_WR_ATOMIC_CMP_SWP:
		assert_int_equal(word, 77);
		assert_int_equal(old, 5);
		break;
	default:
		assert_true(filled(op->reads ? &w.p[0] : &w.p[1], op->reads ? FROM : TO, op->length,
				   op->opcode));
		break;
	}
}

/* Each operation waits for pages of side `which` without a limit, and is then executed once. */
static void waits_for(u32 which)
{
	for (u32 i = 0; i < OPERATIONS; i++) {
		const struct operation *op = &operations[i];
		struct pair pair = make_pair(NIC_QPT_RC);

		prepare(op);
		take_away(which, which ? TO : FROM);
		post(&pair, op);
		expect_none(pair.a->scq);
		expect_none(pair.b->rcq);
		assert_true(tp.space[which + 1].fetches > 0);
		assert_int_equal(frame(pair.a)->wait, which ? NIC_WAIT_PEER_PAGES : NIC_WAIT_PAGES);
		run_for(20000 * MS);
		expect_none(pair.a->scq);
		expect_none(pair.b->rcq);
		assert_true(is_untouched(op));
		bring(which);
		run_for(2 * MS);
		expect(pair.a->scq, 1, VNET_WC_SUCCESS);
		if (op->takes_receive)
			expect(pair.b->rcq, 2, VNET_WC_SUCCESS);
		check_done(op);
		assert_int_equal(frame(pair.a)->counters.fetch_since[NIC_REQUESTS], 0);
		assert_int_equal(frame(pair.a)->counters.rnr_waits, 0);
		assert_int_equal(frame(pair.a)->counters.retries, 0);
	}
}

static void operations_wait_for_own_pages(void **state)
{
	reach_everything(true);
	waits_for(0);
	/* The receiver's process places the payload itself. */
	reach_everything(false);
	waits_for(0);
}

static void operations_wait_for_the_peers_pages(void **state)
{
	reach_everything(true);
	waits_for(1);
}

/* An executed atomic operation whose result cannot be stored yet is not executed again. */
static void atomic_results_wait(void **state)
{
	const struct operation *op = &operations[6];
	struct pair pair = make_pair(NIC_QPT_RC);
	u64 word;

	prepare(op);
	take_away(0, FROM);
	post(&pair, op);
	memcpy(&word, mem(&w.p[1], TO), 8);
	assert_int_equal(word, 10);
	run_for(10 * MS);
	expect_none(pair.a->scq);
	bring(0);
	run_for(2 * MS);
	expect(pair.a->scq, 1, VNET_WC_SUCCESS);
	check_done(op);
}

/* A fetch that failed before the request asked does not fail the request. */
static void fails_where_pages_cannot_be_had(void **state)
{
	reach_everything(true);
	for (u32 which = 0; which < 2; which++) {
		for (u32 i = 0; i < OPERATIONS; i++) {
			const struct operation *op = &operations[i];
			struct pair pair = make_pair(NIC_QPT_RC);

			prepare(op);
			take_away(which, which ? TO : FROM);
			/* An earlier fetch of another request fails. */
			lose(which);
			tp.clock++;
			post(&pair, op);
			run_for(5 * MS);
			expect_none(pair.a->scq);
			assert_true(tp.space[which + 1].fetched_since >
				    tp.space[which + 1].lost_at);
			lose(which);
			tp.clock++;
			run_for(2 * MS);
			if (!which)
				expect(pair.a->scq, 1, VNET_WC_LOC_PROT_ERR);
			else
				expect(pair.a->scq, 1, VNET_WC_REM_OP_ERR);
			if (op->takes_receive && which && op->opcode != VNET_WR_RDMA_WRITE_IMM)
				expect(pair.b->rcq, 2, VNET_WC_LOC_PROT_ERR);
			assert_int_equal(state_of(pair.a), NIC_QPS_ERR);
			assert_int_equal(frame(pair.a)->counters.fetch_since[NIC_REQUESTS], 0);
			bring(which);
			while (async_event('q', pair.b->qpn, NIC_EVENT_QP_REQ_ERR))
				;
		}
	}
}

/*
 * An unreliable message waits for pages of the receiver for a limited time, and for its own
 * without a limit.
 */
static void unreliable_ones_stall(void **state)
{
	static const u8 types[] = { NIC_QPT_UC, NIC_QPT_UD };

	reach_everything(true);
	for (u32 i = 0; i < 2; i++) {
		struct pair pair = make_pair(types[i]);
		struct vnet_send_wqe wqe = wr(VNET_WR_SEND, 1);
		struct sge sg = sge(pair.a->p, FROM, 100), to = sge(pair.b->p, TO, 200);

		if (types[i] == NIC_QPT_UD)
			aim_datagram(&wqe, pair.b);
		post_recv(pair.b, 2, &to, 1);
		take_away(0, FROM);
		send_one(pair.a, &wqe, &sg);
		run_for(100 * STALL_NS);
		expect_none(pair.a->scq);
		bring(0);
		take_away(1, TO);
		run_for(STALL_NS / 2);
		expect_none(pair.a->scq);
		run_for(STALL_NS);
		expect(pair.a->scq, 1, VNET_WC_SUCCESS);
		expect_none(pair.b->rcq);
		bring(1);
		/* The receive is still there for the next message. */
		wqe.wr_id = 3;
		send_one(pair.a, &wqe, &sg);
		expect(pair.a->scq, 3, VNET_WC_SUCCESS);
		expect(pair.b->rcq, 2, VNET_WC_SUCCESS);
	}
}

/* The write's data waits for pages, and the completion for a receive. */
static void writes_with_immediate_wait_for_both(void **state)
{
	const struct operation *op = &operations[4];
	struct pair pair = make_pair(NIC_QPT_RC);
	struct vnet_send_wqe wqe = request(op, 1);
	struct sge sg = sge(pair.a->p, FROM, op->length);

	reach_everything(true);
	prepare(op);
	take_away(1, TO);
	send_one(pair.a, &wqe, &sg);
	run_for(2 * MS);
	assert_int_equal(frame(pair.a)->wait, NIC_WAIT_PEER_PAGES);
	assert_true(untouched(&w.p[1], TO, LENGTH));
	bring(1);
	run_for(2 * MS);
	assert_int_equal(frame(pair.a)->wait, NIC_WAIT_RNR);
	check_done(op);
	post_recv(pair.b, 2, NULL, 0);
	run_for(2 * MS);
	expect(pair.a->scq, 1, VNET_WC_SUCCESS);
	expect(pair.b->rcq, 2, VNET_WC_SUCCESS);
}

/* Other members of a group do not wait for a member whose pages are missing. */
static void groups_do_not_wait(void **state)
{
	static const u8 group[16] = { 0xff, 0x12, [15] = 7 };
	struct pair pair = make_pair(NIC_QPT_UD);
	struct cq *cq = make_cq(&w.p[2], 16, 0);
	struct qp *third = make_qp(&w.p[2], NIC_QPT_UD, cq, cq);
	struct vnet_send_wqe wqe = wr(VNET_WR_SEND, 1);
	struct sge sg = sge(pair.a->p, FROM, 100), to = sge(pair.b->p, TO, 200);
	struct sge third_to = sge(&w.p[2], TO, 200);

	reach_everything(true);
	bring_up(third, 0);
	assert_int_equal(nic_mcast_attach(&w.agent, pair.b->qpn, group), NIC_OK);
	assert_int_equal(nic_mcast_attach(&w.agent, third->qpn, group), NIC_OK);
	memcpy(wqe.ud.dgid, group, 16);
	wqe.ud.remote_qpn = 0xffffff;
	wqe.ud.remote_qkey = TEST_QKEY;
	post_recv(pair.b, 2, &to, 1);
	post_recv(third, 3, &third_to, 1);
	take_away(1, TO);
	send_one(pair.a, &wqe, &sg);
	expect(pair.a->scq, 1, VNET_WC_SUCCESS);
	expect(cq, 3, VNET_WC_SUCCESS);
	expect_none(pair.b->rcq);
	assert_true(tp.space[2].fetches > 0);
	assert_int_equal(frame(pair.b)->counters.dropped, 1);
	/* The next datagram lacks the same memory, which is lost now. */
	lose(1);
	tp.clock++;
	wqe.wr_id = 4;
	post_recv(third, 5, &third_to, 1);
	send_one(pair.a, &wqe, &sg);
	expect(pair.a->scq, 4, VNET_WC_SUCCESS);
	expect(cq, 5, VNET_WC_SUCCESS);
	expect(pair.b->rcq, 2, VNET_WC_LOC_PROT_ERR);
	bring(1);
}

#define BLOCKS 3
#define BLOCK (4u << 20)

static void enlarge(struct process *p, u32 i)
{
	struct tp_space *s = &tp.space[i + 1];

	s->memory = test_alloc(BLOCKS * BLOCK);
	s->size = BLOCKS * BLOCK;
	p->key = reg_mr(p, 0, BLOCKS * BLOCK, ALL_ACCESS);
}

/* There may be less memory than a request has: pages of a long request come and go. */
static void long_ones_go_on(void **state)
{
	static const u32 any = 1;
	struct pair pair;
	u32 which;

	reach_everything(true);
	enlarge(&w.p[0], 0);
	enlarge(&w.p[1], 1);
	pair = make_pair(NIC_QPT_RC);
	w.agent.fetches = &any;
	for (u32 i = 0; i < 2; i++)
		w.p[i].nic.fetches = &any;
	for (u32 i = 0; i < 4; i++) {
		struct operation op = { .opcode = i & 1 ? VNET_WR_RDMA_READ : VNET_WR_RDMA_WRITE };
		struct vnet_send_wqe wqe = request(&op, 1);
		struct sge sg = sge(&w.p[0], 0, BLOCKS * BLOCK);

		which = i / 2;
		wqe.rdma.remote_addr = at(&w.p[1], 0);
		for (u32 k = 0; k < BLOCKS * BLOCK; k += 4096) {
			*(u32 *)(void *)mem(&w.p[i & 1], k) = k + i;
			*(u32 *)(void *)mem(&w.p[!(i & 1)], k) = 0;
		}
		take_away(which, 2 * BLOCK + 4096);
		send_one(pair.a, &wqe, &sg);
		run_for(2 * MS);
		expect_none(pair.a->scq);
		/* Pages of the part that was moved are no longer needed. */
		take_away(which, BLOCK + 8192);
		run_for(2 * MS);
		expect(pair.a->scq, 1, VNET_WC_SUCCESS);
		bring(which);
		for (u32 k = 0; k < BLOCKS * BLOCK; k += 4096)
			assert_int_equal(*(u32 *)(void *)mem(&w.p[!(i & 1)], k), k + i);
	}
	assert_int_equal(frame(pair.a)->counters.moved, 0);
}

/* A long unreliable request may wait as long as it makes progress. */
static void long_unreliable_ones_go_on(void **state)
{
	static const u32 any = 1;
	struct operation op = { .opcode = VNET_WR_RDMA_WRITE };
	struct vnet_send_wqe wqe;
	struct sge sg;
	struct pair pair;

	reach_everything(true);
	enlarge(&w.p[0], 0);
	enlarge(&w.p[1], 1);
	pair = make_pair(NIC_QPT_UC);
	w.agent.fetches = &any;
	for (u32 i = 0; i < 2; i++)
		w.p[i].nic.fetches = &any;
	for (u32 i = 0; i < 2; i++) {
		for (u32 k = 0; k < BLOCKS * BLOCK; k += 4096) {
			*(u32 *)(void *)mem(&w.p[0], k) = k + 1;
			*(u32 *)(void *)mem(&w.p[1], k) = 0;
		}
		wqe = request(&op, 1);
		wqe.rdma.remote_addr = at(&w.p[1], 0);
		sg = sge(&w.p[0], 0, BLOCKS * BLOCK);
		take_away(1, 4096);
		send_one(pair.a, &wqe, &sg);
		for (u32 k = 1; k <= BLOCKS; k++) {
			run_for(STALL_NS * 3 / 4);
			expect_none(pair.a->scq);
			if (k < BLOCKS)
				take_away(1, (u64)k * BLOCK + 4096);
		}
		if (i) {
			/* No more progress: the message is lost. */
			run_for(STALL_NS / 2);
			expect(pair.a->scq, 1, VNET_WC_SUCCESS);
			bring(1);
			assert_int_equal(*(u32 *)(void *)mem(&w.p[1], BLOCKS * BLOCK - 4096), 0);
			break;
		}
		bring(1);
		run_for(2 * MS);
		expect(pair.a->scq, 1, VNET_WC_SUCCESS);
		for (u32 k = 0; k < BLOCKS * BLOCK; k += 4096)
			assert_int_equal(*(u32 *)(void *)mem(&w.p[1], k), k + 1);
	}
}

/* A reset clears the state of the wait. */
static void reset_forgets(void **state)
{
	const struct operation *op = &operations[3];
	struct pair pair = make_pair(NIC_QPT_RC);

	prepare(op);
	take_away(1, TO);
	post(&pair, op);
	assert_int_not_equal(frame(pair.a)->counters.fetch_since[NIC_REQUESTS], 0);
	assert_int_equal(to_state(pair.a, NIC_QPS_RESET, 0), NIC_OK);
	assert_int_equal(frame(pair.a)->counters.fetch_since[NIC_REQUESTS], 0);
	expect_none(pair.a->scq);
}

/* Pages are missing at random: each operation is executed once. */
static void many_pages_come_and_go(void **state)
{
	struct pair pair = make_pair(NIC_QPT_RC);

	reach_everything(true);
	tp.pages_miss = 3;
	for (u32 k = 0; k < 50; k++) {
		for (u32 i = 0; i < OPERATIONS; i++) {
			const struct operation *op = &operations[i];

			prepare(op);
			post(&pair, op);
			run_for(500 * MS);
			expect(pair.a->scq, 1, VNET_WC_SUCCESS);
			if (op->takes_receive)
				expect(pair.b->rcq, 2, VNET_WC_SUCCESS);
			check_done(op);
		}
	}
	assert_true(tp.missed > 300);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(operations_wait_for_own_pages),
		TEST(operations_wait_for_the_peers_pages),
		TEST(atomic_results_wait),
		TEST(fails_where_pages_cannot_be_had),
		TEST(unreliable_ones_stall),
		TEST(writes_with_immediate_wait_for_both),
		TEST(groups_do_not_wait),
		TEST(long_ones_go_on),
		TEST(long_unreliable_ones_go_on),
		TEST(reset_forgets),
		TEST(many_pages_come_and_go),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
