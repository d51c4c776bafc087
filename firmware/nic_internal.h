/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Between the firmware's own files; grouped by the file that implements them.
 */
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
 * The SRQ of messages for a QP; `named`: by the request, where that names it. NULL:
 * it has none, or there is no such SRQ in its domain.
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

/* Not 0, and without the bit that marks a claim. */
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

/* Receive queue that a QP draws from, as intent records name it. */
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
 * Whether a slot of 1 << shift bytes has `bytes` after its header. Checked at
 * use too: what was written down when the queue was made may be scribbled over.
 */
static inline bool nic_slot_holds(u8 shift, u32 header, u32 bytes)
{
	return likely(shift < 16 && bytes < 1u << 16 && 1u << shift >= header + bytes);
}

/* The compiler must not read a second time what a process may change. */
#define nic_read_once_barrier() __asm__ __volatile__("" ::: "memory")

/* -- completion/event.c: completion channels and asynchronous events */

/* Raise an event of an object. Any locks may be held. */
void nic_raise_qp(struct nic *nic, struct nic_qp *qp, enum nic_event event);
void nic_raise_cq(struct nic *nic, struct nic_cq *cq, enum nic_event event);
void nic_raise_srq(struct nic *nic, struct nic_srq *srq, enum nic_event event);
/*
 * The CQ got an entry, and its lock was released (a full barrier) since: make
 * an event if it is armed for it. false: the channel's lock could not be had;
 * call again later.
 */
bool nic_cq_notify(struct nic *nic, struct nic_cq *cq, bool solicited);
/* The NIC processor: events that have waited long enough; *next as in nic_run(). */
void nic_cq_run_due(struct nic *nic, u64 now, u64 *next);
/* The holder of the channel's lock died: make the list what the CQs say. */
void nic_channel_rebuild(struct nic *nic, u32 channel);

/* -- processor/wait.c: pending endpoints */

/* Mark the QP as having work for the NIC processor, and wake that if needed. */
void nic_pend(struct nic *nic, struct nic_qp *qp);
/* The same of a QP that the caller runs itself, once its own queue is unlocked. */
void nic_follow(struct nic *nic, struct nic_qp *qp);
/* The same of work that could be done at once: not at the next tick of a processor that dozes. */
void nic_pend_now(struct nic *nic, struct nic_qp *qp);
/* The QP does not exist any more. */
void nic_unpend(struct nic *nic, struct nic_qp *qp);
/*
 * The head request cannot go on for this reason. Starts or continues its
 * timer; VNET_WC_SUCCESS: it waits (and the QP is pending); else the status
 * with which it fails now. patience: see processor/wait.c.
 */
enum vnet_wc_status nic_wait_on(struct nic *nic, struct nic_qp *qp, enum nic_wait reason,
				u64 patience);
/* Patience of a request with its transport timer; 0: without end. */
u64 nic_peer_patience(const struct nic_qp *qp);
/* Patience with a responder that is not ready. */
u64 nic_rnr_patience(const struct nic_qp *responder);

/* -- memory/copy.c: memory that is paged on demand */

/* Is there memory at all that is? */
static inline bool nic_fetches(const struct nic *nic)
{
	return unlikely(nic->fetches && nic_load(nic->fetches));
}

/*
 * Who copies, and may have to wait for pages: of the requests that of this index in the
 * send queue; of what came by the wire the packet of this number, or the receive of this
 * index, which others wait for, too.
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

/* As plat_fetch(), for what this one is about. */
enum nic_copy_result nic_fetch_pages(struct nic *nic, struct nic_asker by,
				     const struct nic_piece *dst, u32 ndst,
				     const struct nic_piece *src, u32 nsrc, u64 length);
/*
 * A message in pieces will need the pages of these, too: so much of it is asked for at a
 * time, as each piece that had to come again would be waited for.
 */
#define NIC_FETCH_BLOCK (1ull << 20)
NIC_COLD void nic_fetch_ahead(struct nic *nic, const struct nic_piece *dst, u32 ndst,
			      const struct nic_piece *src, u32 nsrc, u64 length);
/* The same for a copy that lacked some: what it comes to. */
NIC_COLD enum nic_copy_result nic_copy_again(struct nic *nic, struct nic_asker by,
					     const struct nic_piece *dst, u32 ndst,
					     const struct nic_piece *src, u32 nsrc, u64 length);

