// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#define _GNU_SOURCE
#include "base/settings.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>

#include "base/sys.h"

#define DEFAULT_NODE "default"
#define DEFAULT_DEVICES "vnet0"
/* Seconds. A machine that is busy or short of memory may need some of them. */
#define DEFAULT_ANSWER_TIMEOUT 30
#define MOST_ANSWER_TIMEOUT 3600

static struct settings the_settings;
/* Storage of the strings in the_settings.environment. */
static char environment_text[8192];

/*
 * Environment variables that the daemon inherits. The daemon outlives the program and serves other
 * programs, so it inherits only its own variables. Names that end in '_' are prefixes.
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

/*
 * Copy the strings, because programs overwrite the memory of their initial environment
 * (setproctitle).
 */
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

static void find_node(struct settings *s)
{
	snprintf(s->node, sizeof(s->node), "%s", variable("VNET_NODE", DEFAULT_NODE));
	if (strchr(s->node, '/') || s->node[0] == '.')
		strcpy(s->node, DEFAULT_NODE);
}

/* Default: bin/vnetd beside the folder of this library, in a build tree as well as installed. */
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

/* A value that is not a number of seconds in range counts as unset. */
static void find_answer_timeout(struct settings *s)
{
	const char *text = variable("VNET_ANSWER_TIMEOUT", "");
	char *end;
	unsigned long value = strtoul(text, &end, 10);

	s->answer_timeout = DEFAULT_ANSWER_TIMEOUT;
	if (*text && !*end && value >= 1 && value <= MOST_ANSWER_TIMEOUT)
		s->answer_timeout = (unsigned int)value;
}

/* ------------------------------------------------------------ runtime directory */

static struct node_place first_place;
static struct node_place *current_place = &first_place;

/* A variable's value at the program's start; programs change their environment. */
static const char *remembered(const struct settings *s, const char *name)
{
	size_t i, length = strlen(name);

	for (i = 0; s->environment[i]; i++)
		if (!strncmp(s->environment[i], name, length) && s->environment[i][length] == '=' &&
		    s->environment[i][length + 1])
			return s->environment[i] + length + 1;
	return NULL;
}

static bool is_users_dir(const char *dir, uid_t uid)
{
	struct stat st = { 0 };

	return sys_stat(dir, &st) == 0 && S_ISDIR(st.st_mode) && st.st_uid == uid;
}

/*
 * Choose the runtime directory. vnetd and vnet-status follow the same rules. After su,
 * XDG_RUNTIME_DIR may be another user's; then it is ignored. VNET_RUNTIME_DIR is meant for the user
 * who started the program. If the program has changed its user since (`first` is false), the
 * variable counts only if the directory already belongs to the new user. Otherwise the new user
 * would make a directory, or start a daemon, where the first user expects its own.
 */
static bool find_place(const struct settings *s, struct node_place *place, uid_t uid, bool first)
{
	const char *dir = remembered(s, "VNET_RUNTIME_DIR");
	const char *xdg = remembered(s, "XDG_RUNTIME_DIR");
	size_t size = sizeof(place->runtime_dir);
	int n;

	place->uid = uid;
	if (dir && (first || is_users_dir(dir, uid)))
		n = snprintf(place->runtime_dir, size, "%s", dir);
	else if (xdg && xdg[0] == '/' && is_users_dir(xdg, uid))
		n = snprintf(place->runtime_dir, size, "%s/vnet", xdg);
	else
		n = snprintf(place->runtime_dir, size, "/tmp/vnet-%u", uid);
	snprintf(place->node_dir, sizeof(place->node_dir), "%s/%s", place->runtime_dir, s->node);
	return n < (int)size;
}

const struct node_place *node_place(void)
{
	(void)settings();
	return __atomic_load_n(&current_place, __ATOMIC_ACQUIRE);
}

/*
 * Another thread may be reading the old place, so it is never freed. Programs seldom change their
 * user.
 */
void node_place_renew(void)
{
	const struct node_place *old = node_place();
	uid_t uid = (uid_t)sys(SYS_geteuid);
	struct node_place *place;

	if (uid == old->uid)
		return;
	place = &first_place;
	if (uid != first_place.uid) {
		place = sys_mmap(NULL, sizeof(*place), PROT_READ | PROT_WRITE,
				 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		if (!place || !find_place(settings(), place, uid, false))
			return;
	}
	__atomic_store_n(&current_place, place, __ATOMIC_RELEASE);
}

/* ---------------------------------------------------------- reading the environment */

/*
 * valgrind runs one thread at a time, and changes to another only at system calls. If a thread waits
 * for a page that another one moves, none runs any more. Moved pages would also count as initialised.
 */
static bool in_valgrind(void)
{
	return strstr(variable("LD_PRELOAD", ""), "/vgpreload_");
}

static enum map_regions which_regions(const char *text)
{
	if (!strcmp(text, "never") || in_valgrind())
		return MAP_NEVER;
	return strcmp(text, "always") ? MAP_HOT : MAP_ALWAYS;
}

static void read_settings(void)
{
	struct settings *s = &the_settings;
	const char *devices = getenv("VNET_DEVICES");

	/* An empty list: no devices. */
	if (getauxval(AT_SECURE) || (devices && !*devices))
		s->off = true;
	if (!devices)
		devices = DEFAULT_DEVICES;
	if (snprintf(s->devices, sizeof(s->devices), "%s", devices) >= (int)sizeof(s->devices))
		s->off = true;
	snprintf(s->link_layer, sizeof(s->link_layer), "%s", variable("VNET_LINK_LAYER", ""));
	s->host_devices = !strcmp(variable("VNET_WITH_HOST_DEVICES", "0"), "1");
	s->allow_ptrace = !strcmp(variable("VNET_ALLOW_PTRACE", "0"), "1");
	s->map_regions = which_regions(variable("VNET_MAP_REGIONS", "hot"));
	find_node(s);
	find_vnetd(s);
	find_answer_timeout(s);
	copy_environment(s);
	if (!find_place(s, &first_place, (uid_t)sys(SYS_geteuid), true))
		s->off = true;
}

const struct settings *settings(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, read_settings);
	return &the_settings;
}
