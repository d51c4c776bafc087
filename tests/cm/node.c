// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <ifaddrs.h>
#include <stdlib.h>
#include <sys/random.h>

#include "layout/message.h"
#include "responder/responder.h"
#include "../../usermode/vnetd/link/lid.h"
#include "../unit/test_platform.h"
#include "node.h"

#define QP1 1u
#define OWN_SPACE 1u
/* Longer than any connection without a program: 15 retries of 2.4 hours, and timewait. */
#define FOR_EVER (100 * 3600 * NSEC_PER_SEC)

struct node node;
u8 node_memory[4096] __attribute__((aligned(64)));

#define MAPPED(last)                                                                               \
	{                                                                                          \
		[10] = 0xff, [11] = 0xff, [12] = 192, [13] = 0, [14] = 2, [15] = last              \
	}
const u8 node_own[16] = MAPPED(1), node_peer[16] = MAPPED(2), node_stranger[16] = MAPPED(3);

/* ------------------------------------------------------ stubs of the daemon */

u64 clock_now(void)
{
	return node.now;
}

void log_line(const char *format, ...)
{
}

struct file *file_find(struct daemon *daemon, u32 id)
{
	for (u32 i = 0; i < NODE_FILES; i++)
		if (node.file[i].sock && node.file[i].id == id)
			return &node.file[i];
	return NULL;
}

void link_gid_name(const u8 *gid, char name[LINK_GID_NAME])
{
	for (u32 i = 0; i < 16; i++)
		snprintf(name + (size_t)(2 * i), 3, "%02x", gid[i]);
}

/* There is no other node. */
bool link_has_given_key(const struct link_memory *link, const union link_address *peer)
{
	return false;
}

void link_refused(struct link_memory *memory, const u8 *gid, enum link_refusal_reason why)
{
}

void link_report_new(struct host *host)
{
	const struct link_refusal *refusal = &host->link.memory->refusal;

	host->refused(host, refusal->gid, refusal->why);
	host->link.refusals_said = refusal->count;
}

/* This port has no LID. */
bool lid_find(struct daemon *daemon, const u8 *gid, struct lid_port *port)
{
	memset(port, 0, sizeof(*port));
	if (memcmp(gid, node_stranger, 16) == 0)
		return false;
	port->lid = 7;
	memcpy(port->gid, gid, 16);
	return true;
}

/* The same numbers in every run; test_fields.c knows them. */
ssize_t getrandom(void *buffer, size_t length, unsigned int flags)
{
	u8 *at = buffer;

	if (node.random_calls && !--node.random_calls) {
		errno = EAGAIN;
		return -1;
	}
	for (size_t i = 0; i < length; i++)
		at[i] = (u8)(0x91 - 0x10 * i);
	return (ssize_t)length;
}

/* The machine has no addresses except the NIC's. */
int getifaddrs(struct ifaddrs **list)
{
	return -1;
}

void freeifaddrs(struct ifaddrs *list)
{
}

/* ------------------------------------------------------------- start and end */

static struct cm *cm(void)
{
	return node.daemon.cm;
}

static void make_node(void)
{
	kernel_lend(node_memory, sizeof(node_memory));
	kernel_start(NULL);
	tp.resolves = true;
	/* Device memory is in the daemon's own space. */
	kernel.device.nic.space = OWN_SPACE;
	tp.space[OWN_SPACE] = (struct tp_space){ .memory = kernel.device.memory,
						 .start = (uintptr_t)kernel.device.memory,
						 .size = kernel.device.memory_size };
	node.daemon.device[0] = &kernel.core;
	node.daemon.ndevices = 1;
	node.daemon.gids_dir = "/nonexistent";
	kernel.device.daemon = &node.daemon;
	kernel.device.index = 0;
	memcpy(kernel.device.gid[1], node_own, sizeof(node_own));
	memcpy(kernel.device.nic.hdr->gid[1], node_own, sizeof(node_own));
	kernel.core.link.fd = 0;
	assert_int_equal(cm_init(&node.daemon), 0);
}

void node_start(void)
{
	struct mad mad;

	if (!cm())
		make_node();
	node.now = NSEC_PER_SEC;
	tp.clock = node.now;
	cm()->last_port = 0;
	cm()->last_group = 0;
	while (node_said(&mad))
		;
	for (u32 i = 0; i < NODE_FILES; i++)
		node_open(i);
}

