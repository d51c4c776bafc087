// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Tag matching: which buffer a message goes to, when tags do not match, what a
 * rendezvous does, and that a sender may die at any step.
 */
#include <endian.h>
#include <string.h>

#include "nic_tm.h"
#include "stage.h"

#define TAGS 8
#define ALL (~0ull)
/* Of process 0, whence messages come, and of process 1. */
#define FROM 0x1000u
#define DATA 0x20000u
#define TO 0x40000u

enum { NO_TAG, RNDV, FIN, EAGER };

static struct ring ops;
static u32 ops_prod, handle;
/* Tags are left in the ring for who delivers. */
static bool left;

static struct nic_srq *srq_frame(void)
{
	return &w.agent.srq[s.srq->srqn - 1];
}

static struct nic_tm *list(void)
{
	struct nic_tm_list l;

	assert_true(nic_tm_open(&w.agent, srq_frame(), &l));
	return l.tm;
}

static struct srq *make_tm_srq(struct process *p, struct cq *cq)
{
	struct srq *srq = test_alloc(sizeof(*srq));
	struct nic_srq_params params = { .entries = 8,
					 .stride_shift = 7,
					 .max_sge = 7,
					 .pdn = p->pdn,
					 .space = p->nic.space,
					 .cqn = cq->cqn,
					 .tm_tags = TAGS,
					 .tm_ops_entries = 8 };

	srq->p = p;
	srq->srqn = w.next_srqn++;
	srq->ring = ring_make(8, 7);
	ops = ring_make(8, VNET_TM_OP_SHIFT);
	params.ring = srq->ring.offset;
	params.tm_ops = ops.offset;
	params.tm = queue_alloc(sizeof(struct nic_tm) + TAGS * sizeof(struct nic_tag));
	assert_int_equal(nic_srq_create(&w.agent, srq->srqn, &params), NIC_OK);
	return srq;
}

static int start(void **state)
{
	struct qp_options with_srq = { 0 };

	world_setup(state);
	memset(&s, 0, sizeof(s));
	ops_prod = handle = 0;
	left = false;
	s.ca = make_cq(&w.p[0], 64, 0);
	s.cb = make_cq(&w.p[1], 64, 0);
	s.srq = make_tm_srq(&w.p[1], s.cb);
	with_srq.srq = s.srq;
	s.a = make_qp(&w.p[0], NIC_QPT_RC, s.ca, s.ca);
	s.b = make_qp_with(&w.p[1], NIC_QPT_RC, s.cb, s.cb, &with_srq);
	connect(s.a, s.b);
	return 0;
}

/* ------------------------------------------------------------------- doing it */

/* Into the ring, and nobody is told. */
static void put_op(const struct vnet_tm_op *op)
{
	memcpy(ops.slots + ((size_t)(ops_prod & ops.mask) << ops.shift), op, sizeof(*op));
	nic_store_release(&ops.hdr->prod, ++ops_prod);
}

static void ring_doorbell(void)
{
	nic_tm_doorbell(&w.p[1].nic, s.srq->srqn);
}

static void post_op(const struct vnet_tm_op *op)
{
	put_op(op);
	ring_doorbell();
}

static struct wc operate(struct vnet_tm_op op, u32 status)
{
	op.wr_id = 1000;
	op.flags |= VNET_TM_OP_SIGNALED;
	post_op(&op);
	return expect_next(s.cb, 1000, status);
}

/* A buffer of 1000 bytes at TO + 1000 times its number. */
static struct vnet_tm_op buffer(u32 number, u64 tag, u64 mask)
{
	struct vnet_tm_op op = { .opcode = VNET_TM_OP_ADD,
				 .recv_wr_id = number,
				 .tag = tag,
				 .mask = mask,
				 .num_sge = 1 };

	op.handle = ++handle;
	op.sge[0] = (struct vnet_sge){ at(&w.p[1], TO + 1000 * number), 1000, w.p[1].key };
	return op;
}

/* Carried out by its process; its handle. */
static u32 add(u32 number, u64 tag, u64 mask)
{
	operate(buffer(number, tag, mask), VNET_WC_SUCCESS);
	return handle;
}

/* Left in the ring for who delivers. */
static u32 leave(u32 number, u64 tag)
{
	struct vnet_tm_op op = buffer(number, tag, ALL);

	put_op(&op);
	return op.handle;
}

static struct wc synchronise(u32 seen)
{
	return operate((struct vnet_tm_op){ .opcode = VNET_TM_OP_SYNC, .unexpected = seen },
		       VNET_WC_SUCCESS);
}

