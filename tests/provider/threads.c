// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Stress test of posting and polling by several threads, while another thread plays the NIC. No
 * completion may be lost, duplicated or torn. Also run with ThreadSanitizer.
 */
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <string.h>

#include "fake_agent.h"

#define THREADS 3
#define PER_THREAD 20000u
#define ALL (THREADS * PER_THREAD)

static struct ibv_qp *qp;
static struct ibv_cq *cq;
static uint32_t next_post;
static uint32_t polled;
static uint8_t seen[ALL];
static bool enough;

/* The NIC: completes each request in order, with the number from its payload as wr_id. */
static void *nic(void *arg)
{
	struct vnet_ring *ring = fake_ring(&to_vqp(qp)->sq);
	struct vnet_send_wqe *wqe;
	struct vnet_cqe cqe = {};
	uint32_t prod;
	uint64_t number;

	for (uint32_t cons = 0; cons < ALL;) {
		prod = __atomic_load_n(&ring->prod, __ATOMIC_ACQUIRE);
		if (cons == prod) {
			sched_yield();
			continue;
		}
		wqe = fake_send_wqe(qp, cons);
		assert_int_equal(wqe->inline_len, sizeof(number));
		memcpy(&number, wqe + 1, sizeof(number));
		assert_int_equal(wqe->wr_id, number);
		cqe.wr_id = number;
		/* Waits for room in the CQ. */
		while (cons - __atomic_load_n(&to_vcq(cq)->ring->cons, __ATOMIC_ACQUIRE) >=
		       agent.entries)
			sched_yield();
		fake_complete(cq, &cqe);
		__atomic_store_n(&ring->cons, ++cons, __ATOMIC_RELEASE);
	}
	return NULL;
}

static int post_old(uint64_t number)
{
	struct ibv_sge sge = { (uintptr_t)&number, sizeof(number), 0 };
	struct ibv_send_wr wr = {
		.wr_id = number,
		.sg_list = &sge,
		.num_sge = 1,
		.opcode = IBV_WR_SEND,
		.send_flags = IBV_SEND_INLINE,
	};
	struct ibv_send_wr *bad_wr;

	return fake_ops->post_send(qp, &wr, &bad_wr);
}

static int post_extended(uint64_t number)
{
	struct ibv_qp_ex *qpx = &to_vqp(qp)->vqp.qp_ex;

	ibv_wr_start(qpx);
	qpx->wr_id = number;
	ibv_wr_send(qpx);
	ibv_wr_set_inline_data(qpx, &number, sizeof(number));
	return ibv_wr_complete(qpx);
}

static void *poster(void *arg)
{
	uint32_t number;
	int ret;

	while ((number = __atomic_fetch_add(&next_post, 1, __ATOMIC_RELAXED)) < ALL) {
		do {
			ret = number % 2 ? post_old(number) : post_extended(number);
			if (ret)
				sched_yield();
		} while (ret == ENOMEM);
		assert_int_equal(ret, 0);
	}
	return NULL;
}

static void *poller(void *arg)
{
	struct ibv_wc wc[4];
	int n;

	while (__atomic_load_n(&polled, __ATOMIC_RELAXED) < ALL) {
		n = fake_ops->poll_cq(cq, 4, wc);
		assert_in_range(n, 0, 4);
		if (!n)
			sched_yield();
		for (int i = 0; i < n; i++) {
			assert_in_range(wc[i].wr_id, 0, ALL - 1);
			__atomic_fetch_add(&seen[wc[i].wr_id], 1, __ATOMIC_RELAXED);
		}
		__atomic_fetch_add(&polled, (uint32_t)n, __ATOMIC_RELAXED);
	}
	return NULL;
}

/* Registers and deregisters regions; each time, the provider searches the CQ. */
static void *registrar(void *arg)
{
	static char memory[64];
	struct ibv_pd *pd = arg;
	struct ibv_mr *mr;

	while (!__atomic_load_n(&enough, __ATOMIC_RELAXED)) {
		mr = fake_ops->reg_mr(pd, memory, sizeof(memory), 0, 0);
		assert_non_null(mr);
		fake_ops->dereg_mr(container_of(mr, struct verbs_mr, ibv_mr));
		fake_ops->req_notify_cq(cq, 0);
		sched_yield();
	}
	return NULL;
}

static void together(void **state)
{
	struct ibv_pd *pd = fake_pd(*state);
	pthread_t threads[2 * THREADS + 2];
	unsigned int n = 0;
	unsigned int i;

	agent.entries = 16;
	cq = fake_cq(*state);
	qp = fake_qp(pd, cq, NULL, IBV_QPT_RC, true);

	assert_int_equal(pthread_create(&threads[n++], NULL, nic, NULL), 0);
	for (i = 0; i < THREADS; i++) {
		assert_int_equal(pthread_create(&threads[n++], NULL, poster, NULL), 0);
		assert_int_equal(pthread_create(&threads[n++], NULL, poller, NULL), 0);
	}
	assert_int_equal(pthread_create(&threads[n], NULL, registrar, pd), 0);
	for (i = 0; i < n; i++)
		assert_int_equal(pthread_join(threads[i], NULL), 0);
	__atomic_store_n(&enough, true, __ATOMIC_RELAXED);
	assert_int_equal(pthread_join(threads[n], NULL), 0);

	for (i = 0; i < ALL; i++)
		assert_int_equal(seen[i], 1);
	fake_end_qp(qp);
	fake_end_cq(cq);
	fake_end_pd(pd);
}

int main(void)
{
	const struct CMUnitTest tests[] = { TEST(together) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
