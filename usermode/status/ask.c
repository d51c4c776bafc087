// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "ask.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include "../vnet_proto.h"

/* A daemon answers at once, unless it is stopped. */
#define ANSWER_TIMEOUT_MS 5000

static void __attribute__((format(printf, 2, 3))) trouble(struct ask *ask, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(ask->problem, sizeof(ask->problem), format, args);
	va_end(args);
}

static struct ucred peer_of(int sock)
{
	struct ucred peer = { .pid = -1, .uid = (uid_t)-1 };
	socklen_t length = sizeof(peer);

	getsockopt(sock, SOL_SOCKET, SO_PEERCRED, &peer, &length);
	return peer;
}

static int connect_daemon(struct ask *ask)
{
	const struct timeval answer_limit = { .tv_sec = ANSWER_TIMEOUT_MS / 1000 };
	struct sockaddr_un addr = { .sun_family = AF_UNIX };
	int sock;

	if (snprintf(addr.sun_path, sizeof(addr.sun_path), "%s/%s/%s", ask->dir, ask->node,
		     VNET_SOCKET_NAME) >= (int)sizeof(addr.sun_path)) {
		trouble(ask, "%s/%s is too long for the address of a socket", ask->dir, ask->node);
		return -1;
	}
	sock = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	if (sock < 0) {
		trouble(ask, "cannot make a socket: %s", strerror(errno));
		return -1;
	}
	/* Also limits connect(), which waits while the daemon's backlog is full. */
	setsockopt(sock, SOL_SOCKET, SO_SNDTIMEO, &answer_limit, sizeof(answer_limit));
	if (connect(sock, (struct sockaddr *)&addr, sizeof(addr)) < 0) {
		ask->nobody = errno == ENOENT || errno == ECONNREFUSED || errno == ENOTDIR;
		if (ask->nobody)
			trouble(ask,
				"no vnetd runs for node '%s' in %s: it starts with the first "
				"program that uses the device, and ends when it is idle",
				ask->node, ask->dir);
		else if (errno == EAGAIN)
			trouble(ask, "vnetd in %s/%s does not answer (is it stopped?)", ask->dir,
				ask->node);
		else
			trouble(ask, "cannot reach %s: %s", addr.sun_path, strerror(errno));
		goto err;
	}
	/* Accept only a daemon of our own user. */
	if (peer_of(sock).uid != geteuid()) {
		trouble(ask, "%s belongs to another user", addr.sun_path);
		goto err;
	}
	return sock;
err:
	close(sock);
	return -1;
}

/* Receive the answer. Returns the descriptor that comes with it, or -1. */
static int receive(struct ask *ask, int sock, struct vnet_msg_result *result)
{
	union {
		char space[CMSG_SPACE(sizeof(int))];
		struct cmsghdr align;
	} control;
	struct iovec iov = { .iov_base = result, .iov_len = sizeof(*result) };
	struct msghdr msg = {
		.msg_iov = &iov,
		.msg_iovlen = 1,
		.msg_control = &control,
		.msg_controllen = sizeof(control),
	};
	struct pollfd poll_fd = { .fd = sock, .events = POLLIN };
	struct cmsghdr *cmsg;
	int fd = -1;

	if (poll(&poll_fd, 1, ANSWER_TIMEOUT_MS) == 0) {
		trouble(ask, "vnetd (process %d) does not answer (is it stopped?)",
			peer_of(sock).pid);
		return -1;
	}
	if (recvmsg(sock, &msg, MSG_CMSG_CLOEXEC) != sizeof(*result)) {
		result->error = EIO;
		trouble(ask, "vnetd is of another version, or just ended");
		return -1;
	}
	cmsg = CMSG_FIRSTHDR(&msg);
	if (cmsg && cmsg->cmsg_type == SCM_RIGHTS && cmsg->cmsg_len == CMSG_LEN(sizeof(int)))
		memcpy(&fd, CMSG_DATA(cmsg), sizeof(fd));
	if (result->error)
		trouble(ask, "vnetd refuses: %s", strerror((int)result->error));
	return fd;
}

