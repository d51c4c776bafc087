// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* The listening socket, access control by user, and the exit of an idle daemon. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "clients/clients.h"
#include "clients/connections.h"
#include "daemon.h"
#include "devices/devices.h"
#include "loop/loop.h"

#define ACCEPTS_A_TURN 16
#define EXHAUSTED_PAUSE (100 * NSEC_PER_MSEC)
/* Time in which a peer may retransmit a packet whose answer was lost. */
#define PEERS_LINGER (3 * NSEC_PER_SEC)

/* Descriptors ran out: accepts one connection with the spare descriptor, and closes it. */
static bool refuse_one(struct daemon *daemon)
{
	int fd;

	if (daemon->reserve_fd < 0)
		return false;
	close(daemon->reserve_fd);
	fd = accept4(daemon->listener.fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
	if (fd >= 0)
		close(fd);
	daemon->reserve_fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
	log_line("a connection is refused: no more descriptors");
	return fd >= 0;
}

/* Accepts pending connections. Returns their number; errno says why it stopped. */
static u32 accept_some(struct daemon *daemon)
{
	u32 count = 0;

	for (; count < ACCEPTS_A_TURN; count++) {
		int fd = accept4(daemon->listener.fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
		struct ucred peer;
		socklen_t length = sizeof(peer);

		if (fd < 0)
			break;
		if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &length) < 0 ||
		    peer.uid != geteuid()) {
			log_line("a connection by another user (%u) is refused", peer.uid);
			close(fd);
			continue;
		}
		conn_new(daemon, fd, peer.pid);
	}
	return count;
}

static void listener_ready(struct source *source, u32 events)
{
	struct daemon *daemon = container_of(source, struct daemon, listener);

	(void)events;
	errno = 0;
	if (accept_some(daemon) || (errno != EMFILE && errno != ENFILE))
		return;
	if (refuse_one(daemon))
		return;
	/* Nothing could be accepted: retry later instead of spinning. */
	loop_listen(&daemon->loop, source, false);
	daemon->resume_at = clock_now() + EXHAUSTED_PAUSE;
}

int listen_open(struct daemon *daemon)
{
	struct sockaddr_un addr = { .sun_family = AF_UNIX };
	struct source *listener = &daemon->listener;
	int error;

	daemon->resume_at = NEVER;
	listener->fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (listener->fd < 0)
		return -errno;
	snprintf(addr.sun_path, sizeof(addr.sun_path), "%s/%s", daemon->dir, VNET_SOCKET_NAME);
	/* The lock is held, so a socket file here is stale. */
	unlinkat(daemon->dir_fd, VNET_SOCKET_NAME, 0);
	if (bind(listener->fd, (struct sockaddr *)&addr, sizeof(addr)) < 0 ||
	    listen(listener->fd, SOMAXCONN) < 0) {
		error = -errno;
		close(listener->fd);
		return error;
	}
	listener->ready = listener_ready;
	return loop_add(&daemon->loop, listener, EPOLLIN);
}

void listen_close(struct daemon *daemon)
{
	if (daemon->listener.fd < 0)
		return;
	unlinkat(daemon->dir_fd, VNET_SOCKET_NAME, 0);
	loop_remove(&daemon->loop, &daemon->listener, NULL);
	close(daemon->listener.fd);
	daemon->listener.fd = -1;
}

static bool in_use(const struct daemon *daemon)
{
	return daemon->nconns || daemon->nfiles || daemon->nclients;
}

/*
 * Ends the daemon because it is idle. A client may connect at the same time. So the socket's name
 * is removed first; later clients start a new daemon, which waits for the lock. Then pending
 * connections are accepted; if there are any, the daemon opens a new socket and continues. A
 * client that has opened the name but is not in the queue yet gets a reset when the socket is
 * closed, and tries again.
 */
static void retire(struct daemon *daemon)
{
	unlinkat(daemon->dir_fd, VNET_SOCKET_NAME, 0);
	if (accept_some(daemon) == 0) {
		daemon->stop = "idle";
		return;
	}
	listen_close(daemon);
	if (listen_open(daemon) < 0)
		daemon->stop = "the socket could not be made again";
}

/*
 * Resets NIC memory when there is no client. If a NIC has exchanged frames, waits PEERS_LINGER
 * first: a peer may not have received its last answer, and retransmits. Returns the time of the
 * next call.
 */
static u64 renew_unused(struct daemon *daemon, u64 now)
{
	u64 due = daemon->idle_since + (devices_had_traffic(daemon) ? PEERS_LINGER : 0);

	if (daemon->renewed)
		return NEVER;
	if (now < due)
		return due;
	devices_renew(daemon);
	daemon->renewed = true;
	return NEVER;
}

u64 listen_run(struct daemon *daemon, u64 now)
{
	u64 idle_for = daemon->options.idle_exit;
	u64 next;

	if (daemon->resume_at <= now) {
		daemon->resume_at = NEVER;
		if (daemon->reserve_fd < 0)
			daemon->reserve_fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
		loop_listen(&daemon->loop, &daemon->listener, true);
	}
	if (in_use(daemon)) {
		daemon->idle_since = NEVER;
		daemon->renewed = false;
		return daemon->resume_at;
	}
	if (daemon->idle_since == NEVER)
		daemon->idle_since = now;
	next = earlier(daemon->resume_at, renew_unused(daemon, now));
	if (!idle_for)
		return next;
	if (now < daemon->idle_since + idle_for)
		return earlier(next, daemon->idle_since + idle_for);
	retire(daemon);
	return daemon->resume_at;
}
