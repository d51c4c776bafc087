// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* The machine's own RDMA devices, where they are wanted beside ours. */
#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <string.h>

#include "daemon.h"

u32 hostdev_first_free(void)
{
	DIR *dir = opendir("/sys/class/infiniband_verbs");
	struct dirent *entry;
	u32 first = 0;

	while (dir && (entry = readdir(dir))) {
		unsigned int number;

		if (sscanf(entry->d_name, "uverbs%u", &number) == 1 && number < 1000000 &&
		    number >= first)
			first = number + 1;
	}
	if (dir)
		closedir(dir);
	return first;
}

/* Links in <dir><from> to all in <from>; what is there already is ours. */
static int link_all(struct daemon *daemon, const char *from)
{
	DIR *dir = opendir(from);
	struct dirent *entry;
	int error = 0;

	while (dir && !error && (entry = readdir(dir))) {
		char path[PATH_MAX], target[PATH_MAX];

		if (entry->d_name[0] == '.')
			continue;
		snprintf(path, sizeof(path), "%s/%s", from + 1, entry->d_name);
		snprintf(target, sizeof(target), "%s/%s", from, entry->d_name);
		error = tree_link(daemon->dir_fd, path, target);
		if (error == -EEXIST)
			error = 0;
	}
	if (dir)
		closedir(dir);
	return error;
}

int hostdev_link(struct daemon *daemon)
{
	static const char *const folders[] = {
		"/sys/class/infiniband",
		"/sys/class/infiniband_verbs",
		"/sys/class/infiniband_mad",
		"/dev/infiniband",
	};
	int error = 0;

	for (size_t i = 0; i < ARRAY_SIZE(folders) && !error; i++)
		error = link_all(daemon, folders[i]);
	return error;
}
