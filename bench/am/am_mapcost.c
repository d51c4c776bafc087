// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Measures the steps of a short request and its reply, on both sides, by the marks of am_cost.h. */
#include <stdio.h>
#include <string.h>

#include "cost/am_cost.h"
#include "am_side.h"
#include "measure.h"
#include "steps.h"

enum { REQUEST = 1, RESET, TABLE, END, ANSWER, RESET_DONE, TABLE_COMES };

static unsigned long outstanding;
static bool ended;
static struct am_cost theirs[AM_COST_STEPS];

static void on_request(void *token, int32_t a0, int32_t a1)
{
	AM_Reply2(token, ANSWER, a0, a1);
}

static void on_answer(void *token, int32_t a0, int32_t a1)
{
	(void)token, (void)a0, (void)a1;
	outstanding--;
}

/* Resets the server's counts. The steps in progress, which call this handler, are not counted. */
static void on_reset(void *token)
{
	am_cost_reset(STEPS_LIMIT_NS, NULL);
	AM_Reply0(token, RESET_DONE);
}

static void on_table(void *token)
{
	struct am_cost table[AM_COST_STEPS];

	am_cost_read(table);
	AM_ReplyI0(token, TABLE_COMES, table, sizeof(table));
}

static void on_reset_done(void *token)
{
	(void)token;
	outstanding--;
}

static void on_table_comes(void *token, void *buf, int nbytes)
{
	(void)token;
	memcpy(theirs, buf, (size_t)nbytes < sizeof(theirs) ? (size_t)nbytes : sizeof(theirs));
	outstanding--;
}

static void on_end(void *token)
{
	(void)token;
	ended = true;
}

static void wait_for_all(struct am_side *side)
{
	while (outstanding)
		am_check(side, "AM_Poll", AM_Poll(side->bundle));
}

static void ask(struct am_side *side, handler_t what)
{
	outstanding++;
	am_check(side, "a request", AM_Request0(side->ep, AM_PEER, what));
	wait_for_all(side);
}

static int round_trip(void *arg)
{
	struct am_side *side = arg;
	int err;

	outstanding++;
	err = AM_Request2(side->ep, AM_PEER, REQUEST, 1, 2);
	wait_for_all(side);
	return err;
}

static void measure(struct am_side *side, unsigned long iters)
{
	struct am_cost mine[AM_COST_STEPS];
	struct timing t;
	double own_ns;

	am_check(side, "warming up", time_op(round_trip, side, iters / 10 + 1, &t));
	ask(side, RESET);
	am_cost_reset(STEPS_LIMIT_NS, &own_ns);
	for (unsigned long i = 0; i < iters; i++)
		am_check(side, "a request", round_trip(side));
	am_cost_read(mine);
	ask(side, TABLE);
	printf("mark_ns\t%.1f\nrtt_half_marked_ns\t%.1f\n", own_ns, t.median_ns / 2);
	steps_print("client", mine, (double)iters);
	steps_print("server", theirs, (double)iters);
	am_check(side, "the last message", AM_Request0(side->ep, AM_PEER, END));
}

static void set_handler(struct am_side *side, handler_t number, am_handler_fn_t function)
{
	am_check(side, "AM_SetHandler", AM_SetHandlerFn(side->ep, number, function));
}

static void set_handlers(struct am_side *side)
{
	set_handler(side, REQUEST, (am_handler_fn_t)on_request);
	set_handler(side, ANSWER, (am_handler_fn_t)on_answer);
	set_handler(side, RESET, (am_handler_fn_t)on_reset);
	set_handler(side, RESET_DONE, (am_handler_fn_t)on_reset_done);
	set_handler(side, TABLE, (am_handler_fn_t)on_table);
	set_handler(side, TABLE_COMES, (am_handler_fn_t)on_table_comes);
	set_handler(side, END, (am_handler_fn_t)on_end);
	two_meet(side->two);
}

int main(int argc, char **argv)
{
	static const struct bench_program prog = {
		.purpose =
			"What each step of a short request and its reply costs in Active Messages,\n"
			"per round trip: vnet run -n 2 am_mapcost",
		.takes = BENCH_ITERS | BENCH_CPUS | BENCH_DEVICE | BENCH_WINDOW,
	};
	struct bench_options opt = { .iters = 100000, .cpu = { -1, -1 }, .window = 8 };
	struct am_side side;
	struct two two;

	two_open(&two, argc, argv, &prog, &opt);
	am_cost_reset(STEPS_LIMIT_NS, NULL);
	am_side_open(&side, &two, &opt);
	set_handlers(&side);
	if (two.client)
		measure(&side, opt.iters);
	else
		am_until(&side, &ended);
	am_side_close(&side);
	two_close(&two);
	return 0;
}
