/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Layout of NIC memory: the state of one NIC, in one region that several processes map. They map it
 * at different addresses, so objects are named by index or offset, and there are no pointers. The
 * layout is not an ABI: agents and firmware are built together, and NIC_LAYOUT_VERSION keeps an old
 * agent from attaching to newer memory.
 *
 * Each group says who writes it; "under X" means with that lock held.
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
#define NIC_LAYOUT_VERSION 12

/*
 * QP type as created: the values of enum ibv_qp_type. The two ends of an XRC connection have
 * different types, and take receives from the SRQ that each request names. A work queue (not in
 * enum ibv_qp_type) is a QP that only receives.
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

/* nic_qp.srqn of an XRC target: each request names the SRQ. */
#define NIC_SRQ_NAMED NIC_NONE
/* nic_qp.peer_kind of an XRC QP: the peer has another type. */
#define NIC_NO_PEER_KIND 0xff

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
	/* Pages are not checked at registration; each access finds out whether they are valid. */
	NIC_ACCESS_ON_DEMAND = 1 << 6,
	/*
	 * Rights for flushes by placement type. No region has the second: no memory is persistent.
	 */
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
 * Consumer side of a receive queue, of a QP or shared. The ring is in host queue memory. `cons`
 * here is authoritative; the ring's is a published copy.
 */
struct nic_rq {
	/* Under lock. */
	nic_lock_t lock;
	u32 cons;
	/* Set at creation, constant while num != 0. */
	u64 ring;
	u32 mask;
	/*
	 * With NIC_RQ_TM it is out of range, so that the ordinary path does not use such a queue.
	 */
	u8 shift;
	u8 max_sge;
	u8 is_srq;
	u8 rsvd0;
	/* QP number or SRQ number; 0: none here. */
	u32 num;
	u32 pdn;
	/* Address space of the process that created it. */
	u32 space;
	/* Under lock. SRQ: raise the limit event if fewer receives are left; 0: not armed. */
	u32 limit;
	/*
	 * Under lock. Unreliable senders do not stall when this queue is empty: it never had a
	 * receive, or a stall has ended without one.
	 */
	u32 lossy;
	/* Under lock. Copy of the ring's prod, refreshed when all known receives are taken. */
	u32 prod_seen;
	/*
	 * Under lock. SRQ: the QP whose long message is being copied to the next receive in pieces,
	 * or 0; see nic_is_claimed().
	 */
	u32 claimed;
	u32 rsvd1;
	u64 rsvd2;
};
static_assert(sizeof(struct nic_rq) == 64, "one line");

/* Flag in nic_rq.shift: the queue matches tags. */
#define NIC_RQ_TM 0x80u

struct nic_srq {
	struct nic_rq rq;
	/*
	 * Atomic: bits 1 << enum nic_event of events that were raised and not taken by the agent.
	 */
	u32 async_pending;
	/* XRC: its domain (else 0) and its CQ. Tag matching: the CQ. */
	u32 xrcdn;
	u32 cqn;
	/* Incremented at each creation: tells this SRQ from earlier ones of the entry. */
	u32 use;
	/* Tag matching: offset of its struct nic_tm in NIC memory (else 0), and number of tags. */
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
	/* Non-zero after an overrun: no more entries are written. */
	u32 error;
	/* Atomic, as in nic_srq. */
	u32 async_pending;
	/*
	 * Under the channel's lock. Moderation: an event waits for this number of entries since the
	 * last event (at ev_prod), or for this number of microseconds; 0, 0: no moderation.
	 */
	u32 event_count;
	u32 event_period;
	u32 ev_prod;
	/* Under lock: index after the newest entry that was solicited or failed. */
	u32 solicited;
	u32 rsvd0;
	/* Under the channel's lock: events that are unread; events that were read. */
	u32 ev_pending;
	u32 ev_delivered;
	/* Under the channel's lock: next CQ with ev_pending in the channel's list. */
	u32 ev_next;
	/* Statistics, under lock: all entries, and failed ones. */
	u32 rsvd1;
	u64 completions;
	u64 errors;
	/* The process' name for the CQ, reported with completion events. */
	u64 user_handle;
	/* Under the channel's lock: NIC clock at which a moderated event is due; 0: none. */
	u64 ev_due;
	u64 rsvd2[2];
};
static_assert(sizeof(struct nic_cq) == 128, "cq");

