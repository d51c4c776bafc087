// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Tag matching: selection of the buffer, parked tags, rendezvous, and corrupted shared memory. */
#include <string.h>

#include "protection/protection.h"
#include "tag_stage.h"

/* -------------------------------------------------------------------- matching */

static void first_that_fits(void **state)
{
	static const u32 lengths[] = { 8, 64, 65, 500, 0 };

	for (u32 i = 0; i < 5; i++)
		add_tag(i, 5, ALL);
	add_tag(5, 0x100, 0xf00);
	for (u32 i = 0; i < 5; i++) {
		struct wc wc;

		send_tagged(EAGER, 5, lengths[i]);
		wc = expect_match(i, WHOLE);
		assert_int_equal(wc.byte_len, lengths[i]);
		assert_true(filled(&w.p[1], TO + 1000 * i, lengths[i], 5));
	}
	/* The wildcard tag matches in its position of the list. */
	add_tag(6, 0x123, ALL);
	send_tagged(EAGER, 0x123, 10);
	expect_match(5, WHOLE);
	send_tagged(EAGER, 0x123, 10);
	expect_match(6, WHOLE);
	assert_int_equal(tag_list()->used, 0);
	assert_int_equal(tags.ops.hdr->ended, 7);
	expect_none(s.cb);
}

static void to_plain_receives(void **state)
{
	struct wc wc;

	post_plain(1);
	post_plain(2);
	post_plain(3);
	add_tag(4, 5, ALL);
	/* NO_TAG: the whole message is received, and nothing is counted. */
	send_tagged(NO_TAG, 5, 100);
	wc = expect_next(s.cb, 1, VNET_WC_SUCCESS);
	assert_int_equal(wc.opcode, VNET_WC_TM_NO_TAG);
	assert_int_equal(wc.byte_len, 116);
	assert_memory_equal(mem(&w.p[1], TO + 1000), mem(&w.p[0], FROM), 116);
	send_tagged(FIN, 5, 100);
	assert_int_equal(expect_next(s.cb, 2, VNET_WC_SUCCESS).opcode, VNET_WC_TM_NO_TAG);
	assert_int_equal(tag_list()->unexpected, 0);
	send_tagged(EAGER, 6, 100);
	expect_match(3, 0);
	assert_int_equal(tag_list()->unexpected, 1);
}

/* Messages shorter than their headers count as NO_TAG. */
static void headers_that_are_none(void **state)
{
	struct vnet_send_wqe wqe = wr(VNET_WR_SEND, 7);
	struct sge data = sge(&w.p[0], FROM, 0);

	add_tag(0, 0, 0);
	for (u32 i = 0; i < 3; i++) {
		static const u32 lengths[] = { 1, 15, 31 };

		write_message(i == 2 ? RNDV : EAGER, 5, 16);
		data.length = lengths[i];
		post_plain(1 + i);
		send_one(s.a, &wqe, &data);
		expect(s.ca, 7, VNET_WC_SUCCESS);
		assert_int_equal(expect_next(s.cb, 1 + i, VNET_WC_SUCCESS).opcode,
				 VNET_WC_TM_NO_TAG);
	}
	assert_int_equal(tag_list()->used, 1);
}

static void waits_for_a_receive(void **state)
{
	write_message(EAGER, 5, 100);
	post_message(100);
	expect_none(s.ca);
	run_for(2 * MS);
	expect_none(s.ca);
	/* A new tag also ends the wait. */
	add_tag(1, 5, ALL);
	run_for(20 * MS);
	expect(s.ca, 7, VNET_WC_SUCCESS);
	expect_match(1, WHOLE);
}

/* With drop_unexpected, a tagged message waits for its tag, and takes no ordinary receive. */
static void unexpected_is_dropped(void **state)
{
	w.agent.hdr->settings.drop_unexpected = 1;
	frame(s.a)->attr.rnr_retry = 7;
	post_plain(1);
	add_tag(2, 6, ALL);
	write_message(EAGER, 5, 100);
	post_message(100);
	run_for(20 * MS);
	expect_none(s.ca);
	expect_none(s.cb);
	assert_int_equal(tag_list()->unexpected, 0);
	add_tag(3, 5, ALL);
	run_for(20 * MS);
	expect(s.ca, 7, VNET_WC_SUCCESS);
	expect_match(3, WHOLE);
	assert_true(filled(&w.p[1], TO + 3000, 100, 5));
	/* A message without a tag still takes an ordinary receive. */
	send_tagged(NO_TAG, 5, 100);
	assert_int_equal(expect_next(s.cb, 1, VNET_WC_SUCCESS).opcode, VNET_WC_TM_NO_TAG);
	/* The setting can change between two messages. */
	post_plain(4);
	write_message(EAGER, 5, 100);
	post_message(100);
	expect_none(s.ca);
	w.agent.hdr->settings.drop_unexpected = 0;
	run_for(20 * MS);
	expect(s.ca, 7, VNET_WC_SUCCESS);
	expect_match(4, 0);
	assert_int_equal(tag_list()->unexpected, 1);
}

