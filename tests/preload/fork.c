// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Tests of child processes of a process that uses the device. Whatever a child does with inherited
 * descriptors and memory, the parent's device keeps working. A child may use inherited device
 * files, or open its own.
 */
#define _GNU_SOURCE
#include "check.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

static struct pair pair;

static pid_t fork_it(void (*child)(void))
{
	pid_t pid = fork();

	EXPECT(pid >= 0);
	if (pid == 0) {
		child();
		_exit(0);
	}
	return pid;
}

static void closes_everything(void)
{
	for (int fd = 3; fd < 4096; fd++)
		close(fd);
	EXPECT(close_range(3, ~0u, 0) == 0);
}

static void replaces_everything(void)
{
	int null = open("/dev/null", O_RDWR);

	for (int fd = 3; fd < 2048; fd++)
		if (fd != null)
			EXPECT(dup2(null, fd) == fd);
}

static void opens_its_own(void)
{
	struct pair own;

	pair_make(&own);
	expect_traffic(&own);
	pair_end(&own);
}

/* Commands on the parent's device file work in the child. */
static void uses_the_parents(void)
{
	expect_alive(pair.context);
}

/* Posting to queues of the parent has no effect and does no harm. */
static void posts(void)
{
	struct ibv_send_wr wr = { .opcode = IBV_WR_SEND }, *bad;
	struct ibv_wc wc;

	(void)ibv_post_send(pair.qp[0], &wr, &bad);
	(void)ibv_poll_cq(pair.cq, 1, &wc);
}

static void forks_again(void)
{
	expect_exit(fork_it(opens_its_own), 0);
	opens_its_own();
}

static void daemonises(void)
{
	EXPECT(daemon(0, 1) == 0);
	opens_its_own();
}

static void after_fork(void)
{
	static void (*const children[])(void) = {
		closes_everything, replaces_everything, opens_its_own, uses_the_parents, posts,
		forks_again,       daemonises,
	};

	for (size_t i = 0; i < sizeof(children) / sizeof(children[0]); i++) {
		expect_exit(fork_it(children[i]), 0);
		expect_traffic(&pair);
		expect_alive(pair.context);
	}
}

/* A child of vfork() shares the memory, but not the descriptors. */
static void after_vfork(void)
{
	char *const argv[] = { (char[]){ "true" }, NULL };
	int null = open("/dev/null", O_RDWR);
	pid_t pid = vfork();

	/* POSIX does not allow a child of vfork() to do this, but programs do it. */
	/* NOLINTBEGIN(clang-analyzer-unix.Vfork) */
	if (pid == 0) {
		dup2(null, pair.context->cmd_fd);
		dup2(null, pair.channel->fd);
		dup2(pair.context->async_fd, 250);
		for (int fd = 3; fd < 2048; fd++)
			if (fd != null && fd % 3)
				close(fd);
			else if (fd % 2)
				dup2(null, fd);
		execvp("true", argv);
		_exit(1);
	}
	/* NOLINTEND(clang-analyzer-unix.Vfork) */
	expect_exit(pid, 0);
	close(null);
	expect_traffic(&pair);
	expect_alive(pair.context);
	EXPECT(fcntl(250, F_GETFD) == -1);
}

static void spawned(void)
{
	char *const argv[] = { (char[]){ "true" }, NULL };
	pid_t pid;

	EXPECT(!posix_spawnp(&pid, "true", NULL, NULL, argv, environ));
	expect_exit(pid, 0);
	EXPECT(system("ibv_devices >/dev/null") == 0);
	expect_traffic(&pair);
	expect_alive(pair.context);
}

/* The parent ends, and the child continues with the inherited device file. */
static void outlives_parent(void)
{
	int fds[2];
	char byte;

	EXPECT(!pipe(fds));
	if (fork() == 0) {
		struct ibv_context *context = open_first();
		pid_t parent = getpid();

		if (fork() == 0) {
			close(fds[0]);
			AWAIT(getppid() != parent);
			expect_alive(context);
			EXPECT(write(fds[1], "x", 1) == 1);
			_exit(0);
		}
		_exit(0);
	}
	close(fds[1]);
	EXPECT(read(fds[0], &byte, 1) == 1);
	close(fds[0]);
	while (wait(NULL) > 0)
		;
}

int main(void)
{
	EXPECT(!ibv_fork_init());
	pair_make(&pair);
	expect_traffic(&pair);
	after_fork();
	after_vfork();
	spawned();
	outlives_parent();
	expect_traffic(&pair);
	pair_end(&pair);
	return 0;
}
