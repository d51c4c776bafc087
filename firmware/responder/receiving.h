/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * A message that gets a receive, with the locks that this takes: what
 * nic_receive{,_tags,_pieces}.c share.
 */
#ifndef NIC_RECEIVING_H
#define NIC_RECEIVING_H

#include "objects/rq.h"
#include "tags/tm.h"

/* The locks that a delivery holds. */
struct nic_delivery {
	struct nic *nic;
	/* Executor, and the one who gets the message. */
	struct nic_qp *qp;
	struct nic_qp *peer;
	const struct nic_message *msg;
	struct nic_rq *rq;
	/* Where a receive is taken; NULL: it was before, or a tagged buffer is. */
	struct nic_rq *take;
	struct vnet_ring *ring;
	struct nic_cq *cq;
	/* The receive, copied once. */
	struct vnet_recv_wqe wqe;
	struct nic_piece dst[VNET_MAX_SGE];
	u32 ndst;
	/* Receives that were posted, this one included. */
	u32 available;
	/* Of a queue that matches tags: nic_tm_goal(), or 0 if it goes to an ordinary receive. */
	u64 tagged;
};

/* Those that a message may have: none while the NIC starves. */
static inline u32 nic_rq_available(const struct nic *nic, struct nic_rq *rq,
				   const struct vnet_ring *ring)
{
	return unlikely(nic_load(&nic->hdr->starves)) ? 0 : nic_rq_posted(rq, ring);
}

/* -- responder/receive.c: a message in one piece */

/*
 * With the SRQ's lock: another QP's long message has the next receive, and its next piece
 * comes by itself. What its QP waits for meanwhile, nobody else waits for.
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

/* The locks of d->peer's receive queue, which d->rq is then. false: one was not had. */
bool nic_delivery_lock(struct nic_delivery *d);
void nic_delivery_unlock(struct nic_delivery *d);
/*
 * Copy the receive at the head, check the keys of as much of it as the message
 * fills, and tell where that is.
 */
enum vnet_wc_status nic_fetch_receive(struct nic_delivery *d, u64 need);
/* What a SEND with invalidate closes where it arrives, or *status; false: it has to wait. */
NIC_COLD bool nic_close_key(struct nic_delivery *d, enum vnet_wc_status *status);
/*
 * The receive is known good for the message, or bad by this status: move it and complete.
 * The locks are free then, as they are after all that follows.
 */
u32 nic_place(struct nic_delivery *d, enum vnet_wc_status at_receiver);
/* No receive: RNR for a reliable sender; others stall for a while, then lose. */
u32 nic_no_receive(struct nic_delivery *d);
/*
 * Pages that the copy needs are being brought. Nothing was taken yet. For one of a group
 * nobody waits, as when it has no receive.
 */
NIC_COLD u32 nic_no_pages(struct nic_delivery *d, enum nic_copy_result result);
/* A lock was not had, or nothing is as it was looked up; none is held. */
u32 nic_lock_wait(struct nic *nic, struct nic_qp *qp, const struct nic_message *msg);
/* An event for a receive taken from an SRQ below its limit; the locks are held. */
void nic_srq_taken(struct nic_delivery *d);

/* -- responder/tags.c: a queue that matches tags, which d->rq is */

/* As nic_deliver(), from where the locks are held. */
__attribute__((__noinline__)) u32 nic_deliver_tm(struct nic_delivery *d);
/*
 * What the message matches, and the queue as it is for ordinary receives, if it goes
 * to one. Not VNET_WC_SUCCESS: nowhere, or not now, and the locks are free.
 */
u32 nic_match(struct nic_delivery *d, struct nic_tm_message *tm, struct nic_rq *plain);
/* What the message, or the first piece of it, goes to, and its status there. */
enum vnet_wc_status nic_take_match(struct nic_delivery *d, struct nic_tm_message *tm,
				   struct nic_rq *plain, struct nic_piece *src);

#endif /* NIC_RECEIVING_H */
