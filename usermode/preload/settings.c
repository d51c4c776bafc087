// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#define _GNU_SOURCE
#include "settings.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>

#include "sys.h"

#define DEFAULT_NODE "default"
#define DEFAULT_DEVICES "vnet0"
/* Seconds. A machine that is busy, or out of memory, takes some of them. */
#define DEFAULT_ANSWER_TIMEOUT 30
#define MOST_ANSWER_TIMEOUT 3600

static struct settings the_settings;
/* Strings of the_settings.environment, one after the other. */
static char environment_text[8192];

/*
 * The daemon outlives the program and serves others: it gets no more of the
 * program's environment than concerns it. Names that end in '_' are prefixes.
 */
static const char *const passed_on[] = {
	"VNET_", "XDG_RUNTIME_DIR", "HOME",          "PATH",         "TMPDIR",       "LANG",
	"TZ",    "ASAN_OPTIONS",    "UBSAN_OPTIONS", "TSAN_OPTIONS", "LSAN_OPTIONS",
};

static bool is_passed_on(const char *string)
{
	size_t i, length;

	for (i = 0; i < sizeof(passed_on) / sizeof(passed_on[0]); i++) {
		length = strlen(passed_on[i]);
		if (strncmp(string, passed_on[i], length) != 0)
			continue;
		if (passed_on[i][length - 1] == '_' || string[length] == '=')
			return true;
	}
	return false;
}

/* Copied: programs write over the memory of their first environment. */
static void copy_environment(struct settings *s)
{
	size_t room = sizeof(environment_text), length;
	size_t n = 0, max = sizeof(s->environment) / sizeof(s->environment[0]) - 1;
	char *to = environment_text;
	char **string;

	for (string = environ; string && *string && n < max; string++) {
		length = strlen(*string) + 1;
		if (length > room || !is_passed_on(*string))
			continue;
		memcpy(to, *string, length);
		s->environment[n++] = to;
		to += length;
		room -= length;
	}
}

static const char *variable(const char *name, const char *otherwise)
{
	const char *value = getenv(name);

	return value && *value ? value : otherwise;
}

/* XDG_RUNTIME_DIR may be another user's, after su: then it is not for us. */
static bool usable_xdg_dir(const char *dir)
{
	struct stat st = { 0 };

	return dir && dir[0] == '/' && sys_stat(dir, &st) == 0 && S_ISDIR(st.st_mode) &&
	       st.st_uid == geteuid();
}

/* As vnetd and vnet-status have it. */
static void find_runtime_dir(struct settings *s)
{
	const char *dir = variable("VNET_RUNTIME_DIR", NULL);
	const char *xdg = variable("XDG_RUNTIME_DIR", NULL);
	int n;

	if (dir)
		n = snprintf(s->runtime_dir, sizeof(s->runtime_dir), "%s", dir);
	else if (usable_xdg_dir(xdg))
		n = snprintf(s->runtime_dir, sizeof(s->runtime_dir), "%s/vnet", xdg);
	else
		n = snprintf(s->runtime_dir, sizeof(s->runtime_dir), "/tmp/vnet-%u",
			     (unsigned int)geteuid());
	if (n >= (int)sizeof(s->runtime_dir))
		s->off = true;

	snprintf(s->node, sizeof(s->node), "%s", variable("VNET_NODE", DEFAULT_NODE));
	if (strchr(s->node, '/') || s->node[0] == '.')
		strcpy(s->node, DEFAULT_NODE);
	snprintf(s->node_dir, sizeof(s->node_dir), "%s/%s", s->runtime_dir, s->node);
}

/* In a build tree, as installed: bin/vnetd beside the folder of this library. */
static void find_vnetd(struct settings *s)
{
	const char *given = variable("VNETD", NULL);
	const char *slash;
	Dl_info info;

	if (given) {
		snprintf(s->vnetd, sizeof(s->vnetd), "%s", given);
		return;
	}
	if (!dladdr(&the_settings, &info) || !info.dli_fname)
		return;
	slash = strrchr(info.dli_fname, '/');
	if (slash)
		snprintf(s->vnetd, sizeof(s->vnetd), "%.*s/../bin/vnetd",
			 (int)(slash - info.dli_fname), info.dli_fname);
}

/* What is no number of seconds in range counts as unset. */
static void find_answer_timeout(struct settings *s)
{
	const char *text = variable("VNET_ANSWER_TIMEOUT", "");
	char *end;
	unsigned long value = strtoul(text, &end, 10);

	s->answer_timeout = DEFAULT_ANSWER_TIMEOUT;
	if (*text && !*end && value >= 1 && value <= MOST_ANSWER_TIMEOUT)
		s->answer_timeout = (unsigned int)value;
}

static void read_settings(void)
{
	struct settings *s = &the_settings;
	const char *devices = getenv("VNET_DEVICES");

	/* An empty list asks for no device at all. */
	if (getauxval(AT_SECURE) || (devices && !*devices))
		s->off = true;
	if (!devices)
		devices = DEFAULT_DEVICES;
	if (snprintf(s->devices, sizeof(s->devices), "%s", devices) >= (int)sizeof(s->devices))
		s->off = true;
	snprintf(s->link_layer, sizeof(s->link_layer), "%s", variable("VNET_LINK_LAYER", ""));
	s->host_devices = !strcmp(variable("VNET_WITH_HOST_DEVICES", "0"), "1");
	find_runtime_dir(s);
	find_vnetd(s);
	find_answer_timeout(s);
	copy_environment(s);
}

const struct settings *settings(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, read_settings);
	return &the_settings;
}
