// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#define _GNU_SOURCE
#include "client.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define TIME_LIMIT 10.0

void fail(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vfprintf(stderr, format, args);
	va_end(args);
	fputc('\n', stderr);
	exit(1);
}

void skip(const char *format, ...)
{
	va_list args;

	fputs("SKIP: ", stdout);
	va_start(args, format);
	vprintf(format, args);
	va_end(args);
	putchar('\n');
	exit(77);
}

double now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec + (double)ts.tv_nsec / 1e9;
}

bool wait_until(bool (*condition)(void *arg), void *arg)
{
	double end = now() + TIME_LIMIT;

	do {
		if (condition(arg))
			return true;
		usleep(2000);
	} while (now() < end);
	return false;
}

static const char *variable(const char *name)
{
	const char *value = getenv(name);

	if (!value)
		fail("%s is not set: run this by ctest", name);
	return value;
}

/* ------------------------------------------------------------------- daemon */

int vnetd_run(char *const more[])
{
	char program[4096];
	char *argv[16] = { program };
	int status;
	pid_t pid;

	snprintf(program, sizeof(program), "%s/bin/vnetd", variable("VNET_TREE"));
	for (int i = 0; more[i]; i++)
		argv[i + 1] = more[i];
	pid = fork();
	if (pid == 0) {
		execv(program, argv);
		_exit(127);
	}
	if (pid < 0 || waitpid(pid, &status, 0) != pid || !WIFEXITED(status))
		fail("cannot run %s", program);
	return WEXITSTATUS(status);
}

void vnetd_start(void)
{
	char option[] = "--idle-exit=0";
	char *more[] = { option, NULL };

	if (vnetd_run(more))
		fail("vnetd does not start");
}

int vnetd_connect(void)
{
	struct sockaddr_un addr = { .sun_family = AF_UNIX };
	int sock = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);

	if (sock < 0)
		return -1;
	snprintf(addr.sun_path, sizeof(addr.sun_path), "%s/default/%s",
		 variable("VNET_RUNTIME_DIR"), VNET_SOCKET_NAME);
	if (connect(sock, (struct sockaddr *)&addr, sizeof(addr)) == 0)
		return sock;
	close(sock);
	return -1;
}

pid_t vnetd_pid(void)
{
	struct ucred peer = { 0 };
	socklen_t length = sizeof(peer);
	int sock = vnetd_connect();

	if (sock < 0)
		return 0;
	if (getsockopt(sock, SOL_SOCKET, SO_PEERCRED, &peer, &length) < 0)
		fail("SO_PEERCRED: %s", strerror(errno));
	close(sock);
	return peer.pid;
}

void vnetd_kill(int signal)
{
	pid_t pid = vnetd_pid();
	int pidfd = pid ? (int)syscall(SYS_pidfd_open, pid, 0) : -1;
	struct pollfd poll_fd = { .fd = pidfd, .events = POLLIN };

	if (pidfd < 0)
		fail("no daemon to end");
	expect(kill(pid, signal) == 0);
	/* The descriptor is readable as soon as the process has ended, whoever reaps it. */
	expect(poll(&poll_fd, 1, (int)(TIME_LIMIT * 1000)) == 1);
	close(pidfd);
}

void vnetd_serves(void)
{
	struct welcome welcome;
	int status;
	/* Uses a child process, because a process may be a limited number of clients only. */
	pid_t pid = fork();

	if (pid == 0) {
		client_enter(&welcome);
		_exit(0);
	}
	expect(pid > 0 && waitpid(pid, &status, 0) == pid && status == 0);
}

/* ----------------------------------------------------------------- messages */

bool send_message(int sock, const void *message, size_t length, const int *fds, uint32_t nfds)
{
	union {
		char space[CMSG_SPACE(64 * sizeof(int))];
		struct cmsghdr align;
	} control;
	struct iovec iov = { .iov_base = (void *)(uintptr_t)message, .iov_len = length };
	struct msghdr msg = { .msg_iov = &iov, .msg_iovlen = 1 };

	if (nfds) {
		memset(&control, 0, sizeof(control));
		control.align.cmsg_level = SOL_SOCKET;
		control.align.cmsg_type = SCM_RIGHTS;
		control.align.cmsg_len = CMSG_LEN(nfds * sizeof(int));
		memcpy(CMSG_DATA(&control.align), fds, nfds * sizeof(int));
		msg.msg_control = &control;
		msg.msg_controllen = CMSG_SPACE(nfds * sizeof(int));
	}
	return sendmsg(sock, &msg, MSG_NOSIGNAL) == (ssize_t)length;
}

