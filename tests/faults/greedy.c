// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Tests fairness beside a client with an excessive load: many queue pairs, each with writes of
 * 2 GiB. Each stretch of the firmware stays within its bounds, timers of other clients fire,
 * and the process ends when it is killed.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "qp.h"
#include "side.h"

#define QUEUES 48
#define THREADS 4
#define DEPTH 8
#define LENGTH (2ull << 30)
/* The region maps these bytes again and again. */
#define REAL (2ull << 20)
/* NIC_STRETCH_REQUESTS and NIC_STRETCH_BYTES of firmware/layout/limits.h. */
#define MOST_REQUESTS 256
#define MOST_BYTES (2u << 20)

static struct ibv_context *context;
static struct ibv_mr *mr;
static struct ibv_qp *qps[QUEUES];
static int ready;

static uint64_t counter(const char *name)
{
	return device_counter(context, name);
}

/* ------------------------------------------------------------- the greedy one */

static uint8_t *alias(void)
{
	int file = memfd_create("greedy", 0);
	uint8_t *all =
		mmap(NULL, LENGTH, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	CHECK(file >= 0 && !ftruncate(file, REAL) && all != MAP_FAILED);
	for (uint64_t at = 0; at < LENGTH; at += REAL)
		CHECK(mmap(all + at, REAL, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, file,
			   0) != MAP_FAILED);
	close(file);
	return all;
}

/* Creates a queue pair that is connected to itself. */
static struct ibv_qp *make_qp(struct ibv_pd *pd, struct ibv_cq *cq)
{
	struct ibv_qp_init_attr init = {
		.send_cq = cq,
		.recv_cq = cq,
		.qp_type = IBV_QPT_RC,
		.cap = { .max_send_wr = DEPTH,
			 .max_recv_wr = 1,
			 .max_send_sge = 1,
			 .max_recv_sge = 1 },
	};
	struct ibv_qp *qp = MADE(ibv_create_qp(pd, &init));
	struct ibv_qp_attr attr;
	union ibv_gid gid;

	CHECK_EQ(ibv_query_gid(context, 1, 0, &gid), 0);
	attr = qp_attr_to(qp->qp_num, &gid, 0);
	CHECK_EQ(qp_to_rts(qp, &attr), 0);
	return qp;
}

/* Does not return before gigabytes were moved. */
static void *post(void *arg)
{
	unsigned int first = (unsigned int)(uintptr_t)arg;
	struct ibv_sge sge = { .addr = (uintptr_t)mr->addr,
			       .length = (uint32_t)LENGTH,
			       .lkey = mr->lkey };
	struct ibv_send_wr wr[DEPTH], *bad;

	for (unsigned int i = 0; i < DEPTH; i++) {
		wr[i] = (struct ibv_send_wr){ .next = i + 1 < DEPTH ? &wr[i + 1] : NULL,
					      .sg_list = &sge,
					      .num_sge = 1,
					      .opcode = IBV_WR_RDMA_WRITE };
		wr[i].wr.rdma.remote_addr = sge.addr;
		wr[i].wr.rdma.rkey = mr->rkey;
	}
	for (unsigned int i = first; i < QUEUES; i += THREADS) {
		if (i == first)
			CHECK(write(ready, "", 1) == 1);
		CHECK_EQ(ibv_post_send(qps[i], wr, &bad), 0);
	}
	return NULL;
}

static void greedy(int sock, void *arg)
{
	struct ibv_pd *pd;
	struct ibv_cq *cq;
	pthread_t thread[THREADS];

	ready = sock;
	context = open_device();
	pd = ibv_alloc_pd(context);
	cq = ibv_create_cq(context, QUEUES * DEPTH, NULL, NULL, 0);
	CHECK(pd && cq);
	mr = MADE(ibv_reg_mr(pd, alias(), LENGTH, SIDE_ACCESS));
	for (unsigned int i = 0; i < QUEUES; i++)
		qps[i] = make_qp(pd, cq);
	for (uintptr_t i = 0; i < THREADS; i++)
		CHECK_EQ(pthread_create(&thread[i], NULL, post, (void *)i), 0);
	for (;;)
		pause();
}

/* -------------------------------------------------------------- other clients */

/* The receiver posts no receive, so the completion depends on the sender's RNR timer. */
static void timer_fires(void)
{
	const struct wish wish = { .no_rnr_retry = true, .min_rnr_timer = 12 };
	struct side s[2];

	pair_open(s, &wish);
	side_post(&s[0], IBV_WR_SEND, 1, 0, 64);
	(void)side_expect(&s[0], 1, IBV_WC_RNR_RETRY_EXC_ERR);
	pair_close(s);
}

static void messages_pass(void)
{
	const struct wish wish = { 0 };
	struct side s[2];

	pair_open(s, &wish);
	for (unsigned int i = 0; i < 100; i++)
		pair_send(s, 64);
	pair_close(s);
}

static void check_bounds(void)
{
	uint64_t requests, bytes, since = now_ns();

	/* The kernel's core caches counters for some milliseconds. */
	do {
		bytes = counter("longest_stretch_bytes");
		requests = counter("longest_stretch_requests");
		CHECK(!is_past(since, TIME_LIMIT * 1000000000ull));
	} while (bytes < MOST_BYTES / 2);
	note("the longest stretch: %llu requests, %llu bytes", (unsigned long long)requests,
	     (unsigned long long)bytes);
	CHECK(bytes <= MOST_BYTES);
	CHECK(requests && requests <= MOST_REQUESTS);
}

int main(void)
{
	struct helper h;
	uint64_t since;
	char byte;

	helper_start(&h, "greedy", greedy, NULL);
	for (unsigned int i = 0; i < THREADS; i++)
		hear(h.sock, &byte, 1);
	context = open_device();
	timer_fires();
	messages_pass();
	check_bounds();
	since = now_ns();
	helper_kill(&h);
	/*
	 * The process ends after a few stretches. To execute all its requests would take
	 * minutes.
	 */
	CHECK(!is_past(since, TIME_LIMIT * 1000000000ull / 3));
	note("killed, it ended after %llu ms", (unsigned long long)(now_ns() - since) / 1000000);
	messages_pass();
	check_bounds();
	ibv_close_device(context);
	return 0;
}
