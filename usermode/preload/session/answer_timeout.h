/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Bounded waits for the daemon: each wait has a deadline (VNET_ANSWER_TIMEOUT). The program's
 * signal handlers run during a wait.
 */
#ifndef ANSWER_TIMEOUT_H
#define ANSWER_TIMEOUT_H

#include <stdbool.h>

#include "base/sys.h"

/*
 * Deadline, by plat_clock(), for the answer to a request that is sent now. After a timeout the
 * limit is one second, until the daemon answers again.
 */
u64 answer_deadline(void);
/* True after a timeout, until the daemon answers again. */
bool answer_overdue(void);
/* The time limit in whole seconds, for messages. */
u32 answer_limit(void);
/*
 * Wait until the descriptor has these events or hangs up. Returns 0, -ETIMEDOUT, or -ECANCELED if a
 * signal handler has taken over the caller's turn meanwhile (turn_acquire()). The descriptor's
 * number is read again after a signal, because the handler may have had it moved
 * (fdtable_make_way()).
 */
int timed_poll(const int *fd, short events, u64 deadline);
/* Sleep for at most this many nanoseconds. Returns 0 or an error as above. */
int timed_pause(u64 ns, u64 deadline);
/*
 * Record that the daemon has answered, or has not. daemon_timed_out() prints a message, once
 * until the daemon answers again.
 */
void daemon_answered(void);
void daemon_timed_out(pid_t daemon);
/*
 * Like daemon_timed_out(), but the caller prints the message: returns true if it has to be
 * printed.
 */
bool daemon_first_timeout(void);

/*
 * A turn: mutual exclusion between threads that wait for the daemon while they hold it. The
 * program's signals are blocked except within the waits above. A signal handler that interrupts
 * such a wait may take the turn from its own thread, because it may leave by a jump (siglongjmp())
 * and never return to the interrupted code. A thread that has lost its turn learns of it by
 * -ECANCELED and turn_is_held(), and must not use the data that the turn protects.
 */
struct turn {
	/* ID of the thread that holds the turn; 0: free. */
	u32 owner;
	u32 number;
};

/* One acquisition of a turn, in the stack frame of the caller. */
struct hold {
	u32 number;
	raw_sigset_t mask;
	/* The hold that a signal handler interrupted, if any; its stack frame may be gone. */
	struct hold *outer;
	struct turn *turn;
};

/*
 * Returns 0, with the program's signals blocked until turn_release(), or -ETIMEDOUT if another
 * thread keeps the turn for the whole time limit.
 */
int turn_acquire(struct turn *turn, struct hold *hold);
bool turn_is_held(const struct hold *hold);
void turn_release(struct hold *hold);
/* Called in a forked child: free the turn, whose owner exists only in the parent. */
void turn_forked(struct turn *turn);

#endif /* ANSWER_TIMEOUT_H */