/*
 * A completion channel: a list of the CQs that have unread events, linked by CQ index through
 * ev_next. The platform keeps its descriptor, which is readable exactly while the list is not
 * empty.
 */
/* How the reader of a channel waits. See nic_channel_reader_blocks(). */
enum nic_reader {
	NIC_READER_ANY = 0,
	NIC_READER_BLOCKS = 1,
	/* Flags, which are never cleared. */
	NIC_READER_EDGES = 2,
	NIC_READER_SIGNALS = 4,
};

struct nic_channel {
	nic_lock_t lock;
	/* Non-zero while the channel exists; differs for each use of the entry. */
	u32 generation;
	/* CQ indices, or NIC_NONE. */
	u32 head;
	u32 tail;
	u32 reader; /* enum nic_reader */
	u32 rsvd[11];
};
static_assert(sizeof(struct nic_channel) == 64, "channel");

/* ---------------------------------------------------- memory protection */

enum nic_mr_kind {
	NIC_MR_FREE = 0,
	NIC_MR_REGION = 1,
	NIC_MR_WINDOW_1 = 2,
	NIC_MR_WINDOW_2 = 3,
	/*
	 * A region of the kernel's own, which work requests register and invalidate (length 0); the
	 * host translates its pages.
	 */
	NIC_MR_FAST = 4,
	/*
	 * Device memory: addr is an offset in NIC memory (queue memory), space is NIC_SPACE_DEVICE.
	 * No windows can be bound to it.
	 */
	NIC_MR_DEVICE = 5,
};

enum nic_mr_flags {
	/*
	 * The process has changed the protection of its mapping: the platform must check the rights
	 * of each page (no forced access).
	 */
	NIC_MR_CHECK_PAGES = 1 << 0,
	/* Being destroyed: it is not found or bound any more. */
	NIC_MR_DYING = 1 << 1,
	/* Paged on demand: the platform respects the rights of pages where it can. */
	NIC_MR_ON_DEMAND = 1 << 2,
	/*
	 * Some pages belong to a file. An access to an absent page waits for the file's server
	 * (FUSE, NFS), which may never answer. So the platform copies only present pages, and has
	 * the others brought by plat_fetch().
	 */
	NIC_MR_FILE = 1 << 3,
	/*
	 * The whole pages inside the region are pages of the process' memory file, at the offset
	 * that equals their address. The platform may map them in the executing process.
	 */
	NIC_MR_MAPPED = 1 << 4,
};

/*
 * Translation and protection: memory regions and windows. A key consists of, from its lowest bit: a
 * tag, the entry's index, random bits that stay the same until the entry is destroyed, and a 0 bit.
 * An unbound window has parent 0 and length 0. It keeps a key, which names it and gives no access.
 *
 * Written by the agent; windows and fast registrations also by the firmware. To change one, an
 * executor exchanges its key for a claim, increments the version, and stores the key last. Readers
 * take no lock: they compare key and version before and after.
 */
struct nic_mr {
	/* Valid key, used as lkey and rkey; 0: invalid; or NIC_KEY_CLAIMED with owner and tag. */
	u32 key;
	/* enum nic_mr_kind */
	u8 kind;
	/* enum nic_mr_flags; written by the agent. */
	u8 flags;
	u16 rsvd0;
	u32 access;
	u32 pdn;
	/* First address as work requests name it, and in the address space. */
	u64 iova;
	u64 addr;
	u64 length;
	u32 space;
	/* Windows: key of the region that it is bound to; 0: unbound. */
	u32 parent;
	/* Type 2 windows: QP by which it was bound. */
	u32 qpn;
	/* Regions, atomic: number of bound windows; may be too high, never too low. */
	u32 windows;
	u32 version;
	/* NIC_MR_DYING: epoch that each busy QP must have seen (protection/grace.c). */
	u32 grace;
};
static_assert(sizeof(struct nic_mr) == 64, "mr");

/* In nic_mr.key: the entry is being changed. No valid key has this bit. */
#define NIC_KEY_CLAIMED 0x80000000u

