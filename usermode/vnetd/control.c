// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Handlers for the messages of connections, one function for each type. A parked message is
 * handled again (see loop/loop.h), so handlers keep their state in the connection or the client.
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "clients/clients.h"
#include "clients/connections.h"
#include "cm/cm.h"
#include "control.h"
#include "daemon.h"
#include "devices/devices.h"
#include "mad/mad.h"
#include "netlink/netlink.h"
#include "status/status.h"
#include "sysfs/sysfs.h"
#include "uverbs/uverbs.h"

/* Limit of control connections of one client. The preload library uses far fewer. */
#define MOST_CONNECTIONS 256

/* The message violates the protocol: close the connection without a reply. */
static enum call_outcome violation(struct conn *conn, const struct vnet_msg *msg)
{
	log_line("process %d: message %u of %u bytes is not allowed here", conn->pid, msg->type,
		 msg->length);
	conn_close(conn);
	return CALL_DONE;
}

static void reply_result(struct conn *conn, u32 type, struct vnet_msg_result *result, int fd)
{
	result->msg.type = type;
	result->msg.length = sizeof(*result);
	result->nfds = fd >= 0;
	conn_send(conn, result, sizeof(*result), &fd, result->nfds);
}

static enum call_outcome reply_error(struct conn *conn, const struct vnet_msg *msg, int error)
{
	struct vnet_msg_result result = { .error = (u32)error };

	reply_result(conn, msg->type, &result, -1);
	return CALL_DONE;
}

/* Replies with fd attached and closes it; if fd is a negative errno, replies with that error. */
static enum call_outcome reply_fd(struct conn *conn, const struct vnet_msg *msg, int fd)
{
	struct vnet_msg_result result = { 0 };

	if (fd < 0)
		return reply_error(conn, msg, -fd);
	reply_result(conn, msg->type, &result, fd);
	close(fd);
	return CALL_DONE;
}

/* ----------------------------------------------------------- hello and open */

/* Whether this connection is the only user of the daemon. */
static bool is_only_user(const struct daemon *daemon)
{
	return daemon->nconns == 1 && !daemon->nfiles && !daemon->nclients;
}

/* Whether the comma-separated list contains this name. */
static bool lists(const char *list, const char *name, size_t length)
{
	for (;;) {
		size_t n = strcspn(list, ",");

		if (n == length && !memcmp(list, name, length))
			return true;
		if (!list[n])
			return false;
		list += n + 1;
	}
}

/* Whether the comma-separated list `wanted` names a device that this daemon lacks. */
static bool lacks_device(const struct daemon *daemon, const char *wanted)
{
	for (;;) {
		size_t n = strcspn(wanted, ",");

		if (n && !lists(daemon->options.devices, wanted, n))
			return true;
		if (!wanted[n])
			return false;
		wanted += n + 1;
	}
}

/*
 * Ends this daemon in favour of a new one. The client gets no reply, and starts a daemon.
 * listen_close() comes first: otherwise the new daemon could find this one still listening, and
 * take it as the one to use.
 */
static enum call_outcome make_way(struct conn *conn, const char *why)
{
	conn->daemon->stop = why;
	listen_close(conn->daemon);
	conn_close(conn);
	return CALL_DONE;
}

static const char *link_layer(const struct daemon *daemon)
{
	return daemon->options.infiniband ? "infiniband" : "ethernet";
}

/* Requested devices and link layer from HELLO, null-terminated. */
struct hello_options {
	char devices[VNET_DEVICES_MAX + 1];
	char link_layer[VNET_LINK_LAYER_MAX + 1];
};

static void read_requested(struct hello_options *wanted, const struct vnet_msg_hello *hello)
{
	memset(wanted, 0, sizeof(*wanted));
	memcpy(wanted->devices, hello->devices, sizeof(hello->devices));
	memcpy(wanted->link_layer, hello->link_layer, sizeof(hello->link_layer));
}

