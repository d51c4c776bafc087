// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Every field of every message of the connection manager has the place that the specification
 * gives. The node reads and writes it there, and writes zeros elsewhere.
 */
#include <arpa/inet.h>
#include <infiniband/verbs.h>

#include "layout.h"

#define PORT 7000
/* Values of this node and of the other one. The first two follow from getrandom() in node.c. */
#define LOCAL_ID 0x61718191u
#define OWN_TID 0x2131415161718191ull
#define REMOTE_ID 0xc1d2e3f4u
#define TID 0x8192a3b4c5d6e7f8ull
#define PSN 0x2a3b4cu
#define REMOTE_PSN 0xd5c4b3u
#define QPN 0x135799u
#define REMOTE_QPN 0xeca864u
#define REMOTE_GUID 0x9102030405060708ull
#define VENDOR_ID 0xabcdefu
#define ATTR_MOD 0x5a6b7c8du
#define TRAFFIC_CLASS 0xb9
#define LID 3

enum { MESSAGE_REQ, MESSAGE_REP, MESSAGE_OTHER };

static const u8 guid[8] = { 0x31, 0x32, 0x33, 0x34, 0x35, 0x36, 0x37, 0x38 };
/* Private data that programs send, and that they receive. */
static u8 data[256], remote_data[256];

static int start(void **state)
{
	node_start();
	memcpy(kernel.device.node_guid, guid, sizeof(guid));
	for (u32 i = 0; i < sizeof(data); i++) {
		data[i] = (u8)(i * 7 + 1);
		remote_data[i] = (u8)(i * 11 + 5);
	}
	return 0;
}

static int end(void **state)
{
	kernel.device.lid = 0;
	node_end();
	return 0;
}

static struct cm_id *id_of(int handle)
{
	assert_true(handle >= 0);
	return node.daemon.cm->id[handle];
}

static struct cm_conn *only_conn(void)
{
	assert_non_null(node.daemon.cm->conns);
	assert_null(node.daemon.cm->conns->next);
	return node.daemon.cm->conns;
}

static void expect_ids(struct layout *said, u32 local_id, u32 remote_id)
{
	layout_expect(said, "local communication id", local_id);
	layout_expect(said, "remote communication id", remote_id);
}

/* The next message that left the node has these IDs. */
static void said_ids(struct layout *said, enum layout_attribute attribute, u64 tid, u32 local_id,
		     u32 remote_id)
{
	layout_said(said, attribute);
	layout_expect(said, "transaction id", tid);
	expect_ids(said, local_id, remote_id);
}

static void begin_ids(struct layout *heard, enum layout_attribute attribute, u64 tid, u32 local_id,
		      u32 remote_id)
{
	layout_begin(heard, attribute, tid);
	layout_set(heard, "local communication id", local_id);
	layout_set(heard, "remote communication id", remote_id);
}

/* A message with only a header and the two IDs. */
static void expect_no_data(struct layout *said)
{
	layout_expect(said, "attribute modifier", 0);
	layout_expect_zero(said, "private data");
	layout_end(said);
}

static void expect_addresses(struct layout *said)
{
	u8 ip[16] = { 0 };

	layout_expect(said, "IP major version", 0);
	layout_expect(said, "IP minor version", 0);
	layout_expect(said, "IP version", 4);
	layout_expect(said, "IP source port", cm_address_port(&only_conn()->id->src));
	memcpy(ip + 12, node_own + 12, 4);
	layout_expect_bytes(said, "IP source address", ip, 16);
	memcpy(ip + 12, node_peer + 12, 4);
	layout_expect_bytes(said, "IP destination address", ip, 16);
}

static void set_addresses(struct layout *heard)
{
	layout_set(heard, "IP major version", 0);
	layout_set(heard, "IP minor version", 0);
	layout_set(heard, "IP version", 4);
	layout_set(heard, "IP source port", 4000);
	layout_set_bytes(heard, "IP source address", node_peer);
	layout_set_bytes(heard, "IP destination address", node_own);
}

static void check_addresses(const struct cm_id *id)
{
	assert_int_equal(id->src.in.sin_port, htons(PORT));
	assert_memory_equal(&id->src.in.sin_addr, node_own + 12, 4);
	assert_int_equal(id->dst.in.sin_port, htons(4000));
	assert_memory_equal(&id->dst.in.sin_addr, node_peer + 12, 4);
}

static void check_data(const u8 *found, u32 length, u32 room)
{
	assert_int_equal(length, room);
	assert_memory_equal(found, remote_data, room);
}

/* ---------------------------------------------------------------------- REQ */

