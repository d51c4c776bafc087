// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "clients.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

/* Long enough for many time slices, if there are more processes than CPUs. */
#define RUN_MS 3000u
/* Time of polling before the client sleeps: a little more than an idle server needs to answer. */
#define SPIN_NS 20000u

/* Result of a client. */
struct reached {
	uint64_t requests, ns;
};

static struct reached mine;
static unsigned long outstanding;

static uint64_t now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

static void fail(struct clients *c, const char *what)
{
	job_abort(c->job, 1, what);
}

void clients_check(struct clients *c, const char *what, int err)
{
	if (err != AM_OK)
		fail(c, what);
}

static void clients_open(struct clients *c, int argc, char **argv, const struct bench_program *prog)
{
	struct bench_options opt = { .iters = RUN_MS, .cpu = { -1, -1 }, .window = 8 };
	char credits[16];

	memset(c, 0, sizeof(*c));
	bench_parse(argc, argv, prog, &opt);
	if (job_open(&c->job))
		fail(c, "cannot join the job");
	c->rank = job_rank(c->job);
	c->n = job_size(c->job) - 1;
	c->window = opt.window;
	c->run_ns = opt.iters * 1000000ull;
	if (c->n < 1 || c->n > CLIENTS_MAX)
		fail(c, "wants 2 to 33 processes");
	snprintf(credits, sizeof(credits), "%u", opt.window);
	clients_check(c, "--window", AM_SetOption("credits", credits));
	if (opt.device)
		clients_check(c, "--device", AM_SetOption("device", opt.device));
	clients_check(c, "AM_Init", AM_Init());
}

ep_t clients_endpoint(struct clients *c, eb_t bundle, en_t *name)
{
	ep_t ep;

	clients_check(c, "AM_AllocateEndpoint", AM_AllocateEndpoint(bundle, &ep, name));
	clients_check(c, "AM_SetTag", AM_SetTag(ep, AM_ALL));
	return ep;
}

void clients_meet(struct clients *c)
{
	static en_t all[CLIENTS_MAX + 1][CLIENTS_MAX];

	if (job_exchange(c->job, c->name, sizeof(c->name), all))
		fail(c, "names cannot be exchanged");
	memcpy(c->name, all[0], sizeof(c->name));
}

static void on_answer(void *token, int32_t a0)
{
	(void)token, (void)a0;
	outstanding--;
}

/*
 * Waits for room in the window: polls first, then sleeps. If there are fewer CPUs than
 * processes, a client that polls keeps the server from running.
 */
static void await_answers(struct clients *c, eb_t eb)
{
	uint64_t end = now() + SPIN_NS;

	while (outstanding >= c->window) {
		clients_check(c, "AM_Poll", AM_Poll(eb));
		if (outstanding < c->window || now() < end)
			continue;
		clients_check(c, "AM_SetEventMask", AM_SetEventMask(eb, AM_NOTEMPTY));
		clients_check(c, "AM_WaitSema", AM_WaitSema(eb));
		clients_check(c, "AM_SetEventMask", AM_SetEventMask(eb, AM_NOEVENTS));
	}
}

static void requests(struct clients *c, eb_t eb, ep_t ep)
{
	uint64_t begin = now();

	do {
		while (outstanding < c->window) {
			outstanding++;
			mine.requests++;
			clients_check(c, "a request", AM_Request1(ep, 0, CLIENTS_REQUEST, 1));
		}
		await_answers(c, eb);
		mine.ns = now() - begin;
	} while (mine.ns < c->run_ns);
	while (outstanding)
		clients_check(c, "AM_Poll", AM_Poll(eb));
}

static void clients_send(struct clients *c)
{
	en_t name;
	eb_t eb;
	ep_t ep;

	clients_check(c, "AM_AllocateBundle", AM_AllocateBundle(AM_SEQ, &eb));
	ep = clients_endpoint(c, eb, &name);
	AM_SetHandler(ep, CLIENTS_ANSWER, on_answer);
	clients_meet(c);
	clients_check(c, "AM_Map", AM_Map(ep, 0, c->name[c->rank - 1], 1));
	/* Connect before the measurement. */
	outstanding++;
	clients_check(c, "a request", AM_Request1(ep, 0, CLIENTS_REQUEST, 0));
	while (outstanding)
		clients_check(c, "AM_Poll", AM_Poll(eb));
	requests(c, eb, ep);
	clients_check(c, "the last message", AM_Request0(ep, 0, CLIENTS_END));
}

/* Prints rates and Jain's fairness index: 1 if all rates are equal, 1/n if one client has all. */
static void print(const struct clients *c, const struct reached *all)
{
	double sum = 0, squares = 0, least = 0, most = 0, rtt = 0;

	for (int i = 1; i <= c->n; i++) {
		double rate = (double)all[i].requests * 1e9 / (double)all[i].ns;

		sum += rate;
		squares += rate * rate;
		least = i == 1 || rate < least ? rate : least;
		most = rate > most ? rate : most;
		rtt += c->window / rate * 1e9;
		printf("client %d %.0f\n", i, rate);
	}
	printf("rate %.0f\nleast %.0f\nmost %.0f\nfairness %.4f\nrtt_ns %.1f\n", sum, least, most,
	       sum * sum / (c->n * squares), rtt / c->n);
}

static void clients_report(struct clients *c)
{
	struct reached all[CLIENTS_MAX + 1];

	if (job_exchange(c->job, &mine, sizeof(mine), all))
		fail(c, "results cannot be exchanged");
	if (!c->rank)
		print(c, all);
}

static void clients_close(struct clients *c)
{
	clients_check(c, "AM_Terminate", AM_Terminate());
	job_close(c->job);
}

int clients_run(int argc, char **argv, const struct bench_program *prog,
		void (*serve)(struct clients *c))
{
	struct clients c;

	clients_open(&c, argc, argv, prog);
	if (c.rank)
		clients_send(&c);
	else
		serve(&c);
	clients_report(&c);
	clients_close(&c);
	return 0;
}
