/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Internal interface of the firmware, grouped by the file that implements it. */
#ifndef NIC_INTERNAL_H
#define NIC_INTERNAL_H

#include "layout/lock.h"

/* -- look-ups: NULL for a number that is out of range or not in use */

static inline struct nic_qp *nic_find_qp(struct nic *nic, u32 qpn)
{
	struct nic_qp *qp = &nic->qp[nic_qpn_index(nic, qpn)];

	return qpn && nic_load(&qp->qpn) == qpn ? qp : NULL;
}

static inline u32 nic_qp_index(const struct nic *nic, const struct nic_qp *qp)
{
	return (u32)(qp - nic->qp);
}

static inline struct nic_cq *nic_find_cq(struct nic *nic, u32 cqn)
{
	struct nic_cq *cq = &nic->cq[(cqn - 1) & (nic->max_cq - 1)];

	return cqn && nic_load(&cq->num) == cqn ? cq : NULL;
}

static inline struct nic_srq *nic_find_srq(struct nic *nic, u32 srqn)
{
	struct nic_srq *srq = &nic->srq[nic_srqn_index(nic, srqn)];

	return srqn && nic_load(&srq->rq.num) == srqn ? srq : NULL;
}

/*
 * The SRQ that messages for a QP take receives from. named: SRQ number in the request, for XRC.
 * NULL: the QP has no SRQ, or its domain has no such SRQ.
 */
static inline struct nic_srq *nic_srq_of(struct nic *nic, const struct nic_qp *qp, u32 named)
{
	u32 srqn = nic_load(&qp->srqn);
	struct nic_srq *srq;

	if (likely(srqn != NIC_SRQ_NAMED))
		return nic_find_srq(nic, srqn);
	srq = nic_find_srq(nic, named);
	return srq && srq->xrcdn == qp->xrcdn ? srq : NULL;
}

/* Not 0, and without the bit of a claim. */
static inline bool nic_is_key(u32 key)
{
	return key && !(key & NIC_KEY_CLAIMED);
}

static inline struct nic_mr *nic_find_mr(struct nic *nic, u32 key)
{
	struct nic_mr *mr = &nic->mr[nic_key_index(nic, key)];

	return nic_is_key(key) && nic_load(&mr->key) == key ? mr : NULL;
}

static inline bool nic_is_extended(u8 type)
{
	return type == NIC_QPT_XRC_INI || type == NIC_QPT_XRC_TGT;
}

/* The receive queue that an intent record names. */
static inline struct nic_rq *nic_find_rq(struct nic *nic, u32 num, bool is_srq)
{
	struct nic_srq *srq;
	struct nic_qp *qp;

	if (is_srq) {
		srq = nic_find_srq(nic, num);
		return srq ? &srq->rq : NULL;
	}
	qp = nic_find_qp(nic, num);
	return qp ? &qp->rq : NULL;
}

/*
 * Does a slot of 1 << shift bytes have room for `bytes` after its header? Checked at each use,
 * because the values stored at creation may be corrupted.
 */
static inline bool nic_slot_holds(u8 shift, u32 header, u32 bytes)
{
	return likely(shift < 16 && bytes < 1u << 16 && 1u << shift >= header + bytes);
}

/* Prevents the compiler from reading again what a process may change. */
#define nic_read_once_barrier() __asm__ __volatile__("" ::: "memory")

/* -- completion/event.c: completion channels and asynchronous events */

/* Raise an asynchronous event of an object. Any locks may be held. */
void nic_raise_qp(struct nic *nic, struct nic_qp *qp, enum nic_event event);
void nic_raise_cq(struct nic *nic, struct nic_cq *cq, enum nic_event event);
void nic_raise_srq(struct nic *nic, struct nic_srq *srq, enum nic_event event);
/*
 * The CQ got an entry, and its lock was released since, with a full barrier: make a completion
 * event if the CQ is armed for it. false: the channel's lock is held by another, call again.
 */
