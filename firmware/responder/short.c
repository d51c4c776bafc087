// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The responder for short messages of connected queue pairs, which are the most frequent ones: the
 * payload fits into the completion entry, the receive has one SGE and is of the queue pair's own
 * receive queue, and no lock is contended.
 *
 * All conditions are checked before anything is changed. If one does not hold, nic_deliver() takes
 * the message, and reports what is wrong. The locks, the order of stores, and so recovery, are the
 * same as there.
 */
#include "layout/lookup.h"
#include "layout/ring.h"
#include "layout/message.h"
#include "protection/protection.h"
#include "completion/completion.h"
#include "responder/responder.h"
#include "responder/receiving.h"

/* Where a short message goes; the locks of the receive queue and of the CQ are held. */
struct nic_short_target {
	struct nic_cq *cq;
	struct vnet_cqe *slot;
	u64 wr_id;
	struct nic_piece dst;
};

/* With the receive queue locked: is it the peer's own queue, and ready to receive from qp? */
static inline bool nic_short_ready(const struct nic_qp *qp, const struct nic_qp *peer)
{
	return peer->qpn == qp->attr.dest_qpn && peer->attr.dest_qpn == qp->qpn && !peer->srqn &&
	       peer->state >= NIC_QPS_RTR && peer->state != NIC_QPS_ERR;
}

/* The receive at the head: one SGE, valid for the message, in memory of the receiving process. */
static inline bool nic_short_receive(struct nic *nic, const struct nic_qp *peer,
				     const struct vnet_ring *ring, u64 length,
				     struct nic_short_target *s)
{
	const struct nic_rq *rq = &peer->rq;
	const u8 *at = (const u8 *)(ring + 1) + ((u64)(rq->cons & rq->mask) << rq->shift);
	struct vnet_recv_wqe wqe;
	struct vnet_sge sge;

	if (unlikely(!nic_slot_holds(rq->shift, VNET_RECV_HDR_SIZE, sizeof(sge))))
		return false;
	memcpy(&wqe, at, sizeof(wqe));
	memcpy(&sge, at + VNET_RECV_HDR_SIZE, sizeof(sge));
	nic_read_once_barrier();
	if (unlikely(wqe.num_sge != 1 || !rq->max_sge || sge.length < length))
		return false;
	s->wr_id = wqe.wr_id;
	return nic_check_region(nic, sge.lkey, rq->pdn, NIC_ACCESS_LOCAL_WRITE, sge.addr, length,
				&s->dst) &&
	       likely(s->dst.space == rq->space && rq->space != nic->space);
}

/* Lock the CQ, and write the payload to its next entry, which is not valid yet. */
static inline bool nic_short_entry(struct nic *nic, const struct nic_qp *peer,
				   const struct nic_piece *src, struct nic_short_target *s)
{
	struct nic_piece payload = { .length = src->length, .space = NIC_SPACE_POINTER };

	s->cq = nic_find_cq(nic, peer->recv_cqn);
	if (unlikely(!s->cq || !nic_trylock(nic, &s->cq->lock)))
		return false;
	plat_step(5);
	s->slot = nic_cq_free_slot(nic, s->cq);
	if (likely(s->slot)) {
		payload.addr = (u64)(unsigned long)s->slot->payload;
		if (likely(plat_copy(nic, &payload, 1, src, 1, src->length) == NIC_COPY_OK))
			return true;
	}
	nic_unlock_release(&s->cq->lock);
	return false;
}

/* Complete the receive, and make the completion event that this may require. */
static u32 nic_short_commit(struct nic *nic, struct nic_qp *qp, struct nic_qp *peer, u64 length,
			    bool solicited, const struct nic_short_target *s)
{
	struct nic_completion wc = {
		.wr_id = s->wr_id,
		.scatter_addr = s->dst.addr,
		.byte_len = (u32)length,
		.qp_num = peer->qpn,
		.src_qp = qp->qpn,
		.opcode = VNET_WC_RECV,
		.payload_len = (u8)length,
		.solicited = solicited,
	};

	peer->rq.lossy = 0;
	peer->counters.got_msgs++;
	peer->counters.got_bytes += length;
	qp->op_status = VNET_WC_SUCCESS;
	nic_commit_receive(nic, qp, &peer->rq, s->cq, s->slot, &wc);
	/* Otherwise nic_resume() makes the event. */
	if (likely(nic_cq_notify(nic, s->cq, solicited))) {
		plat_step(17);
		nic_store_release(&qp->op_phase, NIC_OP_EXECUTED);
	}
	return VNET_WC_SUCCESS;
}

u32 nic_deliver_short(struct nic *nic, struct nic_qp *qp, struct nic_qp *peer,
		      const struct nic_piece *src, bool solicited)
{
	struct nic_rq *rq = &peer->rq;
	u32 status = NIC_EXEC_OTHER;
	struct vnet_ring *ring;
	struct nic_short_target s;

	if (src->length - 1 >= VNET_CQE_PAYLOAD || nic->direct || peer->srqn ||
	    unlikely(!nic_trylock(nic, &rq->lock)))
		return NIC_EXEC_OTHER;
	plat_step(1);
	ring = nic_rq_ring(nic, rq);
	if (likely(ring))
		nic_prefetch_receive(rq, ring, rq->cons, rq->prod_seen - rq->cons);
	if (likely(ring && nic_short_ready(qp, peer) && nic_rq_available(nic, rq, ring)) &&
	    nic_short_receive(nic, peer, ring, src->length, &s)) {
		plat_step(4);
		if (likely(nic_short_entry(nic, peer, src, &s)))
			status = nic_short_commit(nic, qp, peer, src->length, solicited, &s);
	}
	nic_unlock_release(&rq->lock);
	plat_step(3);
	return status;
}
