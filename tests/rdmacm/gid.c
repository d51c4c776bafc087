// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Tests of AF_IB addresses, which are GIDs of ports.
 *
 * On Ethernet ports, binding to them fails. On InfiniBand ports, a program can bind to a GID,
 * resolve it and connect to it, and may use all private data.
 */
#define _GNU_SOURCE
#include <endian.h>
#include <infiniband/ib.h>
#include <poll.h>

#include "peers.h"

#define PORT 7471
/* Size of the private data of a REQ, all of which is the program's. */
#define ROOM 92
/* The same for a SIDR_REQ. */
#define DATAGRAM_ROOM 216

static u_int8_t data[DATAGRAM_ROOM];
static union ibv_gid own;
static bool infiniband;

static struct sockaddr_ib address_by_gid(const union ibv_gid *gid, enum rdma_port_space ps,
					 u_int16_t port)
{
	struct sockaddr_ib ib = { .sib_family = AF_IB, .sib_pkey = htobe16(0xffff) };

	ib.sib_sid = htobe64((u_int64_t)ps << 16 | port);
	ib.sib_sid_mask = htobe64(~0ull);
	memcpy(&ib.sib_addr, gid, sizeof(ib.sib_addr));
	return ib;
}

static void look_at_port(void)
{
	struct ibv_context *context = open_first();
	struct ibv_port_attr attr;

	EXPECT(!ibv_query_port(context, 1, &attr));
	EXPECT(!ibv_query_gid(context, 1, 0, &own));
	infiniband = attr.link_layer == IBV_LINK_LAYER_INFINIBAND;
	ibv_close_device(context);
}

static void no_such_device(void)
{
	struct rdma_event_channel *channel = rdma_create_event_channel();
	struct rdma_cm_id *id = peers_id(channel, RDMA_PS_TCP);
	struct sockaddr_ib ib = address_by_gid(&own, RDMA_PS_TCP, PORT);

	REFUSES(rdma_bind_addr(id, (struct sockaddr *)&ib), ENODEV);
	REFUSES(rdma_resolve_addr(id, NULL, (struct sockaddr *)&ib, 1000), ENODEV);
	EXPECT(!rdma_destroy_id(id));
	rdma_destroy_event_channel(channel);
}

/*
 * Binding to a GID that no port has fails. A GID of the own subnet can be resolved but has no
 * route; a GID of another subnet cannot be resolved.
 */
static void unknown(void)
{
	struct rdma_event_channel *channel = rdma_create_event_channel();
	struct rdma_cm_id *id = peers_id(channel, RDMA_PS_TCP);
	union ibv_gid gid = own;
	struct sockaddr_ib ib;

	gid.raw[15] ^= 0xff;
	ib = address_by_gid(&gid, RDMA_PS_TCP, PORT);
	REFUSES(rdma_bind_addr(id, (struct sockaddr *)&ib), ENODEV);
	EXPECT(!rdma_resolve_addr(id, NULL, (struct sockaddr *)&ib, 1000));
	EXPECT(!peers_heard(channel, RDMA_CM_EVENT_ADDR_RESOLVED));
	EXPECT(!rdma_resolve_route(id, 1000));
	EXPECT(peers_heard(channel, RDMA_CM_EVENT_ROUTE_ERROR) == -EINVAL);
	EXPECT(!rdma_destroy_id(id));

	id = peers_id(channel, RDMA_PS_TCP);
	gid.raw[0] = 0x20;
	ib = address_by_gid(&gid, RDMA_PS_TCP, PORT);
	REFUSES(rdma_resolve_addr(id, NULL, (struct sockaddr *)&ib, 1000), ENODEV);
	EXPECT(!rdma_destroy_id(id));
	rdma_destroy_event_channel(channel);
}

static bool is_own(struct sockaddr *address)
{
	struct sockaddr_ib *ib = (struct sockaddr_ib *)address;

	return ib->sib_family == AF_IB && !memcmp(&ib->sib_addr, &own, sizeof(own));
}

static void connects(enum rdma_port_space ps, u_int8_t room)
{
	struct rdma_conn_param param = { .private_data = data, .private_data_len = room };
	struct sockaddr_ib ib = address_by_gid(&own, ps, PORT);
	struct rdma_cm_event *event;
	struct peers peers = { 0 };

	peers.server_channel = rdma_create_event_channel();
	peers.client_channel = rdma_create_event_channel();
	peers.listener = peers_id(peers.server_channel, ps);
	EXPECT(!rdma_bind_addr(peers.listener, (struct sockaddr *)&ib));
	EXPECT(peers.listener->verbs && peers.listener->port_num == 1);
	EXPECT(!rdma_listen(peers.listener, 1));
	peers.client = peers_id(peers.client_channel, ps);
	EXPECT(!rdma_resolve_addr(peers.client, NULL, (struct sockaddr *)&ib, 1000));
	EXPECT(!peers_heard(peers.client_channel, RDMA_CM_EVENT_ADDR_RESOLVED));
	EXPECT(is_own(rdma_get_local_addr(peers.client)));
	EXPECT(!rdma_resolve_route(peers.client, 1000));
	EXPECT(!peers_heard(peers.client_channel, RDMA_CM_EVENT_ROUTE_RESOLVED));
	param.qp_num = ++peers_qpn;
	EXPECT(!rdma_connect(peers.client, &param));
	event = peers_event(peers.server_channel, RDMA_CM_EVENT_CONNECT_REQUEST);
	peers.server = event->id;
	EXPECT(event->listen_id == peers.listener);
	/* These fields are at the same place in the events of both port spaces. */
	EXPECT(event->param.conn.private_data_len == room);
	EXPECT(!memcmp(event->param.conn.private_data, data, room));
	EXPECT(!rdma_ack_cm_event(event));
	EXPECT(is_own(rdma_get_local_addr(peers.server)));
	EXPECT(is_own(rdma_get_peer_addr(peers.server)));
	peers_end(&peers);
}

/* A request by GID does not reach a listener on IP addresses. */
static void strangers(void)
{
	struct rdma_cm_id *id;
	struct sockaddr_ib ib;
	struct peers peers;

	peers_listen(&peers, RDMA_PS_TCP, 1);
	ib = address_by_gid(&own, RDMA_PS_TCP, be16toh(rdma_get_src_port(peers.listener)));
	for (int listens = 1; listens >= 0; listens--) {
		id = peers_id(peers.client_channel, RDMA_PS_TCP);
		EXPECT(!rdma_resolve_addr(id, NULL, (struct sockaddr *)&ib, 1000));
		EXPECT(!peers_heard(peers.client_channel, RDMA_CM_EVENT_ADDR_RESOLVED));
		EXPECT(!rdma_resolve_route(id, 1000));
		EXPECT(!peers_heard(peers.client_channel, RDMA_CM_EVENT_ROUTE_RESOLVED));
		EXPECT(!peers_connect(id, NULL, 0));
		EXPECT(peers_heard(peers.client_channel, RDMA_CM_EVENT_REJECTED) ==
		       (listens ? 28 : 8));
		EXPECT(!rdma_destroy_id(id));
		if (listens)
			EXPECT(!rdma_destroy_id(peers.listener));
		peers.listener = NULL;
	}
	peers_end(&peers);
}

int main(void)
{
	for (size_t i = 0; i < sizeof(data); i++)
		data[i] = (u_int8_t)(i * 7 + 1);
	look_at_port();
	if (!infiniband) {
		no_such_device();
		return 0;
	}
	unknown();
	connects(RDMA_PS_TCP, ROOM);
	connects(RDMA_PS_UDP, DATAGRAM_ROOM);
	strangers();
	return 0;
}
