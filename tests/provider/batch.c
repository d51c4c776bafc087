// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Tests of calls between ibv_start_poll() and ibv_end_poll(). Calls from the same thread or another
 * one must not wait for the end of the batch, and must leave its entries as they are. A call that
 * waits hangs the test.
 */
#include <errno.h>
#include <pthread.h>
#include <string.h>

#include "fake_agent.h"

#define MESSAGES 3

struct batch {
	struct ibv_pd *pd;
	struct ibv_cq *cq;
	struct ibv_cq_ex *cqx;
	struct ibv_qp *qp;
	char buffer[MESSAGES][8];
	struct ibv_mr *mr[MESSAGES];
};

static struct batch b;

static void *nothing(void *arg)
{
	return arg;
}

/*
 * Creates a thread once, because the C library and the provider take shortcuts in a process that
 * has only ever had one thread.
 */
static void leave_single_threading(void)
{
	pthread_t thread;

	assert_int_equal(pthread_create(&thread, NULL, nothing, NULL), 0);
	assert_int_equal(pthread_join(thread, NULL), 0);
}

static void receive(int i)
{
	struct vnet_cqe cqe = {
		.wr_id = 100 + (uint64_t)i,
		.opcode = VNET_WC_RECV,
		.scatter_addr = (uintptr_t)b.buffer[i],
		.payload_len = 5,
		.byte_len = 5,
		.qp_num = FAKE_QPN,
	};

	memcpy(cqe.payload, "hello", 5);
	fake_complete(b.cq, &cqe);
}

/* Completes three messages and starts a batch at the first one. */
static void begin_batch(struct ibv_context *context, uint32_t flags)
{
	struct ibv_cq_init_attr_ex attr = {
		.cqe = 1,
		.wc_flags = IBV_WC_STANDARD_FLAGS,
		.comp_mask = IBV_CQ_INIT_ATTR_MASK_FLAGS,
		.flags = flags,
	};
	struct ibv_poll_cq_attr poll_attr = {};

	leave_single_threading();
	b.pd = fake_pd(context);
	b.cqx = fake_ops->create_cq_ex(context, &attr);
	assert_non_null(b.cqx);
	b.cq = ibv_cq_ex_to_cq(b.cqx);
	b.qp = fake_qp(b.pd, b.cq, NULL, IBV_QPT_RC, false);
	memset(b.buffer, 0, sizeof(b.buffer));
	for (int i = 0; i < MESSAGES; i++) {
		b.mr[i] = fake_ops->reg_mr(b.pd, b.buffer[i], sizeof(b.buffer[i]), 0, 0);
		assert_non_null(b.mr[i]);
		receive(i);
	}
	assert_int_equal(ibv_start_poll(b.cqx, &poll_attr), 0);
	assert_int_equal(b.cqx->wr_id, 100);
}

static void deregister(int i)
{
	if (b.mr[i])
		assert_int_equal(fake_ops->dereg_mr(container_of(b.mr[i], struct verbs_mr, ibv_mr)),
				 0);
	b.mr[i] = NULL;
}

/* The current completion of the batch is unchanged. */
static void expect_first(void)
{
	assert_int_equal(b.cqx->wr_id, 100);
	assert_int_equal(ibv_wc_read_opcode(b.cqx), IBV_WC_RECV);
	assert_int_equal(ibv_wc_read_byte_len(b.cqx), 5);
	assert_int_equal(ibv_wc_read_qp_num(b.cqx), FAKE_QPN);
}

static void end_all(void)
{
	for (int i = 0; i < MESSAGES; i++)
		deregister(i);
	if (b.qp)
		fake_end_qp(b.qp);
	fake_end_cq(b.cq);
	fake_end_pd(b.pd);
}

static void end_batch(void)
{
	assert_int_equal(ibv_next_poll(b.cqx), ENOENT);
	ibv_end_poll(b.cqx);
	assert_int_equal(to_vcq(b.cq)->ring->cons, MESSAGES);
	end_all();
}

static void expect_others(void)
{
	for (int i = 1; i < MESSAGES; i++) {
		assert_int_equal(ibv_next_poll(b.cqx), 0);
		assert_int_equal(b.cqx->wr_id, 100 + i);
		assert_int_equal(b.cqx->status, IBV_WC_SUCCESS);
	}
}

/* Runs the function in another thread while this thread's batch is open. */
static void elsewhere(void *(*function)(void *))
{
	pthread_t thread;

	assert_int_equal(pthread_create(&thread, NULL, function, NULL), 0);
	assert_int_equal(pthread_join(thread, NULL), 0);
}

static void *end_regions(void *arg)
{
	deregister(0);
	deregister(2);
	return arg;
}

static void regions_end(struct ibv_context *context, uint32_t flags, bool here)
{
	const bool looked_into = here || !flags;

	begin_batch(context, flags);
	if (here)
		end_regions(NULL);
	else
		elsewhere(end_regions);
	expect_first();
	assert_string_equal(b.buffer[1], "");
	assert_string_equal(b.buffer[2], looked_into ? "hello" : "");
	/* Payload that was placed by dereg_mr() must not be placed again. */
	if (looked_into)
		strcpy(b.buffer[2], "mine");
	expect_others();
	assert_string_equal(b.buffer[1], "hello");
	if (looked_into)
		assert_string_equal(b.buffer[2], "mine");
	end_batch();
}

static void regions_end_in_a_batch(void **state)
{
	regions_end(*state, 0, true);
}

