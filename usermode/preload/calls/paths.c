// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#define _GNU_SOURCE
#include "calls/paths.h"

#include <stdio.h>
#include <string.h>

#include "base/lock.h"
#include "base/real.h"
#include "base/settings.h"
#include "base/sys.h"
#include "session/control.h"
#include "session/merged.h"
#include "session/session.h"

/* Where the kernel shows this process' descriptors. */
#define HELD_FOLDERS "/proc/self/fd/"

enum owner {
	NOT_OURS,
	/* Paths of RDMA devices. The machine's own are hidden unless they are asked for. */
	OURS,
	/* Ours if the tree has it, otherwise the machine's. */
	OURS_IF_PRESENT,
};

struct place {
	/* The path's components, separated by '/'. */
	const char *path;
	/* The last component may have a suffix (infiniband, infiniband_verbs, ...). */
	bool prefix;
	enum owner owner;
};

static const struct place places[] = {
	{ "sys/class/infiniband", true, OURS },
	{ "sys/class/misc/rdma_cm", false, OURS },
	{ "dev/infiniband", false, OURS },
	/* The PCI domain and the driver of the emulated devices. */
	{ "sys/devices/pci766e:", true, OURS_IF_PRESENT },
	{ "sys/bus/pci/devices/766e:", true, OURS_IF_PRESENT },
	{ "sys/bus/pci/drivers/vnet", false, OURS_IF_PRESENT },
};

/* Skip slashes and "." components. */
static const char *skip_slashes(const char *p)
{
	while (*p == '/' || (p[0] == '.' && (p[1] == '/' || !p[1])))
		p++;
	return p;
}

/* Is `path` the place, or below it? */
static bool leads_to(const char *path, const struct place *place)
{
	const char *want = place->path;
	const char *p = skip_slashes(path);

	for (; *want; want++) {
		if (*want == '/') {
			if (*p != '/')
				return false;
			p = skip_slashes(p);
		} else if (*p++ != *want) {
			return false;
		}
	}
	return place->prefix || *p == '/' || !*p;
}

static enum owner path_owner(const char *path)
{
	size_t i;

	for (i = 0; i < sizeof(places) / sizeof(places[0]); i++)
		if (leads_to(path, &places[i]))
			return places[i].owner;
	return NOT_OURS;
}

bool paths_candidate(const char *path)
{
	/* "/sys...", "/dev...", or a path with extra slashes or dots. */
	if (!path || path[0] != '/' ||
	    (path[1] != 's' && path[1] != 'd' && path[1] != '/' && path[1] != '.'))
		return false;
	return !settings()->off && path_owner(path) != NOT_OURS;
}

static bool exists(const char *path)
{
	return sys(SYS_faccessat, AT_FDCWD, path, F_OK) == 0;
}

/* The program is about to read counter files: make the daemon write their present values. */
static void renew_counters(const char *path)
{
	struct vnet_msg renew = { .type = VNET_MSG_COUNTERS, .length = sizeof(renew) };
	struct iovec iov = { .iov_base = &renew, .iov_len = sizeof(renew) };
	struct session *session;
	struct reply reply;

	if (!strstr(path, "/counters") && !strstr(path, "/hw_counters"))
		return;
	session = session_get(NULL);
	if (session && !control_request(session, &iov, 1, &reply))
		control_drop_fds(&reply);
}

/*
 * Is there a daemon for the tree? A tree without a daemon is left over and out of date. A child of
 * vfork() has no session of its own, but its parent has.
 */
static bool tree_is_live(void)
{
	return session_get(NULL) || session_in_vfork_child();
}

/* Without a daemon there are no devices: lead to a path that does not exist. */
static const char *redirect_nowhere(const char *path, char *buffer)
{
	const struct settings *s = settings();
	int n;

	if (s->host_devices)
		return path;
	n = snprintf(buffer, PATH_MAX, "%s/none/%s", node_place()->node_dir, skip_slashes(path));
	return n < PATH_MAX ? buffer : path;
}