/* plat_copy(); where it says NIC_COPY_*_LATER, the pages are on their way. */
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
 * The same for all data of the head request of by.qp, which may be long: then one piece of
 * it, the next after what was moved before. NIC_COPY_PART: there are more, and the request
 * waits for its next turn (NIC_WAIT_TURN). to: which receive it goes to, so that what went
 * to another one does not count; 0 if it goes where it says itself.
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

/* Bytes [offset, offset + length) of these: how many pieces. */
u32 nic_slice(const struct nic_piece *piece, u32 n, u64 offset, u64 length, struct nic_piece *out);

/* What asked for pages is over: the next one asks for itself. */
static inline void nic_fetched(struct nic_qp *executor, enum nic_role role)
{
	if (unlikely(executor->counters.fetch_since[role]))
		nic_store(&executor->counters.fetch_since[role], 0);
}

/* -- completion/complete.c: completion queue entries, with their intent */

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
	/* Of a tagged buffer: vnet_ring.ended of its list, and what it is from then on. */
	u32 *ended;
	u32 ended_with;
};

/* Entries are about to be made: have their lines come. */
void nic_cq_expect(struct nic *nic, u32 cqn);
/* Ring of a CQ, NULL if its memory is not queue memory. */
struct vnet_ring *nic_cq_ring(struct nic *nic, const struct nic_cq *cq);
/*
 * Slot for the next entry, with the CQ's lock held. NULL: it overran (which has
 * been told), or is in error.
 */
struct vnet_cqe *nic_cq_slot(struct nic *nic, struct nic_cq *cq);
/*
 * Take the receive at rq->cons and complete it in cq, by the executor of qp
 * (its sq_lock is held, with the locks of rq and cq). The payload is in the slot
 * already. Leaves qp in NIC_OP_NOTIFY (with op_arrival: NIC_OP_RETIRE_NOTIFY) with
 * cq unlocked. rq NULL: the receive was taken before.
 */
void nic_commit_receive(struct nic *nic, struct nic_qp *qp, struct nic_rq *rq, struct nic_cq *cq,
			struct vnet_cqe *slot, const struct nic_completion *wc);
/* An entry that nothing else depends on, in a locked CQ of the process' own. */
void nic_complete_alone(struct nic *nic, struct nic_cq *cq, struct vnet_cqe *slot,
			const struct nic_completion *wc);
/* The receive at rq->cons is taken. */
void nic_take_receive(struct nic *nic, struct nic_rq *rq);
/*
 * Retire the head of the send queue with op_status: completion, if one is due,
 * and consumer index. false: a lock could not be had; call again.
 */
bool nic_retire(struct nic *nic, struct nic_qp *qp, const struct vnet_send_wqe *wqe);
/* The rest of it in NIC_OP_RETIRE_NOTIFY: the event that op_cqn may be owed. */
bool nic_retire_notify(struct nic *nic, struct nic_qp *qp);

/* -- responder/receive.c: the responder */

/* What arrives at a receive queue. */
struct nic_message {
	/* Number of the QP that it is for, and of the one that sent it. */
	u32 dest;
	u32 from;
	const struct nic_piece *src;
	u32 nsrc;
	/* With VNET_WC_IMM64. */
	u32 imm_high;
	u64 length;
	u32 imm;
	/* enum vnet_wc_flags */
	u8 wc_flags;
	/* VNET_WC_RECV, VNET_WC_RECV_RDMA_WITH_IMM (whose data is placed) */
	u8 wc_opcode;
	bool solicited;
	bool datagram;
	/* Of datagrams, at ports of InfiniBand: the sender's LID, and the service level. */
	u8 sl;
	u16 slid;
	/* To one of many, for whose receives nobody waits. */
	bool group;
	/* Remote invalidate of key imm. */
	bool invalidate;
	/* It came by the wire; the executor is the responder itself. */
	bool arrival;
	/* The receive that it is for was taken by its first piece; NULL: none. */
	const struct nic_open_receive *opened;
	/* Whether the pieces could be written to it, or why there is none. */
	enum vnet_wc_status broken;
};

/* Outcomes of an attempt that are not a wc status. */
#define NIC_EXEC_WAIT 0x100u
/* Of a datagram to a group: an event is owed to one of them, before the next has it. */
#define NIC_EXEC_MORE 0x101u
/* Of arrivals: no receive is there; somebody is inside, or the process is gone. */
#define NIC_EXEC_NO_RECEIVE 0x102u
#define NIC_EXEC_BUSY 0x103u
/* Memory that is paged on demand is being brought. */
#define NIC_EXEC_PAGES 0x104u
/* A piece of it was moved: NIC_COPY_PART. */
#define NIC_EXEC_PART 0x105u
/*
 * Lost on the way or refused: added to the status that tells why, which an unreliable
 * requester learns only where it has asked for it (nic_fate()).
 */