bool nic_cq_notify(struct nic *nic, struct nic_cq *cq, bool solicited);
/* NIC processor: make moderated events whose time is over; *next as in nic_run(). */
void nic_cq_run_due(struct nic *nic, u64 now, u64 *next);
/* The holder of the channel's lock died: rebuild the list from the CQs. */
void nic_channel_rebuild(struct nic *nic, u32 channel);

/* -- processor/wait.c: pending queue pairs */

/* Mark the QP as pending, and wake the NIC processor if it sleeps without a tick. */
void nic_pend(struct nic *nic, struct nic_qp *qp);
/* Mark the QP as pending, and run it after the caller's current queue is unlocked. */
void nic_follow(struct nic *nic, struct nic_qp *qp);
/* As nic_pend(), for work that can be done at once: also wakes a processor that dozes. */
void nic_pend_now(struct nic *nic, struct nic_qp *qp);
/* The QP is destroyed. */
void nic_unpend(struct nic *nic, struct nic_qp *qp);
/*
 * The head request cannot continue for this reason. Starts or continues its timer of `patience` ns
 * (0: none). Returns VNET_WC_SUCCESS: the request waits, and the QP is pending; else the status
 * with which it fails now.
 */
enum vnet_wc_status nic_wait_on(struct nic *nic, struct nic_qp *qp, enum nic_wait reason,
				u64 patience);
/* Transport timeout of a request, ns; 0: infinite. */
u64 nic_peer_patience(const struct nic_qp *qp);
/* RNR timer of the responder, ns. */
u64 nic_rnr_patience(const struct nic_qp *responder);

/* -- memory/copy.c: memory that is paged on demand */

/* Does this NIC have memory that is paged on demand? */
static inline bool nic_fetches(const struct nic *nic)
{
	return unlikely(nic->fetches && nic_load(nic->fetches));
}

/*
 * The operation that copies, and may wait for pages. what: index of a request in the send queue;
 * packet number of an arrival; or index of a receive, which other operations may wait for, too.
 */
struct nic_asker {
	struct nic_qp *qp;
	u32 role;
	u32 what;
};

static inline struct nic_asker nic_asker(struct nic_qp *qp, enum nic_role role, u32 what)
{
	return (struct nic_asker){ .qp = qp, .role = role, .what = what };
}

/* plat_fetch(), recorded for this operation. */
enum nic_copy_result nic_fetch_pages(struct nic *nic, struct nic_asker by,
				     const struct nic_piece *dst, u32 ndst,
				     const struct nic_piece *src, u32 nsrc, u64 length);
/*
 * Request the pages for the rest of a message in pieces, up to this many bytes: each packet that
 * finds pages missing costs a retransmission.
 */
#define NIC_FETCH_BLOCK (1ull << 20)
NIC_COLD void nic_fetch_ahead(struct nic *nic, const struct nic_piece *dst, u32 ndst,
			      const struct nic_piece *src, u32 nsrc, u64 length);
/*
 * Request the missing pages of a failed copy. Returns NIC_COPY_*_LATER, or the result of the copy.
 */
NIC_COLD enum nic_copy_result nic_copy_again(struct nic *nic, struct nic_asker by,
					     const struct nic_piece *dst, u32 ndst,
					     const struct nic_piece *src, u32 nsrc, u64 length);

/* plat_copy(); requests the pages if it returns NIC_COPY_*_LATER. */
static inline enum nic_copy_result nic_copy(struct nic *nic, struct nic_asker by,
					    const struct nic_piece *dst, u32 ndst,
					    const struct nic_piece *src, u32 nsrc, u64 length)
{
	enum nic_copy_result result = plat_copy(nic, dst, ndst, src, nsrc, length);

	if (likely(!nic_is_later(result)))
		return result;
	return nic_copy_again(nic, by, dst, ndst, src, nsrc, length);
}

/*
 * Copy all data of the head request of by.qp; of a long one only the next piece. NIC_COPY_PART:
 * there is more, and the request waits for its next turn (NIC_WAIT_TURN). to: identifies the
 * receive, so that progress to another receive does not count; 0: the request names its
 * destination.
 */
