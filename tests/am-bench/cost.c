// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Tests of the marks that time the steps of a message. The results do not depend on the speed of
 * the machine, or on interruptions.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

#include <cmocka.h>

#include "cost/am_cost.h"

#define NEVER 1e12 /* no step takes so long */

static double now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static void spin(double ns)
{
	double end = now_ns() + ns;

	while (now_ns() < end)
		;
}

static void test_counts(void **state)
{
	struct am_cost table[AM_COST_STEPS];

	am_cost_reset(NEVER, NULL);
	for (int i = 0; i < 10; i++) {
		am_cost_begin(AM_COST_POST_SEND);
		am_cost_end(AM_COST_POST_SEND);
		am_cost_begin(AM_COST_POLL_RECV);
		am_cost_end_poll(AM_COST_POLL_RECV, i % 5 == 0);
	}
	am_cost_read(table);
	assert_int_equal(table[AM_COST_POST_SEND].calls, 10);
	assert_int_equal(table[AM_COST_POLL_RECV].calls, 2);
	assert_int_equal(table[AM_COST_POLL_RECV].empty, 8);
	assert_int_equal(table[AM_COST_ACT].calls, 0);
	am_cost_reset(NEVER, NULL);
	am_cost_read(table);
	assert_int_equal(table[AM_COST_POST_SEND].calls, 0);
}

/*
 * The time of a nested step is not counted for the outer one. The sum must not exceed the elapsed
 * time.
 */
static void test_nesting(void **state)
{
	struct am_cost table[AM_COST_STEPS];
	double start, all, act, post;

	am_cost_reset(NEVER, NULL);
	start = now_ns();
	for (int i = 0; i < 20; i++) {
		am_cost_begin(AM_COST_ACT);
		spin(2e5);
		am_cost_begin(AM_COST_POST_SEND);
		spin(4e5);
		am_cost_end(AM_COST_POST_SEND);
		am_cost_end(AM_COST_ACT);
	}
	all = now_ns() - start;
	am_cost_read(table);
	act = table[AM_COST_ACT].ns;
	post = table[AM_COST_POST_SEND].ns;
	assert_true(act > 20 * 2e5 * 0.95);
	assert_true(post > 20 * 4e5 * 0.95);
	assert_true(act + post < all * 1.05);
}

static void test_interrupted(void **state)
{
	struct am_cost table[AM_COST_STEPS];

	am_cost_reset(1e5, NULL);
	am_cost_begin(AM_COST_ACT);
	spin(2e5);
	am_cost_end(AM_COST_ACT);
	am_cost_read(table);
	assert_int_equal(table[AM_COST_ACT].calls, 0);
	assert_int_equal(table[AM_COST_ACT].interrupted, 1);
}

/* If marks are nested too deep, times are wrong, but nothing else. */
static void test_depth(void **state)
{
	struct am_cost table[AM_COST_STEPS];

	am_cost_reset(NEVER, NULL);
	for (int i = 0; i < 100; i++)
		am_cost_begin(AM_COST_ACT);
	for (int i = 0; i < 100; i++)
		am_cost_end(AM_COST_ACT);
	am_cost_read(table);
	assert_int_equal(table[AM_COST_ACT].calls + table[AM_COST_ACT].interrupted, 100);
}

static void test_own_cost(void **state)
{
	double own;

	am_cost_reset(NEVER, &own);
	assert_true(own > 0 && own < 1e5);
}

static void test_names(void **state)
{
	for (int i = 0; i < AM_COST_STEPS; i++) {
		enum am_cost_group group = am_cost_group_of((enum am_cost_step)i);

		assert_non_null(am_cost_step_name((enum am_cost_step)i));
		assert_true((int)group >= 0 && group < AM_COST_GROUPS);
		assert_non_null(am_cost_group_name(group));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_counts),      cmocka_unit_test(test_nesting),
		cmocka_unit_test(test_interrupted), cmocka_unit_test(test_depth),
		cmocka_unit_test(test_own_cost),    cmocka_unit_test(test_names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