/* Does the folder's path still lead this process to the folder that the session holds? */
static bool is_reachable(const char *name, int fd)
{
	char path[PATH_MAX];
	struct identity held = { 0 };
	struct stat st = { 0 };

	if (snprintf(path, sizeof(path), "%s/%s", node_place()->node_dir, name) >=
		    (int)sizeof(path) ||
	    sys_identity(fd, &held))
		return true;
	return !sys_stat(path, &st) && st.st_dev == held.dev && st.st_ino == held.ino;
}

/*
 * Write the path by the folder descriptor that the session holds, if the folder's name no longer
 * leads to it: the process has changed its user or root directory since. Returns false if the name
 * still works.
 */
static bool redirect_by_descriptor(const char *path, char *buffer)
{
	bool dev = !strncmp(path, "dev", 3);
	int fd = session_tree(dev ? TREE_DEV : TREE_SYS);
	const char *rest = path + 3;

	if (fd < 0 || is_reachable(dev ? "dev" : "sys", fd))
		return false;
	return snprintf(buffer, PATH_MAX, HELD_FOLDERS "%d/%s", fd, skip_slashes(rest)) < PATH_MAX;
}

const char *paths_redirect(const char *path, char *buffer)
{
	const struct settings *s = settings();
	enum owner owner = path_owner(path);
	bool led;
	int n;

	if (owner == OURS && !tree_is_live())
		return redirect_nowhere(path, buffer);
	renew_counters(path);
	led = redirect_by_descriptor(skip_slashes(path), buffer);
	if (!led && s->host_devices && merged_redirect(skip_slashes(path), buffer))
		return buffer;
	if (!led) {
		n = snprintf(buffer, PATH_MAX, "%s/%s", node_place()->node_dir, skip_slashes(path));
		if (n >= PATH_MAX)
			return path;
	}
	if ((owner == OURS_IF_PRESENT || s->host_devices) && !exists(buffer))
		return path;
	return buffer;
}

/*
 * Find the node's directory without symbolic links: the kernel's name of the folder that the
 * session holds. `dir` has PATH_MAX bytes.
 */
static bool find_node_dir(char *dir)
{
	int fd = session_tree(TREE_SYS);
	char link[32];
	long n;

	if (fd < 0)
		return real()->realpath(node_place()->node_dir, dir);
	snprintf(link, sizeof(link), HELD_FOLDERS "%d", fd);
	n = sys(SYS_readlinkat, AT_FDCWD, link, dir, PATH_MAX - 1);
	if (n < 4)
		return false;
	/* Cut off "/sys". */
	dir[n - 4] = '\0';
	return true;
}

/* The node's directory without symbolic links, found once for each place; "" if that failed. */
static const char *real_node_dir(void)
{
	static char dir[PATH_MAX];
	static const struct node_place *of;
	static struct lock lock;
	raw_sigset_t saved = lock_take(&lock);

	if (of != node_place() || !dir[0]) {
		if (!find_node_dir(dir))
			dir[0] = '\0';
		of = node_place();
	}
	lock_release(&lock, saved);
	return dir;
}

char *paths_real(const char *led, char *resolved)
{
	char name[PATH_MAX], link[32];
	int fd;
	long n;

	if (strncmp(led, HELD_FOLDERS, strlen(HELD_FOLDERS)) != 0)
		return NULL;
	fd = sys_open(led, O_PATH);
	if (fd < 0)
		return NULL;
	snprintf(link, sizeof(link), HELD_FOLDERS "%d", fd);
	n = sys(SYS_readlinkat, AT_FDCWD, link, name, sizeof(name) - 1);
	sys_close(fd);
	if (n < 0)
		return NULL;
	name[n] = '\0';
	return resolved ? strcpy(resolved, name) : strdup(name);
}

void paths_restore(char *path)
{
	const char *dir = real_node_dir();
	size_t length = strlen(dir);

	if (!length || strncmp(path, dir, length) != 0)
		return;
	if (!strncmp(path + length, "/sys/", 5) || !strncmp(path + length, "/dev/", 5))
		memmove(path, path + length, strlen(path + length) + 1);
}