static void connect_all(u8 qp_type)
{
	int handle = node_resolve(0, RDMA_PS_TCP, node_peer, PORT);
	struct rdma_ucm_connect cmd = { .id = (u32)handle,
					.ece = { .vendor_id = VENDOR_ID, .attr_mod = ATTR_MOD } };
	struct rdma_ucm_conn_param *param = &cmd.conn_param;
	struct cm_id *id = id_of(handle);

	expect_event(0, CM_EVENT_ADDR_RESOLVED);
	expect_event(0, CM_EVENT_ROUTE_RESOLVED);
	id->qp_type = qp_type;
	id->psn = PSN;
	id->path.traffic_class = TRAFFIC_CLASS;
	id->path.life_time = 20;
	param->qp_num = QPN;
	param->responder_resources = 0x1b;
	param->initiator_depth = 0x2d;
	param->flow_control = 1;
	param->retry_count = 5;
	param->rnr_retry_count = 6;
	param->srq = 1;
	param->valid = 1;
	param->private_data_len = 56;
	memcpy(param->private_data, data, 56);
	assert_int_equal(node_command(0, RDMA_USER_CM_CMD_CONNECT, &cmd, sizeof(cmd), 0), 0);
}

static void expect_path(struct layout *said)
{
	bool infiniband = kernel.device.lid;

	layout_expect(said, "partition key", 0xffff);
	layout_expect(said, "path packet payload MTU", 5);
	layout_expect(said, "primary local LID", kernel.device.lid);
	layout_expect(said, "primary remote LID", infiniband ? 7 : 0);
	layout_expect_bytes(said, "primary local GID", infiniband ? kernel.device.gid[0] : node_own,
			    16);
	layout_expect_bytes(said, "primary remote GID", node_peer, 16);
	layout_expect(said, "primary flow label", 0);
	layout_expect(said, "primary packet rate", 0);
	layout_expect(said, "primary traffic class", TRAFFIC_CLASS);
	layout_expect(said, "primary hop limit", infiniband ? 0 : 64);
	layout_expect(said, "primary SL", 0);
	layout_expect(said, "primary subnet local", infiniband);
	layout_expect(said, "primary local ACK timeout", 21);
	layout_expect_zero(said, "alternate ");
}

static void expect_req(u32 transport, u32 extended)
{
	struct layout said;

	layout_said(&said, LAYOUT_REQ);
	layout_expect(&said, "transaction id", OWN_TID);
	layout_expect(&said, "attribute modifier", ATTR_MOD);
	layout_expect(&said, "local communication id", LOCAL_ID);
	layout_expect(&said, "vendor id", VENDOR_ID);
	layout_expect(&said, "service id", 0x01060000ull | PORT);
	layout_expect_bytes(&said, "local CA GUID", guid, 8);
	layout_expect(&said, "local Q_Key", 0);
	layout_expect(&said, "local QPN", QPN);
	layout_expect(&said, "responder resources", 0x1b);
	layout_expect(&said, "initiator depth", 0x2d);
	layout_expect(&said, "local EECN", 0);
	layout_expect(&said, "remote EECN", 0);
	layout_expect(&said, "remote CM response timeout", 17);
	layout_expect(&said, "transport service type", transport);
	layout_expect(&said, "end-to-end flow control", 1);
	layout_expect(&said, "starting PSN", PSN);
	layout_expect(&said, "local CM response timeout", 17);
	layout_expect(&said, "retry count", 5);
	layout_expect(&said, "RDC exists", 0);
	layout_expect(&said, "RNR retry count", 6);
	layout_expect(&said, "max CM retries", 15);
	layout_expect(&said, "SRQ", 1);
	layout_expect(&said, "extended transport type", extended);
	expect_path(&said);
	expect_addresses(&said);
	layout_expect_bytes(&said, "private data", data, 56);
	layout_end(&said);
}

static void request_connection(void)
{
	connect_all(IBV_QPT_RC);
	expect_req(0, 0);
}

static void writes_req(void **state)
{
	request_connection();
}

static void writes_req_of_uc(void **state)
{
	connect_all(IBV_QPT_UC);
	expect_req(1, 0);
}

static void writes_req_of_xrc(void **state)
{
	connect_all(IBV_QPT_XRC_SEND);
	expect_req(3, 1);
}

static void writes_req_on_infiniband(void **state)
{
	kernel.device.lid = LID;
	request_connection();
}

/* Fields that the node ignores have distinct values, too. */
static void hear_path(struct layout *heard)
{
	layout_set(heard, "path packet payload MTU", 2);
	layout_set(heard, "primary traffic class", TRAFFIC_CLASS);
	layout_set(heard, "primary hop limit", 0x77);
	layout_set(heard, "primary SL", 9);
	layout_set(heard, "primary local ACK timeout", 22);
	layout_set(heard, "alternate traffic class", 0x46);
	layout_set(heard, "alternate local ACK timeout", 11);
}