/* Headers, then so many bytes of a pattern. */
static void write_message(u8 opcode, u64 tag, u32 length)
{
	u8 *header = mem(&w.p[0], FROM);
	u64 wire_tag = htobe64(tag);
	u32 priv = htobe32(0xabcd);

	memset(header, 0, NIC_TMH_SIZE);
	header[0] = opcode;
	memcpy(header + 4, &priv, 4);
	memcpy(header + 8, &wire_tag, 8);
	fill(&w.p[0], FROM + NIC_TMH_SIZE, length, (u32)tag);
}

static void post_message(u32 length)
{
	struct vnet_send_wqe wqe = wr(VNET_WR_SEND, 7);
	struct sge data = sge(&w.p[0], FROM, NIC_TMH_SIZE + length);

	send_one(s.a, &wqe, &data);
}

static void send(u8 opcode, u64 tag, u32 length)
{
	write_message(opcode, tag, length);
	post_message(length);
	expect(s.ca, 7, VNET_WC_SUCCESS);
}

static void write_rendezvous(u64 tag, u32 length)
{
	u64 va = htobe64(at(&w.p[0], DATA));
	u32 rkey = htobe32(w.p[0].key), size = htobe32(length);

	write_message(RNDV, tag, NIC_RVH_SIZE);
	memcpy(mem(&w.p[0], FROM + 16), &va, 8);
	memcpy(mem(&w.p[0], FROM + 24), &rkey, 4);
	memcpy(mem(&w.p[0], FROM + 28), &size, 4);
	fill(&w.p[0], DATA, length, (u32)tag);
}

static void post_plain(u32 number)
{
	struct sge to = sge(&w.p[1], TO + 1000 * number, 1000);

	post_srq_recv(s.srq, number, &to, 1);
}

static struct wc expect_match(u32 number, u32 flags)
{
	struct wc wc = expect_next(s.cb, number, VNET_WC_SUCCESS);

	assert_int_equal(wc.opcode, VNET_WC_TM_RECV);
	assert_int_equal(wc.flags, flags);
	return wc;
}

#define WHOLE (VNET_WC_TM_MATCH | VNET_WC_TM_DATA_VALID)

/* -------------------------------------------------------------------- matching */

static void first_that_fits(void **state)
{
	static const u32 lengths[] = { 8, 64, 65, 500, 0 };
	u32 i;

	(void)state;
	for (i = 0; i < 5; i++)
		add(i, 5, ALL);
	add(5, 0x100, 0xf00);
	for (i = 0; i < 5; i++) {
		struct wc wc;

		send(EAGER, 5, lengths[i]);
		wc = expect_match(i, WHOLE);
		assert_int_equal(wc.byte_len, lengths[i]);
		assert_true(filled(&w.p[1], TO + 1000 * i, lengths[i], 5));
	}
	/* The wild card, and it is in its place. */
	add(6, 0x123, ALL);
	send(EAGER, 0x123, 10);
	expect_match(5, WHOLE);
	send(EAGER, 0x123, 10);
	expect_match(6, WHOLE);
	assert_int_equal(list()->used, 0);
	assert_int_equal(ops.hdr->ended, 7);
	expect_none(s.cb);
}

static void to_plain_receives(void **state)
{
	struct wc wc;

	(void)state;
	post_plain(1);
	post_plain(2);
	post_plain(3);
	add(4, 5, ALL);
	/* No tag: the whole message, and nothing is counted. */
	send(NO_TAG, 5, 100);
	wc = expect_next(s.cb, 1, VNET_WC_SUCCESS);
	assert_int_equal(wc.opcode, VNET_WC_TM_NO_TAG);
	assert_int_equal(wc.byte_len, 116);
	assert_memory_equal(mem(&w.p[1], TO + 1000), mem(&w.p[0], FROM), 116);
	send(FIN, 5, 100);
	assert_int_equal(expect_next(s.cb, 2, VNET_WC_SUCCESS).opcode, VNET_WC_TM_NO_TAG);
	assert_int_equal(list()->unexpected, 0);
	send(EAGER, 6, 100);
	expect_match(3, 0);
	assert_int_equal(list()->unexpected, 1);
}

/* Shorter than a header, or a rendezvous that says not where. */
static void headers_that_are_none(void **state)
{
	struct vnet_send_wqe wqe = wr(VNET_WR_SEND, 7);
	struct sge data = sge(&w.p[0], FROM, 0);
	u32 i;

	(void)state;
	add(0, 0, 0);
	for (i = 0; i < 3; i++) {
		static const u32 lengths[] = { 1, 15, 31 };

		write_message(i == 2 ? RNDV : EAGER, 5, 16);
		data.length = lengths[i];
		post_plain(1 + i);
		send_one(s.a, &wqe, &data);
		expect(s.ca, 7, VNET_WC_SUCCESS);
		assert_int_equal(expect_next(s.cb, 1 + i, VNET_WC_SUCCESS).opcode,
				 VNET_WC_TM_NO_TAG);
	}
	assert_int_equal(list()->used, 1);
}

