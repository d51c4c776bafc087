// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * A process that changes its user, as servers do that begin as root, becomes undumpable
 * (PR_SET_DUMPABLE in prctl(2)): its memory may have secrets of the earlier user, so its
 * /proc/self/mem belongs to root and the process itself cannot open it. Whoever uses the
 * device lets its daemon into its memory, though, and by the daemon all processes of that
 * user: vnet cannot work otherwise.
 *
 * So the process is dumpable for the time of two calls of open(), with its signals blocked.
 * Processes of other users gain nothing by that, and those of the new user no more than the
 * daemon hands them for good. The user is told. A process that has made itself undumpable
 * wants its memory for itself alone, and is refused. So is one that has its first user yet:
 * something else keeps it from its own files.
 */
#define _GNU_SOURCE
#include "own_files.h"

#include <stdarg.h>
#include <sys/auxv.h>
#include <sys/prctl.h>

#include "real.h"
#include "say.h"
#include "settings.h"
#include "sys.h"

/* By the program's own call of prctl(). */
static bool hidden_by_program;
/* It has said who may trace it. */
static bool chose_tracer;
/* Dumpable for a moment; forked children must not stay so. */
static bool lifted;

INTERPOSED int prctl(int option, ...)
{
	unsigned long a, b, c, d;
	va_list args;
	int ret;

	va_start(args, option);
	a = va_arg(args, unsigned long);
	b = va_arg(args, unsigned long);
	c = va_arg(args, unsigned long);
	d = va_arg(args, unsigned long);
	va_end(args);
	ret = real()->prctl(option, a, b, c, d);
	if (option == PR_SET_DUMPABLE && !ret)
		__atomic_store_n(&hidden_by_program, !a, __ATOMIC_RELAXED);
	if (option == PR_SET_PTRACER)
		__atomic_store_n(&chose_tracer, true, __ATOMIC_RELAXED);
	return ret;
}

/*
 * Where Yama keeps processes of one user from each other (ptrace_scope 1), the daemon and peers
 * copy by the descriptors that they were given, which need no such right: so nobody gets it by
 * itself. process_vm_readv() is faster for large copies and needs it; a process can grant it to
 * one process or to all, not to its peers.
 */
void own_files_allow_ptrace(void)
{
	if (settings()->allow_ptrace && !__atomic_load_n(&chose_tracer, __ATOMIC_RELAXED))
		(void)sys(SYS_prctl, PR_SET_PTRACER, PR_SET_PTRACER_ANY);
}

/* Not as the program was started. */
static bool user_changed(void)
{
	unsigned long uid = getauxval(AT_UID), gid = getauxval(AT_GID);
	uid_t uids[3] = { 0 };
	gid_t gids[3] = { 0 };
	bool changed = false;

	(void)sys(SYS_getresuid, &uids[0], &uids[1], &uids[2]);
	(void)sys(SYS_getresgid, &gids[0], &gids[1], &gids[2]);
	for (unsigned int i = 0; i < 3; i++)
		changed |= uids[i] != uid || gids[i] != gid;
	return changed;
}

static void set_dumpable(bool dumpable)
{
	__atomic_store_n(&lifted, true, __ATOMIC_SEQ_CST);
	(void)sys(SYS_prctl, PR_SET_DUMPABLE, dumpable, 0, 0, 0);
	__atomic_store_n(&lifted, dumpable, __ATOMIC_SEQ_CST);
}

void own_files_forked(void)
{
	if (__atomic_load_n(&lifted, __ATOMIC_SEQ_CST))
		set_dumpable(false);
}

/* May the process be made dumpable for its own sake? */
static bool may_lift(void)
{
	if (sys(SYS_prctl, PR_GET_DUMPABLE, 0, 0, 0, 0) == 1 || !user_changed())
		return false;
	if (!__atomic_load_n(&hidden_by_program, __ATOMIC_RELAXED))
		return true;
	say("no RDMA device: the program has made itself undumpable (PR_SET_DUMPABLE), and the "
	    "daemon needs its memory");
	return false;
}

static void tell_of_memory(void)
{
	static bool told;

	if (!__atomic_exchange_n(&told, true, __ATOMIC_RELAXED))
		say("the program has changed its user, and has its device as user %u now: that "
		    "user's other programs that use vnet can reach its memory",
		    (unsigned int)sys(SYS_geteuid));
}

static void open_all(struct own_files *files)
{
	static const struct {
		const char *path;
		int flags;
	} own[VNET_MSG_FDS] = {
		{ "/proc/self/mem", O_RDWR },
		{ "/proc/self/pagemap", O_RDONLY },
		{ "/proc/self/maps", O_RDONLY },
		{ "/proc/self/status", O_RDONLY },
	};

	files->n = 0;
	for (unsigned int i = 0; i < VNET_MSG_FDS; i++) {
		files->fd[files->n] = sys_open(own[i].path, own[i].flags);
		/* The others are of no use without the first. */
		if (!i && files->fd[0] < 0)
			return;
		files->n += files->fd[files->n] >= 0;
	}
}

int own_files_open(struct own_files *files)
{
	raw_sigset_t saved;

	open_all(files);
	if (files->n || files->fd[0] != -EACCES || !may_lift())
		return files->n ? 0 : files->fd[0];
	saved = sys_block_signals();
	set_dumpable(true);
	open_all(files);
	/*
	 * What it was may have been another kind of undumpable, which a process cannot set:
	 * this one is the strictest.
	 */
	set_dumpable(false);
	sys_restore_signals(saved);
	if (!files->n)
		return files->fd[0];
	tell_of_memory();
	return 0;
}

void own_files_close(struct own_files *files)
{
	for (unsigned int i = 0; i < files->n; i++)
		sys_close(files->fd[i]);
	files->n = 0;
}
