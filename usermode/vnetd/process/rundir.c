// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The runtime directory and the node's lock. The directory is private to its owner, because a
 * process that can reach the socket can map the NICs. The holder of the lock is the daemon. The
 * lock file is never removed, so that two starting daemons cannot lock different files.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "daemon.h"
#include "process.h"

#define LOCK_NAME "vnetd.lock"

/*
 * Creates or opens a directory that only this user can access. Returns its descriptor, or -errno.
 */
static int open_private(struct daemon *daemon, int at, const char *name, const char *path)
{
	struct stat st;
	int fd;

	if (mkdirat(at, name, 0700) < 0 && errno != EEXIST)
		return failed(daemon, errno, "%s: %s", path, strerror(errno));
	fd = openat(at, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return failed(daemon, errno, "%s: %s", path, strerror(errno));
	if (fstat(fd, &st) < 0)
		st.st_uid = (uid_t)-1;
	if (st.st_uid != geteuid()) {
		close(fd);
		return failed(daemon, EPERM, "%s belongs to another user", path);
	}
	if (st.st_mode & 077) {
		close(fd);
		return failed(daemon, EPERM, "others have access to %s (chmod 700 it)", path);
	}
	return fd;
}

int rundir_open(struct daemon *daemon)
{
	const struct options *options = &daemon->options;
	struct sockaddr_un addr;
	char *root;
	int root_fd;

	root_fd = open_private(daemon, AT_FDCWD, options->runtime_dir, options->runtime_dir);
	if (root_fd < 0)
		return root_fd;
	root = realpath(options->runtime_dir, NULL);
	if (!root || asprintf(&daemon->dir, "%s/%s", root, options->node) < 0)
		daemon->dir = NULL;
	free(root);
	if (!daemon->dir) {
		close(root_fd);
		return failed(daemon, ENOMEM, "%s: no memory", options->runtime_dir);
	}
	if (strlen(daemon->dir) + sizeof("/" VNET_SOCKET_NAME) > sizeof(addr.sun_path)) {
		close(root_fd);
		return failed(daemon, ENAMETOOLONG, "%s is too long for the address of a socket",
			      daemon->dir);
	}
	daemon->dir_fd = open_private(daemon, root_fd, options->node, daemon->dir);
	close(root_fd);
	return daemon->dir_fd < 0 ? daemon->dir_fd : 0;
}

/* Returns the descriptor that holds the lock, or -errno. */
static int take_lock(int fd)
{
	int error;

	if (flock(fd, LOCK_EX | LOCK_NB) == 0)
		return fd;
	error = -errno;
	close(fd);
	return error;
}

int rundir_lock(struct daemon *daemon)
{
	int fd = openat(daemon->dir_fd, LOCK_NAME, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);

	if (fd < 0)
		return failed(daemon, errno, "%s: cannot make the lock file: %s", daemon->dir,
			      strerror(errno));
	fd = take_lock(fd);
	if (fd < 0)
		return fd;
	daemon->lock_fd = fd;
	return 0;
}

int rundir_lock_ended(int dir_fd)
{
	int fd = openat(dir_fd, LOCK_NAME, O_RDWR | O_NOFOLLOW | O_CLOEXEC);

	return fd < 0 ? -errno : take_lock(fd);
}

bool rundir_answers(const struct daemon *daemon)
{
	struct sockaddr_un addr = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	bool answers;

	if (fd < 0)
		return false;
	snprintf(addr.sun_path, sizeof(addr.sun_path), "%s/%s", daemon->dir, VNET_SOCKET_NAME);
	/* EAGAIN: it listens, but its backlog is full. */
	answers = connect(fd, (struct sockaddr *)&addr, sizeof(addr)) == 0 || errno == EAGAIN;
	close(fd);
	return answers;
}
