// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Queue pairs that many threads use, and queue pairs that are destroyed while requests wait. */
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <unistd.h>

#include "peers_defects.h"

/* ---------------------------------------- requests taken from a queue by many */

#define THREADS 4
#define PER_THREAD 5000u

static struct {
	uint8_t seen[THREADS][PER_THREAD];
	unsigned int total;
} popped;

/* A poller sees the requests of each thread in order, and no request completes twice. */
static void note_completion(const struct ibv_wc *wc, int64_t last[THREADS])
{
	uint32_t thread = (uint32_t)(wc->wr_id >> 32), n = (uint32_t)wc->wr_id;

	CHECK_EQ(wc->status, IBV_WC_SUCCESS);
	CHECK(thread < THREADS && n < PER_THREAD);
	CHECK(last[thread] < (int64_t)n);
	last[thread] = n;
	CHECK_EQ(__atomic_add_fetch(&popped.seen[thread][n], 1, __ATOMIC_RELAXED), 1);
	__atomic_add_fetch(&popped.total, 1, __ATOMIC_RELAXED);
}

static void poll_some(int64_t last[THREADS])
{
	struct ibv_wc wc[4];
	int n = ibv_poll_cq(here.cq, 4, wc);

	CHECK(n >= 0);
	for (int i = 0; i < n; i++)
		note_completion(&wc[i], last);
	if (!n)
		sched_yield();
}

static void *post_and_poll(void *arg)
{
	uint64_t thread = (uintptr_t)arg, since = now_ns();
	int64_t last[THREADS] = { -1, -1, -1, -1 };

	for (uint64_t n = 0; n < PER_THREAD;) {
		int error = side_try_post(&here, IBV_WR_RDMA_WRITE, thread << 32 | n, 8 * thread, 8,
					  IBV_SEND_SIGNALED);

		CHECK(!error || error == ENOMEM);
		n += !error;
		if (error || n % 3 == 0)
			poll_some(last);
	}
	while (__atomic_load_n(&popped.total, __ATOMIC_RELAXED) < THREADS * PER_THREAD) {
		poll_some(last);
		CHECK(!is_past(since, TIME_LIMIT * 1000000000ull));
	}
	return NULL;
}

static void popped_by_many(void)
{
	pthread_t threads[THREADS];

	memset(&popped, 0, sizeof(popped));
	for (uintptr_t i = 0; i < THREADS; i++)
		CHECK_EQ(pthread_create(&threads[i], NULL, post_and_poll, (void *)i), 0);
	for (int i = 0; i < THREADS; i++)
		CHECK_EQ(pthread_join(threads[i], NULL), 0);
	side_expect_silence(&here, 1000000);
}

void unlocked_pop(void)
{
	/* A small depth, so that the queue is often full. */
	peer_open(&here, &(struct wish){ .depth = 16 });
	for (unsigned int i = 0; i < rounds(5, in_kernel() ? 50 : 200); i++)
		popped_by_many();
	peer_close(&here);
}

/* ----------------------------------------------- ended while its timer runs */

/* Lets a request wait for a random time. */
static void linger(void)
{
	uint64_t since = now_ns(), ns = random_below(200000);

	while (!is_past(since, ns))
		sched_yield();
}

static void wait_for_receive(struct side pair[2])
{
	side_post(&pair[0], IBV_WR_SEND, 1, 0, 8);
	linger();
}

static void wait_for_answer(struct side pair[2])
{
	side_to_reset(&pair[1]);
	side_post(&pair[0], IBV_WR_RDMA_WRITE, 1, 0, 8);
	linger();
}

static void end_with_timer(const struct wish *wish, void (*make_it_wait)(struct side pair[2]))
{
	struct side pair[2];
	uint32_t first = random_below(2);

	pair_open(pair, wish);
	make_it_wait(pair);
	/* Destroys the waiting queue pair first, or its peer. */
	side_close(&pair[first]);
	linger();
	side_close(&pair[1 - first]);
}

/* Later queue pairs have no completions of earlier ones, and work. */
static void check_successor(struct ibv_context *context)
{
	struct side pair[2];

	pair_open(pair, &(struct wish){ .context = context });
	side_expect_silence(&pair[0], 200000);
	pair_send(pair, 8);
	pair_close(pair);
}

void ended_with_timer(void)
{
	struct ibv_context *context = open_device();
	struct wish wish = { .context = context, .timeout = 1, .retry_cnt = 1 };

	for (unsigned int i = 0; i < rounds(600, 5000); i++) {
		wish.srq = random_below(2);
		wish.min_rnr_timer = (uint8_t)(1 + random_below(5));
		wish.no_rnr_retry = random_below(2);
		wish.rnr_retry = wish.no_rnr_retry ? 0 : (uint8_t)(1 + random_below(7));
		end_with_timer(&wish, random_below(2) ? wait_for_receive : wait_for_answer);
		if (i % 8 == 0)
			check_successor(context);
	}
	CHECK_EQ(ibv_close_device(context), 0);
}
