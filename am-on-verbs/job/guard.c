// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "guard.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <signal.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

static int remove_entry(const char *path, const struct stat *st, int type, struct FTW *where)
{
	(void)st, (void)type, (void)where;
	remove(path);
	return 0;
}

/*
 * Blocks all signals, leaves the session, and closes all descriptors but @alive: others may
 * wait for the end of a pipe that was inherited.
 */
static void detach(int alive)
{
	sigset_t all;

	setsid();
	prctl(PR_SET_NAME, "vnet-launch-end");
	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, NULL);
	dup2(alive, 0);
	close_range(1, ~0U, 0);
}

static void __attribute__((noreturn))
stand_guard(const pid_t *groups, const char *directory, int alive)
{
	char c;

	detach(alive);
	while (read(0, &c, 1) < 0 && errno == EINTR)
		;
	for (int i = 0; i < MAX_RANKS; i++)
		if (groups[i] > 1)
			kill(-groups[i], SIGKILL);
	nftw(directory, remove_entry, 8, FTW_DEPTH | FTW_PHYS);
	_exit(0);
}

int guard_open(struct guard *guard, const char *directory)
{
	size_t size = MAX_RANKS * sizeof(*guard->groups);
	int ends[2];

	if (pipe2(ends, O_CLOEXEC) < 0)
		return errno;
	guard->groups = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (guard->groups == MAP_FAILED)
		goto err_pipe;
	guard->pid = fork();
	if (guard->pid < 0)
		goto err_map;
	if (guard->pid == 0) {
		close(ends[1]);
		stand_guard(guard->groups, directory, ends[0]);
	}
	close(ends[0]);
	guard->alive = ends[1];
	return 0;
err_map:
	munmap(guard->groups, size);
err_pipe:
	close(ends[0]);
	close(ends[1]);
	return EAGAIN;
}

void guard_close(struct guard *guard)
{
	close(guard->alive);
	kill(guard->pid, SIGCONT); /* in case the guard was stopped */
	while (waitpid(guard->pid, NULL, 0) < 0 && errno == EINTR)
		;
}