static void waits_for_a_receive(void **state)
{
	(void)state;
	write_message(EAGER, 5, 100);
	post_message(100);
	expect_none(s.ca);
	run_for(2 * MS);
	expect_none(s.ca);
	/* A tag will do, too. */
	add(1, 5, ALL);
	run_for(20 * MS);
	expect(s.ca, 7, VNET_WC_SUCCESS);
	expect_match(1, WHOLE);
}

/* A tagged message waits for its tag, and for nothing else. */
static void unexpected_is_dropped(void **state)
{
	(void)state;
	w.agent.hdr->settings.drop_unexpected = 1;
	frame(s.a)->attr.rnr_retry = 7;
	post_plain(1);
	add(2, 6, ALL);
	write_message(EAGER, 5, 100);
	post_message(100);
	run_for(20 * MS);
	expect_none(s.ca);
	expect_none(s.cb);
	assert_int_equal(list()->unexpected, 0);
	add(3, 5, ALL);
	run_for(20 * MS);
	expect(s.ca, 7, VNET_WC_SUCCESS);
	expect_match(3, WHOLE);
	assert_true(filled(&w.p[1], TO + 3000, 100, 5));
	/* What has no tag goes to a receive as ever. */
	send(NO_TAG, 5, 100);
	assert_int_equal(expect_next(s.cb, 1, VNET_WC_SUCCESS).opcode, VNET_WC_TM_NO_TAG);
	/* From one message to the next it is otherwise. */
	post_plain(4);
	write_message(EAGER, 5, 100);
	post_message(100);
	expect_none(s.ca);
	w.agent.hdr->settings.drop_unexpected = 0;
	run_for(20 * MS);
	expect(s.ca, 7, VNET_WC_SUCCESS);
	expect_match(4, 0);
	assert_int_equal(list()->unexpected, 1);
}

static void dropped_for_good(void **state)
{
	(void)state;
	w.agent.hdr->settings.drop_unexpected = 1;
	frame(s.a)->attr.rnr_retry = 3;
	post_plain(1);
	write_rendezvous(5, 900);
	post_message(NIC_RVH_SIZE);
	run_for(100 * MS);
	expect(s.ca, 7, VNET_WC_RNR_RETRY_EXC_ERR);
	expect_none(s.cb);
	assert_int_equal(state_of(s.b), NIC_QPS_RTS);
}

static bool is_open(u32 key)
{
	struct nic_piece piece;

	return nic_check_key(&w.p[1].nic, key, w.p[1].pdn, s.b->qpn, NIC_ACCESS_REMOTE_WRITE,
			     at(&w.p[1], TO), 1, &piece);
}

/* A window of the receiver's over its first bytes; its key. */
static u32 open_window(void)
{
	u32 key = alloc_mw(&w.p[1], NIC_MR_WINDOW_2) + 1;
	struct vnet_send_wqe wqe = wr(VNET_WR_BIND_MW, 1);

	wqe.bind = (struct vnet_wqe_bind){
		.addr = at(&w.p[1], TO),
		.length = 100,
		.old_rkey = key - 1,
		.new_rkey = key,
		.lkey = w.p[1].key,
		.access = NIC_ACCESS_REMOTE_WRITE,
	};
	send_one(s.b, &wqe, NULL);
	expect(s.cb, 1, VNET_WC_SUCCESS);
	assert_true(is_open(key));
	return key;
}

static void post_invalidation(u32 key, u32 length)
{
	struct vnet_send_wqe wqe = wr(VNET_WR_SEND_INV, 7);
	struct sge data = sge(&w.p[0], FROM, NIC_TMH_SIZE + length);

	wqe.imm = key;
	send_one(s.a, &wqe, &data);
}

/* As with any other queue, wherever the message goes. */
static void closes_a_key(void **state)
{
	u32 key = open_window();
	struct wc wc;

	(void)state;
	add(1, 5, ALL);
	write_message(EAGER, 5, 100);
	post_invalidation(key, 100);
	expect(s.ca, 7, VNET_WC_SUCCESS);
	wc = expect_match(1, WHOLE | VNET_WC_WITH_INV);
	assert_int_equal(wc.imm, key);
	assert_false(is_open(key));
}

static void closes_a_key_of_what_is_unexpected(void **state)
{
	u32 key = open_window();

	(void)state;
	post_plain(2);
	write_message(EAGER, 5, 100);
	post_invalidation(key, 100);
	expect(s.ca, 7, VNET_WC_SUCCESS);
	expect_match(2, VNET_WC_WITH_INV);
	assert_false(is_open(key));
}

