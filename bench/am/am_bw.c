// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Measures the bandwidth of Active Messages, by size, with requests that have no reply.
 *
 *   medium   the data are in the message, up to 4 KiB
 *   bulk     the data are placed in the peer's segment; the call returns when the source
 *            may be reused
 *   async    the same, but the source stays unchanged until the transfer is complete
 */
#include <stdlib.h>
#include <string.h>

#include "am_side.h"
#include "bandwidth.h"

enum { DATA = 1, FLUSH, END, ANSWER };

static uint8_t *memory; /* source of messages, or the segment */
static unsigned long outstanding;
static bool ended;

static void on_data(void *token, void *buf, int nbytes)
{
	(void)token, (void)buf, (void)nbytes;
}

static void on_flush(void *token)
{
	AM_Reply0(token, ANSWER);
}

static void on_answer(void *token)
{
	(void)token;
	outstanding--;
}

static void on_end(void *token)
{
	(void)token;
	ended = true;
}

static int send_medium(void *arg, size_t size)
{
	struct am_side *side = arg;

	return AM_RequestI0(side->ep, AM_PEER, DATA, memory, size);
}

static int send_bulk(void *arg, size_t size)
{
	struct am_side *side = arg;

	return AM_RequestXfer0(side->ep, AM_PEER, 0, DATA, memory, size);
}

static int send_async(void *arg, size_t size)
{
	struct am_side *side = arg;
	int err;

	while ((err = AM_RequestXferAsync0(side->ep, AM_PEER, 0, DATA, memory, size)) ==
	       AM_ERR_NOT_SENT)
		AM_Poll(side->bundle);
	return err;
}

/*
 * Waits for the answer to a FLUSH request, which is sent after all messages. This is exact only
 * if messages of different classes arrive in order, which mapping v1 does not ensure.
 */
static int drain(void *arg)
{
	struct am_side *side = arg;
	int err = AM_Request0(side->ep, AM_PEER, FLUSH);

	outstanding++;
	while (outstanding && err == AM_OK)
		err = AM_Poll(side->bundle);
	return err;
}

static void measure(struct am_side *side, unsigned long bytes)
{
	am_check(side, "medium messages",
		 bandwidth_measure("medium", send_medium, drain, side, AM_MaxMedium(), bytes));
	am_check(side, "bulk transfers",
		 bandwidth_measure("bulk", send_bulk, drain, side, AM_MaxLong(), bytes));
	am_check(side, "asynchronous transfers",
		 bandwidth_measure("async", send_async, drain, side, AM_MaxLong(), bytes));
	am_check(side, "the last message", AM_Request0(side->ep, AM_PEER, END));
}

static void set_handler(struct am_side *side, handler_t number, am_handler_fn_t function)
{
	am_check(side, "AM_SetHandler", AM_SetHandlerFn(side->ep, number, function));
}

static void set_up(struct am_side *side)
{
	memory = aligned_alloc(4096, BANDWIDTH_MAX);
	if (!memory)
		am_check(side, "memory", AM_ERR_RESOURCE);
	memset(memory, 0, BANDWIDTH_MAX);
	am_check(side, "AM_SetSeg", AM_SetSeg(side->ep, memory, BANDWIDTH_MAX));
	set_handler(side, DATA, (am_handler_fn_t)on_data);
	set_handler(side, FLUSH, (am_handler_fn_t)on_flush);
	set_handler(side, ANSWER, (am_handler_fn_t)on_answer);
	set_handler(side, END, (am_handler_fn_t)on_end);
	two_meet(side->two);
}

int main(int argc, char **argv)
{
	static const struct bench_program prog = {
		.purpose =
			"Bandwidth of Active Messages by size, of two processes; --iters are the\n"
			"bytes of a stream: vnet run -n 2 am_bw",
		.takes = BENCH_ITERS | BENCH_CPUS | BENCH_DEVICE | BENCH_WINDOW,
	};
	struct bench_options opt = { .iters = 16 << 20, .cpu = { -1, -1 }, .window = 8 };
	struct am_side side;
	struct two two;

	two_open(&two, argc, argv, &prog, &opt);
	am_side_open(&side, &two, &opt);
	set_up(&side);
	if (two.client)
		measure(&side, opt.iters);
	else
		am_until(&side, &ended);
	am_side_close(&side);
	free(memory);
	two_close(&two);
	return 0;
}
