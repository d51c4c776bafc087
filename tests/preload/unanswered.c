// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Tests of a stopped daemon: a waiting process handles signals, and gets an error after the time
 * limit. Each case is a process of its own, and finds the daemon stopped.
 */
#define _GNU_SOURCE
#include "check.h"

#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

/* Seconds. A test that waits through this limit fails, because it runs into its own. */
#define FOR_EVER "3600"
#define BRIEFLY "3"

static volatile sig_atomic_t handled;
static sigjmp_buf back;

static void count(int sig)
{
	handled++;
}

static void jump(int sig)
{
	siglongjmp(back, 1);
}

/*
 * Needs a connection to the daemon, like the first call of libibverbs. But libibverbs holds a
 * mutex, in which a handler that interrupts the call would hang.
 */
static bool can_open(void)
{
	int fd = open("/dev/infiniband/rdma_cm", O_RDWR | O_CLOEXEC);

	if (fd >= 0)
		close(fd);
	return fd >= 0;
}

/* A handler that uses the device itself. */
static void look(int sig)
{
	if (!handled++)
		EXPECT(!can_open());
}

static void handle(void (*handler)(int), int flags)
{
	struct sigaction act = { .sa_handler = handler, .sa_flags = flags };
	struct itimerval soon = { .it_interval.tv_usec = 20000, .it_value.tv_usec = 20000 };

	EXPECT(!sigaction(SIGALRM, &act, NULL));
	EXPECT(!setitimer(ITIMER_REAL, &soon, NULL));
}

static int count_devices(void)
{
	int n = -1;
	struct ibv_device **list = ibv_get_device_list(&n);

	if (list)
		ibv_free_device_list(list);
	return list ? n : 0;
}

/* ------------------------------------------------- first touch of the device */

/* The default action of a signal ends the process. */
static void ended(void)
{
	alarm(1);
	count_devices();
	exit(1);
}

static void interrupted(void)
{
	handle(count, 0);
	EXPECT(!count_devices());
	EXPECT(handled > 0);
}

static void restarted(void)
{
	handle(count, SA_RESTART);
	EXPECT(!count_devices());
	EXPECT(handled > 0);
}

static void jumped(void)
{
	volatile int turns = 0;

	handle(jump, 0);
	if (sigsetjmp(back, 1) && turns == 3)
		return;
	turns++;
	(void)can_open();
	EXPECT(!"the call came back");
}

static void nested(void)
{
	handle(look, 0);
	EXPECT(!can_open());
	EXPECT(handled > 0);
}

static void *touch(void *arg)
{
	(void)can_open();
	return NULL;
}

/* A thread that waits for another one, which waits for the daemon, handles signals, too. */
static void behind_another(void)
{
	pthread_t thread[2];

	for (int i = 0; i < 2; i++)
		EXPECT(!pthread_create(&thread[i], NULL, touch, NULL));
	handle(jump, 0);
	if (sigsetjmp(back, 1))
		_exit(0);
	(void)can_open();
	EXPECT(!"the call came back");
}

static const struct {
	const char *name;
	void (*run)(void);
	const char *limit;
	int signal;
	/* An error message is printed. */
	bool told;
} cases[] = {
	{ "ended", ended, FOR_EVER, SIGALRM, false },
	{ "interrupted", interrupted, BRIEFLY, 0, true },
	{ "restarted", restarted, BRIEFLY, 0, true },
	{ "jumped", jumped, FOR_EVER, 0, false },
	{ "nested", nested, BRIEFLY, 0, true },
	{ "behind_another", behind_another, FOR_EVER, 0, false },
};

static bool says(FILE *log, const char *words)
{
	char line[1024];
	bool found = false;

	rewind(log);
	while (fgets(line, sizeof(line), log)) {
		fputs(line, stderr);
		found = found || strstr(line, words);
	}
	return found;
}

static pid_t start(const char *name, const char *limit, FILE *log)
{
	pid_t pid = fork();

	EXPECT(pid >= 0);
	if (pid)
		return pid;
	EXPECT(!setenv("VNET_ANSWER_TIMEOUT", limit, 1));
	EXPECT(dup2(fileno(log), STDERR_FILENO) == STDERR_FILENO);
	execl("/proc/self/exe", "unanswered", name, NULL);
	_exit(127);
}

static void first_touch(size_t i)
{
	FILE *log = tmpfile();
	int status;
	pid_t pid;

	EXPECT(log);
	pid = start(cases[i].name, cases[i].limit, log);
	EXPECT(waitpid(pid, &status, 0) == pid);
	EXPECT(says(log, "has not answered for 3 s; is it stopped?") == cases[i].told);
	if (cases[i].signal)
		EXPECT(WIFSIGNALED(status) && WTERMSIG(status) == cases[i].signal);
	else
		EXPECT(WIFEXITED(status) && WEXITSTATUS(status) == 0);
	fclose(log);
}

