// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#define _GNU_SOURCE
#include "merged.h"

#include <stdio.h>
#include <string.h>

#include "real.h"
#include "settings.h"
#include "sys.h"

static const char *const folders[] = {
	"sys/class/infiniband",
	"sys/class/infiniband_verbs",
	"dev/infiniband",
};

static bool merged_path(const char *folder, const char *name, char *buffer)
{
	return snprintf(buffer, PATH_MAX, "%s/merged/%s%s%s", settings()->node_dir, folder,
			*name ? "/" : "", name) < PATH_MAX;
}

static void make_folders(const char *path)
{
	char part[PATH_MAX];
	const char *p = path + strlen(settings()->node_dir);

	while (*p) {
		p = strchrnul(p + 1, '/');
		snprintf(part, sizeof(part), "%.*s", (int)(p - path), path);
		(void)sys(SYS_mkdirat, AT_FDCWD, part, 0700);
	}
}

/* Links to everything in `from`; a name that is there already stays. */
static void link_all(const char *from, const char *folder)
{
	char target[PATH_MAX], path[PATH_MAX];
	struct dirent *entry;
	DIR *dir = real()->opendir(from);

	if (!dir)
		return;
	while ((entry = readdir(dir))) {
		if (entry->d_name[0] == '.' || !merged_path(folder, entry->d_name, path) ||
		    snprintf(target, sizeof(target), "%s/%s", from, entry->d_name) >=
			    (int)sizeof(target))
			continue;
		(void)sys(SYS_symlinkat, target, AT_FDCWD, path);
	}
	closedir(dir);
}

static void unlink_dangling(const char *folder)
{
	char path[PATH_MAX];
	struct dirent *entry;
	struct stat st;
	DIR *dir;

	if (!merged_path(folder, "", path) || !(dir = real()->opendir(path)))
		return;
	while ((entry = readdir(dir)))
		if (entry->d_name[0] != '.' && merged_path(folder, entry->d_name, path) &&
		    sys_stat(path, &st))
			(void)sys(SYS_unlinkat, AT_FDCWD, path, 0);
	closedir(dir);
}

void merged_update(void)
{
	char path[PATH_MAX];
	size_t i;

	for (i = 0; i < sizeof(folders) / sizeof(folders[0]); i++) {
		if (!merged_path(folders[i], "", path))
			return;
		make_folders(path);
		unlink_dangling(folders[i]);
		/* Vnet's first: of two with the same name, that one is seen. */
		snprintf(path, sizeof(path), "%s/%s", settings()->node_dir, folders[i]);
		link_all(path, folders[i]);
		snprintf(path, sizeof(path), "/%s", folders[i]);
		link_all(path, folders[i]);
	}
}

bool merged_lead(const char *path, char *buffer)
{
	size_t i, length;

	for (i = 0; i < sizeof(folders) / sizeof(folders[0]); i++) {
		length = strlen(folders[i]);
		if (!strncmp(path, folders[i], length) &&
		    !path[length + strspn(path + length, "/")])
			return merged_path(folders[i], "", buffer);
	}
	return false;
}
