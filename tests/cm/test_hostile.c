// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Messages of other nodes and commands of programs that try to harm correct ones. */
#include <arpa/inet.h>

#include "node.h"

#define PORT 7000

static void hear_req(u32 local_id, u32 qpn)
{
	struct mad mad;

	node_req(&mad, PORT, local_id, qpn);
	node_hear(&mad);
}

/* A program closes its file without reading a request's event: both are destroyed once. */
static void closes_with_request_unread(void **state)
{
	assert_true(node_listen(0, RDMA_PS_TCP, PORT, 4) >= 0);
	hear_req(77, 5);
	node_check();
	node_close(0);
	node_check();
	expect_said(CM_REJ);
}

/* The ID of a request cannot be used before its event was read. */
static void names_request_unread(void **state)
{
	struct rdma_ucm_event_resp event;
	int listener = node_listen(0, RDMA_PS_TCP, PORT, 4);
	u32 id = (u32)listener + 1;

	hear_req(77, 5);
	assert_int_equal(node_destroy(0, id), -ENOENT);
	assert_int_equal(node_accept(0, id, 1), -ENOENT);
	node_check();
	event = expect_event(0, CM_EVENT_CONNECT_REQUEST);
	assert_int_equal(event.id, id);
	assert_int_equal(node_destroy(0, id), 0);
	assert_int_equal(node_destroy(0, (u32)listener), 0);
}

