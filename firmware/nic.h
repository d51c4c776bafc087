/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The firmware's face: commands of the control path, doorbells of the data
 * path, the NIC processor, and the repair of what a dead process left.
 *
 * Nothing here blocks. A command that needs a lock which somebody else holds
 * answers NIC_BUSY and has changed nothing, or may be repeated until it
 * succeeds: the agent parks it and calls again. Commands are called by the
 * agent alone, one at a time for a NIC; doorbells, nic_idle() and events by any
 * thread of any process that maps the NIC memory; nic_run() and nic_recover()
 * by the agent.
 *
 * The agent owns allocation: it hands out numbers and queue memory by tables
 * of its own, which no process can reach, and tells the firmware what to put
 * where. Numbers are validated against the table's size all the same.
 */
#ifndef NIC_H
#define NIC_H

#include "layout/memory.h"
#include "nic_platform.h"

#define NIC_TOUCHED 8

/* A process' view of a NIC: not in NIC memory. */
struct nic {
	/* NIC memory as mapped here. */
	struct nic_header *hdr;
	/* Tables, computed by nic_attach() from offsets checked once. */
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
	/* Copies, so that scribbles over the header cannot move them. */
	u32 max_qp, max_cq, max_srq, max_mr, max_channel, max_row, max_frame;
	u32 qp_index_mask, mr_index_mask;
	u64 off_queue, queue_bytes;
	u64 stall_ns;
	/*
	 * Owner id that this process writes into locks (not 0), and its address
	 * space; NIC_SPACE_POINTER for a host without one (the agent).
	 */
	u32 self;
	u32 space;
	/* QP to be run after the queue at hand: nic_follow(). */
	u32 follow;
	/* Index of the QP that is next to have its turn, of those that are pending. */
	u32 hand;
	/* The NIC processor's sweep (processor/wait.c): QPs that are left, whose turns; since when. */
	u32 sweep_left;
	bool sweep_quick;
	bool sweep_more;
	u64 swept_at;
	/* The longest stretch of this view that was noted: nic_stretch_note(). */
	u64 longest;
	/*
	 * The host's copies reach every region, and processes enter by a trap: so
	 * no message waits in a completion queue entry for its receiver to place
	 * it, and a receiver is asked to tell when it has posted a receive.
	 */
	bool direct;
	/* How many regions have pages that plat_fetch() brings; NULL: the host has none. */
	const u32 *fetches;
	/* The host's own. */
	void *host;

	/*
	 * Of the thread, or threads, that use this view for frames: rows that are
	 * owed answers which this process keeps back, and since when; when it last
	 * looked at timers. Approximate: the NIC processor looks after all of it.
	 */
	u32 touched[NIC_TOUCHED];
	u32 ntouched;
	u64 touched_since;
	u64 looked;
};

enum nic_result {
	NIC_OK = 0,
	/* A lock is held, or an operation under way: call again. */
	NIC_BUSY,
	/* An argument or number is wrong; or not in this state. */
	NIC_EINVAL,
	/* In use by something else (QPs of a CQ, windows of a region). */
	NIC_EINUSE,
	NIC_ENOMEM,
	NIC_EOPNOTSUPP,
	/* The host has no random bytes at present. */
	NIC_EAGAIN,
};

/* ------------------------------------------------------------ NIC memory */

/* Bytes of NIC memory that a configuration needs; 0 if it is not possible. */
u64 nic_memory_size(const struct nic_config *config);

/* Make an empty NIC in zeroed memory of that size. */
enum nic_result nic_format(void *memory, u64 size, const struct nic_config *config);

/*
 * Fill *nic for memory that nic_format() made, checking magic, versions and
 * offsets against `size`. The caller sets self, space and host afterwards.
 */
enum nic_result nic_attach(struct nic *nic, void *memory, u64 size);

/* ------------------------------------------------------------- numbers */

/*
 * Free indices of one table, in the order in which they became free. In the host's own
 * memory. The host serialises calls.
 */
struct nic_pool {
	u32 *fifo;
	u32 places, free, head;
	/* Of the youngest free indices, at most so many have been in use before. */
	u32 used;
};

/* All indices in [first, count) are free. fifo has room for count indices. */
void nic_pool_init(struct nic_pool *pool, u32 *fifo, u32 first, u32 count);
/* Take the index that has been free for longest; NIC_NONE if there is none. */
u32 nic_pool_take(struct nic_pool *pool);
/*
 * Take a random index that was never in use, or that is in the half that has been free
 * for longest. So a freed index stays unused until as many others have been freed as
 * there are in the other half. NIC_ENOMEM: no index is free; NIC_EAGAIN: no random bytes.
 */