static void hear_req(u64 service_id)
{
	struct layout heard;

	layout_begin(&heard, LAYOUT_REQ, TID);
	layout_set(&heard, "attribute modifier", ATTR_MOD);
	layout_set(&heard, "local communication id", REMOTE_ID);
	layout_set(&heard, "vendor id", VENDOR_ID);
	layout_set(&heard, "service id", service_id);
	layout_set(&heard, "local CA GUID", REMOTE_GUID);
	layout_set(&heard, "local QPN", REMOTE_QPN);
	layout_set(&heard, "responder resources", 0x1c);
	layout_set(&heard, "initiator depth", 0x2e);
	layout_set(&heard, "remote CM response timeout", 9);
	layout_set(&heard, "transport service type", 0);
	layout_set(&heard, "end-to-end flow control", 1);
	layout_set(&heard, "starting PSN", REMOTE_PSN);
	layout_set(&heard, "local CM response timeout", 18);
	layout_set(&heard, "retry count", 4);
	layout_set(&heard, "RNR retry count", 3);
	layout_set(&heard, "max CM retries", 12);
	layout_set(&heard, "SRQ", 1);
	layout_set(&heard, "extended transport type", 0);
	hear_path(&heard);
	set_addresses(&heard);
	layout_set_bytes(&heard, "private data", remote_data);
	layout_hear(&heard);
}

static void check_request_event(const struct rdma_ucm_event_resp *event)
{
	const struct rdma_ucm_conn_param *param = &event->param.conn;

	assert_int_equal(param->qp_num, REMOTE_QPN);
	assert_int_equal(param->responder_resources, 0x2e);
	assert_int_equal(param->initiator_depth, 0x1c);
	assert_int_equal(param->flow_control, 1);
	assert_int_equal(param->retry_count, 4);
	assert_int_equal(param->rnr_retry_count, 3);
	assert_int_equal(param->srq, 1);
	check_data(param->private_data, param->private_data_len, 56);
	assert_int_equal(event->ece.vendor_id, VENDOR_ID);
	assert_int_equal(event->ece.attr_mod, ATTR_MOD);
}

static void check_request(const struct cm_conn *conn)
{
	assert_int_equal(conn->local_id, LOCAL_ID);
	assert_int_equal(conn->remote_id, REMOTE_ID);
	assert_int_equal(conn->remote_guid, REMOTE_GUID);
	assert_int_equal(conn->tid, TID);
	assert_int_equal(conn->service_id, 0x01060000 | PORT);
	assert_int_equal(conn->remote_qpn, REMOTE_QPN);
	assert_int_equal(conn->sq_psn, REMOTE_PSN);
	assert_int_equal(conn->path_mtu, 2);
	assert_int_equal(conn->responder_resources, 0x2e);
	assert_int_equal(conn->initiator_depth, 0x1c);
	assert_int_equal(conn->retry_count, 4);
	assert_int_equal(conn->rnr_retry_count, 3);
	assert_int_equal(conn->ack_timeout, 22);
	assert_int_equal(conn->path.life_time, 21);
	assert_int_equal(conn->path.traffic_class, TRAFFIC_CLASS);
	assert_memory_equal(conn->path.dgid, node_peer, 16);
	assert_int_equal(conn->response_timeout, 18);
	assert_int_equal(conn->most_retries, 12);
	check_addresses(conn->id);
}

/* Returns the ID of the request. */
static u32 receive_request(void)
{
	struct rdma_ucm_event_resp event;

	assert_true(node_listen(0, RDMA_PS_TCP, PORT, 4) >= 0);
	hear_req(0x01060000 | PORT);
	event = expect_event(0, CM_EVENT_CONNECT_REQUEST);
	check_request_event(&event);
	check_request(only_conn());
	return event.id;
}

static void reads_req(void **state)
{
	receive_request();
}

/* A request is accepted only by a listener for its transport. */
static void reads_transport_of_req(void **state)
{
	static const struct {
		u8 qp_type;
		u32 transport, extended;
	} kinds[] = {
		{ IBV_QPT_RC, 0, 0 },
		{ IBV_QPT_UC, 1, 0 },
		{ IBV_QPT_XRC_RECV, 3, 1 },
	};
	int listener = node_listen(0, RDMA_PS_TCP, PORT, 16);
	struct layout heard;
	struct mad mad;

	for (u32 i = 0; i < ARRAY_SIZE(kinds) * ARRAY_SIZE(kinds); i++) {
		u32 wanted = i % ARRAY_SIZE(kinds), asked = i / ARRAY_SIZE(kinds);

		id_of(listener)->qp_type = kinds[wanted].qp_type;
		layout_begin(&heard, LAYOUT_REQ, TID);
		layout_set(&heard, "local communication id", REMOTE_ID + i);
		layout_set(&heard, "local QPN", 10 + i);
		layout_set(&heard, "service id", 0x01060000 | PORT);
		layout_set(&heard, "transport service type", kinds[asked].transport);
		layout_set(&heard, "extended transport type", kinds[asked].extended);
		set_addresses(&heard);
		layout_hear(&heard);
		assert_int_equal(node_said(&mad), wanted != asked);
		if (wanted == asked)
			expect_event(0, CM_EVENT_CONNECT_REQUEST);
	}
}

