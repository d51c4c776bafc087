// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#define _GNU_SOURCE
#include "session/control.h"

#include <poll.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/time.h>

#include "base/settings.h"
#include "session/fdtable.h"
#include "session/own_files.h"
#include "session/answer_timeout.h"
#include "session/start.h"

enum connection_state {
	/* Empty place in the pool. */
	CONNECTION_NONE = 0,
	CONNECTION_IDLE,
	CONNECTION_BUSY,
};

/* --------------------------------------------------------------- one exchange */

/*
 * Sockets are passed by the address of their number. If the program takes the number of a pooled
 * connection while a request waits on it, the connection gets another one (session_fd_moved()).
 */

/* Descriptors that are sent with a message. */
struct attached {
	const int *fd;
	u32 n;
};

static const struct attached nothing;

static int send_message(const int *sock, const struct iovec *iov, int niov,
			const struct attached *attached)
{
	union {
		char space[CMSG_SPACE(VNET_MSG_FDS * sizeof(int))];
		struct cmsghdr header;
	} control = { .header = { .cmsg_len = CMSG_LEN(attached->n * sizeof(int)),
				  .cmsg_level = SOL_SOCKET,
				  .cmsg_type = SCM_RIGHTS } };
	struct msghdr msg = { .msg_iov = (struct iovec *)(uintptr_t)iov,
			      .msg_iovlen = (size_t)niov };
	u64 deadline = 0;
	long ret;

	if (attached->n) {
		memcpy(CMSG_DATA(&control.header), attached->fd, attached->n * sizeof(int));
		msg.msg_control = &control;
		msg.msg_controllen = CMSG_SPACE(attached->n * sizeof(int));
	}
	/*
	 * A connection has one message at a time, so its socket buffer has room. Only on a new
	 * connection, the daemon's queue may be full.
	 */
	while ((ret = sys(SYS_sendmsg, nic_load(sock), &msg, MSG_NOSIGNAL | MSG_DONTWAIT)) ==
	       -EAGAIN) {
		deadline = deadline ? deadline : answer_deadline();
		ret = timed_poll(sock, POLLOUT, deadline);
		if (ret)
			break;
	}
	return ret < 0 ? (int)ret : 0;
}

static void take_fds(struct reply *reply, struct msghdr *msg)
{
	struct cmsghdr *cmsg;
	u32 n;

	reply->nfds = 0;
	reply->truncated = msg->msg_flags & MSG_CTRUNC;
	for (cmsg = CMSG_FIRSTHDR(msg); cmsg; cmsg = CMSG_NXTHDR(msg, cmsg)) {
		if (cmsg->cmsg_level != SOL_SOCKET || cmsg->cmsg_type != SCM_RIGHTS)
			continue;
		n = (u32)((cmsg->cmsg_len - CMSG_LEN(0)) / sizeof(int));
		memcpy(reply->fd, CMSG_DATA(cmsg), n * sizeof(int));
		reply->nfds = n;
	}
}

/*
 * Receive with the socket's own timeout, by one system call. 0: the peer has hung up; the caller's
 * next recvmsg() sees that again.
 */
static long receive_timed(int sock, struct msghdr *msg)
{
	struct msghdr first = *msg;
	long ret = sys(SYS_recvmsg, sock, &first, MSG_CMSG_CLOEXEC);

	*msg = ret < 0 ? *msg : first;
	return ret == -EAGAIN ? -ETIMEDOUT : ret;
}

