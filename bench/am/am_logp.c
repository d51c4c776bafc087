// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Measures LogP of Active Messages, with short requests and short replies.
 *
 * Handlers of the server run while it polls. Those of the client run while it polls for answers,
 * or waits for a credit.
 */

#include "am_side.h"
#include "logp.h"

enum { ANSWERED = 1, ONE_WAY, END, ANSWER };

struct client {
	struct am_side side;
	int nwords;
	bool one_way;
};

/* Static, because handlers get no argument of the program. */
static unsigned long outstanding;
static bool ended;

static void on_answer0(void *token)
{
	(void)token;
	outstanding--;
}

static void on_answer2(void *token, int32_t a0, int32_t a1)
{
	(void)token, (void)a0, (void)a1;
	outstanding--;
}

static void on_request0(void *token)
{
	AM_Reply0(token, ANSWER);
}

static void on_request2(void *token, int32_t a0, int32_t a1)
{
	AM_Reply2(token, ANSWER, a0, a1);
}

static void on_one_way0(void *token)
{
	(void)token;
}

static void on_one_way2(void *token, int32_t a0, int32_t a1)
{
	(void)token, (void)a0, (void)a1;
}

static void on_end(void *token)
{
	(void)token;
	ended = true;
}

static int send_request(void *arg, bool answer)
{
	struct client *c = arg;
	int handler = ONE_WAY;

	if (answer) {
		outstanding++;
		handler = ANSWERED;
	} else {
		c->one_way = true;
	}
	return c->nwords ? AM_Request2(c->side.ep, AM_PEER, handler, 1, 2) :
			   AM_Request0(c->side.ep, AM_PEER, handler);
}

static int look(void *arg)
{
	struct client *c = arg;

	return AM_Poll(c->side.bundle);
}

/*
 * Waits until all messages have arrived. Messages arrive in order, so the answer to one more
 * request shows that all one-way messages before it have arrived.
 */
static int drain(void *arg)
{
	struct client *c = arg;
	int err = AM_OK;

	if (c->one_way) {
		c->one_way = false;
		err = send_request(c, true);
	}
	while (outstanding && err == AM_OK)
		err = AM_Poll(c->side.bundle);
	return err;
}

static void set_handler(struct am_side *side, handler_t number, am_handler_fn_t function)
{
	am_check(side, "AM_SetHandler", AM_SetHandlerFn(side->ep, number, function));
}

static void set_handlers(struct am_side *side, int nwords)
{
	set_handler(side, ANSWERED,
		    nwords ? (am_handler_fn_t)on_request2 : (am_handler_fn_t)on_request0);
	set_handler(side, ANSWER,
		    nwords ? (am_handler_fn_t)on_answer2 : (am_handler_fn_t)on_answer0);
	set_handler(side, ONE_WAY,
		    nwords ? (am_handler_fn_t)on_one_way2 : (am_handler_fn_t)on_one_way0);
	set_handler(side, END, (am_handler_fn_t)on_end);
	two_meet(side->two);
}

static void measure(struct client *c, const struct bench_options *opt)
{
	const struct logp_subject subject = {
		.send = send_request,
		.poll = look,
		.drain = drain,
		.arg = c,
		.window = c->side.credits,
	};

	am_check(&c->side, "a message", logp_measure(&subject, opt->iters, opt->curves));
	am_check(&c->side, "the last message", AM_Request0(c->side.ep, AM_PEER, END));
}

int main(int argc, char **argv)
{
	static const struct bench_program prog = {
		.purpose = "The parameters of LogP of Active Messages, of two processes; --size\n"
			   "is 8 (two words), or less (none): vnet run -n 2 am_logp",
		.takes = BENCH_ITERS | BENCH_SIZE | BENCH_CPUS | BENCH_DEVICE | BENCH_WINDOW |
			 BENCH_CURVES,
		.max_size = 8,
	};
	struct bench_options opt = { .iters = 50000, .size = 8, .cpu = { -1, -1 }, .window = 8 };
	struct client c = { 0 };
	struct two two;

	two_open(&two, argc, argv, &prog, &opt);
	c.nwords = opt.size == 8 ? 2 : 0;
	am_side_open(&c.side, &two, &opt);
	set_handlers(&c.side, c.nwords);
	if (two.client)
		measure(&c, &opt);
	else
		am_until(&c.side, &ended);
	am_side_close(&c.side);
	two_close(&two);
	return 0;
}
