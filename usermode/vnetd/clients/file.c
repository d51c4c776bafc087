// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Files: open device files, completion channels, async event files, and netlink sockets. The
 * program's descriptor is the other end of the daemon's socket. So the kernel counts its copies,
 * and a hang-up means that the last copy is closed.
 */
#include <errno.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "clients.h"
#include "connections.h"
#include "control.h"
#include "daemon.h"
#include "loop/loop.h"

#define NONCES 16
#define EVENTS (EPOLLIN | EPOLLRDHUP)
/*
 * Completion channels are watched for hang-up only, which epoll always reports. EPOLLIN and
 * EPOLLRDHUP would be reported as soon as make_edge() (usermode/platform/channel.c) has shut down
 * the receiving side of the daemon's end.
 */
#define CHANNEL_EVENTS 0

/* struct file, with the private part of this file. */
struct nic_file {
	struct file file;
	struct source source;
	/* Retries the close while file.closing is set. */
	struct parked parked;
	/* CHANNEL: the guardian holds a copy of the socket. */
	bool guarded;
	/* SO_COOKIE of the program's end; 0: not known. */
	u64 cookie;
	/* file_tell() has shut down the receiving side of `sock` to make an edge. */
	bool edged;
	/* Number of parked calls on this file. */
	u32 calls;
	/* The latest nonces of VNET_MSG_ADOPT: several processes may send one at once. */
	u64 nonce[NONCES];
	u32 next_nonce;
};

static struct nic_file *nic_file(struct file *file)
{
	return container_of(file, struct nic_file, file);
}

static struct file **bucket(struct daemon *daemon, u32 id)
{
	return &daemon->files[id % FILE_BUCKETS];
}

static struct file *find_any(struct daemon *daemon, u32 id)
{
	struct file *file = *bucket(daemon, id);

	while (file && file->id != id)
		file = file->next;
	return file;
}

struct file *file_find(struct daemon *daemon, u32 id)
{
	struct file *file = find_any(daemon, id);

	return file && !file->closing ? file : NULL;
}

/* ------------------------------------------------------------------ closing */

void file_destroy(struct file *file)
{
	struct daemon *daemon = file->daemon;
	struct file **link = bucket(daemon, file->id);

	while (*link != file)
		link = &(*link)->next;
	*link = file->next;
	daemon->nfiles--;
	park_remove(&nic_file(file)->parked);
	loop_remove(&daemon->loop, &nic_file(file)->source, nic_file(file));
	if (file->kind == VNET_FILE_CHANNEL) {
		host_drop_channel(&file->device->host, file->number);
		guardian_forget(daemon, file->sock);
	}
	close(file->sock);
}

static enum call_outcome try_close(struct parked *parked)
{
	struct nic_file *closing = container_of(parked, struct nic_file, parked);

	/* As in the kernel, a call in progress keeps its file open. */
	if (closing->calls || control_file_close(&closing->file) == CALL_PARK)
		return CALL_PARK;
	file_destroy(&closing->file);
	return CALL_DONE;
}

static void begin_close(struct file *file)
{
	struct nic_file *closing = nic_file(file);

	if (file->closing)
		return;
	file->closing = true;
	loop_remove(&file->daemon->loop, &closing->source, NULL);
	if (try_close(&closing->parked) == CALL_PARK)
		park_add(&file->daemon->park, &closing->parked);
}

void file_call_begin(struct file *file)
{
	nic_file(file)->calls++;
}

void file_call_end(struct file *file)
{
	nic_file(file)->calls--;
}

/* ----------------------------------------------------------------- guardian */

static bool guard(struct nic_file *file)
{
	if (file->file.kind != VNET_FILE_CHANNEL)
		return true;
	if (!file->guarded)
		file->guarded = guardian_keep(file->file.daemon, file->file.sock);
	return file->guarded;
}

bool files_guard(struct daemon *daemon)
{
	struct file *file;

	for (u32 i = 0; i < FILE_BUCKETS; i++)
		for (file = daemon->files[i]; file; file = file->next)
			if (!guard(nic_file(file)))
				return false;
	return true;
}

/* ---------------------------------------------------------------- messages */

/* Receives a message; stores its nonce if it is an ADOPT. Returns false if there was none. */
static bool read_nonce(struct nic_file *file)
{
	struct vnet_msg_adopt adopt;
	ssize_t n = recv(file->file.sock, &adopt, sizeof(adopt), MSG_DONTWAIT | MSG_TRUNC);

	if (n == sizeof(adopt) && adopt.msg.type == VNET_MSG_ADOPT &&
	    adopt.msg.length == sizeof(adopt))
		file->nonce[file->next_nonce++ % NONCES] = adopt.nonce;
	return n > 0;
}

