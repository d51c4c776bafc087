// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Tag matching: tags that the process leaves in the ring, and that the sender's executor takes. */
#include <string.h>

#include "tag_stage.h"

static void in_the_order_of_the_ring(void **state)
{
	add_tag(0, 5, ALL);
	for (u32 i = 1; i < 4; i++)
		leave_tag(i, 5);
	/* While a tag in the list matches, the ring is not read. */
	send_tagged(EAGER, 5, 10);
	expect_match(0, WHOLE);
	assert_int_equal(tags.ops.hdr->cons, 1);
	for (u32 i = 1; i < 4; i++) {
		send_tagged(EAGER, 5, 10);
		expect_match(i, WHOLE);
		assert_int_equal(tags.ops.hdr->cons, 4);
		assert_int_equal(tags.ops.hdr->ended, i + 1);
	}
	assert_int_equal(tags.ops.hdr->need_doorbell, 0);
	post_plain(4);
	send_tagged(EAGER, 5, 10);
	expect_match(4, 0);
	expect_none(s.cb);
}

/* Full rings, and indices that wrap around. */
static void whole_rings(void **state)
{
	u32 taken = 0u - 12;

	tag_list()->taken = 0x500000000ull + taken;
	tags.prod = taken;
	for (u32 round = 0; round < 4; round++) {
		for (u32 i = 0; i < TAGS; i++)
			leave_tag(i, 5);
		for (u32 i = 0; i < TAGS; i++) {
			send_tagged(EAGER, 5, 10);
			expect_match(i, WHOLE);
			assert_int_equal(tags.ops.hdr->cons, taken + TAGS);
		}
		taken += TAGS;
	}
	assert_int_equal(tags.ops.hdr->ended, 4 * TAGS);
	assert_int_equal(tag_list()->taken, 0x600000000ull + 4 * TAGS - 12);
	expect_none(s.cb);
}

/* A signaled operation is executed by its own process, and later operations wait for it. */
static void behind_a_signaled_one(void **state)
{
	struct vnet_tm_op op = tag_buffer(1, 5, ALL);

	op.flags = VNET_TM_OP_SIGNALED;
	op.wr_id = 1000;
	put_op(&op);
	leave_tag(2, 6);
	post_plain(3);
	send_tagged(EAGER, 6, 10);
	expect_match(3, 0);
	assert_int_equal(tags.ops.hdr->cons, 0);
	assert_int_equal(tags.ops.hdr->need_doorbell, 1);
	ring_tags();
	assert_int_equal(tags.ops.hdr->need_doorbell, 0);
	assert_int_equal(tags.ops.hdr->cons, 2);
	expect_next(s.cb, 1000, VNET_WC_SUCCESS);
	/* An unexpected message arrived before these operations. */
	assert_int_equal(synchronise(1).flags, 0);
	send_tagged(EAGER, 6, 10);
	expect_match(2, WHOLE);
	send_tagged(EAGER, 5, 10);
	expect_match(1, WHOLE);
}

/* Deletion of a tag that is still in the ring, of an unknown one, and of one that was matched. */
static void deleted_from_the_ring(void **state)
{
	struct vnet_tm_op del = { .opcode = VNET_TM_OP_DEL };
	u32 first, second;

	first = leave_tag(1, 5);
	second = leave_tag(2, 5);
	leave_tag(3, 5);
	del.handle = second;
	operate(del, VNET_WC_SUCCESS);
	assert_int_equal(tags.ops.hdr->ended, 1);
	del.handle = 77;
	operate(del, VNET_WC_TM_ERR);
	send_tagged(EAGER, 5, 10);
	expect_match(1, WHOLE);
	del.handle = first;
	operate(del, VNET_WC_TM_ERR);
	send_tagged(EAGER, 5, 10);
	expect_match(3, WHOLE);
	assert_int_equal(tags.ops.hdr->ended, 3);
	assert_int_equal(tag_list()->used, 0);
}

/*
 * An operation in the ring reports that all unexpected messages were seen: parked tags become
 * active before it, in their order.
 */
static void parked_before_the_ring(void **state)
{
	struct vnet_tm_op op;

	post_plain(1);
	send_tagged(EAGER, 6, 10);
	expect_match(1, 0);
	leave_tag(2, 5);
	leave_tag(3, 7);
	post_plain(4);
	send_tagged(EAGER, 5, 10);
	expect_match(4, 0);
	op = tag_buffer(5, 7, ALL);
	op.flags = VNET_TM_OP_SYNCS;
	op.unexpected = 2;
	put_op(&op);
	send_tagged(EAGER, 7, 10);
	expect_match(3, WHOLE);
	send_tagged(EAGER, 7, 10);
	expect_match(5, WHOLE);
	send_tagged(EAGER, 5, 10);
	expect_match(2, WHOLE);
}

/* The process reports more unexpected messages than there were, and corrects that. */
static void out_of_step_for_a_while(void **state)
{
	static const u32 seen[] = { 7, 0 };

	for (u32 i = 0; i < 2; i++) {
		struct vnet_tm_op op = tag_buffer(i, 5, ALL);

		op.flags = VNET_TM_OP_SYNCS;
		op.unexpected = seen[i];
		put_op(&op);
	}
	for (u32 i = 0; i < 2; i++) {
		send_tagged(EAGER, 5, 10);
		expect_match(i, WHOLE);
	}
	expect_none(s.cb);
}