void node_open(u32 which)
{
	struct file *file = &node.file[which];

	*file = (struct file){
		.daemon = &node.daemon, .id = which + 1, .kind = VNET_FILE_RDMA_CM, .sock = -1
	};
	assert_int_equal(cm_file_open(file), 0);
}

void node_close(u32 which)
{
	cm_file_close(&node.file[which]);
	node.file[which].sock = 0;
}

void node_run(u64 ns)
{
	node.now += ns;
	tp.clock = node.now;
	cm_run(&node.daemon, node.now);
}

void node_end(void)
{
	for (u32 i = 0; i < NODE_FILES; i++)
		if (node.file[i].sock)
			node_close(i);
	/* Each iteration advances connections and messages that are left. */
	for (u32 i = 0; i < 100 && (cm()->conns || cm()->head); i++)
		node_run(FOR_EVER);
	assert_null(cm()->conns);
	assert_null(cm()->head);
	assert_null(cm()->bound);
	for (u32 i = 0; i < cm()->capacity; i++)
		assert_null(cm()->id[i]);
}

/* -------------------------------------------------------------------- checks */

static void check_id(const struct cm_id *id)
{
	if (!id->conn)
		return;
	assert_ptr_equal(id->conn->id, id);
	assert_true(id->conn->state != CM_CLOSED);
}

static bool is_id(const struct cm_id *id)
{
	for (u32 i = 0; i < cm()->capacity; i++)
		if (cm()->id[i] == id)
			return true;
	return false;
}

static void check_file(const struct cm_file *file)
{
	const struct cm_event *event;
	const struct cm_id *id;

	for (id = file->ids; id; id = id->next) {
		assert_true(is_id(id) && id->file == file);
		check_id(id);
	}
	for (event = file->head; event; event = event->next) {
		assert_true(is_id(event->id) && event->id->file == file);
		assert_true(!event->request ||
			    (is_id(event->request) && event->request->file == file));
	}
}

void node_check(void)
{
	const struct cm_conn *conn;

	for (u32 i = 0; i < NODE_FILES; i++)
		if (node.file[i].sock)
			check_file(node.file[i].priv);
	for (conn = cm()->conns; conn; conn = conn->next)
		assert_true(!conn->id || (is_id(conn->id) && conn->id->conn == conn));
}

/* ------------------------------------------------------------------ commands */

int node_command(u32 which, u32 command, const void *body, u32 in, u32 out)
{
	/* The daemon would read behind a command that is too short. */
	u8 *bytes = node_memory + sizeof(node_memory) / 2;
	const struct rdma_ucm_cmd_hdr hdr = { .cmd = command, .in = (u16)in, .out = (u16)out };
	struct call call = { .client = &kernel.client,
			     .file = &node.file[which],
			     .data = bytes,
			     .length = (u32)sizeof(hdr) + in,
			     .user_addr = (uintptr_t)bytes,
			     .other_file = (which + 1) % NODE_FILES + 1 };

	memcpy(bytes, &hdr, sizeof(hdr));
	memcpy(bytes + sizeof(hdr), body, in);
	assert_int_equal(cm_write(&call), CALL_DONE);
	return call.result.error ? -(int)call.result.error : 0;
}

int node_create(u32 which, u16 ps, u64 uid)
{
	const struct rdma_ucm_create_id_resp *resp = (const void *)node_memory;
	const struct rdma_ucm_create_id cmd = {
		.uid = uid, .response = (uintptr_t)resp, .ps = ps, .qp_type = 2
	};
	int err = node_command(which, RDMA_USER_CM_CMD_CREATE_ID, &cmd, sizeof(cmd), sizeof(*resp));

	return err ? err : (int)resp->id;
}

int node_destroy(u32 which, u32 id)
{
	const struct rdma_ucm_destroy_id cmd = { .response = (uintptr_t)node_memory, .id = id };

	return node_command(which, RDMA_USER_CM_CMD_DESTROY_ID, &cmd, sizeof(cmd),
			    sizeof(struct rdma_ucm_destroy_id_resp));
}