static bool has_nonce(const struct nic_file *file, u64 nonce)
{
	for (u32 i = 0; i < NONCES; i++)
		if (file->nonce[i] == nonce)
			return true;
	return false;
}

static void file_ready(struct source *source, u32 events)
{
	struct nic_file *file = container_of(source, struct nic_file, source);

	if (events & (EPOLLHUP | EPOLLRDHUP | EPOLLERR)) {
		begin_close(&file->file);
		return;
	}
	if (events & EPOLLIN)
		read_nonce(file);
	if (events & EPOLLOUT)
		control_file_room(&file->file);
}

void file_tell(struct file *file, bool first)
{
	struct nic_file *told = nic_file(file);

	if (first) {
		/* If the socket is full, the program's end is readable anyway. */
		(void)!send(file->sock, "", 1, MSG_DONTWAIT | MSG_NOSIGNAL);
		return;
	}
	/* Makes an edge as for completion channels. The shutdown must not count as a hang-up. */
	if (!told->edged)
		loop_change(&file->daemon->loop, &told->source, CHANNEL_EVENTS);
	told->edged = true;
	(void)shutdown(file->sock, SHUT_RD);
}

void file_want_room(struct file *file, bool want)
{
	loop_change(&file->daemon->loop, &nic_file(file)->source,
		    want ? EVENTS | EPOLLOUT : EVENTS);
}

/*
 * Looks for the nonce in all files. Reads pending messages first: ADOPT and WHICH arrive on
 * different sockets, so the nonce may still be unread.
 */
struct file *file_by_nonce(struct daemon *daemon, u64 nonce)
{
	struct file *file;

	if (!nonce)
		return NULL;
	for (u32 i = 0; i < FILE_BUCKETS; i++) {
		for (file = daemon->files[i]; file; file = file->next) {
			int most = NONCES;

			if (file->closing)
				continue;
			while (!has_nonce(nic_file(file), nonce) && most--)
				if (!read_nonce(nic_file(file)))
					break;
			if (has_nonce(nic_file(file), nonce))
				return file;
		}
	}
	return NULL;
}

/* ----------------------------------------------------------------- creation */

static u64 socket_cookie(int sock)
{
	socklen_t size = sizeof(u64);
	u64 cookie = 0;

	return getsockopt(sock, SOL_SOCKET, SO_COOKIE, &cookie, &size) ? 0 : cookie;
}

struct file *file_by_descriptor(struct daemon *daemon, int fd)
{
	u64 cookie = fd < 0 ? 0 : socket_cookie(fd);

	for (u32 i = 0; cookie && i < FILE_BUCKETS; i++)
		for (struct file *file = daemon->files[i]; file; file = file->next)
			if (!file->closing && nic_file(file)->cookie == cookie)
				return file;
	return NULL;
}

static u32 new_id(struct daemon *daemon)
{
	do
		daemon->last_file++;
	while (!daemon->last_file || find_any(daemon, daemon->last_file));
	return daemon->last_file;
}

static struct file *make(struct daemon *daemon, struct device *device, enum vnet_file_kind kind,
			 void *priv, int sock)
{
	struct nic_file *made = calloc(1, sizeof(*made));
	struct file *file;

	if (!made)
		return NULL;
	made->parked.retry = try_close;
	made->source.fd = sock;
	made->source.ready = file_ready;
	if (loop_add(&daemon->loop, &made->source,
		     kind == VNET_FILE_CHANNEL ? CHANNEL_EVENTS : EVENTS) < 0) {
		free(made);
		return NULL;
	}
	file = &made->file;
	file->daemon = daemon;
	file->id = new_id(daemon);
	file->kind = kind;
	file->device = device;
	file->sock = sock;
	file->priv = priv;
	file->next = *bucket(daemon, file->id);
	*bucket(daemon, file->id) = file;
	daemon->nfiles++;
	(void)guard(made);
	return file;
}

struct file *file_accept(struct daemon *daemon, struct device *device, enum vnet_file_kind kind,
			 int sock, u64 cookie)
{
	struct file *file = make(daemon, device, kind, NULL, sock);

	if (file)
		nic_file(file)->cookie = cookie;
	return file;
}

struct file *file_create(struct daemon *daemon, struct device *device, enum vnet_file_kind kind,
			 void *priv, int *peer_fd)
{
	struct file *file;
	int fds[2];

	/*
	 * No SOCK_NONBLOCK: it would apply to the program's end, too, where reads may block. The
	 * daemon's calls pass MSG_DONTWAIT.
	 */
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, fds) < 0)
		return NULL;
	file = make(daemon, device, kind, priv, fds[0]);
	if (!file) {
		close(fds[0]);
		close(fds[1]);
		errno = ENOMEM;
		return NULL;
	}
	nic_file(file)->cookie = socket_cookie(fds[1]);
	*peer_fd = fds[1];
	return file;
}
