// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Interposed functions that take paths, other than open() and stat(). */
#define _GNU_SOURCE
#include <string.h>

#include "base/real.h"
#include "calls/redirect.h"
#include "session/session.h"

/* Declared for programs with _FORTIFY_SOURCE. */
ssize_t __readlink_chk(const char *path, char *buffer, size_t size, size_t room);
ssize_t __readlinkat_chk(int dirfd, const char *path, char *buffer, size_t size, size_t room);
char *__realpath_chk(const char *path, char *resolved, size_t room);

/* Everybody may open a device, whatever the mode of the file that represents it. */
static int accessible(int ret, int dirfd, const char *path, int mode)
{
	int saved = errno;
	struct stat st;

	if (likely(!ret) || saved != EACCES || (mode & X_OK) || !session_exists())
		return ret;
	if (!sys(SYS_newfstatat, dirfd, path, &st, 0) && session_node(&st))
		return 0;
	errno = saved;
	return ret;
}

INTERPOSED int access(const char *path, int mode)
{
	const char *to = redirect(path);

	return accessible(real()->access(to, mode), AT_FDCWD, to, mode);
}

INTERPOSED int faccessat(int dirfd, const char *path, int mode, int flags)
{
	const char *to = redirect(path);

	return accessible(real()->faccessat(dirfd, to, mode, flags), dirfd, to, mode);
}

INTERPOSED int euidaccess(const char *path, int mode)
{
	const char *to = redirect(path);

	return accessible(real()->euidaccess(to, mode), AT_FDCWD, to, mode);
}

INTERPOSED int eaccess(const char *path, int mode)
{
	const char *to = redirect(path);

	return accessible(real()->euidaccess(to, mode), AT_FDCWD, to, mode);
}

INTERPOSED int chdir(const char *path)
{
	return real()->chdir(redirect(path));
}

/* ----------------------------------------------------------------------- links */

static ssize_t do_readlink(const char *path, char *buffer, size_t size)
{
	return real()->readlink(redirect(path), buffer, size);
}

INTERPOSED ssize_t readlink(const char *path, char *buffer, size_t size)
{
	return do_readlink(path, buffer, size);
}

static ssize_t do_readlinkat(int dirfd, const char *path, char *buffer, size_t size)
{
	return real()->readlinkat(dirfd, redirect(path), buffer, size);
}

INTERPOSED ssize_t readlinkat(int dirfd, const char *path, char *buffer, size_t size)
{
	return do_readlinkat(dirfd, path, buffer, size);
}

INTERPOSED ssize_t __readlink_chk(const char *path, char *buffer, size_t size, size_t room)
{
	if (size > room)
		abort();
	return do_readlink(path, buffer, size);
}

INTERPOSED ssize_t __readlinkat_chk(int dirfd, const char *path, char *buffer, size_t size,
				    size_t room)
{
	if (size > room)
		abort();
	return do_readlinkat(dirfd, path, buffer, size);
}

static char *do_realpath(const char *path, char *resolved)
{
	const char *to = redirect(path);
	char *answer = real()->realpath(to, resolved);

	if (!answer && to != path)
		answer = paths_real(to, resolved);
	if (answer && to != path)
		paths_restore(answer);
	return answer;
}

INTERPOSED char *realpath(const char *path, char *resolved)
{
	return do_realpath(path, resolved);
}

INTERPOSED char *__realpath_chk(const char *path, char *resolved, size_t room)
{
	if (room < PATH_MAX)
		abort();
	return do_realpath(path, resolved);
}

INTERPOSED char *canonicalize_file_name(const char *path)
{
	return do_realpath(path, NULL);
}

/* --------------------------------------------------------------------- folders */

static DIR *do_opendir(const char *path)
{
	return real()->opendir(redirect(path));
}

INTERPOSED DIR *opendir(const char *path)
{
	return do_opendir(path);
}

static int do_scandir(const char *path, struct dirent ***list, int (*filter)(const struct dirent *),
		      int (*compare)(const struct dirent **, const struct dirent **))
{
	return real()->scandir(redirect(path), list, filter, compare);
}

