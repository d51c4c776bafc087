// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "ranks.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

/*
 * Runs in the child between fork() and exec(). PMIx has threads in the parent, so only
 * system calls are allowed. An errno value is written to @problem; a successful exec closes
 * @problem.
 */
static void __attribute__((noreturn))
become(const struct rank_start *start, pid_t launcher, int problem)
{
	int err;

	if (setpgid(0, 0) < 0 || prctl(PR_SET_PDEATHSIG, SIGKILL) < 0)
		goto err;
	if (getppid() != launcher)
		_exit(1); /* the launcher died before PR_SET_PDEATHSIG was set */
	for (int fd = 0; fd < 3; fd++)
		if (start->fds[fd] != fd && dup2(start->fds[fd], fd) < 0)
			goto err;
	if (sigprocmask(SIG_SETMASK, &start->mask, NULL) < 0)
		goto err;
	execvpe(start->argv[0], start->argv, start->env);
err:
	err = errno;
	while (write(problem, &err, sizeof(err)) < 0 && errno == EINTR)
		;
	_exit(127);
}

/* Waits until the child has called exec(). Returns 0, or the child's errno. */
static int await_exec(int problem)
{
	ssize_t n;
	int err;

	do
		n = read(problem, &err, sizeof(err));
	while (n < 0 && errno == EINTR);
	return n == (ssize_t)sizeof(err) ? err : 0;
}

pid_t rank_start(const struct rank_start *start)
{
	pid_t launcher = getpid(), pid;
	int problem[2], err;

	if (pipe2(problem, O_CLOEXEC) < 0)
		return -1;
	pid = fork();
	if (pid == 0)
		become(start, launcher, problem[1]);
	err = pid < 0 ? errno : 0;
	close(problem[1]);
	if (pid > 0)
		err = await_exec(problem[0]);
	close(problem[0]);
	if (err == 0)
		return pid;
	if (pid > 0)
		rank_reap(pid);
	errno = err;
	return -1;
}

pid_t rank_next_ended(void)
{
	siginfo_t info = { .si_pid = 0 };

	if (waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) < 0)
		return 0;
	return info.si_pid;
}

int rank_reap(pid_t pid)
{
	int status = 0;

	kill(-pid, SIGKILL);
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	return status;
}
