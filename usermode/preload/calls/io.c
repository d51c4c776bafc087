// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Interposed read(), write() and ioctl() for the device's descriptors. */
#define _GNU_SOURCE
#include <rdma/rdma_user_ioctl_cmds.h>
#include <stdarg.h>
#include <sys/ioctl.h>

#include "base/real.h"
#include "devices/device.h"
#include "devices/events.h"
#include "devices/netlink.h"
#include "mapped/quiet.h"
#include "devices/rdma_cm.h"
#include "devices/umad.h"
#include "devices/uverbs.h"
#include "devices/user.h"

/* Declared in <unistd.h> for programs with _FORTIFY_SOURCE. */
ssize_t __read_chk(int fd, void *buffer, size_t count, size_t room);
ssize_t __pread_chk(int fd, void *buffer, size_t count, off_t offset, size_t room);
ssize_t __pread64_chk(int fd, void *buffer, size_t count, off64_t offset, size_t room);

static inline bool is_device(int fd)
{
	enum fd_kind kind = fdtable_hint(fd);

	return unlikely(kind != FD_NONE && kind != FD_KEPT);
}

static long device_read(int fd, const struct fd_entry *entry, void *buffer, size_t count)
{
	switch (entry->kind) {
	case FD_CHANNEL:
		return channel_read(fd, entry, buffer, count);
	case FD_ASYNC:
		return async_read(fd, entry, buffer, count);
	case FD_NETLINK:
		return netlink_read(fd, buffer, count);
	case FD_UMAD:
		return umad_read(fd, entry, buffer, count);
	default:
		return -EINVAL;
	}
}

static long device_write(int fd, const struct fd_entry *entry, const void *buffer, size_t count)
{
	struct iovec iov = { .iov_base = (void *)(uintptr_t)buffer, .iov_len = count };

	switch (entry->kind) {
	case FD_UVERBS:
		return uverbs_write(entry, buffer, count);
	case FD_RDMA_CM:
		return rdma_cm_write(fd, entry, buffer, count);
	case FD_NETLINK:
		return netlink_send(entry, &iov, 1);
	case FD_UMAD:
		return umad_write(entry, buffer, count);
	default:
		return -EINVAL;
	}
}

static inline ssize_t do_read(int fd, void *buffer, size_t count)
{
	struct fd_entry entry;
	ssize_t ret;
	u32 outer;

	if (is_device(fd) && fdtable_get(fd, &entry))
		return libc_result(device_read(fd, &entry, buffer, count));
	outer = quiet_call_begin();
	ret = real()->read(fd, buffer, count);
	quiet_call_end(outer);
	return ret;
}

INTERPOSED ssize_t read(int fd, void *buffer, size_t count)
{
	return do_read(fd, buffer, count);
}

INTERPOSED ssize_t __read_chk(int fd, void *buffer, size_t count, size_t room)
{
	if (count > room)
		abort();
	return do_read(fd, buffer, count);
}

/* Files that are read at an offset are no device's; see quiet.h. */
static ssize_t do_pread(int fd, void *buffer, size_t count, off64_t offset)
{
	u32 outer = quiet_call_begin();
	ssize_t ret = real()->pread64(fd, buffer, count, offset);

	quiet_call_end(outer);
	return ret;
}

INTERPOSED ssize_t pread(int fd, void *buffer, size_t count, off_t offset)
{
	return do_pread(fd, buffer, count, offset);
}

INTERPOSED ssize_t pread64(int fd, void *buffer, size_t count, off64_t offset)
{
	return do_pread(fd, buffer, count, offset);
}

INTERPOSED ssize_t __pread_chk(int fd, void *buffer, size_t count, off_t offset, size_t room)
{
	if (count > room)
		abort();
	return do_pread(fd, buffer, count, offset);
}

INTERPOSED ssize_t __pread64_chk(int fd, void *buffer, size_t count, off64_t offset, size_t room)
{
	if (count > room)
		abort();
	return do_pread(fd, buffer, count, offset);
}

