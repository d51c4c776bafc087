/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The firmware's interface to its host: commands, doorbells, NIC processor, and recovery of dead
 * processes.
 *
 * Nothing here blocks. A command that needs a lock held by another returns NIC_BUSY. It has then
 * changed nothing, or can be repeated until it succeeds: the agent parks it and calls again.
 *
 * Callers: commands, nic_run() and nic_recover() are called by the agent only, commands one at a
 * time for each NIC. Doorbells, nic_idle() and events may be called by any thread of any process
 * that maps the NIC memory.
 *
 * The agent allocates numbers and queue memory, by tables of its own that no process can reach, and
 * passes them to the commands. Numbers are checked against the tables' sizes nevertheless.
 */
#ifndef NIC_H
#define NIC_H

#include "layout/memory.h"
#include "nic_platform.h"

#define NIC_ACK_ROWS 8

/* A process' view of a NIC, in the memory of that process. */
struct nic {
	/* NIC memory, as mapped in this process. */
	struct nic_header *hdr;
	/* Tables of NIC memory; nic_attach() checks the offsets once, and computes these. */
	struct nic_qp *qp;
	struct nic_cq *cq;
	struct nic_srq *srq;
	struct nic_mr *mr;
	struct nic_channel *channel;
	struct nic_row *row;
	u32 *row_hash;
	struct nic_endpoint *frame;
	struct nic_endpoint *backing;
	u32 *want;
	u64 *pending;
	u64 *made;
	u64 *async_qp;
	u64 *async_cq;
	u64 *async_srq;
	/* Copies of the header's values, so that memory corruption cannot change them. */
	u32 max_qp, max_cq, max_srq, max_mr, max_channel, max_row, max_frame;
	u32 qp_index_mask, mr_index_mask;
	u64 off_queue, queue_bytes;
	u64 stall_ns;
	/*
	 * Owner id that this process writes into locks (not 0), and its address space;
	 * NIC_SPACE_POINTER if it has none (the agent).
	 */
	u32 self;
	u32 space;
	/* QP to run after the current queue: nic_pend_next(). */
	u32 follow;
	/* Index of the next pending QP that has its turn. */
	u32 hand;
	/*
	 * Sweep of the NIC processor (processor/processor.c): QPs left, which QPs have turns, start
	 * time.
	 */
	u32 sweep_left;
	bool sweep_quick;
	bool sweep_more;
	u64 swept_at;
	/* The longest stretch that this view has noted: nic_stretch_note(). */
	u64 longest;
	/*
	 * The host's copies reach all regions, and processes enter by system calls. So no payload
	 * is left in a CQE for the receiver to copy, and each empty receive queue requests a
	 * doorbell.
	 */
	bool direct;
	/*
	 * The host's flag: not 0 while this process has a single thread. nic_attach() sets the
	 * pointer to a constant 0, for hosts that have no such flag.
	 */
	const char *one_thread;
	/* Number of regions whose pages plat_fetch() brings; NULL: none on this host. */
	const u32 *fetches;
	/* For the host's use. */
	void *host;

	/*
	 * Of the threads that receive frames by this view: rows with acknowledgements that this
	 * process delays, and since when; last check of timers. Approximate: the NIC processor
	 * handles what is lost.
	 */
	u32 ack_rows[NIC_ACK_ROWS];
	u32 ack_nrows;
	u64 ack_rows_since;
	u64 looked;
};

enum nic_result {
	NIC_OK = 0,
	/* A lock is held, or an operation is under way: call again. */
	NIC_BUSY,
	/* An argument or number is invalid, or the object is in the wrong state. */
	NIC_EINVAL,
	/* In use by something else (QPs of a CQ, windows of a region). */
	NIC_EINUSE,
	NIC_ENOMEM,
	NIC_EOPNOTSUPP,
	/* The host has no random bytes at present. */
	NIC_EAGAIN,
};

/* ------------------------------------------------------------ NIC memory */

/* Bytes of NIC memory for a configuration; 0: the configuration is invalid. */
u64 nic_memory_size(const struct nic_config *config);

/* Create an empty NIC in zeroed memory of this size. */
enum nic_result nic_format(void *memory, u64 size, const struct nic_config *config);

/*
 * Initialise *nic for memory that nic_format() has made. Checks magic, versions and offsets against
 * `size`. The caller sets self, space and host afterwards.
 */
enum nic_result nic_attach(struct nic *nic, void *memory, u64 size);

/* ------------------------------------------------------------- numbers */

/*
 * Free indices of one table, in the order in which they became free. In the host's own memory; the
 * host serialises calls.
 */
