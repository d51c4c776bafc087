/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Layout of NIC memory: all state of a NIC, in one region, named by index or
 * offset. Several processes map it at different addresses, so it holds no
 * pointers. It is nobody's ABI: agents and firmware are built together, and
 * NIC_LAYOUT_VERSION keeps an old agent from a new memory.
 *
 * Who writes what is said per group; "under X" means with that lock held.
 */
#ifndef NIC_MEMORY_H
#define NIC_MEMORY_H

#include "layout/limits.h"
#include "layout/frames.h"
#include "layout/wire.h"
#include "vnet-abi.h"
#include "vnet_hw.h"
#include "vnet_wire.h"

#define NIC_MAGIC 0x31303074656e76ull /* "vnet001" */
#define NIC_LAYOUT_VERSION 10

/*
 * Type of a QP: the values of enum ibv_qp_type. The two ends of an extended reliable
 * connection are of different types, and its receives are those of a shared queue
 * that each request names. A work queue is a QP that only receives: no value of ibv's.
 */
enum nic_qp_type {
	NIC_QPT_RC = 2,
	NIC_QPT_UC = 3,
	NIC_QPT_UD = 4,
	NIC_QPT_WQ = 5,
	NIC_QPT_RAW_PACKET = 8,
	NIC_QPT_XRC_INI = 9,
	NIC_QPT_XRC_TGT = 10,
};

/* In nic_qp.srqn: each request names the shared receive queue. */
#define NIC_SRQ_NAMED NIC_NONE
/* In nic_qp.mate. */
#define NIC_NO_MATE 0xff

/* The values of enum ibv_qp_state. */
enum nic_qp_state {
	NIC_QPS_RESET = 0,
	NIC_QPS_INIT = 1,
	NIC_QPS_RTR = 2,
	NIC_QPS_RTS = 3,
	NIC_QPS_SQD = 4,
	NIC_QPS_SQE = 5,
	NIC_QPS_ERR = 6,
};

/* The values of enum ibv_access_flags. */
enum nic_access {
	NIC_ACCESS_LOCAL_WRITE = 1 << 0,
	NIC_ACCESS_REMOTE_WRITE = 1 << 1,
	NIC_ACCESS_REMOTE_READ = 1 << 2,
	NIC_ACCESS_REMOTE_ATOMIC = 1 << 3,
	NIC_ACCESS_MW_BIND = 1 << 4,
	NIC_ACCESS_ZERO_BASED = 1 << 5,
	/* Nothing was looked at when it was registered: each access finds out. */
	NIC_ACCESS_ON_DEMAND = 1 << 6,
	/* Of a flush, by what it asks for. No region has the second: no memory is persistent. */
	NIC_ACCESS_FLUSH_GLOBAL = 1 << 8,
	NIC_ACCESS_FLUSH_PERSISTENT = 1 << 9,
};

/* Bits of async_pending: 1 << the value of enum ibv_event_type. */
enum nic_event {
	NIC_EVENT_CQ_ERR = 0,
	NIC_EVENT_QP_FATAL = 1,
	NIC_EVENT_QP_REQ_ERR = 2,
	NIC_EVENT_QP_ACCESS_ERR = 3,
	NIC_EVENT_COMM_EST = 4,
	NIC_EVENT_SQ_DRAINED = 5,
	NIC_EVENT_PATH_MIG = 6,
	NIC_EVENT_PATH_MIG_ERR = 7,
	NIC_EVENT_SRQ_ERR = 14,
	NIC_EVENT_SRQ_LIMIT_REACHED = 15,
	NIC_EVENT_QP_LAST_WQE_REACHED = 16,
};

/* ---------------------------------------------------------------- queues */

/*
 * Consumer side of a receive queue, a QP's own or a shared one. The ring is in
 * host queue memory; cons here is the truth, the ring's a published copy.
 */