/* Nothing is fetched, as it failed. */
static void has_no_key_to_close(void **state)
{
	(void)state;
	add(1, 5, ALL);
	write_rendezvous(5, 500);
	post_invalidation(w.p[1].key, NIC_RVH_SIZE);
	expect(s.ca, 7, VNET_WC_REM_OP_ERR);
	expect(s.cb, 1, VNET_WC_LOC_QP_OP_ERR);
	expect_none(s.cb);
	assert_int_equal(list()->used, 0);
}

static void too_long(void **state)
{
	(void)state;
	add(1, 5, ALL);
	write_message(EAGER, 5, 1001);
	post_message(1001);
	expect(s.ca, 7, VNET_WC_REM_INV_REQ_ERR);
	expect_next(s.cb, 1, VNET_WC_LOC_LEN_ERR);
	assert_int_equal(state_of(s.b), NIC_QPS_ERR);
	assert_int_equal(list()->used, 0);
}

/* ------------------------------------------------------------------ operations */

static void parked_until_seen(void **state)
{
	(void)state;
	post_plain(1);
	post_plain(2);
	add(3, 5, ALL);
	send(EAGER, 6, 10);
	expect_match(1, 0);
	/* It has not been seen: what is posted now does not match, what was does. */
	assert_int_equal(synchronise(0).flags, VNET_WC_TM_SYNC_REQ);
	add(4, 7, ALL);
	send(EAGER, 7, 10);
	expect_match(2, 0);
	send(EAGER, 5, 10);
	expect_match(3, WHOLE);
	assert_int_equal(synchronise(1).flags, VNET_WC_TM_SYNC_REQ);
	assert_int_equal(synchronise(2).flags, 0);
	send(EAGER, 7, 10);
	expect_match(4, WHOLE);
}

static void deleted(void **state)
{
	struct vnet_tm_op del = { .opcode = VNET_TM_OP_DEL };
	struct wc wc;
	u32 i, first, last;

	(void)state;
	first = add(0, 5, ALL);
	for (i = 1; i < TAGS - 1; i++)
		add(i, 5, ALL);
	last = add(i, 5, ALL);
	del.handle = last;
	assert_int_equal(operate(del, VNET_WC_SUCCESS).opcode, VNET_WC_TM_DEL);
	wc = operate(del, VNET_WC_TM_ERR);
	assert_int_equal(wc.opcode, VNET_WC_TM_DEL);
	del.handle = first;
	operate(del, VNET_WC_SUCCESS);
	send(EAGER, 5, 10);
	expect_match(1, WHOLE);
	add(0, 5, ALL);
	assert_int_equal(list()->used, TAGS - 2);
}

static void wrong_operations(void **state)
{
	struct vnet_tm_op op = { .opcode = VNET_TM_OP_ADD, .num_sge = 5 };
	u32 i;

	(void)state;
	operate(op, VNET_WC_TM_ERR);
	op.num_sge = 0;
	for (i = 0; i < TAGS; i++)
		operate(op, VNET_WC_SUCCESS);
	operate(op, VNET_WC_TM_ERR);
	op.opcode = 3;
	operate(op, VNET_WC_TM_ERR);
	/* Nobody else's to do, and no such queue. */
	nic_tm_doorbell(&w.p[0].nic, s.srq->srqn);
	nic_tm_doorbell(&w.p[1].nic, 0);
	nic_tm_doorbell(&w.p[1].nic, s.srq->srqn + 1);
	/* An index that cannot be. */
	nic_store(&ops.hdr->prod, ops_prod + 9);
	nic_tm_doorbell(&w.p[1].nic, s.srq->srqn);
	expect_none(s.cb);
}

/* A sender is inside: later. */
static void done_later(void **state)
{
	struct vnet_tm_op op = { .opcode = VNET_TM_OP_SYNC, .wr_id = 3, .flags = 1 };

	(void)state;
	srq_frame()->rq.lock = 9;
	post_op(&op);
	expect_none(s.cb);
	srq_frame()->rq.lock = 0;
	w.agent.cq[s.cb->cqn - 1].lock = 9;
	nic_tm_doorbell(&w.p[1].nic, s.srq->srqn);
	expect_none(s.cb);
	w.agent.cq[s.cb->cqn - 1].lock = 0;
	nic_tm_doorbell(&w.p[1].nic, s.srq->srqn);
	expect(s.cb, 3, VNET_WC_SUCCESS);
}

/* ------------------------------------------------- taken from the ring by who delivers */

static void in_the_order_of_the_ring(void **state)
{
	u32 i;

	(void)state;
	add(0, 5, ALL);
	for (i = 1; i < 4; i++)
		leave(i, 5);
	/* As long as one that was taken fits, nobody looks at the ring. */
	send(EAGER, 5, 10);
	expect_match(0, WHOLE);
	assert_int_equal(ops.hdr->cons, 1);
	for (i = 1; i < 4; i++) {
		send(EAGER, 5, 10);
		expect_match(i, WHOLE);
		assert_int_equal(ops.hdr->cons, 4);
		assert_int_equal(ops.hdr->ended, i + 1);
	}
	assert_int_equal(ops.hdr->need_doorbell, 0);
	post_plain(4);
	send(EAGER, 5, 10);
	expect_match(4, 0);
	expect_none(s.cb);
}

