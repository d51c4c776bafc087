// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Client and server of a connection that is accepted and established late.
 *
 * Without an MRA, the waiting peer would have given up.
 */
#include <arpa/inet.h>
#include <poll.h>

#include "peers.h"

static int seconds;

/* Waits. No event may come meanwhile. */
static void think(struct rdma_event_channel *channel, int duration)
{
	struct pollfd pfd = { .fd = channel->fd, .events = POLLIN };

	EXPECT(poll(&pfd, 1, 1000 * duration) == 0);
}

static void serve(struct rdma_event_channel *channel, struct sockaddr_in *in)
{
	struct rdma_cm_id *listener, *id;

	EXPECT(!rdma_create_id(channel, &listener, NULL, RDMA_PS_TCP));
	EXPECT(!rdma_bind_addr(listener, (struct sockaddr *)in));
	EXPECT(!rdma_listen(listener, 1));
	id = peers_requested(channel);
	think(channel, seconds);
	EXPECT(!peers_accept(id, NULL, 0));
	think(channel, seconds);
	EXPECT(!peers_heard(channel, RDMA_CM_EVENT_ESTABLISHED));
	EXPECT(!peers_heard(channel, RDMA_CM_EVENT_DISCONNECTED));
	EXPECT(!rdma_destroy_id(id) && !rdma_destroy_id(listener));
}

static void connect_to(struct rdma_event_channel *channel, struct sockaddr_in *in)
{
	struct rdma_cm_id *id;

	id = peers_route_to(channel, RDMA_PS_TCP, (struct sockaddr *)in);
	EXPECT(!peers_connect(id, NULL, 0));
	think(channel, seconds - 1);
	EXPECT(!peers_heard(channel, RDMA_CM_EVENT_CONNECT_RESPONSE));
	think(channel, seconds + 1);
	EXPECT(!rdma_establish(id));
	EXPECT(!rdma_disconnect(id));
	EXPECT(!peers_heard(channel, RDMA_CM_EVENT_DISCONNECTED));
	EXPECT(!rdma_destroy_id(id));
}

int main(int argc, char **argv)
{
	struct sockaddr_in in = { .sin_family = AF_INET, .sin_port = htons(4711) };
	struct rdma_event_channel *channel;

	if (argc < 3 || inet_pton(AF_INET, argv[1], &in.sin_addr) != 1) {
		fputs("usage: late ADDRESS SECONDS [serve]\n", stderr);
		return 2;
	}
	seconds = atoi(argv[2]);
	channel = rdma_create_event_channel();
	EXPECT(channel);
	if (argc > 3)
		serve(channel, &in);
	else
		connect_to(channel, &in);
	rdma_destroy_event_channel(channel);
	return 0;
}