/* ------------------------------------------------- commands of an open device */

/* Synchronizes with the test by standard input and output, which are pipes. */
static void take_turn(void)
{
	char byte = 0;

	EXPECT(write(STDOUT_FILENO, &byte, 1) == 1 && read(STDIN_FILENO, &byte, 1) == 1);
}

/*
 * The daemon executes the abandoned commands late, while another function uses the stack on which
 * they had their responses. No response may be written there.
 */
static __attribute__((noinline)) void stack_is_ours(struct ibv_context *context)
{
	volatile unsigned char room[16384];
	struct ibv_pd *pd;

	for (size_t i = 0; i < sizeof(room); i++)
		room[i] = 0x5a;
	take_turn();
	/* A late answer must not be taken for that of another command. */
	pd = ibv_alloc_pd(context);
	EXPECT(pd && !ibv_dealloc_pd(pd));
	for (size_t i = 0; i < sizeof(room); i++)
		EXPECT(room[i] == 0x5a);
}

static void command(void)
{
	struct ibv_context *context = open_first();

	take_turn();
	/* The daemon is stopped now. */
	errno = 0;
	EXPECT(!ibv_alloc_pd(context) && errno == ETIMEDOUT);
	EXPECT(!ibv_alloc_pd(context) && errno == ETIMEDOUT);
	stack_is_ours(context);
	expect_alive(context);
	EXPECT(!ibv_close_device(context));
}

/* A signal handler jumps out of the command, more often than a session has connections. */
static void left_command(void)
{
	struct ibv_context *context = open_first();
	volatile int turns = 0;

	take_turn();
	handle(jump, 0);
	if (!sigsetjmp(back, 1) || ++turns < 40) {
		(void)ibv_alloc_pd(context);
		EXPECT(!"the call came back");
	}
	handle(SIG_IGN, 0);
	stack_is_ours(context);
	expect_alive(context);
	EXPECT(!ibv_close_device(context));
}

/* The handler jumps within itself, and returns to the interrupted command, which fails. */
static void jump_within(int sig)
{
	handled++;
	if (!sigsetjmp(back, 1))
		siglongjmp(back, 1);
}

static void kept_command(void)
{
	struct ibv_context *context = open_first();

	take_turn();
	handle(jump_within, 0);
	errno = 0;
	EXPECT(!ibv_alloc_pd(context) && errno == EIO && handled > 0);
	handle(SIG_IGN, 0);
	stack_is_ours(context);
	expect_alive(context);
	EXPECT(!ibv_close_device(context));
}

static const struct {
	const char *name;
	void (*run)(void);
	const char *limit;
} commands[] = {
	{ "command", command, BRIEFLY },
	{ "left_command", left_command, FOR_EVER },
	{ "kept_command", kept_command, FOR_EVER },
};

static void open_device(pid_t daemon, size_t i)
{
	int to[2], from[2];
	pid_t pid;
	char byte;

	EXPECT(!pipe2(to, O_CLOEXEC) && !pipe2(from, O_CLOEXEC));
	pid = fork();
	if (!pid) {
		EXPECT(dup2(to[0], STDIN_FILENO) == 0 && dup2(from[1], STDOUT_FILENO) == 1);
		EXPECT(!setenv("VNET_ANSWER_TIMEOUT", commands[i].limit, 1));
		execl("/proc/self/exe", "unanswered", commands[i].name, NULL);
		_exit(127);
	}
	EXPECT(read(from[0], &byte, 1) == 1);
	EXPECT(!kill(daemon, SIGSTOP));
	EXPECT(write(to[1], &byte, 1) == 1);
	EXPECT(read(from[0], &byte, 1) == 1);
	EXPECT(!kill(daemon, SIGCONT));
	EXPECT(write(to[1], &byte, 1) == 1);
	expect_exit(pid, 0);
}

static int run_case(const char *name)
{
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		if (!strcmp(name, cases[i].name))
			cases[i].run();
	for (size_t i = 0; i < sizeof(commands) / sizeof(commands[0]); i++)
		if (!strcmp(name, commands[i].name))
			commands[i].run();
	return 0;
}

int main(int argc, char **argv)
{
	struct ibv_context *context;
	pid_t daemon;

	if (argc > 1)
		return run_case(argv[1]);
	context = open_first();
	daemon = daemon_pid();
	EXPECT(daemon > 0 && !kill(daemon, SIGSTOP));
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		first_touch(i);
	EXPECT(!kill(daemon, SIGCONT));
	expect_alive(context);
	for (size_t i = 0; i < sizeof(commands) / sizeof(commands[0]); i++)
		open_device(daemon, i);
	EXPECT(!ibv_close_device(context));
	return 0;
}