static bool lacks_link_layer(const struct daemon *daemon, const struct hello_options *wanted)
{
	return wanted->link_layer[0] && strcmp(wanted->link_layer, link_layer(daemon)) != 0;
}

/* Returns a reason if the client needs other devices or another link layer; else NULL. */
static const char *device_mismatch(const struct daemon *daemon, const struct hello_options *wanted)
{
	if (wanted->devices[0] && strcmp(wanted->devices, daemon->options.devices) != 0)
		return "other devices are wanted";
	return lacks_link_layer(daemon, wanted) ? "another link layer is wanted" : NULL;
}

/* Returns false if the reply could not be sent; the connection is closed then. */
static bool reply_welcome(struct conn *conn, u32 error, bool with_memory,
			  const struct hello_options *wanted)
{
	struct daemon *daemon = conn->daemon;
	struct vnet_msg_welcome welcome = {
		.msg = { .type = VNET_MSG_HELLO, .length = sizeof(welcome) },
		.error = error,
		.version = VNET_PROTO_VERSION,
		.nics = daemon->ndevices,
		.other_devices = wanted && lacks_device(daemon, wanted->devices),
		.other_link_layer = wanted && lacks_link_layer(daemon, wanted),
	};
	int fds[4 * VNET_MAX_NICS];
	u32 nfds = 0;

	if (conn->client) {
		welcome.space = conn->client->space;
		welcome.owner = conn->client->owner;
		welcome.cookie = conn->client->cookie;
	}
	for (u32 i = 0; i < daemon->ndevices; i++) {
		struct device *device = &daemon->device[i]->device;

		welcome.memory_size[i] = device->memory_size;
		if (with_memory) {
			fds[nfds++] = device->memory_fd;
			fds[nfds++] = daemon->device[i]->kick.fd;
		}
		if (with_memory && daemon->device[i]->link.fd >= 0) {
			fds[nfds++] = daemon->device[i]->link_memory_fd;
			fds[nfds++] = daemon->device[i]->link.fd;
			welcome.links |= 1u << i;
		}
	}
	return conn_send(conn, &welcome, sizeof(welcome), fds, nfds);
}

/*
 * Adds this connection to an existing client. The cookie proves that the process owns the space.
 * Returns 0 or an errno value.
 */
static u32 join(struct conn *conn, const struct vnet_msg_hello *hello)
{
	struct client *client = client_find(conn->daemon, hello->space);

	if (!client || client->dead)
		return ESRCH;
	/* A forked child knows the cookie, but has another address space. */
	if (client->cookie != hello->cookie || client->pid != conn->pid)
		return EPERM;
	if (client_conns(client) >= MOST_CONNECTIONS)
		return EMFILE;
	conn->client = client;
	client_conn_added(client);
	return 0;
}

static u32 enter(struct conn *conn, const struct vnet_msg_hello *hello)
{
	struct client_files files;
	char command[sizeof(hello->command)];
	int error = 0;

	memcpy(command, hello->command, sizeof(command));
	command[sizeof(command) - 1] = '\0';
	client_files_take(&files, conn->attached, conn->nattached, conn->pid);
	conn->client = client_new(conn->daemon, conn->pid, &files, command, &error);
	if (conn->client)
		client_conn_added(conn->client);
	return (u32)error;
}

static enum call_outcome on_hello(struct conn *conn, const struct vnet_msg *msg)
{
	const struct vnet_msg_hello *hello = (const struct vnet_msg_hello *)msg;
	struct daemon *daemon = conn->daemon;
	const char *damage = devices_damage(daemon);
	struct client *entered;
	struct hello_options wanted;
	const char *another;
	u32 error;