struct nic_rq {
	/* Under lock. */
	nic_lock_t lock;
	u32 cons;
	/* Set when made, constant while num != 0. */
	u64 ring;
	u32 mask;
	/* With NIC_RQ_TM it is none, so that such a queue goes by ways of its own. */
	u8 shift;
	u8 max_sge;
	u8 is_srq;
	u8 rsvd0;
	/* QP number or SRQ number; 0: none here. */
	u32 num;
	u32 pdn;
	/* Address space of the process that made it. */
	u32 space;
	/* Under lock. SRQ: limit event at fewer than so many receives; 0 unarmed. */
	u32 limit;
	/*
	 * Under lock. Unreliable senders do not stall for this queue when it is
	 * empty: it never had a receive, or they have stalled in vain.
	 */
	u32 lossy;
	/* Under lock. Copy of the ring's prod, refreshed when the receives seem used up. */
	u32 prod_seen;
	/*
	 * Under lock. SRQ: the QP whose long message is being moved to the next receive in
	 * pieces, or 0; see nic_is_claimed().
	 */
	u32 claimed;
	u32 rsvd1;
	u64 rsvd2;
};
static_assert(sizeof(struct nic_rq) == 64, "one line");

/* Added to nic_rq.shift: the queue matches tags. */
#define NIC_RQ_TM 0x80u

struct nic_srq {
	struct nic_rq rq;
	/* Atomic: 1 << enum nic_event, raised and not yet taken by the agent. */
	u32 async_pending;
	/* Of extended reliable connections: its domain (else 0), and the CQ. */
	u32 xrcdn;
	u32 cqn;
	/* How often the number was used before. */
	u32 use;
	/* Tag matching: where in NIC memory its struct nic_tm is, else 0; of so many tags. */
	u64 tm;
	u32 tm_tags;
	u32 rsvd[9];
};
static_assert(sizeof(struct nic_srq) == 128, "srq");

struct nic_cq {
	/* Under lock. */
	nic_lock_t lock;
	u32 prod;
	/* Copy of the ring's cons, refreshed when the ring looks full. */
	u32 cons_seen;
	/* enum vnet_create_cq_flags */
	u32 flags;
	/* Changed only under lock (resize). */
	u64 ring;
	u32 mask;
	/* CQ number, index + 1; 0: none here. */
	u32 num;
	/* Completion channel, or NIC_NONE. */
	u32 channel;
	/* Non-zero after an overrun: nothing more is delivered. */
	u32 error;
	/* Atomic, as in nic_srq. */
	u32 async_pending;
	/*
	 * Under the channel's lock. An event waits for so many entries since the last
	 * one, which was made at ev_prod, or for so many microseconds; 0, 0: it does not.
	 */
	u32 event_count;
	u32 event_period;
	u32 ev_prod;
	/* Under lock: index behind the newest entry that was solicited, or failed. */
	u32 solicited;
	u32 rsvd0;
	/* Under the channel's lock: events made and not yet read; read so far. */
	u32 ev_pending;
	u32 ev_delivered;
	/* Under the channel's lock: next CQ with ev_pending in the channel's list. */
	u32 ev_next;
	/* Entries by outcome, under lock: for status. */
	u32 rsvd1;
	u64 completions;
	u64 errors;
	/* What a completion event says: the process' own name for the CQ. */
	u64 user_handle;
	/* Under the channel's lock: NIC clock, when the event that waits is due; or 0. */
	u64 ev_due;
	u64 rsvd2[2];
};
static_assert(sizeof(struct nic_cq) == 128, "cq");

/*
 * A completion channel: a list of CQs that have unread events, linked by CQ
 * index through ev_next. The descriptor that makes it readable is the
 * platform's; it is readable just while the list is not empty.
 */
struct nic_channel {
	nic_lock_t lock;
	/* Non-zero while the channel exists; changes with every use of the slot. */
	u32 generation;
	/* CQ indices, or NIC_NONE. */
	u32 head;
	u32 tail;
	u32 rsvd[12];
};
static_assert(sizeof(struct nic_channel) == 64, "channel");

/* ---------------------------------------------------- memory protection */

enum nic_mr_kind {
	NIC_MR_FREE = 0,
	NIC_MR_REGION = 1,
	NIC_MR_WINDOW_1 = 2,
	NIC_MR_WINDOW_2 = 3,
	/*
	 * A region of the kernel's own, which work requests register and
	 * invalidate (length 0); its pages are named by the host.
	 */
	NIC_MR_FAST = 4,
	/*
	 * A region of device memory: addr is an offset in NIC memory (queue memory),
	 * space NIC_SPACE_DEVICE. No windows are bound in it.
	 */
	NIC_MR_DEVICE = 5,
};