int node_simple(u32 which, u32 command, u32 id)
{
	const u32 cmd[2] = { id };

	return node_command(which, command, cmd, sizeof(cmd), 0);
}

int node_bind(u32 which, u16 ps, u16 port)
{
	int id = node_create(which, ps, 1);
	struct rdma_ucm_bind_ip bind = { .id = (u32)id };
	struct sockaddr_in in = { .sin_family = AF_INET, .sin_port = htons(port) };
	int err = id < 0 ? id : 0;

	memcpy(&bind.addr, &in, sizeof(in));
	if (!err)
		err = node_command(which, RDMA_USER_CM_CMD_BIND_IP, &bind, sizeof(bind), 0);
	return err ? err : id;
}

int node_listen(u32 which, u16 ps, u16 port, u32 backlog)
{
	int id = node_bind(which, ps, port);
	const struct rdma_ucm_listen listen = { .id = (u32)id, .backlog = backlog };
	int err = id < 0 ? id : 0;

	if (!err)
		err = node_command(which, RDMA_USER_CM_CMD_LISTEN, &listen, sizeof(listen), 0);
	return err ? err : id;
}

int node_resolve(u32 which, u16 ps, const u8 *gid, u16 port)
{
	int id = node_create(which, ps, 1);
	struct rdma_ucm_resolve_ip resolve = { .id = (u32)id };
	struct sockaddr_in in = { .sin_family = AF_INET, .sin_port = htons(port) };
	int err = id < 0 ? id : 0;

	memcpy(&in.sin_addr, gid + 12, 4);
	memcpy(&resolve.dst_addr, &in, sizeof(in));
	if (!err)
		err = node_command(which, RDMA_USER_CM_CMD_RESOLVE_IP, &resolve, sizeof(resolve),
				   0);
	if (!err)
		err = node_simple(which, RDMA_USER_CM_CMD_RESOLVE_ROUTE, (u32)id);
	return err ? err : id;
}

int node_connect(u32 which, u16 ps, const u8 *gid, u16 port)
{
	int id = node_resolve(which, ps, gid, port), err;
	const struct rdma_ucm_connect connect = { .id = (u32)id,
						  .conn_param = { .qp_num = 42, .valid = 1 } };

	if (id < 0)
		return id;
	err = node_command(which, RDMA_USER_CM_CMD_CONNECT, &connect, sizeof(connect), 0);
	return err ? err : id;
}

int node_accept(u32 which, u32 id, u64 uid)
{
	const struct rdma_ucm_accept cmd = { .id = id,
					     .uid = uid,
					     .conn_param = { .qp_num = 43, .valid = 1 } };

	return node_command(which, RDMA_USER_CM_CMD_ACCEPT, &cmd, sizeof(cmd), 0);
}

int node_event(u32 which, struct rdma_ucm_event_resp *event)
{
	const struct rdma_ucm_get_event cmd = { .response = (uintptr_t)node_memory };
	int err =
		node_command(which, RDMA_USER_CM_CMD_GET_EVENT, &cmd, sizeof(cmd), sizeof(*event));

	memcpy(event, node_memory, sizeof(*event));
	return err;
}

/* ----------------------------------------------------------------- datagrams */

void node_arrive(const struct node_datagram *datagram)
{
	u8 bytes[VNET_GRH_SIZE + NIC_MTU];
	const struct nic_piece piece = { .addr = (uintptr_t)bytes,
					 .length = VNET_GRH_SIZE + datagram->length,
					 .space = NIC_SPACE_POINTER };
	struct nic_message msg = { .dest = QP1,
				   .from = datagram->from,
				   .src = &piece,
				   .nsrc = 1,
				   .length = piece.length,
				   .wc_flags = VNET_WC_GRH,
				   .wc_opcode = VNET_WC_RECV,
				   .datagram = true,
				   .arrival = true };
	struct nic *nic = &kernel.device.nic;
	struct nic_qp *qp = &nic->qp[QP1 & nic->qp_index_mask];

	assert_true(datagram->length <= NIC_MTU);
	memset(bytes, 0, VNET_GRH_SIZE);
	memcpy(bytes + 8, datagram->sgid, 16);
	memcpy(bytes + 24, datagram->dgid, 16);
	memcpy(bytes + VNET_GRH_SIZE, datagram->bytes, datagram->length);
	qp->op_arrival = NIC_ARRIVAL_DATAGRAM;
	nic_deliver(nic, qp, qp, &msg);
	qp->op_arrival = NIC_ARRIVAL_NONE;
	cm_run(&node.daemon, node.now);
}