/* `timed`: the socket has a receive timeout of answer_limit() (limit_wait()). */
static int receive_reply(const int *sock, bool timed, struct reply *reply)
{
	union {
		char space[CMSG_SPACE(sizeof(reply->fd))];
		struct cmsghdr header;
	} control = { .space = { 0 } };
	struct iovec iov = { .iov_base = reply->bytes, .iov_len = sizeof(reply->bytes) };
	struct msghdr msg = { .msg_iov = &iov,
			      .msg_iovlen = 1,
			      .msg_control = &control,
			      .msg_controllen = sizeof(control) };
	u64 deadline = answer_deadline();
	long ret = timed && !answer_overdue() ? receive_timed(nic_load(sock), &msg) : -EINTR;

	/*
	 * A signal has interrupted the call, or the socket has no timeout: wait for the rest of the
	 * time.
	 */
	if (ret == -EINTR)
		ret = timed_poll(sock, POLLIN, deadline);
	if (!ret)
		ret = sys(SYS_recvmsg, nic_load(sock), &msg, MSG_CMSG_CLOEXEC | MSG_DONTWAIT);
	if (ret < 0)
		return (int)ret;
	take_fds(reply, &msg);
	reply->length = (u32)ret;
	if (ret < (long)sizeof(reply->msg) || (msg.msg_flags & MSG_TRUNC)) {
		control_drop_fds(reply);
		return -EIO;
	}
	/* If the message is shorter than the buffer, the rest reads as zero. */
	memset(reply->bytes + ret, 0, sizeof(reply->bytes) - (size_t)ret);
	return 0;
}

/*
 * The daemon serialises all requests: accesses of a thread before its request happen before later
 * requests of other threads (which may get the same queue memory, for example). ThreadSanitizer
 * does not see the daemon, so this function declares the order to ThreadSanitizer.
 */
static void tsan_daemon_order(void)
{
#ifdef __SANITIZE_THREAD__
	static u32 order;

	__atomic_fetch_add(&order, 1, __ATOMIC_ACQ_REL);
#endif
}

static int exchange(const int *sock, bool timed, const struct iovec *iov, int niov,
		    const struct attached *attached, struct reply *reply)
{
	int ret;

	tsan_daemon_order();
	ret = send_message(sock, iov, niov, attached);
	if (!ret)
		ret = receive_reply(sock, timed, reply);
	tsan_daemon_order();
	if (!ret)
		daemon_answered();
	return ret == -EPIPE || ret == -ECONNRESET ? -EIO : ret;
}

int control_exchange(int sock, const struct iovec *iov, int niov, struct reply *reply)
{
	return exchange(&sock, false, iov, niov, &nothing, reply);
}

void control_drop_fds(struct reply *reply)
{
	u32 i;

	for (i = 0; i < reply->nfds; i++)
		sys_close(reply->fd[i]);
	reply->nfds = 0;
}

/* ------------------------------------------------------------------- the pool */

/* A description of this process for people: its arguments, or the thread's name. */
static void describe(char *text, size_t size)
{
	int fd = sys_open("/proc/self/cmdline", O_RDONLY);
	long i, n = fd < 0 ? fd : sys(SYS_read, fd, text, size - 1);

	sys_close(fd);
	if (n <= 0) {
		(void)sys(SYS_prctl, PR_GET_NAME, text);
		return;
	}
	text[n] = '\0';
	for (i = 0; i + 1 < n; i++)
		if (!text[i])
			text[i] = ' ';
}

int control_hello(int sock, struct session *session, struct reply *reply)
{
	struct vnet_msg_hello hello = {
		.msg = { .type = VNET_MSG_HELLO, .length = sizeof(hello) },
		.version = VNET_PROTO_VERSION,
		.space = session->space,
		.cookie = session->cookie,
	};
	struct iovec iov = { .iov_base = &hello, .iov_len = sizeof(hello) };
	struct own_files files = { .n = 0 };
	struct attached attached;
	int ret = 0;

	describe(hello.command, sizeof(hello.command));
	memcpy(hello.devices, settings()->devices, sizeof(hello.devices));
	memcpy(hello.link_layer, settings()->link_layer, sizeof(hello.link_layer));
	if (!session->space)
		ret = own_files_open(&files);
	attached = (struct attached){ .fd = files.fd, .n = files.n };
	if (!ret)
		ret = exchange(&sock, false, &iov, 1, &attached, reply);
	own_files_close(&files);
	if (ret)
		return ret;
	if (reply->length < sizeof(reply->welcome) || reply->msg.type != VNET_MSG_HELLO)
		ret = -EPROTO;
	else
		ret = -(int)reply->welcome.error;
	if (ret)
		control_drop_fds(reply);
	return ret;
}

