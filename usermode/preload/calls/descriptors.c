// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Interposed functions that duplicate, close, send or receive descriptors. A duplicate of a
 * device's descriptor belongs to the device, too. The library's own descriptors are hidden from the
 * program.
 */
#define _GNU_SOURCE
#include <limits.h>
#include <stdarg.h>
#include <string.h>

#include "base/real.h"
#include "devices/device.h"
#include "devices/events.h"
#include "devices/netlink.h"
#include "devices/user.h"
#include "mapped/quiet.h"

/* `to` was made a duplicate of `from`: copy the entry. */
static int duplicated(int from, int to)
{
	if (to >= 0 && to != from &&
	    unlikely(fdtable_hint(from) != FD_NONE || fdtable_hint(to) != FD_NONE))
		fdtable_copy(from, to);
	return to;
}

/* The program is about to use number `fd`: move a descriptor of the library away from it. */
static void make_way(int fd)
{
	if (unlikely(fdtable_hint(fd) == FD_KEPT) && !session_in_vfork_child() &&
	    fdtable_is_kept(fd))
		fdtable_make_way(fd);
}

INTERPOSED int dup(int fd)
{
	return duplicated(fd, real()->dup(fd));
}

INTERPOSED int dup2(int fd, int to)
{
	make_way(to);
	return duplicated(fd, real()->dup2(fd, to));
}

INTERPOSED int dup3(int fd, int to, int flags)
{
	make_way(to);
	return duplicated(fd, real()->dup3(fd, to, flags));
}

/* Before the call itself, so that an event that is made meanwhile is not missed. */
INTERPOSED int epoll_ctl(int epoll, int operation, int fd, struct epoll_event *event)
{
	if (unlikely(fdtable_hint(fd) == FD_CHANNEL) && operation != EPOLL_CTL_DEL && event &&
	    (event->events & EPOLLET))
		channel_needs_edges(fd);
	return real()->epoll_ctl(epoll, operation, fd, event);
}

static int do_fcntl(int fd, int command, void *argument)
{
	int ret;

	if (unlikely(fdtable_hint(fd) == FD_CHANNEL) && command == F_SETFL &&
	    ((long)argument & O_ASYNC))
		channel_needs_signals(fd);
	ret = real()->fcntl(fd, command, argument);
	if (command == F_DUPFD || command == F_DUPFD_CLOEXEC)
		return duplicated(fd, ret);
	return ret;
}

INTERPOSED int fcntl(int fd, int command, ...)
{
	va_list args;
	void *argument;

	va_start(args, command);
	argument = va_arg(args, void *);
	va_end(args);
	return do_fcntl(fd, command, argument);
}

INTERPOSED int fcntl64(int fd, int command, ...)
{
	va_list args;
	void *argument;

	va_start(args, command);
	argument = va_arg(args, void *);
	va_end(args);
	return do_fcntl(fd, command, argument);
}

/* ----------------------------------------------------------------------- close */

/* For the program, the library's own descriptors are not open. */
INTERPOSED int close(int fd)
{
	if (unlikely(fdtable_hint(fd) != FD_NONE)) {
		if (fdtable_is_kept(fd) && !session_in_vfork_child())
			return (int)libc_result(-EBADF);
		fdtable_forget(fd);
	}
	return real()->close(fd);
}

static int do_close_range(unsigned int first, unsigned int last, int flags)
{
	unsigned int kept;

	if ((flags & CLOSE_RANGE_CLOEXEC) || first > last || session_in_vfork_child())
		return real()->close_range(first, last, flags);
	while ((kept = fdtable_next_kept(first, last)) <= last) {
		if (kept > first && real()->close_range(first, kept - 1, flags))
			return -1;
		if (kept == last)
			return 0;
		first = kept + 1;
	}
	return real()->close_range(first, last, flags);
}