enum nic_result nic_pool_draw(struct nic *nic, struct nic_pool *pool, u32 *index);
/* Take this index; false if it is not free. Searches the whole pool. */
bool nic_pool_claim(struct nic_pool *pool, u32 index);
void nic_pool_put(struct nic_pool *pool, u32 index);

/*
 * A new number for the object with this index: all other bits are random. `last` is the
 * number of the index's previous object (0: there was none); the new number has other
 * bits above the index. NIC_OK, or NIC_EAGAIN: no random bytes.
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
 * The first QP index >= i that has ever been in use; max_qp or more if there is none.
 * The queue pair may have been destroyed since.
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

/* CQ numbers are index + 1. The ring is zeroed queue memory. */
enum nic_result nic_cq_create(struct nic *nic, u32 cqn, const struct nic_cq_params *p);
/* Moves unpolled entries; NIC_EINVAL if they do not fit. */
enum nic_result nic_cq_resize(struct nic *nic, u32 cqn, u64 ring, u32 entries);
/*
 * Completion events wait for `count` entries or `period` microseconds, whatever comes
 * first; 0: not for that.
 */
enum nic_result nic_cq_moderate(struct nic *nic, u32 cqn, u32 count, u32 period);
/*
 * The caller made sure that no QP uses it. Unread events are removed;
 * *events: how many were read in its life (completion events).
 */
enum nic_result nic_cq_destroy(struct nic *nic, u32 cqn, u32 *events);

enum nic_result nic_channel_create(struct nic *nic, u32 channel, u32 generation);
enum nic_result nic_channel_destroy(struct nic *nic, u32 channel);
/*
 * Take the oldest event: *user_handle of its CQ. NIC_EINVAL if there is none,
 * NIC_BUSY if the channel's lock cannot be had. When it was the last one, the
 * channel must stop being readable: then drain(arg) has been called to do
 * that, with the lock held. Called by any process.
 */
enum nic_result nic_channel_take(struct nic *nic, u32 channel, u64 *user_handle,
				 void (*drain)(void *arg), void *arg);
/*
 * A CQ was destroyed, and its unread events with it: where the channel has no
 * others, it must stop being readable: then drain(arg) has been called, with
 * the lock held. Called by any process.
 */
enum nic_result nic_channel_settle(struct nic *nic, u32 channel, void (*drain)(void *arg),
				   void *arg);

struct nic_srq_params {
	u64 ring;
	u32 entries;
	u8 stride_shift;
	u8 max_sge;
	u32 pdn;
	u32 space;
	/* Of extended reliable connections: domain, not 0, and CQ; else 0. */
	u32 xrcdn;
	u32 cqn;
	/* Tag matching, of so many tags (0: none): struct nic_tm, ring of operations. */
	u32 tm_tags;
	u64 tm;
	u64 tm_ops;
	u32 tm_ops_entries;
};

/*
 * SRQ numbers less one have the index in their low bits. What a queue that matches needs
 * is zeroed queue memory.
 */
enum nic_result nic_srq_create(struct nic *nic, u32 srqn, const struct nic_srq_params *p);
enum nic_result nic_srq_set_limit(struct nic *nic, u32 srqn, u32 limit);
enum nic_result nic_srq_get_limit(struct nic *nic, u32 srqn, u32 *limit);
enum nic_result nic_srq_destroy(struct nic *nic, u32 srqn);

struct nic_mr_params {
	/* Full key, tag included; its index names the entry. */
	u32 key;
	/* enum nic_mr_kind */
	u8 kind;
	/* NIC_MR_FILE or 0. */
	u8 flags;
	u32 access;
	u32 pdn;
	u64 iova;
	u64 addr;
	u64 length;
	u32 space;
};

/* Memory regions; windows and regions to be registered later (length 0). */
enum nic_result nic_mr_create(struct nic *nic, const struct nic_mr_params *p);
/*
 * Invalidates at once, then NIC_BUSY until no operation that began before can
 * still touch the memory. NIC_EINUSE for a region with windows bound in it
 * (nothing changed). Windows of type 1 and 2 are unbound by this.
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
	 * Target of extended reliable connections: its domain, not 0. It has no CQs and
	 * no receive queue, nobody posts to its send queue, and it is no process'.
	 */
	u16 xrcdn;
	u32 space;
	u32 owner_pid;
	/* Posted to by the kernel itself: it may register regions by requests. */
	bool privileged;
	/*
	 * Of datagrams: those that cannot be delivered go back to the sender, by their
	 * completion's status, and its queue pair goes on.
	 */
	bool returns;
};

/* The QP is in RESET. */
enum nic_result nic_qp_create(struct nic *nic, const struct nic_qp_params *p);
/*
 * mask: enum ibv_qp_attr_mask bits; cur_state counts with IBV_QP_CUR_STATE.
 * Checks the transition against the table of the InfiniBand specification
 * (vol 1, 10.3 and 11.2.5.2): required and optional attributes per type and
 * pair of states, and each value. NIC_EINVAL has changed nothing.
 */
