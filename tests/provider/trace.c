// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Tests of the records that `vnet trace` keeps of posted requests.
 */
#include <stdlib.h>

#include "fake_agent.h"
#include "trace/trace.h"

/* Size of the record of a queue with 8 entries. */
#define RECORDS 16u

/* The NIC frees all slots, and makes no completions yet. */
static void free_slots(struct vnet_wq *wq)
{
	struct vnet_ring *ring = fake_ring(wq);

	__atomic_store_n(&ring->cons, ring->prod, __ATOMIC_RELEASE);
}

/* Requests that fall out of a full record are not expected to complete any more. */
static void dropped_records_are_not_expected(void **state)
{
	struct ibv_qp_attr reset = { .qp_state = IBV_QPS_RESET };
	struct ibv_send_wr send = { .opcode = IBV_WR_SEND, .send_flags = IBV_SEND_SIGNALED };
	struct ibv_pd *pd = fake_pd(*state);
	struct ibv_cq *cq = fake_cq(*state);
	struct ibv_qp *qp = fake_qp(pd, cq, NULL, IBV_QPT_RC, false);
	const struct vnet_trace_cq *tcq = to_vcq(cq)->trace;
	struct ibv_recv_wr recv = {}, *bad_recv;
	struct ibv_send_wr *bad_send;
	unsigned int i;

	for (i = 1; i <= 3 * RECORDS; i++) {
		assert_int_equal(fake_ops->post_recv(qp, &recv, &bad_recv), 0);
		free_slots(&to_vqp(qp)->rq);
		assert_int_equal(tcq->expected, i < RECORDS ? i : RECORDS);
	}
	for (i = 1; i <= 3 * RECORDS; i++) {
		assert_int_equal(fake_ops->post_send(qp, &send, &bad_send), 0);
		free_slots(&to_vqp(qp)->sq);
		assert_int_equal(tcq->expected, RECORDS + (i < RECORDS ? i : RECORDS));
	}
	/* Unsignaled requests displace the signaled ones. */
	send.send_flags = 0;
	for (i = 1; i <= RECORDS; i++) {
		assert_int_equal(fake_ops->post_send(qp, &send, &bad_send), 0);
		free_slots(&to_vqp(qp)->sq);
		assert_int_equal(tcq->expected, 2 * RECORDS - i);
	}
	assert_int_equal(fake_ops->modify_qp(qp, &reset, IBV_QP_STATE), 0);
	assert_int_equal(tcq->expected, 0);
	fake_end_qp(qp);
	fake_end_cq(cq);
	fake_end_pd(pd);
}

int main(void)
{
	const struct CMUnitTest tests[] = { TEST(dropped_records_are_not_expected) };

	setenv(VNET_TRACE_ENV, "summary", 1);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