#define NIC_EXEC_DROPPED 0x200u

/* What the requester is told of it. */
static inline u32 nic_fate(const struct nic_qp *qp, u32 status)
{
	if (likely(!(status & NIC_EXEC_DROPPED)))
		return status;
	return qp->returns ? status & ~NIC_EXEC_DROPPED : VNET_WC_SUCCESS;
}

/*
 * Is this the fate of a message that its sender has back? A failure of the peer or of
 * the way there, of which its own queue pair takes no harm.
 */
static inline bool nic_is_returned(const struct nic_qp *qp, u32 status)
{
	return qp->returns && status >= VNET_WC_REM_INV_REQ_ERR &&
	       status <= VNET_WC_RNR_RETRY_EXC_ERR;
}

/*
 * The head request needs pages of its own process, or of who receives it: it waits.
 * false: it is unreliable, and has waited for another process for long enough.
 */
NIC_COLD bool nic_wait_for_pages(struct nic *nic, struct nic_qp *qp, bool own);

/* What the attempt comes to then. */
static inline u32 nic_await_pages(struct nic *nic, struct nic_qp *qp, bool own)
{
	return nic_wait_for_pages(nic, qp, own) ? NIC_EXEC_WAIT :
						  NIC_EXEC_DROPPED | VNET_WC_RNR_RETRY_EXC_ERR;
}

/*
 * Give a message to peer's receive queue, by the executor of qp. Answers the
 * requester's completion status or NIC_EXEC_WAIT.
 */
u32 nic_deliver(struct nic *nic, struct nic_qp *qp, struct nic_qp *peer,
		const struct nic_message *msg);

/* -- responder/pieces.c: the responder, of messages in pieces */

/*
 * The first piece of a message: take the receive, or the tagged buffer, that it will
 * fill and write it to *open. VNET_WC_SUCCESS; NIC_EXEC_NO_RECEIVE; NIC_EXEC_BUSY;
 * or another status if that cannot hold the message.
 */
u32 nic_open(struct nic *nic, struct nic_qp *qp, const struct nic_message *msg,
	     struct nic_open_receive *open);
/* false: it is of an SRQ that is no more, so that nobody waits for it. */
bool nic_open_is_there(struct nic *nic, const struct nic_qp *qp,
		       const struct nic_open_receive *open);
/*
 * A piece of that message, at `offset` of it, with which so many bytes of it are left:
 * status of the receiver, NIC_EXEC_PAGES, or NIC_EXEC_BUSY if the receiver is at its end.
 */
u32 nic_fill_open(struct nic *nic, struct nic_qp *qp, const struct nic_open_receive *open,
		  u64 offset, const struct nic_piece *src, u64 left);

/* -- recovery/flush.c: queue pairs in error */

struct nic_stretch;

/* Complete all receives of a QP in error, as far as s goes; caller holds sq_lock. */
void nic_flush_receives(struct nic *nic, struct nic_qp *qp, struct nic_stretch *s);
/*
 * Put a QP into the error state, by a holder of its sq_lock or rq.lock; event
 * < 0: none. What is queued is flushed later.
 */
void nic_qp_fail(struct nic *nic, struct nic_qp *qp, int event);

/* -- objects/group.c: multicast groups */

/* Number of a QP that all members of a group have (IB vol 1, 10.5). */
#define NIC_GROUP_QPN VNET_WIRE_GROUP_QPN
/*
 * How far a request to a group, or a frame, has come: members or flows, or rows of other
 * NICs. With a part of its number: what a death leaves behind of another one is not taken
 * for this one's.
 */
#define NIC_MARK_BITS 16
#define NIC_MARK_MOST ((1u << NIC_MARK_BITS) - 1)

static inline u32 nic_group_mark(u32 request, u32 at)
{
	return (request | 0x8000u) << NIC_MARK_BITS | (at < NIC_MARK_MOST ? at : NIC_MARK_MOST);
}

/* NIC_NONE: it is another one's. */
static inline u32 nic_group_at(u32 mark, u32 request)
{
	return (mark & ~NIC_MARK_MOST) == nic_group_mark(request, 0) ? mark & NIC_MARK_MOST :
								       NIC_NONE;
}

