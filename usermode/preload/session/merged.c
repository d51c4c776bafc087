// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#define _GNU_SOURCE
#include "session/merged.h"

#include <stdio.h>
#include <string.h>

#include "base/entries.h"
#include "base/settings.h"
#include "base/sys.h"

static const char *const folders[] = {
	"sys/class/infiniband",
	"sys/class/infiniband_verbs",
	"sys/class/infiniband_mad",
	"dev/infiniband",
};

static bool merged_path(const char *folder, const char *name, char *buffer)
{
	return snprintf(buffer, PATH_MAX, "%s/merged/%s%s%s", node_place()->node_dir, folder,
			*name ? "/" : "", name) < PATH_MAX;
}

static void make_folders(const char *path)
{
	char part[PATH_MAX];
	const char *p = path + strlen(node_place()->node_dir);

	while (*p) {
		p = strchrnul(p + 1, '/');
		snprintf(part, sizeof(part), "%.*s", (int)(p - path), path);
		(void)sys(SYS_mkdirat, AT_FDCWD, part, 0700);
	}
}

/* A folder, and the merged folder that gets links to its entries. */
struct linking {
	const char *from;
	const char *folder;
};

/* An existing name is kept. */
static void link_one(const char *name, void *arg)
{
	const struct linking *linking = arg;
	char target[PATH_MAX], path[PATH_MAX];

	if (!merged_path(linking->folder, name, path) ||
	    snprintf(target, sizeof(target), "%s/%s", linking->from, name) >= (int)sizeof(target))
		return;
	(void)sys(SYS_symlinkat, target, AT_FDCWD, path);
}

static void link_all(const char *from, const char *folder)
{
	struct linking linking = { .from = from, .folder = folder };

	(void)entries_each(from, link_one, &linking);
}

static void unlink_if_dangling(const char *name, void *folder)
{
	char path[PATH_MAX];
	struct stat st;

	if (merged_path(folder, name, path) && sys_stat(path, &st))
		(void)sys(SYS_unlinkat, AT_FDCWD, path, 0);
}

static void unlink_dangling(const char *folder)
{
	char path[PATH_MAX];

	if (merged_path(folder, "", path))
		(void)entries_each(path, unlink_if_dangling, (void *)(uintptr_t)folder);
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
		/* vnet's entries first: if a name occurs in both, vnet's is shown. */
		snprintf(path, sizeof(path), "%s/%s", node_place()->node_dir, folders[i]);
		link_all(path, folders[i]);
		snprintf(path, sizeof(path), "/%s", folders[i]);
		link_all(path, folders[i]);
	}
}

bool merged_redirect(const char *path, char *buffer)
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