enum nic_mr_flags {
	/*
	 * The process changed its mapping's protection under the region: the
	 * platform must check rights page by page (no forced access).
	 */
	NIC_MR_CHECK_PAGES = 1 << 0,
	/* Being destroyed: nobody may find or bind it any more. */
	NIC_MR_DYING = 1 << 1,
	/*
	 * Paged on demand: the platform respects its pages' rights wherever it has
	 * the means to.
	 */
	NIC_MR_ON_DEMAND = 1 << 2,
	/*
	 * Some pages belong to a file. An access to an absent page waits for the file's
	 * server (FUSE, NFS), which may never answer: the platform copies only what is
	 * present, and has the rest brought (plat_fetch()).
	 */
	NIC_MR_FILE = 1 << 3,
};

/*
 * Translation and protection: memory regions and windows. A key has, from its lowest
 * bit on: a tag, the entry's index, random bits that stay the same until the entry is
 * destroyed, and a 0. An unbound window has parent and length 0 and keeps a key, which
 * names it and gives access to nothing.
 *
 * Written by the agent, and by the firmware for windows: whoever exchanges a
 * window's key for a claim may change it, counts version on, and stores the key
 * last. Readers take no lock: they look at key and version before and after.
 */
struct nic_mr {
	/* Valid key, used as lkey and rkey; 0: invalid; or NIC_KEY_CLAIMED, by whom, and its tag. */
	u32 key;
	/* enum nic_mr_kind */
	u8 kind;
	/* enum nic_mr_flags; written by the agent. */
	u8 flags;
	u16 rsvd0;
	u32 access;
	u32 pdn;
	/* First address as work requests name it, and where it is. */
	u64 iova;
	u64 addr;
	u64 length;
	u32 space;
	/* Windows: key of the region in which it is open; 0: unbound. */
	u32 parent;
	/* Type 2 windows: the QP through which it was bound. */
	u32 qpn;
	/* Regions, atomic: windows open in it; never too low. */
	u32 windows;
	u32 version;
	/* NIC_MR_DYING: epoch that every busy QP must have seen (memory/grace.c). */
	u32 grace;
};
static_assert(sizeof(struct nic_mr) == 64, "mr");

/* In nic_mr.key: the entry is being changed. No key has this bit. */
#define NIC_KEY_CLAIMED 0x80000000u

/* ------------------------------------------------------------ queue pairs */

/* Where the work request at the head of a send queue stands. */
enum nic_op_phase {
	/* Nothing done that anybody could have seen. */
	NIC_OP_IDLE = 0,
	/*
	 * About to take receive op_rq_idx of op_rq and make CQE op_cq_idx in
	 * op_cqn, whose body is already written. Recovery completes it.
	 */
	NIC_OP_COMMIT,
	/* Done at the peer; op_cqn may be owed an event. Recovery looks. */
	NIC_OP_NOTIFY,
	/* Executed with op_status; its own completion is still to be made. */
	NIC_OP_EXECUTED,
	/* About to make CQE op_cq_idx in the send CQ and retire the request. */
	NIC_OP_RETIRE,
	/* Retired; the send CQ may be owed an event. */
	NIC_OP_RETIRE_NOTIFY,
};

enum nic_arrival {
	NIC_ARRIVAL_NONE = 0,
	/* It has its place among the packets of the queue pair. */
	NIC_ARRIVAL_ORDERED,
	NIC_ARRIVAL_DATAGRAM,
};

/* Why a send queue waits; 0: it does not. */
enum nic_wait {
	NIC_WAIT_NONE = 0,
	/* Receiver not ready: until a receive is there or the RNR timer ends. */
	NIC_WAIT_RNR,
	/* Unreliable and no receive: bounded stall. */
	NIC_WAIT_STALL,
	/* The peer does not answer: until the transport's retries are used up. */
	NIC_WAIT_PEER,
	/* Somebody holds a lock that is needed. */
	NIC_WAIT_LOCK,
	/* Memory that is paged on demand is brought: its own, or the peer's. */
	NIC_WAIT_PAGES,
	NIC_WAIT_PEER_PAGES,
	/* For nothing: a piece of a long request was moved, and others have their turn. */
	NIC_WAIT_TURN,
};

