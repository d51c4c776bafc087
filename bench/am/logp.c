// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Measures the LogP parameters by bursts of messages.
 *
 * A burst is M times: send a request, compute for a while, poll for answers. Its time ends
 * when the last of the M requests is sent; waiting for outstanding answers is not included.
 * The time per message is:
 *
 *   few, without a delay     o_s: no send waits for room
 *   many, without a delay    g: the slowest stage determines the rate
 *   a delay beyond g and     o_s + delay + o_r: each poll finds an answer, and no send
 *   the round trip           waits
 *
 * L is half a round trip minus o_s and o_r. Each burst size is measured many times; the
 * result is the median, which interruptions do not affect. After each burst, the same
 * delays are measured alone, and subtracted.
 */
#include "logp.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "measure.h"

#define LEAST_BURSTS 5
#define MOST_BURSTS 2000
/* time limit for bursts of one kind, if other processes use the CPUs */
#define LONGEST_NS 500000000u
#define MANY 1024 /* messages in a long burst */
#define MANY_IN_CURVES 256
#define RECEIVE_DELAYS 5 /* number of delays with which o_r is measured */
#define FEW 8 /* maximum messages in a short burst */

struct meter {
	const struct logp_subject *subject;
	unsigned long messages;
	double clock_ns; /* time that reading the clock adds to a measurement */
	double turn_ns; /* time per iteration of the delay loop */
};

/* All in nanoseconds. */
struct logp {
	double rtt_half;
	double o_s, o_r, g, l;
	double g_one_way; /* for requests that are not answered */
};

enum look { LOOK, DO_NOT_LOOK };

/* The delay loop. Not inlined, so that all callers use the same code, with the same speed. */
static void __attribute__((noinline)) compute(unsigned long turns)
{
	for (unsigned long i = 0; i < turns; i++)
		__asm__ volatile("" : "+r"(i));
}

static double median_time(unsigned long turns)
{
	uint64_t sample[201];

	for (size_t i = 0; i < 201; i++) {
		uint64_t start = now_ns();

		compute(turns);
		sample[i] = now_ns() - start;
	}
	return percentile(sample, 201, 50);
}

static void calibrate(struct meter *m)
{
	m->clock_ns = median_time(0);
	m->turn_ns = (median_time(20000) - m->clock_ns) / 20000;
}

static unsigned long turns_of(const struct meter *m, double ns)
{
	return (unsigned long)(ns / m->turn_ns);
}

struct point {
	unsigned int n; /* messages in a burst */
	unsigned long turns; /* iterations of the delay loop after each message */
	enum look look;
	bool answer;
	double delay_ns; /* measured delay */
	double ns; /* time per message, without the delay */
};

static int burst(const struct meter *m, const struct point *p, uint64_t *time)
{
	const struct logp_subject *s = m->subject;
	uint64_t start = now_ns();

	for (unsigned int i = 0; i < p->n; i++) {
		int err = s->send(s->arg, p->answer);

		if (!err && p->turns)
			compute(p->turns);
		if (!err && p->look == LOOK)
			err = s->poll(s->arg);
		if (err)
			return err;
	}
	*time = now_ns() - start;
	return s->drain(s->arg);
}

