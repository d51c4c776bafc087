// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * _Fork() and clone(), which call no handlers of pthread_atfork(): the child gets its copy of
 * mapped pages. pthread_atfork(): this library's handlers are the first to be registered.
 *
 * exec*(): before the address space ends, the library sends VNET_MSG_LEAVE to the daemon. Otherwise
 * peers could write into the memory of the new program. The daemon answers when no operation that
 * began earlier can access this address space, or after a limited time.
 */
#define _GNU_SOURCE
#include <stdarg.h>

#include "base/real.h"
#include "calls/limits.h"
#include "mapped/mapped.h"
#include "mapped/quiet.h"
#include "session/control.h"

INTERPOSED pid_t _Fork(void)
{
	pid_t pid;
	int saved;

	mapped_fork_begin();
	pid = real()->_Fork();
	saved = errno;
	if (pid)
		mapped_fork_parent();
	else
		mapped_fork_child();
	errno = saved;
	return pid;
}

INTERPOSED int __register_atfork(void (*prepare)(void), void (*parent)(void), void (*child)(void),
				 void *dso)
{
	mapped_register_handlers();
	return real()->__register_atfork(prepare, parent, child, dso);
}

/* What a child of clone() executes. */
struct child {
	int (*function)(void *arg);
	void *arg;
};

static int run_child(void *arg)
{
	struct child child = *(const struct child *)arg;

	mapped_fork_child();
	return child.function(child.arg);
}

INTERPOSED int clone(int (*function)(void *arg), void *stack, int flags, void *arg, ...)
{
	struct child child = { .function = function, .arg = arg };
	pid_t *parent_tid, *child_tid;
	va_list args;
	int ret, saved;
	void *tls;

	va_start(args, arg);
	parent_tid = va_arg(args, pid_t *);
	tls = va_arg(args, void *);
	child_tid = va_arg(args, pid_t *);
	va_end(args);
	/* After vfork(), the parent's thread waits in the call, as /proc shows. */
	if ((flags & CLONE_VM) && !(flags & (CLONE_THREAD | CLONE_VFORK)))
		mapped_share();
	if (likely(!quiet_wanted) || flags & CLONE_VM || !function || !stack)
		return real()->clone(function, stack, flags, arg, parent_tid, tls, child_tid);
	mapped_fork_begin();
	ret = real()->clone(run_child, stack, flags, &child, parent_tid, tls, child_tid);
	saved = errno;
	mapped_fork_parent();
	errno = saved;
	return ret;
}

/* ------------------------------------------------------------------------ exec */

static int tell(struct session *s, u32 type)
{
	struct vnet_msg_call call = { .msg = { .type = type, .length = sizeof(call) } };
	struct iovec iov = { .iov_base = &call, .iov_len = sizeof(call) };
	struct reply reply;
	int ret = control_request(s, &iov, 1, &reply);

	if (!ret)
		control_drop_fds(&reply);
	return ret;
}

/*
 * Leave the session before exec. Returns NULL if there is none to leave (also in a child of
 * vfork()), or if the daemon does not answer.
 */
static struct session *leave(void)
{
	struct session *s = session_current();

	if (!s || !session_alive(s) || tell(s, VNET_MSG_LEAVE))
		return NULL;
	return s;
}

/* exec failed: undo the leave. */
static int stay(struct session *left, int ret)
{
	if (left)
		(void)tell(left, VNET_MSG_STAY);
	return ret;
}

/* Do not leave the session for a file that cannot be executed anyway. */
static bool runnable(const char *path)
{
	long ret = sys(SYS_faccessat2, AT_FDCWD, path, X_OK, AT_EACCESS);

	/* A kernel without faccessat2() fails with another error; then assume that it can. */
	return ret != -ENOENT && ret != -ENOTDIR && ret != -EACCES;
}

static int do_execve(const char *path, char *const argv[], char *const env[])
{
	struct session *left = session_exists() && runnable(path) ? leave() : NULL;
	char *room[limits_room(env)];

	return stay(left, real()->execve(path, argv, limits_environment(env, room)));
}

INTERPOSED int execve(const char *path, char *const argv[], char *const env[])
{
	return do_execve(path, argv, env);
}

INTERPOSED int execv(const char *path, char *const argv[])
{
	return do_execve(path, argv, environ);
}

static int do_execvpe(const char *file, char *const argv[], char *const env[])
{
	struct session *left = session_exists() ? leave() : NULL;
	char *room[limits_room(env)];

	return stay(left, real()->execvpe(file, argv, limits_environment(env, room)));
}

INTERPOSED int execvpe(const char *file, char *const argv[], char *const env[])
{
	return do_execvpe(file, argv, env);
}

INTERPOSED int execvp(const char *file, char *const argv[])
{
	return do_execvpe(file, argv, environ);
}

INTERPOSED int fexecve(int fd, char *const argv[], char *const env[])
{
	struct session *left = session_exists() ? leave() : NULL;
	char *room[limits_room(env)];

	return stay(left, real()->fexecve(fd, argv, limits_environment(env, room)));
}

INTERPOSED int execveat(int dirfd, const char *path, char *const argv[], char *const env[],
			int flags)
{
	struct session *left = session_exists() ? leave() : NULL;
	char *room[limits_room(env)];

	return stay(left,
		    real()->execveat(dirfd, path, argv, limits_environment(env, room), flags));
}

/* ------------------------------------------------- arguments one after the other */

/* Number of arguments including the first. */
static size_t count_arguments(const char *first, va_list *args)
{
	size_t n = 1;

	if (!first)
		return 0;
	while (va_arg(*args, char *))
		n++;
	return n;
}

/* Copy the arguments from `first` on, including the final NULL. */
static void copy_arguments(char **argv, const char *first, va_list *args)
{
	size_t i = 0;

	argv[i] = (char *)(uintptr_t)first;
	while (argv[i++])
		argv[i] = va_arg(*args, char *);
}

INTERPOSED int execl(const char *path, const char *first, ...)
{
	va_list args;
	size_t n;

	va_start(args, first);
	n = count_arguments(first, &args);
	va_end(args);

	char *argv[n + 1];

	va_start(args, first);
	copy_arguments(argv, first, &args);
	va_end(args);
	return do_execve(path, argv, environ);
}

INTERPOSED int execlp(const char *file, const char *first, ...)
{
	va_list args;
	size_t n;

	va_start(args, first);
	n = count_arguments(first, &args);
	va_end(args);

	char *argv[n + 1];

	va_start(args, first);
	copy_arguments(argv, first, &args);
	va_end(args);
	return do_execvpe(file, argv, environ);
}

/* The environment follows the arguments. */
INTERPOSED int execle(const char *path, const char *first, ...)
{
	char *const *env;
	va_list args;
	size_t n;

	va_start(args, first);
	n = count_arguments(first, &args);
	env = va_arg(args, char *const *);
	va_end(args);

	char *argv[n + 1];

	va_start(args, first);
	copy_arguments(argv, first, &args);
	va_end(args);
	return do_execve(path, argv, env);
}