/* ------------------------------------------------------------ queue pairs */

/* State of the request at the head of a send queue, as intent for recovery. */
enum nic_op_phase {
	/* Nothing has happened that others could see. */
	NIC_OP_IDLE = 0,
	/*
	 * Consumes receive op_rq_idx of op_rq, and publishes CQE op_cq_idx of op_cqn, whose body is
	 * written. From here on, recovery completes both.
	 */
	NIC_OP_COMMIT,
	/* Done at the peer; a completion event for op_cqn may be due. Recovery makes it. */
	NIC_OP_NOTIFY,
	/* Executed with op_status; the requester's completion is not made yet. */
	NIC_OP_EXECUTED,
	/* Publishes CQE op_cq_idx of the send CQ, and retires the request. */
	NIC_OP_RETIRE,
	/* Retired; a completion event for the send CQ may be due. */
	NIC_OP_RETIRE_NOTIFY,
};

enum nic_arrival {
	NIC_ARRIVAL_NONE = 0,
	/* A packet of a connection, in order. */
	NIC_ARRIVAL_ORDERED,
	NIC_ARRIVAL_DATAGRAM,
};

/* Wait state: why the request at the head of a send queue does not continue. */
enum nic_wait {
	NIC_WAIT_NONE = 0,
	/* Receiver not ready: until a receive is posted, or the RNR timer expires. */
	NIC_WAIT_RNR,
	/* Unreliable, no receive: bounded stall. */
	NIC_WAIT_STALL,
	/* The peer does not answer: until the transport retries are used up. */
	NIC_WAIT_PEER,
	/* A lock is held by another. */
	NIC_WAIT_LOCK,
	/* Pages of the own process, or of the peer's, are being brought. */
	NIC_WAIT_PAGES,
	NIC_WAIT_PEER_PAGES,
	/* Nothing: a piece of a long request was executed, and other QPs have their turn. */
	NIC_WAIT_TURN,
};

/* Attributes as set by modify_qp(), as far as the NIC keeps them. */
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
	/* Address vector, as in struct ibv_ah_attr. */
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

/* Role in which a QP copies, and may wait for pages. */
enum nic_role {
	NIC_REQUESTS = 0,
	NIC_ARRIVALS = 1,
	/*
	 * A packet that is executed before its turn, and arrives again: the wait is not recorded.
	 */
	NIC_EARLY = 2,
};

/* Counters and progress of one QP; each writer has its own cache line. */
struct nic_qp_counters {
	/* Under sq_lock. */
	u64 sent_msgs;
	u64 sent_bytes;
	u64 send_errors;
	u64 rnr_waits;
	u64 retries;
	/* Raw packets with a rate limit: NIC clock at which the next one may be sent. */
	u64 paced_until;
	/*
	 * By enum nic_role: NIC clock since which the operation waits for pages; 0: it does not
	 * (protection/copy.c). The entry of NIC_ARRIVALS is under the receive queue's lock if it is
	 * a receive that waits.
	 */
	u64 fetch_since[2];
	/* Under the receive queue's lock. */
	u64 got_msgs;
	u64 got_bytes;
	u64 dropped;
	/* As fetch_since[]: the operation, nic_page_waiter.what. */
	u32 fetch_for[2];
	/*
	 * Under sq_lock. Progress of a long request, which is copied in pieces: bytes moved, the
	 * request (nic_copy_long()), and its receive (nic_receive_id()).
	 */
	u64 moved;
	u32 moved_of;
	u32 rsvd2;
	u64 moved_to;
	u64 rsvd1;
};
static_assert(sizeof(struct nic_qp_counters) == 128, "qp counters");

/* Intent of an atomic operation: if its executor dies, it is still executed only once. */
struct nic_intent {
	/* Number of the request or packet, and NIC_INTENT_*; 0: none. */
	u64 key;
	/* The word's value before the operation. */
	u64 old;
};
#define NIC_INTENT_BEGUN (1ull << 32)
#define NIC_INTENT_DONE (1ull << 33)

enum nic_intent_of {
	/* The request at the head of the send queue. */
	NIC_INTENT_REQUEST = 0,
	/* A packet from another NIC. */
	NIC_INTENT_PACKET = 1,
};