/* The list is full: the process is asked for a doorbell, and gets an error completion. */
static void more_than_the_list_holds(void **state)
{
	for (u32 i = 0; i < TAGS; i++)
		add_tag(i, 5, ALL);
	leave_tag(TAGS, 6);
	post_plain(20);
	send_tagged(EAGER, 6, 10);
	expect_match(20, 0);
	assert_int_equal(tags.ops.hdr->cons, TAGS);
	assert_int_equal(tags.ops.hdr->need_doorbell, 1);
	ring_tags();
	assert_int_equal(expect_next(s.cb, 0, VNET_WC_TM_ERR).opcode, VNET_WC_TM_ADD);
	assert_int_equal(tags.ops.hdr->need_doorbell, 0);
	assert_int_equal(tags.ops.hdr->cons, TAGS + 1);
	assert_int_equal(tags.ops.hdr->ended, 1);
	assert_int_equal(tag_list()->used, TAGS);
}

/* Impossible indices, and an invalid operation. */
static void hostile_rings(void **state)
{
	static const u32 wrong[] = { 9, 1u << 31, ~0u };
	struct vnet_tm_op op = tag_buffer(1, 5, ALL);

	for (u32 i = 0; i < 3; i++) {
		nic_store(&tags.ops.hdr->prod, tags.prod + wrong[i]);
		post_plain(2);
		send_tagged(EAGER, 5, 10);
		expect_match(2, 0);
		assert_int_equal(tags.ops.hdr->cons, 0);
	}
	op.num_sge = 200;
	op.flags = VNET_TM_OP_SYNCS;
	op.unexpected = 3;
	put_op(&op);
	post_plain(2);
	send_tagged(EAGER, 5, 10);
	expect_match(2, 0);
	assert_int_equal(tags.ops.hdr->cons, 0);
	assert_int_equal(tags.ops.hdr->need_doorbell, 1);
	assert_int_equal(tag_list()->handled, 0);
	/* The NIC does not read back the indices that it publishes. */
	memset(&tags.ops.hdr->cons, 0xff, 8);
	ring_tags();
	assert_int_equal(expect_next(s.cb, 0, VNET_WC_TM_ERR).opcode, VNET_WC_TM_ADD);
	assert_int_equal(tags.ops.hdr->cons, 1);
	assert_int_equal(tags.ops.hdr->ended, 1);
	assert_int_equal(synchronise(4).flags, 0);
	op = tag_buffer(1, 5, ALL);
	op.num_sge = VNET_TM_MAX_SGE;
	for (u32 i = 0; i < VNET_TM_MAX_SGE; i++)
		op.sge[i] = (struct vnet_sge){ at(&w.p[1], TO + 2000 * i), 10, w.p[1].key };
	put_op(&op);
	send_tagged(EAGER, 5, 40);
	expect_match(1, WHOLE);
	for (u32 i = 0; i < VNET_TM_MAX_SGE; i++)
		assert_memory_equal(mem(&w.p[1], TO + 2000 * i),
				    mem(&w.p[0], FROM + NIC_TMH_SIZE + 10 * i), 10);
}

static u32 steps;

static void is_told_in_time(int step)
{
	if (step != 14)
		return;
	assert_int_equal(tags.ops.hdr->ended, 1);
	steps++;
}

/* `ended` is published before the completion, since the program may then add another tag. */
static void told_before_the_entry(void **state)
{
	steps = 0;
	leave_tag(1, 5);
	write_message(EAGER, 5, 10);
	tp.on_step = is_told_in_time;
	post_message(10);
	tp.on_step = NULL;
	assert_int_equal(steps, 1);
	expect(s.ca, 7, VNET_WC_SUCCESS);
	expect_match(1, WHOLE);
}

/* The tag and the user data in a completion, at each possible offset. */
static void what_completions_tell(void **state)
{
	static const u32 lengths[] = { 0, 1, 8, 12, 13, 64, 65, 900 };
	u32 priv;
	u64 tag;

	for (u32 i = 0; i < 8; i++) {
		const struct vnet_cqe *cqe =
			(const void *)(s.cb->ring.slots +
				       ((size_t)(s.cb->cons & s.cb->ring.mask) << 7));
		const u8 *info = cqe->payload + vnet_cqe_tm_info(lengths[i]);

		leave_tag(i, 300 + i);
		send_tagged(EAGER, 300 + i, lengths[i]);
		memcpy(&tag, info, sizeof(tag));
		memcpy(&priv, info + sizeof(tag), sizeof(priv));
		assert_int_equal(tag, 300 + i);
		assert_int_equal(priv, 0xabcd);
		assert_in_range(info + 12 - cqe->payload, 12, VNET_CQE_PAYLOAD);
		/* For a short message, in the first cache line of the entry. */
		assert_true(lengths[i] > 12 || (size_t)(info + 12 - (const u8 *)cqe) <= 64);
		expect_match(i, WHOLE);
		assert_true(filled(&w.p[1], TO + 1000 * i, lengths[i], 300 + i));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TAG_TEST(in_the_order_of_the_ring), TAG_TEST(whole_rings),
		TAG_TEST(behind_a_signaled_one),    TAG_TEST(deleted_from_the_ring),
		TAG_TEST(parked_before_the_ring),   TAG_TEST(out_of_step_for_a_while),
		TAG_TEST(more_than_the_list_holds), TAG_TEST(hostile_rings),
		TAG_TEST(told_before_the_entry),    TAG_TEST(what_completions_tell),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