static bool send_message(struct ask *ask, int sock, const struct vnet_msg *msg)
{
	if (send(sock, msg, msg->length, MSG_NOSIGNAL) == (ssize_t)msg->length)
		return true;
	trouble(ask, "vnetd just ended");
	return false;
}

static bool send_request(struct ask *ask, int sock, __u32 type)
{
	struct vnet_msg msg = { .type = type, .length = sizeof(msg) };

	return send_message(ask, sock, &msg);
}

static char *read_all(struct ask *ask, int fd, size_t *length)
{
	struct stat st;
	char *text = fstat(fd, &st) < 0 ? NULL : malloc((size_t)st.st_size + 1);

	*length = text ? (size_t)st.st_size : 0;
	if (text && pread(fd, text, *length, 0) == (ssize_t)*length)
		return text;
	free(text);
	trouble(ask, "cannot read what vnetd answered");
	return NULL;
}

/* Send a message whose answer is a file with text. Returns the text, or NULL. */
static char *ask_text(struct ask *ask, const struct vnet_msg *msg, size_t *length)
{
	struct vnet_msg_result result;
	char *text = NULL;
	int sock = connect_daemon(ask);
	int fd = -1;

	if (sock < 0)
		return NULL;
	if (send_message(ask, sock, msg))
		fd = receive(ask, sock, &result);
	if (fd >= 0) {
		text = read_all(ask, fd, length);
		close(fd);
	} else if (!ask->problem[0]) {
		trouble(ask, "vnetd answered nothing");
	}
	close(sock);
	return text;
}

char *ask_status(struct ask *ask, size_t *length)
{
	const struct vnet_msg msg = { .type = VNET_MSG_STATUS, .length = sizeof(msg) };

	return ask_text(ask, &msg, length);
}

char *ask_link(struct ask *ask, const char *command, size_t *length)
{
	struct vnet_msg_link msg = { .msg = { .type = VNET_MSG_LINK, .length = sizeof(msg) } };

	if (strlen(command) >= sizeof(msg.text)) {
		trouble(ask, "too long: %s", command);
		return NULL;
	}
	strcpy(msg.text, command);
	return ask_text(ask, &msg.msg, length);
}

/*
 * Wait for the end of the daemon's process or, if there is no pidfd, of its socket, which is closed
 * a little earlier. Returns false after the time limit.
 */
static bool wait_for_end(int sock, int pidfd)
{
	struct pollfd poll_fd = {
		.fd = pidfd < 0 ? sock : pidfd,
		.events = pidfd < 0 ? 0 : POLLIN,
	};

	return poll(&poll_fd, 1, ANSWER_TIMEOUT_MS) == 1;
}

/*
 * The daemon does not stop by itself, so kill it; SIGKILL also works on a stopped process. Programs
 * see an ordinary end of the daemon.
 */
static bool force_end(struct ask *ask, int sock, int pidfd)
{
	if (pidfd < 0 || syscall(SYS_pidfd_send_signal, pidfd, SIGKILL, NULL, 0) < 0)
		return false;
	fprintf(stderr, "vnet: vnetd (process %d) did not end by itself, so it is killed\n",
		peer_of(sock).pid);
	if (wait_for_end(sock, pidfd))
		return true;
	trouble(ask, "vnetd (process %d) was killed, but does not end", peer_of(sock).pid);
	return false;
}

bool ask_stop(struct ask *ask)
{
	struct vnet_msg_result result = { .error = ETIMEDOUT };
	int sock = connect_daemon(ask);
	bool ended = false;
	int fd, pidfd;

	if (sock < 0)
		return false;
	pidfd = (int)syscall(SYS_pidfd_open, peer_of(sock).pid, 0);
	if (send_request(ask, sock, VNET_MSG_STOP)) {
		fd = receive(ask, sock, &result);
		if (fd >= 0)
			close(fd);
	}
	if (!result.error) {
		ended = wait_for_end(sock, pidfd);
		if (!ended)
			trouble(ask, "vnetd does not end");
	}
	if (!ended && (!result.error || result.error == ETIMEDOUT))
		ended = force_end(ask, sock, pidfd);
	if (pidfd >= 0)
		close(pidfd);
	close(sock);
	return ended;
}
