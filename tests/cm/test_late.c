// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Programs that take long to accept or establish a connection. The peer, which retransmits for
 * 8 s only, waits as long as MRA messages ask for. No real time passes.
 */
#include "node.h"

#define PORT 7000
#define STEP (100 * NSEC_PER_MSEC)
/* Service timeout of an MRA, 4.096 us << 24, and the limit of 15 of them. */
#define SERVICE_TIME 68719476736ull
#define LONGEST (15 * SERVICE_TIME)

static void expect_nothing(u32 which)
{
	struct rdma_ucm_event_resp event;
	struct mad mad;

	assert_int_equal(node_event(which, &event), -EAGAIN);
	assert_false(node_said(&mad));
}

/* In steps. After each, messages of the node to itself arrive at once, as in its main loop. */
static void pass(u64 ns)
{
	for (u64 until = node.now + ns; node.now < until;) {
		node_run(STEP);
		node_run(0);
	}
}

static void establish(u32 which, u32 id)
{
	const struct rdma_ucm_accept cmd = { .id = id };

	assert_int_equal(node_command(which, RDMA_USER_CM_CMD_ACCEPT, &cmd, sizeof(cmd), 0), 0);
}

/* An MRA has both IDs, the message that it is about (2 bits), and the service timeout (5 bits). */
static void expect_mra(const struct mad *mad, u32 remote_id, u32 about)
{
	assert_int_equal(mad_get32(mad, 24), node.daemon.cm->conns->local_id);
	assert_int_equal(mad_get32(mad, 28), remote_id);
	assert_int_equal(mad->byte[32], about << 6);
	assert_int_equal(mad->byte[33], 24 << 3);
	for (u32 i = 34; i < MAD_SIZE; i++)
		assert_int_equal(mad->byte[i], 0);
}

static void hear_mra(u32 local_id, u32 remote_id, u32 about, u32 exponent)
{
	struct mad mad;

	node_about(&mad, CM_MRA, local_id, remote_id);
	mad.byte[32] = (u8)(about << 6);
	mad.byte[33] = (u8)(exponent << 3);
	node_hear(&mad);
}

/* ---------------------------------------------------- both ends on one node */

static void connects_here_after(u64 ns)
{
	int listener = node_listen(1, RDMA_PS_TCP, PORT, 4);
	int id = node_connect(0, RDMA_PS_TCP, node_own, PORT);
	u32 request;

	assert_true(listener >= 0 && id >= 0);
	expect_event(0, CM_EVENT_ADDR_RESOLVED);
	expect_event(0, CM_EVENT_ROUTE_RESOLVED);
	node_run(0);
	request = expect_event(1, CM_EVENT_CONNECT_REQUEST).id;
	pass(ns);
	expect_nothing(0);
	assert_int_equal(node_accept(1, request, 2), 0);
	node_run(0);
	expect_event(0, CM_EVENT_CONNECT_RESPONSE);
	pass(ns);
	expect_nothing(1);
	establish(0, (u32)id);
	node_run(0);
	expect_event(1, CM_EVENT_ESTABLISHED);
}

static void accepts_after_10_s(void **state)
{
	connects_here_after(10 * NSEC_PER_SEC);
}

static void accepts_at_the_bound(void **state)
{
	connects_here_after(LONGEST);
}

/* After 15 service timeouts and 16 response timeouts, each up to a step longer. */
static void accepts_too_late(void **state)
{
	int listener = node_listen(1, RDMA_PS_TCP, PORT, 4);
	int id = node_connect(0, RDMA_PS_TCP, node_own, PORT);
	u32 request;

	assert_true(listener >= 0 && id >= 0);
	expect_event(0, CM_EVENT_ADDR_RESOLVED);
	expect_event(0, CM_EVENT_ROUTE_RESOLVED);
	node_run(0);
	request = expect_event(1, CM_EVENT_CONNECT_REQUEST).id;
	pass(LONGEST + 16 * (cm_interval(17) + STEP));
	assert_int_equal((int)expect_event(0, CM_EVENT_UNREACHABLE).status, -ETIMEDOUT);
	assert_int_equal(node_accept(1, request, 2), -EINVAL);
}

/* ------------------------------------------------------ each end on its own */