/* The ring is full, and the index goes over its end. */
static void whole_rings(void **state)
{
	u32 i, round, taken = 0u - 12;

	(void)state;
	list()->taken = 0x500000000ull + taken;
	ops_prod = taken;
	for (round = 0; round < 4; round++) {
		for (i = 0; i < TAGS; i++)
			leave(i, 5);
		for (i = 0; i < TAGS; i++) {
			send(EAGER, 5, 10);
			expect_match(i, WHOLE);
			assert_int_equal(ops.hdr->cons, taken + TAGS);
		}
		taken += TAGS;
	}
	assert_int_equal(ops.hdr->ended, 4 * TAGS);
	assert_int_equal(list()->taken, 0x600000000ull + 4 * TAGS - 12);
	expect_none(s.cb);
}

/* What completes is the process' own to do, and all behind that waits for it. */
static void behind_a_signaled_one(void **state)
{
	struct vnet_tm_op op = buffer(1, 5, ALL);

	(void)state;
	op.flags = VNET_TM_OP_SIGNALED;
	op.wr_id = 1000;
	put_op(&op);
	leave(2, 6);
	post_plain(3);
	send(EAGER, 6, 10);
	expect_match(3, 0);
	assert_int_equal(ops.hdr->cons, 0);
	assert_int_equal(ops.hdr->need_doorbell, 1);
	ring_doorbell();
	assert_int_equal(ops.hdr->need_doorbell, 0);
	assert_int_equal(ops.hdr->cons, 2);
	expect_next(s.cb, 1000, VNET_WC_SUCCESS);
	/* An unexpected message came before them. */
	assert_int_equal(synchronise(1).flags, 0);
	send(EAGER, 6, 10);
	expect_match(2, WHOLE);
	send(EAGER, 5, 10);
	expect_match(1, WHOLE);
}

/* One that is in the ring still, one that was never added, one that was taken. */
static void deleted_from_the_ring(void **state)
{
	struct vnet_tm_op del = { .opcode = VNET_TM_OP_DEL };
	u32 first, second;

	(void)state;
	first = leave(1, 5);
	second = leave(2, 5);
	leave(3, 5);
	del.handle = second;
	operate(del, VNET_WC_SUCCESS);
	assert_int_equal(ops.hdr->ended, 1);
	del.handle = 77;
	operate(del, VNET_WC_TM_ERR);
	send(EAGER, 5, 10);
	expect_match(1, WHOLE);
	del.handle = first;
	operate(del, VNET_WC_TM_ERR);
	send(EAGER, 5, 10);
	expect_match(3, WHOLE);
	assert_int_equal(ops.hdr->ended, 3);
	assert_int_equal(list()->used, 0);
}

/* What is in the ring says that all was seen: what was parked comes first, as it came first. */
static void parked_before_the_ring(void **state)
{
	struct vnet_tm_op op;

	(void)state;
	post_plain(1);
	send(EAGER, 6, 10);
	expect_match(1, 0);
	leave(2, 5);
	leave(3, 7);
	post_plain(4);
	send(EAGER, 5, 10);
	expect_match(4, 0);
	op = buffer(5, 7, ALL);
	op.flags = VNET_TM_OP_SYNCS;
	op.unexpected = 2;
	put_op(&op);
	send(EAGER, 7, 10);
	expect_match(3, WHOLE);
	send(EAGER, 7, 10);
	expect_match(5, WHOLE);
	send(EAGER, 5, 10);
	expect_match(2, WHOLE);
}

/* It says that more was seen than there was, and takes that back. */
static void out_of_step_for_a_while(void **state)
{
	static const u32 seen[] = { 7, 0 };
	u32 i;

	(void)state;
	for (i = 0; i < 2; i++) {
		struct vnet_tm_op op = buffer(i, 5, ALL);

		op.flags = VNET_TM_OP_SYNCS;
		op.unexpected = seen[i];
		put_op(&op);
	}
	for (i = 0; i < 2; i++) {
		send(EAGER, 5, 10);
		expect_match(i, WHOLE);
	}
	expect_none(s.cb);
}

/* More than the list holds: the process is to hear of it, and does. */
static void more_than_the_list_holds(void **state)
{
	u32 i;

	(void)state;
	for (i = 0; i < TAGS; i++)
		add(i, 5, ALL);
	leave(TAGS, 6);
	post_plain(20);
	send(EAGER, 6, 10);
	expect_match(20, 0);
	assert_int_equal(ops.hdr->cons, TAGS);
	assert_int_equal(ops.hdr->need_doorbell, 1);
	ring_doorbell();
	assert_int_equal(expect_next(s.cb, 0, VNET_WC_TM_ERR).opcode, VNET_WC_TM_ADD);
	assert_int_equal(ops.hdr->need_doorbell, 0);
	assert_int_equal(ops.hdr->cons, TAGS + 1);
	assert_int_equal(ops.hdr->ended, 1);
	assert_int_equal(list()->used, TAGS);
}