NIC_COLD enum nic_copy_result nic_copy_piece(struct nic *nic, struct nic_asker by, u64 to,
					     const struct nic_piece *dst, u32 ndst,
					     const struct nic_piece *src, u32 nsrc, u64 length);

static inline enum nic_copy_result nic_copy_long(struct nic *nic, struct nic_asker by, u64 to,
						 const struct nic_piece *dst, u32 ndst,
						 const struct nic_piece *src, u32 nsrc, u64 length)
{
	if (likely(length <= NIC_PIECE_BYTES))
		return nic_copy(nic, by, dst, ndst, src, nsrc, length);
	return nic_copy_piece(nic, by, to, dst, ndst, src, nsrc, length);
}

/* Pieces of bytes [offset, offset + length) of a list; returns their number. */
u32 nic_slice(const struct nic_piece *piece, u32 n, u64 offset, u64 length, struct nic_piece *out);

/* The operation that waited for pages is complete: the next one starts a new record. */
static inline void nic_fetched(struct nic_qp *executor, enum nic_role role)
{
	if (unlikely(executor->counters.fetch_since[role]))
		nic_store(&executor->counters.fetch_since[role], 0);
}

/* -- completion/complete.c: completion queue entries, with intent for recovery */

struct nic_completion {
	u64 wr_id;
	u64 scatter_addr;
	u32 byte_len;
	u32 qp_num;
	u32 src_qp;
	u32 imm;
	u8 opcode;
	u8 status;
	u8 flags;
	u8 payload_len;
	/* The sender asked for an event. */
	bool solicited;
	/* Tag matching: &vnet_ring.ended of the tag ring, and the value to store. */
	u32 *ended;
	u32 ended_with;
};

/* Prefetch the lines of the next entries. */
void nic_cq_expect(struct nic *nic, u32 cqn);
/* Ring of a CQ, NULL if its memory is not queue memory. */
struct vnet_ring *nic_cq_ring(struct nic *nic, const struct nic_cq *cq);
/*
 * Slot for the next entry; the caller holds the CQ's lock. NULL: the CQ overran (and the event was
 * raised), or has an error.
 */
struct vnet_cqe *nic_cq_slot(struct nic *nic, struct nic_cq *cq);
/*
 * Consume the receive at rq->cons, and complete it in cq. Called by the executor of qp, which holds
 * sq_lock and the locks of rq and cq; a payload in the CQE is written already. Leaves qp in
 * NIC_OP_NOTIFY (with op_arrival: NIC_OP_RETIRE_NOTIFY), and releases cq's lock. rq NULL: no
 * receive is consumed here.
 */
void nic_commit_receive(struct nic *nic, struct nic_qp *qp, struct nic_rq *rq, struct nic_cq *cq,
			struct vnet_cqe *slot, const struct nic_completion *wc);
/* Write an entry without intent, to a locked CQ of the process itself. */
void nic_complete_alone(struct nic *nic, struct nic_cq *cq, struct vnet_cqe *slot,
			const struct nic_completion *wc);
/* Consume the receive at rq->cons. */
void nic_take_receive(struct nic *nic, struct nic_rq *rq);
/*
 * Retire the head of the send queue with op_status: completion, if one is due, and consumer index.
 * false: a lock is held by another, call again.
 */
bool nic_retire(struct nic *nic, struct nic_qp *qp, const struct vnet_send_wqe *wqe);
/* Second part of nic_retire(), in NIC_OP_RETIRE_NOTIFY: the completion event. */
bool nic_retire_notify(struct nic *nic, struct nic_qp *qp);

/* -- responder/receive.c: the responder */

