// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Measures LogP of plain verbs: small messages on a reliable connection, with polling. */
#include "logp.h"
#include "raw_message.h"

static int send_request(void *arg, bool answer)
{
	raw_messages_send(arg, answer);
	return 0;
}

static int look(void *arg)
{
	raw_messages_take(arg);
	return 0;
}

static int drain(void *arg)
{
	raw_messages_drain(arg);
	return 0;
}

static void measure(struct raw_messages *m, const struct bench_options *opt)
{
	const struct logp_subject subject = {
		.send = send_request,
		.poll = look,
		.drain = drain,
		.arg = m,
		.window = m->window,
	};

	if (logp_measure(&subject, opt->iters, opt->curves))
		two_fail(m->raw.two, "no memory");
	raw_messages_end(m);
}

int main(int argc, char **argv)
{
	static const struct bench_program prog = {
		.purpose = "The parameters of LogP of plain verbs, of two processes:\n"
			   "vnet run -n 2 raw_logp",
		.takes = BENCH_ITERS | BENCH_SIZE | BENCH_CPUS | BENCH_DEVICE | BENCH_WINDOW |
			 BENCH_CURVES,
		.max_size = RAW_MESSAGE_MAX,
	};
	struct bench_options opt = { .iters = 50000, .size = 8, .cpu = { -1, -1 }, .window = 8 };
	struct raw_messages m;
	struct two two;

	two_open(&two, argc, argv, &prog, &opt);
	raw_messages_open(&m, &two, &opt, 0);
	if (two.client)
		measure(&m, &opt);
	else
		while (raw_messages_take(&m))
			;
	raw_messages_close(&m);
	two_close(&two);
	return 0;
}
