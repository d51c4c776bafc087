// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Loads the libibverbs provider in processes that have changed their effective user.
 *
 * libibverbs reads the names of providers from the environment (RDMAV_DRIVERS), but not in a
 * process whose real and effective users differ: it takes that for a set-user-ID program. There,
 * the provider is loaded here, and registers itself. Real set-user-ID programs do not get here,
 * because the loader does not preload this library in them.
 */
#define _GNU_SOURCE
#include "session/provider.h"

#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "base/sys.h"

#define PROVIDER_NAME "libvnet-rdmav34.so"

void provider_load(void)
{
	char path[PATH_MAX];
	const char *slash;
	Dl_info info;

	if (sys(SYS_getuid) == sys(SYS_geteuid) ||
	    !dlopen("libibverbs.so.1", RTLD_LAZY | RTLD_NOLOAD))
		return;
	if (!dladdr((void *)provider_load, &info) || !info.dli_fname)
		return;
	slash = strrchr(info.dli_fname, '/');
	if (slash && snprintf(path, sizeof(path), "%.*s/" PROVIDER_NAME,
			      (int)(slash - info.dli_fname), info.dli_fname) < (int)sizeof(path))
		(void)dlopen(path, RTLD_NOW);
}
