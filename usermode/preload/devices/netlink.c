// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * NETLINK_RDMA sockets, answered by the daemon. The kernel would report only the machine's own
 * devices. If these are to be shown beside vnet's (--with-host-devices), there is no emulated
 * NETLINK_RDMA, and libibverbs and other programs fall back to sysfs.
 */
#define _GNU_SOURCE
#include "devices/netlink.h"

#include <linux/netlink.h>
#include <string.h>

#include "base/real.h"
#include "base/settings.h"
#include "devices/device.h"
#include "session/control.h"

/* Limit of iovec elements in one message. */
#define MOST_PIECES 64
#define MOST_BYTES (VNET_MSG_MAX - sizeof(struct vnet_msg_netlink))

int netlink_socket(int type)
{
	int flags = type & (SOCK_CLOEXEC | SOCK_NONBLOCK);
	int ret;

	type &= ~flags;
	if (settings()->host_devices)
		return -EPROTONOSUPPORT;
	if (type != SOCK_RAW && type != SOCK_DGRAM)
		return -ESOCKTNOSUPPORT;
	static_assert(SOCK_CLOEXEC == O_CLOEXEC && SOCK_NONBLOCK == O_NONBLOCK, "as for open()");
	ret = device_socket((u32)type, flags);
	/* The reason why the daemon did not start has already been printed. */
	return ret < 0 && ret != -EMFILE && ret != -ENFILE ? -EPROTONOSUPPORT : ret;
}

bool netlink_is(int fd)
{
	struct fd_entry entry;

	return fdtable_get(fd, &entry) && entry.kind == FD_NETLINK;
}

/* ------------------------------------------------------- requests to the daemon */

/*
 * Send a request with its data in iov[1...]; iov[0] is reserved for the header. *value (may be
 * NULL) is the result.
 */
static int ask(const struct fd_entry *entry, struct vnet_msg_netlink *call, struct iovec *iov,
	       int niov, u32 *value)
{
	struct session *session;
	struct reply reply;
	int ret = device_session(entry, &session);

	if (ret)
		return ret;
	call->msg.type = VNET_MSG_NETLINK;
	call->file_id = entry->file_id;
	iov[0] = (struct iovec){ .iov_base = call, .iov_len = sizeof(*call) };
	ret = control_request(session, iov, niov, &reply);
	if (ret)
		return ret;
	control_drop_fds(&reply);
	if (value)
		*value = (u32)reply.result.value;
	return -(int)reply.result.error;
}

static int ask_plain(const struct fd_entry *entry, enum vnet_netlink_op op, u32 argument, u32 value,
		     u32 *answer)
{
	struct vnet_msg_netlink call = {
		.msg.length = sizeof(call),
		.op = op,
		.argument = argument,
		.value = value,
	};
	struct iovec iov;

	return ask(entry, &call, &iov, 1, answer);
}

/* ----------------------------------------------------------------- addresses */

/* Copy and check a netlink address that the program gave. */
static int get_address(const void *address, socklen_t length, struct sockaddr_nl *nl)
{
	if (length < sizeof(*nl))
		return -EINVAL;
	if (host_guarded_copy(nl, address, sizeof(*nl)) != NIC_COPY_OK)
		return -EFAULT;
	if (nl->nl_family != AF_NETLINK)
		return -EINVAL;
	/* Multicast groups need privileges, and there are none. */
	return nl->nl_groups ? -EPERM : 0;
}

/* Store an address. If it is truncated, *length tells its full length, as in the kernel. */
static int put_address(u32 port, void *address, socklen_t *length)
{
	struct sockaddr_nl nl = { .nl_family = AF_NETLINK, .nl_pid = port };
	socklen_t room, whole = sizeof(nl);

	if (host_guarded_copy(&room, length, sizeof(room)) != NIC_COPY_OK)
		return -EFAULT;
	if ((int)room < 0)
		return -EINVAL;
	if (host_guarded_copy(address, &nl, room < whole ? room : whole) != NIC_COPY_OK ||
	    host_guarded_copy(length, &whole, sizeof(whole)) != NIC_COPY_OK)
		return -EFAULT;
	return 0;
}

int netlink_bind(const struct fd_entry *entry, const void *address, socklen_t length)
{
	struct sockaddr_nl nl;
	int ret = get_address(address, length, &nl);

	if (ret)
		return ret;
	return ask_plain(entry, VNET_NETLINK_BIND, nl.nl_pid ? nl.nl_pid : (u32)sys_getpid(),
			 nl.nl_pid != 0, NULL);
}

/*
 * A socket can be connected only to the kernel, where all messages go anyway. It has a port
 * afterwards.
 */
int netlink_connect(const struct fd_entry *entry, const void *address, socklen_t length)
{
	struct sockaddr_nl nl = { 0 };
	sa_family_t family = AF_NETLINK;
	int ret;

	if (length >= sizeof(family) &&
	    host_guarded_copy(&family, address, sizeof(family)) == NIC_COPY_OK &&
	    family == AF_UNSPEC)
		return 0;
	ret = get_address(address, length, &nl);
	if (!ret && nl.nl_pid)
		ret = -EPERM;
	if (ret)
		return ret;
	ret = ask_plain(entry, VNET_NETLINK_BIND, (u32)sys_getpid(), 0, NULL);
	return ret == -EINVAL ? 0 : ret;
}

