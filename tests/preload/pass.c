// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Tests that a device file and a completion channel can be sent to another process. */
#define _GNU_SOURCE
#include "check.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

static void expect_event(int sock, const struct pair *pair)
{
	unsigned long long event = 0;

	EXPECT(read(sock, &event, sizeof(event)) == sizeof(event));
	EXPECT(event == (uintptr_t)pair->cq);
}

/* The second of two unread events makes an edge. */
#define EVENTS 2

/* The receiver: uses both files, and reads the sender's events. */
static int receiver(int sock)
{
	struct ibv_context *context;
	unsigned long long event;
	int fds[2];

	receive_fds(sock, fds, 2);
	context = ibv_import_device(fds[0]);
	EXPECT(context);
	expect_alive(context);
	for (int i = 0; i < EVENTS; i++) {
		EXPECT(read(fds[1], &event, sizeof(event)) == sizeof(event));
		EXPECT(write(sock, &event, sizeof(event)) == sizeof(event));
	}
	EXPECT(write(sock, "r", 1) == 1);
	EXPECT(read(fds[1], &event, sizeof(event)) == sizeof(event));
	EXPECT(write(sock, &event, sizeof(event)) == sizeof(event));
	return 0;
}

int main(int argc, char **argv)
{
	struct pair pair;
	char number[16], byte;
	int socks[2];
	pid_t pid;

	if (argc > 1)
		return receiver(atoi(argv[1]));

	EXPECT(!socketpair(AF_UNIX, SOCK_STREAM, 0, socks));
	pid = fork();
	if (pid == 0) {
		/* A new program, which the library has not seen opening anything. */
		sprintf(number, "%d", socks[1]);
		close(socks[0]);
		execl("/proc/self/exe", argv[0], number, NULL);
		_exit(1);
	}
	close(socks[1]);
	pair_make(&pair);
	for (int i = 0; i < EVENTS; i++) {
		EXPECT(!ibv_req_notify_cq(pair.cq, 0));
		expect_traffic(&pair);
	}
	send_fds(socks[0], (int[]){ pair.context->cmd_fd, pair.channel->fd }, 2);
	for (int i = 0; i < EVENTS; i++)
		expect_event(socks[0], &pair);
	EXPECT(read(socks[0], &byte, 1) == 1);
	EXPECT(!ibv_req_notify_cq(pair.cq, 0));
	expect_traffic(&pair);
	expect_event(socks[0], &pair);
	expect_exit(pid, 0);
	ibv_ack_cq_events(pair.cq, EVENTS + 1);
	pair_end(&pair);
	return 0;
}