/* Another request begins: in time, one will have the same part of its number. */
static inline void nic_group_forget(struct nic_qp *qp)
{
	if (unlikely(qp->op_member))
		nic_store(&qp->op_member, 0);
}

bool nic_is_group_gid(const u8 *gid);
u32 nic_member_high(const struct nic *nic);
/* Member i < nic_member_high(), if it is of this group: or NULL. */
struct nic_qp *nic_member_find(struct nic *nic, u32 i, const u8 *gid);
/* Somebody of this NIC is attached to it. */
bool nic_group_is_joined(struct nic *nic, const u8 *gid);
/* The QP is no more. */
void nic_members_leave(struct nic *nic, u32 qpn);

/* -- ether/frame.c: Ethernet frames */

static inline bool nic_is_ether_length(u64 length)
{
	return length >= NIC_ETHER_HEADER && length <= NIC_MAX_ETHER;
}

/* What flows look at, in the headers of a frame. */
void nic_frame_parse_key(const u8 *frame, u32 length, struct nic_frame_key *key);
/* The address is this port's own. */
bool nic_is_own_mac(const struct nic *nic, const u8 *mac);

/* -- ether/flow.c: what Ethernet frames are for whom */

/* Flows, a bit for each. */
struct nic_flow_set {
	u64 bits[NIC_MAX_FLOWS / 64];
	u32 count;
};

u32 nic_flow_high(const struct nic *nic);
/* The flows that a frame belongs to, each receiver once. */
void nic_flow_find(const struct nic *nic, const struct nic_frame_key *key,
		   struct nic_flow_set *set);
static inline bool nic_flow_is_in(const struct nic_flow_set *set, u32 i)
{
	return set->bits[i / 64] >> (i % 64) & 1;
}
/* Who receives by flow i: NULL if nobody can just now. */
struct nic_qp *nic_flow_receiver(struct nic *nic, u32 i, const struct nic_frame_key *key);
/* What its completion says of flow i. */
void nic_flow_show(const struct nic *nic, u32 i, struct nic_message *msg);
void nic_flow_count(struct nic *nic, u32 i, u64 bytes);
/* The QP is no more. */
void nic_flows_leave(struct nic *nic, u32 qpn);

/* -- ether/rss.c */

/* The work queue of a frame, of those that *rss names. */
u32 nic_rss_wqn(const struct nic_rss *rss, const struct nic_frame_key *key);

/* -- address/grh.c */

/* The header in front of a datagram of `length` bytes, if it has one: VNET_WC_GRH*. */
u8 nic_make_grh(const struct nic *nic, const struct vnet_wqe_ud *ud, u64 length, u8 *grh);

/* -- requester/send.c: the requester */

/* A stretch: see NIC_STRETCH_REQUESTS. */
struct nic_stretch {
	/* Requests that may be executed, in it and in later ones; a long one counts as several. */
	u32 budget;
	/* The caller has other things to do when it is over. */
	bool once;
	/* What was executed in it: bytes, and requests above. */
	u64 work;
};

#define NIC_STRETCH_REQUEST (1ull << 40)
/* Both bounds are powers of two, and may be reached by what is executed next. */
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

/* It is over, or the budget is spent; true: the host had its turn, and another one begins. */
NIC_COLD bool nic_stretch_next(struct nic *nic, struct nic_stretch *s);
/* Nothing more is executed in it: how long it was. */
NIC_COLD void nic_stretch_note(struct nic *nic, const struct nic_stretch *s);
static inline void nic_stretch_end(struct nic *nic, const struct nic_stretch *s)
{
	if (unlikely(s->work > nic_load(&nic->longest) || nic_stretch_is_over(s)))
		nic_stretch_note(nic, s);
}

/* A request, or a packet, of so many bytes was executed, or a piece of one. */
static inline void nic_stretch_add(struct nic_stretch *s, u64 bytes)
{
	s->work +=
		NIC_STRETCH_REQUEST + (likely(bytes <= NIC_PIECE_BYTES) ? bytes : NIC_PIECE_BYTES);
}

/*
 * Run the send queue (and the flush of the receive queue) as far as it goes, at
 * most `budget` requests, in as many stretches as that takes. The caller holds
 * nothing. false: somebody else has its lock, who may have looked at it for the last
 * time already.
 */
