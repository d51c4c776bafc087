// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "environment.h"

#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

const char *env_or_default(const char *name, const char *otherwise)
{
	const char *value = getenv(name);

	return value && *value ? value : otherwise;
}

/* After su, XDG_RUNTIME_DIR may belong to another user; it is ignored then. */
static bool usable_xdg_dir(const char *dir)
{
	struct stat st;

	return dir && dir[0] == '/' && stat(dir, &st) == 0 && S_ISDIR(st.st_mode) &&
	       st.st_uid == geteuid();
}

const char *env_runtime_dir(void)
{
	static char path[PATH_MAX];
	const char *dir = env_or_default("VNET_RUNTIME_DIR", NULL);
	const char *xdg = env_or_default("XDG_RUNTIME_DIR", NULL);

	if (dir)
		return dir;
	if (usable_xdg_dir(xdg))
		snprintf(path, sizeof(path), "%s/vnet", xdg);
	else
		snprintf(path, sizeof(path), "/tmp/vnet-%u", (unsigned int)geteuid());
	return path;
}

const char *env_node_name(void)
{
	return env_or_default("VNET_NODE", "default");
}
