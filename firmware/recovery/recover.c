// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Recovery after the death of a process, which may have died at any instruction with locks held.
 * Its recorded intents (enum nic_op_phase) show whether an operation was committed. A committed
 * operation is finished, any other one is undone.
 */
#include "layout/lookup.h"
#include "transport/transport.h"
#include "pending/pending.h"
#include "protection/protection.h"
#include "completion/completion.h"
#include "tags/tags.h"
#include "requester/requester.h"

static struct vnet_cqe *nic_recover_cqe(struct nic *nic, struct nic_cq *cq, u32 index)
{
	struct vnet_ring *ring = nic_cq_ring(nic, cq);

	return ring ? &((struct vnet_cqe *)(ring + 1))[index & cq->mask] : NULL;
}

/* The entry op_cq_idx is valid from here on, if the owner still holds the CQ's lock. */
static void nic_finish_cqe(struct nic *nic, struct nic_qp *qp, u32 owner)
{
	struct nic_cq *cq = nic_find_cq(nic, qp->op_cqn);
	struct vnet_cqe *cqe;
	struct vnet_ring *ring;

	if (!cq || cq->lock != owner)
		return;
	cqe = nic_recover_cqe(nic, cq, qp->op_cq_idx);
	ring = nic_cq_ring(nic, cq);
	if (!cqe)
		return;
	cq->prod = qp->op_cq_idx + 1;
	nic_store(&ring->prod, cq->prod);
	nic_store_release(&cqe->seq, cq->prod);
}

static void nic_finish_receive(struct nic *nic, struct nic_qp *qp, u32 owner)
{
	struct nic_rq *rq = nic_find_rq(nic, qp->op_rq, qp->op_rq_is_srq);
	struct vnet_ring *ring;

	if (rq && rq->lock == owner) {
		ring = plat_queue(nic, rq->ring, VNET_RING_HDR_SIZE);
		rq->cons = qp->op_rq_idx + 1;
		if (ring)
			nic_store_release(&ring->cons, rq->cons);
	}
	nic_finish_cqe(nic, qp, owner);
}

static void nic_finish_retire(struct nic *nic, struct nic_qp *qp, u32 owner)
{
	struct vnet_ring *ring = plat_queue(nic, qp->sq_ring, VNET_RING_HDR_SIZE);

	nic_store(&qp->sq_cons, qp->op_rq_idx + 1);
	if (ring)
		nic_store_release(&ring->cons, qp->sq_cons);
	nic_finish_cqe(nic, qp, owner);
}

/* Finish the flush of a receive of a message in pieces: see nic_flush_opened_to(). */
static void nic_finish_opened(struct nic *nic, struct nic_qp *qp)
{
	struct nic_endpoint *ep = nic->max_row ? nic_endpoint_any(nic, qp) : NULL;

	if (ep && qp->op_arrival == NIC_ARRIVAL_DATAGRAM && !qp->op_rq)
		ep->receive.open = 0;
}

/* Finish or undo the operation that the dead owner was executing on this QP. */
static void nic_finish_op(struct nic *nic, struct nic_qp *qp, u32 owner)
{
	u8 phase = qp->op_phase;

	switch (phase) {
	case NIC_OP_COMMIT:
		nic_finish_receive(nic, qp, owner);
		nic_vn_arrived(nic, qp);
		nic_finish_opened(nic, qp);
		nic_store(&qp->op_phase, qp->op_arrival ? NIC_OP_RETIRE_NOTIFY : NIC_OP_NOTIFY);
		break;
	case NIC_OP_RETIRE_NOTIFY:
		nic_vn_arrived(nic, qp);
		nic_finish_opened(nic, qp);
		break;
	case NIC_OP_RETIRE:
		nic_finish_retire(nic, qp, owner);
		nic_store(&qp->op_phase, NIC_OP_RETIRE_NOTIFY);
		break;
	case NIC_OP_IDLE:
		qp->op_arrival = NIC_ARRIVAL_NONE;
		qp->group &= (u8)~NIC_GROUP_MEMBER;
		break;
	default:
		break;
	}
	/* The CQE exists, so its effects on tag matching must, too. */
	if (qp->op_tm && phase != NIC_OP_IDLE)
		nic_tm_apply(nic, qp);
	qp->op_tm = 0;
	nic_atomic_recover(nic, qp, owner);
	nic_key_recover(nic, qp, owner);
	nic_fetch_add(&nic->hdr->counters.recovered, 1);
}

