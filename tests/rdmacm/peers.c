// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#define _GNU_SOURCE
#include "peers.h"

#include <arpa/inet.h>
#include <poll.h>

u_int32_t peers_qpn = 4711;

struct sockaddr_in peers_loopback(u_int16_t port)
{
	struct sockaddr_in in = { .sin_family = AF_INET, .sin_port = port };

	in.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	return in;
}

struct rdma_cm_id *peers_id(struct rdma_event_channel *channel, enum rdma_port_space ps)
{
	struct rdma_cm_id *id;

	EXPECT(!rdma_create_id(channel, &id, NULL, ps));
	return id;
}

struct rdma_cm_id *peers_route_to(struct rdma_event_channel *channel, enum rdma_port_space ps,
				  struct sockaddr *address)
{
	struct rdma_cm_id *id = peers_id(channel, ps);

	EXPECT(!rdma_resolve_addr(id, NULL, address, 1000));
	EXPECT(!peers_heard(channel, RDMA_CM_EVENT_ADDR_RESOLVED));
	EXPECT(!rdma_resolve_route(id, 1000));
	EXPECT(!peers_heard(channel, RDMA_CM_EVENT_ROUTE_RESOLVED));
	return id;
}

void peers_listen(struct peers *peers, enum rdma_port_space ps, int backlog)
{
	struct sockaddr_in in = peers_loopback(0);

	memset(peers, 0, sizeof(*peers));
	peers->server_channel = rdma_create_event_channel();
	peers->client_channel = rdma_create_event_channel();
	EXPECT(peers->server_channel && peers->client_channel);
	EXPECT(!rdma_create_id(peers->server_channel, &peers->listener, NULL, ps));
	EXPECT(!rdma_bind_addr(peers->listener, (struct sockaddr *)&in));
	EXPECT(!rdma_listen(peers->listener, backlog));
}

void peers_resolve(struct peers *peers, enum rdma_port_space ps)
{
	struct sockaddr_in in = peers_loopback(rdma_get_src_port(peers->listener));

	peers->client = peers_route_to(peers->client_channel, ps, (struct sockaddr *)&in);
}

void peers_end(struct peers *peers)
{
	if (peers->client)
		EXPECT(!rdma_destroy_id(peers->client));
	if (peers->server)
		EXPECT(!rdma_destroy_id(peers->server));
	if (peers->listener)
		EXPECT(!rdma_destroy_id(peers->listener));
	rdma_destroy_event_channel(peers->client_channel);
	rdma_destroy_event_channel(peers->server_channel);
}

int peers_connect(struct rdma_cm_id *id, const void *data, u_int8_t length)
{
	struct rdma_conn_param param = {
		.private_data = data,
		.private_data_len = length,
		.responder_resources = 3,
		.initiator_depth = 2,
		.retry_count = 5,
		.rnr_retry_count = 6,
		/* A number that was connected recently would be rejected as a stale connection. */
		.qp_num = ++peers_qpn,
	};

	return rdma_connect(id, &param);
}

int peers_accept(struct rdma_cm_id *id, const void *data, u_int8_t length)
{
	struct rdma_conn_param param = {
		.private_data = data,
		.private_data_len = length,
		.responder_resources = 2,
		.initiator_depth = 3,
		.rnr_retry_count = 7,
		.qp_num = PEERS_SERVER_QPN,
	};

	return rdma_accept(id, &param);
}

struct rdma_cm_event *peers_event(struct rdma_event_channel *channel, enum rdma_cm_event_type type)
{
	struct pollfd pfd = { .fd = channel->fd, .events = POLLIN };
	struct rdma_cm_event *event;

	EXPECT(poll(&pfd, 1, 10000) == 1);
	EXPECT(!rdma_get_cm_event(channel, &event));
	if (event->event != type)
		fprintf(stderr, "%s, status %d, in place of %s\n", rdma_event_str(event->event),
			event->status, rdma_event_str(type));
	EXPECT(event->event == type);
	return event;
}

int peers_heard(struct rdma_event_channel *channel, enum rdma_cm_event_type type)
{
	struct rdma_cm_event *event = peers_event(channel, type);
	int status = event->status;

	EXPECT(!rdma_ack_cm_event(event));
	return status;
}

struct rdma_cm_id *peers_requested(struct rdma_event_channel *channel)
{
	struct rdma_cm_event *event = peers_event(channel, RDMA_CM_EVENT_CONNECT_REQUEST);
	struct rdma_cm_id *id = event->id;

	EXPECT(!rdma_ack_cm_event(event));
	return id;
}

void peers_join(struct peers *peers)
{
	peers_resolve(peers, RDMA_PS_TCP);
	EXPECT(!peers_connect(peers->client, NULL, 0));
	peers->server = peers_requested(peers->server_channel);
	EXPECT(!peers_accept(peers->server, NULL, 0));
	EXPECT(!peers_heard(peers->client_channel, RDMA_CM_EVENT_CONNECT_RESPONSE));
	EXPECT(!rdma_establish(peers->client));
	EXPECT(!peers_heard(peers->server_channel, RDMA_CM_EVENT_ESTABLISHED));
}