/* Indices that cannot be, and an entry that says nonsense. */
static void hostile_rings(void **state)
{
	static const u32 wrong[] = { 9, 1u << 31, ~0u };
	struct vnet_tm_op op = buffer(1, 5, ALL);
	u32 i;

	(void)state;
	for (i = 0; i < 3; i++) {
		nic_store(&ops.hdr->prod, ops_prod + wrong[i]);
		post_plain(2);
		send(EAGER, 5, 10);
		expect_match(2, 0);
		assert_int_equal(ops.hdr->cons, 0);
	}
	op.num_sge = 200;
	op.flags = VNET_TM_OP_SYNCS;
	op.unexpected = 3;
	put_op(&op);
	post_plain(2);
	send(EAGER, 5, 10);
	expect_match(2, 0);
	assert_int_equal(ops.hdr->cons, 0);
	assert_int_equal(ops.hdr->need_doorbell, 1);
	assert_int_equal(list()->handled, 0);
	/* What the NIC tells is not what it goes by. */
	memset(&ops.hdr->cons, 0xff, 8);
	ring_doorbell();
	assert_int_equal(expect_next(s.cb, 0, VNET_WC_TM_ERR).opcode, VNET_WC_TM_ADD);
	assert_int_equal(ops.hdr->cons, 1);
	assert_int_equal(ops.hdr->ended, 1);
	assert_int_equal(synchronise(4).flags, 0);
	op = buffer(1, 5, ALL);
	op.num_sge = VNET_TM_MAX_SGE;
	for (i = 0; i < VNET_TM_MAX_SGE; i++)
		op.sge[i] = (struct vnet_sge){ at(&w.p[1], TO + 2000 * i), 10, w.p[1].key };
	put_op(&op);
	send(EAGER, 5, 40);
	expect_match(1, WHOLE);
	for (i = 0; i < VNET_TM_MAX_SGE; i++)
		assert_memory_equal(mem(&w.p[1], TO + 2000 * i),
				    mem(&w.p[0], FROM + NIC_TMH_SIZE + 10 * i), 10);
}

static u32 steps;

static void is_told_in_time(int step)
{
	if (step != 14)
		return;
	assert_int_equal(ops.hdr->ended, 1);
	steps++;
}

/* Whoever sees the entry may add a tag in the place of the one that it is of. */
static void told_before_the_entry(void **state)
{
	(void)state;
	steps = 0;
	leave(1, 5);
	write_message(EAGER, 5, 10);
	tp.on_step = is_told_in_time;
	post_message(10);
	tp.on_step = NULL;
	assert_int_equal(steps, 1);
	expect(s.ca, 7, VNET_WC_SUCCESS);
	expect_match(1, WHOLE);
}

/* The tag and the user data, wherever they stand. */
static void what_completions_tell(void **state)
{
	static const u32 lengths[] = { 0, 1, 8, 12, 13, 64, 65, 900 };
	u32 i, priv;
	u64 tag;

	(void)state;
	for (i = 0; i < 8; i++) {
		const struct vnet_cqe *cqe =
			(const void *)(s.cb->ring.slots +
				       ((size_t)(s.cb->cons & s.cb->ring.mask) << 7));
		const u8 *info = cqe->payload + vnet_cqe_tm_info(lengths[i]);

		leave(i, 300 + i);
		send(EAGER, 300 + i, lengths[i]);
		memcpy(&tag, info, sizeof(tag));
		memcpy(&priv, info + sizeof(tag), sizeof(priv));
		assert_int_equal(tag, 300 + i);
		assert_int_equal(priv, 0xabcd);
		assert_in_range(info + 12 - cqe->payload, 12, VNET_CQE_PAYLOAD);
		/* With a short one, in the entry's first line. */
		assert_true(lengths[i] > 12 || (size_t)(info + 12 - (const u8 *)cqe) <= 64);
		expect_match(i, WHOLE);
		assert_true(filled(&w.p[1], TO + 1000 * i, lengths[i], 300 + i));
	}
}

/* ------------------------------------------------------------------ rendezvous */

