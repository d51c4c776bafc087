// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* What other nodes say, and programs do, to harm those who do nothing wrong. */
#include "node.h"

#define PORT 7000

static int start(void **state)
{
	(void)state;
	node_start();
	return 0;
}

static int end(void **state)
{
	(void)state;
	node_end();
	return 0;
}

static void hear_req(u32 local_id, u32 qpn)
{
	struct mad mad;

	node_req(&mad, PORT, local_id, qpn);
	node_hear(&mad);
}

static struct rdma_ucm_event_resp expect_event(u32 which, u32 type)
{
	struct rdma_ucm_event_resp event;

	assert_int_equal(node_event(which, &event), 0);
	assert_int_equal(event.event, type);
	return event;
}

static struct mad expect_said(enum cm_attribute attribute)
{
	struct mad mad;

	assert_true(node_said(&mad));
	assert_int_equal(mad_attribute(&mad), attribute);
	return mad;
}

/* The program ends, and has not read of a request: both go, once. */
static void closes_with_request_unread(void **state)
{
	(void)state;
	assert_true(node_listen(0, RDMA_PS_TCP, PORT, 4) >= 0);
	hear_req(77, 5);
	node_check();
	node_close(0);
	node_check();
	expect_said(CM_REJ);
}

/* Nobody knows of a request's id before its event was read, so nobody may name it. */
static void names_request_unread(void **state)
{
	struct rdma_ucm_event_resp event;
	int listener = node_listen(0, RDMA_PS_TCP, PORT, 4);
	u32 id = (u32)listener + 1;

	(void)state;
	hear_req(77, 5);
	assert_int_equal(node_destroy(0, id), -ENOENT);
	assert_int_equal(node_accept(0, id, 1), -ENOENT);
	node_check();
	event = expect_event(0, CM_EVENT_CONNECT_REQUEST);
	assert_int_equal(event.id, id);
	assert_int_equal(node_destroy(0, id), 0);
	assert_int_equal(node_destroy(0, (u32)listener), 0);
}

/* An event that could not be delivered makes no room for more requests. */
static void reads_to_nowhere(void **state)
{
	const struct rdma_ucm_get_event cmd = { .response = NODE_NOWHERE };
	struct rdma_ucm_event_resp event;

	(void)state;
	assert_true(node_listen(0, RDMA_PS_TCP, PORT, 1) >= 0);
	hear_req(77, 5);
	for (u32 i = 0; i < 3; i++)
		assert_int_equal(node_command(0, RDMA_USER_CM_CMD_GET_EVENT, &cmd, sizeof(cmd),
					      sizeof(event)),
				 -EFAULT);
	for (u32 i = 0; i < 3; i++)
		hear_req(78 + i, 6 + i);
	expect_event(0, CM_EVENT_CONNECT_REQUEST);
	assert_int_equal(node_event(0, &event), -EAGAIN);
}

/* "Your request timed out" is about a connection whose peer is known. */
static void rejects_without_a_name(void **state)
{
	int id = node_connect(0, RDMA_PS_TCP, node_peer, PORT);
	struct mad req, mad;

	(void)state;
	assert_true(id >= 0);
	req = expect_said(CM_REQ);
	node_about(&mad, CM_REJ, 0, 0);
	mad_put16(&mad, REJ_REASON, CM_REJ_TIMEOUT);
	mad.byte[REJ_INFO_LENGTH] = 8 << 1;
	node_hear(&mad);
	expect_event(0, CM_EVENT_ADDR_RESOLVED);
	expect_event(0, CM_EVENT_ROUTE_RESOLVED);
	node_about(&mad, CM_REP, 77, mad_get32(&req, CM_LOCAL_ID));
	node_hear(&mad);
	expect_event(0, CM_EVENT_CONNECT_RESPONSE);
}

static int listens(int id)
{
	const struct rdma_ucm_listen listen = { .id = (u32)id, .backlog = 1 };

	return node_command(0, RDMA_USER_CM_CMD_LISTEN, &listen, sizeof(listen), 0);
}

/* A request for who is bound and does not listen yet waits for that, once. */
static void asks_early(void **state)
{
	int id = node_bind(0, RDMA_PS_TCP, PORT);
	struct rdma_ucm_event_resp event;
	struct mad mad;

	(void)state;
	assert_true(id >= 0);
	hear_req(77, 5);
	assert_false(node_said(&mad));
	assert_int_equal(node_event(0, &event), -EAGAIN);
	assert_int_equal(listens(id), 0);
	node_check();
	expect_event(0, CM_EVENT_CONNECT_REQUEST);
}

/* Whoever asks again is told; who went away has been told. */
static void asks_too_early(void **state)
{
	int id = node_bind(0, RDMA_PS_TCP, PORT);
	struct rdma_ucm_event_resp event;
	struct mad mad;

	(void)state;
	assert_true(id >= 0);
	hear_req(77, 5);
	hear_req(77, 5);
	mad = expect_said(CM_REJ);
	assert_int_equal(mad_get16(&mad, REJ_REASON), CM_REJ_INVALID_SERVICE_ID);
	assert_int_equal(listens(id), 0);
	assert_int_equal(node_event(0, &event), -EAGAIN);
	assert_int_equal(node_destroy(0, (u32)id), 0);

	id = node_bind(0, RDMA_PS_TCP, PORT);
	hear_req(78, 6);
	assert_int_equal(node_destroy(0, (u32)id), 0);
	expect_said(CM_REJ);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, start, end)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(closes_with_request_unread),
		TEST(names_request_unread),
		TEST(reads_to_nowhere),
		TEST(rejects_without_a_name),
		TEST(asks_early),
		TEST(asks_too_early),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