/* Attributes as modify_qp() sets them (only what the NIC keeps). */
struct nic_qp_attr {
	u32 qkey;
	u32 rq_psn;
	u32 sq_psn;
	u32 dest_qpn;
	u32 access;
	u16 pkey_index;
	u8 port;
	u8 path_mtu;
	u8 max_rd_atomic;
	u8 max_dest_rd_atomic;
	u8 min_rnr_timer;
	u8 timeout;
	u8 retry_cnt;
	u8 rnr_retry;
	u8 en_sqd_async_notify;
	u8 path_mig_state;
	/* Address vector, as struct ibv_ah_attr. */
	u8 dgid[16];
	u32 flow_label;
	u8 sgid_index;
	u8 hop_limit;
	u8 traffic_class;
	u8 sl;
	u8 static_rate;
	u8 src_path_bits;
	u8 is_global;
	u8 rsvd0;
	u16 dlid;
	u16 alt_pkey_index;
	u8 alt_port;
	u8 alt_timeout;
	u8 rsvd1[2];
	u32 rate_limit;
	u32 rsvd2[2];
};
static_assert(sizeof(struct nic_qp_attr) == 80, "qp attributes");

/* As what a QP copies: for its requests, or for what came by the wire. */
enum nic_role {
	NIC_REQUESTS = 0,
	NIC_ARRIVALS = 1,
	/* A packet before its turn, which will come again: that is not kept. */
	NIC_EARLY = 2,
};

/* Counters of one QP, a line for each who writes. */
struct nic_qp_counters {
	/* Under sq_lock. */
	u64 sent_msgs;
	u64 sent_bytes;
	u64 send_errors;
	u64 rnr_waits;
	u64 retries;
	/* Raw packets with a rate limit: NIC clock, when the next one is due. */
	u64 paced_until;
	/*
	 * By enum nic_role, NIC clock: pages that are paged on demand are asked for
	 * since; 0: none are (memory/copy.c). What is NIC_ARRIVALS' has its receive queue's
	 * lock, where a receive waits.
	 */
	u64 fetch_since[2];
	/* Under the receive queue's lock. */
	u64 got_msgs;
	u64 got_bytes;
	u64 dropped;
	/* As fetch_since[]: for what, as struct nic_asker has it. */
	u32 fetch_for[2];
	/*
	 * Under sq_lock. Of a long request, which is moved in pieces: bytes that were moved,
	 * of which request (nic_copy_long()), and to which receive (nic_goal()).
	 */
	u64 moved;
	u32 moved_of;
	u32 rsvd2;
	u64 moved_to;
	u64 rsvd1;
};
static_assert(sizeof(struct nic_qp_counters) == 128, "qp counters");

/* An atomic operation, so that whoever does it again after a death does it once. */
struct nic_intent {
	/* Which request or packet it is, and NIC_INTENT_*; 0: none. */
	u64 key;
	/* What the word was before. */
	u64 old;
};
#define NIC_INTENT_BEGUN (1ull << 32)
#define NIC_INTENT_DONE (1ull << 33)

enum nic_intent_of {
	/* Of a request in the send queue. */
	NIC_INTENT_REQUEST = 0,
	/* Of a packet that came by the wire. */
	NIC_INTENT_PACKET = 1,
};

/*
 * A line of this is written by the requester, or by those who deliver to the
 * responder, or by neither: each of them looks at the other's QP for every
 * message, and must not find its line taken away each time.
 */
