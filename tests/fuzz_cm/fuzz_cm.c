// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * A libFuzzer target: hostile nodes and programs against the connection manager. Messages of
 * all kinds arrive on queue pair 1: answers to what this node sent, with bytes changed, in any
 * order and at any time. Meanwhile programs write valid and invalid commands to the rdma_cm
 * file. After each step, IDs, events and connections must be consistent; in the end, nothing
 * may be left.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <rdma/ib_user_sa.h>
#include <stdio.h>
#include <stdlib.h>

#include "../cm/node.h"
#include "../fuzz/input.h"

int LLVMFuzzerTestOneInput(const u8 *data, size_t size);

#define MAX_STEPS 120
#define PORTS 4u
#define FIRST_PORT 7000u
#define REMEMBERED 8u

static FILE *nowhere;

static u32 take_file(void)
{
	return take8() % NODE_FILES;
}

/* Mostly small handles. */
static u32 take_id(void)
{
	u8 value = take8();

	return value == 0xff ? take32() : value % 12;
}

static u16 take_port(void)
{
	return (u16)(FIRST_PORT + take8() % PORTS);
}

static u16 take_space(void)
{
	static const u16 spaces[] = { RDMA_PS_TCP, RDMA_PS_UDP, RDMA_PS_IB, RDMA_PS_IPOIB };
	u8 pick = take8();

	return pick < 0xf8 ? spaces[pick & 64 ? 1 : pick & 128 ? pick & 3 : 0] : (u16)take32();
}

static const u8 *take_gid(void)
{
	static u8 other[16];

	switch (take8() % 16) {
	case 0:
		take(other, sizeof(other));
		return other;
	case 1:
	case 2:
		return node_own;
	case 3:
	case 4:
		return node_stranger;
	case 5:
		return kernel.device.gid[0];
	default:
		return node_peer;
	}
}

static u64 take_addr(void)
{
	return take8() < 0xf0 ? (uintptr_t)node_memory : take32();
}

/* ------------------------------------------------------ knowledge of other nodes */

/* The latest messages that this node sent. */
static struct mad heard[REMEMBERED];
static u32 nheard;

static void listen_to_it(void)
{
	struct mad mad;

	while (node_said(&mad))
		heard[nheard++ % REMEMBERED] = mad;
}

static const struct mad *remember(void)
{
	static const struct mad nothing;
	u32 known = nheard < REMEMBERED ? nheard : REMEMBERED, back = take8();

	return known ? &heard[(nheard - 1 - back % known) % REMEMBERED] : &nothing;
}

static u32 take_name(void)
{
	return 1 + take8() % 4;
}

/* An answer to a message, or an independent request. */
static void compose(struct mad *mad)
{
	const struct mad *said = remember();
	u32 local = take_name(), attribute = CM_REQ + take8() % 12;

	switch (attribute) {
	case CM_REQ:
		node_req(mad, take_port(), local, take_name());
		return;
	case CM_SIDR_REQ:
		node_sidr_req(mad, take_port(), local);
		return;
	case CM_SIDR_REP:
		mad_begin(mad, CM_SIDR_REP, 1);
		mad_put32(mad, SIDR_REP_ID, mad_get32(said, SIDR_REQ_ID));
		mad->byte[SIDR_REP_STATUS] = take8() & 3;
		return;
	default:
		node_about(mad, (enum cm_attribute)attribute, local, mad_get32(said, CM_LOCAL_ID));
		break;
	}
	if (attribute == CM_DREQ)
		mad_put24(mad, DREQ_QPN, mad_attribute(said) == CM_REQ ? 42 : 43);
	if (attribute == CM_REJ) {
		mad_put16(mad, REJ_REASON, take8() & 1 ? CM_REJ_TIMEOUT : take8());
		mad->byte[REJ_INFO] = 0xaa;
	}
	if (attribute == CM_MRA)
		mad->byte[MRA_MESSAGE] = take8();
	if (attribute == CM_REP)
		mad_put24(mad, REP_QPN, take_name());
}

static void spoil(struct mad *mad)
{
	u32 count = take8();

	for (count = count < 128 ? 0 : count % 8; count; count--) {
		u8 at = take8();

		mad->byte[at] = take8();
	}
}

static void send_it(const struct mad *mad)
{
	struct node_datagram datagram = {
		.sgid = node_peer, .dgid = node_own, .from = 1, .length = MAD_SIZE, .bytes = mad
	};
	u8 longer[512] = { 0 }, oddity = take8();

	memcpy(longer, mad, sizeof(*mad));
	datagram.bytes = longer;
	if (oddity & 1)
		datagram.sgid = take_gid();
	if (!(oddity & 0xe))
		datagram.dgid = take_gid();
	if (oddity == 0xff)
		datagram.from = take8();
	if (oddity == 0xfe)
		datagram.length = take32() % sizeof(longer);
	node_arrive(&datagram);
}

