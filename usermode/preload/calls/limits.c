// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * RLIMIT_MEMLOCK as the program sees it.
 *
 * Registered memory is not pinned, so the system's limit does not bound registrations; but some
 * programs read the limit and refuse to start. With VNET_UNLIMITED_MEMLOCK=1 the program sees an
 * infinite limit. If the program sets a limit, it sees that limit, and the system's limit is
 * changed to it as far as permitted.
 *
 * A limit that the program has set survives exec, as limits do: the variable then contains
 * "SOFT:HARD". Its text is rewritten in place, so that setrlimit() allocates nothing and takes no
 * lock. If the program passes an environment of its own to exec, as shells do, the text is put into
 * a copy of that.
 */
#define _GNU_SOURCE
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "calls/limits.h"
#include "base/real.h"
#include "base/settings.h"
#include "base/sys.h"

#define NAME "VNET_UNLIMITED_MEMLOCK"
#define DIGITS 20

/* What a process sees, and the variable for its exec. */
struct view {
	pid_t pid;
	struct rlimit limit;
	char variable[sizeof(NAME) + 2 * DIGITS + 2];
};

static struct view own = { .variable = NAME "=18446744073709551615:18446744073709551615" };
static bool is_shown;

/*
 * A child of vfork() runs in its parent's memory. A limit that the child sets applies to the child,
 * and to the program that the child executes, but not to the parent. The parent's thread is
 * suspended meanwhile. If other threads call vfork() at the same time, the last child counts.
 */
static struct view *view(void)
{
	static struct view borrower;
	pid_t pid = sys_getpid();

	if (likely(pid == own.pid))
		return &own;
	if (borrower.pid != pid) {
		borrower = own;
		borrower.pid = pid;
	}
	return &borrower;
}

static void forked(void)
{
	own.pid = sys_getpid();
}

static void put(char *text, rlim_t value)
{
	for (int i = DIGITS - 1; i >= 0; i--, value /= 10)
		text[i] = (char)('0' + value % 10);
}

static void show(struct view *to, const struct rlimit *limit)
{
	to->limit = *limit;
	put(to->variable + sizeof(NAME), limit->rlim_cur);
	put(to->variable + sizeof(NAME) + DIGITS + 1, limit->rlim_max);
}

static void __attribute__((constructor)) limits_load(void)
{
	const char *value = getenv(NAME);
	struct rlimit limit = { RLIM_INFINITY, RLIM_INFINITY };
	int length = 0;

	if (!value || settings()->off)
		return;
	if (strcmp(value, "1") != 0 &&
	    (sscanf(value, "%ju:%ju%n", &limit.rlim_cur, &limit.rlim_max, &length) != 2 ||
	     value[length] || limit.rlim_cur > limit.rlim_max))
		return;
	forked();
	show(&own, &limit);
	is_shown = !pthread_atfork(NULL, NULL, forked) && !putenv(own.variable);
}

/* Set the system's limit as the program asks, or as close as its hard limit permits. */
static void follow(const struct rlimit *limit)
{
	struct rlimit may, was = { 0 };

	if (!sys(SYS_prlimit64, 0, RLIMIT_MEMLOCK, limit, NULL) ||
	    sys(SYS_prlimit64, 0, RLIMIT_MEMLOCK, NULL, &was))
		return;
	may.rlim_max = limit->rlim_max < was.rlim_max ? limit->rlim_max : was.rlim_max;
	may.rlim_cur = limit->rlim_cur < may.rlim_max ? limit->rlim_cur : may.rlim_max;
	(void)sys(SYS_prlimit64, 0, RLIMIT_MEMLOCK, &may, NULL);
}

static long do_limit(const struct rlimit *limit, struct rlimit *old)
{
	struct view *here = view();
	struct rlimit fresh, was = here->limit;

	if (limit) {
		fresh = *limit;
		if (fresh.rlim_cur > fresh.rlim_max)
			return -EINVAL;
		if (fresh.rlim_max > was.rlim_max &&
		    sys(SYS_prlimit64, 0, RLIMIT_MEMLOCK, &fresh, NULL))
			return -EPERM;
		follow(&fresh);
		show(here, &fresh);
	}
	if (old)
		*old = was;
	return 0;
}

/* ------------------------------------------------------------------ for exec */

size_t limits_room(char *const env[])
{
	size_t n = 0;

	while (is_shown && env && env[n])
		n++;
	return n + 1;
}

char *const *limits_environment(char *const env[], char *room[])
{
	char *variable;
	size_t i;

	if (!is_shown || !env)
		return env;
	variable = view()->variable;
	for (i = 0; env[i]; i++)
		room[i] = strncmp(env[i], NAME "=", sizeof(NAME)) != 0 ? env[i] : variable;
	room[i] = NULL;
	return room;
}

/* --------------------------------------------------------------- the functions */

static bool is_ours(int resource)
{
	return resource == RLIMIT_MEMLOCK && is_shown;
}

static int get(int resource, struct rlimit *limit)
{
	if (unlikely(is_ours(resource)))
		return (int)libc_result(do_limit(NULL, limit));
	return real()->getrlimit((__rlimit_resource_t)resource, limit);
}

static int set(int resource, const struct rlimit *limit)
{
	if (unlikely(is_ours(resource)))
		return (int)libc_result(do_limit(limit, NULL));
	return real()->setrlimit((__rlimit_resource_t)resource, limit);
}

/* The limits of other processes are the system's. */
static int set_and_get(pid_t pid, int resource, const struct rlimit *limit, struct rlimit *old)
{
	if (unlikely(is_ours(resource)) && (!pid || pid == (pid_t)sys(SYS_getpid)))
		return (int)libc_result(do_limit(limit, old));
	return real()->prlimit(pid, (enum __rlimit_resource)resource, limit, old);
}

INTERPOSED int getrlimit(__rlimit_resource_t resource, struct rlimit *limit)
{
	return get((int)resource, limit);
}

INTERPOSED int setrlimit(__rlimit_resource_t resource, const struct rlimit *limit)
{
	return set((int)resource, limit);
}

INTERPOSED int prlimit(pid_t pid, enum __rlimit_resource resource, const struct rlimit *limit,
		       struct rlimit *old)
{
	return set_and_get(pid, (int)resource, limit, old);
}

/* The variants with 64 are the same, because rlim_t has 64 bits. */
_Static_assert(sizeof(struct rlimit) == sizeof(struct rlimit64), "limits have 64 bits");

INTERPOSED int getrlimit64(__rlimit_resource_t resource, struct rlimit64 *limit)
{
	return get((int)resource, (struct rlimit *)limit);
}

INTERPOSED int setrlimit64(__rlimit_resource_t resource, const struct rlimit64 *limit)
{
	return set((int)resource, (const struct rlimit *)limit);
}

INTERPOSED int prlimit64(pid_t pid, enum __rlimit_resource resource, const struct rlimit64 *limit,
			 struct rlimit64 *old)
{
	return set_and_get(pid, (int)resource, (const struct rlimit *)limit, (struct rlimit *)old);
}