/* ------------------------------------------------------------- REP and RTU */

static void accept_all(u32 id)
{
	struct rdma_ucm_accept cmd = { .id = id,
				       .uid = 1,
				       .ece = { .vendor_id = VENDOR_ID, .attr_mod = ATTR_MOD } };
	struct rdma_ucm_conn_param *param = &cmd.conn_param;

	only_conn()->rq_psn = PSN;
	param->qp_num = QPN;
	param->responder_resources = 0x3f;
	param->initiator_depth = 0x4a;
	param->flow_control = 1;
	param->rnr_retry_count = 5;
	param->srq = 1;
	param->valid = 1;
	param->private_data_len = 196;
	memcpy(param->private_data, data, 196);
	assert_int_equal(node_command(0, RDMA_USER_CM_CMD_ACCEPT, &cmd, sizeof(cmd), 0), 0);
}

static void expect_rep(void)
{
	struct layout said;

	layout_said(&said, LAYOUT_REP);
	layout_expect(&said, "transaction id", TID);
	layout_expect(&said, "attribute modifier", ATTR_MOD);
	expect_ids(&said, LOCAL_ID, REMOTE_ID);
	layout_expect(&said, "local Q_Key", 0);
	layout_expect(&said, "local QPN", QPN);
	layout_expect(&said, "vendor id, high", VENDOR_ID >> 16);
	layout_expect(&said, "vendor id, middle", VENDOR_ID >> 8 & 0xff);
	layout_expect(&said, "vendor id, low", VENDOR_ID & 0xff);
	layout_expect(&said, "local EE context number", 0);
	layout_expect(&said, "starting PSN", PSN);
	layout_expect(&said, "responder resources", 0x3f);
	layout_expect(&said, "initiator depth", 0x4a);
	layout_expect(&said, "target ACK delay", 0);
	layout_expect(&said, "failover accepted", 0);
	layout_expect(&said, "end-to-end flow control", 1);
	layout_expect(&said, "RNR retry count", 5);
	layout_expect(&said, "SRQ", 1);
	layout_expect_bytes(&said, "local CA GUID", guid, 8);
	layout_expect_bytes(&said, "private data", data, 196);
	layout_end(&said);
}

static void hear_ids(enum layout_attribute attribute)
{
	struct layout heard;

	begin_ids(&heard, attribute, TID, REMOTE_ID, LOCAL_ID);
	layout_hear(&heard);
}

static void become_established_by_rtu(void)
{
	accept_all(receive_request());
	expect_rep();
	hear_ids(LAYOUT_RTU);
	expect_event(0, CM_EVENT_ESTABLISHED);
}

static void writes_rep_and_reads_rtu(void **state)
{
	become_established_by_rtu();
}

static void hear_rep(void)
{
	struct layout heard;

	begin_ids(&heard, LAYOUT_REP, TID, REMOTE_ID, LOCAL_ID);
	layout_set(&heard, "attribute modifier", ATTR_MOD);
	layout_set(&heard, "local QPN", REMOTE_QPN);
	layout_set(&heard, "vendor id, high", VENDOR_ID >> 16);
	layout_set(&heard, "vendor id, middle", VENDOR_ID >> 8 & 0xff);
	layout_set(&heard, "vendor id, low", VENDOR_ID & 0xff);
	layout_set(&heard, "starting PSN", REMOTE_PSN);
	layout_set(&heard, "responder resources", 0x51);
	layout_set(&heard, "initiator depth", 0x62);
	layout_set(&heard, "target ACK delay", 19);
	layout_set(&heard, "failover accepted", 0);
	layout_set(&heard, "end-to-end flow control", 1);
	layout_set(&heard, "RNR retry count", 2);
	layout_set(&heard, "SRQ", 1);
	layout_set(&heard, "local CA GUID", REMOTE_GUID);
	layout_set_bytes(&heard, "private data", remote_data);
	layout_hear(&heard);
}