	if (damage)
		return make_way(conn, damage);
	if (hello->version != VNET_PROTO_VERSION || msg->length != sizeof(*hello)) {
		if (is_only_user(daemon))
			return make_way(conn, "a client of another version came");
		reply_welcome(conn, EPROTO, false, NULL);
		return CALL_DONE;
	}
	read_requested(&wanted, hello);
	another = device_mismatch(daemon, &wanted);
	if (another && is_only_user(daemon))
		return make_way(conn, another);
	error = hello->space ? join(conn, hello) : enter(conn, hello);
	entered = !error && !hello->space ? conn->client : NULL;
	/*
	 * The process is gone or has given up. It does not know its space, and may send HELLO
	 * again.
	 */
	if (!reply_welcome(conn, error, entered, &wanted) && entered)
		client_gave_up(entered);
	return CALL_DONE;
}

static u32 minor_of(const struct file *file)
{
	if (!file->device)
		return 0;
	return file->kind == VNET_FILE_UMAD ? file->device->index : file->device->minor;
}

static struct vnet_msg_opened opened_message(u32 type, const struct file *file, u32 error)
{
	struct vnet_msg_opened opened = {
		.msg = { .type = type, .length = sizeof(opened) },
		.error = error,
	};

	if (file) {
		opened.file_id = file->id;
		opened.kind = file->kind;
		opened.minor = minor_of(file);
		opened.nic = file->device ? file->device->index : 0;
		opened.number = file->number;
		opened.generation = file->generation;
	}
	return opened;
}

/* Returns the number of descriptors to attach to the reply (0 or 1). */
static u32 opened_fd(const struct file *file, int *fd)
{
	if (!file || file->kind != VNET_FILE_RDMA_CM)
		return 0;
	*fd = cm_orphans_fd(file->daemon);
	return 1;
}

/* Replies to OPEN on a bare socket: the connection has become a file, or was refused. */
static void reply_opened(int sock, u32 type, const struct file *file, u32 error)
{
	struct vnet_msg_opened opened = opened_message(type, file, error);
	int fd;
	u32 nfds = opened_fd(file, &fd);

	/* An error needs no handling: the hang-up that follows closes the file. */
	socket_send(sock, &opened, sizeof(opened), &fd, nfds);
}

static u32 make_file(struct file *file, const struct vnet_msg_open *open)
{
	switch (file->kind) {
	case VNET_FILE_NETLINK:
		return (u32)-netlink_open(file, open->minor);
	case VNET_FILE_RDMA_CM:
		return (u32)-cm_file_open(file);
	case VNET_FILE_UMAD:
		return (u32)-umad_file_open(file);
	default:
		return (u32)-uverbs_file_open(file);
	}
}

static enum vnet_file_kind kind_to_open(const struct vnet_msg_open *open)
{
	if (open->msg.type == VNET_MSG_SOCKET)
		return VNET_FILE_NETLINK;
	if (open->minor == VNET_RDMA_CM_MINOR)
		return VNET_FILE_RDMA_CM;
	return open->minor < VNET_UMAD_MINORS ? VNET_FILE_UMAD : VNET_FILE_UVERBS;
}

/* Returns the device of the file to open; NULL: none, or the minor number is invalid. */
static struct device *device_to_open(struct daemon *daemon, enum vnet_file_kind kind, u32 minor)
{
	struct device *device;

	switch (kind) {
	case VNET_FILE_UVERBS:
		return device_by_minor(daemon, minor);
	case VNET_FILE_UMAD:
		device = minor < daemon->ndevices ? &daemon->device[minor]->device : NULL;
		return device && device->lid ? device : NULL;
	default:
		return NULL;
	}
}

static enum call_outcome on_open(struct conn *conn, const struct vnet_msg *msg)
{
	const struct vnet_msg_open *open = (const struct vnet_msg_open *)msg;
	enum vnet_file_kind kind = kind_to_open(open);
	struct daemon *daemon = conn->daemon;
	struct device *device = device_to_open(daemon, kind, open->minor);
	u32 type = msg->type;
	struct file *file;
	u32 error = 0;
	int sock;

