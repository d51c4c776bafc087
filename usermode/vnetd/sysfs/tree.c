// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Creates and removes trees of directories, small files and symbolic links. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sysfs.h"

int tree_dir(int dir_fd, const char *path)
{
	char part[PATH_MAX];
	const char *slash = path;

	while (slash) {
		size_t length;

		slash = strchr(slash, '/');
		length = slash ? (size_t)(slash++ - path) : strlen(path);
		if (length >= sizeof(part))
			return -ENAMETOOLONG;
		memcpy(part, path, length);
		part[length] = '\0';
		if (mkdirat(dir_fd, part, 0755) < 0 && errno != EEXIST)
			return -errno;
	}
	return 0;
}

/* Creates the parent directory of `path`. */
static int make_parent(int dir_fd, const char *path)
{
	char parent[PATH_MAX];
	const char *slash = strrchr(path, '/');

	if (!slash)
		return 0;
	if (snprintf(parent, sizeof(parent), "%.*s", (int)(slash - path), path) >=
	    (int)sizeof(parent))
		return -ENAMETOOLONG;
	return tree_dir(dir_fd, parent);
}

int tree_file(int dir_fd, const char *path, const char *format, ...)
{
	va_list args;
	int error = make_parent(dir_fd, path);
	int fd, n;

	if (error)
		return error;
	fd = openat(dir_fd, path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0444);
	if (fd < 0)
		return -errno;
	va_start(args, format);
	n = vdprintf(fd, format, args);
	error = n < 0 ? -errno : 0;
	va_end(args);
	close(fd);
	return error;
}

int tree_replace(int dir_fd, const char *path, const char *format, ...)
{
	static const char fresh[] = "fresh";
	char text[512];
	va_list args;
	int error;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	/* May be left by a daemon that died here. */
	unlinkat(dir_fd, fresh, 0);
	error = tree_file(dir_fd, fresh, "%s", text);
	if (error)
		return error;
	return renameat(dir_fd, fresh, dir_fd, path) < 0 ? -errno : 0;
}

int tree_link(int dir_fd, const char *path, const char *target)
{
	int error = make_parent(dir_fd, path);

	if (error)
		return error;
	return symlinkat(target, dir_fd, path) < 0 ? -errno : 0;
}

static int remove_entries(DIR *dir)
{
	struct dirent *entry;
	int error = 0;

	while (!error && (entry = readdir(dir))) {
		if (!strcmp(entry->d_name, ".") || !strcmp(entry->d_name, ".."))
			continue;
		error = tree_remove(dirfd(dir), entry->d_name);
	}
	return error;
}

int tree_remove(int dir_fd, const char *path)
{
	DIR *dir;
	int error, fd;

	if (unlinkat(dir_fd, path, 0) == 0 || errno == ENOENT)
		return 0;
	if (errno != EISDIR)
		return -errno;
	fd = openat(dir_fd, path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	dir = fdopendir(fd);
	if (!dir) {
		close(fd);
		return -ENOMEM;
	}
	error = remove_entries(dir);
	closedir(dir);
	if (!error && unlinkat(dir_fd, path, AT_REMOVEDIR) < 0)
		error = -errno;
	return error;
}
