// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#define _GNU_SOURCE
#include "base/entries.h"

#include <dirent.h>
#include <string.h>

#include "base/sys.h"

static void each_in(char *from, const char *end, void (*call)(const char *, void *), void *arg)
{
	while (from < end) {
		const struct dirent64 *entry = (const struct dirent64 *)(void *)from;

		if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
			call(entry->d_name, arg);
		from += entry->d_reclen;
	}
}

int entries_each(const char *path, void (*call)(const char *name, void *arg), void *arg)
{
	char buffer[4096] __attribute__((aligned(8))) = { 0 };
	int fd = sys_open(path, O_RDONLY | O_DIRECTORY);
	long n;

	if (fd < 0)
		return fd;
	while ((n = sys(SYS_getdents64, fd, buffer, sizeof(buffer))) > 0)
		each_in(buffer, buffer + n, call, arg);
	sys_close(fd);
	return (int)n;
}
