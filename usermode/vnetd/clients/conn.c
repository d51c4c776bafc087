// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Connections: receive and validate messages, and send replies. Each turn of the event loop
 * handles one message per connection, so that no client can monopolise the daemon. No function
 * waits for a peer to read.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "clients.h"
#include "connections.h"
#include "control.h"
#include "daemon.h"
#include "loop/loop.h"

/* Time limit for the first message of a new connection. */
#define HELLO_TIMEOUT (10 * NSEC_PER_SEC)
/* Descriptors of the largest reply: for each NIC, memory, eventfd, link memory and socket. */
#define MAX_SENT_FDS (4 * VNET_MAX_NICS)

/* Shared receive buffer: the daemon handles one message at a time. Aligned for any message. */
static u8 buffer[VNET_MSG_MAX] __attribute__((aligned(16)));

static void close_attached(struct conn *conn)
{
	for (u32 i = 0; i < conn->nattached; i++)
		if (conn->attached[i] >= 0)
			close(conn->attached[i]);
	conn->nattached = 0;
}

static void drop_message(struct conn *conn)
{
	close_attached(conn);
	free(conn->message);
	conn->message = NULL;
	if (conn->file)
		file_call_end(conn->file);
	conn->file = NULL;
}

/* Unlinks the connection and schedules its memory to be freed. The socket stays open. */
static void forget(struct conn *conn)
{
	struct daemon *daemon = conn->daemon;
	struct client *client = conn->client;

	park_remove(&conn->parked);
	drop_message(conn);
	if (conn->prev)
		conn->prev->next = conn->next;
	else
		daemon->conns = conn->next;
	if (conn->next)
		conn->next->prev = conn->prev;
	daemon->nconns--;
	loop_remove(&daemon->loop, &conn->source, conn);
	conn->client = NULL;
	if (client)
		client_conn_closed(client);
}

void conn_close(struct conn *conn)
{
	int fd = conn->source.fd;

	if (!conn->source.ready)
		return;
	forget(conn);
	close(fd);
}

int conn_release(struct conn *conn)
{
	int fd = conn->source.fd;

	forget(conn);
	return fd;
}

void conn_close_client(struct daemon *daemon, struct client *client)
{
	struct conn *conn, *next;

	for (conn = daemon->conns; conn; conn = next) {
		next = conn->next;
		if (conn->client == client)
			conn_close(conn);
	}
}

/* ------------------------------------------------------------------ sending */

bool socket_send(int sock, const void *message, u32 length, const int *fds, u32 nfds)
{
	union {
		char space[CMSG_SPACE(MAX_SENT_FDS * sizeof(int))];
		struct cmsghdr align;
	} control;
	struct iovec iov = { .iov_base = (void *)(uintptr_t)message, .iov_len = length };
	struct msghdr msg = { .msg_iov = &iov, .msg_iovlen = 1 };

	if (nfds) {
		struct cmsghdr *cmsg = &control.align;

		memset(&control, 0, sizeof(control));
		cmsg->cmsg_level = SOL_SOCKET;
		cmsg->cmsg_type = SCM_RIGHTS;
		cmsg->cmsg_len = CMSG_LEN(nfds * sizeof(int));
		memcpy(CMSG_DATA(cmsg), fds, nfds * sizeof(int));
		msg.msg_control = &control;
		msg.msg_controllen = CMSG_SPACE(nfds * sizeof(int));
	}
	return sendmsg(sock, &msg, MSG_DONTWAIT | MSG_NOSIGNAL) == (ssize_t)length;
}

bool conn_send(struct conn *conn, const void *message, u32 length, const int *fds, u32 nfds)
{
	if (socket_send(conn->source.fd, message, length, fds, nfds))
		return true;
	if (errno != EPIPE && errno != ECONNRESET)
		log_line("process %d: a reply cannot be sent: %m", conn->pid);
	conn_close(conn);
	return false;
}

/* ---------------------------------------------------------------- receiving */

/* Stores attached descriptors in conn->attached, and closes those beyond its size. */
static void take_descriptors(struct conn *conn, struct msghdr *msg)
{
	struct cmsghdr *cmsg = CMSG_FIRSTHDR(msg);
	size_t count, i;
	int fd;

	if (!cmsg || cmsg->cmsg_level != SOL_SOCKET || cmsg->cmsg_type != SCM_RIGHTS)
		return;
	count = (cmsg->cmsg_len - CMSG_LEN(0)) / sizeof(int);
	for (i = 0; i < count; i++) {
		memcpy(&fd, CMSG_DATA(cmsg) + i * sizeof(int), sizeof(int));
		if (conn->nattached < VNET_MSG_FDS)
			conn->attached[conn->nattached++] = fd;
		else
			close(fd);
	}
}