	if (conn->client)
		return violation(conn, msg);
	sock = conn_release(conn);
	if (open->version != VNET_PROTO_VERSION)
		error = EPROTO;
	else if (!device && (kind == VNET_FILE_UVERBS || kind == VNET_FILE_UMAD))
		error = ENXIO;
	file = error ? NULL : file_accept(daemon, device, kind, sock, open->cookie);
	if (!file) {
		reply_opened(sock, type, NULL, error ? error : ENOMEM);
		close(sock);
		return CALL_DONE;
	}
	error = make_file(file, open);
	reply_opened(sock, type, error ? NULL : file, error);
	if (error)
		file_destroy(file);
	return CALL_DONE;
}

/* -------------------------------------------------------- calls on device files */

static enum call_outcome run_write(struct call *call)
{
	switch (call->file->kind) {
	case VNET_FILE_RDMA_CM:
		return cm_write(call);
	case VNET_FILE_UMAD:
		return umad_write(call);
	default:
		return uverbs_write(call);
	}
}

static enum call_outcome run_call(struct call *call, u32 type)
{
	switch (type) {
	case VNET_MSG_WRITE:
		return run_write(call);
	case VNET_MSG_IOCTL:
		return call->file->kind == VNET_FILE_UMAD ? umad_ioctl(call) : uverbs_ioctl(call);
	default:
		return uverbs_async_read(call);
	}
}

static void answer_call(struct conn *conn, struct call *call, u32 type)
{
	struct {
		struct vnet_msg_result result;
		u8 record[sizeof(call->record)];
	} reply = { .result = call->result };
	u32 nfds = call->result.nfds, file_id = call->file->id;
	struct daemon *daemon = conn->daemon;
	struct file *file;
	bool sent;

	reply.result.msg.type = type;
	reply.result.msg.length = sizeof(reply.result) + call->record_length;
	memcpy(reply.record, call->record, call->record_length);
	sent = conn_send(conn, &reply, reply.result.msg.length, call->fd, nfds);
	/* An end of the connection may have ended the file. */
	file = type == VNET_MSG_ASYNC_READ ? file_find(daemon, file_id) : NULL;
	if (file && call->record_length)
		uverbs_async_answered(file, sent);
	/* If the reply was not sent, this closes the last copy, and the hang-up closes the file. */
	for (u32 i = 0; i < nfds; i++)
		close(call->fd[i]);
}

/*
 * Whether the call may have failed because an object still exists whose descriptor the program has
 * just closed. The daemon may receive that hang-up after this call. In this case the call is parked
 * once, so that pending hang-ups are handled before the second attempt.
 */
static bool may_come_free(const struct conn *conn, const struct call *call)
{
	u32 error = call->result.error;

	/* umad returns EINVAL if another agent has the class and method. */
	if (call->file->kind == VNET_FILE_UMAD && error == EINVAL)
		return !conn->message;
	return !conn->message && (error == ENOMEM || error == EMFILE || error == ENFILE ||
				  error == EADDRINUSE || error == EADDRNOTAVAIL);
}

static bool takes_calls(const struct file *file, u32 type)
{
	switch (file->kind) {
	case VNET_FILE_UVERBS:
	case VNET_FILE_UMAD:
		return type == VNET_MSG_WRITE || type == VNET_MSG_IOCTL;
	case VNET_FILE_RDMA_CM:
		return type == VNET_MSG_WRITE;
	default:
		return file->kind == VNET_FILE_ASYNC && type == VNET_MSG_ASYNC_READ;
	}
}

/* Number of attached descriptors for which the request has a number. */
static u32 named_fds(const struct conn *conn, const struct vnet_msg_call *request)
{
	return request->nfds < conn->nattached ? request->nfds : conn->nattached;
}