INTERPOSED int close_range(unsigned int first, unsigned int last, int flags)
{
	return do_close_range(first, last, flags);
}

INTERPOSED void closefrom(int first)
{
	if (do_close_range(first < 0 ? 0 : (unsigned int)first, ~0u, 0))
		real()->closefrom(first);
}

/* ------------------------------------------------------------------- departures */

/* Descriptors at [at, end): a process without this library may wait for edges of a channel. */
static void channels_leave(u64 at, u64 end)
{
	int fd;

	for (; end - at >= sizeof(fd); at += sizeof(fd)) {
		if (user_copy(&fd, (const void *)at, sizeof(fd)))
			return;
		if (fdtable_hint(fd) == FD_CHANNEL)
			channel_needs_edges(fd);
	}
}

/* The program's pointers may be invalid. Then the call itself fails with EFAULT. */
static void watch_departures(const struct msghdr *msg)
{
	struct msghdr head;
	struct cmsghdr cmsg;
	u64 at, end;

	/* The kernel refuses longer control data, too. */
	if (user_copy(&head, msg, sizeof(head)) || head.msg_controllen > INT_MAX)
		return;
	at = (u64)head.msg_control;
	end = at + head.msg_controllen;
	while (end - at >= sizeof(cmsg)) {
		if (user_copy(&cmsg, (const void *)at, sizeof(cmsg)) ||
		    cmsg.cmsg_len < sizeof(cmsg) || cmsg.cmsg_len > end - at)
			return;
		if (cmsg.cmsg_level == SOL_SOCKET && cmsg.cmsg_type == SCM_RIGHTS)
			channels_leave(at + CMSG_LEN(0), at + cmsg.cmsg_len);
		/* The last one may lack its padding. */
		if (CMSG_ALIGN(cmsg.cmsg_len) > end - at)
			return;
		at += CMSG_ALIGN(cmsg.cmsg_len);
	}
}

/* Before the call itself, so that the receiver misses no edge. */
INTERPOSED ssize_t sendmsg(int fd, const struct msghdr *msg, int flags)
{
	struct fd_entry entry;

	if (unlikely(fdtable_hint(fd) == FD_NETLINK) && fdtable_get(fd, &entry))
		return libc_result(netlink_send_to(&entry, msg, flags));
	if (unlikely(__atomic_load_n(&fdtable_had_channel, __ATOMIC_RELAXED)))
		watch_departures(msg);
	return real()->sendmsg(fd, msg, flags);
}

/* --------------------------------------------------------------------- arrivals */

/* Check all received descriptors: they may be the device's. */
static void adopt_all(struct msghdr *msg)
{
	struct cmsghdr *cmsg;
	size_t i, n;
	int fd;

	for (cmsg = CMSG_FIRSTHDR(msg); cmsg; cmsg = CMSG_NXTHDR(msg, cmsg)) {
		if (cmsg->cmsg_level != SOL_SOCKET || cmsg->cmsg_type != SCM_RIGHTS)
			continue;
		n = (cmsg->cmsg_len - CMSG_LEN(0)) / sizeof(int);
		for (i = 0; i < n; i++) {
			memcpy(&fd, CMSG_DATA(cmsg) + i * sizeof(int), sizeof(fd));
			fdtable_forget(fd);
			(void)device_adopt(fd);
		}
	}
}

INTERPOSED ssize_t recvmsg(int fd, struct msghdr *msg, int flags)
{
	ssize_t ret;
	u32 outer;
	int saved;

	if (unlikely(fdtable_hint(fd) == FD_NETLINK) && netlink_is(fd))
		return libc_result(netlink_receive(fd, msg, flags));
	outer = quiet_call_begin();
	ret = real()->recvmsg(fd, msg, flags);
	quiet_call_end(outer);
	saved = errno;

	if (ret >= 0 && unlikely(msg->msg_controllen)) {
		adopt_all(msg);
		errno = saved;
	}
	return ret;
}