struct nic_qp {
	/* --- who it is: written by commands, and when it fails. */
	/* Full number; 0: none here. */
	u32 qpn;
	/*
	 * Its transport: enum nic_qp_type, of extended reliable connections RC, and of
	 * all that is about Ethernet frames RAW_PACKET.
	 */
	u8 type;
	/*
	 * enum nic_qp_state: commands write it under sq_lock and rq.lock both;
	 * whoever holds one of the two may set ERR (and SQE under sq_lock).
	 */
	u8 state;
	u8 sq_sig_all;
	u8 sq_shift;
	u64 sq_ring;
	u32 sq_mask;
	u32 pdn;
	u32 space;
	u32 send_cqn;
	u32 recv_cqn;
	/* SRQ number, 0, or NIC_SRQ_NAMED. */
	u32 srqn;
	u16 max_inline;
	u8 max_send_sge;
	/* The kernel's own: its requests may register memory. */
	u8 privileged;
	u32 owner_pid;
	/* Atomic, as in nic_srq. */
	u32 async_pending;
	/* Deferred: flush of the receive queue is due (atomic flag). */
	u32 flush_rq;
	/* First message arrived in RTR: COMM_EST was raised. */
	u32 comm_est;
	/* enum nic_qp_type; and of which its peer must be, if that is the same. */
	u8 kind;
	u8 mate;
	/* Target of extended reliable connections: its domain. */
	u16 xrcdn;

	/* --- requester: under sq_lock. */
	nic_lock_t sq_lock;
	u32 sq_cons;
	/* enum nic_op_phase, and what follows from it. */
	u8 op_phase;
	u8 op_status;
	/* enum nic_wait */
	u8 wait;
	/* Transport (0: no timer) and RNR retries used by the head request. */
	u8 retries_used;
	u8 rnr_used;
	/*
	 * enum nic_arrival: op_phase is about a message that came by the wire for
	 * this QP, packet op_psn, and not about the head request.
	 */
	u8 op_arrival;
	/*
	 * Set when made, of datagrams: a request ends with what became of its message
	 * (see nic_is_returned()).
	 */
	u8 returns;
	/* enum nic_group_bit */
	u8 group;
	u32 vendor_err;
	/* Epoch of the NIC that the executor saw between two operations. */
	u32 grace_seen;
	/* Receive queue: QP number, or SRQ number with op_rq_is_srq. */
	u32 op_rq;
	u32 op_rq_is_srq;
	u32 op_rq_idx;
	u32 op_cqn;
	u32 op_cq_idx;
	/* Set while SQD waits for the head request to end. */
	u32 sq_draining;
	/* Bytes moved by the head request (for its CQE). */
	u32 op_bytes;
	/* Atomic word that the executing operation holds (index + 1), or 0. */
	u32 op_atomic;
	u32 op_psn;
	union {
		/* The SRQ that the executing request names, if requests do. */
		u32 op_srqn;
		/*
		 * Whose turn it is of a group, or of the flows, that the executing datagram or
		 * frame is for, with a part of the request's number: nic_group_mark().
		 */
		u32 op_member;
	};

	/* NIC clock, ns: the wait ends in failure; its process looks again. */
	u64 deadline;
	u64 look_at;
	/*
	 * The last atomic operation that it requested, and that came for it by the
	 * wire; and of the one that is executing, the word and what it will be.
	 */
	struct nic_intent intent[2];
	u64 op_word;
	u64 op_new;

	/* --- responder; see struct nic_rq. num == 0 with an SRQ. */
	struct nic_rq rq;

	/* --- written by commands. */
	struct nic_qp_attr attr;
	/* Row of the peer's NIC, if that is another one; else NIC_NONE. */
	u32 row;
	/*
	 * Endpoint frame in which its state of the wire is, or NIC_NONE: it is in
	 * host memory (vn/resident.c).
	 */
	u32 frame;
	/* enum nic_want: it waits for one in the queue of those that do. */
	u32 wants_frame;
	/* Of op_word, as in struct nic_piece. */
	u32 op_word_space;
	u32 op_word_mr;
	/*
	 * Under sq_lock. What comes with the commitment that op_phase tells of
	 * (tags/tm.c); 0: nothing.
	 */
	u32 op_tm;
	u32 op_tm_srqn;
	u32 op_tm_tag;
	u32 op_tm_unexpected;
	u32 op_tm_qpn;
	u32 op_tm_prod;
	/*
	 * Under sq_lock. The last key that it claimed, or was about to: who dies with a
	 * claim is found by it.
	 */
	u32 op_key;