enum nic_result nic_qp_modify(struct nic *nic, u32 qpn, const struct nic_qp_attr *attr, u32 mask,
			      u8 cur_state, u8 new_state);
/* A consistent copy; *state is the current state, *sq_draining as queried. */
enum nic_result nic_qp_query(struct nic *nic, u32 qpn, struct nic_qp_attr *attr, u8 *state,
			     u8 *sq_draining);
/* Stops it (nobody executes it or delivers to it afterwards) and frees. */
enum nic_result nic_qp_destroy(struct nic *nic, u32 qpn);
/* What it has counted is added to a sum; who asks knows that no other begins there meanwhile. */
void nic_counters_add(struct nic_qp_counters *sum, const struct nic_qp_counters *c);

/*
 * The (UD) QP gets what is sent to the group; NIC_EINUSE: it does already. Until it
 * is detached, NIC_EINVAL if it is not there, or destroyed.
 */
enum nic_result nic_mcast_attach(struct nic *nic, u32 qpn, const u8 *gid);
enum nic_result nic_mcast_detach(struct nic *nic, u32 qpn, const u8 *gid);
/*
 * It has requests to groups on other NICs, or frames, that have not ended: who destroys it
 * takes them away. Programs (mckey) do that as soon as they have posted: hardware has sent
 * it all by then. So who is asked to destroy it lets it stay for NIC_MCAST_LINGER_MS at
 * most, while this is so. Not with a rate limit: that holds frames back for as long as it
 * likes.
 */
#define NIC_MCAST_LINGER_MS 500
bool nic_mcast_is_under_way(struct nic *nic, u32 qpn);

/*
 * A flow that is made of specifications: at first all of *flow that they set is zero, as
 * is what headers they have named.
 */
struct nic_flow_specs {
	struct nic_flow *flow;
	u32 named;
};

/*
 * Its frames have a header of this type (enum nic_flow_spec_type), with the fields of a
 * value where a mask has ones: `length` bytes are half the one and half the other, each in
 * the form of the kernel's filters (struct ib_uverbs_flow_eth_filter and others), in network
 * order. Fields that a short one lacks are free; NIC_EOPNOTSUPP: a long one has a mask for
 * fields that are not known, or the header is of a kind that no frame is looked at for.
 * NIC_EINVAL: there is no such type, or the header was named, or one that excludes it.
 */
enum nic_result nic_flow_match(struct nic_flow_specs *specs, u32 type, const u8 *filters,
			       u32 length);
/* Completions of its frames say this tag, of 24 bits; NIC_EINVAL: it has more, or comes twice. */
enum nic_result nic_flow_mark(struct nic_flow_specs *specs, u32 tag);

/*
 * Ethernet frames that fit *flow are for its QP, of raw packets; with flow->rss, which
 * nic_rss_create() made, for the work queues named there. index < NIC_MAX_FLOWS and
 * counter < NIC_MAX_FLOW_COUNTERS are the agent's to give; that is 0 from then on.
 */
enum nic_result nic_flow_create(struct nic *nic, u32 index, const struct nic_flow *flow);
enum nic_result nic_flow_destroy(struct nic *nic, u32 index);
enum nic_result nic_flow_counter_reset(struct nic *nic, u32 counter);
enum nic_result nic_flow_counter_read(struct nic *nic, u32 counter, struct nic_flow_counter *out);
/* Queue memory of sizeof(*rss) is the NIC's from then on. */
enum nic_result nic_rss_create(struct nic *nic, u64 offset, const struct nic_rss *rss);

/* -------------------------------------------------------------- data path */

/* "QP qpn has new send work": runs it as far as it goes. */
void nic_send_doorbell(struct nic *nic, u32 qpn);
/* "This receive queue, for which a sender waits, has new receives." */
void nic_recv_doorbell(struct nic *nic, u32 num, bool is_srq);
/* "This SRQ has new tag operations", or may still have them. */
void nic_tm_doorbell(struct nic *nic, u32 srqn);
/*
 * "This CQ is armed, and has unpolled entries": they make the event, if they are such as it
 * is armed for and no event of it is unread.
 */
void nic_cq_doorbell(struct nic *nic, u32 cqn);
/* A process polled an empty CQ: run what waits of its own QPs. */
void nic_idle(struct nic *nic);
/* The process could not place a payload (vnet_cqe.payload_len): QP to error. */
void nic_recv_fault(struct nic *nic, u32 qpn);

/* ------------------------------------------------------------------- link */