/*
 * Set the receive timeout. Only for sockets of the library: the program's own reads may wait
 * without limit.
 */
static void limit_wait(int sock)
{
	const struct timeval limit = { .tv_sec = (time_t)answer_limit() };

	(void)sys(SYS_setsockopt, sock, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
}

/* Put a connection into the pool, in this state. Returns its index, or -1 if the pool is full. */
static int pool_add(struct session *session, int sock, u32 state)
{
	struct connection *c;
	u32 i, none;

	for (i = 0; i < SESSION_CONNECTIONS; i++) {
		c = &session->connection[i];
		none = CONNECTION_NONE;
		if (__atomic_load_n(&c->state, __ATOMIC_RELAXED) != CONNECTION_NONE ||
		    !__atomic_compare_exchange_n(&c->state, &none, CONNECTION_BUSY, false,
						 __ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
			continue;
		limit_wait(sock);
		c->fd = fdtable_keep(sock, false);
		__atomic_store_n(&c->state, state, __ATOMIC_RELEASE);
		return (int)i;
	}
	return -1;
}

void control_keep(struct session *session, int sock)
{
	if (pool_add(session, sock, CONNECTION_IDLE) < 0)
		sys_close(sock);
}

/*
 * Take an idle connection. Returns its index, or -1. A connection whose number the program has
 * replaced without our notice (by a raw system call) is dropped.
 */
static int pool_take(struct session *session)
{
	struct connection *c;
	u32 i, idle;

	for (i = 0; i < SESSION_CONNECTIONS; i++) {
		c = &session->connection[i];
		idle = CONNECTION_IDLE;
		if (__atomic_load_n(&c->state, __ATOMIC_RELAXED) != CONNECTION_IDLE ||
		    !__atomic_compare_exchange_n(&c->state, &idle, CONNECTION_BUSY, false,
						 __ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
			continue;
		if (fdtable_is_kept(c->fd))
			return (int)i;
		__atomic_store_n(&c->state, CONNECTION_NONE, __ATOMIC_RELEASE);
	}
	return -1;
}

/*
 * Make a socket pair, and send one end to the daemon over the session's first connection (door_fd).
 * No answer is needed, and this connection carries nothing else, so any number of threads and
 * signal handlers may do this at the same time.
 */
static int connect_by_session(struct session *session)
{
	struct vnet_msg connect = { .type = VNET_MSG_CONNECT, .length = sizeof(connect) };
	struct iovec iov = { .iov_base = &connect, .iov_len = sizeof(connect) };
	struct attached attached = { .n = 1 };
	int ret, pair[2];

	if (!fdtable_is_kept(session->door_fd))
		return -EIO;
	ret = (int)sys(SYS_socketpair, AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair);
	if (ret)
		return ret;
	attached.fd = &pair[1];
	ret = send_message(&session->door_fd, &iov, 1, &attached);
	sys_close(pair[1]);
	if (!ret)
		return pair[0];
	sys_close(pair[0]);
	return ret == -EPIPE || ret == -ECONNRESET ? -EIO : ret;
}

int control_connect(struct session *session)
{
	int sock = daemon_connect();

	if (sock >= 0 || sock == -ETIMEDOUT || sock == -ECANCELED || !session_alive(session))
		return sock;
	/* The process has changed its user or its root directory. */
	return connect_by_session(session);
}

/* Returns a new connection of this session, or a negative errno. */
static int connect_again(struct session *session)
{
	struct reply reply;
	int ret, sock = control_connect(session);

	if (sock < 0)
		return sock;
	ret = control_hello(sock, session, &reply);
	if (!ret)
		return sock;
	sys_close(sock);
	return ret;
}

/*
 * Make sure that the daemon does not write an answer into the program's memory, which is about to
 * be reused. close() would not be enough, because forked processes may have the socket, too.
 */
static void hang_up(int sock)
{
	(void)sys(SYS_shutdown, sock, SHUT_RDWR);
}

/* --------------------------------------------------------------- the requests */

/* A request that waits for its answer, in the stack frame of the waiting thread. */
struct waiting {
	/* Its number is place->fd, or that of a connection for this request only. */
	const int *sock;
	/* Place in the pool, or NULL. */
	struct connection *place;
	/* The request that a signal handler interrupted before it made this one. */
	struct waiting *outer;
	bool given_up;
};

static __thread struct waiting *innermost __attribute__((tls_model("initial-exec")));

/*
 * Close the connection, and free its place in the pool. If the session has ended, another thread
 * may have closed it (session_get()), and the number may be the program's by now.
 */
static void end_connection(const struct waiting *w)
{
	int fd = nic_load(w->sock);

	if (!w->place) {
		hang_up(fd);
		sys_close(fd);
		return;
	}
	if (__atomic_exchange_n(&w->place->state, CONNECTION_NONE, __ATOMIC_ACQ_REL) ==
		    CONNECTION_NONE ||
	    !fdtable_is_kept(fd))
		return;
	hang_up(fd);
	fdtable_drop(fd);
}

void control_give_up(void)
{
	struct waiting *w = innermost;

	if (likely(!w) || session_in_vfork_child())
		return;
	innermost = NULL;
	for (; w; w = w->outer) {
		if (w->given_up)
			continue;
		w->given_up = true;
		end_connection(w);
	}
}

void control_forked(void)
{
	innermost = NULL;
}

/* A late answer may still arrive, and would be taken for the answer to the next request. */
static bool has_late_answer(int ret)
{
	return ret == -EIO || ret == -ETIMEDOUT || ret == -ECANCELED;
}

/* Make the request. Afterwards its connection is idle, or closed. */
static int ask(struct waiting *w, const struct iovec *iov, int niov,
	       const struct attached *attached, struct reply *reply)
{
	u32 busy = CONNECTION_BUSY;
	int ret;

	w->outer = innermost;
	/* Publish `w` to signal handlers of this thread before anything is sent. */
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	innermost = w;
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	ret = exchange(w->sock, w->place != NULL, iov, niov, attached, reply);
	innermost = w->outer;
	/* From here on, no signal handler can give up this request. */
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	if (w->given_up)
		return -EIO;
	if (!w->place || has_late_answer(ret))
		end_connection(w);
	else
		(void)__atomic_compare_exchange_n(&w->place->state, &busy, CONNECTION_IDLE, false,
						  __ATOMIC_RELEASE, __ATOMIC_RELAXED);
	return ret;
}

static int request(struct session *session, const struct iovec *iov, int niov,
		   const struct attached *attached, struct reply *reply)
{
	int place, sock = -1;
	struct waiting w = { .sock = &sock };

	if (!session_alive(session))
		return -EIO;
	place = pool_take(session);
	if (place < 0) {
		sock = connect_again(session);
		if (sock < 0)
			return session_alive(session) ? sock : -EIO;
		place = pool_add(session, sock, CONNECTION_BUSY);
	}
	/* If the pool is full, this connection serves one request only. */
	if (place >= 0) {
		w.place = &session->connection[place];
		w.sock = &w.place->fd;
	}
	return ask(&w, iov, niov, attached, reply);
}

int control_request_with(struct session *session, const struct iovec *iov, int niov, const int *fd,
			 u32 nfds, struct reply *reply)
{
	struct attached attached = { .fd = fd, .n = nfds };
	int ret = request(session, iov, niov, &attached, reply);

	if (ret == -ETIMEDOUT)
		daemon_timed_out(session->agent);
	return ret;
}

int control_request(struct session *session, const struct iovec *iov, int niov, struct reply *reply)
{
	return control_request_with(session, iov, niov, NULL, 0, reply);
}
