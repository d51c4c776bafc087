/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * What chores share: a bench, which is two processes with memory and completion queues,
 * a pair of queue pairs or others, and the judgement of what comes of a request.
 */
#ifndef SIM_CHORE_H
#define SIM_CHORE_H

#include "workload.h"

#define US 1000ull
#define MS 1000000ull
/* A request is waited for so long; links may be cut for longer. */
#define PATIENCE_NS (40 * MS)
/* A bench's memory at either end; more of it is there, for who has it registered. */
#define BYTES 2048u
#define SLOT_BYTES (2 * 4096ull)
#define NO_STATUS (~0u)
#define BENCH_OTHERS 12
#define BENCH_SLOTS 4

/* Another key of a window, or of a region for fast registration: the next tag. */
static inline u32 next_key(u32 key)
{
	return (key & ~0xffu) | ((key + 1) & 0xff);
}

/* A pair of connected queue pairs, of which only `a` posts. */
struct bench {
	struct actor *actor, *other;
	struct process *p, *far;
	u64 life, far_life;
	struct queue *cq, *far_cq;
	struct qp *x, *y;
	/* Memory at both ends: offset in its process, and key. */
	u64 here, there;
	u32 key, far_key;
	u64 next_id;
	/* More that it has: queues to be destroyed, in this order; memory to be given back. */
	struct other {
		struct process *p;
		u64 life;
		struct qp *qp;
		struct srq *srq;
		struct queue *cq;
	} others[BENCH_OTHERS];
	u32 nothers;
	struct slot {
		struct actor *actor;
		u64 offset;
		u32 key;
		u64 life;
	} slots[BENCH_SLOTS];
	u32 nslots;
};

struct bench_options {
	u32 cq_entries, far_cq_entries;
	u32 cq_flags;
	bool channel;
	struct qp_options near, far;
	/* 0: no pair; the chore makes its own. */
	u8 type;
};

static inline u32 bench_below(struct bench *b, u32 n)
{
	return random_below(&b->actor->random, n);
}

bool bench_has_room(const struct node *node);
bool bench_make(struct bench *b, struct actor *a, struct actor *other,
		const struct bench_options *o);
void bench_free(struct bench *b);
/* They go when the bench does; the last ones first. */
struct qp *bench_has_qp(struct bench *b, struct qp *qp);
struct srq *bench_has_srq(struct bench *b, struct srq *srq);
struct queue *bench_has_cq(struct bench *b, struct queue *cq);
/* SLOT_BYTES of memory, registered; NULL: there is none. */
struct slot *bench_memory(struct bench *b, struct actor *a);

/* Both ends are what they were when this began; so is that process. */
bool holds(const struct bench *b);
bool lives(const struct process *p, u64 life);
void wrong(const struct bench *b, const char *what, u32 got);
void want(const struct bench *b, bool ok, const char *what);

/* Of `length` bytes of `here`. */
void post(struct bench *b, struct vnet_send_wqe wqe, u32 length, u32 lkey);
/* The next completion's status, and (not NULL) all of it; of x, and of any. */
u32 next_status(struct bench *b, struct wc *out);
u32 next_status_of(struct bench *b, struct queue *cq, struct wc *out);
u32 run(struct bench *b, const struct vnet_send_wqe *wqe, u32 length, u32 lkey);
/* Faults of others are no mistake; everything else must be as it is to be. */
bool ends(struct bench *b, u32 status, u32 expected, const char *what);
/* To `there`. */
struct vnet_send_wqe one_sided(const struct bench *b, u8 opcode);
void receives(struct bench *b, u32 n);
bool write_works(struct bench *b, u32 lkey, const char *what);
bool comes_to_error(struct bench *b, const struct qp *qp);

/* chore_*.c, a file for each kind. */
void tagged_messages(struct bench *b);
void groups(struct bench *b);
void extended(struct bench *b);
void frames(struct bench *b);
void spread_frames(struct bench *b);
void moderated_events(struct bench *b);
void events_on_purpose(struct bench *b);
void established(struct bench *b);
void starving(struct bench *b);
void device_memory(struct bench *b);
void atomic_writes(struct bench *b);
void flushes(struct bench *b);

#endif /* SIM_CHORE_H */