int netlink_name(const struct fd_entry *entry, void *address, socklen_t *length)
{
	u32 port;
	int ret = ask_plain(entry, VNET_NETLINK_NAME, 0, 0, &port);

	return ret ? ret : put_address(port, address, length);
}

int netlink_peer(void *address, socklen_t *length)
{
	return put_address(0, address, length);
}

/* ------------------------------------------------------------------- sending */

long netlink_send(const struct fd_entry *entry, const struct iovec *iov, size_t n)
{
	struct vnet_msg_netlink call = { .op = VNET_NETLINK_SEND, .argument = (u32)sys_getpid() };
	struct iovec pieces[1 + MOST_PIECES];
	size_t i, total = 0;
	u32 taken;
	int ret;

	if (n > MOST_PIECES)
		return -EMSGSIZE;
	for (i = 0; i < n; i++) {
		if (iov[i].iov_len > MOST_BYTES - total)
			return -EMSGSIZE;
		total += iov[i].iov_len;
		pieces[1 + i] = iov[i];
	}
	call.msg.length = (u32)(sizeof(call) + total);
	ret = ask(entry, &call, pieces, (int)n + 1, &taken);
	return ret ? ret : (long)taken;
}

long netlink_send_to(const struct fd_entry *entry, const struct msghdr *msg, int flags)
{
	struct sockaddr_nl nl = { 0 };
	int ret = 0;

	if (flags & MSG_OOB)
		return -EOPNOTSUPP;
	if (msg->msg_name && msg->msg_namelen)
		ret = get_address(msg->msg_name, msg->msg_namelen, &nl);
	if (!ret && nl.nl_pid)
		ret = -EPERM;
	return ret ? ret : netlink_send(entry, msg->msg_iov, msg->msg_iovlen);
}

/* ----------------------------------------------------------------- receiving */

long netlink_receive(int fd, struct msghdr *msg, int flags)
{
	struct msghdr mine = *msg;
	ssize_t n;

	mine.msg_name = NULL;
	mine.msg_namelen = 0;
	n = real()->recvmsg(fd, &mine, flags);
	if (n < 0)
		return -errno;
	/* An empty message without MSG_TRUNC is no datagram: the daemon is gone. */
	if (n == 0 && !(mine.msg_flags & MSG_TRUNC))
		return -EIO;
	msg->msg_controllen = mine.msg_controllen;
	msg->msg_flags = mine.msg_flags;
	if (msg->msg_name) {
		int ret = put_address(0, msg->msg_name, &msg->msg_namelen);

		if (ret)
			return ret;
	}
	return n;
}

long netlink_read(int fd, void *buffer, size_t count)
{
	struct iovec iov = { .iov_base = buffer, .iov_len = count };
	struct msghdr msg = { .msg_iov = &iov, .msg_iovlen = 1 };

	return netlink_receive(fd, &msg, 0);
}

/* ------------------------------------------------------------------- options */

bool netlink_has_option(int level, int option)
{
	return level == SOL_NETLINK ||
	       (level == SOL_SOCKET &&
		(option == SO_DOMAIN || option == SO_TYPE || option == SO_PROTOCOL));
}

static int option_value(const struct fd_entry *entry, int level, int option, int *value)
{
	u32 answer = 0;
	int ret = 0;

	if (level == SOL_NETLINK)
		ret = ask_plain(entry, VNET_NETLINK_GET_OPTION, (u32)option, 0, &answer);
	else if (option == SO_DOMAIN)
		answer = AF_NETLINK;
	else if (option == SO_PROTOCOL)
		answer = NETLINK_RDMA;
	else
		answer = entry->number;
	*value = (int)answer;
	return ret;
}

int netlink_get_option(const struct fd_entry *entry, int level, int option, void *value,
		       socklen_t *length)
{
	socklen_t room, whole = sizeof(int);
	int number, ret;

	if (host_guarded_copy(&room, length, sizeof(room)) != NIC_COPY_OK)
		return -EFAULT;
	if ((int)room < 0 || (level == SOL_NETLINK && room < whole))
		return -EINVAL;
	ret = option_value(entry, level, option, &number);
	if (ret)
		return ret;
	whole = room < whole ? room : whole;
	if (host_guarded_copy(value, &number, whole) != NIC_COPY_OK ||
	    host_guarded_copy(length, &whole, sizeof(whole)) != NIC_COPY_OK)
		return -EFAULT;
	return 0;
}

int netlink_set_option(const struct fd_entry *entry, int option, const void *value,
		       socklen_t length)
{
	int number;

	if (length < sizeof(number))
		return -EINVAL;
	if (host_guarded_copy(&number, value, sizeof(number)) != NIC_COPY_OK)
		return -EFAULT;
	return ask_plain(entry, VNET_NETLINK_SET_OPTION, (u32)option, number != 0, NULL);
}