static void message(void)
{
	struct mad mad;

	compose(&mad);
	spoil(&mad);
	send_it(&mad);
}

/* The regular answer to the last message. */
static void answer(void)
{
	const struct mad *said = remember();
	u32 ours = mad_get32(said, CM_LOCAL_ID), local = take_name();
	struct mad mad;

	switch (mad_attribute(said)) {
	case CM_REQ:
		node_about(&mad, CM_REP, local, ours);
		mad.byte[REP_CA_GUID] = 0xaa;
		break;
	case CM_REP:
		node_about(&mad, CM_RTU, mad_get32(said, CM_REMOTE_ID), ours);
		break;
	case CM_DREQ:
		node_about(&mad, CM_DREP, mad_get32(said, CM_REMOTE_ID), ours);
		break;
	case CM_RTU:
		node_about(&mad, CM_DREQ, mad_get32(said, CM_REMOTE_ID), ours);
		mad_put24(&mad, DREQ_QPN, 42);
		break;
	default:
		compose(&mad);
		break;
	}
	send_it(&mad);
}

/* A message of this node itself, returned to it. */
static void echo(void)
{
	struct mad mad = *remember();

	spoil(&mad);
	send_it(&mad);
}

static void any_message(void)
{
	struct mad mad;

	take(&mad, 128);
	if (take8() & 3) {
		mad.byte[0] = MAD_BASE_VERSION;
		mad.byte[1] = take8() & 3 ? MAD_CLASS_CM : (u8)(1 + take8() % 8);
		mad.byte[2] = MAD_CM_VERSION;
		mad.byte[3] = take8() & 7 ? MAD_METHOD_SEND : take8();
		mad_put16(&mad, MAD_ATTRIBUTE, CM_REQ + take8() % 12);
	}
	send_it(&mad);
}

/* ---------------------------------------------------------------------- commands */

static void any_command(void)
{
	u8 body[400];
	u32 in = take8();

	take(body, sizeof(body));
	node_command(take_file(), take8() % 24, body, in, take8());
}

/* Mostly valid connection parameters. */
static void take_param(struct rdma_ucm_conn_param *param)
{
	memset(param, 0, sizeof(*param));
	param->qp_num = 42;
	param->valid = take8() < 224;
	param->private_data_len = take8() < 224 ? take8() % 57 : take8();
	param->srq = take8();
	param->retry_count = take8();
	take(param->private_data, 4);
}

/* An IPv6 or an AF_IB address. */
static void take_long_address(void *to, size_t room)
{
	struct sockaddr_in6 in6 = { .sin6_family = AF_INET6, .sin6_port = htons(take_port()) };
	struct cm_address_ib ib = { .family = CM_AF_IB };
	u16 space = take_space();

	if (take8() & 1) {
		if (take8() & 1)
			memcpy(&in6.sin6_addr, take_gid(), 16);
		memcpy(to, &in6, room < sizeof(in6) ? room : sizeof(in6));
		return;
	}
	ib.sid[5] = (u8)(space >> 8);
	ib.sid[6] = (u8)space;
	ib.sid[7] = take8();
	memset(ib.sid_mask, take8() & 7 ? 0xff : take8(), sizeof(ib.sid_mask));
	memcpy(to, &ib, room < sizeof(ib) ? room : sizeof(ib));
}

static void take_address(void *to, size_t room)
{
	struct sockaddr_in in = { .sin_family = AF_INET };
	u8 pick = take8();

	memset(to, 0, room);
	if (pick >= 0xf0) {
		take(to, room < 32 ? room : 32);
		return;
	}
	if (pick >= 0xa0) {
		take_long_address(to, room);
		return;
	}
	in.sin_port = htons(take_port());
	if (pick & 1)
		memcpy(&in.sin_addr, take_gid() + 12, 4);
	if (pick % 16 == 2)
		in.sin_addr.s_addr = htonl(0xe0000101);
	memcpy(to, &in, sizeof(in));
}

static u16 address_size(const struct __kernel_sockaddr_storage *address)
{
	static const u8 others[] = { 28, 48, 4, 128 };

	if (address->ss_family == AF_INET)
		return sizeof(struct sockaddr_in);
	return others[take8() % 16 < 13 ? address->ss_family == CM_AF_IB : take8() & 3];
}

static void listen_somewhere(void)
{
	u16 ps = take_space(), port = take_port();

	node_listen(take_file(), ps, port, take8() % 8);
}

