/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Marks in the data path that measure how much CPU time each step of a message takes.
 *
 * The marks compile to nothing unless AM_COST is defined. The library am_cost is the
 * library am, compiled with that definition. A program links it, calls am_cost_reset(),
 * sends messages, and calls am_cost_read() for the table. In the data path:
 *
 *	am_cost_begin(AM_COST_POST_SEND);
 *	ret = ibv_post_send(qp, &wr, &bad);
 *	am_cost_end(AM_COST_POST_SEND);
 *
 *	am_cost_begin(AM_COST_POLL_RECV);
 *	n = ibv_poll_cq(cq, BATCH, wc);
 *	am_cost_end_poll(AM_COST_POLL_RECV, n);
 *
 * Marks nest: the time of a step excludes the steps within it. So a handler can be one step
 * (AM_COST_ACT) even if it replies. Each begin needs its end on every path out of the
 * function, in reverse order. Work that several messages share (a batch of receives that
 * are posted at once) is one call, so divide by the number of messages, not of calls.
 *
 * The counts are per thread. This room calls no other, and takes no lock; Split-C uses it, too.
 */
#ifndef AM_COST_H
#define AM_COST_H

#include <stdbool.h>
#include <stdint.h>

/* The steps by group, and what each covers. */
enum am_cost_step {
	/* Verbs */
	AM_COST_POST_SEND, /* ibv_post_send() */
	AM_COST_POST_RECV, /* ibv_post_recv(), ibv_post_srq_recv() */
	AM_COST_RECYCLE_SEND, /* send complete: recycle buffer and slot */
	AM_COST_RECYCLE_RECV, /* message handled: recycle its buffer */
	AM_COST_BUILD_SEND, /* work request, scatter list, header of the message */
	/* Event notification */
	AM_COST_POLL_SEND, /* ibv_poll_cq() for what was sent */
	AM_COST_POLL_RECV, /* ibv_poll_cq() for what was received */
	/* Flow control */
	AM_COST_SEND_BOOKKEEPING, /* credits, slots, retransmission, returned messages */
	AM_COST_PROCESS_RECEIVED, /* credits, checks, queueing */
	/* Semantics */
	AM_COST_COPY_DATA, /* copying words and data that the caller may reuse */
	AM_COST_READ_DATA, /* reading words and data from the message */
	AM_COST_ACT, /* finding and calling the handler */
	AM_COST_STEPS
};

enum am_cost_group {
	AM_COST_VERBS,
	AM_COST_EVENTS,
	AM_COST_FLOW_CONTROL,
	AM_COST_SEMANTICS,
	AM_COST_GROUPS
};

/* A step's measurements, without the time that the marks take. */
struct am_cost {
	uint64_t calls; /* polls: only those that found something */
	double ns; /* total time */
	uint64_t empty; /* polls that found nothing */
	double empty_ns;
	uint64_t interrupted; /* calls that exceeded the limit; not counted above */
};

/*
 * Resets the counts. A step that takes longer than @limit_ns counts as interrupted, and is
 * left out. *@own_ns, if not NULL, is the time that a pair of marks takes.
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
	uint64_t ticks; /* without the ticks of steps within it */
	uint64_t within; /* number of steps directly within it */
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

/* The fences keep instructions of one step from executing in another step's interval. */
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

/* Ends a poll that found @n completions. Polls that find none are counted separately. */
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
