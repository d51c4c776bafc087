// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Replay protection: each frame number of each sender is accepted once, in any order. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "vn/replay.h"
#include "world.h"

#define OTHER 3u
/* Link keys. */
#define ONE 11u
#define TWO 12u
#define THREE 13u
#define THREADS 4
#define RACED 100000u
#define NUMBERS NIC_REPLAY_NUMBERS

static struct nic_replay *replay;

/* All sender names differ, but groups of four hash to the same place. */
static bool take_by(u32 key, u32 sender, u64 number)
{
	struct nic_proof proof = {
		.sender = { (u64)sender << 8 | (sender / 4 & 0xff), (u64)key << 32 | sender },
		.number = number,
		.key = key,
		.given = true,
	};

	return nic_replay_accept(&w.agent, replay, &proof);
}

static bool take(u32 sender, u64 number)
{
	return take_by(ONE, sender, number);
}

static int set_up(void **state)
{
	world_setup(state);
	replay = calloc(1, sizeof(*replay));
	return !replay;
}

static int tear_down(void **state)
{
	free(replay);
	return world_teardown(state);
}

static void each_is_taken_once(void **state)
{
	for (u64 n = 0; n < 5 * NUMBERS; n++) {
		assert_true(take(1, n));
		assert_false(take(1, n));
	}
	/* Recent numbers, and old ones. */
	for (u64 n = 0; n < 5 * NUMBERS; n++)
		assert_false(take(1, n));
}

static void others_may_overtake(void **state)
{
	u64 base = 1000 * NUMBERS;

	/* In descending order. */
	for (u64 n = NUMBERS; n--;)
		assert_true(take(1, base + n));
	for (u64 n = 0; n < NUMBERS; n++)
		assert_false(take(1, base + n));
	/* By as much as the window allows, and by one more. */
	assert_true(take(2, base + NUMBERS - 1));
	assert_true(take(2, base));
	assert_true(take(2, base + NUMBERS + NIC_REPLAY_BLOCK));
	assert_false(take(2, base + NIC_REPLAY_BLOCK));
	assert_true(take(2, base + 2 * NIC_REPLAY_BLOCK));
}

static void numbers_may_be_large(void **state)
{
	u64 last = (1ull << 52) - 1;

	assert_true(take(1, last - 1));
	assert_true(take(1, last));
	assert_false(take(1, last));
	/* Numbers that are too large for the table are never accepted. */
	assert_false(take(1, last + 1));
	assert_false(take(1, ~0ull));
	assert_false(take(1, 1ull << 52 | (last - 16)));
}

static void senders_are_apart(void **state)
{
	for (u32 i = 0; i < NIC_REPLAY_SENDERS; i++)
		assert_true(take(i, 7));
	for (u32 i = 0; i < NIC_REPLAY_SENDERS; i++) {
		assert_false(take(i, 7));
		assert_true(take(i, 8));
	}
}

/*
 * The sender of a frame loses its place while the frame is checked: the frame is not accepted,
 * because nothing is known of its sender.
 */
static void others_come(void)
{
	tp.clock += 10 * MS;
	for (u32 i = 1; i <= NIC_REPLAY_SENDERS; i++)
		assert_true(take(i, 7));
}

static void its_place_goes_meanwhile(void **state)
{
	assert_true(take(0, 7));
	tp.on_clock = others_come;
	assert_false(take(0, 8));
	assert_null(tp.on_clock);
}

/* If the table is full, the sender without a new frame for the longest time is replaced. */
static void the_oldest_goes(void **state)
{
	for (u32 i = 0; i < NIC_REPLAY_SENDERS; i++)
		assert_true(take(i, 7));
	tp.clock += 10 * MS;
	for (u32 i = 0; i < NIC_REPLAY_SENDERS; i++) {
		if (i != 77)
			assert_true(take(i, 8));
	}
	/* A replayed frame does not count as new. */
	tp.clock += 10 * MS;
	assert_false(take(77, 7));
	tp.clock += 10 * MS;
	assert_true(take(1000, 7));
	for (u32 i = 0; i < NIC_REPLAY_SENDERS; i++) {
		if (i != 77)
			assert_false(take(i, 8));
	}
	assert_false(take(1000, 7));
	/* The new sender's place has no numbers of the old one. */
	tp.clock += 10 * MS;
	assert_true(take(1000, 6));
	assert_true(take(1000, NUMBERS + 7));
}