/*
 * Each cache line is written by the requester, or by the threads that deliver to the responder, or
 * by neither. Both sides read the other's QP for every message. If a writer shared the line, each
 * of these reads would miss the cache.
 */
struct nic_qp {
	/* --- identity: written by commands; state also when the QP fails. */
	/* Full number; 0: the entry is free. */
	u32 qpn;
	/* Transport, as enum nic_qp_type: RC also for XRC, RAW_PACKET also for work queues. */
	u8 type;
	/*
	 * enum nic_qp_state. Commands write it with both sq_lock and rq.lock held. The holder of
	 * either lock may set ERR, and the holder of sq_lock SQE.
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
	/* The kernel's own QP: its requests may register memory. */
	u8 privileged;
	u32 owner_pid;
	/* Atomic, as in nic_srq. */
	u32 async_pending;
	/* Atomic flag: the receive queue must be flushed. */
	u32 flush_rq;
	/* COMM_EST was raised for the first message in RTR. */
	u32 comm_est;
	/*
	 * enum nic_qp_type as created; and the type that the peer must have, or NIC_NO_PEER_KIND.
	 */
	u8 kind;
	u8 peer_kind;
	/* XRC target: its domain. */
	u16 xrcdn;

	/* --- requester: under sq_lock. */
	nic_lock_t sq_lock;
	u32 sq_cons;
	/* enum nic_op_phase, and the status of the executed operation. */
	u8 op_phase;
	u8 op_status;
	/* enum nic_wait */
	u8 wait;
	/* Retries of the head request: transport (none if there is no timer) and RNR. */
	u8 retries_used;
	u8 rnr_used;
	/*
	 * enum nic_arrival: op_phase is about a message from another NIC (packet op_psn), or a
	 * flushed receive, and not about the head request.
	 */
	u8 op_arrival;
	/* Set at creation, datagrams: return to sender, see nic_is_returned(). */
	u8 returns;
	/* enum nic_group_bit */
	u8 group;
	u32 vendor_err;
	/* NIC epoch that the executor saw between two operations. */
	u32 grace_seen;
	/* Receive queue of the operation: QP number, or SRQ number if op_rq_is_srq. */
	u32 op_rq;
	u32 op_rq_is_srq;
	u32 op_rq_idx;
	u32 op_cqn;
	u32 op_cq_idx;
	/* Set in SQD until the outstanding requests end. */
	u32 sq_draining;
	/* Bytes that the head request has brought back, for its CQE. */
	u32 op_bytes;
	/* Index + 1 of the atomic_lock that the operation holds, or 0. */
	u32 op_atomic;
	u32 op_psn;
	union {
		/* XRC: the SRQ that the executing request names. */
		u32 op_srqn;
		/*
		 * Progress over the members or flows that the executing datagram or frame is for:
		 * nic_group_mark().
		 */
		u32 op_member;
	};

	/* NIC clock, ns: end of the waiting period; next try by its own process. */
	u64 deadline;
	u64 look_at;
	/*
	 * Last atomic operation as requester and as responder; and for the one that is executing,
	 * the address and the new value of the word.
	 */
	struct nic_intent intent[2];
	u64 op_word;
	u64 op_new;

	/* --- responder; see struct nic_rq. num == 0 with an SRQ. */
	struct nic_rq rq;

