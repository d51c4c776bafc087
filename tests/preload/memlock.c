// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Tests of RLIMIT_MEMLOCK under --unlimited-memlock. All functions show no limit, also in children
 * and after exec, until the program sets one. The system's limit is then changed as far as
 * permitted.
 */
#define _GNU_SOURCE
#include "check.h"

#include <spawn.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define SYSTEMS 65536
#define SET 32768

static void expect_limit(rlim_t soft, rlim_t hard)
{
	struct rlimit limit = { 0 };
	struct rlimit64 limit64 = { 0 };

	EXPECT(!getrlimit(RLIMIT_MEMLOCK, &limit));
	EXPECT(limit.rlim_cur == soft && limit.rlim_max == hard);
	EXPECT(!getrlimit64(RLIMIT_MEMLOCK, &limit64));
	EXPECT(limit64.rlim_cur == soft && limit64.rlim_max == hard);
	memset(&limit, 0, sizeof(limit));
	EXPECT(!prlimit(0, RLIMIT_MEMLOCK, NULL, &limit));
	EXPECT(limit.rlim_cur == soft && limit.rlim_max == hard);
	memset(&limit64, 0, sizeof(limit64));
	EXPECT(!prlimit64(getpid(), RLIMIT_MEMLOCK, NULL, &limit64));
	EXPECT(limit64.rlim_cur == soft && limit64.rlim_max == hard);
}

static void expect_systems(rlim_t soft, rlim_t hard)
{
	struct rlimit limit = { 0 };

	EXPECT(!syscall(SYS_prlimit64, 0, RLIMIT_MEMLOCK, NULL, &limit));
	EXPECT(limit.rlim_cur == soft && limit.rlim_max == hard);
}

static void expect_child(const char *what)
{
	char *argv[] = { "memlock", (char *)(uintptr_t)what, NULL };
	int status = -1;
	pid_t pid;

	EXPECT(!posix_spawn(&pid, "/proc/self/exe", NULL, NULL, argv, environ));
	EXPECT(waitpid(pid, &status, 0) == pid && !status);
	pid = fork();
	if (!pid) {
		execv("/proc/self/exe", argv);
		_exit(1);
	}
	EXPECT(waitpid(pid, &status, 0) == pid && !status);
}

static void set_here(void)
{
	struct rlimit limit = { SET, RLIM_INFINITY }, old = { 0 };

	EXPECT(!setrlimit(RLIMIT_MEMLOCK, &limit));
	expect_limit(SET, RLIM_INFINITY);
	expect_systems(SET, SYSTEMS);
	expect_child("set");
	limit.rlim_cur = RLIM_INFINITY;
	limit.rlim_max = 2 * SYSTEMS;
	REFUSES(setrlimit(RLIMIT_MEMLOCK, &limit), EINVAL);
	limit.rlim_cur = 2 * SYSTEMS;
	EXPECT(!prlimit(0, RLIMIT_MEMLOCK, &limit, &old));
	EXPECT(old.rlim_cur == SET && old.rlim_max == RLIM_INFINITY);
	expect_limit(2 * SYSTEMS, 2 * SYSTEMS);
	expect_systems(SYSTEMS, SYSTEMS);
	/* The hard limit cannot be raised again. */
	limit.rlim_max = RLIM_INFINITY;
	REFUSES(setrlimit(RLIMIT_MEMLOCK, &limit), EPERM);
	expect_limit(2 * SYSTEMS, 2 * SYSTEMS);
}

/* A child of vfork() sets a limit for the program that it executes, not for its parent. */
static void set_in_vfork(void)
{
	const struct rlimit limit = { SET, RLIM_INFINITY };
	char *argv[] = { "memlock", "set", NULL };
	int status = -1;
	pid_t pid = vfork();

	if (!pid) {
		/* Not POSIX', but what such children do. NOLINTNEXTLINE(clang-analyzer-unix.Vfork) */
		setrlimit(RLIMIT_MEMLOCK, &limit);
		execv("/proc/self/exe", argv);
		_exit(1);
	}
	EXPECT(waitpid(pid, &status, 0) == pid && !status);
	expect_limit(RLIM_INFINITY, RLIM_INFINITY);
	expect_child("none");
}

int main(int argc, char **argv)
{
	struct rlimit limit;
	struct pair pair;

	if (argc > 1 && !strcmp(argv[1], "none")) {
		expect_limit(RLIM_INFINITY, RLIM_INFINITY);
		return 0;
	}
	if (argc > 1) {
		expect_limit(SET, RLIM_INFINITY);
		return 0;
	}
	expect_systems(SYSTEMS, SYSTEMS);
	expect_limit(RLIM_INFINITY, RLIM_INFINITY);
	/* Limits of other processes are the system's. */
	EXPECT(!prlimit(getppid(), RLIMIT_MEMLOCK, NULL, &limit) && limit.rlim_max == SYSTEMS);
	pair_make(&pair);
	expect_traffic(&pair);
	pair_end(&pair);
	expect_child("none");
	set_in_vfork();
	set_here();
	return 0;
}