/* Senders of one key take no places from keys that have fewer. */
static void keys_have_their_share(void **state)
{
	u32 half = NIC_REPLAY_SENDERS / 2;

	for (u32 i = 0; i < 9; i++)
		assert_true(take_by(TWO, i, 7));
	for (u32 i = 0; i < 10 * NIC_REPLAY_SENDERS; i++) {
		tp.clock += 10 * MS;
		assert_true(take(i, 7));
	}
	for (u32 i = 0; i < 9; i++)
		assert_false(take_by(TWO, i, 7));
	/* A new key takes places from the key with the most, until it has as many. */
	for (u32 i = 0; i < 4 * NIC_REPLAY_SENDERS; i++) {
		tp.clock += 10 * MS;
		assert_true(take_by(THREE, i, 7));
	}
	for (u32 i = 4 * NIC_REPLAY_SENDERS - half + 5; i < 4 * NIC_REPLAY_SENDERS; i++)
		assert_false(take_by(THREE, i, 7));
	for (u32 i = 10 * NIC_REPLAY_SENDERS - half + 5; i < 10 * NIC_REPLAY_SENDERS; i++)
		assert_false(take(i, 7));
	for (u32 i = 0; i < 9; i++)
		assert_false(take_by(TWO, i, 7));
}

/* A key that is no longer in use loses its places; a key that is added again gets places. */
static void keys_come_and_go(void **state)
{
	static const u32 two[] = { TWO, THREE };

	for (u32 i = 0; i < NIC_REPLAY_SENDERS - 1; i++)
		assert_true(take(i, 7));
	assert_true(take_by(TWO, 0, 7));
	nic_replay_set_keys(replay, two, 2);
	/* Frames that were sent before the key was removed. */
	assert_false(take(5, 7));
	tp.clock += 10 * MS;
	assert_true(take(6, 8));
	for (u32 i = 1; i < NIC_REPLAY_SENDERS - 1; i++) {
		tp.clock += 10 * MS;
		assert_true(take_by(TWO, i, 7));
	}
	for (u32 i = 0; i < NIC_REPLAY_SENDERS - 1; i++)
		assert_false(take_by(TWO, i, 7));
	assert_false(take(6, 8));
}

/* The place whose first word has this value. */
static u32 place_with(u64 word)
{
	for (u32 i = 0; i < NIC_REPLAY_SENDERS; i++) {
		if (replay->word[i][0] == word)
			return i;
	}
	fail_msg("no sender has said %llx", word);
	return 0;
}

/* A process that makes room for a new sender has stopped or died: known senders continue. */
static void death_while_room_is_made(void **state)
{
	u32 i;

	assert_true(take(1, 7));
	replay->lock = OTHER;
	assert_true(take(1, 8));
	assert_false(take(2, 8));
	nic_replay_recover(replay, OTHER + 1);
	assert_int_equal(replay->lock, OTHER);
	nic_replay_recover(replay, OTHER);
	assert_true(take(2, 8));
	assert_false(take(2, 8));
	/* A half-initialized place belongs to no sender, and is used next. */
	for (i = 3; i <= NIC_REPLAY_SENDERS; i++)
		assert_true(take(i, 7));
	i = place_with(1u << 7 | 1u << 8);
	replay->sender[i].used = 1;
	assert_true(take(1000, 7));
	assert_int_equal(replay->word[i][0], 1u << 7);
	assert_false(take(1000, 7));
}

static void *race(void *arg)
{
	u32 taken = 0;

	for (u32 i = 0; i < RACED; i++)
		taken += take(i / 1000, i);
	return (void *)(unsigned long)taken;
}

/* All threads check the same frames: each frame is accepted once. */
static void many_take_at_once(void **state)
{
	pthread_t thread[THREADS];
	unsigned long taken = 0;
	void *own;

	for (u32 i = 0; i < THREADS; i++)
		assert_int_equal(pthread_create(&thread[i], NULL, race, NULL), 0);
	for (u32 i = 0; i < THREADS; i++) {
		pthread_join(thread[i], &own);
		taken += (unsigned long)own;
	}
	assert_int_equal(taken, RACED);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(each_is_taken_once, set_up, tear_down),
		cmocka_unit_test_setup_teardown(others_may_overtake, set_up, tear_down),
		cmocka_unit_test_setup_teardown(numbers_may_be_large, set_up, tear_down),
		cmocka_unit_test_setup_teardown(senders_are_apart, set_up, tear_down),
		cmocka_unit_test_setup_teardown(the_oldest_goes, set_up, tear_down),
		cmocka_unit_test_setup_teardown(its_place_goes_meanwhile, set_up, tear_down),
		cmocka_unit_test_setup_teardown(keys_have_their_share, set_up, tear_down),
		cmocka_unit_test_setup_teardown(keys_come_and_go, set_up, tear_down),
		cmocka_unit_test_setup_teardown(death_while_room_is_made, set_up, tear_down),
		cmocka_unit_test_setup_teardown(many_take_at_once, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