static void check_response(void)
{
	struct rdma_ucm_event_resp event = expect_event(0, CM_EVENT_CONNECT_RESPONSE);
	const struct rdma_ucm_conn_param *param = &event.param.conn;
	const struct cm_conn *conn = only_conn();

	assert_int_equal(param->qp_num, REMOTE_QPN);
	assert_int_equal(param->responder_resources, 0x62);
	assert_int_equal(param->initiator_depth, 0x51);
	assert_int_equal(param->flow_control, 1);
	assert_int_equal(param->rnr_retry_count, 2);
	assert_int_equal(param->srq, 1);
	check_data(param->private_data, param->private_data_len, 196);
	assert_int_equal(event.ece.vendor_id, VENDOR_ID);
	assert_int_equal(event.ece.attr_mod, ATTR_MOD);
	assert_int_equal(conn->remote_id, REMOTE_ID);
	assert_int_equal(conn->remote_guid, REMOTE_GUID);
	assert_int_equal(conn->remote_qpn, REMOTE_QPN);
	assert_int_equal(conn->sq_psn, REMOTE_PSN);
	assert_int_equal(conn->responder_resources, 0x62);
	assert_int_equal(conn->initiator_depth, 0x51);
	assert_int_equal(conn->rnr_retry_count, 2);
	/* The program's own value. */
	assert_int_equal(conn->retry_count, 5);
}

/* Returns the ID. */
static u32 become_established_by_rep(void)
{
	struct rdma_ucm_accept cmd = { .reserved = 0 };
	struct layout said;

	request_connection();
	hear_rep();
	check_response();
	cmd.id = only_conn()->id->handle;
	assert_int_equal(node_command(0, RDMA_USER_CM_CMD_ACCEPT, &cmd, sizeof(cmd), 0), 0);
	said_ids(&said, LAYOUT_RTU, OWN_TID, LOCAL_ID, REMOTE_ID);
	expect_no_data(&said);
	return cmd.id;
}

static void reads_rep_and_writes_rtu(void **state)
{
	become_established_by_rep();
}

/* ------------------------------------------------------------ DREQ and DREP */

static void expect_drep(u64 tid)
{
	struct layout said;

	said_ids(&said, LAYOUT_DREP, tid, LOCAL_ID, REMOTE_ID);
	expect_no_data(&said);
}

static void writes_dreq_and_reads_drep(void **state)
{
	u32 id = become_established_by_rep();
	struct layout said;

	assert_int_equal(node_simple(0, RDMA_USER_CM_CMD_DISCONNECT, id), 0);
	said_ids(&said, LAYOUT_DREQ, OWN_TID, LOCAL_ID, REMOTE_ID);
	layout_expect(&said, "remote QPN", REMOTE_QPN);
	expect_no_data(&said);
	hear_ids(LAYOUT_DREP);
	expect_event(0, CM_EVENT_DISCONNECTED);
	assert_int_equal(only_conn()->state, CM_TIMEWAIT);
}

static void hear_dreq(u64 tid, u32 qpn)
{
	struct layout heard;

	begin_ids(&heard, LAYOUT_DREQ, tid, REMOTE_ID, LOCAL_ID);
	layout_set(&heard, "remote QPN", qpn);
	layout_hear(&heard);
}

static void reads_dreq_and_writes_drep(void **state)
{
	struct rdma_ucm_event_resp event;
	u32 id = become_established_by_rep();

	/* The DREQ must name the queue pair of this end. */
	hear_dreq(TID + 1, REMOTE_QPN);
	assert_int_equal(node_event(0, &event), -EAGAIN);
	hear_dreq(TID + 1, QPN);
	expect_event(0, CM_EVENT_DISCONNECTED);
	assert_int_equal(node_simple(0, RDMA_USER_CM_CMD_DISCONNECT, id), 0);
	expect_drep(TID + 1);
}

static void writes_drep_of_no_connection(void **state)
{
	hear_dreq(TID, QPN);
	expect_drep(TID);
}

/* ---------------------------------------------------------------------- MRA */

static void expect_mra(u64 tid, u32 about)
{
	struct layout said;

	said_ids(&said, LAYOUT_MRA, tid, LOCAL_ID, REMOTE_ID);
	layout_expect(&said, "message MRAed", about);
	layout_expect(&said, "service timeout", 24);
	expect_no_data(&said);
}

static void writes_mra_of_req(void **state)
{
	receive_request();
	hear_req(0x01060000 | PORT);
	expect_mra(TID, MESSAGE_REQ);
}

static void writes_mra_of_rep(void **state)
{
	request_connection();
	hear_rep();
	hear_rep();
	expect_mra(OWN_TID, MESSAGE_REP);
}

/* An MRA applies to one message, and not to the other. */
static void hear_mra(u32 about, u32 service_timeout)
{
	struct layout heard;

	begin_ids(&heard, LAYOUT_MRA, TID, REMOTE_ID, LOCAL_ID);
	layout_set(&heard, "message MRAed", about);
	layout_set(&heard, "service timeout", service_timeout);
	layout_hear(&heard);
}