/* What a link has found about a frame that arrived. */
struct nic_proof {
	/* Of the key and the salt; who has another key cannot make it. */
	u64 sender[2];
	u64 number;
	/* The key's number. */
	u32 key;
	/* A MAC has proven that it is as it was sent; false: the above is nothing. */
	bool given;
	/* It has not left this machine. */
	bool local;
};

/*
 * A frame of `length` bytes came from `from`; by any thread of any process of
 * this NIC. The frame is 8-aligned and the caller's own, and may be written to.
 * Whatever it contains: a frame that is not right is counted and dropped.
 * proof: what the link has found about it.
 */
void nic_receive(struct nic *nic, const struct nic_address *from, void *frame, u32 length,
		 const struct nic_proof *proof);
/* The CRC of a frame that has none (crc is 0): by a link that gives it no MAC. */
void nic_frame_sum(void *frame, u32 length);
/* Is its CRC right? By a host without keys, where a CRC stands for the MAC. */
bool nic_frame_is_whole(void *frame, u32 length);
/*
 * A frame came from `from` that is sealed with a key which there is not: if it is a call, it
 * is refused, so that its sender need not wait.
 */
void nic_refuse_caller(struct nic *nic, const struct nic_address *from, const void *frame,
		       u32 length);
/*
 * The link has no more frames for the moment: acknowledgements that are owed go
 * out, or are kept for a little while to travel with data, or with others.
 * true: some are kept, and an agent has nic_run() say until when.
 */
bool nic_receive_end(struct nic *nic);
/*
 * The NIC with this GID gets copies of what is sent to groups, and of frames, and answers to
 * a call: nothing where it is known, or there is no way to it.
 */
void nic_meet(struct nic *nic, const u8 *gid);
/* Whether frames may be expected: some other NIC is known. */
bool nic_is_wired(const struct nic *nic);
/*
 * The link's names: what the port of this NIC can be reached by has changed, or
 * a new life begins: all peers are met anew.
 */
void nic_link_renew(struct nic *nic, u64 incarnation);
/*
 * Which nodes are of one group (plat_same_key_group()) has changed: peers that are where they
 * cannot be are met anew.
 */
void nic_link_check(struct nic *nic);

/* ---------------------------------------------------------- NIC processor */

/*
 * One round of the NIC processor: pending endpoints have their turn, one after the other,
 * of at most `budget` work requests each, then timers and events that are due. A round is
 * at most a stretch (NIC_STRETCH_REQUESTS); the next begins with the endpoint whose turn
 * it would have been. Answers whether anything is still pending; *next is then the clock
 * time of the nearest timer (at most 1 ms away), or not after the present time if there
 * are endpoints that could go on at once.
 */
bool nic_run(struct nic *nic, u32 budget, u64 *next);
/* The budget that is set: 1 to 4096, whatever somebody has written there. */
u32 nic_budget(const struct nic *nic);
/*
 * Is there something that nic_run() has to look at? Who runs it looks before sleeping,
 * after it has said so in processor_sleeps (a full barrier between): whoever has found
 * it awake did not wake it.
 */
bool nic_has_work(const struct nic *nic);

/*
 * An asynchronous event that was raised, removed from its object:
 * false when there is none.
 */
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
 * Faults on purpose. An event of an object that is there (NIC_EINVAL: it is not),
 * whatever else it tells; events that come with an error have the QP fail
 * (nic_qp_error()). NIC_BUSY: a lock is held, try again.
 */
enum nic_result nic_async_raise(struct nic *nic, const struct nic_async *event);
/* A QP fails, and its owner hears why; in RESET and in error nothing happens. */
enum nic_result nic_qp_error(struct nic *nic, u32 qpn, enum nic_event event);
/* Until it is false again, whoever looks for a receive finds none. */
void nic_starve(struct nic *nic, bool starves);

/* ------------------------------------------------------------------ death */

/*
 * The process with this owner id is dead: finish or undo what it was doing,
 * and release its locks. QPs of its address space fall silent (state error,
 * peers get no answer). Idempotent.
 */
void nic_recover(struct nic *nic, u32 owner, u32 space);

/*
 * The agent is dead, as seen by a client: flush this process' own QPs, so that
 * its completions come. Safe to call from several threads.
 */
void nic_flush_own(struct nic *nic);

/*
 * Grace periods, for agents that take an address space away. After something
 * was made unfindable: the ticket to wait with.
 */
u32 nic_grace_begin(struct nic *nic);
/*
 * Whether no operation that began before the ticket can still be under way, of
 * those that may use memory of protection domain pdn; NIC_NONE: of any.
 */
bool nic_grace_over(struct nic *nic, u32 ticket, u32 pdn);

/* First lock holder that stands in the way of destroying the QP; 0: none. */
u32 nic_qp_holder(struct nic *nic, u32 qpn);

#endif /* NIC_H */