bool nic_qp_run(struct nic *nic, struct nic_qp *qp, u32 budget);
/* The same, in one stretch, which the caller has begun, at most. */
bool nic_qp_run_stretch(struct nic *nic, struct nic_qp *qp, struct nic_stretch *s);
/*
 * The same by who does not owe it to the queue's owner: a turn of at most `budget` requests,
 * of one stretch; what is left, the NIC processor has at once.
 */
bool nic_qp_run_turn(struct nic *nic, struct nic_qp *qp, u32 budget);

/* Without the lock: whether there is something to run now. */
bool nic_qp_has_work(struct nic *nic, struct nic_qp *qp);
/*
 * Release sq_lock, and do what was asked for meanwhile: who posts and finds the
 * lock taken leaves the work to its holder.
 */
void nic_qp_unlock(struct nic *nic, struct nic_qp *qp);

/* -- memory/grace.c: waiting for operations under way */

/*
 * The executor of qp, between two operations: nothing that it looked up before
 * is used afterwards. Acquire pairs with the advance in nic_grace_begin(): who
 * sees the new epoch sees what was taken away before it.
 */
static inline void nic_grace_point(struct nic *nic, struct nic_qp *qp)
{
	u32 epoch = nic_load_acquire(&nic->hdr->grace_epoch);

	if (unlikely(epoch != qp->grace_seen))
		nic_store_release(&qp->grace_seen, epoch);
}

/* -- objects/qp.c */

/* All locks under which a QP executes or is delivered to; all or none. */
bool nic_qp_lock_all(struct nic *nic, struct nic_qp *qp);
void nic_qp_unlock_all(struct nic *nic, struct nic_qp *qp);
/*
 * Let nobody begin anything with a QP any more, whose locks are all held, and
 * tell whether nobody is in the midst of something; false: ask again.
 */
bool nic_qp_seal(struct nic *nic, struct nic_qp *qp);

/* -- objects/cq.c */

/* A ring of 1 << shift byte slots, a power of two of them, in queue memory. */
struct vnet_ring *nic_ring_check(struct nic *nic, u64 ring, u32 entries, u8 shift);

/* -- memory/placement.c */

/* What a flush is of. */
struct nic_placement {
	u32 key;
	/* The rights that it takes (enum nic_access), by what it asks for. */
	u32 access;
	/* All of the region, or this range of it. */
	bool whole;
	u64 addr;
	u64 length;
};

/* What vnet_flush_operand() says; false: there is no such flush. */
bool nic_placement_read(u64 operand, struct nic_placement *p);
/* Carried out for the responder's queue pair: VNET_WC_SUCCESS, or why it is refused. */
enum vnet_wc_status nic_placement_run(struct nic *nic, const struct nic_qp *qp, u32 pdn,
				      const struct nic_placement *p);

/* -- memory/keys.c: keys */

/*
 * Check that key names memory of pdn with the wanted rights (enum nic_access)
 * over [addr, addr + length), and tell where it is. qpn: for windows of type
 * 2. false: it does not. Length 0 is always allowed.
 */
bool nic_check_key(struct nic *nic, u32 key, u32 pdn, u32 qpn, u32 access, u64 addr, u64 length,
		   struct nic_piece *piece);
/* The same of a flush; its key counts even if the range is empty. */
bool nic_check_placement(struct nic *nic, u32 pdn, u32 qpn, const struct nic_placement *p);
/* Bind a window (or unbind, length 0): VNET_WC_SUCCESS, or why not. */
enum vnet_wc_status nic_bind_window(struct nic *nic, struct nic_qp *qp,
				    const struct vnet_wqe_bind *bind);
/* Register a region whose pages the host knows: VNET_WC_SUCCESS, or why not. */
enum vnet_wc_status nic_register(struct nic *nic, struct nic_qp *qp,
				 const struct vnet_wqe_bind *reg);
/*
 * Local or remote invalidate, by the executor of a QP, of qp's registered region
 * or window of type 2: VNET_WC_SUCCESS, why not, or NIC_EXEC_WAIT.
 */
u32 nic_invalidate_key(struct nic *nic, struct nic_qp *executor, const struct nic_qp *qp, u32 key);
/*
 * The executor of this QP died: a key that it was changing is that of something closed,
 * so that whoever repeats what it was about finds that, and can do it.
 */
void nic_key_recover(struct nic *nic, const struct nic_qp *executor, u32 owner);

/* -- vn/settings.c */

void nic_vn_settings_init(struct nic_settings *to, const struct nic_settings *wanted);

#endif /* NIC_INTERNAL_H */
