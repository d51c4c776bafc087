// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Tag matching: a sender dies at any step of the firmware. */
#include "tag_stage.h"

/* Tags are left in the ring for the sender's executor. */
static bool tags_left;

static u32 deaths;
/* The type of the message. */
static u8 kind;

static u32 tags_there(void)
{
	u32 n = 0;

	for (u32 i = 0; i < TAGS; i++)
		n += tag_list()->tag[i].state != NIC_TAG_FREE;
	return n;
}

/* The message was delivered completely, or not at all. */
static void examine(void)
{
	struct nic_tm *tm = tag_list();
	struct wc wc, data;
	bool came;

	nic_recover(&w.agent, w.p[0].nic.self, w.p[0].nic.space);
	assert_locks_free(0);
	came = poll(s.cb, &wc);
	/* Operations that were not taken from the ring are still there. */
	if (tags_left)
		ring_tags();
	assert_int_equal(tags.ops.hdr->cons, tags.prod);
	assert_int_equal(tags.ops.hdr->ended, tags.prod - tm->used);
	assert_int_equal(tags_there(), 3 - (came && kind != NO_TAG && kind != FIN));
	assert_int_equal(tm->used, tags_there());
	assert_int_equal(tm->unexpected, came && kind == FIN);
	if (kind == RNDV && came) {
		assert_int_equal(s.b->sq.hdr->prod, 2);
		/* The announcing process may have transferred the data, too. */
		if (poll(s.cb, &data))
			assert_int_equal(data.wr_id, 1);
	} else {
		assert_int_equal(s.b->sq.hdr->prod, 0);
	}
	/* The other tags are in order. */
	add_tag(4, 5, ALL);
	assert_int_equal(tm->tag[tm->tail].wr_id, 4);
	assert_int_equal(tm->tag[tm->head].wr_id, came && kind > NO_TAG && kind != FIN ? 2 : 1);
	expect_none(s.cb);
}

static void die(int step)
{
	u32 prod = tags.prod, last = tags.handle;

	put_aside();
	tp.on_step = NULL;
	examine();
	put_back();
	tags.prod = prod;
	tags.handle = last;
	deaths++;
}

static void dies_with(u8 what, bool left)
{
	kind = what;
	tags_left = left;
	deaths = 0;
	if (tags_left) {
		leave_tag(1, 5);
		leave_tag(2, 5);
		leave_tag(3, 5);
	} else {
		add_tag(1, 5, ALL);
		add_tag(2, 5, ALL);
		add_tag(3, 5, ALL);
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
	dies_with(EAGER, false);
}

static void dies_rendezvous(void **state)
{
	dies_with(RNDV, false);
}

static void dies_untagged(void **state)
{
	dies_with(NO_TAG, false);
}

/* FIN stands for a message whose tag matches no buffer. */
static void dies_unexpected(void **state)
{
	dies_with(FIN, false);
}

static void dies_drawing(void **state)
{
	dies_with(EAGER, true);
	/* Three tags have three steps each. */
	assert_true(deaths > 20);
}

static void dies_drawing_in_vain(void **state)
{
	dies_with(FIN, true);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TAG_TEST(dies_eager),    TAG_TEST(dies_rendezvous),
		TAG_TEST(dies_untagged), TAG_TEST(dies_unexpected),
		TAG_TEST(dies_drawing),  TAG_TEST(dies_drawing_in_vain),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
