// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * stat() and its variants. Paths of the device are mapped to the daemon's tree, and files that
 * represent a device are reported as character devices. On 64-bit machines struct stat64 is struct
 * stat.
 */
#define _GNU_SOURCE
#include <string.h>
#include <sys/sysmacros.h>

#include "base/real.h"
#include "calls/redirect.h"
#include "devices/device.h"

/* Entry points for programs that were linked against an older C library. */
int __xstat(int version, const char *path, struct stat *st);
int __xstat64(int version, const char *path, struct stat64 *st);
int __lxstat(int version, const char *path, struct stat *st);
int __lxstat64(int version, const char *path, struct stat64 *st);
int __fxstat(int version, int fd, struct stat *st);
int __fxstat64(int version, int fd, struct stat64 *st);
int __fxstatat(int version, int dirfd, const char *path, struct stat *st, int flags);
int __fxstatat64(int version, int dirfd, const char *path, struct stat64 *st, int flags);

static struct stat *as_stat(struct stat64 *st)
{
	return (struct stat *)(void *)st;
}

/* If the file represents a device, report the device. */
static int as_device(int ret, struct stat *st)
{
	const struct device_node *node;

	if (!ret && unlikely(session_exists()) && (node = session_node(st)))
		device_stat(st, node->minor);
	return ret;
}

static bool is_device_file(enum fd_kind kind)
{
	return kind == FD_UVERBS || kind == FD_RDMA_CM || kind == FD_UMAD;
}

/*
 * Is it an opened device file? A socket that is not in the table may have been received from
 * another process, so check it.
 */
static bool opened_device(int fd, mode_t mode, struct fd_entry *entry)
{
	enum fd_kind kind = fdtable_hint(fd);

	if (likely(!S_ISSOCK(mode)) || (kind != FD_NONE && !is_device_file(kind)))
		return false;
	if (kind == FD_NONE && !device_adopt(fd))
		return false;
	return fdtable_get(fd, entry) && is_device_file(entry->kind);
}

/* Report the same file as stat() of the device's path. */
static void as_opened(struct stat *st, u32 minor)
{
	const struct device_node *node = session_node_of(minor);

	if (node) {
		st->st_dev = node->id.dev;
		st->st_ino = node->id.ino;
	}
	device_stat(st, minor);
}

/* Does the call refer to the descriptor itself? */
static bool asks_descriptor(const char *path, int flags)
{
	return (flags & AT_EMPTY_PATH) && path && !*path;
}

static int do_fstat(int fd, struct stat *st)
{
	int ret = real()->fstat(fd, st);
	struct fd_entry entry;

	if (!ret && opened_device(fd, st->st_mode, &entry))
		as_opened(st, entry.minor);
	return as_device(ret, st);
}

static int do_stat(const char *path, struct stat *st)
{
	return as_device(real()->stat(redirect(path), st), st);
}

static int do_lstat(const char *path, struct stat *st)
{
	return as_device(real()->lstat(redirect(path), st), st);
}

static int do_fstatat(int dirfd, const char *path, struct stat *st, int flags)
{
	if (asks_descriptor(path, flags) && dirfd >= 0)
		return do_fstat(dirfd, st);
	return as_device(real()->fstatat(dirfd, redirect(path), st, flags), st);
}

INTERPOSED int fstat(int fd, struct stat *st)
{
	return do_fstat(fd, st);
}

INTERPOSED int stat(const char *path, struct stat *st)
{
	return do_stat(path, st);
}

INTERPOSED int lstat(const char *path, struct stat *st)
{
	return do_lstat(path, st);
}

INTERPOSED int fstatat(int dirfd, const char *path, struct stat *st, int flags)
{
	return do_fstatat(dirfd, path, st, flags);
}

INTERPOSED int stat64(const char *path, struct stat64 *st)
{
	return do_stat(path, as_stat(st));
}

INTERPOSED int lstat64(const char *path, struct stat64 *st)
{
	return do_lstat(path, as_stat(st));
}

INTERPOSED int fstat64(int fd, struct stat64 *st)
{
	return do_fstat(fd, as_stat(st));
}

INTERPOSED int fstatat64(int dirfd, const char *path, struct stat64 *st, int flags)
{
	return do_fstatat(dirfd, path, as_stat(st), flags);
}

INTERPOSED int __xstat(int version, const char *path, struct stat *st)
{
	(void)version;
	return do_stat(path, st);
}

INTERPOSED int __xstat64(int version, const char *path, struct stat64 *st)
{
	(void)version;
	return do_stat(path, as_stat(st));
}

INTERPOSED int __lxstat(int version, const char *path, struct stat *st)
{
	(void)version;
	return do_lstat(path, st);
}

INTERPOSED int __lxstat64(int version, const char *path, struct stat64 *st)
{
	(void)version;
	return do_lstat(path, as_stat(st));
}

INTERPOSED int __fxstat(int version, int fd, struct stat *st)
{
	(void)version;
	return do_fstat(fd, st);
}

INTERPOSED int __fxstat64(int version, int fd, struct stat64 *st)
{
	(void)version;
	return do_fstat(fd, as_stat(st));
}

INTERPOSED int __fxstatat(int version, int dirfd, const char *path, struct stat *st, int flags)
{
	(void)version;
	return do_fstatat(dirfd, path, st, flags);
}

INTERPOSED int __fxstatat64(int version, int dirfd, const char *path, struct stat64 *st, int flags)
{
	(void)version;
	return do_fstatat(dirfd, path, as_stat(st), flags);
}

/* ----------------------------------------------------------------------- statx */

static void statx_as(struct statx *stx, const struct stat *st)
{
	stx->stx_mode = (__u16)st->st_mode;
	stx->stx_rdev_major = major(st->st_rdev);
	stx->stx_rdev_minor = minor(st->st_rdev);
	stx->stx_dev_major = major(st->st_dev);
	stx->stx_dev_minor = minor(st->st_dev);
	stx->stx_ino = st->st_ino;
	stx->stx_size = 0;
	stx->stx_blocks = 0;
}

INTERPOSED int statx(int dirfd, const char *path, int flags, unsigned int mask, struct statx *stx)
{
	const struct device_node *node;
	struct fd_entry entry;
	struct stat st;
	int ret = real()->statx(dirfd, redirect(path), flags, mask, stx);

	if (ret)
		return ret;
	st.st_dev = makedev(stx->stx_dev_major, stx->stx_dev_minor);
	st.st_ino = stx->stx_ino;
	if (asks_descriptor(path, flags) && opened_device(dirfd, stx->stx_mode, &entry))
		as_opened(&st, entry.minor);
	else if (unlikely(session_exists()) && (node = session_node(&st)))
		device_stat(&st, node->minor);
	else
		return 0;
	statx_as(stx, &st);
	return 0;
}