static enum call_outcome on_call(struct conn *conn, const struct vnet_msg *msg)
{
	const struct vnet_msg_call *request = (const struct vnet_msg_call *)msg;
	struct file *file = conn->file ? conn->file : file_find(conn->daemon, request->file_id);
	struct call call = {
		.client = conn->client,
		.file = file,
		.user_addr = request->user_addr,
		.other_file = request->other_file,
		.fd_number = request->fd,
		.fd_attached = conn->attached,
		.nfds = named_fds(conn, request),
		.data = (const u8 *)(request + 1),
		.length = msg->length - (u32)sizeof(*request),
	};
	enum call_outcome outcome;

	if (!file || !takes_calls(file, msg->type))
		return reply_error(conn, msg, EBADF);
	if (!conn->file)
		conn->call_since = plat_clock();
	conn->client->call_since = conn->call_since;
	conn->client->call_sock = conn->source.fd;
	conn->client->present_page = NO_PAGE;
	/*
	 * The caller does not wait any more, and its program got an error: do not execute the call.
	 */
	if (!user_waits(conn->source.fd))
		return reply_error(conn, msg, ECANCELED);
	outcome = run_call(&call, msg->type);
	if (call.result.wants_fd || (outcome == CALL_DONE && !may_come_free(conn, &call))) {
		answer_call(conn, &call, msg->type);
		return CALL_DONE;
	}
	if (!conn->file) {
		conn->file = file;
		file_call_begin(file);
	}
	return CALL_PARK;
}

/* The reply contains no data; it only confirms that the request was handled. */
static enum call_outcome on_resignal(struct conn *conn, const struct vnet_msg *msg)
{
	const struct vnet_msg_call *request = (const struct vnet_msg_call *)msg;
	struct file *file = file_find(conn->daemon, request->file_id);

	if (!file || file->kind != VNET_FILE_RDMA_CM)
		return reply_error(conn, msg, EBADF);
	cm_file_resignal(file);
	return reply_error(conn, msg, 0);
}

/* ------------------------------------------------------------------- netlink */

static enum call_outcome on_netlink(struct conn *conn, const struct vnet_msg *msg)
{
	const struct vnet_msg_netlink *call = (const struct vnet_msg_netlink *)msg;
	struct file *file = file_find(conn->daemon, call->file_id);
	struct vnet_msg_result result = { 0 };
	u32 value;

	if (!file || file->kind != VNET_FILE_NETLINK)
		return reply_error(conn, msg, EBADF);
	result.error = (u32)-netlink_call(file, call, &value);
	result.value = (s32)value;
	reply_result(conn, msg->type, &result, -1);
	return CALL_DONE;
}

/* ---------------------------------------------------------------- descriptors */

static enum call_outcome on_which(struct conn *conn, const struct vnet_msg *msg)
{
	const struct vnet_msg_adopt *which = (const struct vnet_msg_adopt *)msg;
	struct file *file =
		file_by_descriptor(conn->daemon, conn->nattached ? conn->attached[0] : -1);
	struct vnet_msg_opened opened;
	u32 nfds;
	int fd;

	if (!file)
		file = file_by_nonce(conn->daemon, which->nonce);
	opened = opened_message(msg->type, file, file ? 0 : ENOENT);
	nfds = opened_fd(file, &fd);
	conn_send(conn, &opened, sizeof(opened), &fd, nfds);
	return CALL_DONE;
}

static enum call_outcome on_get_space(struct conn *conn, const struct vnet_msg *msg)
{
	const struct vnet_msg_get *get = (const struct vnet_msg_get *)msg;
	struct client *client = client_find(conn->daemon, get->number);

	return reply_fd(conn, msg, client ? client_memory(client) : -ESRCH);
}

/* A process asks for its own memory file to put pages into it, and for others' to map them. */
static enum call_outcome on_get_memory(struct conn *conn, const struct vnet_msg *msg)
{
	const struct vnet_msg_get *get = (const struct vnet_msg_get *)msg;
	struct client *client = client_find(conn->daemon, get->number);

	return reply_fd(conn, msg,
			client ? client_memory_file(client, client == conn->client) : -ESRCH);
}

