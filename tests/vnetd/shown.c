// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Tests of the descriptors that a client passes with HELLO. vnetd uses none of another process'
 * files, and opens files that the client does not pass by its process ID.
 */
#define _GNU_SOURCE
#include "client.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

/* Number of vnetd's descriptors of this file of a process; NULL: of all files. */
static int holds(pid_t pid, const char *name)
{
	char folder[64], prefix[64], link[300];
	const struct dirent *entry;
	int count = 0;
	DIR *dir;

	snprintf(folder, sizeof(folder), "/proc/%d/fd", vnetd_pid());
	snprintf(prefix, sizeof(prefix), "/proc/%d/%s", pid, name ? name : "");
	dir = opendir(folder);
	expect(dir);
	while ((entry = readdir(dir))) {
		char path[400];
		ssize_t n;

		snprintf(path, sizeof(path), "%s/%s", folder, entry->d_name);
		n = readlink(path, link, sizeof(link) - 1);
		if (n <= 0)
			continue;
		link[n] = '\0';
		count += name ? !strcmp(link, prefix) : !strncmp(link, prefix, strlen(prefix));
	}
	closedir(dir);
	return count;
}

static int open_file(pid_t pid, const char *name)
{
	char path[64];
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/%s", pid, name);
	fd = open(path, (strcmp(name, "mem") ? O_RDONLY : O_RDWR) | O_CLOEXEC);
	expect(fd >= 0);
	return fd;
}

/* Sends HELLO with these descriptors, and returns the error of the answer. */
static int enter(int *sock, const int *fds, unsigned int n)
{
	struct vnet_msg_hello msg = {
		.msg = { .type = VNET_MSG_HELLO, .length = sizeof(msg) },
		.version = VNET_PROTO_VERSION,
		.command = "shown",
	};
	struct vnet_msg_welcome welcome;

	*sock = vnetd_connect();
	expect(*sock >= 0);
	expect(send_message(*sock, &msg, sizeof(msg), fds, n));
	/* recv() discards the descriptors of the answer. */
	expect(recv(*sock, &welcome, sizeof(welcome), 0) == sizeof(welcome));
	for (unsigned int i = 0; i < n; i++)
		close(fds[i]);
	return (int)welcome.error;
}

/* A client that has been accepted is served. */
static void expect_served(void)
{
	struct vnet_msg_opened opened;
	int file = client_open(VNET_UVERBS_FIRST_MINOR, &opened);

	close(file);
}

static bool is_forgotten(void *arg)
{
	return !holds(*(pid_t *)arg, NULL);
}

/* Runs in a child process, because a process is a client as long as it lives. */
static void as_client(void (*act)(pid_t other), pid_t other)
{
	int status = -1;
	pid_t pid = fork();

	if (!pid) {
		act(other);
		_exit(0);
	}
	expect(waitpid(pid, &status, 0) == pid && !status);
	expect(wait_until(is_forgotten, &pid));
}

static void shows_anothers(pid_t other)
{
	pid_t own = getpid();
	const int fds[] = { open_file(own, "mem"), open_file(other, "status"),
			    open_file(other, "maps"), open_file(other, "pagemap") };
	int sock;

	expect(!enter(&sock, fds, 4));
	expect(wait_until(is_forgotten, &other));
	expect(holds(own, "mem") == 1 && !holds(own, "status"));
	/* vnetd has opened the process' own files instead. */
	expect(holds(own, "maps") == 1 && holds(own, "pagemap") == 1);
	expect_served();
}

static void shows_anothers_first(pid_t other)
{
	pid_t own = getpid();
	const int fds[] = { open_file(own, "mem"), open_file(other, "status"),
			    open_file(own, "status"), open_file(other, "maps"),
			    open_file(own, "maps") };
	int sock;

	expect(!enter(&sock, fds, 5));
	expect(wait_until(is_forgotten, &other));
	expect(holds(own, "status") == 1 && holds(own, "maps") == 1);
}

static void shows_memory_alone(pid_t other)
{
	pid_t own = getpid();
	const int fds[] = { open_file(own, "mem") };
	int sock;

	expect(!enter(&sock, fds, 1));
	expect(holds(own, "maps") == 1 && holds(own, "pagemap") == 1);
	/* Without the status file, vnetd knows no capabilities of the client. */
	expect(!holds(own, "status"));
	expect_served();
}

static void shows_no_memory(pid_t other)
{
	pid_t own = getpid();
	const int maps[] = { open_file(own, "maps") };
	char path[4096];
	int plain, sock;

	expect(enter(&sock, maps, 1) == EINVAL);
	/* The daemon may close the file only after it has answered. */
	expect(wait_until(is_forgotten, &own));
	/* A plain file named "mem" is not the memory of a process. */
	snprintf(path, sizeof(path), "%s/mem", getenv("VNET_TEST_DIR"));
	plain = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	expect(plain >= 0);
	expect(enter(&sock, &plain, 1) == EINVAL);
}

int main(void)
{
	pid_t other;

	vnetd_start();
	other = fork();
	if (!other) {
		for (;;)
			pause();
	}
	as_client(shows_anothers, other);
	as_client(shows_anothers_first, other);
	as_client(shows_memory_alone, other);
	as_client(shows_no_memory, other);
	kill(other, SIGKILL);
	expect(waitpid(other, NULL, 0) == other);
	return 0;
}
