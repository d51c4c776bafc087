// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Rules of the connection manager: owners of IDs, states, lengths, and senders of messages. */
#include <arpa/inet.h>

#include "node.h"

#define PORT 7000
#define PEERS_ID 77u
#define PEERS_QPN 5u

static void hear_about(enum cm_attribute attribute, u32 local_id, u32 remote_id, u32 qpn)
{
	struct mad mad;

	node_about(&mad, attribute, local_id, remote_id);
	if (attribute == CM_DREQ)
		mad_put24(&mad, DREQ_QPN, qpn);
	node_hear(&mad);
}

/* A connection that the peer requested and file 0's program accepted. Returns the program's ID. */
static u32 accepted(struct mad *rep)
{
	struct rdma_ucm_event_resp event;
	struct mad mad;

	assert_true(node_listen(0, RDMA_PS_TCP, PORT, 4) >= 0);
	node_req(&mad, PORT, PEERS_ID, PEERS_QPN);
	node_hear(&mad);
	event = expect_event(0, CM_EVENT_CONNECT_REQUEST);
	assert_int_equal(node_accept(0, event.id, 1), 0);
	*rep = expect_said(CM_REP);
	return event.id;
}

static u32 established(u32 *local_id, u32 *qpn)
{
	struct mad rep;
	u32 id = accepted(&rep);

	*local_id = mad_get32(&rep, CM_LOCAL_ID);
	*qpn = mad_get24(&rep, REP_QPN);
	hear_about(CM_RTU, PEERS_ID, *local_id, 0);
	expect_event(0, CM_EVENT_ESTABLISHED);
	return id;
}

/* ---------------------------------------------------------------------- programs */

/* An ID can be used only through the file that created it. */
static void others_ids(void **state)
{
	int id = node_create(0, RDMA_PS_TCP, 1);

	assert_true(id >= 0);
	assert_int_equal(node_destroy(1, (u32)id), -EINVAL);
	assert_int_equal(node_simple(1, RDMA_USER_CM_CMD_RESOLVE_ROUTE, (u32)id), -EINVAL);
	assert_int_equal(node_destroy(0, (u32)id), 0);
}

static int raw_command(u32 command, u16 in, u32 length)
{
	u8 *bytes = node_memory + sizeof(node_memory) / 2;
	const struct rdma_ucm_cmd_hdr hdr = { .cmd = command, .in = in };
	struct call call = { .client = &kernel.client,
			     .file = &node.file[0],
			     .data = bytes,
			     .length = length,
			     .user_addr = (uintptr_t)bytes };

	memset(bytes, 0, sizeof(node_memory) / 2);
	memcpy(bytes, &hdr, sizeof(hdr));
	assert_int_equal(cm_write(&call), CALL_DONE);
	return call.result.error ? -(int)call.result.error : 0;
}

/* Unknown commands and wrong lengths are refused. */
static void headers(void **state)
{
	u32 listen = sizeof(struct rdma_ucm_listen), header = sizeof(struct rdma_ucm_cmd_hdr);

	assert_int_equal(raw_command(RDMA_USER_CM_CMD_LISTEN, (u16)listen, header + listen),
			 -ENOENT);
	assert_int_equal(raw_command(RDMA_USER_CM_CMD_LISTEN, (u16)(listen + 1), header + listen),
			 -EINVAL);
	assert_int_equal(raw_command(RDMA_USER_CM_CMD_LISTEN, (u16)listen, header - 1), -EINVAL);
	for (u32 command = RDMA_USER_CM_CMD_JOIN_MCAST + 1; command < 4096; command++)
		assert_int_equal(raw_command(command, (u16)listen, header + listen), -EINVAL);
}

/* Private data must fit into the message. */
static void private_data(void **state)
{
	struct rdma_ucm_connect connect = { .conn_param = { .qp_num = 42, .valid = 1 } };
	struct rdma_ucm_accept accept = { .conn_param = { .qp_num = 43, .valid = 1 } };
	struct rdma_ucm_event_resp event;
	struct mad mad;
	int id = node_resolve(1, RDMA_PS_TCP, node_peer, PORT);

	assert_true(id >= 0);
	connect.id = (u32)id;
	connect.conn_param.private_data_len = REQ_PRIVATE_SIZE - IP_HEADER_SIZE + 1;
	assert_int_equal(node_command(1, RDMA_USER_CM_CMD_CONNECT, &connect, sizeof(connect), 0),
			 -EINVAL);
	expect_silence();
	connect.conn_param.private_data_len--;
	assert_int_equal(node_command(1, RDMA_USER_CM_CMD_CONNECT, &connect, sizeof(connect), 0),
			 0);
	expect_said(CM_REQ);
	/* A second connect is refused. */
	assert_int_equal(node_command(1, RDMA_USER_CM_CMD_CONNECT, &connect, sizeof(connect), 0),
			 -EINVAL);
	expect_silence();

	assert_true(node_listen(0, RDMA_PS_TCP, PORT, 4) >= 0);
	node_req(&mad, PORT, PEERS_ID, PEERS_QPN);
	node_hear(&mad);
	event = expect_event(0, CM_EVENT_CONNECT_REQUEST);
	accept.id = event.id;
	accept.conn_param.private_data_len = REP_PRIVATE_SIZE + 1;
	assert_int_equal(node_command(0, RDMA_USER_CM_CMD_ACCEPT, &accept, sizeof(accept), 0),
			 -EINVAL);
	/* A request that could not be accepted is rejected. */
	expect_said(CM_REJ);
}