static void regions_end_in_a_batch_without_locks(void **state)
{
	regions_end(*state, IBV_CREATE_CQ_ATTR_SINGLE_THREADED, true);
}

static void regions_end_beside_a_batch(void **state)
{
	regions_end(*state, 0, false);
}

static void regions_end_beside_a_batch_without_locks(void **state)
{
	regions_end(*state, IBV_CREATE_CQ_ATTR_SINGLE_THREADED, false);
}

static void *arm(void *arg)
{
	struct vnet_ring *ring = to_vcq(b.cq)->ring;

	assert_int_equal(fake_ops->req_notify_cq(b.cq, 1), 0);
	assert_int_equal(ring->arm, VNET_CQ_ARM_SOLICITED);
	assert_int_equal(fake_ops->req_notify_cq(b.cq, 0), 0);
	assert_int_equal(ring->arm, VNET_CQ_ARM_NEXT);
	ring->arm = VNET_CQ_DISARMED;
	return arg;
}

static void arming(void **state)
{
	static const uint32_t flags[] = { 0, IBV_CREATE_CQ_ATTR_SINGLE_THREADED };

	for (int i = 0; i < 2; i++) {
		begin_batch(*state, flags[i]);
		arm(NULL);
		elsewhere(arm);
		expect_first();
		expect_others();
		end_batch();
	}
}

/*
 * The first batch after arming ends before entries that came after arming, because an event was
 * made for them. Another ibv_next_poll() in the same batch returns them all the same.
 */
static void the_first_batch_after_arming(void **state)
{
	struct ibv_poll_cq_attr attr = {};

	begin_batch(*state, 0);
	assert_int_equal(fake_ops->req_notify_cq(b.cq, 0), 0);
	expect_others();
	ibv_end_poll(b.cqx);

	receive(0);
	receive(1);
	assert_int_equal(fake_ops->req_notify_cq(b.cq, 0), 0);
	receive(2);
	assert_int_equal(ibv_start_poll(b.cqx, &attr), 0);
	assert_int_equal(ibv_next_poll(b.cqx), 0);
	assert_int_equal(ibv_next_poll(b.cqx), ENOENT);
	assert_int_equal(ibv_next_poll(b.cqx), 0);
	assert_int_equal(b.cqx->wr_id, 102);
	assert_int_equal(ibv_next_poll(b.cqx), ENOENT);
	ibv_end_poll(b.cqx);

	/* All entries came after arming: the batch contains all of them. */
	for (int i = 0; i < MESSAGES; i++)
		receive(i);
	assert_int_equal(ibv_start_poll(b.cqx, &attr), 0);
	expect_others();
	assert_int_equal(ibv_next_poll(b.cqx), ENOENT);
	ibv_end_poll(b.cqx);
	end_all();
}

static void *reset(void *arg)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_RESET };

	assert_int_equal(fake_ops->modify_qp(b.qp, &attr, IBV_QP_STATE), 0);
	return arg;
}

static void *destroy(void *arg)
{
	fake_end_qp(b.qp);
	b.qp = NULL;
	return arg;
}

/* The current completion stays readable; the other entries of the queue pair are removed. */
static void queue_pairs_end(void **state)
{
	begin_batch(*state, 0);
	reset(NULL);
	expect_first();
	end_batch();
	begin_batch(*state, 0);
	elsewhere(reset);
	expect_first();
	end_batch();
	begin_batch(*state, IBV_CREATE_CQ_ATTR_SINGLE_THREADED);
	destroy(NULL);
	expect_first();
	end_batch();
	begin_batch(*state, 0);
	elsewhere(destroy);
	expect_first();
	end_batch();
}

/* The provider has copied the current completion, because the old ring's memory may be reused. */
static void resizing(void **state)
{
	struct vnet_cqe *old;

	begin_batch(*state, 0);
	old = to_vcq(b.cq)->slots;
	assert_int_equal(fake_ops->resize_cq(b.cq, 32), 0);
	assert_ptr_not_equal(to_vcq(b.cq)->slots, old);
	expect_first();
	assert_int_equal(fake_ops->resize_cq(b.cq, 16), 0);
	expect_first();
	expect_others();
	end_batch();
}

static void *resize(void *arg)
{
	assert_int_equal(fake_ops->resize_cq(b.cq, 32), 0);
	return arg;
}

static void *poll_all(void *arg)
{
	struct ibv_wc wc[MESSAGES];
	int *found = arg;

	*found = fake_ops->poll_cq(b.cq, MESSAGES, wc);
	return NULL;
}

/* Another thread that polls or resizes the queue waits for the end of the batch. */
static void pollers_wait(void **state)
{
	pthread_t poller, resizer;
	int found = -1;

	begin_batch(*state, 0);
	assert_int_equal(pthread_create(&poller, NULL, poll_all, &found), 0);
	assert_int_equal(pthread_create(&resizer, NULL, resize, NULL), 0);
	expect_first();
	expect_others();
	ibv_end_poll(b.cqx);
	assert_int_equal(pthread_join(poller, NULL), 0);
	assert_int_equal(pthread_join(resizer, NULL), 0);
	assert_int_equal(found, 0);
	assert_int_equal(to_vcq(b.cq)->mask, 31);
	end_all();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(regions_end_in_a_batch),
		TEST(regions_end_in_a_batch_without_locks),
		TEST(regions_end_beside_a_batch),
		TEST(regions_end_beside_a_batch_without_locks),
		TEST(arming),
		TEST(the_first_batch_after_arming),
		TEST(queue_pairs_end),
		TEST(resizing),
		TEST(pollers_wait),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
