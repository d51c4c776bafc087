// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Flushing of receives: a QP in error returns its receives, in order, with a flush error. See IB
 * vol 1, 10.3.1. Send requests are flushed by nic_run_queue().
 */
#include "layout/lookup.h"
#include "layout/ring.h"
#include "transport/transport.h"
#include "pending/pending.h"
#include "completion/completion.h"
#include "tags/tags.h"
#include "responder/responder.h"
#include "requester/requester.h"

/* A flush of receives; the lock of rq is held. */
struct nic_flush {
	struct nic *nic;
	struct nic_qp *qp;
	struct nic_rq *rq;
	struct vnet_ring *ring;
	struct nic_cq *cq;
};

/* Flush one receive. false: no receive is left, or no completion can be made now. */
static bool nic_flush_one(struct nic_flush *d)
{
	struct nic_completion wc = { .qp_num = d->qp->qpn,
				     .opcode = VNET_WC_RECV,
				     .status = VNET_WC_WR_FLUSH_ERR };
	const u8 *entry =
		(const u8 *)(d->ring + 1) + ((u64)(d->rq->cons & d->rq->mask) << d->rq->shift);
	struct vnet_cqe *slot;

	if (!nic_rq_posted(d->rq, d->ring))
		return false;
	if (!nic_lock(d->nic, &d->cq->lock)) {
		nic_store(&d->qp->flush_rq, 1);
		nic_pend(d->nic, d->qp);
		return false;
	}
	slot = nic_cq_slot(d->nic, d->cq);
	if (!slot) {
		nic_unlock(&d->cq->lock);
		return false;
	}
	memcpy(&wc.wr_id, entry + offsetof(struct vnet_recv_wqe, wr_id), sizeof(wc.wr_id));
	/* Recovery must not take this completion for one of the head request. */
	d->qp->op_arrival = NIC_ARRIVAL_DATAGRAM;
	d->qp->op_status = VNET_WC_WR_FLUSH_ERR;
	nic_commit_receive(d->nic, d->qp, d->rq, d->cq, slot, &wc);
	if (nic_retire_notify(d->nic, d->qp))
		return true;
	nic_store(&d->qp->flush_rq, 1);
	nic_pend(d->nic, d->qp);
	return false;
}

/*
 * Flush the receive of a message whose last piece will not arrive. srq: its SRQ, locked by the
 * caller, if requests name the SRQ or it matches tags; else NULL. Returns false if a lock is held
 * by another: call again.
 */
static bool nic_flush_opened_to(struct nic *nic, struct nic_qp *qp, const struct nic_srq *srq,
				u32 cqn)
{
	/* The endpoint may have been evicted from its frame with the message half received. */
	struct nic_endpoint *ep = nic->max_row ? nic_endpoint_any(nic, qp) : NULL;
	struct nic_completion wc = { .qp_num = qp->qpn,
				     .opcode = VNET_WC_RECV,
				     .status = VNET_WC_WR_FLUSH_ERR };
	struct nic_cq *cq = nic_find_cq(nic, cqn);
	struct vnet_cqe *slot;

	if (likely(!ep || !ep->receive.open || !cq))
		return true;
	if (!nic_lock(nic, &cq->lock))
		return false;
	slot = nic_cq_slot(nic, cq);
	if (srq)
		nic_tm_record_loss(nic, qp, srq, &ep->receive);
	if (!slot) {
		ep->receive.open = 0;
		nic_unlock(&cq->lock);
		if (qp->op_tm)
			nic_tm_apply(nic, qp);
		return true;
	}
	wc.wr_id = ep->receive.wr_id;
	qp->op_arrival = NIC_ARRIVAL_DATAGRAM;
	qp->op_status = VNET_WC_WR_FLUSH_ERR;
	nic_commit_receive(nic, qp, NULL, cq, slot, &wc);
	/* After the completion, so that the receive is not lost if the process dies in between. */
	ep->receive.open = 0;
	if (qp->op_tm)
		nic_tm_apply(nic, qp);
	return nic_retire_notify(nic, qp);
}

/* Must the SRQ be locked? It may be destroyed (XRC), or its counters change (tag matching). */
static bool nic_flush_wants_srq(struct nic *nic, const struct nic_qp *qp)
{
	const struct nic_srq *srq;

	if (likely(qp->srqn != NIC_SRQ_NAMED)) {
		srq = qp->srqn ? nic_find_srq(nic, qp->srqn) : NULL;
		return srq && nic_rq_is_tm(&srq->rq);
	}
	return true;
}

static bool nic_flush_opened(struct nic *nic, struct nic_qp *qp)
{
	struct nic_endpoint *ep;
	struct nic_srq *srq;
	bool done = true;

	if (likely(!nic_flush_wants_srq(nic, qp)))
		return nic_flush_opened_to(nic, qp, NULL, qp->recv_cqn);
	ep = nic->max_row ? nic_endpoint_any(nic, qp) : NULL;
	if (!ep || !ep->receive.open)
		return true;
	srq = nic_srq_of(nic, qp, ep->receive.srqn);
	if (srq && !nic_lock(nic, &srq->rq.lock))
		return false;
	if (srq && nic_open_srq_exists(nic, qp, &ep->receive))
		done = nic_flush_opened_to(nic, qp, srq,
					   nic_rq_is_tm(&srq->rq) ? qp->recv_cqn : srq->cqn);
	else
		ep->receive.open = 0;
	if (srq)
		nic_unlock_release(&srq->rq.lock);
	return done;
}

void nic_flush_receives(struct nic *nic, struct nic_qp *qp, struct nic_stretch *s)
{
	struct nic_flush d = { .nic = nic, .qp = qp, .rq = &qp->rq };

	if (unlikely(!nic_flush_opened(nic, qp))) {
		nic_pend(nic, qp);
		return;
	}
	if (qp->srqn || !qp->rq.num) {
		nic_store(&qp->flush_rq, 0);
		return;
	}
	d.cq = nic_find_cq(nic, qp->recv_cqn);
	d.ring = nic_rq_ring(nic, d.rq);
	if (!d.cq || !d.ring)
		return;
	if (!nic_lock(nic, &qp->rq.lock)) {
		nic_pend(nic, qp);
		return;
	}
	nic_store(&qp->flush_rq, 0);
	if (nic_load(&qp->state) == NIC_QPS_ERR) {
		/*
		 * From now on, posting a receive rings the doorbell. One more round follows for
		 * receives that were posted before the process saw this.
		 */
		if (!nic_xchg(&d.ring->need_doorbell, 1)) {
			nic_store(&qp->flush_rq, 1);
			nic_pend(nic, qp);
		}
		while (nic_flush_one(&d)) {
			nic_stretch_add(s, 0);
			if (likely(!nic_stretch_is_over(s)) || nic_stretch_next(nic, s))
				continue;
			nic_store(&qp->flush_rq, 1);
			nic_pend(nic, qp);
			break;
		}
	}
	nic_unlock_release(&qp->rq.lock);
}
