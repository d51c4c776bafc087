// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Forks into the background and reports the result of the start. The report goes to the parent
 * process through a pipe, and to the holder of the other end of --ready-fd.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "daemon.h"
#include "process.h"

#define READY_WORD "ready\n"

/* Write end of the pipe to the parent; -1: none. */
static int parent_fd = -1;

void close_all_between(unsigned int first, unsigned int last)
{
	struct rlimit limit;

	if (first > last || syscall(SYS_close_range, first, last, 0) == 0)
		return;
	/* No close_range(): an old kernel, or a seccomp filter. */
	if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && last > limit.rlim_cur)
		last = (unsigned int)limit.rlim_cur;
	for (unsigned int fd = first; fd <= last; fd++)
		close((int)fd);
}

void close_inherited(int keep)
{
	int fd;

	/* Occupy descriptors 0 to 2, so that no later open() gets one of them. */
	do
		fd = open("/dev/null", O_RDWR | O_CLOEXEC);
	while (fd >= 0 && fd <= STDERR_FILENO);

	if (keep <= STDERR_FILENO) {
		close_all_between(STDERR_FILENO + 1, ~0u);
		return;
	}
	close_all_between(STDERR_FILENO + 1, (unsigned int)keep - 1);
	close_all_between((unsigned int)keep + 1, ~0u);
	fcntl(keep, F_SETFD, FD_CLOEXEC);
}

void raise_descriptor_limit(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) < 0)
		return;
	limit.rlim_cur = limit.rlim_max;
	setrlimit(RLIMIT_NOFILE, &limit);
}

static void tell(int *fd, const char *text)
{
	if (*fd < 0)
		return;
	if (write(*fd, text, strlen(text)) < 0)
		log_line("the starting process cannot be told that the daemon is ready: %m");
	if (*fd > STDERR_FILENO)
		close(*fd);
	*fd = -1;
}

void ready_tell(struct daemon *daemon)
{
	tell(&parent_fd, READY_WORD);
	tell(&daemon->options.ready_fd, READY_WORD);
}

void ready_fail(struct daemon *daemon)
{
	char line[sizeof(daemon->problem) + 1];

	snprintf(line, sizeof(line), "%s\n", daemon->problem);
	tell(&parent_fd, line);
	tell(&daemon->options.ready_fd, line);
}

/* Runs in the parent: reads the child's report, and exits with the status that it implies. */
static int __attribute__((noreturn)) wait_for_child(int fd)
{
	char text[sizeof(((struct daemon *)0)->problem) + 1];
	size_t length = 0;

	while (length < sizeof(text) - 1) {
		ssize_t n = read(fd, text + length, sizeof(text) - 1 - length);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			break;
		length += (size_t)n;
	}
	text[length] = '\0';
	if (!strcmp(text, READY_WORD))
		_exit(0);
	fprintf(stderr, "vnetd: %s", length ? text : "the daemon ended before it was ready\n");
	fflush(stderr);
	_exit(1);
}

static int detach_stdio(void)
{
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);

	if (null < 0 || dup2(null, STDIN_FILENO) < 0 || dup2(null, STDOUT_FILENO) < 0)
		return -errno;
	if (null > STDERR_FILENO)
		close(null);
	return 0;
}

int daemonise(struct daemon *daemon)
{
	int fds[2];
	pid_t pid;
	int error;

	if (daemon->options.foreground)
		return 0;
	if (pipe2(fds, O_CLOEXEC) < 0)
		return -errno;
	pid = fork();
	if (pid < 0)
		return -errno;
	if (pid > 0) {
		close(fds[1]);
		if (daemon->options.ready_fd >= 0)
			close(daemon->options.ready_fd);
		wait_for_child(fds[0]);
	}
	close(fds[0]);
	parent_fd = fds[1];
	setsid();
	error = detach_stdio();
	if (!error)
		error = log_open(daemon->dir_fd);
	if (!error && chdir("/") < 0)
		error = -errno;
	return error;
}
