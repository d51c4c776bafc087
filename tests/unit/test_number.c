// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Allocation of object numbers and keys. Numbers contain the index, are random in the other
 * bits, and are not reused soon.
 */
#include <stdlib.h>

#include "world.h"

#define PLACES 64u

static u32 fifo[PLACES];

/* ------------------------------------------------------------------ indices */

static void taken_in_order(void **state)
{
	struct nic_pool pool;
	u32 i;

	nic_pool_init(&pool, fifo, 2, 5);
	for (i = 2; i < 5; i++)
		assert_int_equal(nic_pool_take(&pool), i);
	assert_int_equal(nic_pool_take(&pool), NIC_NONE);
	assert_int_equal(nic_pool_draw(&w.agent, &pool, &i), NIC_ENOMEM);
	nic_pool_put(&pool, 3);
	nic_pool_put(&pool, 2);
	assert_false(nic_pool_claim(&pool, 4));
	assert_true(nic_pool_claim(&pool, 2));
	assert_int_equal(nic_pool_take(&pool), 3);
	assert_int_equal(nic_pool_take(&pool), NIC_NONE);
}

/* Each index is drawn once, and not in ascending order. */
static void drawn_each_once(void **state)
{
	struct nic_pool pool;
	u64 seen = 0;
	u32 index, last = NIC_NONE, in_order = 0;

	nic_pool_init(&pool, fifo, 0, PLACES);
	for (u32 i = 0; i < PLACES; i++) {
		assert_int_equal(nic_pool_draw(&w.agent, &pool, &index), NIC_OK);
		assert_true(index < PLACES && !(seen >> index & 1));
		seen |= 1ull << index;
		in_order += index == last + 1;
		last = index;
	}
	assert_true(in_order < PLACES / 4);
}

/* While no index has been used, the first one is random. */
static void drawn_from_all(void **state)
{
	struct nic_pool pool;
	u32 index, upper = 0;

	for (u32 turn = 0; turn < 1000; turn++) {
		nic_pool_init(&pool, fifo, 0, PLACES);
		assert_int_equal(nic_pool_draw(&w.agent, &pool, &index), NIC_OK);
		upper += index >= PLACES / 2;
	}
	assert_true(upper > 400 && upper < 600);
}

/* A freed index is not drawn again before half of the others. */
static void freed_index_waits(void **state)
{
	struct nic_pool pool;
	u32 freed, index;

	nic_pool_init(&pool, fifo, 0, PLACES);
	for (u32 turn = 0; turn < 1000; turn++) {
		assert_int_equal(nic_pool_draw(&w.agent, &pool, &freed), NIC_OK);
		nic_pool_put(&pool, freed);
		for (u32 i = 0; i < PLACES / 2 - 1; i++) {
			assert_int_equal(nic_pool_draw(&w.agent, &pool, &index), NIC_OK);
			assert_int_not_equal(index, freed);
			nic_pool_put(&pool, index);
		}
	}
}

/* ------------------------------------------------------------------ numbers */

typedef enum nic_result draw_fn(struct nic *nic, u32 index, u32 last, u32 *number);

/* Consecutive numbers of an index have no constant difference and no constant bit. */
static void check_spread(draw_fn *draw, u32 index, u32 lowest_random, u32 highest_random)
{
	u32 first, number, last = 0, ones[32] = { 0 }, constant = 0, difference = 0;

	assert_int_equal(draw(&w.agent, index, 0, &first), NIC_OK);
	last = first;
	for (u32 i = 0; i < 1000; i++) {
		assert_int_equal(draw(&w.agent, index, last, &number), NIC_OK);
		assert_int_not_equal(number, last);
		constant += number - last == difference;
		difference = number - last;
		last = number;
		for (u32 bit = 0; bit < 32; bit++)
			ones[bit] += number >> bit & 1;
	}
	assert_true(constant < 250);
	for (u32 bit = lowest_random; bit <= highest_random; bit++) {
		if (ones[bit] < 300 || ones[bit] > 700)
			fail_msg("bit %u is set in %u of 1000 numbers", bit, ones[bit]);
	}
}

static void qpns_are_random(void **state)
{
	u32 qpn;

	check_spread(nic_qpn_draw, 5, 8, 23);
	check_spread(nic_qpn_draw, w.config.max_qp - 1, 8, 23);
	for (u32 i = 0; i < 10000; i++) {
		u32 index = i % w.config.max_qp;

		assert_int_equal(nic_qpn_draw(&w.agent, index, 0, &qpn), NIC_OK);
		assert_int_equal(nic_qpn_index(&w.agent, qpn), index);
		/* 24 bits; not 0 and 1 (management) or 0xffffff (multicast). */
		assert_true(qpn >= w.config.max_qp && qpn < 0xffffff);
	}
}

static void srqns_are_random(void **state)
{
	u32 srqn;

	check_spread(nic_srqn_draw, 3, 4, 23);
	for (u32 i = 0; i < 10000; i++) {
		u32 index = i % w.config.max_srq;

		assert_int_equal(nic_srqn_draw(&w.agent, index, 0, &srqn), NIC_OK);
		assert_int_equal(nic_srqn_index(&w.agent, srqn), index);
		assert_true(srqn > w.config.max_srq && srqn < 0xffffff);
	}
}

static void keys_are_random(void **state)
{
	u32 key, last = 0;

	check_spread(nic_key_draw, 9, 16, 30);
	check_spread(nic_key_draw, 9, 0, 7);
	for (u32 i = 0; i < 10000; i++) {
		assert_int_equal(nic_key_draw(&w.agent, 9, last, &key), NIC_OK);
		assert_int_equal(nic_key_index(&w.agent, key), 9);
		/* Tag 0 is left to programs, and bit 31 marks claims. */
		assert_true(key & 0xff && !(key & NIC_KEY_CLAIMED));
		/* The program may have changed the tag of the last one. */
		assert_int_not_equal(key >> NIC_KEY_TAG_BITS, last >> NIC_KEY_TAG_BITS);
		last = key;
	}
}

static void without_randomness(void **state)
{
	struct nic_pool pool;
	u32 number;

	nic_pool_init(&pool, fifo, 0, PLACES);
	tp.no_random = true;
	assert_int_equal(nic_pool_draw(&w.agent, &pool, &number), NIC_EAGAIN);
	assert_int_equal(pool.free, PLACES);
	assert_int_equal(nic_qpn_draw(&w.agent, 1, 0, &number), NIC_EAGAIN);
	assert_int_equal(nic_srqn_draw(&w.agent, 1, 0, &number), NIC_EAGAIN);
	assert_int_equal(nic_key_draw(&w.agent, 1, 0, &number), NIC_EAGAIN);
	tp.no_random = false;
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, world_setup, world_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(taken_in_order),     TEST(drawn_each_once),  TEST(freed_index_waits),
		TEST(qpns_are_random),    TEST(srqns_are_random), TEST(keys_are_random),
		TEST(without_randomness), TEST(drawn_from_all),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