/* Receives into `buffer`. Returns the length; 0: nothing to handle, conn may be closed. */
static u32 receive(struct conn *conn)
{
	union {
		char space[CMSG_SPACE(VNET_MSG_FDS * sizeof(int))];
		struct cmsghdr align;
	} control;
	struct iovec iov = { .iov_base = buffer, .iov_len = sizeof(buffer) };
	struct msghdr msg = {
		.msg_iov = &iov,
		.msg_iovlen = 1,
		.msg_control = &control,
		.msg_controllen = sizeof(control),
	};
	ssize_t n = recvmsg(conn->source.fd, &msg, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return 0;
	if (n <= 0) {
		conn_close(conn);
		return 0;
	}
	/* The kernel has closed descriptors that did not fit into the control buffer. */
	take_descriptors(conn, &msg);
	if (msg.msg_flags & MSG_TRUNC)
		return sizeof(buffer) + 1;
	return (u32)n;
}

static enum call_outcome retry(struct parked *parked)
{
	struct conn *conn = container_of(parked, struct conn, parked);

	if (control_message(conn, conn->message) == CALL_PARK)
		return CALL_PARK;
	if (conn->source.ready) {
		drop_message(conn);
		loop_listen(&conn->daemon->loop, &conn->source, true);
	}
	return CALL_DONE;
}

/* Keeps the message and its descriptors; receives no other until it is answered. */
static void park(struct conn *conn, u32 length)
{
	conn->message = malloc(length);
	if (!conn->message) {
		log_line("process %d: no memory to keep its call", conn->pid);
		conn_close(conn);
		return;
	}
	memcpy(conn->message, buffer, length);
	loop_listen(&conn->daemon->loop, &conn->source, false);
	park_add(&conn->daemon->park, &conn->parked);
}

static void conn_ready(struct source *source, u32 events)
{
	struct conn *conn = container_of(source, struct conn, source);
	const struct vnet_msg *msg = (const struct vnet_msg *)(const void *)buffer;
	u32 length;

	if (conn->message) {
		/* The caller is gone. Objects are freed when their file is closed. */
		if (events & (EPOLLHUP | EPOLLERR))
			conn_close(conn);
		return;
	}
	length = receive(conn);
	if (!length)
		return;
	if (length < sizeof(*msg) || length > sizeof(buffer) || msg->length != length) {
		log_line("process %d: not a message (%u bytes)", conn->pid, length);
		conn_close(conn);
	} else if (control_message(conn, msg) == CALL_PARK) {
		park(conn, length);
		return;
	}
	close_attached(conn);
}

/* ---------------------------------------------------------- new connections */

void conn_new(struct daemon *daemon, int fd, pid_t pid)
{
	struct conn *conn = calloc(1, sizeof(*conn));

	if (!conn) {
		close(fd);
		return;
	}
	conn->daemon = daemon;
	conn->pid = pid;
	conn->greet_by = clock_now() + HELLO_TIMEOUT;
	conn->parked.retry = retry;
	conn->source.fd = fd;
	conn->source.ready = conn_ready;
	if (loop_add(&daemon->loop, &conn->source, EPOLLIN) < 0) {
		close(fd);
		free(conn);
		return;
	}
	conn->next = daemon->conns;
	if (conn->next)
		conn->next->prev = conn;
	daemon->conns = conn;
	daemon->nconns++;
	daemon->greet_at = earlier(daemon->greet_at, conn->greet_by);
}

u64 conn_run(struct daemon *daemon, u64 now)
{
	struct conn *conn, *next;

	if (now < daemon->greet_at)
		return daemon->greet_at;
	daemon->greet_at = NEVER;
	for (conn = daemon->conns; conn; conn = next) {
		next = conn->next;
		if (conn->greet_by <= now) {
			log_line("process %d: no message after it connected", conn->pid);
			conn_close(conn);
		} else {
			daemon->greet_at = earlier(daemon->greet_at, conn->greet_by);
		}
	}
	return daemon->greet_at;
}