	struct nic_qp_counters counters;
};
static_assert(offsetof(struct nic_qp, sq_lock) == 64, "one writer a line");
static_assert(offsetof(struct nic_qp, deadline) == 128, "one writer a line");
static_assert(offsetof(struct nic_qp, rq) == 192, "one writer a line");
static_assert(offsetof(struct nic_qp, attr) == 256, "one writer a line");
static_assert(offsetof(struct nic_qp, counters) == 384, "one writer a line");
static_assert(sizeof(struct nic_qp) == 512, "qp");

/* ------------------------------------------------------------- the header */

/* How the NIC processor sleeps, so what deserves a kick. */
enum nic_sleep {
	NIC_AWAKE = 0,
	/* Until it is kicked: new pending work and events must kick it. */
	NIC_SLEEPS = 1,
	/* Until its next tick, because work is pending: only a receive that */
	/* somebody waits for, and events, must kick it. */
	NIC_DOZES = 2,
};

struct nic_counters {
	/* Datagrams and frames that nobody could take, by reason. */
	u64 drop_no_qp;
	u64 drop_qkey;
	u64 drop_no_receive;
	u64 drop_length;
	u64 drop_address;
	/* Atomically advanced. */
	u64 kicks;
	u64 recovered;
	u64 drop_no_flow;

	/* The wire: frames and bytes, as they went and came. */
	u64 frames_sent;
	u64 bytes_sent;
	u64 frames_received;
	u64 bytes_received;
	u64 acks_sent;
	u64 nacks_sent;
	u64 nacks_received;
	u64 retransmitted;
	/* Packets that came again, or later than one that was sent after them. */
	u64 duplicates;
	u64 returned;
	u64 unreachable;
	/* Frames that were dropped, by reason. */
	u64 bad_length;
	u64 bad_version;
	u64 bad_crc;
	u64 bad_field;
	u64 bad_incarnation;
	u64 bad_row;
	/* Their senders are not of the group of nodes that they speak for. */
	u64 bad_gid;
	/* Endpoints: messages for one that is not resident, loads, evictions. */
	u64 faults;
	u64 loads;
	u64 evictions;
	/* Answers to what is not under way any more, or to another time that it was sent. */
	u64 stale_answers;
	/* Calls, and requests, of NICs for which the channel tables have no row left. */
	u64 no_row;
	/* Frames for a row that somebody keeps for too long: what they bring comes again. */
	u64 drop_busy;
	/* Frames that do not prove who sent them. */
	u64 bad_proof;
	/* HELLOs of who says that he is a NIC that is known, and is somewhere else, or is older. */
	u64 bad_claim;
	/* Rows of NICs that were quiet, given to others. */
	u64 reclaimed;
	/* REFUSE frames that were sent, and that came for a call. */
	u64 refusals_sent;
	u64 refusals;
	/* The longest stretch (NIC_STRETCH_REQUESTS): requests, and bytes of one. */
	u64 longest_requests;
	u64 longest_bytes;
	u64 rsvd;
};
static_assert(sizeof(struct nic_counters) % 64 == 0, "whole lines");

/* Sizes that the agent chooses when it makes a NIC; all powers of two. */
struct nic_config {
	u32 max_qp;
	u32 max_cq;
	u32 max_srq;
	u32 max_mr;
	u32 max_channel;
	/* Owner ids and address spaces are below this (platform's table). */
	u32 max_client;
	/* Other NICs that can be known at once; 0: there is no wire. */
	u32 max_row;
	/* Endpoint frames: endpoints that can use the wire at once. */
	u32 max_frame;
	/* Bytes of host queue memory that follow the tables. */
	u64 queue_bytes;
	/* How long unreliable senders stall for a receive, ns. */
	u64 stall_ns;
	u64 node_guid;
	struct nic_settings settings;
};

/* Of a queue pair of datagrams, or of frames (nic_qp.group). */
enum nic_group_bit {
	/* op_phase is about one of those to whom a request goes, not about the request. */
	NIC_GROUP_MEMBER = 1 << 0,
};

/* A queue pair that is attached to a multicast group. */
struct nic_member {
	u8 gid[16];
	/* Written last; 0: nobody. */
	u32 qpn;
	u32 rsvd;
};

