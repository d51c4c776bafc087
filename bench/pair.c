// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "pair.h"

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

int pair_post(struct pair *pair)
{
	return send(pair->sync, "", 1, MSG_NOSIGNAL) == 1 ? 0 : -1;
}

int pair_await(struct pair *pair)
{
	ssize_t n;
	char byte;

	do {
		n = recv(pair->sync, &byte, 1, 0);
	} while (n < 0 && errno == EINTR);
	return n == 1 ? 0 : -1;
}

static int pin(int cpu)
{
	cpu_set_t set;

	if (cpu < 0)
		return 0;
	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	if (!sched_setaffinity(0, sizeof(set), &set))
		return 0;
	fprintf(stderr, "cannot run on CPU %d: %s\n", cpu, strerror(errno));
	return -1;
}

/* Allows the peer to copy into this process even if Yama restricts ptrace. */
static void allow_copies(void)
{
	prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY, 0, 0, 0);
}

static void __attribute__((noreturn))
run_server(const struct bench_options *opt, pair_fn server, struct pair *pair, void *arg)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	allow_copies();
	if (getppid() != pair->peer || pin(opt->cpu[1]))
		_exit(1);
	_exit(server(pair, arg));
}

/*
 * Handler of SIGCHLD: exits if the server has failed. Otherwise a client that spins, or sleeps
 * in a datagram socket, would wait forever.
 */
static void on_server_end(int signo, siginfo_t *info, void *context)
{
	static const char text[] = "the server has failed\n";

	(void)signo;
	(void)context;
	if (info->si_code == CLD_EXITED && !info->si_status)
		return;
	if (write(STDERR_FILENO, text, sizeof(text) - 1) < 0)
		_exit(2);
	_exit(1);
}

static void watch_server(bool watch)
{
	struct sigaction sa = { .sa_flags = SA_RESTART | SA_NOCLDSTOP };

	if (watch) {
		sa.sa_flags |= SA_SIGINFO;
		sa.sa_sigaction = on_server_end;
	} else {
		sa.sa_handler = SIG_DFL;
	}
	sigaction(SIGCHLD, &sa, NULL);
}

static int server_status(pid_t pid)
{
	int status;

	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			return 1;
	return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}

int pair_run(const struct bench_options *opt, pair_fn server, pair_fn client, void *arg)
{
	struct pair pair = { .peer = getpid() };
	int sv[2], ret;
	pid_t pid;

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sv)) {
		perror("socketpair");
		return 1;
	}

	allow_copies();
	watch_server(true);
	pid = fork();
	if (pid < 0) {
		perror("fork");
		close(sv[0]);
		close(sv[1]);
		return 1;
	}
	if (!pid) {
		close(sv[0]);
		pair.sync = sv[1];
		run_server(opt, server, &pair, arg);
	}

	close(sv[1]);
	pair.sync = sv[0];
	pair.peer = pid;
	ret = pin(opt->cpu[0]) ? 1 : client(&pair, arg);
	watch_server(false);
	if (ret)
		kill(pid, SIGKILL);
	close(sv[0]); /* ends a server that still waits in pair_await() */
	return server_status(pid) || ret;
}
