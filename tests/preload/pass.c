// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Tests that a device file and a completion channel can be sent to another process. */
#define _GNU_SOURCE
#include "check.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

union control {
	char space[CMSG_SPACE(2 * sizeof(int))];
	struct cmsghdr header;
};

static void send_fds(int sock, const int *fds)
{
	union control control = { .header = { .cmsg_len = CMSG_LEN(2 * sizeof(int)),
					      .cmsg_level = SOL_SOCKET,
					      .cmsg_type = SCM_RIGHTS } };
	struct iovec iov = { .iov_base = (char[]){ "x" }, .iov_len = 1 };
	struct msghdr msg = { .msg_iov = &iov,
			      .msg_iovlen = 1,
			      .msg_control = &control,
			      .msg_controllen = sizeof(control) };

	memcpy(CMSG_DATA(&control.header), fds, 2 * sizeof(int));
	EXPECT(sendmsg(sock, &msg, 0) == 1);
}

static void expect_event(int sock, const struct pair *pair)
{
	unsigned long long event = 0;

	EXPECT(read(sock, &event, sizeof(event)) == sizeof(event));
	EXPECT(event == (uintptr_t)pair->cq);
}

static void receive_fds(int sock, int *fds)
{
	union control control;
	char byte;
	struct iovec iov = { .iov_base = &byte, .iov_len = 1 };
	struct msghdr msg = { .msg_iov = &iov,
			      .msg_iovlen = 1,
			      .msg_control = &control,
			      .msg_controllen = sizeof(control) };

	EXPECT(recvmsg(sock, &msg, 0) == 1);
	EXPECT(CMSG_FIRSTHDR(&msg) && CMSG_FIRSTHDR(&msg)->cmsg_len == CMSG_LEN(2 * sizeof(int)));
	memcpy(fds, CMSG_DATA(CMSG_FIRSTHDR(&msg)), 2 * sizeof(int));
}

/* The second of two unread events makes an edge. */
#define EVENTS 2

/* The receiver: uses both files, and reads the sender's events. */
static int receiver(int sock)
{
	struct ibv_context *context;
	unsigned long long event;
	int fds[2];

	receive_fds(sock, fds);
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
	send_fds(socks[0], (int[]){ pair.context->cmd_fd, pair.channel->fd });
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