static void connect_somewhere(void)
{
	u16 ps = take_space();

	node_connect(take_file(), ps, take_gid(), take_port());
}

static void read_event(void)
{
	const struct rdma_ucm_get_event cmd = { .response = take_addr() };

	node_command(take_file(), RDMA_USER_CM_CMD_GET_EVENT, &cmd, sizeof(cmd),
		     sizeof(struct rdma_ucm_event_resp));
}

/* Reacts to an event like a correct program. */
static void react(void)
{
	struct rdma_ucm_event_resp event;
	struct rdma_ucm_accept acknowledge = { .uid = 1 };
	u32 which = take_file();

	if (node_event(which, &event))
		return;
	acknowledge.id = event.id;
	switch (event.event) {
	case CM_EVENT_CONNECT_REQUEST:
		node_accept(which, event.id, take8() & 7);
		break;
	case CM_EVENT_CONNECT_RESPONSE:
		node_command(which, RDMA_USER_CM_CMD_ACCEPT, &acknowledge, sizeof(acknowledge), 0);
		break;
	case CM_EVENT_ESTABLISHED:
	case CM_EVENT_DISCONNECTED:
		if (take8() & 1)
			node_simple(which, RDMA_USER_CM_CMD_DISCONNECT, event.id);
		break;
	default:
		break;
	}
}

static void connect_or_accept(void)
{
	struct rdma_ucm_connect connect = { .id = take_id() };
	struct rdma_ucm_accept accept = { .id = connect.id, .uid = take8() & 15 };

	take_param(&connect.conn_param);
	accept.conn_param = connect.conn_param;
	if (take8() & 3)
		node_command(take_file(), RDMA_USER_CM_CMD_ACCEPT, &accept, sizeof(accept), 0);
	else
		node_command(take_file(), RDMA_USER_CM_CMD_CONNECT, &connect, sizeof(connect), 0);
}

static void reject(void)
{
	struct rdma_ucm_reject cmd = { .id = take_id() };

	cmd.private_data_len = take8() & 1 ? 0 : take8();
	cmd.reason = take8() & 3 ? 28 : take8();
	node_command(take_file(), RDMA_USER_CM_CMD_REJECT, &cmd, sizeof(cmd), 0);
}

/* Commands with only an ID, or with an ID and a number. */
static void simple_command(void)
{
	static const u8 commands[] = {
		RDMA_USER_CM_CMD_RESOLVE_ROUTE, RDMA_USER_CM_CMD_DISCONNECT,
		RDMA_USER_CM_CMD_DISCONNECT,    RDMA_USER_CM_CMD_LISTEN,
		RDMA_USER_CM_CMD_NOTIFY,
	};
	u32 cmd[2] = { take_id() };

	cmd[1] = take8() & 1 ? 4 : take_id();
	node_command(take_file(), commands[take8() % sizeof(commands)], cmd, sizeof(cmd), 0);
}

/* Commands with a response: its address, then an ID and a number. */
static void asking_command(void)
{
	static const u8 commands[] = {
		RDMA_USER_CM_CMD_DESTROY_ID,  RDMA_USER_CM_CMD_DESTROY_ID,
		RDMA_USER_CM_CMD_QUERY_ROUTE, RDMA_USER_CM_CMD_QUERY,
		RDMA_USER_CM_CMD_QUERY,       RDMA_USER_CM_CMD_INIT_QP_ATTR,
		RDMA_USER_CM_CMD_MIGRATE_ID,  RDMA_USER_CM_CMD_LEAVE_MCAST,
	};
	struct rdma_ucm_query cmd = { .response = take_addr(),
				      .id = take_id(),
				      .option = take8() % 5 };
	u32 out = take8() < 0xe0 ? 1024 : take8();

	node_command(take_file(), commands[take8() % sizeof(commands)], &cmd, sizeof(cmd), out);
}

static void create(void)
{
	const struct rdma_ucm_create_id cmd = { .uid = take8() & 15,
						.response = take_addr(),
						.ps = take_space(),
						.qp_type = take8() % 12 };

	node_command(take_file(), RDMA_USER_CM_CMD_CREATE_ID, &cmd, sizeof(cmd),
		     sizeof(struct rdma_ucm_create_id_resp));
}

static void bind_or_resolve(void)
{
	struct rdma_ucm_bind_ip bind = { .id = take_id() };
	struct rdma_ucm_resolve_ip resolve = { .id = bind.id };

	take_address(&bind.addr, sizeof(bind.addr));
	if (take8() & 1) {
		node_command(take_file(), RDMA_USER_CM_CMD_BIND_IP, &bind, sizeof(bind), 0);
		return;
	}
	if (take8() & 1)
		resolve.src_addr = bind.addr;
	take_address(&resolve.dst_addr, sizeof(resolve.dst_addr));
	node_command(take_file(), RDMA_USER_CM_CMD_RESOLVE_IP, &resolve, sizeof(resolve), 0);
}