struct nic_pool {
	u32 *fifo;
	u32 places, free, head;
	/* Upper bound of how many of the last indices in the FIFO have been in use before. */
	u32 used;
};

/* All indices in [first, count) are free. fifo has room for count indices. */
void nic_pool_init(struct nic_pool *pool, u32 *fifo, u32 first, u32 count);
/* Take the index that has been free for longest; NIC_NONE if there is none. */
u32 nic_pool_take(struct nic_pool *pool);
/*
 * Take a random index: one that was never in use, or one of the half that has been free for
 * longest. So a freed index stays unused until as many others have been freed as the other half
 * has. NIC_ENOMEM: no index is free; NIC_EAGAIN: no random bytes.
 */
enum nic_result nic_pool_draw(struct nic *nic, struct nic_pool *pool, u32 *index);
/* Take this index; false if it is not free. Searches the whole pool. */
bool nic_pool_claim(struct nic_pool *pool, u32 index);
void nic_pool_put(struct nic_pool *pool, u32 index);

/*
 * Draw a number for a new object with this index: all other bits are random. `last` is the number
 * of the previous object with this index (0: none); the bits above the index differ from it.
 * NIC_EAGAIN: no random bytes.
 */
enum nic_result nic_qpn_draw(struct nic *nic, u32 index, u32 last, u32 *qpn);
enum nic_result nic_srqn_draw(struct nic *nic, u32 index, u32 last, u32 *srqn);
enum nic_result nic_key_draw(struct nic *nic, u32 index, u32 last, u32 *key);

/* The table index of a number, whether the number is in use or not. */
static inline u32 nic_qpn_index(const struct nic *nic, u32 qpn)
{
	return qpn & nic->qp_index_mask;
}

static inline u32 nic_srqn_index(const struct nic *nic, u32 srqn)
{
	return (srqn - 1) & (nic->max_srq - 1);
}

static inline u32 nic_key_index(const struct nic *nic, u32 key)
{
	return key >> NIC_KEY_TAG_BITS & nic->mr_index_mask;
}

/*
 * First QP index >= i at which a QP was ever created; >= max_qp: none. That QP may have been
 * destroyed since.
 */
u32 nic_qp_next(const struct nic *nic, u32 i);

/* --------------------------------------------------------------- commands */

struct nic_cq_params {
	u64 ring;
	u32 entries;
	/* enum vnet_create_cq_flags */
	u32 flags;
	/* Channel's index, or NIC_NONE. */
	u32 channel;
	u64 user_handle;
};

/* cqn is index + 1. The ring is zeroed queue memory. */
enum nic_result nic_cq_create(struct nic *nic, u32 cqn, const struct nic_cq_params *p);
/* Moves the unpolled entries to the new ring; NIC_EINVAL if they do not fit. */
enum nic_result nic_cq_resize(struct nic *nic, u32 cqn, u64 ring, u32 entries);
/*
 * Moderation: a completion event waits for `count` entries or `period` microseconds, whichever
 * comes first; 0: without that condition.
 */
enum nic_result nic_cq_moderate(struct nic *nic, u32 cqn, u32 count, u32 period);
/*
 * The caller ensures that no QP uses the CQ. Unread events are removed; *events: number of
 * completion events that were read during the CQ's life.
 */
enum nic_result nic_cq_destroy(struct nic *nic, u32 cqn, u32 *events);

enum nic_result nic_channel_create(struct nic *nic, u32 channel, u32 generation);
enum nic_result nic_channel_destroy(struct nic *nic, u32 channel);
/*
 * Take the oldest event of a channel, and return its CQ's user_handle. NIC_EINVAL: there is none;
 * NIC_BUSY: the channel is locked. If it was the last one, drain(arg) is called with the lock held,
 * to make the channel's descriptor not readable. Called by any process.
 */
enum nic_result nic_channel_take(struct nic *nic, u32 channel, u64 *user_handle,
				 void (*drain)(void *arg), void *arg);
/* Can nic_channel_take() take an event now? It reads two words, for a spin before a sleep. */
bool nic_channel_has_event(const struct nic *nic, u32 channel);
/*
 * An event of a channel that has unread ones notifies the waiters again, which edge-triggered
 * epoll needs (epoll(7)), and which costs a system call. A reader that blocks in read() until an
 * event comes does not need it: it says so before it waits. nic_channel_needs_edges() requires the
 * notification for ever. nic_channel_needs_signals() also requires it to raise a signal, as
 * fcntl(2), O_ASYNC, promises: then each event notifies the waiters like the first one. Called by
 * any process.
 */
