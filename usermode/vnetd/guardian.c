// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The guardian: a process that outlives us for an instant, to hang up the
 * completion channels. A program may sleep on a channel in a poll() of its own,
 * where nothing but its descriptor can wake it, and that hangs up only when
 * nobody holds our end of it any more; but peers keep it, to wake the program.
 * So the guardian keeps it too, and shuts it down when we are gone, however that
 * happened.
 *
 * It sleeps on a socket to us and learns of our end by its hang-up. What it keeps
 * has the same number among its descriptors as among ours, so neither of us needs
 * a table; its own end of that socket has the number of ours.
 *
 * Nothing else depends on it: where it is killed, such a sleeper stays asleep.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "daemon.h"

#define NAME "vnetd-guardian"

/* Keep the descriptor that is attached; none: forget it. */
struct order {
	/* Our number of it. */
	int number;
};

union one_fd {
	char space[CMSG_SPACE(sizeof(int))];
	struct cmsghdr header;
};

/* ------------------------------------------------------------- the guardian */

/* Answers what is attached, or -1. */
static int attached_fd(struct msghdr *msg)
{
	struct cmsghdr *cmsg = CMSG_FIRSTHDR(msg);
	int fd;

	if (!cmsg || cmsg->cmsg_level != SOL_SOCKET || cmsg->cmsg_type != SCM_RIGHTS ||
	    cmsg->cmsg_len != CMSG_LEN(sizeof(fd)))
		return -1;
	memcpy(&fd, CMSG_DATA(cmsg), sizeof(fd));
	return fd;
}

/* What had this number before is forgotten in any case. */
static void follow(int number, int fd)
{
	if (fd == number)
		return;
	if (fd < 0) {
		close(number);
		return;
	}
	if (dup3(fd, number, O_CLOEXEC) < 0)
		close(number);
	close(fd);
}

/* One order: its number; 0: there are no more; or -errno. */
static int hear(int sock)
{
	struct order order = { 0 };
	union one_fd control;
	struct iovec iov = { .iov_base = &order, .iov_len = sizeof(order) };
	struct msghdr msg = {
		.msg_iov = &iov,
		.msg_iovlen = 1,
		.msg_control = &control,
		.msg_controllen = sizeof(control),
	};
	ssize_t n = recvmsg(sock, &msg, MSG_CMSG_CLOEXEC);

	if (n <= 0)
		return n < 0 ? -errno : 0;
	if (n != sizeof(order) || order.number <= STDERR_FILENO || order.number == sock)
		return -EPROTO;
	follow(order.number, attached_fd(&msg));
	return order.number;
}

static void __attribute__((noreturn)) guard(int sock)
{
	int number, highest = 0;

	while ((number = hear(sock)) > 0)
		highest = number > highest ? number : highest;
	/* The sign of our life (life.c) is out by now: who wakes sees that. */
	for (int fd = STDERR_FILENO + 1; !number && fd <= highest; fd++)
		if (fd != sock)
			shutdown(fd, SHUT_RDWR);
	_exit(number ? 1 : 0);
}

/* Nothing of ours is kept, and signals are for us: it goes when we are gone. */
static void __attribute__((noreturn)) be_guardian(const int fds[2])
{
	sigset_t all;

	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, NULL);
	setsid();
	for (int fd = 0; fd <= STDERR_FILENO; fd++)
		close(fd);
	if (chdir("/") < 0 || dup2(fds[1], fds[0]) < 0)
		_exit(1);
	close_inherited(fds[0]);
	guard(fds[0]);
}

/* ----------------------------------------------------------------- our side */

static void leave(struct daemon *daemon, const char *why)
{
	log_line("the guardian is gone: %s", why);
	loop_remove(&daemon->loop, &daemon->guardian, NULL);
	close(daemon->guardian.fd);
	daemon->guardian.fd = -1;
}

static void guardian_ready(struct source *source, u32 events)
{
	struct daemon *daemon = container_of(source, struct daemon, guardian);

	if (events & (EPOLLHUP | EPOLLERR))
		leave(daemon, "it hung up");
	else if (files_guard(daemon))
		loop_change(&daemon->loop, source, 0);
}

/* -EAGAIN: there is no room just now. */
static int send_order(int sock, int number, bool attach)
{
	struct order order = { .number = number };
	union one_fd control = { .header = { .cmsg_len = CMSG_LEN(sizeof(int)),
					     .cmsg_level = SOL_SOCKET,
					     .cmsg_type = SCM_RIGHTS } };
	struct iovec iov = { .iov_base = &order, .iov_len = sizeof(order) };
	struct msghdr msg = { .msg_iov = &iov, .msg_iovlen = 1 };

	if (attach) {
		memcpy(CMSG_DATA(&control.header), &number, sizeof(number));
		msg.msg_control = &control;
		msg.msg_controllen = sizeof(control);
	}
	return sendmsg(sock, &msg, MSG_DONTWAIT | MSG_NOSIGNAL) < 0 ? -errno : 0;
}

bool guardian_keep(struct daemon *daemon, int fd)
{
	int error;

	if (daemon->guardian.fd < 0)
		return true;
	error = send_order(daemon->guardian.fd, fd, true);
	if (error == -EAGAIN) {
		loop_change(&daemon->loop, &daemon->guardian, EPOLLOUT);
		return false;
	}
	if (error)
		log_line("the guardian does not get a channel: %s", strerror(-error));
	return true;
}

/* Where there is no room for it, another channel will have the number some day. */
void guardian_forget(struct daemon *daemon, int fd)
{
	if (daemon->guardian.fd >= 0)
		(void)send_order(daemon->guardian.fd, fd, false);
}

/* So that whoever looks when we can be reached sees who is who. */
static pid_t fork_as(const char *name)
{
	char ours[16];
	pid_t pid;

	prctl(PR_GET_NAME, ours);
	prctl(PR_SET_NAME, name);
	pid = fork();
	if (pid)
		prctl(PR_SET_NAME, ours);
	return pid;
}

/* Early: it keeps our memory as it is now. */
int guardian_start(struct daemon *daemon)
{
	struct source *guardian = &daemon->guardian;
	int fds[2];
	pid_t pid;

	guardian->fd = -1;
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, fds) < 0)
		return -errno;
	/* Should somebody kill it, nothing of it stays. */
	signal(SIGCHLD, SIG_IGN);
	pid = fork_as(NAME);
	if (!pid)
		be_guardian(fds);
	close(fds[1]);
	if (pid < 0) {
		log_line("there is no guardian: %m");
		close(fds[0]);
		return 0;
	}
	guardian->fd = fds[0];
	guardian->ready = guardian_ready;
	return loop_add(&daemon->loop, guardian, 0);
}
