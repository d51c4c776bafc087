/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The oracle: checks completions and memory against the posted requests.
 *
 * It checks each completion in the step in which the NIC writes it, before the process polls:
 * the content of the message, the order of messages of a connection, the effect of a one-sided
 * operation, and whether an injected fault excuses a failure.
 */
#ifndef SIM_CHECK_H
#define SIM_CHECK_H

#include "oracle/buffer.h"

#define WORK_SGE 4

/* Expected status of a request. Faults may excuse another one (check_send.c). */
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
	/* Pattern of the bytes that it sends: its own id, or that of the read that it relays. */
	u64 content;
	struct end *end;
	/* Index in end->work. */
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
	/* Immediate data, if any; and the upper half of 64-bit immediate data. */
	u32 imm, imm_high;
	struct buffer *local[WORK_SGE];
	u32 local_length[WORK_SGE];
	/* Buffer that it writes or reads remotely. */
	struct buffer *remote;
	/* A read whose buffers are the source of a fenced send behind it. */
	bool relayed;
	/* Pattern of the remote buffer of a read. */
	u64 remote_id;
	/* Atomics: the counter, or NULL for the end's own word; and the expected result. */
	struct counter *counter;
	u64 result;
	/* Datagrams: the destination, and whether it was in RTS when the request was posted. */
	struct end *to;
	bool to_ready;
	/* A datagram that completed as undeliverable, so it must not be delivered. */
	bool returned;
	struct work *next_datagram;
	/* Accesses remote memory through a window of the peer. */
	bool by_window;
};

/* A receive request. */
struct receive {
	u64 id;
	/* The receive queue of an end, or an SRQ; the other one is NULL. */
	struct end *end;
	struct srq *srq;
	u32 index;
	u32 nlocal;
	struct buffer *local[2];
	u32 local_length[2];
	u32 size;
	bool done;
	u8 status;
	/* The message that was received; NULL if none. */
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

/* A word to which all processes add atomically. */
struct counter {
	struct buffer *buffer;
	u64 posted, succeeded;
	/* Results seen so far, one bit each. */
	u8 *seen;
	u32 room;
};

/* The oracle's record of a queue pair. */
struct end {
	struct qp *qp;
	struct end *peer;
	struct actor *actor;
	u32 number;
	u64 made_at;
	u8 type;
	/* Send requests in order. Those before `done` are complete. */
	struct work **work;
	u32 nwork, work_room, done;
	/* Index of the first request that may still be delivered to the peer. */
	u32 next_deliver;
	/* Datagrams that were sent to this end. */
	struct work *datagrams;
	struct receive **receive;
	u32 nreceive, receive_room, received;
	/* Bytes of each posted receive. lazy: only one receive is posted at a time. */
	u32 capacity;
	bool lazy;
	/* UD with VNET_CREATE_QP_RETURN: an undeliverable message completes with an error. */
	bool returns;
	/* It has reached RTS. */
	bool ready;
	/* It stays in SQD until this time; 0: it is not drained. */
	u64 drains_until;
	/* Number of unsignaled requests in a row. */
	u32 silent;
	/* A request failed, so all later ones are flushed. */
	bool failed;
	/* A failure of this end is expected: it may enter the error state. */
	bool may_fail;
	/* Its requests may exceed their retries, as the peer may not answer. */
	bool excused;
	/* Its requests may exceed their RNR retries. */
	bool may_rnr;
	/*
	 * broken: it must be replaced. seen_error: its process found it in the error
	 * state. closing: it is being destroyed.
	 */
	bool broken;
	bool seen_error;
	bool closing;
	/* Destroyed. No more completions are expected. */
	bool gone;
	/*
	 * The word at the peer that only this end's compare-and-swap requests change, its
	 * value, and whether the value is certain.
	 */
	struct buffer *word;
	u64 word_value;
	bool word_sure;
	/* A memory window of this end, which its peer uses. */
	u32 window_key;
	enum window_state window;
	struct buffer *window_buffer;
	/* Outstanding requests of the peer that use the window. */
	u32 window_users;
};

/* A process of the workload and its objects. */
struct actor {
	struct process *process;
	struct pool pool;
	u64 memory_used;
	struct queue *cq[2];
	struct srq *srq;
	/* Receives posted to the SRQ, and those that are complete. */
	u32 srq_posted, srq_done;
	struct counter *counter;
	struct random random;
	/* Number of consecutive rounds of its program without work. */
	u32 idle;
	/* Connections that it is re-establishing. */
	u32 repairing;
	/* Memory for chores: the next slot to try, and a bitmap of the slots in use. */
	u32 slot;
	u64 slots;
	/* A region that is registered and deregistered from time to time: its key, or 0. */
	u32 spare_key;
	u64 spare_at;
};

struct check_totals {
	u64 works, receives, completions, delivered, failed, flushed, lost;
	/*
	 * By chores: messages that matched a tag, multicast copies, frames received locally and
	 * remotely.
	 */
	u64 tagged, copies, frames, far_frames;
	u64 by_opcode[16];
	u64 by_status[VNET_WC_STATUS_MAX];
};

extern struct check_totals check_totals;
/*
 * A receive buffer contains only its own message. False if processes may stop or die inside the
 * firmware: then a message may be written to one receive, and delivered again to another.
 */
extern bool check_strict;

void check_reset(void);
struct end *check_end(struct qp *qp, struct actor *actor);
/* Record a request that is about to be posted. */
struct work *check_work(struct end *end);
/* Whether a request has 64-bit immediate data: if the lower half is odd. */
bool work_is_wide(const struct work *w);
struct receive *check_receive(struct end *end, struct srq *srq);
struct counter *check_counter_new(struct buffer *buffer, u32 additions);
/* The wr_id of requests and receives. */
static inline u64 work_wr_id(const struct work *w)
{
	return w->id << 1;
}

static inline u64 receive_wr_id(const struct receive *r)
{
	return r->id << 1 | 1;
}

/* sim.after_step: check the new completions of a node's NIC. */
void check_after_step(struct node *node);
/* The process has polled a completion: check and free the buffers of its receive. */
void check_polled(struct actor *actor, const struct wc *wc);
/* If the send queue is empty, its last unsignaled requests have succeeded. */
void check_silent(struct end *end);
/* A node was reset or killed: no more completions of its ends are expected. */
void check_lost_node(u32 node);
/* The same for one process. */
void check_lost_actor(const struct actor *actor);
/* An end was destroyed or reset: no more completions of it are expected. */
void check_close(struct end *end);
/* Whether all requests of an end have completed. */
bool check_is_complete(const struct end *end);
/* At the end of a run: check memory, counters and words. */
void check_final(struct actor **actors, u32 n);
/* Print the ends whose requests are not complete. */
void check_incomplete(void);

/*
 * All ends. The array is valid until the next end is created: other processes may create one
 * while the caller executes a command.
 */
struct end **check_ends(u32 *n);
/* An end by its index, at any time. */
struct end *check_end_at(u32 i);

#endif /* SIM_CHECK_H */
