// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Opening a process' own /proc files after it has changed its user.
 *
 * A process that changes its user, like a server that starts as root, becomes undumpable
 * (PR_SET_DUMPABLE in prctl(2)): its memory may contain secrets of the earlier user. Its
 * /proc/self/mem then belongs to root, and the process cannot open it. But vnet needs it: a process
 * that uses the device gives the daemon access to its memory, and thereby all processes of the
 * daemon's user.
 *
 * So the process is made dumpable for the time of a few calls of open(), with its signals blocked.
 * Processes of other users gain no access by that, and processes of the new user gain no more than
 * the daemon gives them permanently. A message informs the user. A process that has made itself
 * undumpable is refused, because it does not want to share its memory. A process that still has its
 * first user is refused, too: there, something else keeps it from its own files.
 */
#define _GNU_SOURCE
#include "session/own_files.h"

#include <stdarg.h>
#include <sys/auxv.h>
#include <sys/prctl.h>

#include "base/real.h"
#include "base/say.h"
#include "base/settings.h"
#include "base/sys.h"

/* The program itself has called prctl(PR_SET_DUMPABLE, 0). */
static bool hidden_by_program;
/* The program itself has chosen a tracer (PR_SET_PTRACER). */
static bool chose_tracer;
/* The process is dumpable for a moment; a child that is forked meanwhile must not remain so. */
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
 * If Yama prevents processes of one user from tracing each other (ptrace_scope 1), the daemon and
 * peers copy by descriptors of the process' memory, which need no right to trace. So by default no
 * process gets this right. process_vm_readv() is faster for large copies but needs it, and a
 * process can grant the right to one process or to all, not to its peers alone.
 */
void own_files_allow_ptrace(void)
{
	if (settings()->allow_ptrace && !__atomic_load_n(&chose_tracer, __ATOMIC_RELAXED))
		(void)sys(SYS_prctl, PR_SET_PTRACER, PR_SET_PTRACER_ANY);
}

/* Has the process another user or group than at its start? */
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

/* May the process be made dumpable for a moment? Prints a message if the program forbids it. */
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
		/* Without the memory file the others are useless. */
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
	 * The process may have been undumpable in another way (value 2, which a process cannot
	 * set): value 0 is the strictest.
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