/* The program of this node accepts late. */
static void asks_for_more_time(void **state)
{
	struct rdma_ucm_event_resp event;
	struct mad mad;

	assert_true(node_listen(0, RDMA_PS_TCP, PORT, 4) >= 0);
	node_req(&mad, PORT, 77, 5);
	node_hear(&mad);
	event = expect_event(0, CM_EVENT_CONNECT_REQUEST);
	expect_nothing(0);
	for (u32 i = 0; i < 3; i++) {
		pass(20 * NSEC_PER_SEC);
		node_hear(&mad);
		mad = expect_said(CM_MRA);
		expect_mra(&mad, 77, 0);
		expect_nothing(0);
		node_req(&mad, PORT, 77, 5);
	}
	assert_int_equal(node_accept(0, event.id, 1), 0);
	mad = expect_said(CM_REP);
	node_about(&mad, CM_RTU, 77, mad_get32(&mad, CM_LOCAL_ID));
	node_hear(&mad);
	expect_event(0, CM_EVENT_ESTABLISHED);
}

/* The program of the other node accepts late. */
static void waits_for_accept(void **state)
{
	int id = node_connect(0, RDMA_PS_TCP, node_peer, PORT);
	struct mad mad;
	u32 local_id;

	assert_true(id >= 0);
	mad = expect_said(CM_REQ);
	local_id = mad_get32(&mad, CM_LOCAL_ID);
	expect_event(0, CM_EVENT_ADDR_RESOLVED);
	expect_event(0, CM_EVENT_ROUTE_RESOLVED);
	pass(cm_interval(17));
	expect_said(CM_REQ);
	hear_mra(77, local_id, 0, 24);
	pass(SERVICE_TIME);
	expect_nothing(0);
	pass(cm_interval(17) + STEP);
	expect_said(CM_REQ);
	/* Another node may use another service timeout. */
	hear_mra(77, local_id, 0, 20);
	pass(4 * NSEC_PER_SEC);
	expect_nothing(0);
	node_about(&mad, CM_REP, 77, local_id);
	node_hear(&mad);
	expect_event(0, CM_EVENT_CONNECT_RESPONSE);
}

/* The program of this node has the REP, and takes long to make its queue pair ready. */
static void asks_for_more_time_with_rep(void **state)
{
	int id = node_connect(0, RDMA_PS_TCP, node_peer, PORT);
	struct mad mad, mra;

	assert_true(id >= 0);
	mad = expect_said(CM_REQ);
	node_about(&mad, CM_REP, 77, mad_get32(&mad, CM_LOCAL_ID));
	node_hear(&mad);
	pass(10 * NSEC_PER_SEC);
	node_hear(&mad);
	mra = expect_said(CM_MRA);
	expect_mra(&mra, 77, 1);
	establish(0, (u32)id);
	expect_said(CM_RTU);
}

/* The program of the other node takes long; only that node may send an MRA. */
static void waits_for_rtu(void **state)
{
	struct rdma_ucm_event_resp event;
	struct mad mad;
	u32 local_id;

	assert_true(node_listen(0, RDMA_PS_TCP, PORT, 4) >= 0);
	node_req(&mad, PORT, 77, 5);
	node_hear(&mad);
	event = expect_event(0, CM_EVENT_CONNECT_REQUEST);
	assert_int_equal(node_accept(0, event.id, 1), 0);
	mad = expect_said(CM_REP);
	local_id = mad_get32(&mad, CM_LOCAL_ID);
	hear_mra(78, local_id, 1, 24);
	hear_mra(77, local_id, 0, 24);
	pass(cm_interval(17));
	expect_said(CM_REP);
	hear_mra(77, local_id, 1, 24);
	pass(SERVICE_TIME);
	expect_nothing(0);
	node_about(&mad, CM_RTU, 77, local_id);
	node_hear(&mad);
	expect_event(0, CM_EVENT_ESTABLISHED);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		NODE_TEST(accepts_after_10_s), NODE_TEST(accepts_at_the_bound),
		NODE_TEST(accepts_too_late),   NODE_TEST(asks_for_more_time),
		NODE_TEST(waits_for_accept),   NODE_TEST(asks_for_more_time_with_rep),
		NODE_TEST(waits_for_rtu),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