static enum call_outcome on_map(struct conn *conn, const struct vnet_msg *msg)
{
	int error;

	if (!user_waits(conn->source.fd))
		return reply_error(conn, msg, ECANCELED);
	if (uverbs_map_call(conn->client, (const struct vnet_msg_map *)msg, &error) == CALL_PARK)
		return CALL_PARK;
	return reply_error(conn, msg, -error);
}

static enum call_outcome on_get_channel(struct conn *conn, const struct vnet_msg *msg)
{
	const struct vnet_msg_get *get = (const struct vnet_msg_get *)msg;
	struct daemon *daemon = conn->daemon;
	struct file *file = NULL;
	int fd;

	if (get->nic < daemon->ndevices)
		file = uverbs_channel_file(&daemon->device[get->nic]->device, get->number,
					   get->generation);
	if (!file)
		return reply_error(conn, msg, ENOENT);
	fd = dup(file->sock);
	return reply_fd(conn, msg, fd < 0 ? -errno : fd);
}

static bool is_seqpacket(int fd)
{
	socklen_t length = sizeof(int);
	int domain = 0, type = 0;

	return !getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &domain, &length) && domain == AF_UNIX &&
	       !getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &length) && type == SOCK_SEQPACKET;
}

/*
 * A process sends this when it can no longer connect by the socket's path, because it has changed
 * its user or its root directory since HELLO. As with an open device file, access that was
 * granted once remains valid. The connection belongs to the same process, whatever its user is
 * now.
 */
static enum call_outcome on_connect(struct conn *conn, const struct vnet_msg *msg)
{
	int fd = conn->nattached ? conn->attached[0] : -1;

	if (fd < 0 || !is_seqpacket(fd) || fcntl(fd, F_SETFL, O_RDWR | O_NONBLOCK) < 0)
		return violation(conn, msg);
	conn->attached[0] = -1;
	conn_new(conn->daemon, fd, conn->pid);
	return CALL_DONE;
}

/* ------------------------------------------------------- leave, status, stop */

static enum call_outcome on_leave(struct conn *conn, const struct vnet_msg *msg)
{
	/*
	 * A caller that does not wait any more sends no STAY if its exec() fails: undo the LEAVE.
	 */
	if (!user_waits(conn->source.fd)) {
		client_stay(conn->client);
		return reply_error(conn, msg, ECANCELED);
	}
	if (client_leave(conn->client) == CALL_PARK)
		return CALL_PARK;
	return reply_error(conn, msg, 0);
}

static enum call_outcome on_stay(struct conn *conn, const struct vnet_msg *msg)
{
	client_stay(conn->client);
	return reply_error(conn, msg, 0);
}

static enum call_outcome on_status(struct conn *conn, const struct vnet_msg *msg)
{
	return reply_fd(conn, msg, status_make(conn->daemon));
}

/* Fault injection, keys, settings, and link statistics: see link_command(). */
static enum call_outcome on_link(struct conn *conn, const struct vnet_msg *msg)
{
	const struct vnet_msg_link *link = (const struct vnet_msg_link *)msg;
	char text[sizeof(link->text) + 1];

	memcpy(text, link->text, sizeof(link->text));
	text[sizeof(link->text)] = '\0';
	return reply_fd(conn, msg, link_command(conn->daemon, text));
}

static enum call_outcome on_counters(struct conn *conn, const struct vnet_msg *msg)
{
	return reply_error(conn, msg, -sysfs_counters(conn->daemon));
}

static enum call_outcome on_stop(struct conn *conn, const struct vnet_msg *msg)
{
	conn->daemon->stop = "asked to";
	return reply_error(conn, msg, 0);
}

/* ----------------------------------------------------------------- dispatch */

/* Connections that may send a message. */
enum sender {
	/* As the first message of a connection. */
	STRANGER = 1 << 0,
	/* After HELLO. */
	CLIENT = 1 << 1,
};