static void rendezvous(void **state)
{
	struct sge fin = sge(&w.p[0], 0x80000, 100);
	struct wc wc;

	(void)state;
	add(1, 5, ALL);
	post_recv(s.a, 50, &fin, 1);
	write_rendezvous(5, 900);
	post_message(NIC_RVH_SIZE);
	expect_next(s.ca, 7, VNET_WC_SUCCESS);
	expect_match(1, VNET_WC_TM_MATCH);
	/* By who announced them: nobody else has run. */
	wc = expect_match(1, VNET_WC_TM_DATA_VALID);
	assert_int_equal(wc.byte_len, 900);
	assert_true(filled(&w.p[1], TO + 1000, 900, 5));
	wc = expect_next(s.ca, 50, VNET_WC_SUCCESS);
	assert_int_equal(wc.byte_len, NIC_TM_HEADERS);
	assert_int_equal(mem(&w.p[0], 0x80000)[0], FIN);
	assert_memory_equal(mem(&w.p[0], 0x80001), mem(&w.p[0], FROM + 1), NIC_TM_HEADERS - 1);
	expect_none(s.cb);
}

static void rendezvous_that_does_not_fit(void **state)
{
	(void)state;
	add(1, 5, ALL);
	write_rendezvous(5, 1001);
	post_message(NIC_RVH_SIZE);
	expect(s.ca, 7, VNET_WC_SUCCESS);
	expect_next(s.cb, 1, VNET_WC_TM_RNDV_INCOMPLETE);
	assert_memory_equal(mem(&w.p[1], TO + 1000), mem(&w.p[0], FROM), NIC_TM_HEADERS);
	assert_int_equal(state_of(s.b), NIC_QPS_RTS);
	run_for(2 * MS);
	expect_none(s.cb);
}

/* What was announced may not be read. */
static void rendezvous_refused(void **state)
{
	u32 wrong = 0;

	(void)state;
	add(1, 5, ALL);
	write_rendezvous(5, 900);
	memcpy(mem(&w.p[0], FROM + 24), &wrong, 4);
	post_message(NIC_RVH_SIZE);
	expect_next(s.ca, 7, VNET_WC_SUCCESS);
	expect_match(1, VNET_WC_TM_MATCH);
	run_for(5 * MS);
	expect_next(s.cb, 1, VNET_WC_REM_ACCESS_ERR);
}

/* ----------------------------------------------------------------------- death */

static u32 deaths;
/* What the message is. */
static u8 kind;

static u32 tags_there(void)
{
	u32 i, n = 0;

	for (i = 0; i < TAGS; i++)
		n += list()->tag[i].state != NIC_TAG_FREE;
	return n;
}

/* All of it has happened, or nothing. */
static void examine(void)
{
	struct nic_tm *tm = list();
	struct wc wc, data;
	bool came;

	nic_recover(&w.agent, w.p[0].nic.self, w.p[0].nic.space);
	assert_locks_free(0);
	came = poll(s.cb, &wc);
	/* What was not taken from the ring is there still. */
	if (left)
		ring_doorbell();
	assert_int_equal(ops.hdr->cons, ops_prod);
	assert_int_equal(ops.hdr->ended, ops_prod - tm->used);
	assert_int_equal(tags_there(), 3 - (came && kind != NO_TAG && kind != FIN));
	assert_int_equal(tm->used, tags_there());
	assert_int_equal(tm->unexpected, came && kind == FIN);
	if (kind == RNDV && came) {
		assert_int_equal(s.b->sq.hdr->prod, 2);
		/* Who announced them may have written them, too. */
		if (poll(s.cb, &data))
			assert_int_equal(data.wr_id, 1);
	} else {
		assert_int_equal(s.b->sq.hdr->prod, 0);
	}
	/* The others are in their order. */
	add(4, 5, ALL);
	assert_int_equal(tm->tag[tm->tail].wr_id, 4);
	assert_int_equal(tm->tag[tm->head].wr_id, came && kind > NO_TAG && kind != FIN ? 2 : 1);
	expect_none(s.cb);
}

static void die(int step)
{
	u32 prod = ops_prod, last = handle;

	(void)step;
	put_aside();
	tp.on_step = NULL;
	examine();
	put_back();
	ops_prod = prod;
	handle = last;
	deaths++;
}

static void dies_with(u8 what)
{
	kind = what;
	deaths = 0;
	if (left) {
		leave(1, 5);
		leave(2, 5);
		leave(3, 5);
	} else {
		add(1, 5, ALL);
		add(2, 5, ALL);
		add(3, 5, ALL);
	}
	post_plain(5);
	if (kind == RNDV)
		write_rendezvous(5, 900);
	else
		write_message(kind == FIN ? EAGER : kind, kind == FIN ? 6 : 5, NIC_RVH_SIZE);
	tp.on_step = die;
	post_message(NIC_RVH_SIZE);
	tp.on_step = NULL;
	assert_true(deaths > 10);
}

static void dies_eager(void **state)
{
	(void)state;
	dies_with(EAGER);
}

static void dies_rendezvous(void **state)
{
	(void)state;
	dies_with(RNDV);
}