	/* --- written by commands. */
	struct nic_qp_attr attr;
	/* Row of the peer's NIC; NIC_NONE: the peer is on this NIC. */
	u32 row;
	/*
	 * Endpoint frame with its vn state, or NIC_NONE: the state is in host memory
	 * (vn/resident.c).
	 */
	u32 frame;
	/* enum nic_want: the QP waits in the queue for a frame. */
	u32 wants_frame;
	/* Address space and region of op_word, as in struct nic_piece. */
	u32 op_word_space;
	u32 op_word_mr;
	/*
	 * Under sq_lock. Tag matching: what to do when the operation is committed (tags/tm.c); 0:
	 * nothing.
	 */
	u32 op_tm;
	u32 op_tm_srqn;
	u32 op_tm_tag;
	u32 op_tm_unexpected;
	u32 op_tm_qpn;
	u32 op_tm_prod;
	/*
	 * Under sq_lock. The last key that the executor claimed, or was about to claim: recovery
	 * finds the claim of a dead executor by it.
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

/* Sleep state of the NIC processor: which events must kick it. */
enum nic_sleep {
	NIC_AWAKE = 0,
	/* Until it is kicked, by any new pending work or event. */
	NIC_SLEEPS = 1,
	/*
	 * Until its next tick, because work is pending: kicked only by events, by work that can
	 * continue at once (nic_pend_now()), and by a receive for which a doorbell was requested.
	 */
	NIC_DOZES = 2,
};

struct nic_counters {
	/* Dropped datagrams and Ethernet frames, by reason. */
	u64 drop_no_qp;
	u64 drop_qkey;
	u64 drop_no_receive;
	u64 drop_length;
	u64 drop_address;
	/* Atomically incremented. `kicks`: of the NIC processor, for pending work (layout/wake.h). */
	u64 kicks;
	u64 recovered;
	u64 drop_no_flow;

	/* Frames and bytes on the link. */
	u64 frames_sent;
	u64 bytes_sent;
	u64 frames_received;
	u64 bytes_received;
	u64 acks_sent;
	u64 nacks_sent;
	u64 nacks_received;
	u64 retransmitted;
	/* Repeated packets, and late ones. */
	u64 duplicates;
	u64 returned;
	u64 unreachable;
	/* Dropped frames, by reason. */
	u64 bad_length;
	u64 bad_version;
	u64 bad_crc;
	u64 bad_field;
	u64 bad_incarnation;
	u64 bad_row;
	/* The sender's node group does not match the GID that it claims. */
	u64 bad_gid;
	/* Endpoint frames: uses of an endpoint that was not resident, loads, evictions. */
	u64 faults;
	u64 loads;
	u64 evictions;
	/* Acknowledgements of packets, or transmissions, that are not outstanding any more. */
	u64 stale_answers;
	/* No free row for a caller or a request. */
	u64 no_row;
	/* A row's lock was held for too long; the frame is sent again. */
	u64 drop_busy;
	/* Frames without the required proof of their sender. */
	u64 bad_proof;
	/*
	 * HELLOs that claim a known NIC's identity from another address, or with an earlier
	 * incarnation.
	 */
	u64 bad_claim;
	/* Rows of quiet NICs that were reclaimed for others. */
	u64 reclaimed;
	/* REFUSE frames that were sent, and those received for a call. */
	u64 refusals_sent;
	u64 refusals;
	/* The longest stretch (NIC_STRETCH_REQUESTS): in requests, and in bytes. */
	u64 longest_requests;
	u64 longest_bytes;
	u64 rsvd;
};
static_assert(sizeof(struct nic_counters) % 64 == 0, "whole lines");

/* Sizes that the agent chooses for a new NIC; tables are powers of two, except max_frame. */
struct nic_config {
	u32 max_qp;
	u32 max_cq;
	u32 max_srq;
	u32 max_mr;
	u32 max_channel;
	/* Limit of owner ids and address spaces (the host's client table). */
	u32 max_client;
	/* Limit of other NICs that are known at the same time; 0: no link. */
	u32 max_row;
	/* Endpoint frames: limit of endpoints that use the link at the same time. */
	u32 max_frame;
	/* Bytes of host queue memory after the tables. */
	u64 queue_bytes;
	/* Time for which unreliable senders stall for a receive, ns. */
	u64 stall_ns;
	u64 node_guid;
	struct nic_settings settings;
};

/* In nic_qp.group, for datagrams and raw packets. */
enum nic_group_bit {
	/* op_phase is about the delivery to one of several receivers, not about the request. */
	NIC_GROUP_MEMBER = 1 << 0,
};

/* A queue pair that is attached to a multicast group. */
struct nic_member {
	u8 gid[16];
	/* Stored last; 0: the entry is free. */
	u32 qpn;
	u32 rsvd;
};

struct nic_header {
	u64 magic;
	u32 layout_version;
	u32 hw_version;
	struct nic_config config;
	/* Offsets of the tables from the header, and the total size. */
	u64 off_qp;
	u64 off_cq;
	u64 off_srq;
	u64 off_mr;
	u64 off_channel;
	u64 off_client;
	u64 off_pending;
	/* A bit per QP index: set when a QP is first created there, and never cleared. */
	u64 off_made;
	u64 off_async;
	u64 off_row;
	u64 off_hash;
	u64 off_frame;
	u64 off_backing;
	u64 off_want;
	u64 off_queue;
	u64 total_size;