static ssize_t do_preadv(int fd, const struct iovec *iov, int n, off64_t offset)
{
	u32 outer = quiet_call_begin();
	ssize_t ret = real()->preadv64(fd, iov, n, offset);

	quiet_call_end(outer);
	return ret;
}

INTERPOSED ssize_t preadv(int fd, const struct iovec *iov, int n, off_t offset)
{
	return do_preadv(fd, iov, n, offset);
}

INTERPOSED ssize_t preadv64(int fd, const struct iovec *iov, int n, off64_t offset)
{
	return do_preadv(fd, iov, n, offset);
}

INTERPOSED ssize_t write(int fd, const void *buffer, size_t count)
{
	struct fd_entry entry;

	if (is_device(fd) && fdtable_get(fd, &entry))
		return libc_result(device_write(fd, &entry, buffer, count));
	return real()->write(fd, buffer, count);
}

/*
 * The device's files do not support vectors: as the kernel does for such files, make one call for
 * each element.
 */
INTERPOSED ssize_t readv(int fd, const struct iovec *iov, int n)
{
	struct fd_entry entry;
	long ret = 0, total = 0;
	u32 outer;
	int i;

	if (!is_device(fd) || !fdtable_get(fd, &entry) || entry.kind == FD_NETLINK) {
		outer = quiet_call_begin();
		ret = real()->readv(fd, iov, n);
		quiet_call_end(outer);
		return ret;
	}
	for (i = 0; i < n; i++) {
		ret = device_read(fd, &entry, iov[i].iov_base, iov[i].iov_len);
		if (ret < 0)
			break;
		total += ret;
		if ((size_t)ret != iov[i].iov_len)
			break;
	}
	return libc_result(total ? total : ret);
}

INTERPOSED ssize_t writev(int fd, const struct iovec *iov, int n)
{
	struct fd_entry entry;
	long ret = 0, total = 0;
	int i;

	if (!is_device(fd) || !fdtable_get(fd, &entry))
		return real()->writev(fd, iov, n);
	if (entry.kind == FD_NETLINK)
		return libc_result(n < 0 ? -EINVAL : netlink_send(&entry, iov, (size_t)n));
	for (i = 0; i < n; i++) {
		ret = device_write(fd, &entry, iov[i].iov_base, iov[i].iov_len);
		if (ret < 0)
			break;
		total += ret;
		if ((size_t)ret != iov[i].iov_len)
			break;
	}
	return libc_result(total ? total : ret);
}

static long device_ioctl(const struct fd_entry *entry, unsigned long request, void *argument)
{
	switch (entry->kind) {
	case FD_UVERBS:
		return request == RDMA_VERBS_IOCTL ? uverbs_ioctl(entry, argument) : -ENOTTY;
	case FD_UMAD:
		return umad_ioctl(entry, request, argument);
	default:
		return -ENOTTY;
	}
}

/* FIOASYNC sets or clears O_ASYNC: before the call itself, as for fcntl(). */
static void watch_fioasync(int fd, const void *argument)
{
	int on;

	if (fdtable_hint(fd) == FD_CHANNEL && !user_copy(&on, argument, sizeof(on)) && on)
		channel_needs_signals(fd);
}

INTERPOSED int ioctl(int fd, unsigned long request, ...)
{
	struct fd_entry entry;
	va_list args;
	void *argument;

	va_start(args, request);
	argument = va_arg(args, void *);
	va_end(args);

	/* Requests of RDMA devices have a type letter of their own. */
	if (likely(_IOC_TYPE(request) != RDMA_IOCTL_MAGIC)) {
		if (unlikely(request == FIOASYNC))
			watch_fioasync(fd, argument);
		return real()->ioctl(fd, request, argument);
	}
	if ((is_device(fd) && fdtable_get(fd, &entry)) ||
	    (device_adopt(fd) && fdtable_get(fd, &entry)))
		return (int)libc_result(device_ioctl(&entry, request, argument));
	return real()->ioctl(fd, request, argument);
}