static void dies_untagged(void **state)
{
	(void)state;
	dies_with(NO_TAG);
}

/* FIN stands for a tag that none fits. */
static void dies_unexpected(void **state)
{
	(void)state;
	dies_with(FIN);
}

static void dies_drawing(void **state)
{
	(void)state;
	left = true;
	dies_with(EAGER);
	/* Three tags have three steps each. */
	assert_true(deaths > 20);
}

static void dies_drawing_in_vain(void **state)
{
	(void)state;
	left = true;
	dies_with(FIN);
}

/* -------------------------------------------------------------- hostile memory */

static void links_go_around(void **state)
{
	struct nic_tm *tm;

	(void)state;
	add(1, 5, ALL);
	add(2, 6, ALL);
	tm = list();
	tm->tag[1].next = 0;
	post_plain(3);
	send(EAGER, 7, 10);
	expect_match(3, 0);
	tm->head = 12345;
	post_plain(4);
	send(EAGER, 5, 10);
	expect_match(4, 0);
	/* A list that is too large is none. */
	srq_frame()->tm_tags = ~0u;
	post_plain(5);
	send(EAGER, 5, 10);
	assert_int_equal(expect_next(s.cb, 5, VNET_WC_SUCCESS).opcode, VNET_WC_TM_NO_TAG);
	srq_frame()->tm_tags = TAGS;
}

static void create_checks(void **state)
{
	struct nic_srq_params good = { .entries = 8,
				       .stride_shift = 7,
				       .max_sge = 7,
				       .pdn = 1,
				       .space = 1,
				       .cqn = s.cb->cqn,
				       .tm_tags = TAGS,
				       .tm_ops_entries = 8 },
			      p;

	(void)state;
	good.ring = ring_make(8, 7).offset;
	good.tm_ops = ring_make(8, VNET_TM_OP_SHIFT).offset;
	good.tm = queue_alloc(sizeof(struct nic_tm) + TAGS * sizeof(struct nic_tag));
	p = good, p.cqn = 0;
	assert_int_equal(nic_srq_create(&w.agent, 2, &p), NIC_EINVAL);
	p = good, p.xrcdn = 1;
	assert_int_equal(nic_srq_create(&w.agent, 2, &p), NIC_EINVAL);
	p = good, p.tm_tags = NIC_TM_MAX_TAGS + 1;
	assert_int_equal(nic_srq_create(&w.agent, 2, &p), NIC_EINVAL);
	p = good, p.tm = 0;
	assert_int_equal(nic_srq_create(&w.agent, 2, &p), NIC_EINVAL);
	p = good, p.tm_ops_entries = 3;
	assert_int_equal(nic_srq_create(&w.agent, 2, &p), NIC_EINVAL);
	p = good, p.tm_ops_entries = 2 * NIC_TM_MAX_OPS;
	assert_int_equal(nic_srq_create(&w.agent, 2, &p), NIC_EINVAL);
	p = good, p.tm_ops = 8;
	assert_int_equal(nic_srq_create(&w.agent, 2, &p), NIC_EINVAL);
	assert_int_equal(nic_srq_create(&w.agent, 2, &good), NIC_OK);
}

#define TM_TEST(name) cmocka_unit_test_setup_teardown(name, start, world_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TM_TEST(first_that_fits),
		TM_TEST(to_plain_receives),
		TM_TEST(headers_that_are_none),
		TM_TEST(waits_for_a_receive),
		TM_TEST(unexpected_is_dropped),
		TM_TEST(dropped_for_good),
		TM_TEST(closes_a_key),
		TM_TEST(closes_a_key_of_what_is_unexpected),
		TM_TEST(has_no_key_to_close),
		TM_TEST(too_long),
		TM_TEST(parked_until_seen),
		TM_TEST(deleted),
		TM_TEST(wrong_operations),
		TM_TEST(done_later),
		TM_TEST(in_the_order_of_the_ring),
		TM_TEST(whole_rings),
		TM_TEST(behind_a_signaled_one),
		TM_TEST(deleted_from_the_ring),
		TM_TEST(parked_before_the_ring),
		TM_TEST(out_of_step_for_a_while),
		TM_TEST(more_than_the_list_holds),
		TM_TEST(hostile_rings),
		TM_TEST(told_before_the_entry),
		TM_TEST(what_completions_tell),
		TM_TEST(rendezvous),
		TM_TEST(rendezvous_that_does_not_fit),
		TM_TEST(rendezvous_refused),
		TM_TEST(dies_eager),
		TM_TEST(dies_rendezvous),
		TM_TEST(dies_untagged),
		TM_TEST(dies_unexpected),
		TM_TEST(dies_drawing),
		TM_TEST(dies_drawing_in_vain),
		TM_TEST(links_go_around),
		TM_TEST(create_checks),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