static void bind_or_resolve_long(void)
{
	struct rdma_ucm_bind bind = { .id = take_id() };
	struct rdma_ucm_resolve_addr resolve = { .id = bind.id };

	take_address(&bind.addr, sizeof(bind.addr));
	take_address(&resolve.dst_addr, sizeof(resolve.dst_addr));
	bind.addr_size = address_size(&bind.addr);
	resolve.dst_size = address_size(&resolve.dst_addr);
	if (take8() & 1)
		node_command(take_file(), RDMA_USER_CM_CMD_BIND, &bind, sizeof(bind), 0);
	else
		node_command(take_file(), RDMA_USER_CM_CMD_RESOLVE_ADDR, &resolve, sizeof(resolve),
			     0);
}

static void join(void)
{
	struct rdma_ucm_join_mcast cmd = {
		.response = take_addr(), .uid = take8(), .id = take_id(), .join_flags = take8() & 1
	};
	struct rdma_ucm_join_ip_mcast ip = { .uid = cmd.uid };

	take_address(&cmd.addr, sizeof(cmd.addr));
	if (take8() & 1) {
		ip.response = cmd.response;
		ip.id = cmd.id;
		memcpy(&ip.addr, &cmd.addr, sizeof(ip.addr));
		node_command(take_file(), RDMA_USER_CM_CMD_JOIN_IP_MCAST, &ip, sizeof(ip),
			     sizeof(struct rdma_ucm_create_id_resp));
		return;
	}
	cmd.addr_size = address_size(&cmd.addr);
	node_command(take_file(), RDMA_USER_CM_CMD_JOIN_MCAST, &cmd, sizeof(cmd),
		     sizeof(struct rdma_ucm_create_id_resp));
}

static void set_option(void)
{
	struct ib_path_rec_data path = { .flags = 0 };
	struct rdma_ucm_set_option cmd = {
		.optval = take_addr(), .id = take_id(), .level = take8() & 1, .optname = take8() % 5
	};

	cmd.optlen = take8() & 1 ? 4 : take8() & 1 ? 1 : take32() % 5000;
	take(node_memory, 8);
	/* Path records, with the path's kind in their flags. */
	if (cmd.level == RDMA_OPTION_IB && take8() & 7) {
		cmd.optname = RDMA_OPTION_IB_PATH;
		cmd.optlen = (u32)sizeof(path) * (1 + take8() % 20);
		path.flags = take8() & 7 ? IB_PATH_GMP | IB_PATH_PRIMARY | IB_PATH_BIDIRECTIONAL :
					   take8();
		memcpy(node_memory, &path, sizeof(path));
	}
	node_command(take_file(), RDMA_USER_CM_CMD_SET_OPTION, &cmd, sizeof(cmd), 0);
}

/* ----------------------------------------------------------------- other actions */

static void close_or_open(void)
{
	u32 which = take_file();

	if (node.file[which].sock)
		node_close(which);
	node_open(which);
}

static void pass_time(void)
{
	node_run(1ull << take8() % 44);
}

static void show_status(void)
{
	cm_status(&node.daemon, nowhere);
	for (u32 i = 0; i < NODE_FILES; i++)
		cm_file_resignal(&node.file[i]);
}

/* --------------------------------------------------------------------- the target */

static void start_once(void)
{
	if (nowhere)
		return;
	nowhere = fopen("/dev/null", "w");
}

int LLVMFuzzerTestOneInput(const u8 *data, size_t size)
{
	static void (*const steps[])(void) = {
		message,
		message,
		message,
		message,
		message,
		message,
		answer,
		answer,
		answer,
		react,
		react,
		react,
		echo,
		any_message,
		any_command,
		listen_somewhere,
		listen_somewhere,
		connect_somewhere,
		read_event,
		read_event,
		connect_or_accept,
		connect_or_accept,
		reject,
		simple_command,
		asking_command,
		create,
		bind_or_resolve,
		bind_or_resolve_long,
		join,
		set_option,
		close_or_open,
		pass_time,
		show_status,
	};

	start_once();
	node_start();
	input = data;
	left = size;
	nheard = 0;
	/* InfiniBand ports have LIDs. */
	kernel.device.lid = take8() & 1 ? 3 : 0;
	for (u32 count = 0; left && count < MAX_STEPS; count++) {
		steps[take8() % ARRAY_SIZE(steps)]();
		node_check();
		listen_to_it();
	}
	node_end();
	return 0;
}
