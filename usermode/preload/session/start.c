// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Connecting to the daemon, and starting it if none listens.
 *
 * The daemon outlives the program that starts it and serves other programs. So it must not inherit
 * the program's descriptors, signal dispositions, limits, processor affinity or terminal. The
 * program in turn must not notice the child: the child is made without an exit signal, so there is
 * no SIGCHLD and wait() does not see it, and the thread is suspended until a grandchild has
 * executed the daemon. If two daemons start at once, one of them gets the node's lock and remains;
 * both report "ready" when that one listens.
 */
#define _GNU_SOURCE
#include "session/start.h"

#include <poll.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/un.h>
#include <sys/wait.h>

#include "base/real.h"
#include "base/say.h"
#include "base/settings.h"
#include "base/sys.h"
#include "session/answer_timeout.h"
#include "../../platform/host.h"
#include "../../vnet_proto.h"

#define START_STACK (64 * 1024)
/* Nanoseconds. */
#define START_TIMEOUT 20000000000ull
#define START_ATTEMPTS 5
/* Pause between attempts to connect, in ns. */
#define CONNECT_PAUSE 10000000ull
/* Descriptor on which the daemon reports that it is ready. */
#define READY_FD 3
#define READY_STRING "3"

/* ------------------------------------------------------------- connecting */

static int socket_address(struct sockaddr_un *address)
{
	int n;

	memset(address, 0, sizeof(*address));
	address->sun_family = AF_UNIX;
	n = snprintf(address->sun_path, sizeof(address->sun_path), "%s/" VNET_SOCKET_NAME,
		     node_place()->node_dir);
	return n < (int)sizeof(address->sun_path) ? 0 : -ENAMETOOLONG;
}

/*
 * Check that the daemon belongs to our user. In a directory where everybody may create files
 * (/tmp), it could be another user's.
 */
static int check_peer(int sock)
{
	struct ucred peer = { 0 };
	socklen_t length = sizeof(peer);

	if (sys(SYS_getsockopt, sock, SOL_SOCKET, SO_PEERCRED, &peer, &length))
		return -EPERM;
	return peer.uid == (uid_t)sys(SYS_geteuid) ? 0 : -EPERM;
}

/*
 * A stopped daemon does not accept connections, and its backlog fills up: retry until the deadline.
 */
static int connect_with_retry(int sock, const struct sockaddr_un *address)
{
	u64 deadline = answer_deadline();
	int ret, waited = 0;

	do
		ret = (int)sys(SYS_connect, sock, address, sizeof(*address));
	while (ret == -EAGAIN && !(waited = timed_pause(CONNECT_PAUSE, deadline)));
	return waited ? waited : ret;
}

