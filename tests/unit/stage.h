/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * A stage for tests in which a process dies or stops inside the firmware:
 * process 0 sends by QP a, process 1 receives by QP b, whose CQ has a channel
 * and is armed. Scenarios, what must hold after each, and a way to put all of
 * it aside and back.
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
	/* Receives posted for b, in order, and the message that each would get. */
	struct receive receive[MAX_RECEIVES];
	u32 receives;
	/* Completions of receives that were polled. */
	u32 completed;
	/* ... and of what b sent itself, with wr_id STAGE_ANSWER. */
	u32 answers;
	bool armed;
};

extern struct stage s;

void set_stage(u8 type, bool with_srq);
/* A receive for b, in two pieces or in one (so that the entry can carry it). */
void expect_message(u32 length, u32 pieces, u32 seed);
/* A request of a, whose memory is filled by seed. */
void queue_send(u8 opcode, u32 length, u32 seed);

/* --- what must hold, whatever happened to process 0 */

void check_cq(const struct cq *cq);
void check_rq(const struct nic_rq *rq, const struct ring *ring);
/* Every receive that was taken has one completion, in order, with its data. */
void check_receives(void);
/* Who waits for the CQ is woken if it got anything since it was armed. */
void check_events(void);

/* --- scenarios */

struct scenario {
	const char *what;
	void (*prepare)(void);
	void (*act)(void);
	/* Besides the above; or instead. */
	void (*check)(void);
	void (*examine)(void);
	bool receiver_is_lost;
};

extern const struct scenario scenarios[];
extern const u32 scenario_count;

/* The whole world, and test objects made later are forgotten. */
void put_aside(void);
void put_back(void);

#endif
