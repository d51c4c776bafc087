// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* open() and its variants, for paths of the device. */
#define _GNU_SOURCE
#include <stdarg.h>
#include <string.h>

#include "base/real.h"
#include "calls/redirect.h"
#include "devices/device.h"

/* Declared in <fcntl.h> for programs with _FORTIFY_SOURCE. */
int __open_2(const char *path, int flags);
int __open64_2(const char *path, int flags);
int __openat_2(int dirfd, const char *path, int flags);
int __openat64_2(int dirfd, const char *path, int flags);

/*
 * Could this be a device file's name, relative to a folder of the tree that the program has opened
 * or changed to? That needs a session.
 */
static bool names_device(const char *path)
{
	const char *slash;

	if (likely(!session_exists()) || !path)
		return false;
	slash = strrchr(path, '/');
	path = slash ? slash + 1 : path;
	return !strncmp(path, "uverbs", 6) || !strncmp(path, "umad", 4) || !strcmp(path, "rdma_cm");
}

static int __attribute__((noinline))
open_redirected(int dirfd, const char *path, int flags, mode_t mode)
{
	char buffer[PATH_MAX];
	const struct device_node *node;
	const char *to = path;
	struct stat st;

	if (paths_candidate(path))
		to = paths_redirect(path, buffer);
	/* The program must not create or truncate files of the tree. */
	if (to != path)
		flags &= ~(O_CREAT | O_EXCL | O_TRUNC);
	if (!(flags & (O_PATH | O_DIRECTORY)) && !sys(SYS_newfstatat, dirfd, to, &st, 0) &&
	    (node = session_node(&st)))
		return (int)libc_result(device_open(node->minor, flags));
	return real()->openat(dirfd, to, flags, mode);
}

static inline bool is_redirected(const char *path)
{
	return unlikely(paths_candidate(path) || names_device(path));
}

static mode_t mode_argument(int flags, va_list args)
{
	return (flags & O_CREAT) || (flags & O_TMPFILE) == O_TMPFILE ? va_arg(args, mode_t) : 0;
}

#define MODE_ARGUMENT(flags)                                                                       \
	({                                                                                         \
		va_list mode_args;                                                                 \
		mode_t mode_value;                                                                 \
		va_start(mode_args, flags);                                                        \
		mode_value = mode_argument(flags, mode_args);                                      \
		va_end(mode_args);                                                                 \
		mode_value;                                                                        \
	})

static int do_open(const char *path, int flags, mode_t mode)
{
	return is_redirected(path) ? open_redirected(AT_FDCWD, path, flags, mode) :
				     real()->open(path, flags, mode);
}

static int do_openat(int dirfd, const char *path, int flags, mode_t mode)
{
	return is_redirected(path) ? open_redirected(dirfd, path, flags, mode) :
				     real()->openat(dirfd, path, flags, mode);
}

INTERPOSED int open(const char *path, int flags, ...)
{
	return do_open(path, flags, MODE_ARGUMENT(flags));
}

INTERPOSED int openat(int dirfd, const char *path, int flags, ...)
{
	return do_openat(dirfd, path, flags, MODE_ARGUMENT(flags));
}

INTERPOSED int open64(const char *path, int flags, ...)
{
	return do_open(path, flags, MODE_ARGUMENT(flags));
}

INTERPOSED int openat64(int dirfd, const char *path, int flags, ...)
{
	return do_openat(dirfd, path, flags, MODE_ARGUMENT(flags));
}

INTERPOSED int __open_2(const char *path, int flags)
{
	return do_open(path, flags, 0);
}

INTERPOSED int __open64_2(const char *path, int flags)
{
	return do_open(path, flags, 0);
}

INTERPOSED int __openat_2(int dirfd, const char *path, int flags)
{
	return do_openat(dirfd, path, flags, 0);
}

INTERPOSED int __openat64_2(int dirfd, const char *path, int flags)
{
	return do_openat(dirfd, path, flags, 0);
}

static int do_creat(const char *path, mode_t mode)
{
	return is_redirected(path) ?
		       open_redirected(AT_FDCWD, path, O_CREAT | O_WRONLY | O_TRUNC, mode) :
		       real()->creat(path, mode);
}

INTERPOSED int creat(const char *path, mode_t mode)
{
	return do_creat(path, mode);
}

INTERPOSED int creat64(const char *path, mode_t mode)
{
	return do_creat(path, mode);
}

INTERPOSED FILE *fopen(const char *path, const char *mode)
{
	return real()->fopen(redirect(path), mode);
}

INTERPOSED FILE *fopen64(const char *path, const char *mode)
{
	return real()->fopen(redirect(path), mode);
}

INTERPOSED FILE *freopen(const char *path, const char *mode, FILE *stream)
{
	return real()->freopen(redirect(path), mode, stream);
}

INTERPOSED FILE *freopen64(const char *path, const char *mode, FILE *stream)
{
	return real()->freopen(redirect(path), mode, stream);
}
