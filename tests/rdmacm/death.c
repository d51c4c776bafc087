// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Tests the death of a process that has rdma_cm connections. Its peer gets DISCONNECTED, and its
 * port becomes free.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "peers.h"

/* Listens, sends its port to the test, accepts one connection, and stays. */
static void __attribute__((noreturn)) serve(int sock)
{
	struct peers peers;
	struct rdma_cm_event *event;
	u_int16_t port;

	peers_listen(&peers, RDMA_PS_TCP, 4);
	port = rdma_get_src_port(peers.listener);
	EXPECT(send(sock, &port, sizeof(port), 0) == sizeof(port));
	event = peers_event(peers.server_channel, RDMA_CM_EVENT_CONNECT_REQUEST);
	EXPECT(!peers_accept(event->id, NULL, 0));
	for (;;)
		pause();
}

static void killed_in_connection(void)
{
	struct sockaddr_in in = { .sin_family = AF_INET };
	struct rdma_event_channel *channel;
	struct rdma_cm_id *id;
	int socks[2];
	pid_t child;

	EXPECT(!socketpair(AF_UNIX, SOCK_SEQPACKET, 0, socks));
	child = fork();
	if (!child)
		serve(socks[1]);
	EXPECT(recv(socks[0], &in.sin_port, sizeof(in.sin_port), 0) == sizeof(in.sin_port));
	in.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	channel = rdma_create_event_channel();
	id = peers_route_to(channel, RDMA_PS_TCP, (struct sockaddr *)&in);
	EXPECT(!peers_connect(id, NULL, 0));
	EXPECT(!peers_heard(channel, RDMA_CM_EVENT_CONNECT_RESPONSE));
	EXPECT(!rdma_establish(id));

	EXPECT(!kill(child, SIGKILL));
	EXPECT(!peers_heard(channel, RDMA_CM_EVENT_DISCONNECTED));
	EXPECT(waitpid(child, NULL, 0) == child);
	EXPECT(!rdma_destroy_id(id));

	/* The port of the dead listener is free. */
	EXPECT(!rdma_create_id(channel, &id, NULL, RDMA_PS_TCP));
	EXPECT(!rdma_bind_addr(id, (struct sockaddr *)&in));
	EXPECT(!rdma_listen(id, 1));
	EXPECT(!rdma_destroy_id(id));
	rdma_destroy_event_channel(channel);
	close(socks[0]);
	close(socks[1]);
}

/* Closing a channel's file destroys its ids. */
static void closed(void)
{
	struct peers peers;
	struct rdma_cm_id *id;

	peers_listen(&peers, RDMA_PS_TCP, 4);
	peers_resolve(&peers, RDMA_PS_TCP);
	close(peers.server_channel->fd);
	EXPECT(!peers_connect(peers.client, NULL, 0));
	/*
	 * Status 28 (consumer reject) if the listener was destroyed with the request, 8 (invalid
	 * service ID) if it was gone before.
	 */
	EXPECT(peers_heard(peers.client_channel, RDMA_CM_EVENT_REJECTED) != 0);
	EXPECT(!rdma_create_id(peers.client_channel, &id, NULL, RDMA_PS_TCP));
	EXPECT(!rdma_bind_addr(id, rdma_get_local_addr(peers.listener)));
	EXPECT(!rdma_destroy_id(id));
}

int main(void)
{
	killed_in_connection();
	closed();
	return 0;
}