/* A message for a receive queue. */
struct nic_message {
	/* Numbers of the destination QP and of the sender. */
	u32 dest;
	u32 from;
	const struct nic_piece *src;
	u32 nsrc;
	/* Upper half of immediate data, with VNET_WC_IMM64. */
	u32 imm_high;
	u64 length;
	u32 imm;
	/* enum vnet_wc_flags */
	u8 wc_flags;
	/* VNET_WC_RECV; VNET_WC_RECV_RDMA_WITH_IMM: the data is placed already. */
	u8 wc_opcode;
	bool solicited;
	bool datagram;
	/* Datagrams on InfiniBand ports: service level, and the sender's LID. */
	u8 sl;
	u16 slid;
	/* The message has several receivers: none of them is waited for. */
	bool group;
	/* Invalidate key `imm` at the receiver. */
	bool invalidate;
	/* The message is from another NIC; the executor is the responder itself. */
	bool arrival;
	/* Receive that was taken by the first packet of the message; NULL: none. */
	const struct nic_open_receive *opened;
	/* Error in writing an earlier piece, or in taking the receive. */
	enum vnet_wc_status broken;
};

/* Results of an execution attempt that are not a completion status. The request waits. */
#define NIC_EXEC_WAIT 0x100u
/* Datagram to several receivers: a completion event must be made before the next receiver. */
#define NIC_EXEC_MORE 0x101u
/* Arrivals: no receive; a lock is held by another, or the process is gone. */
#define NIC_EXEC_NO_RECEIVE 0x102u
#define NIC_EXEC_BUSY 0x103u
/* Pages are being brought. */
#define NIC_EXEC_PAGES 0x104u
/* A piece was executed: NIC_COPY_PART. */
#define NIC_EXEC_PART 0x105u
/*
 * Flag: an unreliable message was lost or refused, with the status that says why. The requester
 * learns of it only with return to sender (nic_fate()).
 */
#define NIC_EXEC_DROPPED 0x200u

/* Completion status of the requester. */
static inline u32 nic_fate(const struct nic_qp *qp, u32 status)
{
	if (likely(!(status & NIC_EXEC_DROPPED)))
		return status;
	return qp->returns ? status & ~NIC_EXEC_DROPPED : VNET_WC_SUCCESS;
}

/*
 * Is this the status of a message that was returned to its sender? That is a failure of the peer or
 * of the path, and does not affect the sender's queue pair.
 */
static inline bool nic_is_returned(const struct nic_qp *qp, u32 status)
{
	return qp->returns && status >= VNET_WC_REM_INV_REQ_ERR &&
	       status <= VNET_WC_RNR_RETRY_EXC_ERR;
}

/*
 * The head request waits for pages, its own or (!own) the receiver's. false: the request is
 * unreliable, and the limited wait for another process is over.
 */
NIC_COLD bool nic_wait_for_pages(struct nic *nic, struct nic_qp *qp, bool own);

/* Result of an attempt that needs pages. */
static inline u32 nic_await_pages(struct nic *nic, struct nic_qp *qp, bool own)
{
	return nic_wait_for_pages(nic, qp, own) ? NIC_EXEC_WAIT :
						  NIC_EXEC_DROPPED | VNET_WC_RNR_RETRY_EXC_ERR;
}

/*
 * Deliver a message to peer's receive queue. Called by the executor of qp, which holds its sq_lock.
 * Returns the requester's completion status, or NIC_EXEC_*.
 */
u32 nic_deliver(struct nic *nic, struct nic_qp *qp, struct nic_qp *peer,
		const struct nic_message *msg);

/* -- responder/pieces.c: the responder for messages of several packets */

/*
 * First packet of a message: take the receive or tagged buffer for it, and record it in *open.
 * Returns VNET_WC_SUCCESS, NIC_EXEC_NO_RECEIVE, NIC_EXEC_BUSY, or the error of a receive that
 * cannot hold the message.
 */
u32 nic_open(struct nic *nic, struct nic_qp *qp, const struct nic_message *msg,
	     struct nic_open_receive *open);
/* false: the receive is of an SRQ that was destroyed, so it needs no completion. */
bool nic_open_is_there(struct nic *nic, const struct nic_qp *qp,
		       const struct nic_open_receive *open);