void node_hear(const struct mad *mad)
{
	node_arrive(&(struct node_datagram){ .sgid = node_peer,
					     .dgid = node_own,
					     .from = QP1,
					     .length = MAD_SIZE,
					     .bytes = mad });
}

bool node_said(struct mad *mad)
{
	const struct nic *nic = &kernel.device.nic;
	const struct nic_qp *qp = &nic->qp[QP1 & nic->qp_index_mask];
	u8 *ring = (u8 *)kernel.device.memory + qp->sq_ring;
	struct vnet_ring *head = (void *)ring;

	if (node.seen == head->prod)
		return false;
	memcpy(mad,
	       ring + VNET_RING_HDR_SIZE + ((u64)(node.seen & qp->sq_mask) << qp->sq_shift) +
		       VNET_WQE_HDR_SIZE,
	       MAD_SIZE);
	node.seen++;
	/* The message has left, and its entry is free. */
	head->cons = node.seen;
	return true;
}

/* ------------------------------------------------- messages of other nodes */

static void put_ip_header(struct mad *mad, u32 at)
{
	mad->byte[at + IP_HEADER_FAMILY] = 4 << 4;
	mad_put16(mad, at + IP_HEADER_PORT, 4000);
	memcpy(&mad->byte[at + IP_HEADER_SOURCE + 12], node_peer + 12, 4);
	memcpy(&mad->byte[at + IP_HEADER_DESTINATION + 12], node_own + 12, 4);
}

void node_req(struct mad *mad, u16 port, u32 local_id, u32 qpn)
{
	mad_begin(mad, CM_REQ, 1);
	mad_put32(mad, CM_LOCAL_ID, local_id);
	mad_put64(mad, REQ_SERVICE_ID, (u64)RDMA_PS_TCP << 16 | port);
	mad->byte[REQ_CA_GUID] = 0xaa;
	mad_put24(mad, REQ_QPN, qpn);
	mad->byte[REQ_RETRY] = 17 << 3 | 7;
	mad->byte[REQ_MTU_RNR] = 5 << 4 | 7;
	mad->byte[REQ_CM_RETRIES] = 15 << 4;
	mad->byte[REQ_ACK_TIMEOUT] = 17 << 3;
	put_ip_header(mad, REQ_PRIVATE);
}

void node_sidr_req(struct mad *mad, u16 port, u32 id)
{
	mad_begin(mad, CM_SIDR_REQ, 1);
	mad_put32(mad, SIDR_REQ_ID, id);
	mad_put64(mad, SIDR_REQ_SERVICE_ID, (u64)RDMA_PS_UDP << 16 | port);
	put_ip_header(mad, SIDR_REQ_PRIVATE);
}

void node_about(struct mad *mad, enum cm_attribute attribute, u32 local_id, u32 remote_id)
{
	mad_begin(mad, attribute, 1);
	mad_put32(mad, CM_LOCAL_ID, local_id);
	mad_put32(mad, CM_REMOTE_ID, remote_id);
}

/* ------------------------------------------------------------ expectations */

int node_begin(void **state)
{
	node_start();
	return 0;
}

int node_finish(void **state)
{
	node_end();
	return 0;
}

struct rdma_ucm_event_resp expect_event(u32 which, u32 type)
{
	struct rdma_ucm_event_resp event;

	assert_int_equal(node_event(which, &event), 0);
	assert_int_equal(event.event, type);
	return event;
}

void expect_no_event(u32 which)
{
	struct rdma_ucm_event_resp event;

	assert_int_equal(node_event(which, &event), -EAGAIN);
}

struct mad expect_said(enum cm_attribute attribute)
{
	struct mad mad = { 0 };

	assert_true(node_said(&mad));
	assert_int_equal(mad_attribute(&mad), attribute);
	return mad;
}

void expect_silence(void)
{
	struct mad mad;

	assert_false(node_said(&mad));
}