int daemon_connect(void)
{
	struct sockaddr_un address;
	int sock, ret;

	ret = socket_address(&address);
	if (ret)
		return ret;
	sock = (int)sys(SYS_socket, AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (sock < 0)
		return sock;
	ret = connect_with_retry(sock, &address);
	if (!ret)
		ret = check_peer(sock);
	/*
	 * The program may get this very socket as its device file, so remove O_NONBLOCK: the
	 * program sets it if it wants it.
	 */
	if (!ret)
		ret = (int)sys(SYS_fcntl, sock, F_SETFL, O_RDWR);
	if (!ret)
		return sock;
	sys_close(sock);
	return ret;
}

/* --------------------------------------------------------------- the child */

/* Arguments of the child, prepared by the parent because both share their memory. */
struct child {
	const char *program;
	const char *const *argv;
	char *const *env;
	int ready;
	/* Stack of the grandchild. */
	char *stack;
};

static void default_signals(void)
{
	/* The kernel's struct sigaction, all zero: SIG_DFL. */
	static const unsigned long action[4];
	int sig;

	for (sig = 1; sig < _NSIG; sig++)
		(void)sys(SYS_rt_sigaction, sig, action, NULL, sizeof(raw_sigset_t));
}

static void default_limits(void)
{
	static const int resources[] = { RLIMIT_NOFILE, RLIMIT_AS,  RLIMIT_DATA,
					 RLIMIT_FSIZE,  RLIMIT_CPU, RLIMIT_MEMLOCK };
	static const struct sched_param param;
	unsigned long cpus[16];
	struct rlimit limit = { 0 };
	size_t i;

	for (i = 0; i < sizeof(resources) / sizeof(resources[0]); i++) {
		if (sys(SYS_prlimit64, 0, resources[i], NULL, &limit))
			continue;
		limit.rlim_cur = limit.rlim_max;
		(void)sys(SYS_prlimit64, 0, resources[i], &limit, NULL);
	}
	(void)sys(SYS_sched_setscheduler, 0, SCHED_OTHER, &param);
	memset(cpus, 0xff, sizeof(cpus));
	(void)sys(SYS_sched_setaffinity, 0, sizeof(cpus), cpus);
	(void)sys(SYS_umask, 077);
}

/*
 * Descriptors 0 and 1 become /dev/null. stderr and READY_FD become the parent's pipe, so that the
 * parent also gets what the daemon prints before it has a log. All other descriptors are closed.
 */
static int default_descriptors(int ready)
{
	int null;

	ready = (int)sys(SYS_fcntl, ready, F_DUPFD_CLOEXEC, READY_FD + 1);
	if (ready < 0)
		return ready;
	null = (int)sys(SYS_openat, AT_FDCWD, "/dev/null", O_RDWR, 0);
	if (null < 0)
		return null;
	if (null != STDIN_FILENO)
		(void)sys(SYS_dup3, null, STDIN_FILENO, 0);
	if (null != STDOUT_FILENO)
		(void)sys(SYS_dup3, null, STDOUT_FILENO, 0);
	(void)sys(SYS_dup3, ready, STDERR_FILENO, 0);
	(void)sys(SYS_dup3, ready, READY_FD, 0);
	/* Kernels without close_range() keep the others, except those with close-on-exec. */
	(void)sys(SYS_close_range, READY_FD + 1, ~0u, 0);
	return 0;
}

/*
 * If the program has changed only its effective user, it could change back. The daemon runs as the
 * effective user for good.
 */
static void settle_user(void)
{
	long uid = sys(SYS_geteuid), gid = sys(SYS_getegid);

	(void)sys(SYS_setresgid, gid, gid, gid);
	(void)sys(SYS_setresuid, uid, uid, uid);
}

static int run_daemon(void *arg)
{
	const struct child *child = arg;
	char text[128];
	long ret;
	int n;

	default_signals();
	(void)sys(SYS_setsid);
	(void)sys(SYS_chdir, "/");
	default_limits();
	settle_user();
	ret = default_descriptors(child->ready);
	sys_restore_signals(0);
	if (!ret)
		ret = sys(SYS_execve, child->program, child->argv, child->env);

	n = snprintf(text, sizeof(text), "it cannot be run: %s", strerrordesc_np((int)-ret));
	(void)sys(SYS_write, READY_FD, text, n);
	(void)sys(SYS_exit_group, 127);
	return 127;
}

/*
 * The intermediate process. exec resets a child's exit signal to SIGCHLD, so a grandchild does the
 * exec; its parent exits.
 */
static int run_child(void *arg)
{
	const struct child *child = arg;

	if (real()->clone(run_daemon, child->stack, CLONE_VM | CLONE_VFORK | SIGCHLD, arg) < 0)
		(void)sys(SYS_exit_group, 1);
	(void)sys(SYS_exit_group, 0);
	return 0;
}

/* -------------------------------------------------------------- the parent */

/* The first line of the daemon's message, without the prefix "vnetd: ". */
static void first_line(const char *text, char *why, size_t size)
{
	if (!strncmp(text, "vnetd: ", 7))
		text += 7;
	snprintf(why, size, "%.*s", (int)strcspn(text, "\n"), text);
}

/*
 * Returns 0 when the daemon reports that it, or another one, listens. Otherwise a negative errno,
 * with the reason in `why`.
 */
static int await_ready(int fd, char *why, size_t size)
{
	u64 deadline = plat_clock() + START_TIMEOUT;
	char text[1024] = "\n";
	size_t length = 1;
	long ret;

	while (length < sizeof(text) - 1) {
		ret = timed_poll(&fd, POLLIN, deadline);
		if (ret == -ETIMEDOUT)
			snprintf(why, size, "it does not answer");
		if (ret)
			return (int)ret;
		ret = sys(SYS_read, fd, text + length, sizeof(text) - 1 - length);
		if (ret <= 0)
			break;
		length += (size_t)ret;
		text[length] = '\0';
		if (strstr(text, "\nready\n"))
			return 0;
	}
	first_line(length > 1 ? text + 1 : "it ended without a word", why, size);
	return -ECONNREFUSED;
}

/* The stacks are static: the caller holds the turn, so one daemon is started at a time. */
static int spawn(struct child *child)
{
	static char stack[2][START_STACK] __attribute__((aligned(64)));
	pid_t pid;

	child->stack = stack[0] + START_STACK;
	pid = real()->clone(run_child, stack[1] + START_STACK, CLONE_VM | CLONE_VFORK, child);
	if (pid < 0)
		return -errno;
	(void)sys(SYS_wait4, pid, NULL, __WALL, NULL);
	return 0;
}

static int start_daemon(void)
{
	const struct settings *s = settings();
	const char *const argv[] = { s->vnetd,   "--runtime-dir", node_place()->runtime_dir,
				     "--node",   s->node,         "--devices",
				     s->devices, "--ready-fd",    READY_STRING,
				     NULL };
	struct child child = { .program = s->vnetd, .argv = argv, .env = s->environment };
	char why[512] = "";
	int pipe[2] = { -1, -1 }, ret;

	ret = (int)sys(SYS_pipe2, pipe, O_CLOEXEC);
	if (ret)
		return ret;
	child.ready = pipe[1];
	ret = spawn(&child);
	sys_close(pipe[1]);
	if (!ret)
		ret = await_ready(pipe[0], why, sizeof(why));
	sys_close(pipe[0]);
	if (ret && ret != -ECANCELED)
		say("no RDMA device: the daemon (%s) did not start: %s", s->vnetd,
		    why[0] ? why : strerrordesc_np(-ret));
	return ret;
}

int daemon_connect_or_start(void)
{
	const struct node_place *place = node_place();
	int attempt, ret, sock = -ECONNREFUSED;

	if (place->node_dir[0] != '/') {
		say("no RDMA device: not an absolute path: %s", place->runtime_dir);
		return -EINVAL;
	}
	for (attempt = 0; attempt < START_ATTEMPTS; attempt++) {
		sock = daemon_connect();
		if (sock == -ENAMETOOLONG)
			say("no RDMA device: too long a name for a runtime directory: %s",
			    place->node_dir);
		else if (sock == -EPERM)
			say("no RDMA device: %s is another user's", place->node_dir);
		else if (sock == -ETIMEDOUT && daemon_first_timeout())
			say("no RDMA device: the daemon in %s accepts no connection; is it "
			    "stopped? \"vnet stop\" ends it",
			    place->node_dir);
		if (sock != -ENOENT && sock != -ECONNREFUSED)
			return sock;
		ret = start_daemon();
		if (ret)
			return ret;
		/*
		 * A daemon listens now, or has exited again because it was idle: try to connect
		 * again.
		 */
	}
	return sock;
}