/*
 * Write a packet's data at `offset` of the message; left: bytes from there to the message's end.
 * Returns the receiver's status, NIC_EXEC_PAGES, or NIC_EXEC_BUSY if the receiving process is
 * exiting.
 */
u32 nic_fill_open(struct nic *nic, struct nic_qp *qp, const struct nic_open_receive *open,
		  u64 offset, const struct nic_piece *src, u64 left);

/* -- recovery/flush.c: queue pairs in error */

struct nic_stretch;

/* Flush the receives of a QP in error, within the stretch s. The caller holds sq_lock. */
void nic_flush_receives(struct nic *nic, struct nic_qp *qp, struct nic_stretch *s);
/*
 * Put a QP into the error state. The caller holds its sq_lock or rq.lock. event < 0: raise none.
 * Requests and receives are flushed later.
 */
void nic_qp_fail(struct nic *nic, struct nic_qp *qp, int event);

/* -- objects/group.c: multicast groups */

/* QP number of all members of a multicast group (IB vol 1, 10.5). */
#define NIC_GROUP_QPN VNET_WIRE_GROUP_QPN
/*
 * Progress of a request with several receivers: index of the next member, flow or row, and some
 * bits of the request's number. The bits distinguish it from stale progress of another request,
 * which a death may leave behind.
 */
#define NIC_MARK_BITS 16
#define NIC_MARK_MOST ((1u << NIC_MARK_BITS) - 1)

static inline u32 nic_group_mark(u32 request, u32 at)
{
	return (request | 0x8000u) << NIC_MARK_BITS | (at < NIC_MARK_MOST ? at : NIC_MARK_MOST);
}

/* NIC_NONE: the progress is that of another request. */
static inline u32 nic_group_at(u32 mark, u32 request)
{
	return (mark & ~NIC_MARK_MOST) == nic_group_mark(request, 0) ? mark & NIC_MARK_MOST :
								       NIC_NONE;
}

/* Another request begins. Stale progress must go, as request numbers repeat in these bits. */
static inline void nic_group_forget(struct nic_qp *qp)
{
	if (unlikely(qp->op_member))
		nic_store(&qp->op_member, 0);
}

bool nic_is_group_gid(const u8 *gid);
u32 nic_member_high(const struct nic *nic);
/* Member i < nic_member_high(), if it is attached to this group; else NULL. */
struct nic_qp *nic_member_find(struct nic *nic, u32 i, const u8 *gid);
/* Is a QP of this NIC attached to the group? */
bool nic_group_is_joined(struct nic *nic, const u8 *gid);
/* Remove a destroyed QP from all groups. */
void nic_members_leave(struct nic *nic, u32 qpn);

/* -- ether/frame.c: Ethernet frames */

static inline bool nic_is_ether_length(u64 length)
{
	return length >= NIC_ETHER_HEADER && length <= NIC_MAX_ETHER;
}

/* Parse the headers of a frame into the fields that flows match. */
void nic_frame_parse_key(const u8 *frame, u32 length, struct nic_frame_key *key);
/* Is this the port's own address? */
bool nic_is_own_mac(const struct nic *nic, const u8 *mac);

/* -- ether/flow.c: flows of Ethernet frames */

/* A set of flows, one bit each, and its size. */
struct nic_flow_set {
	u64 bits[NIC_MAX_FLOWS / 64];
	u32 count;
};

u32 nic_flow_high(const struct nic *nic);
/* Find the flows that a frame goes to; each receiver gets it once. */
void nic_flow_find(const struct nic *nic, const struct nic_frame_key *key,
		   struct nic_flow_set *set);
static inline bool nic_flow_is_in(const struct nic_flow_set *set, u32 i)
{
	return set->bits[i / 64] >> (i % 64) & 1;
}
/* The receiver of flow i; NULL: none can receive now. */
struct nic_qp *nic_flow_receiver(struct nic *nic, u32 i, const struct nic_frame_key *key);
/* Set what the completion reports of flow i. */
void nic_flow_show(const struct nic *nic, u32 i, struct nic_message *msg);
void nic_flow_count(struct nic *nic, u32 i, u64 bytes);
/* Remove the flows of a destroyed QP. */
void nic_flows_leave(struct nic *nic, u32 qpn);