static void dropped_for_good(void **state)
{
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

/* Binds a window of the receiver over its first bytes. Returns its key. */
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

/* Send with invalidate works as with other queues, whether or not the message matches. */
static void closes_a_key(void **state)
{
	u32 key = open_window();
	struct wc wc;

	add_tag(1, 5, ALL);
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

	post_plain(2);
	write_message(EAGER, 5, 100);
	post_invalidation(key, 100);
	expect(s.ca, 7, VNET_WC_SUCCESS);
	expect_match(2, VNET_WC_WITH_INV);
	assert_false(is_open(key));
}

/* The invalidation fails, so no data is fetched. */
static void has_no_key_to_close(void **state)
{
	add_tag(1, 5, ALL);
	write_rendezvous(5, 500);
	post_invalidation(w.p[1].key, NIC_RVH_SIZE);
	expect(s.ca, 7, VNET_WC_REM_OP_ERR);
	expect(s.cb, 1, VNET_WC_LOC_QP_OP_ERR);
	expect_none(s.cb);
	assert_int_equal(tag_list()->used, 0);
}

static void too_long(void **state)
{
	add_tag(1, 5, ALL);
	write_message(EAGER, 5, 1001);
	post_message(1001);
	expect(s.ca, 7, VNET_WC_REM_INV_REQ_ERR);
	expect_next(s.cb, 1, VNET_WC_LOC_LEN_ERR);
	assert_int_equal(state_of(s.b), NIC_QPS_ERR);
	assert_int_equal(tag_list()->used, 0);
}

/* ------------------------------------------------------------------ operations */

static void parked_until_seen(void **state)
{
	post_plain(1);
	post_plain(2);
	add_tag(3, 5, ALL);
	send_tagged(EAGER, 6, 10);
	expect_match(1, 0);
	/* The program has not seen it: tags posted from now on do not match, earlier ones do. */
	assert_int_equal(synchronise(0).flags, VNET_WC_TM_SYNC_REQ);
	add_tag(4, 7, ALL);
	send_tagged(EAGER, 7, 10);
	expect_match(2, 0);
	send_tagged(EAGER, 5, 10);
	expect_match(3, WHOLE);
	assert_int_equal(synchronise(1).flags, VNET_WC_TM_SYNC_REQ);
	assert_int_equal(synchronise(2).flags, 0);
	send_tagged(EAGER, 7, 10);
	expect_match(4, WHOLE);
}

static void deleted(void **state)
{
	struct vnet_tm_op del = { .opcode = VNET_TM_OP_DEL };
	struct wc wc;
	u32 i, first, last;

	first = add_tag(0, 5, ALL);
	for (i = 1; i < TAGS - 1; i++)
		add_tag(i, 5, ALL);
	last = add_tag(i, 5, ALL);
	del.handle = last;
	assert_int_equal(operate(del, VNET_WC_SUCCESS).opcode, VNET_WC_TM_DEL);
	wc = operate(del, VNET_WC_TM_ERR);
	assert_int_equal(wc.opcode, VNET_WC_TM_DEL);
	del.handle = first;
	operate(del, VNET_WC_SUCCESS);
	send_tagged(EAGER, 5, 10);
	expect_match(1, WHOLE);
	add_tag(0, 5, ALL);
	assert_int_equal(tag_list()->used, TAGS - 2);
}

static void wrong_operations(void **state)
{
	struct vnet_tm_op op = { .opcode = VNET_TM_OP_ADD, .num_sge = 5 };

	operate(op, VNET_WC_TM_ERR);
	op.num_sge = 0;
	for (u32 i = 0; i < TAGS; i++)
		operate(op, VNET_WC_SUCCESS);
	operate(op, VNET_WC_TM_ERR);
	op.opcode = 3;
	operate(op, VNET_WC_TM_ERR);
	/* A doorbell by another process, and unknown queues. */
	nic_tm_doorbell(&w.p[0].nic, s.srq->srqn);
	nic_tm_doorbell(&w.p[1].nic, 0);
	nic_tm_doorbell(&w.p[1].nic, s.srq->srqn + 1);
	/* An impossible index. */
	nic_store(&tags.ops.hdr->prod, tags.prod + 9);
	nic_tm_doorbell(&w.p[1].nic, s.srq->srqn);
	expect_none(s.cb);
}

/*
 * A lock is held: the operation is executed later, by the NIC processor, as the program may sleep.
 */
static void done_later(void **state)
{
	struct vnet_tm_op op = { .opcode = VNET_TM_OP_SYNC, .wr_id = 3, .flags = 1 };
	nic_lock_t *lock[] = { &srq_frame()->rq.lock, &w.agent.cq[s.cb->cqn - 1].lock };

	for (u32 i = 0; i < 2; i++) {
		nic_store(&w.agent.hdr->processor_sleeps, NIC_SLEEPS);
		*lock[i] = 9;
		post_op(&op);
		assert_int_equal(w.agent.hdr->processor_sleeps, NIC_AWAKE);
		run_for(3 * MS);
		expect_none(s.cb);
		*lock[i] = 0;
		run_for(2 * MS);
		expect(s.cb, 3, VNET_WC_SUCCESS);
		assert_false(nic_has_work(&w.agent));
	}
	/* A doorbell of the process comes first. */
	srq_frame()->rq.lock = 9;
	post_op(&op);
	srq_frame()->rq.lock = 0;
	w.agent.cq[s.cb->cqn - 1].lock = 9;
	nic_tm_doorbell(&w.p[1].nic, s.srq->srqn);
	expect_none(s.cb);
	w.agent.cq[s.cb->cqn - 1].lock = 0;
	nic_tm_doorbell(&w.p[1].nic, s.srq->srqn);
	expect(s.cb, 3, VNET_WC_SUCCESS);
}

/* ------------------------------------------------------------------ rendezvous */

static void rendezvous(void **state)
{
	struct sge fin = sge(&w.p[0], 0x80000, 100);
	struct wc wc;

	add_tag(1, 5, ALL);
	post_recv(s.a, 50, &fin, 1);
	write_rendezvous(5, 900);
	post_message(NIC_RVH_SIZE);
	expect_next(s.ca, 7, VNET_WC_SUCCESS);
	expect_match(1, VNET_WC_TM_MATCH);
	/* The announcing process fetches the data itself; no other process has run. */
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
	add_tag(1, 5, ALL);
	write_rendezvous(5, 1001);
	post_message(NIC_RVH_SIZE);
	expect(s.ca, 7, VNET_WC_SUCCESS);
	expect_next(s.cb, 1, VNET_WC_TM_RNDV_INCOMPLETE);
	assert_memory_equal(mem(&w.p[1], TO + 1000), mem(&w.p[0], FROM), NIC_TM_HEADERS);
	assert_int_equal(state_of(s.b), NIC_QPS_RTS);
	run_for(2 * MS);
	expect_none(s.cb);
}

/* The announced memory cannot be read. */
static void rendezvous_refused(void **state)
{
	u32 wrong = 0;

	add_tag(1, 5, ALL);
	write_rendezvous(5, 900);
	memcpy(mem(&w.p[0], FROM + 24), &wrong, 4);
	post_message(NIC_RVH_SIZE);
	expect_next(s.ca, 7, VNET_WC_SUCCESS);
	expect_match(1, VNET_WC_TM_MATCH);
	run_for(5 * MS);
	expect_next(s.cb, 1, VNET_WC_REM_ACCESS_ERR);
}

/* -------------------------------------------------------------- hostile memory */

static void ask_again(int step)
{
	nic_store(&w.p[0].nic.follow, s.b->qpn);
}

/* Another thread requests follow-up work again and again: this ends after a limit. */
static void asked_without_end(void **state)
{
	add_tag(1, 5, ALL);
	tp.on_step = ask_again;
	send_tagged(EAGER, 5, 10);
	tp.on_step = NULL;
	expect_match(1, WHOLE);
	assert_true(nic_load(&w.agent.pending[0]));
}

static void links_go_around(void **state)
{
	struct nic_tm *tm;

	add_tag(1, 5, ALL);
	add_tag(2, 6, ALL);
	tm = tag_list();
	tm->tag[1].next = 0;
	post_plain(3);
	send_tagged(EAGER, 7, 10);
	expect_match(3, 0);
	tm->head = 12345;
	post_plain(4);
	send_tagged(EAGER, 5, 10);
	expect_match(4, 0);
	/* A list with an impossible size is not used. */
	srq_frame()->tm_tags = ~0u;
	post_plain(5);
	send_tagged(EAGER, 5, 10);
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

int main(void)
{
	const struct CMUnitTest tests[] = {
		TAG_TEST(first_that_fits),
		TAG_TEST(to_plain_receives),
		TAG_TEST(headers_that_are_none),
		TAG_TEST(waits_for_a_receive),
		TAG_TEST(unexpected_is_dropped),
		TAG_TEST(dropped_for_good),
		TAG_TEST(closes_a_key),
		TAG_TEST(closes_a_key_of_what_is_unexpected),
		TAG_TEST(has_no_key_to_close),
		TAG_TEST(too_long),
		TAG_TEST(parked_until_seen),
		TAG_TEST(deleted),
		TAG_TEST(wrong_operations),
		TAG_TEST(done_later),
		TAG_TEST(rendezvous),
		TAG_TEST(rendezvous_that_does_not_fit),
		TAG_TEST(rendezvous_refused),
		TAG_TEST(asked_without_end),
		TAG_TEST(links_go_around),
		TAG_TEST(create_checks),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
