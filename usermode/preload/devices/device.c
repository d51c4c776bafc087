// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#define _GNU_SOURCE
#include "devices/device.h"

#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/sysmacros.h>
#include <sys/un.h>

#include "base/settings.h"
#include "devices/orphaned_ids.h"
#include "session/control.h"
#include "session/answer_timeout.h"
#include "session/start.h"

/* Limit of requests for a descriptor whose nonce the daemon has not read yet. */
#define ADOPT_ATTEMPTS 200

void device_stat(struct stat *st, u32 minor)
{
	st->st_mode = S_IFCHR | 0666;
	st->st_rdev = makedev(minor == VNET_RDMA_CM_MINOR ? VNET_RDMA_CM_MAJOR : VNET_UVERBS_MAJOR,
			      minor);
	st->st_size = 0;
	st->st_blocks = 0;
}

/* ------------------------------------------------------------------------ open */

/* Consume the descriptors of a reply to OPEN. */
static void take_opened(struct session *s, struct reply *reply)
{
	if (reply->nfds == 1 && reply->opened.kind == VNET_FILE_RDMA_CM)
		orphans_map(s, reply->fd[0]);
	control_drop_fds(reply);
}

static int exchange_open(struct session *s, int sock, u32 type, u32 minor, struct reply *reply)
{
	struct vnet_msg_open open = {
		.msg = { .type = type, .length = sizeof(open) },
		.version = VNET_PROTO_VERSION,
		.minor = minor,
	};
	struct iovec iov = { .iov_base = &open, .iov_len = sizeof(open) };
	socklen_t size = sizeof(open.cookie);
	int ret;

	if (sys(SYS_getsockopt, sock, SOL_SOCKET, SO_COOKIE, &open.cookie, &size))
		open.cookie = 0;
	ret = control_exchange(sock, &iov, 1, reply);
	if (ret == -ETIMEDOUT)
		daemon_timed_out(s->agent);
	if (ret)
		return ret;
	if (reply->length < sizeof(reply->opened) || reply->msg.type != type) {
		control_drop_fds(reply);
		return -EPROTO;
	}
	take_opened(s, reply);
	return -(int)reply->opened.error;
}

static void enter(struct fd_entry *entry, struct session *session,
		  const struct vnet_msg_opened *opened)
{
	*entry = (struct fd_entry){
		.kind = (enum fd_kind)opened->kind,
		.session = session,
		.file_id = opened->file_id,
		.minor = opened->kind == VNET_FILE_RDMA_CM ? VNET_RDMA_CM_MINOR : opened->minor,
		.nic = opened->nic,
		.number = opened->number,
		.generation = opened->generation,
	};
}

/* Apply the flags of the program's open(); the connection was made close-on-exec. */
static void set_flags(int fd, int flags)
{
	if (flags & O_NONBLOCK)
		(void)sys(SYS_fcntl, fd, F_SETFL, O_RDWR | O_NONBLOCK);
	if (!(flags & O_CLOEXEC))
		(void)sys(SYS_fcntl, fd, F_SETFD, 0);
}

/*
 * librspreload gives a program a placeholder descriptor for each rsocket, and numbers the rsocket
 * by the descriptor of its rdma_cm file. Its select() searches the program's descriptors in
 * ascending order for the rsocket's number. It finds the wrong one if a descriptor below the
 * placeholder has that number, as for accepted connections, whose rdma_cm file is opened first. So
 * rdma_cm files get numbers that programs rarely reach. If the limit of descriptors is too low for
 * that, the next free number is used.
 */
#define RDMA_CM_FD_MIN 256

static int move_up(int fd)
{
	int high = (int)sys(SYS_fcntl, fd, F_DUPFD_CLOEXEC, RDMA_CM_FD_MIN);

	if (high < 0)
		return fd;
	sys_close(fd);
	return high;
}

static int make_file(u32 type, u32 minor, int flags)
{
	struct fd_entry entry;
	struct session *s;
	struct reply reply;
	int ret, sock;

	s = session_get(&ret);
	if (!s)
		return ret;
	sock = control_connect(s);
	if (sock < 0)
		return sock;
	if (type == VNET_MSG_OPEN && minor == VNET_RDMA_CM_MINOR)
		sock = move_up(sock);
	ret = exchange_open(s, sock, type, minor, &reply);
	if (!ret) {
		enter(&entry, s, &reply.opened);
		ret = fdtable_set(sock, &entry);
	}
	if (ret) {
		sys_close(sock);
		return ret;
	}
	set_flags(sock, flags);
	return sock;
}

int device_open(u32 minor, int flags)
{
	return make_file(VNET_MSG_OPEN, minor, flags);
}