static void nic_release(nic_lock_t *lock, u32 owner)
{
	if (nic_load(lock) == owner)
		nic_unlock(lock);
}

/* Completion events come last, because they need the channels' locks to be free. */
static void nic_finish_notify(struct nic *nic, struct nic_qp *qp)
{
	struct nic_cq *cq = nic_find_cq(nic, qp->op_cqn);

	if (qp->op_phase != NIC_OP_NOTIFY && qp->op_phase != NIC_OP_RETIRE_NOTIFY)
		return;
	/*
	 * This QP may not be executed again, so the NIC processor makes the event if it fails here.
	 */
	if (cq && !nic_cq_notify(nic, cq, true))
		nic_cq_notify_later(nic, cq);
}

static void nic_stop_qp(struct nic *nic, struct nic_qp *qp)
{
	nic_store(&qp->state, NIC_QPS_ERR);
	nic_store(&qp->flush_rq, 0);
	nic_unpend(nic, qp);
}

static void nic_recover_qp(struct nic *nic, struct nic_qp *qp, u32 owner, u32 space)
{
	bool own = qp->qpn && space != NIC_SPACE_POINTER && qp->space == space;

	nic_release(&qp->rq.lock, owner);
	if (own)
		nic_stop_qp(nic, qp);
	/* The QP may also wait, unlocked, for the channel's lock. */
	if (own || nic_load(&qp->sq_lock) == owner)
		nic_finish_notify(nic, qp);
	if (nic_load(&qp->sq_lock) == owner) {
		/* The owner may have been about to flush the receives. */
		if (!own && qp->state == NIC_QPS_ERR)
			nic_store(&qp->flush_rq, 1);
		nic_unlock(&qp->sq_lock);
	}
	/*
	 * Posters that found the queue locked have left their requests to the dead holder of the
	 * lock. And the dead process may have recorded an answer without running the QP.
	 */
	if (qp->qpn && !own)
		nic_pend(nic, qp);
}

void nic_recover(struct nic *nic, u32 owner, u32 space)
{
	u32 i;

	/* Intents first, while the locks show what they cover. */
	for (i = nic_qp_next(nic, 0); i < nic->max_qp; i = nic_qp_next(nic, i + 1)) {
		if (nic->qp[i].qpn && nic_load(&nic->qp[i].sq_lock) == owner)
			nic_finish_op(nic, &nic->qp[i], owner);
	}
	for (i = 0; i < nic->max_channel; i++) {
		if (nic_load(&nic->channel[i].lock) != owner)
			continue;
		nic_channel_rebuild(nic, i);
		nic_unlock(&nic->channel[i].lock);
	}
	/* Also while the locks show what was being done. */
	nic_vn_recover(nic, owner);
	for (i = 0; i < nic->max_cq; i++)
		nic_release(&nic->cq[i].lock, owner);
	for (i = 0; i < nic->max_srq; i++) {
		if (nic_load(&nic->srq[i].rq.lock) != owner)
			continue;
		if (nic->srq[i].tm)
			nic_tm_rebuild(nic, &nic->srq[i]);
		nic_unlock(&nic->srq[i].rq.lock);
	}
	for (i = 0; i < NIC_ATOMIC_LOCKS; i++)
		nic_release(&nic->hdr->atomic_lock[i], owner);
	for (i = nic_qp_next(nic, 0); i < nic->max_qp; i = nic_qp_next(nic, i + 1))
		nic_recover_qp(nic, &nic->qp[i], owner, space);
	/* All QPs were visited, so none needs to follow. */
	nic_store(&nic->follow, 0);
}

/* ----------------------------------------------------- death of the agent */

void nic_flush_own(struct nic *nic)
{
	u32 i;

	for (i = nic_qp_next(nic, 0); i < nic->max_qp; i = nic_qp_next(nic, i + 1)) {
		struct nic_qp *qp = &nic->qp[i];

		if (!qp->qpn || nic_load(&qp->space) != nic->space)
			continue;
		nic_qp_fail(nic, qp, -1);
		nic_qp_run(nic, qp, qp->sq_mask + 1);
	}
}