void nic_channel_reader_blocks(struct nic *nic, u32 channel, bool blocks);
void nic_channel_needs_edges(struct nic *nic, u32 channel);
void nic_channel_needs_signals(struct nic *nic, u32 channel);
/*
 * After the destruction of a CQ and its unread events: if the channel has no others, drain(arg) is
 * called with the lock held, to make its descriptor not readable. Called by any process.
 */
enum nic_result nic_channel_clear_stale(struct nic *nic, u32 channel, void (*drain)(void *arg),
					void *arg);

struct nic_srq_params {
	u64 ring;
	u32 entries;
	u8 stride_shift;
	u8 max_sge;
	u32 pdn;
	u32 space;
	/* XRC: domain (not 0) and CQ. Tag matching: CQ. Else 0. */
	u32 xrcdn;
	u32 cqn;
	/* Tag matching: number of tags (0: none), offset of struct nic_tm, ring of operations. */
	u32 tm_tags;
	u64 tm;
	u64 tm_ops;
	u32 tm_ops_entries;
};

/* srqn - 1 has the index in its low bits. The memory for tag matching is zeroed queue memory. */
enum nic_result nic_srq_create(struct nic *nic, u32 srqn, const struct nic_srq_params *p);
enum nic_result nic_srq_set_limit(struct nic *nic, u32 srqn, u32 limit);
enum nic_result nic_srq_get_limit(struct nic *nic, u32 srqn, u32 *limit);
enum nic_result nic_srq_destroy(struct nic *nic, u32 srqn);

struct nic_mr_params {
	/* Key with its tag; it contains the index of the entry. */
	u32 key;
	/* enum nic_mr_kind */
	u8 kind;
	/* NIC_MR_FILE, NIC_MR_CHECK_PAGES. */
	u8 flags;
	u32 access;
	u32 pdn;
	u64 iova;
	u64 addr;
	u64 length;
	u32 space;
};

/* Regions; windows, and regions that requests register later (length 0). */
enum nic_result nic_mr_create(struct nic *nic, const struct nic_mr_params *p);
/*
 * Invalidates the key at once. Then returns NIC_BUSY until no operation that began before can
 * access the memory. NIC_EINUSE: windows are bound to the region (nothing has changed). A bound
 * window is unbound.
 */
enum nic_result nic_mr_destroy(struct nic *nic, u32 key);

struct nic_qp_params {
	u32 qpn;
	/* enum nic_qp_type */
	u8 type;
	u8 sq_sig_all;
	u8 sq_stride_shift;
	u8 rq_stride_shift;
	u8 max_send_sge;
	u8 max_recv_sge;
	u16 max_inline;
	u32 pdn;
	u64 sq_ring;
	u32 sq_entries;
	/* With an SRQ: 0 entries. */
	u64 rq_ring;
	u32 rq_entries;
	u32 send_cqn;
	u32 recv_cqn;
	/* SRQ number, or 0. */
	u32 srqn;
	/*
	 * XRC target: its domain, not 0. It has no CQs and no receive queue, no requests are posted
	 * to its send queue, and no process owns it.
	 */
	u16 xrcdn;
	u32 space;
	u32 owner_pid;
	/* The kernel posts to it: its requests may register regions. */
	bool privileged;
	/*
	 * Datagrams: return to sender. A request whose message is not delivered fails with the
	 * reason, and the queue pair stays in RTS.
	 */
	bool returns;
};

/* Creates the QP in RESET. */
enum nic_result nic_qp_create(struct nic *nic, const struct nic_qp_params *p);
/*
 * mask: enum ibv_qp_attr_mask; cur_state is used with IBV_QP_CUR_STATE. Checks the transition by
 * the tables of the InfiniBand specification (vol 1, 10.3 and 11.2.5.2): required and optional
 * attributes for each type and pair of states, and the values. NIC_EINVAL: nothing has changed.
 */
enum nic_result nic_qp_modify(struct nic *nic, u32 qpn, const struct nic_qp_attr *attr, u32 mask,
			      u8 cur_state, u8 new_state);
/* Returns a consistent copy of the attributes, and the state. */
enum nic_result nic_qp_query(struct nic *nic, u32 qpn, struct nic_qp_attr *attr, u8 *state,
			     u8 *sq_draining);
/*
 * Stops the QP (no more execution or delivery), ends its outstanding packets, and frees its number.
 * Requests that are not complete are discarded without a completion. NIC_BUSY: a thread executes
 * the QP or delivers to it, or a one-sided operation of its peer is under way.
 */
enum nic_result nic_qp_destroy(struct nic *nic, u32 qpn);
/* Add a QP's counters to a sum. The caller ensures that the QP is not replaced meanwhile. */
void nic_counters_add(struct nic_qp_counters *sum, const struct nic_qp_counters *c);