INTERPOSED int scandir(const char *path, struct dirent ***list,
		       int (*filter)(const struct dirent *),
		       int (*compare)(const struct dirent **, const struct dirent **))
{
	return do_scandir(path, list, filter, compare);
}

static int do_scandirat(int dirfd, const char *path, struct dirent ***list,
			int (*filter)(const struct dirent *),
			int (*compare)(const struct dirent **, const struct dirent **))
{
	return real()->scandirat(dirfd, redirect(path), list, filter, compare);
}

INTERPOSED int scandirat(int dirfd, const char *path, struct dirent ***list,
			 int (*filter)(const struct dirent *),
			 int (*compare)(const struct dirent **, const struct dirent **))
{
	return do_scandirat(dirfd, path, list, filter, compare);
}

/* On 64-bit machines struct dirent64 is struct dirent, and glob64_t is glob_t. */
typedef int (*dirent_filter)(const struct dirent *);
typedef int (*dirent_compare)(const struct dirent **, const struct dirent **);

INTERPOSED int scandir64(const char *path, struct dirent64 ***list,
			 int (*filter)(const struct dirent64 *),
			 int (*compare)(const struct dirent64 **, const struct dirent64 **))
{
	return do_scandir(path, (struct dirent ***)(void *)list, (dirent_filter)(void *)filter,
			  (dirent_compare)(void *)compare);
}

INTERPOSED int scandirat64(int dirfd, const char *path, struct dirent64 ***list,
			   int (*filter)(const struct dirent64 *),
			   int (*compare)(const struct dirent64 **, const struct dirent64 **))
{
	return do_scandirat(dirfd, path, (struct dirent ***)(void *)list,
			    (dirent_filter)(void *)filter, (dirent_compare)(void *)compare);
}

/* ------------------------------------------------------------------------ glob */

static void *glob_opendir(const char *path)
{
	return do_opendir(path);
}

static struct dirent *glob_readdir(void *dir)
{
	return readdir(dir);
}

static void glob_closedir(void *dir)
{
	closedir(dir);
}

static int glob_lstat(const char *path, struct stat *st)
{
	return real()->lstat(redirect(path), st);
}

static int glob_stat(const char *path, struct stat *st)
{
	return real()->stat(redirect(path), st);
}

/* The C library's glob() does not call interposed functions unless it is given functions to use. */
static int do_glob(const char *pattern, int flags, int (*failed)(const char *, int), glob_t *found)
{
	if (likely(!paths_candidate(pattern)) || (flags & GLOB_ALTDIRFUNC))
		return real()->glob(pattern, flags, failed, found);
	found->gl_opendir = glob_opendir;
	found->gl_readdir = glob_readdir;
	found->gl_closedir = glob_closedir;
	found->gl_lstat = glob_lstat;
	found->gl_stat = glob_stat;
	return real()->glob(pattern, flags | GLOB_ALTDIRFUNC, failed, found);
}

INTERPOSED int glob(const char *pattern, int flags, int (*failed)(const char *, int), glob_t *found)
{
	return do_glob(pattern, flags, failed, found);
}

INTERPOSED int glob64(const char *pattern, int flags, int (*failed)(const char *, int),
		      glob64_t *found)
{
	return do_glob(pattern, flags, failed, (glob_t *)(void *)found);
}

/* --------------------------------------------------------- extended attributes */

INTERPOSED ssize_t getxattr(const char *path, const char *name, void *value, size_t size)
{
	return real()->getxattr(redirect(path), name, value, size);
}

INTERPOSED ssize_t lgetxattr(const char *path, const char *name, void *value, size_t size)
{
	return real()->lgetxattr(redirect(path), name, value, size);
}

INTERPOSED ssize_t listxattr(const char *path, char *list, size_t size)
{
	return real()->listxattr(redirect(path), list, size);
}

INTERPOSED ssize_t llistxattr(const char *path, char *list, size_t size)
{
	return real()->llistxattr(redirect(path), list, size);
}