/* ------------------------------------------------------------------------- peers */

/* A second RTU has no effect. */
static void ready_twice(void **state)
{
	u32 local_id, qpn;

	established(&local_id, &qpn);
	hear_about(CM_RTU, PEERS_ID, local_id, 0);
	expect_no_event(0);
}

/* Messages with another ID or queue pair number do not end the connection. */
static void wrong_numbers(void **state)
{
	u32 local_id, qpn;

	established(&local_id, &qpn);
	hear_about(CM_DREQ, PEERS_ID + 1, local_id, qpn);
	expect_no_event(0);
	/* A DREQ about an unknown connection is answered with DREP. */
	expect_said(CM_DREP);
	hear_about(CM_DREQ, PEERS_ID, local_id, qpn + 1);
	expect_no_event(0);
	expect_silence();
	hear_about(CM_DREQ, PEERS_ID, local_id, qpn);
	expect_event(0, CM_EVENT_DISCONNECTED);
}

/* The passive end ignores a REP. */
static void answers_unasked(void **state)
{
	u32 local_id, qpn;

	established(&local_id, &qpn);
	hear_about(CM_REP, PEERS_ID, local_id, 0);
	expect_silence();
	expect_no_event(0);
}

/* A REJ after the end of the connection is ignored. */
static void rejects_after_the_end(void **state)
{
	u32 local_id, qpn, id;
	struct mad mad;

	id = established(&local_id, &qpn);
	assert_int_equal(node_simple(0, RDMA_USER_CM_CMD_DISCONNECT, id), 0);
	expect_said(CM_DREQ);
	hear_about(CM_DREP, PEERS_ID, local_id, 0);
	expect_event(0, CM_EVENT_DISCONNECTED);
	node_about(&mad, CM_REJ, PEERS_ID, local_id);
	mad_put16(&mad, REJ_REASON, CM_REJ_CONSUMER_DEFINED);
	node_hear(&mad);
	expect_no_event(0);
}

static void arrives(const struct mad *mad, u32 from, u32 length)
{
	node_arrive(&(struct node_datagram){ .sgid = node_peer,
					     .dgid = node_own,
					     .from = from,
					     .length = length,
					     .bytes = mad });
}

/* A message must come from queue pair 1, and have the right length and class. */
static void no_messages(void **state)
{
	struct mad mad;

	assert_true(node_listen(0, RDMA_PS_TCP, PORT, 4) >= 0);
	node_req(&mad, PORT, PEERS_ID, PEERS_QPN);
	arrives(&mad, 2, MAD_SIZE);
	expect_no_event(0);
	arrives(&mad, 1, MAD_SIZE - 1);
	expect_no_event(0);
	arrives(&mad, 1, 0);
	expect_no_event(0);
	mad.byte[MAD_CLASS] ^= 8;
	arrives(&mad, 1, MAD_SIZE);
	expect_no_event(0);
	mad.byte[MAD_CLASS] ^= 8;
	arrives(&mad, 1, MAD_SIZE);
	expect_event(0, CM_EVENT_CONNECT_REQUEST);
}

/* A request that fails for lack of resources does not use up the backlog. */
static void lost_requests(void **state)
{
	struct mad mad;

	assert_true(node_listen(0, RDMA_PS_TCP, PORT, 1) >= 0);
	assert_true(node_listen(1, RDMA_PS_UDP, PORT, 1) >= 0);
	/* The ID gets its PSN; the connection gets no local ID. */
	node.random_calls = 2;
	node_req(&mad, PORT, PEERS_ID, PEERS_QPN);
	node_hear(&mad);
	expect_no_event(0);
	node_hear(&mad);
	expect_event(0, CM_EVENT_CONNECT_REQUEST);

	node.random_calls = 2;
	node_sidr_req(&mad, PORT, PEERS_ID);
	node_hear(&mad);
	expect_no_event(1);
	node_hear(&mad);
	expect_event(1, CM_EVENT_CONNECT_REQUEST);
}

static void end_requests(struct host *host, const u8 *gid, u32 why)
{
	cm_refused(node.daemon.cm, &node.daemon.device[0]->device, gid);
}

/* A peer's refusal ends requests, but not one that follows it before the daemon has noticed it. */
static void refusals(void **state)
{
	static struct link_memory memory;
	struct host *host = &node.daemon.device[0]->device.host;

	host->link.memory = &memory;
	host->refused = end_requests;
	memcpy(memory.refusal.gid, node_peer, sizeof(memory.refusal.gid));
	memory.refusal.count = 1;
	assert_true(node_connect(0, RDMA_PS_TCP, node_peer, PORT) >= 0);
	expect_event(0, CM_EVENT_ADDR_RESOLVED);
	expect_event(0, CM_EVENT_ROUTE_RESOLVED);
	(void)expect_said(CM_REQ);
	link_report_refusals(host);
	node_run(0);
	expect_no_event(0);
	memory.refusal.count = 2;
	link_report_refusals(host);
	node_run(0);
	assert_int_equal((int)expect_event(0, CM_EVENT_UNREACHABLE).status, -ETIMEDOUT);
	(void)expect_said(CM_REJ);
	host->link.memory = NULL;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		NODE_TEST(others_ids),
		NODE_TEST(headers),
		NODE_TEST(private_data),
		NODE_TEST(ready_twice),
		NODE_TEST(wrong_numbers),
		NODE_TEST(answers_unasked),
		NODE_TEST(rejects_after_the_end),
		NODE_TEST(no_messages),
		NODE_TEST(lost_requests),
		NODE_TEST(refusals),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
