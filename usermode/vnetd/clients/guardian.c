// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The guardian process, which shuts down completion channels when the daemon dies. A program may
 * sleep on a channel in its own poll(), where only that descriptor can wake it. The descriptor
 * hangs up when the daemon's end has no holder, but peers hold that end, too, to wake the
 * program. So the guardian keeps a copy of each such socket, and shuts it down after the daemon's
 * death, whatever its cause.
 *
 * The guardian sleeps on a socket to the daemon, and learns of the death by its hang-up. Each
 * socket has the same descriptor number in both processes, so neither needs a table. The
 * guardian's end of the socket between them has the number of the daemon's end.
 *
 * Nothing else depends on the guardian. If it is killed, programs that sleep in this way are not
 * woken.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "clients.h"
#include "connections.h"
#include "daemon.h"
#include "loop/loop.h"
#include "process/process.h"

#define NAME "vnetd-guardian"

/* A message to the guardian: keep the attached descriptor, or, without one, close `number`. */
struct order {
	/* The daemon's number of the descriptor. */
	int number;
};

union one_fd {
	char space[CMSG_SPACE(sizeof(int))];
	struct cmsghdr header;
};

/* ------------------------------------------------------------- the guardian */

/* Returns the attached descriptor, or -1. */
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

/*
 * Moves fd to `number`, or only closes `number` if fd is -1. The previous descriptor `number` is
 * closed even if dup3() fails.
 */
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

/* Receives and executes one order. Returns its number, 0 at end of file, or -errno. */
static int receive_order(int sock)
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

	while ((number = receive_order(sock)) > 0)
		highest = number > highest ? number : highest;
	/*
	 * FUTEX_OWNER_DIED is already set in agent_life (agent_life.c), so woken programs see the
	 * death.
	 */
	for (int fd = STDERR_FILENO + 1; !number && fd <= highest; fd++)
		if (fd != sock)
			shutdown(fd, SHUT_RDWR);
	_exit(number ? 1 : 0);
}

/*
 * Becomes the guardian. Keeps none of the daemon's descriptors, and blocks all signals: the
 * guardian ends when the daemon does.
 */
static void __attribute__((noreturn)) guardian_main(const int fds[2])
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

/* -------------------------------------------------------- the daemon's side */

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

/* Returns 0 or -errno; -EAGAIN if the socket is full. */
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
		log_line("a channel cannot be passed to the guardian: %s", strerror(-error));
	return true;
}

/*
 * If the socket is full, the guardian keeps the descriptor until another channel gets its number.
 */
void guardian_forget(struct daemon *daemon, int fd)
{
	if (daemon->guardian.fd >= 0)
		(void)send_order(daemon->guardian.fd, fd, false);
}

/* Forks with the child's name already set, so that it never appears as a second vnetd. */
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

/* Called early: the child keeps a copy of the daemon's memory as of now. */
int guardian_start(struct daemon *daemon)
{
	struct source *guardian = &daemon->guardian;
	int fds[2];
	pid_t pid;

	guardian->fd = -1;
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, fds) < 0)
		return -errno;
	/* If the guardian is killed, it must not remain a zombie. */
	signal(SIGCHLD, SIG_IGN);
	pid = fork_as(NAME);
	if (!pid)
		guardian_main(fds);
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