static void reads_mra(void **state)
{
	struct cm_conn *conn;
	u64 due;

	request_connection();
	conn = only_conn();
	due = conn->due;
	hear_mra(MESSAGE_REP, 21);
	hear_mra(MESSAGE_OTHER, 21);
	assert_int_equal(conn->due, due);
	hear_mra(MESSAGE_REQ, 21);
	assert_int_equal(conn->due, node.now + (4096ull << 21) + (4096ull << 17));
}

static void reads_mra_of_rep(void **state)
{
	struct cm_conn *conn;
	u64 due;

	accept_all(receive_request());
	expect_rep();
	conn = only_conn();
	due = conn->due;
	hear_mra(MESSAGE_REQ, 10);
	assert_int_equal(conn->due, due);
	hear_mra(MESSAGE_REP, 10);
	assert_int_equal(conn->due, node.now + (4096ull << 10) + (4096ull << 18));
}

/* ---------------------------------------------------------------------- REJ */

struct rejection {
	u64 tid;
	u32 local_id, remote_id, message, reason;
	u32 data;
	bool names_ca;
};

static void expect_rej(const struct rejection *rejection)
{
	struct layout said;

	layout_said(&said, LAYOUT_REJ);
	layout_expect(&said, "transaction id", rejection->tid);
	layout_expect(&said, "attribute modifier", 0);
	expect_ids(&said, rejection->local_id, rejection->remote_id);
	layout_expect(&said, "message rejected", rejection->message);
	layout_expect(&said, "reject info length", rejection->names_ca ? 8 : 0);
	layout_expect(&said, "reason", rejection->reason);
	layout_expect_bytes(&said, "additional reject information", guid,
			    rejection->names_ca ? 8 : 0);
	layout_expect_bytes(&said, "private data", data, rejection->data);
	layout_end(&said);
}

static void reject_all(u32 id, u8 reason)
{
	struct rdma_ucm_reject cmd = { .id = id, .private_data_len = 148, .reason = reason };

	memcpy(cmd.private_data, data, 148);
	assert_int_equal(node_command(0, RDMA_USER_CM_CMD_REJECT, &cmd, sizeof(cmd), 0), 0);
}

static void writes_rej_of_req(void **state)
{
	reject_all(receive_request(), 35);
	expect_rej(&(struct rejection){ .tid = TID,
					.remote_id = REMOTE_ID,
					.message = MESSAGE_REQ,
					.reason = 35,
					.data = 148 });
}

static void writes_rej_of_rep(void **state)
{
	request_connection();
	hear_rep();
	check_response();
	reject_all(only_conn()->id->handle, 0);
	expect_rej(&(struct rejection){ .tid = OWN_TID,
					.local_id = LOCAL_ID,
					.remote_id = REMOTE_ID,
					.message = MESSAGE_REP,
					.reason = 28,
					.data = 148 });
}

/* The REJ of an abandoned request has the GUID of the channel adapter that requested. */
static void writes_rej_of_timeout(void **state)
{
	const struct rejection timeout = { .tid = OWN_TID,
					   .local_id = LOCAL_ID,
					   .message = MESSAGE_OTHER,
					   .reason = 4,
					   .names_ca = true };

	request_connection();
	assert_int_equal(node_destroy(0, only_conn()->id->handle), 0);
	expect_rej(&timeout);
}

static void writes_rej_of_no_service(void **state)
{
	hear_req(0x01060000 | PORT);
	expect_rej(&(struct rejection){
		.tid = TID, .remote_id = REMOTE_ID, .message = MESSAGE_REQ, .reason = 8 });
}

/* The peer's queue pair already has a connection here, and its end was lost. */
static void writes_rej_of_stale(void **state)
{
	struct layout said;
	struct mad mad;

	become_established_by_rtu();
	node_req(&mad, PORT, 77, REMOTE_QPN);
	mad_put64(&mad, REQ_CA_GUID, REMOTE_GUID);
	node_hear(&mad);
	layout_said(&said, LAYOUT_DREQ);
	expect_rej(&(struct rejection){
		.tid = 1, .remote_id = 77, .message = MESSAGE_REQ, .reason = 10 });
}

/* The peer has no LID, so it has the other link layer. */
static void writes_rej_of_lid(void **state)
{
	struct mad mad;

	kernel.device.lid = LID;
	assert_true(node_listen(0, RDMA_PS_TCP, PORT, 4) >= 0);
	node_req(&mad, PORT, 77, REMOTE_QPN);
	node_arrive(&(struct node_datagram){ .sgid = node_stranger,
					     .dgid = node_own,
					     .from = 1,
					     .length = MAD_SIZE,
					     .bytes = &mad });
	expect_rej(&(struct rejection){
		.tid = 1, .remote_id = 77, .message = MESSAGE_REQ, .reason = 13 });
}

