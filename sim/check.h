/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The oracle: what was posted, and so what must come of it. It looks at each
 * completion in the step in which it is made, before the process can.
 *
 * It knows what each message contains, in which order those of a connection must
 * arrive, what each one-sided operation must have done when it completes, and which
 * failures the faults that were injected excuse.
 */
#ifndef SIM_CHECK_H
#define SIM_CHECK_H

#include "buffer.h"

#define WORK_SGE 4

/* What a request is to end with, besides what faults excuse. */
enum expect {
	EXPECT_SUCCESS,
	EXPECT_LOC_PROT,
	EXPECT_LOC_LEN,
	EXPECT_LOC_QP_OP,
	EXPECT_REM_ACCESS,
	EXPECT_REM_INV_REQ,
};

struct end;

/* A send request. */
struct work {
	u64 id;
	/* Whose bytes it sends; its own, but for data that a read brings. */
	u64 content;
	struct end *end;
	/* Its place in the send queue. */
	u32 index;
	u8 opcode;
	u8 nlocal;
	bool signaled;
	bool is_inline;
	bool done;
	u64 done_at;
	bool delivered;
	enum expect expect;
	u32 length;
	/* Immediate data, should it have any; its upper half, should that be wide. */
	u32 imm, imm_high;
	struct buffer *local[WORK_SGE];
	u32 local_length[WORK_SGE];
	/* Where it writes to, or reads from. */
	struct buffer *remote;
	/* A read whose buffers a fenced send behind it has. */
	bool relayed;
	/* Bytes that a read finds there. */
	u64 remote_id;
	/* Atomic: on a counter, or (NULL) the word of this end; what comes back. */
	struct counter *counter;
	u64 result;
	/* Datagram: to whom, and whether that one could take any when it was posted. */
	struct end *to;
	bool to_ready;
	/* Its sender was told that it came back, and never will be delivered. */
	bool returned;
	struct work *next_datagram;
	/* Through a window, or about one. */
	bool by_window;
};

/* A receive request. */
struct receive {
	u64 id;
	/* In whose queue. */
	struct end *end;
	struct srq *srq;
	u32 index;
	u32 nlocal;
	struct buffer *local[2];
	u32 local_length[2];
	u32 size;
	bool done;
	u8 status;
	/* What came: 0 none. */
	struct work *work;
	u32 byte_len;
};

enum window_state {
	WINDOW_NONE,
	WINDOW_CLOSED,
	WINDOW_OPENING,
	WINDOW_OPEN,
	WINDOW_CLOSING,
};

/* A word that everybody adds to. */
struct counter {
	struct buffer *buffer;
	u64 posted, succeeded;
	/* Results seen. */
	u8 *seen;
	u32 room;
};

/* A queue pair, as the oracle sees it. */
struct end {
	struct qp *qp;
	struct end *peer;
	struct actor *actor;
	u32 number;
	u64 made_at;
	u8 type;
	/* Send requests in order; those before `done` are complete. */
	struct work **work;
	u32 nwork, work_room, done;
	/* First that may still be delivered at the peer. */
	u32 next_deliver;
	/* Datagrams that were sent to this end. */
	struct work *datagrams;
	struct receive **receive;
	u32 nreceive, receive_room, received;
	/* Bytes that each of them holds; few are posted at a time. */
	u32 capacity;
	bool lazy;
	/* Datagrams: its requests end with what became of their messages. */
	bool returns;
	/* It is in RTS, or was. */
	bool ready;
	/* It drains, until then. */
	u64 drains_until;
	/* Requests in a row that do not tell. */
	u32 silent;
	/* A request failed: all later ones are flushed. */
	bool failed;
	/* Somebody gave it a reason to be in the error state. */
	bool may_fail;
	/* Requests of it may find nobody who answers. */
	bool excused;
	/* Its receiver may let it wait too long. */
	bool may_rnr;
	/* It is to be taken down; it was seen in the error state; it is being so. */
	bool broken;
	bool seen_error;
	bool closing;
	/* It is no more, and nothing more is expected of it. */
	bool gone;
	/* The word that this end's compare and swap works on, at the peer. */
	struct buffer *word;
	u64 word_value;
	bool word_sure;
	/* A window of this end's own memory for its peer. */
	u32 window_key;
	enum window_state window;
	struct buffer *window_buffer;
	/* Requests of the peer that use it. */
	u32 window_users;
};

/* A process with all that it has. */
struct actor {
	struct process *process;
	struct pool pool;
	u64 memory_used;
	struct queue *cq[2];
	struct srq *srq;
	/* Receives in the SRQ that are not complete. */
	u32 srq_posted, srq_done;
	struct counter *counter;
	struct random random;
	/* Rounds without anything to do. */
	u32 idle;
	/* Connections that it is just making anew. */
	u32 repairing;
	/* Next piece of memory for chores, and those that are in use, a bit each. */
	u32 slot;
	u64 slots;
	/* A region that comes and goes: its key, or 0. */
	u32 spare_key;
	u64 spare_at;
};

struct check_totals {
	u64 works, receives, completions, delivered, failed, flushed, lost;
	/* By chores: with a tag that matched, to members of groups, by flows. */
	u64 tagged, copies, frames, far_frames;
	u64 by_opcode[16];
	u64 by_status[VNET_WC_STATUS_MAX];
};

extern struct check_totals check_totals;
/*
 * A receive holds nothing but its message. Not so where somebody stops with a lock
 * held: a message may be written and then have to come again, to another receive.
 */
extern bool check_strict;

void check_reset(void);
struct end *check_end(struct qp *qp, struct actor *actor);
/* About to be posted: record it. */
struct work *check_work(struct end *end);
/* Has its immediate data 64 bits? Decided by its number. */
bool work_is_wide(const struct work *w);
struct receive *check_receive(struct end *end, struct srq *srq);
struct counter *check_counter_new(struct buffer *buffer, u32 additions);
/* The numbers by which they are known in completions. */
static inline u64 work_wr_id(const struct work *w)
{
	return w->id << 1;
}

static inline u64 receive_wr_id(const struct receive *r)
{
	return r->id << 1 | 1;
}

/* Hook: look at what the node's NIC completed. */
void check_after_step(struct node *node);
/* The process has polled this one: its buffers can be used again. */
void check_polled(struct actor *actor, const struct wc *wc);
/* What stands silent at the end of its queue has succeeded. */
void check_silent(struct end *end);
/* The node lost all: nothing more is expected there. */
void check_lost_node(u32 node);
/* So did a process, and nobody else. */
void check_lost_actor(const struct actor *actor);
/* Nothing is expected of this end any more; of its works neither. */
void check_close(struct end *end);
/* All that was posted has ended. */
bool check_is_complete(const struct end *end);
/* At the end of all: memory, counters, words. */
void check_final(struct actor **actors, u32 n);
/* Say what is not complete. */
void check_incomplete(void);

/* Until another is made: others make some, while a command of a host is under way. */
struct end **check_ends(u32 *n);
/* One of them, at any time. */
struct end *check_end_at(u32 i);

#endif /* SIM_CHECK_H */