/* -- ether/rss.c */

/* Number of the work queue for a frame. */
u32 nic_rss_wqn(const struct nic_rss *rss, const struct nic_frame_key *key);

/* -- address/grh.c */

/* Write the GRH of a datagram of `length` bytes, if it has one; returns VNET_WC_GRH* flags. */
u8 nic_make_grh(const struct nic *nic, const struct vnet_wqe_ud *ud, u64 length, u8 *grh);

/* -- requester/send.c: the requester */

/* State of a stretch (NIC_STRETCH_REQUESTS). */
struct nic_stretch {
	/*
	 * Requests that may be executed, in this and later stretches; a long one counts as several.
	 */
	u32 budget;
	/* One stretch only: the caller must continue with something else. */
	bool once;
	/* Work in this stretch: bytes, and requests in multiples of NIC_STRETCH_REQUEST. */
	u64 work;
};

#define NIC_STRETCH_REQUEST (1ull << 40)
/*
 * The stretch is over after NIC_STRETCH_REQUESTS, or if the next request could exceed
 * NIC_STRETCH_BYTES. Both thresholds are powers of two, so that a mask tests them.
 */
#define NIC_STRETCH_OVER                                                                           \
	(~(NIC_STRETCH_REQUESTS * NIC_STRETCH_REQUEST - 1) |                                       \
	 (NIC_STRETCH_REQUEST - (NIC_STRETCH_BYTES - NIC_PIECE_BYTES)))
static_assert(!(NIC_STRETCH_REQUESTS & (NIC_STRETCH_REQUESTS - 1)), "a mask tells");
static_assert(!((NIC_STRETCH_BYTES - NIC_PIECE_BYTES) & (NIC_STRETCH_BYTES - NIC_PIECE_BYTES - 1)),
	      "a mask tells");

static inline u32 nic_stretch_requests(const struct nic_stretch *s)
{
	return (u32)(s->work / NIC_STRETCH_REQUEST);
}

static inline bool nic_stretch_is_over(const struct nic_stretch *s)
{
	return s->work & NIC_STRETCH_OVER;
}

/* End a stretch. true: the host had its turn, and a new stretch begins; false: return. */
NIC_COLD bool nic_stretch_next(struct nic *nic, struct nic_stretch *s);
/* Record the length of a stretch that has ended. */
NIC_COLD void nic_stretch_note(struct nic *nic, const struct nic_stretch *s);
static inline void nic_stretch_end(struct nic *nic, const struct nic_stretch *s)
{
	if (unlikely(s->work > nic_load(&nic->longest) || nic_stretch_is_over(s)))
		nic_stretch_note(nic, s);
}

/* Count an executed request, packet or piece of this many bytes. */
static inline void nic_stretch_add(struct nic_stretch *s, u64 bytes)
{
	s->work +=
		NIC_STRETCH_REQUEST + (likely(bytes <= NIC_PIECE_BYTES) ? bytes : NIC_PIECE_BYTES);
}

/*
 * Execute the send queue (and flush the receive queue) as far as possible, at most `budget`
 * requests, in as many stretches as needed. The caller holds no lock. false: another thread has
 * sq_lock, and may not see the latest request.
 */
bool nic_qp_run(struct nic *nic, struct nic_qp *qp, u32 budget);
/* The same, within the caller's stretch. */
bool nic_qp_run_stretch(struct nic *nic, struct nic_qp *qp, struct nic_stretch *s);
/*
 * The same for a caller that does not own the queue: a turn of at most `budget` requests and one
 * stretch. The NIC processor continues at once with what is left.
 */
bool nic_qp_run_turn(struct nic *nic, struct nic_qp *qp, u32 budget);

