/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Waiting for the daemon: every wait has a time limit (VNET_ANSWER_TIMEOUT), and
 * handlers of the program's signals run meanwhile.
 */
#ifndef PATIENCE_H
#define PATIENCE_H

#include <stdbool.h>

#include "sys.h"

/*
 * Until when to wait for an answer that is asked for now, by plat_clock(). A
 * daemon that let us wait in vain gets a second from then on, until it answers.
 */
u64 patience_deadline(void);
/* Is that so just now? */
bool patience_is_short(void);
/* Whole seconds of the limit, for messages. */
u32 patience_limit(void);
/*
 * Wait until the descriptor has these events, or hangs up: 0. -ETIMEDOUT;
 * -ECANCELED: the turn was taken over meanwhile (turn_take).
 */
int patience_poll(int fd, short events, u64 deadline);
/* A pause of so many nanoseconds, or less: 0 or as above. */
int patience_pause(u64 ns, u64 deadline);
/* It answered; it did not. The latter is said, once until it answers again. */
void patience_answered(void);
void patience_exhausted(pid_t daemon);
/* The same, where the caller says it: is that to be said? */
bool patience_lost(void);

/*
 * A turn: what one thread does at a time and waits meanwhile. The program's
 * signals are blocked except within the waits above. A handler that interrupts
 * such a wait may take the turn from its own thread: it never returns to where it
 * interrupted if it jumps out (siglongjmp). The thread that lost its turn learns
 * of it by -ECANCELED and by turn_mine(), and leaves everything alone.
 */
struct turn {
	/* Thread that has it; 0: nobody. */
	u32 owner;
	u32 number;
};

/* This thread's hold of a turn. */
struct hold {
	u32 number;
	raw_sigset_t mask;
	/* The one that was interrupted, if any; its frame may be gone. */
	struct hold *outer;
	struct turn *turn;
};

/* 0: to be given back; -ETIMEDOUT: somebody else has it all the time. */
int turn_take(struct turn *turn, struct hold *hold);
bool turn_mine(const struct hold *hold);
void turn_give(struct hold *hold);
/* In a forked child. */
void turn_forked(struct turn *turn);

#endif /* PATIENCE_H */