	/* GIDs of port 1, entries below ngids; removed ones are zero. */
	u32 ngids;
	u32 port_up;
	/* LID of an InfiniBand port; 0: an Ethernet port. */
	u32 lid;
	/* Index of the link's own address among the GIDs; 0: the last one. */
	u32 link_gid;
	u8 gid[NIC_MAX_GIDS][16];

	/*
	 * Liveness of the agent: a robust futex word with the agent's thread id, in which the
	 * system sets FUTEX_OWNER_DIED when the agent dies.
	 */
	u32 agent_life __attribute__((aligned(64)));
	/* Non-zero: the device has failed for good. */
	u32 fatal;
	/* Fault injection, nic_starve(): messages find no receive. */
	u32 starves;
	/* Advanced after an object was revoked that operations may be using. */
	u32 grace_epoch;
	/* Number of regions with NIC_MR_FILE. */
	u32 fetches;

	/* enum nic_sleep; stored by the NIC processor before its last check for work. */
	u32 processor_sleeps __attribute__((aligned(64)));
	/* Non-zero: an async_pending word is set. */
	u32 async_any;
	/* CQs with a moderated event that has a due time; a bit per index % 64. */
	u64 cq_due;
	/* SRQs with tag operations that found a lock held; a bit per index % 64. */
	u64 tm_due;
	/* Channels with events whose waiter was not woken; a bit per index % 64. */
	u64 channel_due;
	/*
	 * Summary of the bitmap of pending QPs (off_pending), which has one bit per QP index.
	 * Summary bit b stands for the words [b * n, (b + 1) * n), n = max(1, words / 64). It is
	 * set after the bit in a word, cleared (exchanged) before the words are scanned, and set
	 * again if any of them stays non-zero.
	 */
	u64 pending_summary __attribute__((aligned(64)));

	nic_lock_t atomic_lock[NIC_ATOMIC_LOCKS] __attribute__((aligned(64)));
	struct nic_counters counters __attribute__((aligned(64)));
	/*
	 * Completions by enum vnet_wc_status, atomic: failures when they happen, successes of a CQ
	 * when it is destroyed.
	 */
	u64 completions[VNET_WC_STATUS_MAX];

	/* --- vn. Incarnation of this NIC, see nic_link_renew(). */
	u64 incarnation __attribute__((aligned(64)));
	struct nic_settings settings;
	/* All rows in use are below this index. */
	u32 row_high;
	/* row_lock protects the rows' hash chains, frame_lock the assignment of endpoint frames. */
	nic_lock_t row_lock;
	nic_lock_t frame_lock;
	u32 frame_hand;
	/* Free-running indices of the queue of QPs that wait for a frame (off_want). */
	u32 want_prod;
	u32 want_cons;
	/* Until then at most, an endpoint is kept in its frame for a packet; NIC clock, ns. */
	u64 long_pin_until;
	/* Rows that need looks at their timers; a bit per row % 64. */
	u64 row_active;
	/* NIC clock of the last look at the link by a process. */
	u64 link_polled;
	/*
	 * The timeout clock (nic_timeout_clock()): in the low 24 bits the last time at which timers
	 * were checked, above them the time that does not count; both in ms.
	 */
	u64 timeout_clock;

	/* --- multicast groups: all members are below this index. */
	u32 member_high __attribute__((aligned(64)));
	struct nic_member member[NIC_MAX_MEMBERS];

	/* --- flows: all flows are below this index. */
	u32 flow_high __attribute__((aligned(64)));
	struct nic_flow flow[NIC_MAX_FLOWS];
	struct nic_flow_counter flow_counter[NIC_MAX_FLOW_COUNTERS];
};

#endif /* NIC_MEMORY_H */