/*
 * Attach a UD QP to a multicast group, until it is detached or destroyed. NIC_EINUSE: it is
 * attached already; detach: NIC_EINVAL: it is not attached.
 */
enum nic_result nic_mcast_attach(struct nic *nic, u32 qpn, const u8 *gid);
enum nic_result nic_mcast_detach(struct nic *nic, u32 qpn, const u8 *gid);
/*
 * Does the QP have outstanding requests with copies to other NICs (multicast, Ethernet frames)?
 * Destroying the QP discards them. Programs such as mckey destroy a QP right after posting, because
 * hardware has sent everything by then. So a command that destroys the QP is delayed for up to
 * NIC_MCAST_LINGER_MS while this returns true. Always false for a QP with a rate limit, which may
 * delay frames for any time.
 */
#define NIC_MCAST_LINGER_MS 500
bool nic_mcast_is_pending(struct nic *nic, u32 qpn);

/*
 * Builds a flow from specifications. Initially, `named` and all fields of *flow that specifications
 * set are zero.
 */
struct nic_flow_specs {
	struct nic_flow *flow;
	u32 named;
};

/*
 * Match frames that have a header of this type (enum nic_flow_spec_type). filters: `length` bytes,
 * value and mask of half that size each, in the format of the kernel's filters (struct
 * ib_uverbs_flow_eth_filter and others), in network order. Fields behind the end of a short filter
 * are not compared. NIC_EOPNOTSUPP: a long filter has a mask for unknown fields, or the firmware
 * does not parse this header. NIC_EINVAL: unknown type, or the header was named before, or one that
 * excludes it.
 */
enum nic_result nic_flow_match(struct nic_flow_specs *specs, u32 type, const u8 *filters,
			       u32 length);
/* Tag for completions, 24 bits; NIC_EINVAL: it is larger, or was set before. */
enum nic_result nic_flow_mark(struct nic_flow_specs *specs, u32 tag);

/*
 * Create or destroy a flow: Ethernet frames that match *flow go to its raw packet QP, or with
 * flow->rss (nic_rss_create()) to the work queues named there. The agent allocates index <
 * NIC_MAX_FLOWS and counter < NIC_MAX_FLOW_COUNTERS; nic_flow_counter_reset() sets a counter to 0.
 */
enum nic_result nic_flow_create(struct nic *nic, u32 index, const struct nic_flow *flow);
enum nic_result nic_flow_destroy(struct nic *nic, u32 index);
enum nic_result nic_flow_counter_reset(struct nic *nic, u32 counter);
enum nic_result nic_flow_counter_read(struct nic *nic, u32 counter, struct nic_flow_counter *out);
/* Store *rss in queue memory, which the NIC uses from then on. */
enum nic_result nic_rss_create(struct nic *nic, u64 offset, const struct nic_rss *rss);

/* -------------------------------------------------------------- data path */

/* QP qpn has new send requests: execute as many as possible. */
void nic_send_doorbell(struct nic *nic, u32 qpn);
/*
 * The receive queue, which requested a doorbell, has new receives. Wakes the NIC processor, which
 * executes the senders that wait for a receive. Flushes the receives if the QP is in error.
 */
void nic_recv_doorbell(struct nic *nic, u32 num, bool is_srq);
/*
 * The SRQ has tag operations that its process must execute, or may have. If a lock is held by
 * another, the NIC processor executes them.
 */
void nic_tm_doorbell(struct nic *nic, u32 srqn);
/*
 * The CQ was armed while it has unpolled entries: make the event, if one of them is of the kind for
 * which it is armed, and no event of the CQ is unread.
 */
void nic_cq_doorbell(struct nic *nic, u32 cqn);
/*
 * The host of a process could not execute plat_channel_ready(): the NIC processor does it. Later
 * events would not wake the waiter, because only the first unread one makes the channel readable.
 */
void nic_channel_later(struct nic *nic, u32 channel);
/* A process polled an empty CQ: try its pending QPs. */
void nic_idle(struct nic *nic);
/* The process could not copy a payload (vnet_cqe.payload_len) to the receive: the QP fails. */
void nic_recv_fault(struct nic *nic, u32 qpn);

/* ------------------------------------------------------------------- link */

/* What the link knows about an arrived frame. */
struct nic_proof {
	/* Derived from key and salt; a sender with another key cannot have the same value. */
	u64 sender[2];
	u64 number;
	/* Number of the key. */
	u32 key;
	/* The frame had a valid MAC; otherwise the fields above are not set. */
	bool given;
	/* The frame was sent on this machine. */
	bool local;
};

