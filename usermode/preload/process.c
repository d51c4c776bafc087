// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * exec: what peers write after it would land in another program, so the daemon
 * is told before that this address space ends, and answers when no operation
 * that began earlier can still touch it.
 */
#define _GNU_SOURCE
#include <alloca.h>
#include <stdarg.h>

#include "control.h"
#include "real.h"

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

/* NULL: there is nothing to leave (or this is a child of vfork()). */
static struct session *leave(void)
{
	struct session *s = session_current();

	if (!s || !session_alive(s) || tell(s, VNET_MSG_LEAVE))
		return NULL;
	return s;
}

/* exec failed. */
static int stay(struct session *left, int ret)
{
	if (left)
		(void)tell(left, VNET_MSG_STAY);
	return ret;
}

/* What cannot be run anyway is not worth leaving for. */
static bool runnable(const char *path)
{
	return !sys(SYS_faccessat, AT_FDCWD, path, X_OK);
}

INTERPOSED int execve(const char *path, char *const argv[], char *const env[])
{
	struct session *left = session_exists() && runnable(path) ? leave() : NULL;

	return stay(left, real()->execve(path, argv, env));
}

INTERPOSED int execv(const char *path, char *const argv[])
{
	return execve(path, argv, environ);
}

INTERPOSED int execvpe(const char *file, char *const argv[], char *const env[])
{
	struct session *left = session_exists() ? leave() : NULL;

	return stay(left, real()->execvpe(file, argv, env));
}

INTERPOSED int execvp(const char *file, char *const argv[])
{
	return execvpe(file, argv, environ);
}

INTERPOSED int fexecve(int fd, char *const argv[], char *const env[])
{
	struct session *left = session_exists() ? leave() : NULL;

	return stay(left, real()->fexecve(fd, argv, env));
}

INTERPOSED int execveat(int dirfd, const char *path, char *const argv[], char *const env[],
			int flags)
{
	struct session *left = session_exists() ? leave() : NULL;

	return stay(left, real()->execveat(dirfd, path, argv, env, flags));
}

/* ------------------------------------------------- arguments one after the other */

static size_t count_arguments(va_list args)
{
	size_t n = 1;

	while (va_arg(args, char *))
		n++;
	return n;
}

/* argv[] of a function's arguments from `first` on, in its own frame. */
#define ARGUMENTS(argv, first, args)                                                               \
	do {                                                                                       \
		size_t args_n, args_i;                                                             \
		va_start(args, first);                                                             \
		args_n = count_arguments(args);                                                    \
		va_end(args);                                                                      \
		(argv) = alloca((args_n + 1) * sizeof(*(argv)));                                   \
		(argv)[0] = (char *)(uintptr_t)(first);                                            \
		va_start(args, first);                                                             \
		for (args_i = 1; args_i <= args_n; args_i++)                                       \
			(argv)[args_i] = va_arg(args, char *);                                     \
	} while (0)

INTERPOSED int execl(const char *path, const char *first, ...)
{
	va_list args;
	char **argv;

	ARGUMENTS(argv, first, args);
	va_end(args);
	return execve(path, argv, environ);
}

INTERPOSED int execlp(const char *file, const char *first, ...)
{
	va_list args;
	char **argv;

	ARGUMENTS(argv, first, args);
	va_end(args);
	return execvpe(file, argv, environ);
}

INTERPOSED int execle(const char *path, const char *first, ...)
{
	char *const *env;
	va_list args;
	char **argv;

	ARGUMENTS(argv, first, args);
	env = va_arg(args, char *const *);
	va_end(args);
	return execve(path, argv, env);
}
