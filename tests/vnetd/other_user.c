// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Tests that the daemon serves its own user only, and uses no folders that others can access. */
#define _GNU_SOURCE
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "client.h"

#define NOBODY 65534

static char *default_arguments[] = { NULL };

static void refuses_folders(const char *base)
{
	char path[4096], option[5000];
	char *more[] = { option, NULL };

	snprintf(path, sizeof(path), "%s/folder", base);
	snprintf(option, sizeof(option), "--runtime-dir=%s", path);
	expect(mkdir(path, 0700) == 0);
	expect(chmod(path, 0750) == 0);
	expect(vnetd_run(more) == 1);
	expect(chmod(path, 0701) == 0);
	expect(vnetd_run(more) == 1);
	expect(chmod(path, 0700) == 0);
	if (geteuid() == 0) {
		expect(chown(path, NOBODY, 0) == 0);
		expect(vnetd_run(more) == 1);
	}
	expect(rmdir(path) == 0);
	/* A symbolic link is refused, whatever its target is. */
	expect(symlink(getenv("VNET_RUNTIME_DIR"), path) == 0);
	expect(vnetd_run(more) == 1);
	expect(unlink(path) == 0);
}

static void open_up(const char *path, mode_t mode)
{
	if (chmod(path, mode) < 0)
		fail("chmod %s: %s", path, strerror(errno));
}

/* Opens the folders and the socket to other users, so that the test reaches the daemon. */
static void let_others_reach_it(void)
{
	char path[4096];
	const char *dir = getenv("VNET_RUNTIME_DIR");

	snprintf(path, sizeof(path), "%s/..", dir);
	open_up(path, 0755);
	open_up(dir, 0755);
	snprintf(path, sizeof(path), "%s/default", dir);
	open_up(path, 0755);
	snprintf(path, sizeof(path), "%s/default/" VNET_SOCKET_NAME, dir);
	open_up(path, 0777);
}

static int as_nobody(void)
{
	struct welcome welcome;
	int sock;

	if (setgid(NOBODY) < 0 || setuid(NOBODY) < 0)
		return 2;
	sock = vnetd_connect();
	if (sock < 0)
		return 3;
	/* The daemon closes the connection without an answer. */
	return hello(sock, 0, 0, -1, &welcome) < 0 && hung_up(sock) ? 0 : 4;
}

static void hangs_up_on_other_users(void)
{
	pid_t pid;
	int status;

	expect(vnetd_run(default_arguments) == 0);
	let_others_reach_it();
	pid = fork();
	if (pid == 0)
		_exit(as_nobody());
	expect(waitpid(pid, &status, 0) == pid && WIFEXITED(status));
	expect(WEXITSTATUS(status) == 0);
	vnetd_serves();
}

int main(void)
{
	refuses_folders(getenv("VNET_TEST_DIR"));
	if (geteuid() != 0)
		skip("another user can be had only by root");
	hangs_up_on_other_users();
	return 0;
}