/*
 * Process a frame of `length` bytes from address `from`. Called by any thread of any process of
 * this NIC. The frame is 8-aligned, owned by the caller, and may be written to. Its contents are
 * not trusted: an invalid frame is counted and dropped.
 */
void nic_receive(struct nic *nic, const struct nic_address *from, void *frame, u32 length,
		 const struct nic_proof *proof);
/* Store the CRC of a frame (crc is 0); for links that send it without a MAC. */
void nic_frame_set_crc(void *frame, u32 length);
/* Check a frame's CRC; for hosts without keys, where the CRC stands for the MAC. */
bool nic_frame_crc_ok(void *frame, u32 length);
/*
 * A frame arrived under a key that this NIC does not have: answer a HELLO with REFUSE, so that its
 * sender need not wait.
 */
void nic_refuse_caller(struct nic *nic, const struct nic_address *from, const void *frame,
		       u32 length);
/*
 * The link has no more frames for now: send owed acknowledgements, or delay them shortly to travel
 * with data or with others. true: some are delayed, and an agent must call nic_run(), which says
 * until when.
 */
bool nic_receive_end(struct nic *nic);
/*
 * Call the NIC with this GID, so that it gets copies of multicast datagrams and Ethernet frames. No
 * effect if it is known already, or has no address.
 */
void nic_peer_call(struct nic *nic, const u8 *gid);
/* Is another NIC known, so that frames may arrive? */
bool nic_is_wired(const struct nic *nic);
/* The addresses of the link have changed, or a new incarnation begins: all rows start again. */
void nic_link_renew(struct nic *nic, u64 incarnation);
/*
 * The result of plat_same_key_group() or plat_resolve() may have changed: restart rows whose peer
 * cannot be at its address, and look their addresses up again.
 */
void nic_link_check(struct nic *nic);

/* ---------------------------------------------------------- NIC processor */

/*
 * One round of the NIC processor: pending QPs have turns of at most `budget` requests each, then
 * timers and events that are due. A round is at most one stretch (NIC_STRETCH_REQUESTS); the next
 * one continues with the next QP. Returns whether anything is still pending. *next is then the time
 * of the nearest timer (at most 1 ms away), or not later than now if a QP can continue at once.
 */
bool nic_run(struct nic *nic, u32 budget, u64 *next);
/* The configured budget, or the default if the stored value is out of range (1 to 4096). */
u32 nic_budget(const struct nic *nic);
/*
 * Is there work for nic_run()? The NIC processor calls this before it sleeps, after a store to
 * processor_sleeps and a full barrier: a thread that added work before that store found the
 * processor awake, and did not kick it.
 */
bool nic_has_work(const struct nic *nic);

/* An asynchronous event. nic_async_take() takes one that was raised; false: there is none. */
struct nic_async {
	/* 'q' QP, 'c' CQ, 's' SRQ */
	char kind;
	/* qpn, cqn or srqn */
	u32 num;
	/* enum nic_event */
	u32 event;
};

bool nic_async_take(struct nic *nic, struct nic_async *out);

/*
 * Fault injection: raise an event. NIC_EINVAL: there is no such object. Events that come with an
 * error make the QP fail (nic_qp_error()). NIC_BUSY: a lock is held, call again.
 */
enum nic_result nic_async_raise(struct nic *nic, const struct nic_async *event);
/* Make a QP fail with an event; no effect in RESET and ERR. */
enum nic_result nic_qp_error(struct nic *nic, u32 qpn, enum nic_event event);
/* Fault injection: while set, messages find no receive. */
void nic_starve(struct nic *nic, bool starves);

/* ------------------------------------------------------------------ death */

/*
 * Recover from the death of the process with this owner id: finish or undo its operations, and
 * release its locks. QPs of its address space become silent (ERR, peers get no answer). Idempotent.
 */
void nic_recover(struct nic *nic, u32 owner, u32 space);

/*
 * The agent is dead, as a client has noticed: flush this process' QPs, so that their completions
 * arrive. May be called from several threads.
 */
void nic_flush_own(struct nic *nic);

/*
 * Begin a grace period, after an object can no longer be found. Returns the ticket to wait with.
 * For agents that revoke an address space.
 */
u32 nic_grace_begin(struct nic *nic);
/*
 * Have all operations ended that began before the ticket, and may use memory of protection domain
 * pdn (NIC_NONE: of any)?
 */
bool nic_grace_over(struct nic *nic, u32 ticket, u32 pdn);

/* Owner of the first lock that delays the destruction of the QP; 0: none. */
u32 nic_qp_lock_owner(struct nic *nic, u32 qpn);

#endif /* NIC_H */
