// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Interposed socket functions, for NETLINK_RDMA sockets. */
#define _GNU_SOURCE
#include <linux/netlink.h>

#include "base/real.h"
#include "base/settings.h"
#include "devices/netlink.h"
#include "mapped/quiet.h"

/* Declared in <sys/socket.h> for programs with _FORTIFY_SOURCE. */
ssize_t __recv_chk(int fd, void *buffer, size_t count, size_t room, int flags);
ssize_t __recvfrom_chk(int fd, void *buffer, size_t count, size_t room, int flags,
		       __SOCKADDR_ARG address, socklen_t *length);

/* In C, glibc declares this argument as a transparent union of address types. */
#define POINTER(address) ((address).__sockaddr__)

static inline bool is_netlink(int fd, struct fd_entry *entry)
{
	return unlikely(fdtable_hint(fd) == FD_NETLINK) && fdtable_get(fd, entry);
}

INTERPOSED int socket(int domain, int type, int protocol)
{
	if (unlikely(domain == AF_NETLINK && protocol == NETLINK_RDMA) && !settings()->off)
		return (int)libc_result(netlink_socket(type));
	return real()->socket(domain, type, protocol);
}

INTERPOSED int bind(int fd, __CONST_SOCKADDR_ARG address, socklen_t length)
{
	struct fd_entry entry;

	if (is_netlink(fd, &entry))
		return (int)libc_result(netlink_bind(&entry, POINTER(address), length));
	return real()->bind(fd, address, length);
}

INTERPOSED int connect(int fd, __CONST_SOCKADDR_ARG address, socklen_t length)
{
	struct fd_entry entry;

	if (is_netlink(fd, &entry))
		return (int)libc_result(netlink_connect(&entry, POINTER(address), length));
	return real()->connect(fd, address, length);
}

INTERPOSED int getsockname(int fd, __SOCKADDR_ARG address, socklen_t *length)
{
	struct fd_entry entry;

	if (is_netlink(fd, &entry))
		return (int)libc_result(netlink_name(&entry, POINTER(address), length));
	return real()->getsockname(fd, address, length);
}

INTERPOSED int getpeername(int fd, __SOCKADDR_ARG address, socklen_t *length)
{
	struct fd_entry entry;

	if (is_netlink(fd, &entry))
		return (int)libc_result(netlink_peer(POINTER(address), length));
	return real()->getpeername(fd, address, length);
}

/* --------------------------------------------------------------------- options */

INTERPOSED int getsockopt(int fd, int level, int option, void *value, socklen_t *length)
{
	struct fd_entry entry;

	if (is_netlink(fd, &entry) && netlink_has_option(level, option))
		return (int)libc_result(netlink_get_option(&entry, level, option, value, length));
	return real()->getsockopt(fd, level, option, value, length);
}

INTERPOSED int setsockopt(int fd, int level, int option, const void *value, socklen_t length)
{
	struct fd_entry entry;

	if (unlikely(level == SOL_NETLINK) && is_netlink(fd, &entry))
		return (int)libc_result(netlink_set_option(&entry, option, value, length));
	return real()->setsockopt(fd, level, option, value, length);
}

/* -------------------------------------------------------------------- messages */

static long send_buffer(const struct fd_entry *entry, const void *buffer, size_t count, int flags,
			const void *address, socklen_t length)
{
	struct iovec iov = { .iov_base = (void *)(uintptr_t)buffer, .iov_len = count };
	const struct msghdr msg = {
		.msg_name = (void *)(uintptr_t)address,
		.msg_namelen = length,
		.msg_iov = &iov,
		.msg_iovlen = 1,
	};

	return netlink_send_to(entry, &msg, flags);
}

INTERPOSED ssize_t send(int fd, const void *buffer, size_t count, int flags)
{
	struct fd_entry entry;

	if (is_netlink(fd, &entry))
		return libc_result(send_buffer(&entry, buffer, count, flags, NULL, 0));
	return real()->send(fd, buffer, count, flags);
}

INTERPOSED ssize_t sendto(int fd, const void *buffer, size_t count, int flags,
			  __CONST_SOCKADDR_ARG address, socklen_t length)
{
	struct fd_entry entry;

	if (is_netlink(fd, &entry))
		return libc_result(
			send_buffer(&entry, buffer, count, flags, POINTER(address), length));
	return real()->sendto(fd, buffer, count, flags, address, length);
}

static long receive_buffer(int fd, void *buffer, size_t count, int flags, void *address,
			   socklen_t *length)
{
	struct iovec iov = { .iov_base = buffer, .iov_len = count };
	struct msghdr msg = { .msg_iov = &iov, .msg_iovlen = 1, .msg_name = address };
	long n;

	if (address && length)
		msg.msg_namelen = *length;
	n = netlink_receive(fd, &msg, flags);
	if (n >= 0 && address && length)
		*length = msg.msg_namelen;
	return n;
}

static ssize_t do_recvfrom(int fd, void *buffer, size_t count, int flags, __SOCKADDR_ARG address,
			   socklen_t *length)
{
	struct fd_entry entry;
	ssize_t ret;
	u32 outer;

	if (is_netlink(fd, &entry))
		return libc_result(
			receive_buffer(fd, buffer, count, flags, POINTER(address), length));
	outer = quiet_call_begin();
	ret = real()->recvfrom(fd, buffer, count, flags, address, length);
	quiet_call_end(outer);
	return ret;
}

INTERPOSED ssize_t recv(int fd, void *buffer, size_t count, int flags)
{
	return do_recvfrom(fd, buffer, count, flags, (__SOCKADDR_ARG){ NULL }, NULL);
}

INTERPOSED ssize_t __recv_chk(int fd, void *buffer, size_t count, size_t room, int flags)
{
	if (count > room)
		abort();
	return recv(fd, buffer, count, flags);
}

INTERPOSED int recvmmsg(int fd, struct mmsghdr *msg, unsigned int n, int flags,
			struct timespec *timeout)
{
	u32 outer = quiet_call_begin();
	int ret = real()->recvmmsg(fd, msg, n, flags, timeout);

	quiet_call_end(outer);
	return ret;
}

INTERPOSED ssize_t recvfrom(int fd, void *buffer, size_t count, int flags, __SOCKADDR_ARG address,
			    socklen_t *length)
{
	return do_recvfrom(fd, buffer, count, flags, address, length);
}

INTERPOSED ssize_t __recvfrom_chk(int fd, void *buffer, size_t count, size_t room, int flags,
				  __SOCKADDR_ARG address, socklen_t *length)
{
	if (count > room)
		abort();
	return do_recvfrom(fd, buffer, count, flags, address, length);
}
