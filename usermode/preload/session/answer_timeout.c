// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#define _GNU_SOURCE
#include "session/answer_timeout.h"

#include <poll.h>
#include <time.h>

#include "base/say.h"
#include "base/settings.h"
#include "../../platform/host.h"

#define SECOND 1000000000ull
/* Time limit after the daemon has failed to answer. */
#define SHORT_ANSWER_LIMIT SECOND
/*
 * Limit of the wait for a turn, in multiples of the answer timeout: the holder may connect, start
 * the daemon and wait for its answer.
 */
#define TURN_LIMITS 3
#define TURN_PAUSE 1000000ull

static bool silent;
/* The innermost turn this thread holds. The program's signals are handled during its waits. */
static __thread struct hold *held __attribute__((tls_model("initial-exec")));

u32 answer_limit(void)
{
	return settings()->answer_timeout;
}

bool answer_overdue(void)
{
	return __atomic_load_n(&silent, __ATOMIC_RELAXED);
}

u64 answer_deadline(void)
{
	u64 limit = answer_limit() * SECOND;

	if (answer_overdue() && limit > SHORT_ANSWER_LIMIT)
		limit = SHORT_ANSWER_LIMIT;
	return plat_clock() + limit;
}

void daemon_answered(void)
{
	if (answer_overdue())
		__atomic_store_n(&silent, false, __ATOMIC_RELAXED);
}

bool daemon_first_timeout(void)
{
	return !__atomic_exchange_n(&silent, true, __ATOMIC_RELAXED);
}

void daemon_timed_out(pid_t daemon)
{
	if (!daemon_first_timeout())
		return;
	say("the daemon (process %d) has not answered for %u s, so the call fails: it is stopped, "
	    "or waits for a process that is stopped; \"vnet stop\" ends it",
	    daemon, answer_limit());
}

/*
 * Returns the turn that the calling code holds. Code that runs in a signal handler during a wait,
 * or after a jump out of one, does not belong to the turn, although `held` is set. All signals are
 * blocked only in the holder's own code: a program cannot block as many, because the C library
 * keeps some signals for itself.
 */
static const struct hold *hold_here(void)
{
	const raw_sigset_t never = 1ull << (SIGKILL - 1) | 1ull << (SIGSTOP - 1);

	return held && (raw_sigmask(SIG_BLOCK, 0) | never) == ~0ull ? held : NULL;
}

/* ppoll() with the program's signal mask if a turn is held. */
static long poll_once(struct pollfd *pfd, u64 ns, const struct hold *hold)
{
	struct timespec time = { .tv_sec = (time_t)(ns / SECOND), .tv_nsec = (long)(ns % SECOND) };
	raw_sigset_t mask = hold ? hold->mask : 0;

	return sys(SYS_ppoll, pfd, pfd ? 1 : 0, &time, hold ? &mask : NULL, sizeof(mask));
}

int timed_poll(const int *fd, short events, u64 deadline)
{
	struct pollfd pfd = { .events = events };
	const struct hold *hold = hold_here();

	for (;;) {
		u64 now = plat_clock();
		long ret;

		pfd.fd = nic_load(fd);
		ret = poll_once(&pfd, now < deadline ? deadline - now : 0, hold);

		if (hold && !turn_is_held(hold))
			return -ECANCELED;
		if (ret > 0)
			return 0;
		if (ret < 0 && ret != -EINTR)
			return (int)ret;
		/* Check the clock here, too: repeated signals must not extend the wait. */
		if (ret == 0 || plat_clock() >= deadline)
			return -ETIMEDOUT;
	}
}

int timed_pause(u64 ns, u64 deadline)
{
	const struct hold *hold = hold_here();
	u64 now = plat_clock();

	if (now >= deadline)
		return -ETIMEDOUT;
	(void)poll_once(NULL, ns < deadline - now ? ns : deadline - now, hold);
	return hold && !turn_is_held(hold) ? -ECANCELED : 0;
}

/* ----------------------------------------------------------------------- turns */

static u32 thread_id(void)
{
	return (u32)sys(SYS_gettid);
}

static bool is_gone(u32 thread)
{
	return sys(SYS_tgkill, sys_getpid(), thread, 0) == -ESRCH;
}

/* Take the turn if it is free, if this thread holds it already, or if its holder has ended. */
static bool take_owner(struct turn *turn, u32 self)
{
	u32 owner = 0;

	/* Acquire: pairs with the release in turn_release(). */
	if (__atomic_compare_exchange_n(&turn->owner, &owner, self, false, __ATOMIC_ACQUIRE,
					__ATOMIC_RELAXED))
		return true;
	return (owner == self || is_gone(owner)) &&
	       __atomic_compare_exchange_n(&turn->owner, &owner, self, false, __ATOMIC_ACQUIRE,
					   __ATOMIC_RELAXED);
}

int turn_acquire(struct turn *turn, struct hold *hold)
{
	u64 give_up = plat_clock() + TURN_LIMITS * answer_limit() * SECOND;
	struct timespec pause = { .tv_nsec = TURN_PAUSE };
	u32 self = thread_id();

	for (;;) {
		hold->mask = sys_block_signals();
		if (take_owner(turn, self))
			break;
		sys_restore_signals(hold->mask);
		(void)sys(SYS_nanosleep, &pause, NULL);
		if (plat_clock() > give_up)
			return -ETIMEDOUT;
	}
	hold->turn = turn;
	hold->number = __atomic_add_fetch(&turn->number, 1, __ATOMIC_RELAXED);
	hold->outer = held;
	held = hold;
	return 0;
}

bool turn_is_held(const struct hold *hold)
{
	return __atomic_load_n(&hold->turn->number, __ATOMIC_RELAXED) == hold->number;
}

void turn_release(struct hold *hold)
{
	held = hold->outer;
	if (turn_is_held(hold))
		__atomic_store_n(&hold->turn->owner, 0, __ATOMIC_RELEASE);
	sys_restore_signals(hold->mask);
}

void turn_forked(struct turn *turn)
{
	turn->owner = 0;
	turn->number++;
	held = NULL;
}