/* The time of the delays of a burst alone. */
static uint64_t empty_burst(unsigned int n, unsigned long turns)
{
	uint64_t start = now_ns();

	for (unsigned int i = 0; i < n; i++)
		compute(turns);
	return now_ns() - start;
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static double median(double *v, size_t n)
{
	qsort(v, n, sizeof(*v), by_value);
	return v[n / 2];
}

/* Measures bursts of about @messages in total. */
static int bursts(const struct meter *m, unsigned long messages, struct point *p)
{
	static double sample[MOST_BURSTS], delay[MOST_BURSTS];
	unsigned long rounds = messages / p->n, done;
	uint64_t end = now_ns() + LONGEST_NS, time, empty = 0;
	int err;

	rounds = rounds < LEAST_BURSTS ? LEAST_BURSTS : rounds > MOST_BURSTS ? MOST_BURSTS : rounds;
	err = burst(m, p, &time);
	for (done = 0; done < rounds && !err; done++) {
		if (done >= LEAST_BURSTS && now_ns() > end)
			break;
		err = burst(m, p, &time);
		if (p->turns)
			empty = empty_burst(p->n, p->turns);
		/* Both measurements include one reading of the clock. */
		delay[done] = p->turns ? (double)empty - m->clock_ns : 0;
		sample[done] = (double)time - m->clock_ns - delay[done];
	}
	if (err)
		return err;
	p->ns = median(sample, done) / p->n;
	p->delay_ns = median(delay, done) / p->n;
	return 0;
}

static int round_trip(void *arg)
{
	const struct logp_subject *s = arg;
	int err = s->send(s->arg, true);

	return err ? err : s->drain(s->arg);
}

static int measure_round_trip(const struct meter *m, struct logp *result)
{
	struct timing t;
	int err;

	err = time_op(round_trip, (void *)(uintptr_t)m->subject, m->messages, &t);
	result->rtt_half = t.median_ns / 2;
	return err;
}

static int measure_send(const struct meter *m, struct logp *result)
{
	unsigned int window = m->subject->window;
	struct point p = { .n = window < FEW ? window : FEW, .look = DO_NOT_LOOK, .answer = true };
	int err = bursts(m, m->messages, &p);

	result->o_s = p.ns;
	return err;
}

static int measure_gap(const struct meter *m, bool answer, double *g)
{
	struct point p = { .n = MANY, .look = DO_NOT_LOOK, .answer = answer };
	int err = bursts(m, m->messages, &p);

	*g = p.ns;
	return err;
}

/* If the delay is long enough, all delays give the same result. */
static int measure_receive(const struct meter *m, struct logp *result)
{
	double beyond = 2 * result->rtt_half > result->g ? 2 * result->rtt_half : result->g;
	double both[RECEIVE_DELAYS] = { 0 };
	int err = 0;

	for (int i = 0; i < RECEIVE_DELAYS && !err; i++) {
		struct point p = { .n = 16, .look = LOOK, .answer = true };

		p.turns = turns_of(m, (1.25 + 0.25 * i) * beyond);
		err = bursts(m, m->messages / 4, &p);
		both[i] = p.ns;
	}
	result->o_r = median(both, RECEIVE_DELAYS) - result->o_s;
	return err;
}

/* Prints the curves from which the parameters can be read. */
static int print_curves(const struct meter *m, const struct logp *result)
{
	static const double delay_in_g[] = { 0, 0.5, 1, 2, 4, 8 };

	for (size_t i = 0; i < sizeof(delay_in_g) / sizeof(delay_in_g[0]); i++) {
		for (unsigned int n = 1; n <= MANY_IN_CURVES; n *= 2) {
			struct point p = { .n = n, .look = LOOK, .answer = true };
			int err;

			p.turns = turns_of(m, delay_in_g[i] * result->g);
			err = bursts(m, m->messages / 20, &p);
			if (err)
				return err;
			printf("burst %u %.1f %.1f\n", n, p.delay_ns, p.delay_ns + p.ns);
		}
	}
	return 0;
}

static void print(const struct logp *result)
{
	printf("rtt_half_ns %.1f\no_s_ns %.1f\no_r_ns %.1f\nl_ns %.1f\ng_ns %.1f\n"
	       "g_one_way_ns %.1f\n",
	       result->rtt_half, result->o_s, result->o_r, result->l, result->g, result->g_one_way);
}

int logp_measure(const struct logp_subject *subject, unsigned long messages, bool curves)
{
	struct meter m = { .subject = subject, .messages = messages };
	struct logp result;
	int err;

	calibrate(&m);
	err = measure_round_trip(&m, &result);
	if (!err)
		err = measure_send(&m, &result);
	if (!err)
		err = measure_gap(&m, true, &result.g);
	if (!err)
		err = measure_gap(&m, false, &result.g_one_way);
	if (!err)
		err = measure_receive(&m, &result);
	if (err)
		return err;
	result.l = result.rtt_half - result.o_s - result.o_r;
	print(&result);
	return curves ? print_curves(&m, &result) : 0;
}
