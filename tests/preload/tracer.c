// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Tests that using the device permits nobody to trace the process, unless --allow-ptrace is given.
 * Even with that option, a tracer that the process has set itself is kept. A system call filter
 * kills processes that call prctl(PR_SET_PTRACER).
 */
#define _GNU_SOURCE
#include "check.h"

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static void forbid(void)
{
	struct sock_filter filter[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_prctl, 0, 3),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[0])),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, PR_SET_PTRACER, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = { sizeof(filter) / sizeof(filter[0]), filter };

	if (!prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) &&
	    !prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0, 0))
		return;
	printf("SKIP: no filter of system calls can be had here\n");
	exit(77);
}

/*
 * Returns true if a process that uses the device is not killed. `chooses`: the process sets its own
 * tracer.
 */
static bool lives(bool chooses)
{
	int status = 0;
	pid_t pid = fork();
	struct pair pair;

	if (!pid) {
		if (chooses)
			(void)prctl(PR_SET_PTRACER, getppid(), 0, 0, 0);
		forbid();
		pair_make(&pair);
		expect_traffic(&pair);
		pair_end(&pair);
		_exit(0);
	}
	EXPECT(waitpid(pid, &status, 0) == pid);
	if (WIFEXITED(status) && WEXITSTATUS(status) == 77)
		exit(77);
	if (WIFSIGNALED(status) && WTERMSIG(status) == SIGSYS)
		return false;
	EXPECT(WIFEXITED(status) && !WEXITSTATUS(status));
	return true;
}

int main(int argc, char **argv)
{
	bool allowed = argc > 1 && !strcmp(argv[1], "allowed");

	EXPECT(lives(false) == !allowed);
	EXPECT(lives(true));
	return 0;
}