/* An event that could not be delivered makes no room in the backlog. */
static void reads_to_nowhere(void **state)
{
	const struct rdma_ucm_get_event cmd = { .response = NODE_NOWHERE };
	struct rdma_ucm_event_resp event;

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

/* A REJ with reason timeout and no IDs does not match a connection whose peer is unknown. */
static void rejects_without_a_name(void **state)
{
	int id = node_connect(0, RDMA_PS_TCP, node_peer, PORT);
	struct mad req, mad;

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

/* A request for a bound ID that does not listen yet waits for that, once. */
static void asks_early(void **state)
{
	int id = node_bind(0, RDMA_PS_TCP, PORT);
	struct rdma_ucm_event_resp event;
	struct mad mad;

	assert_true(id >= 0);
	hear_req(77, 5);
	assert_false(node_said(&mad));
	assert_int_equal(node_event(0, &event), -EAGAIN);
	assert_int_equal(listens(id), 0);
	node_check();
	expect_event(0, CM_EVENT_CONNECT_REQUEST);
}

/*
 * A repeated request is rejected, and later listen() finds no request. If the ID is destroyed,
 * its waiting request is rejected.
 */
static void asks_too_early(void **state)
{
	int id = node_bind(0, RDMA_PS_TCP, PORT);
	struct rdma_ucm_event_resp event;
	struct mad mad;

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

static void hear_sidr_req(u64 space, u32 id)
{
	struct mad mad;

	node_sidr_req(&mad, PORT, id);
	mad_put64(&mad, SIDR_REQ_SERVICE_ID, space << 16 | PORT);
	node_hear(&mad);
}

static void expect_unsupported(u32 id)
{
	struct mad mad = expect_said(CM_SIDR_REP);

	assert_int_equal(mad_get32(&mad, SIDR_REP_ID), id);
	assert_int_equal(mad.byte[SIDR_REP_STATUS], CM_SIDR_UNSUPPORTED);
}

/* A SIDR_REQ for a bound ID waits in the same way. */
static void asks_for_service_early(void **state)
{
	int id = node_bind(0, RDMA_PS_UDP, PORT);

	assert_true(id >= 0);
	hear_sidr_req(RDMA_PS_UDP, 77);
	expect_silence();
	expect_no_event(0);
	assert_int_equal(listens(id), 0);
	node_check();
	expect_event(0, CM_EVENT_CONNECT_REQUEST);
	expect_no_event(0);
	expect_silence();
}

/* A repeated SIDR_REQ is refused, and so is a waiting one when its ID is destroyed. */
static void asks_for_service_too_early(void **state)
{
	int id = node_bind(0, RDMA_PS_UDP, PORT);

	assert_true(id >= 0);
	hear_sidr_req(RDMA_PS_UDP, 77);
	hear_sidr_req(RDMA_PS_UDP, 77);
	expect_unsupported(77);
	assert_int_equal(listens(id), 0);
	expect_no_event(0);
	assert_int_equal(node_destroy(0, (u32)id), 0);
	expect_silence();

	id = node_bind(0, RDMA_PS_UDP, PORT);
	hear_sidr_req(RDMA_PS_UDP, 78);
	assert_int_equal(node_destroy(0, (u32)id), 0);
	expect_unsupported(78);
	expect_silence();
}

/* A SIDR_REQ does not wait for an ID of a connected port space. */
static void asks_wrong_service_early(void **state)
{
	assert_true(node_bind(0, RDMA_PS_TCP, PORT) >= 0);
	hear_sidr_req(RDMA_PS_TCP, 77);
	expect_unsupported(77);
	node_close(0);
	expect_silence();
}

/* Requests of several peers wait, up to a limit. */
static void many_ask_early(void **state)
{
	int id = node_bind(0, RDMA_PS_TCP, PORT);
	struct mad mad;
	u32 n;

	assert_true(id >= 0);
	hear_req(77, 5);
	hear_req(78, 6);
	expect_silence();
	assert_int_equal(listens(id), 0);
	/* In order. The backlog has room for one, so the other peer has to send again. */
	assert_int_equal(expect_event(0, CM_EVENT_CONNECT_REQUEST).param.conn.qp_num, 5);
	expect_no_event(0);
	hear_req(78, 6);
	assert_int_equal(expect_event(0, CM_EVENT_CONNECT_REQUEST).param.conn.qp_num, 6);
	node_close(0);
	while (node_said(&mad))
		;

	node_open(0);
	assert_true(node_bind(0, RDMA_PS_TCP, PORT) >= 0);
	for (n = 0; n < 100 && !node_said(&mad); n++)
		hear_req(100 + n, 100 + n);
	assert_int_equal(n, 17);
	assert_int_equal(mad_get32(&mad, CM_REMOTE_ID), 116);
	node_close(0);
	for (n = 0; n < 16; n++) {
		mad = expect_said(CM_REJ);
		assert_int_equal(mad_get32(&mad, CM_REMOTE_ID), 100 + n);
	}
	expect_silence();
}

/* An ID that resolves an address no longer listens, and its waiting peers are rejected once. */
static void asks_early_who_connects(void **state)
{
	int id = node_bind(0, RDMA_PS_TCP, PORT);
	struct rdma_ucm_bind_ip bind = { .id = (u32)id };
	struct rdma_ucm_resolve_ip resolve = { .id = (u32)id };
	struct sockaddr_in in = { .sin_family = AF_INET, .sin_port = htons(PORT) };

	assert_true(id >= 0);
	hear_req(77, 5);
	memcpy(&bind.addr, &in, sizeof(in));
	assert_int_equal(node_command(0, RDMA_USER_CM_CMD_BIND_IP, &bind, sizeof(bind), 0),
			 -EINVAL);
	expect_silence();
	memcpy(&in.sin_addr, node_peer + 12, 4);
	memcpy(&resolve.dst_addr, &in, sizeof(in));
	assert_int_equal(node_command(0, RDMA_USER_CM_CMD_RESOLVE_IP, &resolve, sizeof(resolve), 0),
			 0);
	expect_said(CM_REJ);
	hear_req(77, 5);
	expect_said(CM_REJ);
	assert_int_equal(node_destroy(0, (u32)id), 0);
	expect_silence();
}

/* The ID has migrated to another file when it listens. */
static void asks_early_who_migrates(void **state)
{
	int id = node_bind(0, RDMA_PS_TCP, PORT);
	struct rdma_ucm_migrate_id migrate = { .response = (uintptr_t)node_memory, .id = (u32)id };
	struct rdma_ucm_listen listen = { .id = (u32)id, .backlog = 1 };

	assert_true(id >= 0);
	hear_req(77, 5);
	/* node_command() names the next file as the source of the migration. */
	assert_int_equal(node_command(2, RDMA_USER_CM_CMD_MIGRATE_ID, &migrate, sizeof(migrate),
				      sizeof(struct rdma_ucm_migrate_resp)),
			 0);
	node_close(0);
	expect_silence();
	assert_int_equal(node_command(2, RDMA_USER_CM_CMD_LISTEN, &listen, sizeof(listen), 0), 0);
	node_check();
	expect_event(2, CM_EVENT_CONNECT_REQUEST);
	node_close(2);
	expect_said(CM_REJ);
	expect_silence();
}

static void stranger_says(struct mad *mad)
{
	node_arrive(&(struct node_datagram){ .sgid = node_stranger,
					     .dgid = node_own,
					     .from = 1,
					     .length = MAD_SIZE,
					     .bytes = mad });
}

/* The peer gives up, and its waiting request is removed. Only the peer itself can do that. */
static void asks_early_and_gives_up(void **state)
{
	int id = node_bind(0, RDMA_PS_TCP, PORT);
	struct mad mad;

	assert_true(id >= 0);
	hear_req(77, 5);
	hear_req(78, 6);
	node_about(&mad, CM_REJ, 77, 0);
	mad_put16(&mad, REJ_REASON, CM_REJ_TIMEOUT);
	node_hear(&mad);
	node_about(&mad, CM_REJ, 78, 0);
	mad_put16(&mad, REJ_REASON, CM_REJ_TIMEOUT);
	stranger_says(&mad);
	assert_int_equal(listens(id), 0);
	assert_int_equal(expect_event(0, CM_EVENT_CONNECT_REQUEST).param.conn.qp_num, 6);
	expect_no_event(0);
}

/* A message that is valid except for its source. */
static void says_for_the_peer(u32 local_id, u32 qpn, enum cm_attribute attribute)
{
	struct mad mad;

	node_about(&mad, attribute, 77, local_id);
	if (attribute == CM_MRA)
		mad.byte[MRA_MESSAGE] = CM_ABOUT_REP << 6;
	if (attribute == CM_REJ)
		mad_put16(&mad, REJ_REASON, 28);
	if (attribute == CM_DREQ)
		mad_put24(&mad, DREQ_QPN, qpn);
	stranger_says(&mad);
	expect_no_event(0);
}

/* Another node of the group knows the IDs of a connection: it can neither establish nor end it. */
static void speaks_for_the_peer(void **state)
{
	static const enum cm_attribute messages[] = { CM_MRA, CM_RTU, CM_REJ, CM_DREP, CM_DREQ };
	u32 local_id, id, qpn;
	struct mad mad;

	assert_true(node_listen(0, RDMA_PS_TCP, PORT, 4) >= 0);
	hear_req(77, 5);
	id = expect_event(0, CM_EVENT_CONNECT_REQUEST).id;
	assert_int_equal(node_accept(0, id, 9), 0);
	mad = expect_said(CM_REP);
	local_id = mad_get32(&mad, CM_LOCAL_ID);
	qpn = mad_get24(&mad, REP_QPN);
	for (u32 i = 0; i < sizeof(messages) / sizeof(messages[0]); i++)
		says_for_the_peer(local_id, qpn, messages[i]);
	/* A DREQ about an unknown connection is answered with DREP. */
	expect_said(CM_DREP);
	node_about(&mad, CM_RTU, 77, local_id);
	node_hear(&mad);
	expect_event(0, CM_EVENT_ESTABLISHED);
	for (u32 i = 0; i < sizeof(messages) / sizeof(messages[0]); i++)
		says_for_the_peer(local_id, qpn, messages[i]);
	expect_said(CM_DREP);
	/*
	 * Its REQ with the peer's ID and QPN is a request of its own: no connection becomes
	 * stale.
	 */
	node_req(&mad, PORT, 77, 5);
	memcpy(&mad.byte[REQ_PRIVATE + IP_HEADER_SOURCE + 12], node_stranger + 12, 4);
	stranger_says(&mad);
	expect_event(0, CM_EVENT_CONNECT_REQUEST);
	expect_silence();
	node_about(&mad, CM_DREQ, 77, local_id);
	mad_put24(&mad, DREQ_QPN, qpn);
	node_hear(&mad);
	expect_event(0, CM_EVENT_DISCONNECTED);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		NODE_TEST(closes_with_request_unread),
		NODE_TEST(names_request_unread),
		NODE_TEST(reads_to_nowhere),
		NODE_TEST(rejects_without_a_name),
		NODE_TEST(asks_early),
		NODE_TEST(asks_too_early),
		NODE_TEST(asks_for_service_early),
		NODE_TEST(asks_for_service_too_early),
		NODE_TEST(asks_wrong_service_early),
		NODE_TEST(many_ask_early),
		NODE_TEST(asks_early_who_connects),
		NODE_TEST(asks_early_who_migrates),
		NODE_TEST(asks_early_and_gives_up),
		NODE_TEST(speaks_for_the_peer),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
