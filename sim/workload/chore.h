/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Common code of chores: the bench (two processes with a pair of queue pairs), and checks.
 *
 * A bench has registered memory and a CQ in both processes, and further objects of the chore.
 */
#ifndef SIM_CHORE_H
#define SIM_CHORE_H

#include "workload/workload.h"

#define US 1000ull
#define MS 1000000ull
/* Maximum wait of a chore for a completion. Links may be cut for longer. */
#define EVENT_TIMEOUT_NS (40 * MS)
/* Registered memory of a bench at each end, and memory of each bench_memory(). */
#define BYTES 2048u
#define SLOT_BYTES (2 * 4096ull)
#define NO_STATUS (~0u)
#define BENCH_OTHERS 12
#define BENCH_SLOTS 4

/* The next key of a window or of fast registration: the tag in it is increased. */
static inline u32 next_key(u32 key)
{
	return (key & ~0xffu) | ((key + 1) & 0xff);
}

/* A pair of queue pairs, x and y. Only process p posts requests, to x. */
struct bench {
	struct actor *actor, *other;
	struct process *p, *far;
	u64 life, far_life;
	struct queue *cq, *far_cq;
	struct qp *x, *y;
	/* Memory at both ends: offset in the process's memory, and key. */
	u64 here, there;
	u32 key, far_key;
	u64 next_id;
	/* Further objects, destroyed in reverse order, and memory. */
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
	/* 0: the chore creates its own queue pairs. */
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
/* Let bench_free() destroy an object, the last one first. Return the object. */
struct qp *bench_has_qp(struct bench *b, struct qp *qp);
struct srq *bench_has_srq(struct bench *b, struct srq *srq);
struct queue *bench_has_cq(struct bench *b, struct queue *cq);
/* Allocate and register SLOT_BYTES of memory. Returns NULL on failure. */
struct slot *bench_memory(struct bench *b, struct actor *a);

/*
 * holds(): no violation so far, both processes are alive, and their NICs were not reset since
 * bench_make(). lives(): one process is alive, and its NIC has not been reset since that life.
 */
bool holds(const struct bench *b);
bool lives(const struct process *p, u64 life);
/* Report a violation, unless holds() is false. */
void wrong(const struct bench *b, const char *what, u32 got);
void want(const struct bench *b, bool ok, const char *what);

/* Post a request with `length` bytes at `here`. */
void post(struct bench *b, struct vnet_send_wqe wqe, u32 length, u32 lkey);
/*
 * Wait for the next completion of b->cq, or of a given CQ. Returns its status; NO_STATUS after a
 * timeout, or if holds() is false. *out, if not NULL, is the completion.
 */
u32 next_status(struct bench *b, struct wc *out);
u32 next_status_of(struct bench *b, struct queue *cq, struct wc *out);
/* post(), ring the doorbell, next_status(). */
u32 run(struct bench *b, const struct vnet_send_wqe *wqe, u32 length, u32 lkey);
/*
 * Whether the status is the expected one. Reports a violation if it is not, unless faults excuse it
 * (NO_STATUS, VNET_WC_RETRY_EXC_ERR).
 */
bool ends(struct bench *b, u32 status, u32 expected, const char *what);
/* A one-sided request to address `there`. */
struct vnet_send_wqe one_sided(const struct bench *b, u8 opcode);
/* Post n receives to y. */
void receives(struct bench *b, u32 n);
/* Whether an RDMA write with this lkey succeeds, and its data arrives. */
bool write_works(struct bench *b, u32 lkey, const char *what);
/* Wait until the queue pair is in the error state. Returns false if it must be by now. */
bool comes_to_error(struct bench *b, const struct qp *qp);

/* The chores of each file chore_*.c. */
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
