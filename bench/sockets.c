// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "sockets.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

/* Creates a socket that is bound to a free port of the loopback interface. */
static int bound_socket(int type, struct sockaddr_in *addr)
{
	socklen_t len = sizeof(*addr);
	int fd = socket(AF_INET, type | SOCK_CLOEXEC, 0);

	if (fd < 0) {
		perror("socket");
		return -1;
	}
	*addr = (struct sockaddr_in){
		.sin_family = AF_INET,
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK),
	};
	if (bind(fd, (struct sockaddr *)addr, sizeof(*addr)) ||
	    getsockname(fd, (struct sockaddr *)addr, &len)) {
		perror("bind");
		close(fd);
		return -1;
	}
	return fd;
}

static int connect_to(int fd, const struct sockaddr_in *addr)
{
	if (!connect(fd, (const struct sockaddr *)addr, sizeof(*addr)))
		return 0;
	perror("connect");
	return -1;
}

int udp_pair(int fds[2])
{
	struct sockaddr_in addr[2];

	fds[0] = bound_socket(SOCK_DGRAM, &addr[0]);
	if (fds[0] < 0)
		return -1;
	fds[1] = bound_socket(SOCK_DGRAM, &addr[1]);
	if (fds[1] < 0)
		goto close_first;
	if (connect_to(fds[0], &addr[1]) || connect_to(fds[1], &addr[0]))
		goto close_second;
	return 0;

close_second:
	close(fds[1]);
close_first:
	close(fds[0]);
	return -1;
}

static int set_nodelay(const int fds[2])
{
	int one = 1;

	for (int i = 0; i < 2; i++) {
		if (setsockopt(fds[i], IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one))) {
			perror("TCP_NODELAY");
			return -1;
		}
	}
	return 0;
}

int tcp_pair(int fds[2])
{
	struct sockaddr_in server_addr, client_addr;
	int listener;

	listener = bound_socket(SOCK_STREAM, &server_addr);
	if (listener < 0)
		return -1;
	fds[0] = bound_socket(SOCK_STREAM, &client_addr);
	if (fds[0] < 0)
		goto close_listener;
	if (listen(listener, 1) || connect_to(fds[0], &server_addr))
		goto close_client;
	fds[1] = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
	if (fds[1] < 0) {
		perror("accept");
		goto close_client;
	}
	if (set_nodelay(fds))
		goto close_server;
	close(listener);
	return 0;

close_server:
	close(fds[1]);
close_client:
	close(fds[0]);
close_listener:
	close(listener);
	return -1;
}