/* Called without the lock: is there something to execute now? */
bool nic_qp_has_work(struct nic *nic, struct nic_qp *qp);
/*
 * Release sq_lock, and execute what was posted meanwhile: a poster that finds the lock taken leaves
 * the work to its holder.
 */
void nic_qp_unlock(struct nic *nic, struct nic_qp *qp);

/* -- memory/grace.c: waiting for operations under way */

/*
 * The executor of qp is between two operations: it does not use any earlier look-up from here on.
 * Acquire pairs with nic_grace_begin(): an executor that sees the new epoch sees what was revoked
 * before.
 */
static inline void nic_grace_point(struct nic *nic, struct nic_qp *qp)
{
	u32 epoch = nic_load_acquire(&nic->hdr->grace_epoch);

	if (unlikely(epoch != qp->grace_seen))
		nic_store_release(&qp->grace_seen, epoch);
}

/* -- objects/qp.c */

/* Take all locks under which a QP executes or receives; all or none. */
bool nic_qp_lock_all(struct nic *nic, struct nic_qp *qp);
void nic_qp_unlock_all(struct nic *nic, struct nic_qp *qp);
/*
 * Prevent new operations with a QP, all of whose locks the caller holds. Returns whether none is
 * under way; false: call again.
 */
bool nic_qp_seal(struct nic *nic, struct nic_qp *qp);

/* -- objects/cq.c */

/* Check a ring: `entries` (a power of two) slots of 1 << shift bytes, in queue memory; or NULL. */
struct vnet_ring *nic_ring_check(struct nic *nic, u64 ring, u32 entries, u8 shift);

/* -- memory/placement.c */

/* The range and rights of a flush. */
struct nic_placement {
	u32 key;
	/* Rights that it needs (enum nic_access), by its placement types. */
	u32 access;
	/* The whole region; otherwise this range. */
	bool whole;
	u64 addr;
	u64 length;
};

/* Decode vnet_flush_operand(); false: invalid. */
bool nic_placement_read(u64 operand, struct nic_placement *p);
/* Execute a flush for the responder's queue pair: VNET_WC_SUCCESS, or the error. */
enum vnet_wc_status nic_placement_run(struct nic *nic, const struct nic_qp *qp, u32 pdn,
				      const struct nic_placement *p);

/* -- memory/keys.c: keys */

/*
 * Does the key name memory of pdn with the given rights (enum nic_access) over [addr, addr +
 * length)? Sets *piece. qpn: for type 2 windows. Length 0 is always allowed.
 */
bool nic_check_key(struct nic *nic, u32 key, u32 pdn, u32 qpn, u32 access, u64 addr, u64 length,
		   struct nic_piece *piece);
/* The same for a flush; its key is checked even if the range is empty. */
bool nic_check_placement(struct nic *nic, u32 pdn, u32 qpn, const struct nic_placement *p);
/* Bind a window (length 0: unbind): VNET_WC_SUCCESS, or the error. */
enum vnet_wc_status nic_bind_window(struct nic *nic, struct nic_qp *qp,
				    const struct vnet_wqe_bind *bind);
/* Register a region whose pages the host knows: VNET_WC_SUCCESS, or the error. */
enum vnet_wc_status nic_register(struct nic *nic, struct nic_qp *qp,
				 const struct vnet_wqe_bind *reg);
/*
 * Invalidate a fast registration or type 2 window of qp, locally or for a remote request, by the
 * executor. Returns VNET_WC_SUCCESS, the error, or NIC_EXEC_WAIT.
 */
u32 nic_invalidate_key(struct nic *nic, struct nic_qp *executor, const struct nic_qp *qp, u32 key);
/*
 * The executor of this QP died: close the object whose key it was changing, so that a repeated
 * operation finds a valid key, and can be executed.
 */
void nic_key_recover(struct nic *nic, const struct nic_qp *executor, u32 owner);

/* -- vn/settings.c */

void nic_vn_settings_init(struct nic_settings *to, const struct nic_settings *wanted);

#endif /* NIC_INTERNAL_H */