struct nic_header {
	u64 magic;
	u32 layout_version;
	u32 hw_version;
	struct nic_config config;
	/* Offsets of the tables from the header, and the whole size. */
	u64 off_qp;
	u64 off_cq;
	u64 off_srq;
	u64 off_mr;
	u64 off_channel;
	u64 off_client;
	u64 off_pending;
	/* One bit per QP index: set when a QP with it is created, and never cleared. */
	u64 off_made;
	u64 off_async;
	u64 off_row;
	u64 off_hash;
	u64 off_frame;
	u64 off_backing;
	u64 off_want;
	u64 off_queue;
	u64 total_size;

	/* GIDs of port 1, by index, below ngids; those that went are zero. */
	u32 ngids;
	u32 port_up;
	/* Its LID, if its link layer is InfiniBand; 0: it is Ethernet. */
	u32 lid;
	/* Index of the link's own address among the GIDs; 0: it is the last. */
	u32 link_gid;
	u8 gid[NIC_MAX_GIDS][16];

	/*
	 * The agent's life: a robust futex word that holds the agent's thread
	 * id, and in which the system sets FUTEX_OWNER_DIED when it dies.
	 */
	u32 agent_life __attribute__((aligned(64)));
	/* Non-zero: the device has failed for good. */
	u32 fatal;
	/* A fault on purpose, no receive is found: nic_starve(). */
	u32 starves;
	/* Advanced when something is taken away that operations use. */
	u32 grace_epoch;
	/* Regions with NIC_MR_FILE. */
	u32 fetches;

	/* enum nic_sleep; stored by the NIC processor, before it looks a last time. */
	u32 processor_sleeps __attribute__((aligned(64)));
	/* Non-zero: some async_pending word is set. */
	u32 async_any;
	/* CQs with an event that is due at a time, a bit per index % 64. */
	u64 cq_due;
	/*
	 * Send and receive queues that wait, one bit per QP index in the pending
	 * bitmap (off_pending). Bit b of the summary stands for words
	 * [b * n, (b + 1) * n), n = max(1, words / 64): set after the word's bit,
	 * cleared (exchanged) before the words are scanned, set again if any
	 * stays non-zero.
	 */
	u64 pending_summary __attribute__((aligned(64)));

	nic_lock_t atomic_lock[NIC_ATOMIC_LOCKS] __attribute__((aligned(64)));
	struct nic_counters counters __attribute__((aligned(64)));
	/*
	 * Completions by enum vnet_wc_status, atomically advanced: failures as
	 * they come, successes of a CQ when it is destroyed.
	 */
	u64 completions[VNET_WC_STATUS_MAX];

	/* --- the wire. This NIC's life; see nic_link_renew(). */
	u64 incarnation __attribute__((aligned(64)));
	struct nic_settings settings;
	/* Rows in use are below this. */
	u32 row_high;
	/* Rows to come into or leave the chains, and endpoints their frames. */
	nic_lock_t row_lock;
	nic_lock_t frame_lock;
	u32 frame_hand;
	/* Free-running ends of the queue of QPs that wait for a frame (off_want). */
	u32 want_prod;
	u32 want_cons;
	/* An endpoint is kept for a packet until then at the latest; NIC clock, ns. */
	u64 awaited_until;
	/* Rows with something that is due at a time, a bit per row % 64. */
	u64 row_active;
	/* Some process looks at the link itself: NIC clock of its last look. */
	u64 link_polled;
	/*
	 * How patience is counted (nic_patience()): in the low 24 bits, when timers were looked
	 * at last; above, how much of the NIC clock does not count. Both in ms.
	 */
	u64 patience;

	/* --- multicast groups: members there ever were are below this. */
	u32 member_high __attribute__((aligned(64)));
	struct nic_member member[NIC_MAX_MEMBERS];

	/* --- flows: those there ever were are below this. */
	u32 flow_high __attribute__((aligned(64)));
	struct nic_flow flow[NIC_MAX_FLOWS];
	struct nic_flow_counter flow_counter[NIC_MAX_FLOW_COUNTERS];
};

#endif /* NIC_MEMORY_H */
