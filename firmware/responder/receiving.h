/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Delivery of a message to a receive: what receive.c, tags.c and pieces.c share. */
#ifndef NIC_RECEIVING_H
#define NIC_RECEIVING_H

#include "layout/lookup.h"
#include "layout/ring.h"
#include "layout/message.h"
#include "tags/tags.h"

/* A message under delivery; the locks of peer's receive queue are held. */
struct nic_delivery {
	struct nic *nic;
	/* Executor, and the QP that receives the message. */
	struct nic_qp *qp;
	struct nic_qp *peer;
	const struct nic_message *msg;
	struct nic_rq *rq;
	/*
	 * Queue that a receive is taken from; NULL: it was taken before, or a tagged buffer is
	 * used.
	 */
	struct nic_rq *take;
	struct vnet_ring *ring;
	struct nic_cq *cq;
	/* The receive WQE, copied once. */
	struct vnet_recv_wqe wqe;
	struct nic_piece dst[VNET_MAX_SGE];
	u32 ndst;
	/* Number of posted receives, this one included. */
	u32 available;
	/* Of a queue that matches tags: nic_tm_buffer_id(), or 0 for an ordinary receive. */
	u64 tagged;
};

/* Number of receives that messages may take: none during nic_starve(). */
static inline u32 nic_rq_available(const struct nic *nic, struct nic_rq *rq,
				   const struct vnet_ring *ring)
{
	return unlikely(nic_load(&nic->hdr->starves)) ? 0 : nic_rq_posted(rq, ring);
}

/* A receive WQE is prefetched this many receives before it is taken. */
#define NIC_RECEIVES_AHEAD 4

/*
 * Prefetch a later receive of `known` ones from `cons` on, but no slot that the process may be
 * writing: then the next one.
 */
static inline void nic_prefetch_receive(const struct nic_rq *rq, const struct vnet_ring *ring,
					u32 cons, u32 known)
{
	if (likely(known > NIC_RECEIVES_AHEAD))
		cons += NIC_RECEIVES_AHEAD;
	nic_prefetch((const u8 *)(ring + 1) + ((u64)(cons & rq->mask) << rq->shift));
}

/* -- responder/receive.c: a message in one piece */

/*
 * Has another QP's long message claimed the next receive? The caller holds the SRQ's lock. A claim
 * counts only while the other QP can continue at once: if it waits for something, the receive is
 * not kept for it.
 */
static inline bool nic_is_claimed(const struct nic_delivery *d)
{
	struct nic_qp *other;

	if (likely(!d->rq->claimed || d->rq->claimed == d->qp->qpn || d->msg->opened))
		return false;
	other = nic_find_qp(d->nic, d->rq->claimed);
	return other && nic_load(&other->wait) == NIC_WAIT_TURN &&
	       nic_load(&other->counters.moved_to);
}

/* Take the locks of d->peer's receive queue, and set d->rq. false: not available, none is held. */
bool nic_delivery_lock(struct nic_delivery *d);
void nic_delivery_unlock(struct nic_delivery *d);
/*
 * Copy the receive WQE at the head, check the keys of as much of it as the message fills, and set
 * d->dst.
 */
enum vnet_wc_status nic_fetch_receive(struct nic_delivery *d, u64 need);
/*
 * Invalidate the key of a SEND with invalidate. *status: the error, if it fails; false: it has to
 * wait.
 */
NIC_COLD bool nic_close_key(struct nic_delivery *d, enum vnet_wc_status *status);
/*
 * Deliver the message, whose receive is valid or has the error at_receiver: copy it, and complete
 * the receive. Releases the locks, as nic_no_receive() and nic_no_pages() do.
 */
u32 nic_place(struct nic_delivery *d, enum vnet_wc_status at_receiver);
/* No receive: RNR for a reliable sender; others stall for a limited time, then lose the message. */
u32 nic_no_receive(struct nic_delivery *d);
/*
 * The pages that the copy needs are being brought; no receive was taken yet. A member of a group is
 * not waited for, and loses the message.
 */
NIC_COLD u32 nic_no_pages(struct nic_delivery *d, enum nic_copy_result result);
/* A lock is held by another, or the peer has changed since its look-up; none is held. */
u32 nic_lock_wait(struct nic *nic, struct nic_qp *qp, const struct nic_message *msg);
/* Raise the limit event, if an SRQ fell below its limit; the locks are held. */
void nic_srq_taken(struct nic_delivery *d);

/* -- responder/tags.c: a queue that matches tags, which d->rq is */

/* nic_deliver() from the point where the locks are held. */
__attribute__((__noinline__)) u32 nic_deliver_tm(struct nic_delivery *d);
/*
 * Find the match of a message. *plain: the queue as it is for ordinary receives, if the message
 * goes to one. Other than VNET_WC_SUCCESS: not delivered, or not now, and the locks are released.
 */
u32 nic_match(struct nic_delivery *d, struct nic_tm_message *tm, struct nic_rq *plain);
/* Prepare the match for the message, or for its first piece; returns the receiver's status. */
enum vnet_wc_status nic_take_match(struct nic_delivery *d, struct nic_tm_message *tm,
				   struct nic_rq *plain, struct nic_piece *src);

#endif /* NIC_RECEIVING_H */