static const struct {
	enum call_outcome (*handle)(struct conn *conn, const struct vnet_msg *msg);
	u32 min_length;
	u32 max_length;
	u32 senders;
} messages[] = {
#define EXACTLY(type) sizeof(struct type), sizeof(struct type)
#define AT_LEAST(type) sizeof(struct type), VNET_MSG_MAX
	[VNET_MSG_LINK] = { on_link, EXACTLY(vnet_msg_link), STRANGER | CLIENT },
	[VNET_MSG_HELLO] = { on_hello, offsetof(struct vnet_msg_hello, space), VNET_MSG_MAX,
			     STRANGER },
	[VNET_MSG_OPEN] = { on_open, EXACTLY(vnet_msg_open), STRANGER },
	[VNET_MSG_WHICH] = { on_which, EXACTLY(vnet_msg_adopt), CLIENT },
	[VNET_MSG_WRITE] = { on_call, AT_LEAST(vnet_msg_call), CLIENT },
	[VNET_MSG_IOCTL] = { on_call, AT_LEAST(vnet_msg_call), CLIENT },
	[VNET_MSG_ASYNC_READ] = { on_call, EXACTLY(vnet_msg_call), CLIENT },
	[VNET_MSG_GET_SPACE] = { on_get_space, EXACTLY(vnet_msg_get), CLIENT },
	[VNET_MSG_GET_CHANNEL] = { on_get_channel, EXACTLY(vnet_msg_get), CLIENT },
	[VNET_MSG_GET_MEMORY] = { on_get_memory, EXACTLY(vnet_msg_get), CLIENT },
	[VNET_MSG_MAP] = { on_map, EXACTLY(vnet_msg_map), CLIENT },
	[VNET_MSG_LEAVE] = { on_leave, AT_LEAST(vnet_msg), CLIENT },
	[VNET_MSG_STAY] = { on_stay, AT_LEAST(vnet_msg), CLIENT },
	[VNET_MSG_STATUS] = { on_status, EXACTLY(vnet_msg), STRANGER | CLIENT },
	[VNET_MSG_STOP] = { on_stop, EXACTLY(vnet_msg), STRANGER | CLIENT },
	[VNET_MSG_SOCKET] = { on_open, EXACTLY(vnet_msg_open), STRANGER },
	[VNET_MSG_COUNTERS] = { on_counters, EXACTLY(vnet_msg), CLIENT },
	[VNET_MSG_RESIGNAL] = { on_resignal, EXACTLY(vnet_msg_call), CLIENT },
	[VNET_MSG_CONNECT] = { on_connect, EXACTLY(vnet_msg), CLIENT },
	[VNET_MSG_NETLINK] = { on_netlink, AT_LEAST(vnet_msg_netlink), CLIENT },
#undef EXACTLY
#undef AT_LEAST
};

enum call_outcome control_message(struct conn *conn, const struct vnet_msg *msg)
{
	u32 sender = conn->client ? CLIENT : STRANGER;

	if (msg->type >= ARRAY_SIZE(messages) || !messages[msg->type].handle ||
	    msg->length < messages[msg->type].min_length ||
	    msg->length > messages[msg->type].max_length || !(messages[msg->type].senders & sender))
		return violation(conn, msg);
	conn->greet_by = NEVER;
	return messages[msg->type].handle(conn, msg);
}

/* --------------------------------------------------------- ends of files and clients */

enum call_outcome control_file_close(struct file *file)
{
	switch (file->kind) {
	case VNET_FILE_NETLINK:
		netlink_close(file);
		return CALL_DONE;
	case VNET_FILE_RDMA_CM:
		cm_file_close(file);
		return CALL_DONE;
	case VNET_FILE_UMAD:
		umad_file_close(file);
		return CALL_DONE;
	default:
		return uverbs_file_close(file);
	}
}

void control_file_room(struct file *file)
{
	netlink_room(file);
}

void control_client_dead(struct client *client)
{
	uverbs_client_dead(client);
}
