// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Several clients of one Active Messages endpoint (paper 000, E5).
 *
 * Each client has a window of outstanding requests. With a window of one, the time per
 * request is the round trip (E7).
 */
#include "clients.h"

static int ended;

static void on_request(void *token, int32_t a0)
{
	AM_Reply1(token, CLIENTS_ANSWER, a0);
}

static void on_end(void *token)
{
	(void)token;
	ended++;
}

static void serve(struct clients *c)
{
	eb_t eb;
	ep_t ep;

	clients_check(c, "AM_AllocateBundle", AM_AllocateBundle(AM_SEQ, &eb));
	ep = clients_endpoint(c, eb, &c->name[0]);
	AM_SetHandler(ep, CLIENTS_REQUEST, on_request);
	AM_SetHandler(ep, CLIENTS_END, on_end);
	for (int i = 1; i < c->n; i++)
		c->name[i] = c->name[0];
	clients_meet(c);
	while (ended < c->n)
		clients_check(c, "AM_Poll", AM_Poll(eb));
}

int main(int argc, char **argv)
{
	static const struct bench_program prog = {
		.purpose =
			"What clients reach at one endpoint of a server, rank 0; --iters are the\n"
			"milliseconds of a run: vnet run -n N am_clients",
		.takes = BENCH_ITERS | BENCH_DEVICE | BENCH_WINDOW,
	};

	return clients_run(argc, argv, &prog, serve);
}