static void reads_rej(void **state)
{
	struct rdma_ucm_event_resp event;
	struct layout heard;

	request_connection();
	begin_ids(&heard, LAYOUT_REJ, TID, 0, LOCAL_ID);
	layout_set(&heard, "message rejected", MESSAGE_REQ);
	layout_set(&heard, "reject info length", 0);
	layout_set(&heard, "reason", 0x1234);
	layout_set_bytes(&heard, "private data", remote_data);
	layout_hear(&heard);
	event = expect_event(0, CM_EVENT_REJECTED);
	assert_int_equal(event.status, 0x1234);
	check_data(event.param.conn.private_data, event.param.conn.private_data_len, 148);
}

static void hear_timeout(u64 ca_guid, u32 remote_id)
{
	u8 info[72] = { 0 };
	struct layout heard;

	for (u32 i = 0; i < 8; i++)
		info[i] = (u8)(ca_guid >> (56 - 8 * i));
	begin_ids(&heard, LAYOUT_REJ, TID, remote_id, 0);
	layout_set(&heard, "message rejected", MESSAGE_OTHER);
	layout_set(&heard, "reject info length", 8);
	layout_set(&heard, "reason", 4);
	layout_set_bytes(&heard, "additional reject information", info);
	layout_set_bytes(&heard, "private data", remote_data);
	layout_hear(&heard);
}

/* The peer does not know our ID, but gives its GUID. */
static void reads_rej_of_timeout(void **state)
{
	struct rdma_ucm_event_resp event;

	accept_all(receive_request());
	expect_rep();
	hear_timeout(REMOTE_GUID + 1, REMOTE_ID);
	hear_timeout(REMOTE_GUID, REMOTE_ID + 1);
	assert_int_equal(node_event(0, &event), -EAGAIN);
	hear_timeout(REMOTE_GUID, REMOTE_ID);
	assert_int_equal(expect_event(0, CM_EVENT_REJECTED).status, 4);
}

/* --------------------------------------------------------------------- SIDR */

static void connect_datagram(void)
{
	int id = node_resolve(0, RDMA_PS_UDP, node_peer, PORT);
	struct rdma_ucm_connect cmd = { .id = (u32)id };

	assert_true(id >= 0);
	expect_event(0, CM_EVENT_ADDR_RESOLVED);
	expect_event(0, CM_EVENT_ROUTE_RESOLVED);
	cmd.conn_param.qp_num = QPN;
	cmd.conn_param.valid = 1;
	cmd.conn_param.private_data_len = 180;
	memcpy(cmd.conn_param.private_data, data, 180);
	assert_int_equal(node_command(0, RDMA_USER_CM_CMD_CONNECT, &cmd, sizeof(cmd), 0), 0);
}

static void writes_sidr_req(void **state)
{
	struct layout said;

	connect_datagram();
	layout_said(&said, LAYOUT_SIDR_REQ);
	layout_expect(&said, "transaction id", OWN_TID);
	layout_expect(&said, "attribute modifier", 0);
	layout_expect(&said, "request id", LOCAL_ID);
	layout_expect(&said, "partition key", 0xffff);
	layout_expect(&said, "service id", 0x01110000ull | PORT);
	expect_addresses(&said);
	layout_expect_bytes(&said, "private data", data, 180);
	layout_end(&said);
}

static void hear_sidr_req(void)
{
	struct layout heard;

	layout_begin(&heard, LAYOUT_SIDR_REQ, TID);
	layout_set(&heard, "request id", REMOTE_ID);
	layout_set(&heard, "service id", 0x01110000ull | PORT);
	set_addresses(&heard);
	layout_set_bytes(&heard, "private data", remote_data);
	layout_hear(&heard);
}

/* Returns the ID of the request. */
static u32 receive_question(void)
{
	struct rdma_ucm_event_resp event;
	const struct cm_conn *conn;

	assert_true(node_listen(0, RDMA_PS_UDP, PORT, 4) >= 0);
	hear_sidr_req();
	event = expect_event(0, CM_EVENT_CONNECT_REQUEST);
	check_data(event.param.ud.private_data, event.param.ud.private_data_len, 180);
	conn = only_conn();
	assert_int_equal(conn->remote_id, REMOTE_ID);
	assert_int_equal(conn->tid, TID);
	assert_int_equal(conn->service_id, 0x01110000 | PORT);
	check_addresses(conn->id);
	return event.id;
}

static void reads_sidr_req(void **state)
{
	receive_question();
}

