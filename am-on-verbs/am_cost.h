/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * What each step of a message costs the processor: marks in the data path, which
 * are nothing unless the file is compiled with AM_COST.
 *
 * The library am_cost is am with that definition; who links it and calls
 * am_cost_reset(), sends messages and calls am_cost_read(), has the table. In the
 * data path:
 *
 *	am_cost_begin(AM_COST_POST_SEND);
 *	ret = ibv_post_send(qp, &wr, &bad);
 *	am_cost_end(AM_COST_POST_SEND);
 *
 *	am_cost_begin(AM_COST_POLL_RECV);
 *	n = ibv_poll_cq(cq, BATCH, wc);
 *	am_cost_end_poll(AM_COST_POLL_RECV, n);
 *
 * Marks nest: a step has the time between its begin and its end without that of
 * the steps within it. So a handler may be one step (AM_COST_ACT) though it
 * replies. Each begin needs its end on every way out of the function, in reverse
 * order. What several steps share (a batch of receives that are posted at once)
 * is one call; who reads the table divides by messages, not by calls.
 *
 * The counts are the thread's own.
 */
#ifndef AM_COST_H
#define AM_COST_H

#include <stdbool.h>
#include <stdint.h>

/* The steps, by group, each with what it covers. */
enum am_cost_step {
	/* Verbs */
	AM_COST_POST_SEND, /* ibv_post_send() */
	AM_COST_POST_RECV, /* ibv_post_recv(), ibv_post_srq_recv() */
	AM_COST_RECYCLE_SEND, /* a send is complete: its buffer and slot are free again */
	AM_COST_RECYCLE_RECV, /* a message is done with: its buffer goes back */
	AM_COST_BUILD_SEND, /* work request, scatter list, header of the message */
	/* Event notification */
	AM_COST_POLL_SEND, /* ibv_poll_cq() for what was sent */
	AM_COST_POLL_RECV, /* ibv_poll_cq() for what was received */
	/* Flow control */
	AM_COST_SEND_BOOKKEEPING, /* credits, slots, what to retransmit or return */
	AM_COST_PROCESS_RECEIVED, /* credits that came, checks, pushed on a queue */
	/* Semantics */
	AM_COST_COPY_DATA, /* words and data copied, as the caller may reuse them */
	AM_COST_READ_DATA, /* words and data taken out of the message */
	AM_COST_ACT, /* the handler is found and called */
	AM_COST_STEPS
};

enum am_cost_group {
	AM_COST_VERBS,
	AM_COST_EVENTS,
	AM_COST_FLOW_CONTROL,
	AM_COST_SEMANTICS,
	AM_COST_GROUPS
};

/* What am_cost_read() says of a step, the marks' own time taken off. */
struct am_cost {
	uint64_t calls; /* of a poll: those that found something */
	double ns; /* all of them together */
	uint64_t empty; /* polls that found nothing */
	double empty_ns;
	uint64_t interrupted; /* left out: longer than the limit */
};

/*
 * Counts from 0. A step that lasts longer than @limit_ns was interrupted and is
 * left out. @own_ns, if not NULL, is what a pair of marks costs.
 */
void am_cost_reset(double limit_ns, double *own_ns);
void am_cost_read(struct am_cost table[AM_COST_STEPS]);

const char *am_cost_step_name(enum am_cost_step step);
enum am_cost_group am_cost_group_of(enum am_cost_step step);
const char *am_cost_group_name(enum am_cost_group group);

#ifdef AM_COST

#define AM_COST_DEPTH 16

struct am_cost_sum {
	uint64_t calls;
	uint64_t ticks; /* without those of the steps within it */
	uint64_t within; /* steps directly within it */
};

struct am_cost_frame {
	uint64_t start;
	uint64_t ticks_within;
	uint64_t within;
};

struct am_cost_counts {
	struct am_cost_sum sum[AM_COST_STEPS];
	struct am_cost_sum empty[AM_COST_STEPS];
	uint64_t interrupted[AM_COST_STEPS];
	uint64_t limit;
	unsigned int depth;
	struct am_cost_frame frame[AM_COST_DEPTH];
};

extern __thread struct am_cost_counts am_cost_counts;

/*
 * Neither what comes before nor what comes after may slip over a reading, or the
 * steps would be charged with each other's work.
 */
static inline uint64_t am_cost_ticks(void)
{
#if defined(__x86_64__)
	uint32_t low, high;

	__asm__ volatile("lfence\n\trdtsc\n\tlfence" : "=a"(low), "=d"(high) : : "memory");
	return (uint64_t)high << 32 | low;
#elif defined(__aarch64__)
	uint64_t ticks;

	__asm__ volatile("isb\n\tmrs %0, cntvct_el0\n\tisb" : "=r"(ticks) : : "memory");
	return ticks;
#else
#error "no cycle counter is known for this processor"
#endif
}

static inline void am_cost_begin(enum am_cost_step step)
{
	struct am_cost_counts *c = &am_cost_counts;
	struct am_cost_frame *frame = &c->frame[c->depth++ % AM_COST_DEPTH];

	(void)step;
	frame->ticks_within = 0;
	frame->within = 0;
	frame->start = am_cost_ticks();
}

static inline void am_cost_add(struct am_cost_sum *sum, uint64_t *interrupted, uint64_t now)
{
	struct am_cost_counts *c = &am_cost_counts;
	struct am_cost_frame *frame = &c->frame[--c->depth % AM_COST_DEPTH];
	uint64_t all = now - frame->start;

	if (all - frame->ticks_within > c->limit) {
		(*interrupted)++;
	} else {
		sum->calls++;
		sum->ticks += all - frame->ticks_within;
		sum->within += frame->within;
	}
	if (c->depth) {
		frame = &c->frame[(c->depth - 1) % AM_COST_DEPTH];
		frame->ticks_within += all;
		frame->within++;
	}
}

static inline void am_cost_end(enum am_cost_step step)
{
	uint64_t now = am_cost_ticks();

	am_cost_add(&am_cost_counts.sum[step], &am_cost_counts.interrupted[step], now);
}

/* A poll that found @n completions: those that find none are counted apart. */
static inline void am_cost_end_poll(enum am_cost_step step, int n)
{
	uint64_t now = am_cost_ticks();
	struct am_cost_sum *sums = n ? am_cost_counts.sum : am_cost_counts.empty;

	am_cost_add(&sums[step], &am_cost_counts.interrupted[step], now);
}

#else

static inline void am_cost_begin(enum am_cost_step step)
{
	(void)step;
}

static inline void am_cost_end(enum am_cost_step step)
{
	(void)step;
}

static inline void am_cost_end_poll(enum am_cost_step step, int n)
{
	(void)step;
	(void)n;
}

#endif
#endif