int device_socket(u32 type, int flags)
{
	return make_file(VNET_MSG_SOCKET, type, flags);
}

/* ----------------------------------------------------------------------- adopt */

static bool is_seqpacket(int fd)
{
	socklen_t length = sizeof(int);
	int domain = 0, type = 0;

	return !sys(SYS_getsockopt, fd, SOL_SOCKET, SO_DOMAIN, &domain, &length) &&
	       domain == AF_UNIX && !sys(SYS_getsockopt, fd, SOL_SOCKET, SO_TYPE, &type, &length) &&
	       type == SOCK_SEQPACKET;
}

/* Is the peer's address that of a daemon's socket, whichever daemon? */
static bool has_daemon_name(int fd)
{
	static const char name[] = "/" VNET_SOCKET_NAME;
	struct sockaddr_un peer;
	socklen_t length = sizeof(peer);
	size_t n;

	memset(&peer, 0, sizeof(peer));
	if (sys(SYS_getpeername, fd, &peer, &length))
		return false;
	n = strnlen(peer.sun_path, sizeof(peer.sun_path));
	return n >= sizeof(name) &&
	       !memcmp(peer.sun_path + n - (sizeof(name) - 1), name, sizeof(name) - 1);
}

static pid_t peer_process(int fd)
{
	struct ucred peer = { 0 };
	socklen_t length = sizeof(peer);

	return sys(SYS_getsockopt, fd, SOL_SOCKET, SO_PEERCRED, &peer, &length) ? 0 : peer.pid;
}

/* PID of the daemon that listens, or 0. Starts none. */
static pid_t daemon_process(void)
{
	struct session *s = session_current();
	int sock;
	pid_t pid;

	if (s && session_alive(s))
		return s->agent;
	if (!session_in_vfork_child())
		node_place_renew();
	sock = daemon_connect();
	if (sock < 0)
		return 0;
	pid = peer_process(sock);
	sys_close(sock);
	return pid;
}

/* Was the socket made by our daemon? Its socket pairs have no name, but have its credentials. */
static bool is_daemons(int fd)
{
	pid_t pid = peer_process(fd);

	return pid > 0 && pid == daemon_process();
}

/*
 * Ask the daemon which file the descriptor is. A nonce is sent over the descriptor first, if
 * possible, by which the daemon recognises it.
 */
static int ask_which(struct session *s, int fd, struct reply *reply)
{
	struct vnet_msg_adopt adopt = {
		.msg = { .type = VNET_MSG_ADOPT, .length = sizeof(adopt) },
	};
	struct iovec iov = { .iov_base = &adopt, .iov_len = sizeof(adopt) };
	struct timespec pause = { .tv_nsec = 1000000 };
	int attempt, ret, attempts = ADOPT_ATTEMPTS;

	if (sys(SYS_getrandom, &adopt.nonce, sizeof(adopt.nonce), 0) != (long)sizeof(adopt.nonce))
		return -EIO;
	if (sys(SYS_sendto, fd, &adopt, sizeof(adopt), MSG_NOSIGNAL | MSG_DONTWAIT) < 0)
		attempts = 1;
	adopt.msg.type = VNET_MSG_WHICH;
	for (attempt = 0; attempt < attempts; attempt++) {
		ret = control_request_with(s, &iov, 1, &fd, 1, reply);
		if (ret)
			return ret;
		take_opened(s, reply);
		if (reply->opened.error != ENOENT)
			return -(int)reply->opened.error;
		(void)sys(SYS_nanosleep, &pause, NULL);
	}
	return -ENOENT;
}

bool device_adopt(int fd)
{
	struct fd_entry entry;
	struct session *s;
	struct reply reply;

	if (settings()->off || (unsigned int)fd >= FDTABLE_SIZE || !is_seqpacket(fd))
		return false;
	if (fdtable_hint(fd) == FD_KEPT || !(has_daemon_name(fd) || is_daemons(fd)))
		return false;
	s = session_get(NULL);
	if (!s || peer_process(fd) != s->agent || ask_which(s, fd, &reply))
		return false;
	enter(&entry, s, &reply.opened);
	return !fdtable_set(fd, &entry);
}

/* --------------------------------------------------------------------- sessions */

int device_session(const struct fd_entry *entry, struct session **session)
{
	struct session *s = session_current();
	int ret = -EIO;

	/* The file's daemon is gone, and no other daemon knows the file. */
	if (!session_alive(entry->session))
		return -EIO;
	if (s != entry->session) {
		s = session_get(&ret);
		if (!s)
			return ret;
		if (!session_same_agent(s, entry->session))
			return -EIO;
	}
	*session = s;
	return 0;
}
