/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Scenarios for tests in which a process dies or stops inside the firmware. Process 0 sends by
 * QP a; process 1 receives by QP b, whose CQ is armed and has a channel. Also the invariants to
 * check after a scenario, and functions that save and restore the whole state.
 */
#ifndef STAGE_H
#define STAGE_H

#include "world.h"

#define STAGE_FROM 0x1000
#define STAGE_TO 0x40000
#define STAGE_CHANNEL 3
#define STAGE_HANDLE 99
#define STAGE_ANSWER 77
#define MAX_RECEIVES 8

struct receive {
	u64 wr_id;
	u64 offset;
	u32 length;
	u32 seed;
};

struct stage {
	struct cq *ca;
	struct cq *cb;
	struct qp *a;
	struct qp *b;
	struct srq *srq;
	u32 window;
	/* Receives posted for b, in order, and the message that each one should get. */
	struct receive receive[MAX_RECEIVES];
	u32 receives;
	/* Number of receive completions that were polled. */
	u32 completed;
	/* Number of completions of b's own sends, which have wr_id STAGE_ANSWER. */
	u32 answers;
	bool armed;
};

extern struct stage s;

void set_stage(u8 type, bool with_srq);
/* Posts a receive for b with one SGE or two. (With one, the CQE can carry the payload.) */
void expect_message(u32 length, u32 pieces, u32 seed);
/* Posts a request of a, with data that depends on seed. */
void queue_send(u8 opcode, u32 length, u32 seed);

/* --- invariants that hold even if process 0 died */

void check_cq(const struct cq *cq);
void check_rq(const struct nic_rq *rq, const struct ring *ring);
/* Every consumed receive has one completion, in order, with its data. */
void check_receives(void);
/* The channel has an event if the CQ got a completion since it was armed. */
void check_events(void);

/* --- scenarios */

struct scenario {
	const char *what;
	void (*prepare)(void);
	void (*act)(void);
	/* An additional check, or one that replaces all others. */
	void (*check)(void);
	void (*examine)(void);
	bool receiver_is_lost;
};

extern const struct scenario scenarios[];
extern const u32 scenario_count;

/* Save and restore the whole world. Objects that a test makes in between are forgotten. */
void put_aside(void);
void put_back(void);

#endif
