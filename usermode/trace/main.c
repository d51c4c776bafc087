// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * vnet-trace: runs a program with tracing enabled. The environment tells the provider what to
 * print. With --summary, this process waits for the program's end and prints a summary.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "options.h"
#include "summary.h"

static volatile sig_atomic_t child;

static void __attribute__((noreturn)) fail(const char *what)
{
	fprintf(stderr, "vnet-trace: %s: %s\n", what, strerror(errno));
	exit(EXIT_TRACE);
}

static void set(const char *name, const char *value)
{
	if (setenv(name, value, 1))
		fail(name);
}

/*
 * Open the output file, or return stderr's descriptor. The provider gets an absolute path, because
 * the program may change its directory before it opens a device.
 */
static int open_output(const struct options *options)
{
	char path[PATH_MAX];
	int fd;

	if (!options->output) {
		unsetenv(VNET_TRACE_FILE_ENV);
		return STDERR_FILENO;
	}
	fd = open(options->output, O_WRONLY | O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC | O_NOCTTY,
		  0666);
	if (fd < 0 || !realpath(options->output, path))
		fail(options->output);
	set(VNET_TRACE_FILE_ENV, path);
	return fd;
}

static bool wants_colour(const struct options *options, int fd)
{
	const char *none = getenv("NO_COLOR"), *term = getenv("TERM");

	return !options->json && isatty(fd) && !(none && *none) && term &&
	       strcmp(term, "dumb") != 0;
}

static void tell_provider(const struct options *options, int fd)
{
	struct timespec now;
	char list[128];

	clock_gettime(CLOCK_MONOTONIC, &now);
	snprintf(list, sizeof(list), "%s%s%s,epoch=%lld%09ld", options->json ? "json" : "text",
		 options->quiet    ? ",summary" :
		 options->warnings ? ",warnings" :
				     "",
		 wants_colour(options, fd) ? ",colour" : "", (long long)now.tv_sec, now.tv_nsec);
	set(VNET_TRACE_ENV, list);
}

/* Called in the process that becomes the program. Its lines need not show its PID. */
static void __attribute__((noreturn)) run(const struct options *options)
{
	const char *list = getenv(VNET_TRACE_ENV);
	char with_pid[192];
	unsigned int i;

	snprintf(with_pid, sizeof(with_pid), "%s,pid=%d", list ? list : "", getpid());
	set(VNET_TRACE_ENV, with_pid);
	for (i = 0; i < options->variables; i++)
		putenv(options->variable[i]);
	execvp(options->program[0], options->program);
	fprintf(stderr, "vnet-trace: %s: %s\n", options->program[0], strerror(errno));
	_exit(errno == ENOENT ? EXIT_NOT_FOUND : EXIT_CANNOT_RUN);
}

/* ------------------------------------------------------------------- summary */

/*
 * Make counters that the provider opens by a path in /proc. Nothing remains if processes are
 * killed. The descriptor is closed in the program, which has no use for it.
 */
static struct vnet_trace_counters *share_counters(void)
{
	struct vnet_trace_counters *counters;
	int fd = memfd_create("vnet-trace", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	char path[64];

	if (fd < 0 || ftruncate(fd, sizeof(*counters)))
		fail("counters");
	counters = mmap(NULL, sizeof(*counters), PROT_READ, MAP_SHARED, fd, 0);
	if (counters == MAP_FAILED)
		fail("counters");
	/* The program must not be able to end this process (SIGBUS) by truncating the file. */
	if (fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK))
		fail("counters");
	snprintf(path, sizeof(path), "/proc/%d/fd/%d", getpid(), fd);
	set(VNET_TRACE_COUNTERS_ENV, path);
	return counters;
}

static void pass_on(int number)
{
	if (child > 0)
		kill((pid_t)child, number);
}

/* Ctrl-C reaches both processes; the program decides what to do. */
static void handle_signals(void)
{
	static const int passed[] = { SIGTERM, SIGHUP, SIGUSR1, SIGUSR2 };
	struct sigaction action = { .sa_handler = pass_on, .sa_flags = SA_RESTART };
	unsigned int i;

	for (i = 0; i < sizeof(passed) / sizeof(passed[0]); i++)
		sigaction(passed[i], &action, NULL);
	action.sa_handler = SIG_IGN;
	sigaction(SIGINT, &action, NULL);
	sigaction(SIGQUIT, &action, NULL);
}

static int wait_for_end(pid_t pid)
{
	int status;

	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			fail("waiting");
	return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

static int run_and_summarise(const struct options *options, int fd)
{
	const struct vnet_trace_counters *counters = share_counters();
	sigset_t all, before;
	FILE *to;
	int status;
	pid_t pid;

	/* No signals between the fork and the setting of child and handlers. */
	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, &before);
	pid = fork();
	if (pid < 0)
		fail("fork");
	if (!pid) {
		sigprocmask(SIG_SETMASK, &before, NULL);
		run(options);
	}
	child = pid;
	handle_signals();
	sigprocmask(SIG_SETMASK, &before, NULL);
	status = wait_for_end(pid);
	to = fdopen(fd, "a");
	if (!to)
		fail("output");
	summary_print(to, counters, options->json);
	return status;
}

int main(int argc, char **argv)
{
	struct options options;
	int fd;

	options_read(argc, argv, &options);
	fd = open_output(&options);
	tell_provider(&options, fd);
	unsetenv(VNET_TRACE_COUNTERS_ENV);
	if (!options.summary)
		run(&options);
	return run_and_summarise(&options, fd);
}
