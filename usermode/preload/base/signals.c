// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Signal handlers and masks, with SIGSEGV and SIGBUS kept for guarded copies. The guard's handlers
 * for these two signals run before the program's, and the signals are never blocked, neither by a
 * mask nor while another handler runs. The program sees its own handlers and masks.
 */
#define _GNU_SOURCE
#include "base/signals.h"

#include <dlfcn.h>
#include <signal.h>

#include "base/real.h"
#include "../../platform/host.h"

/* Declared in <signal.h> for some feature macros only. */
int __sigaction(int sig, const struct sigaction *act, struct sigaction *old);
sighandler_t __sysv_signal(int sig, sighandler_t handler);
sighandler_t bsd_signal(int sig, sighandler_t handler);

static bool guarded;
/* Signals whose handler lacks SA_RESTART: bit sig - 1. */
static u64 interrupting;

void signals_guarded(void)
{
	__atomic_store_n(&guarded, true, __ATOMIC_RELEASE);
}

bool signals_restart(void)
{
	return !__atomic_load_n(&interrupting, __ATOMIC_RELAXED);
}

/* Signals that a thread raises by its own instructions, so not while it waits. */
static bool synchronous(int sig)
{
	return sig == SIGSEGV || sig == SIGBUS || sig == SIGFPE || sig == SIGILL ||
	       sig == SIGTRAP || sig == SIGABRT;
}

static void remember(int sig, const struct sigaction *act)
{
	bool handled = act->sa_handler != SIG_DFL && act->sa_handler != SIG_IGN;
	u64 bit = 1ull << (sig - 1);

	if (handled && !(act->sa_flags & SA_RESTART) && !synchronous(sig))
		(void)__atomic_fetch_or(&interrupting, bit, __ATOMIC_RELAXED);
	else
		(void)__atomic_fetch_and(&interrupting, ~bit, __ATOMIC_RELAXED);
}

/* The guarded signals stay unblocked while any handler runs. */
static void unblock_guarded(sigset_t *set)
{
	sigdelset(set, SIGSEGV);
	sigdelset(set, SIGBUS);
}

static bool guards(int sig)
{
	return (sig == SIGSEGV || sig == SIGBUS) && __atomic_load_n(&guarded, __ATOMIC_ACQUIRE);
}

static int do_sigaction(int sig, const struct sigaction *act, struct sigaction *old)
{
	struct sigaction ours;
	int ret;

	if (guards(sig)) {
		ret = host_guard_sigaction(sig, act, old);
	} else if (act) {
		ours = *act;
		unblock_guarded(&ours.sa_mask);
		ret = real()->sigaction(sig, &ours, old);
	} else {
		ret = real()->sigaction(sig, NULL, old);
	}
	if (!ret && act)
		remember(sig, act);
	return ret;
}

INTERPOSED int sigaction(int sig, const struct sigaction *act, struct sigaction *old)
{
	return do_sigaction(sig, act, old);
}

INTERPOSED int __sigaction(int sig, const struct sigaction *act, struct sigaction *old)
{
	return do_sigaction(sig, act, old);
}

static sighandler_t do_signal(int sig, sighandler_t handler, int flags)
{
	struct sigaction act = { .sa_handler = handler, .sa_flags = flags }, old;

	if (handler == SIG_ERR || sig < 1 || sig >= _NSIG) {
		errno = EINVAL;
		return SIG_ERR;
	}
	/* A handler's own signal is blocked while it runs, except with System V semantics. */
	if (!(flags & SA_NODEFER))
		sigaddset(&act.sa_mask, sig);
	return do_sigaction(sig, &act, &old) ? SIG_ERR : old.sa_handler;
}

/* Use the C library's signal(), which knows what siginterrupt() set for this signal. */
static sighandler_t bsd(int sig, sighandler_t handler)
{
	struct sigaction now;
	sighandler_t old;

	if (guards(sig))
		return do_signal(sig, handler, SA_RESTART);
	old = real()->signal(sig, handler);
	if (old != SIG_ERR && !real()->sigaction(sig, NULL, &now))
		remember(sig, &now);
	return old;
}

INTERPOSED sighandler_t signal(int sig, sighandler_t handler)
{
	return bsd(sig, handler);
}

INTERPOSED sighandler_t bsd_signal(int sig, sighandler_t handler)
{
	return bsd(sig, handler);
}

INTERPOSED sighandler_t ssignal(int sig, sighandler_t handler)
{
	return bsd(sig, handler);
}

/* Looked up at each call, because it is deprecated and rarely called. */
INTERPOSED int siginterrupt(int sig, int flag)
{
	int (*next)(int, int) = (int (*)(int, int))dlsym(RTLD_NEXT, "siginterrupt");
	struct sigaction now;
	int ret = next(sig, flag);

	if (!ret && !real()->sigaction(sig, NULL, &now))
		remember(sig, &now);
	return ret;
}

INTERPOSED sighandler_t __sysv_signal(int sig, sighandler_t handler)
{
	return do_signal(sig, handler, (int)(SA_RESETHAND | SA_NODEFER));
}

INTERPOSED sighandler_t sysv_signal(int sig, sighandler_t handler)
{
	return do_signal(sig, handler, (int)(SA_RESETHAND | SA_NODEFER));
}

/* ----------------------------------------------------------------------- masks */

static u8 blocked_after(int how, u8 bits)
{
	u8 before = host_guard_blocked();

	switch (how) {
	case SIG_BLOCK:
		return before | bits;
	case SIG_UNBLOCK:
		return before & (u8)~bits;
	default:
		return bits;
	}
}

static int change_mask(int (*change)(int, const sigset_t *, sigset_t *), int how,
		       const sigset_t *set, sigset_t *old)
{
	u8 before = host_guard_blocked(), after = before;
	sigset_t ours;
	int ret;

	if (set) {
		ours = *set;
		after = blocked_after(how, host_guard_bits(set));
		if (how != SIG_UNBLOCK)
			unblock_guarded(&ours);
	}
	ret = change(how, set ? &ours : NULL, old);
	if (ret)
		return ret;
	host_guard_block(after);
	if (old && (before & HOST_GUARD_SEGV))
		sigaddset(old, SIGSEGV);
	if (old && (before & HOST_GUARD_BUS))
		sigaddset(old, SIGBUS);
	return 0;
}

INTERPOSED int sigprocmask(int how, const sigset_t *set, sigset_t *old)
{
	return change_mask(real()->sigprocmask, how, set, old);
}

INTERPOSED int pthread_sigmask(int how, const sigset_t *set, sigset_t *old)
{
	return change_mask(real()->pthread_sigmask, how, set, old);
}