static ssize_t receive(int sock, void *reply, size_t size, int *fds, uint32_t *nfds)
{
	union {
		char space[CMSG_SPACE(64 * sizeof(int))];
		struct cmsghdr align;
	} control;
	struct iovec iov = { .iov_base = reply, .iov_len = size };
	struct msghdr msg = {
		.msg_iov = &iov,
		.msg_iovlen = 1,
		.msg_control = &control,
		.msg_controllen = sizeof(control),
	};
	struct pollfd poll_fd = { .fd = sock, .events = POLLIN };
	struct cmsghdr *cmsg;
	uint32_t got = 0;
	ssize_t n;

	if (poll(&poll_fd, 1, (int)(TIME_LIMIT * 1000)) == 0)
		fail("no answer");
	n = recvmsg(sock, &msg, MSG_CMSG_CLOEXEC);
	if (n <= 0)
		return n < 0 ? -errno : -EPIPE;
	cmsg = CMSG_FIRSTHDR(&msg);
	if (cmsg && cmsg->cmsg_type == SCM_RIGHTS) {
		int all[64];

		got = (uint32_t)((cmsg->cmsg_len - CMSG_LEN(0)) / sizeof(int));
		memcpy(all, CMSG_DATA(cmsg), got * sizeof(int));
		for (uint32_t i = 0; i < got; i++) {
			if (nfds && i < *nfds)
				fds[i] = all[i];
			else
				close(all[i]);
		}
	}
	if (nfds && got < *nfds)
		*nfds = got;
	return n;
}

ssize_t exchange(int sock, const void *message, size_t length, void *reply, size_t size, int *fds,
		 uint32_t *nfds)
{
	if (!send_message(sock, message, length, NULL, 0))
		return -errno;
	return receive(sock, reply, size, fds, nfds);
}

int request(int sock, const void *message, size_t length, struct vnet_msg_result *result, int *fd)
{
	struct vnet_msg_result mine = { 0 };
	uint32_t nfds = fd ? 1 : 0;
	ssize_t n;

	if (!result)
		result = &mine;
	n = exchange(sock, message, length, result, sizeof(*result), fd, &nfds);
	if (n < 0)
		return (int)n;
	if (n != sizeof(*result) || result->msg.length != sizeof(*result))
		fail("an answer of %zd bytes", n);
	if (fd && !nfds)
		*fd = -1;
	return (int)result->error;
}

int request_plain(int sock, uint32_t type, int *fd)
{
	struct vnet_msg msg = { .type = type, .length = sizeof(msg) };

	return request(sock, &msg, sizeof(msg), NULL, fd);
}

bool hung_up(int sock)
{
	double end = now() + TIME_LIMIT;

	while (now() < end) {
		struct pollfd poll_fd = { .fd = sock, .events = POLLIN };
		char bytes[4096];

		if (poll(&poll_fd, 1, 100) <= 0)
			continue;
		if (recv(sock, bytes, sizeof(bytes), MSG_DONTWAIT) <= 0)
			return true;
	}
	return false;
}

/* ---------------------------------------------------------------- greetings */

int hello(int sock, uint32_t space, uint64_t cookie, int mem_fd, struct welcome *welcome)
{
	struct vnet_msg_hello msg = {
		.msg = { .type = VNET_MSG_HELLO, .length = sizeof(msg) },
		.version = VNET_PROTO_VERSION,
		.space = space,
		.cookie = cookie,
		.command = "test",
	};
	int own = mem_fd == -1 ? open("/proc/self/mem", O_RDWR | O_CLOEXEC) : mem_fd;
	ssize_t n = -EIO;

	memset(welcome, 0, sizeof(*welcome));
	welcome->nfds = sizeof(welcome->fd) / sizeof(welcome->fd[0]);
	if (send_message(sock, &msg, sizeof(msg), &own, own >= 0 && !space))
		n = receive(sock, &welcome->msg, sizeof(welcome->msg), welcome->fd, &welcome->nfds);
	if (mem_fd == -1)
		close(own);
	if (n < 0)
		return (int)n;
	if (n != sizeof(welcome->msg))
		fail("a welcome of %zd bytes", n);
	return (int)welcome->msg.error;
}

int client_enter(struct welcome *welcome)
{
	int sock = vnetd_connect();
	int error;

	if (sock < 0)
		fail("cannot connect: %s", strerror(errno));
	error = hello(sock, 0, 0, -1, welcome);
	if (error)
		fail("not welcome: %d", error);
	return sock;
}

int client_open(uint32_t minor, struct vnet_msg_opened *opened)
{
	struct vnet_msg_open msg = {
		.msg = { .type = VNET_MSG_OPEN, .length = sizeof(msg) },
		.version = VNET_PROTO_VERSION,
		.minor = minor,
	};
	int sock = vnetd_connect();
	ssize_t n;

	if (sock < 0)
		fail("cannot connect: %s", strerror(errno));
	n = exchange(sock, &msg, sizeof(msg), opened, sizeof(*opened), NULL, NULL);
	if (n != sizeof(*opened))
		fail("an open answered by %zd bytes", n);
	return sock;
}
