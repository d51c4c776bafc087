// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Virtual networks: each client has its own server endpoint and server thread (paper 000, E9).
 *
 * A server thread sleeps until a message arrives, disables events, handles all messages,
 * and enables events again.
 */
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>

#include "clients.h"

struct network {
	struct clients *clients;
	pthread_t thread;
	eb_t eb;
};

/* State of the thread's bundle; thread-local, because handlers get no argument of the program. */
static __thread unsigned long handled;
static __thread bool ended;

static void on_request(void *token, int32_t a0)
{
	handled++;
	AM_Reply1(token, CLIENTS_ANSWER, a0);
}

static void on_end(void *token)
{
	(void)token;
	ended = true;
}

static void handle_batch(const struct network *network)
{
	unsigned long before;

	do {
		before = handled;
		clients_check(network->clients, "AM_Poll", AM_Poll(network->eb));
	} while (handled != before);
}

static void *serve(void *arg)
{
	const struct network *network = arg;

	while (!ended) {
		clients_check(network->clients, "AM_SetEventMask",
			      AM_SetEventMask(network->eb, AM_NOTEMPTY));
		clients_check(network->clients, "AM_WaitSema", AM_WaitSema(network->eb));
		clients_check(network->clients, "AM_SetEventMask",
			      AM_SetEventMask(network->eb, AM_NOEVENTS));
		handle_batch(network);
	}
	return NULL;
}

static void begin(struct clients *c, struct network *network, int i)
{
	ep_t ep;

	network->clients = c;
	clients_check(c, "AM_AllocateBundle", AM_AllocateBundle(AM_SEQ, &network->eb));
	ep = clients_endpoint(c, network->eb, &c->name[i]);
	AM_SetHandler(ep, CLIENTS_REQUEST, on_request);
	AM_SetHandler(ep, CLIENTS_END, on_end);
}

static void serve_all(struct clients *c)
{
	static struct network network[CLIENTS_MAX];

	for (int i = 0; i < c->n; i++)
		begin(c, &network[i], i);
	clients_meet(c);
	for (int i = 0; i < c->n; i++) {
		if (pthread_create(&network[i].thread, NULL, serve, &network[i]))
			clients_check(c, "no more threads", AM_ERR_RESOURCE);
	}
	for (int i = 0; i < c->n; i++)
		pthread_join(network[i].thread, NULL);
}

int main(int argc, char **argv)
{
	static const struct bench_program prog = {
		.purpose =
			"What clients reach that have a virtual network each with a server of as many\n"
			"threads, rank 0; --iters are the milliseconds of a run:\n"
			"vnet run -n N am_networks",
		.takes = BENCH_ITERS | BENCH_DEVICE | BENCH_WINDOW,
	};

	return clients_run(argc, argv, &prog, serve_all);
}