static void expect_sidr_rep(u32 status, u32 qpn, u32 qkey, u32 length)
{
	struct layout said;

	layout_said(&said, LAYOUT_SIDR_REP);
	layout_expect(&said, "transaction id", TID);
	layout_expect(&said, "attribute modifier", 0);
	layout_expect(&said, "request id", REMOTE_ID);
	layout_expect(&said, "status", status);
	layout_expect(&said, "QPN", qpn);
	layout_expect(&said, "service id", 0x01110000ull | PORT);
	layout_expect(&said, "Q_Key", qkey);
	layout_expect_zero(&said, "vendor id");
	layout_expect_zero(&said, "additional information");
	layout_expect_bytes(&said, "private data", data, length);
	layout_end(&said);
}

static void writes_sidr_rep(void **state)
{
	struct rdma_ucm_accept cmd = { .id = receive_question(), .uid = 1 };

	cmd.conn_param.qp_num = QPN;
	cmd.conn_param.valid = 1;
	cmd.conn_param.private_data_len = 136;
	memcpy(cmd.conn_param.private_data, data, 136);
	assert_int_equal(node_command(0, RDMA_USER_CM_CMD_ACCEPT, &cmd, sizeof(cmd), 0), 0);
	expect_sidr_rep(0, QPN, 0x01234567, 136);
}

static void writes_sidr_rep_of_rejection(void **state)
{
	struct rdma_ucm_reject cmd = { .id = receive_question(), .private_data_len = 136 };

	memcpy(cmd.private_data, data, 136);
	assert_int_equal(node_command(0, RDMA_USER_CM_CMD_REJECT, &cmd, sizeof(cmd), 0), 0);
	expect_sidr_rep(2, 0, 0, 136);
}

static void writes_sidr_rep_of_no_service(void **state)
{
	hear_sidr_req();
	expect_sidr_rep(1, 0, 0, 0);
}

static void hear_sidr_rep(u32 status)
{
	struct layout heard;

	layout_begin(&heard, LAYOUT_SIDR_REP, TID);
	layout_set(&heard, "request id", LOCAL_ID);
	layout_set(&heard, "status", status);
	layout_set(&heard, "QPN", REMOTE_QPN);
	layout_set(&heard, "service id", 0x01110000ull | PORT);
	layout_set(&heard, "Q_Key", 0x71625344);
	layout_set_bytes(&heard, "private data", remote_data);
	layout_hear(&heard);
}

static void reads_sidr_rep(void **state)
{
	struct rdma_ucm_event_resp event;
	const struct rdma_ucm_ud_param *param = &event.param.ud;

	connect_datagram();
	hear_sidr_rep(0);
	event = expect_event(0, CM_EVENT_ESTABLISHED);
	assert_int_equal(event.status, 0);
	assert_int_equal(param->qp_num, REMOTE_QPN);
	assert_int_equal(param->qkey, 0x71625344);
	assert_memory_equal(param->ah_attr.grh.dgid, node_peer, 16);
	check_data(param->private_data, param->private_data_len, 136);
}

static void reads_sidr_rep_of_refusal(void **state)
{
	struct rdma_ucm_event_resp event;

	connect_datagram();
	hear_sidr_rep(0x35);
	event = expect_event(0, CM_EVENT_UNREACHABLE);
	assert_int_equal(event.status, 0x35);
	check_data(event.param.ud.private_data, event.param.ud.private_data_len, 136);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, start, end)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(writes_req),
		CASE(writes_req_of_uc),
		CASE(writes_req_of_xrc),
		CASE(writes_req_on_infiniband),
		CASE(reads_req),
		CASE(reads_transport_of_req),
		CASE(writes_rep_and_reads_rtu),
		CASE(reads_rep_and_writes_rtu),
		CASE(writes_dreq_and_reads_drep),
		CASE(reads_dreq_and_writes_drep),
		CASE(writes_drep_of_no_connection),
		CASE(writes_mra_of_req),
		CASE(writes_mra_of_rep),
		CASE(reads_mra),
		CASE(reads_mra_of_rep),
		CASE(writes_rej_of_req),
		CASE(writes_rej_of_rep),
		CASE(writes_rej_of_timeout),
		CASE(writes_rej_of_no_service),
		CASE(writes_rej_of_stale),
		CASE(writes_rej_of_lid),
		CASE(reads_rej),
		CASE(reads_rej_of_timeout),
		CASE(writes_sidr_req),
		CASE(reads_sidr_req),
		CASE(writes_sidr_rep),
		CASE(writes_sidr_rep_of_rejection),
		CASE(writes_sidr_rep_of_no_service),
		CASE(reads_sidr_rep),
		CASE(reads_sidr_rep_of_refusal),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
