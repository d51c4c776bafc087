// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The responder for messages that take a receive. The executor of the requester runs it under the
 * lock of the receive queue; for messages from other NICs, the executor is the responder's QP
 * itself. A message takes effect for the responder at one instant (nic_commit_receive()).
 */
#include "layout/lookup.h"
#include "layout/ring.h"
#include "layout/message.h"
#include "transport/transport.h"
#include "pending/pending.h"
#include "protection/protection.h"
#include "completion/completion.h"
#include "tags/tags.h"
#include "responder/responder.h"
#include "responder/receiving.h"

void nic_starve(struct nic *nic, bool starves)
{
	nic_store(&nic->hdr->starves, starves);
}

bool nic_delivery_lock(struct nic_delivery *d)
{
	struct nic_srq *srq;

	if (!nic_lock(d->nic, &d->peer->rq.lock))
		return false;
	plat_step(1);
	d->rq = &d->peer->rq;
	if (!d->peer->srqn)
		return true;
	srq = nic_srq_of(d->nic, d->peer, d->qp->op_srqn);
	if (srq && nic_lock(d->nic, &srq->rq.lock)) {
		d->rq = &srq->rq;
		plat_step(2);
		return true;
	}
	nic_unlock_release(&d->peer->rq.lock);
	return false;
}

void nic_delivery_unlock(struct nic_delivery *d)
{
	if (d->rq != &d->peer->rq)
		nic_unlock_release(&d->rq->lock);
	nic_unlock_release(&d->peer->rq.lock);
	plat_step(3);
}

enum vnet_wc_status nic_fetch_receive(struct nic_delivery *d, u64 need)
{
	const struct nic_rq *rq = d->rq;
	const u8 *slot = (const u8 *)(d->ring + 1) + ((u64)(rq->cons & rq->mask) << rq->shift);
	const struct vnet_sge *sges = (const struct vnet_sge *)(slot + VNET_RECV_HDR_SIZE);
	u32 i;

	memcpy(&d->wqe, slot, sizeof(d->wqe));
	nic_read_once_barrier();
	d->ndst = 0;
	if (d->wqe.num_sge > rq->max_sge || d->wqe.num_sge > VNET_MAX_SGE ||
	    !nic_slot_holds(rq->shift, VNET_RECV_HDR_SIZE, d->wqe.num_sge * sizeof(*sges)))
		return VNET_WC_LOC_QP_OP_ERR;
	for (i = 0; i < d->wqe.num_sge && need; i++) {
		struct nic_piece *piece = &d->dst[d->ndst];
		struct vnet_sge sge;

		memcpy(&sge, &sges[i], sizeof(sge));
		nic_read_once_barrier();
		if (sge.length > need)
			sge.length = (u32)need;
		if (!sge.length)
			continue;
		if (!nic_check_key(d->nic, sge.lkey, rq->pdn, d->peer->qpn, NIC_ACCESS_LOCAL_WRITE,
				   sge.addr, sge.length, piece))
			return VNET_WC_LOC_PROT_ERR;
		need -= sge.length;
		d->ndst++;
	}
	return need ? VNET_WC_LOC_LEN_ERR : VNET_WC_SUCCESS;
}

u32 nic_no_receive(struct nic_delivery *d)
{
	struct nic *nic = d->nic;
	struct nic_qp *qp = d->qp;
	bool lossy = d->rq->lossy;
	enum vnet_wc_status status;

	/* Not a count of messages: each try of a waiting message advances it. */
	nic_store(&d->ring->no_receive, nic_load(&d->ring->no_receive) + 1);
	if (d->msg->arrival) {
		nic_delivery_unlock(d);
		return NIC_EXEC_NO_RECEIVE;
	}

	/*
	 * The NIC processor requests a doorbell, which wakes it at once. A process that polls tries
	 * again by itself, and needs none.
	 */
	if (nic->space == NIC_SPACE_POINTER || nic->direct)
		nic_store(&d->ring->need_doorbell, 1);
	if (qp->type == NIC_QPT_RC) {
		u64 timeout = nic_rnr_timeout(d->peer);

		nic_delivery_unlock(d);
		status = nic_wait_on(nic, qp, NIC_WAIT_RNR, timeout);
		return status == VNET_WC_SUCCESS ? NIC_EXEC_WAIT : status;
	}
	if (!lossy && nic->stall_ns && !d->msg->group) {
		status = nic_wait_on(nic, qp, NIC_WAIT_STALL, nic->stall_ns);
		if (status == VNET_WC_SUCCESS) {
			nic_delivery_unlock(d);
			return NIC_EXEC_WAIT;
		}
		d->rq->lossy = 1;
	}
	d->peer->counters.dropped++;
	nic_delivery_unlock(d);
	nic_fetch_add(&nic->hdr->counters.drop_no_receive, 1);
	return NIC_EXEC_DROPPED | VNET_WC_RNR_RETRY_EXC_ERR;
}

void nic_srq_taken(struct nic_delivery *d)
{
	if (unlikely(nic_rq_is_tm(d->rq)))
		nic_tm_apply(d->nic, d->qp);
	if (likely(!d->take || !d->rq->limit || d->available - 1 >= d->rq->limit))
		return;
	d->rq->limit = 0;
	nic_raise_srq(d->nic, nic_find_srq(d->nic, d->rq->num), NIC_EVENT_SRQ_LIMIT_REACHED);
}

static struct nic_page_waiter nic_delivery_waiter(const struct nic_delivery *d)
{
	return d->msg->arrival ? nic_page_waiter(d->qp, NIC_ARRIVALS, d->rq->cons) :
				 nic_page_waiter(d->qp, NIC_REQUESTS, d->qp->sq_cons);
}

/*
 * Copy to a member of a group, whose pages are not waited for. Each message finds them missing
 * anew, so the wait for pages is recorded for the receive, until they are present or cannot be
 * brought.
 */
static NIC_COLD enum nic_copy_result nic_copy_to_member(struct nic_delivery *d)
{
	const struct nic_message *msg = d->msg;
	struct nic_page_waiter member = nic_page_waiter(d->peer, NIC_ARRIVALS, d->rq->cons);
	enum nic_copy_result result =
		plat_copy(d->nic, d->dst, d->ndst, msg->src, msg->nsrc, msg->length);

	if (!nic_is_later(result))
		return result;
	result = nic_fetch_pages(d->nic, nic_delivery_waiter(d), NULL, 0, msg->src, msg->nsrc,
				 msg->length);
	if (result != NIC_COPY_OK)
		return result;
	return nic_copy_again(d->nic, member, d->dst, d->ndst, msg->src, msg->nsrc, msg->length);
}

/* Identifies the receive, or tagged buffer, that all pieces of a long message go to. */
static NIC_COLD u64 nic_receive_id(const struct nic_delivery *d)
{
	/* NOLINTNEXTLINE(clang-analyzer-core.*): nic_deliver_tm() sets it */
	return nic_rq_is_tm(d->rq) && d->tagged ? d->tagged : 1 + (u64)d->rq->cons;
}

/* Copy the message to its receive; returns the receiver's status. */
static enum vnet_wc_status nic_move(struct nic_delivery *d, enum nic_copy_result *result)
{
	const struct nic_message *msg = d->msg;

	*result = NIC_COPY_OK;
	if (msg->wc_opcode == VNET_WC_RECV_RDMA_WITH_IMM || !msg->length || msg->opened)
		return VNET_WC_SUCCESS;
	if (unlikely(msg->group))
		*result = nic_copy_to_member(d);
	else if (unlikely(msg->length > NIC_PIECE_BYTES && !msg->arrival))
		*result = nic_copy_piece(d->nic, nic_delivery_waiter(d), nic_receive_id(d), d->dst,
					 d->ndst, msg->src, msg->nsrc, msg->length);
	else
		*result = nic_copy(d->nic, nic_delivery_waiter(d), d->dst, d->ndst, msg->src,
				   msg->nsrc, msg->length);
	if (likely(*result == NIC_COPY_OK))
		return VNET_WC_SUCCESS;
	return VNET_WC_LOC_PROT_ERR;
}

/* A piece of a long message was moved. Its receive is not given to others before it is complete. */
static NIC_COLD u32 nic_moved_piece(struct nic_delivery *d)
{
	if (d->rq->is_srq)
		d->rq->claimed = d->qp->qpn;
	nic_delivery_unlock(d);
	return NIC_EXEC_PART;
}

/* Another message has claimed the receive: wait until that message is complete. */
static NIC_COLD u32 nic_claim_wait(struct nic_delivery *d)
{
	nic_delivery_unlock(d);
	if (d->msg->arrival)
		return NIC_EXEC_BUSY;
	(void)nic_wait_on(d->nic, d->qp, NIC_WAIT_LOCK, 0);
	return NIC_EXEC_WAIT;
}

/* The payload fits in front of the tag-matching information in the CQE. */
static bool nic_fits_before_info(const struct nic_message *msg)
{
	return msg->wc_opcode >= VNET_WC_TM_RECV && msg->length <= VNET_CQE_TM_PAYLOAD;
}

/*
 * Does the payload fit into the CQE, for the receiver to copy when it polls? Only if the buffer is
 * in the receiving process: an imported region is memory of another one.
 */
static bool nic_fits_cqe(const struct nic_delivery *d)
{
	const struct nic_message *msg = d->msg;

	return msg->length <= VNET_CQE_PAYLOAD && msg->length && d->ndst == 1 &&
	       (msg->wc_opcode == VNET_WC_RECV || nic_fits_before_info(msg)) &&
	       d->dst[0].space != d->nic->space && d->dst[0].space == d->rq->space &&
	       !d->nic->direct &&
	       (likely(!(msg->wc_flags & VNET_WC_IMM64)) || msg->length <= VNET_CQE_PAYLOAD_IMM64);
}

static enum nic_copy_result nic_fill_payload(struct nic_delivery *d, struct vnet_cqe *slot)
{
	const struct nic_message *msg = d->msg;
	struct nic_piece dst = {
		.addr = (u64)(unsigned long)slot->payload,
		.length = VNET_CQE_PAYLOAD,
		.space = NIC_SPACE_POINTER,
	};

	if (likely(msg->nsrc == 1 && msg->src[0].space == NIC_SPACE_POINTER)) {
		memcpy(slot->payload, (const void *)(unsigned long)msg->src[0].addr, msg->length);
		return NIC_COPY_OK;
	}
	return nic_copy(d->nic, nic_delivery_waiter(d), &dst, 1, msg->src, msg->nsrc, msg->length);
}

static void nic_completion_of(const struct nic_delivery *d, enum vnet_wc_status status,
			      struct nic_completion *wc)
{
	const struct nic_message *msg = d->msg;

	wc->wr_id = d->wqe.wr_id;
	wc->scatter_addr = d->dst[0].addr;
	wc->byte_len = (u32)msg->length;
	wc->qp_num = d->peer->qpn;
	wc->src_qp = msg->arrival ? msg->from : d->qp->qpn;
	wc->imm = status ? 0 : msg->imm;
	wc->opcode = msg->wc_opcode;
	wc->status = (u8)status;
	wc->flags = msg->wc_flags;
	wc->payload_len = 0;
	wc->solicited = msg->solicited;
	wc->ended = NULL;
	if (unlikely(msg->datagram && msg->slid)) {
		wc->flags |= VNET_WC_LID;
		wc->byte_len |= (u32)msg->slid << VNET_CQE_LID_SHIFT;
		wc->src_qp |= (u32)msg->sl << VNET_CQE_SL_SHIFT;
	}
}

/* Fill in a match. So far, VNET_WC_TM_DATA_VALID has only marked that there is one. */
static void nic_fill_match(const struct nic_tm_message *tm, struct vnet_cqe *slot,
			   struct nic_completion *wc)
{
	nic_tm_fill_info(&tm->match, wc->byte_len, slot);
	nic_tm_fill_ended(&tm->match, wc);
	if (tm->match.kind == NIC_TM_INCOMPLETE && !wc->status)
		wc->status = VNET_WC_TM_RNDV_INCOMPLETE;
	if (tm->match.kind != NIC_TM_EAGER || wc->status)
		wc->flags &= (u8)~VNET_WC_TM_DATA_VALID;
}

/*
 * Upper half of the immediate data, for CQs that have asked for it; others get the lower half only.
 */
static void nic_fill_imm_high(const struct nic_delivery *d, struct vnet_cqe *slot,
			      struct nic_completion *wc)
{
	u32 high = d->msg->imm_high;

	if (wc->opcode == VNET_WC_TM_RECV) {
		nic_fill_match((const struct nic_tm_message *)d->msg, slot, wc);
		return;
	}
	if (wc->status || !(d->cq->flags & VNET_CREATE_CQ_IMM64))
		wc->flags &= (u8)~VNET_WC_IMM64;
	else
		memcpy(slot->payload + vnet_cqe_imm_high((u32)d->msg->length), &high, sizeof(high));
}

/* Completion status of the requester for a failure at the responder. */
static u32 nic_requester_status(const struct nic_delivery *d, enum vnet_wc_status at_receiver)
{
	const struct nic_qp *qp = d->qp;

	if (at_receiver == VNET_WC_SUCCESS)
		return VNET_WC_SUCCESS;
	if (d->msg->datagram && !d->msg->group)
		return d->msg->arrival || qp->returns ? VNET_WC_REM_OP_ERR : VNET_WC_SUCCESS;
	if (qp->type != NIC_QPT_RC)
		return VNET_WC_SUCCESS;
	return at_receiver == VNET_WC_LOC_LEN_ERR ? VNET_WC_REM_INV_REQ_ERR : VNET_WC_REM_OP_ERR;
}

/* nic_delivered() for a message from another NIC: no request of the executor's is concerned. */
static u32 nic_arrival_delivered(struct nic_delivery *d, enum vnet_wc_status at_receiver)
{
	struct nic_qp *qp = d->qp;
	u32 status = qp->op_status;

	nic_vn_arrived(d->nic, qp);
	/* nic_retire_notify() takes an error for a solicited completion. */
	qp->op_status = d->msg->solicited || at_receiver ? VNET_WC_GENERAL_ERR : VNET_WC_SUCCESS;
	if (unlikely(!nic_retire_notify(d->nic, qp)))
		nic_pend(d->nic, qp);
	nic_delivery_unlock(d);
	return d->msg->datagram && status ? NIC_EXEC_DROPPED | status : status;
}

/*
 * Make the completion event that a committed receive may require. The lock of the receive queue is
 * held, so neither the responder nor its CQ is destroyed meanwhile.
 */
static u32 nic_delivered(struct nic_delivery *d, enum vnet_wc_status at_receiver)
{
	struct nic_qp *qp = d->qp;
	u32 status = qp->op_status;
	bool told;

	if (d->msg->arrival)
		return nic_arrival_delivered(d, at_receiver);
	told = nic_cq_notify(d->nic, d->cq, d->msg->solicited || at_receiver);

	plat_step(17);
	if (likely(told))
		nic_store_release(&qp->op_phase, NIC_OP_EXECUTED);
	nic_delivery_unlock(d);
	return status;
}

/* The responder's CQ overran, so it cannot complete: its QP fails. */
static u32 nic_cq_overran(struct nic_delivery *d)
{
	nic_unlock(&d->cq->lock);
	nic_qp_fail(d->nic, d->peer, NIC_EVENT_QP_FATAL);
	nic_delivery_unlock(d);
	return d->qp->type == NIC_QPT_RC ? VNET_WC_REM_OP_ERR :
					   NIC_EXEC_DROPPED | VNET_WC_REM_OP_ERR;
}

static u32 nic_requester_lock_wait(struct nic *nic, struct nic_qp *qp)
{
	u64 timeout = qp->type == NIC_QPT_RC ? nic_transport_timeout(qp) : nic->stall_ns;
	enum nic_wait reason = qp->type == NIC_QPT_RC ? NIC_WAIT_LOCK : NIC_WAIT_STALL;
	enum vnet_wc_status status = nic_wait_on(nic, qp, reason, timeout);

	if (status == VNET_WC_SUCCESS)
		return NIC_EXEC_WAIT;
	return qp->type == NIC_QPT_RC ? status : NIC_EXEC_DROPPED | VNET_WC_RETRY_EXC_ERR;
}

u32 nic_lock_wait(struct nic *nic, struct nic_qp *qp, const struct nic_message *msg)
{
	if (msg->arrival)
		return NIC_EXEC_BUSY;
	return nic_requester_lock_wait(nic, qp);
}

/*
 * The responder's process is dead, and the agent has not noticed yet: no answer, as after recovery.
 */
static u32 nic_responder_gone(struct nic_delivery *d)
{
	struct nic_qp *qp = d->qp;
	enum vnet_wc_status status;

	nic_delivery_unlock(d);
	if (d->msg->arrival)
		return NIC_EXEC_BUSY;
	if (qp->type != NIC_QPT_RC)
		return NIC_EXEC_DROPPED | VNET_WC_RETRY_EXC_ERR;
	status = nic_wait_on(d->nic, qp, NIC_WAIT_PEER, nic_transport_timeout(qp));
	return status == VNET_WC_SUCCESS ? NIC_EXEC_WAIT : status;
}

u32 nic_no_pages(struct nic_delivery *d, enum nic_copy_result result)
{
	bool own = result == NIC_COPY_SRC_LATER;

	if (d->msg->group && !own && !d->msg->arrival)
		d->peer->counters.dropped++;
	nic_delivery_unlock(d);
	if (d->msg->group && !own && !d->msg->arrival) {
		nic_fetch_add(&d->nic->hdr->counters.drop_no_receive, 1);
		return NIC_EXEC_DROPPED | VNET_WC_RNR_RETRY_EXC_ERR;
	}
	if (d->msg->arrival)
		return NIC_EXEC_PAGES;
	return nic_await_pages(d->nic, d->qp, own);
}

/* XRC: the CQ is that of the named SRQ, whose lock is held. */
static NIC_COLD struct nic_cq *nic_named_cq(const struct nic_delivery *d)
{
	const struct nic_srq *srq = (const struct nic_srq *)d->rq;

	return d->peer->srqn == NIC_SRQ_NAMED && d->rq->is_srq ? nic_find_cq(d->nic, srq->cqn) :
								 NULL;
}

u32 nic_place(struct nic_delivery *d, enum vnet_wc_status at_receiver)
{
	struct nic *nic = d->nic;
	enum nic_copy_result result = NIC_COPY_OK;
	bool in_cqe = at_receiver == VNET_WC_SUCCESS && nic_fits_cqe(d);
	struct nic_completion wc;
	struct vnet_cqe *slot;

	if (at_receiver == VNET_WC_SUCCESS && !in_cqe)
		at_receiver = nic_move(d, &result);
	if (unlikely(nic_is_later(result)))
		return nic_no_pages(d, result);
	if (unlikely(result == NIC_COPY_PART))
		return nic_moved_piece(d);
	plat_step(4);
	d->cq = nic_find_cq(nic, d->peer->recv_cqn);
	if (unlikely(!d->cq))
		d->cq = nic_named_cq(d);
	if (result == NIC_COPY_SRC_FAULT || result == NIC_COPY_SRC_GONE) {
		nic_delivery_unlock(d);
		return VNET_WC_LOC_PROT_ERR;
	}
	if (unlikely(result == NIC_COPY_DST_GONE))
		return nic_responder_gone(d);
	if (unlikely(!d->cq || !nic_lock(nic, &d->cq->lock))) {
		nic_delivery_unlock(d);
		return nic_lock_wait(nic, d->qp, d->msg);
	}
	plat_step(5);
	slot = nic_cq_slot(nic, d->cq);
	if (unlikely(!slot))
		return nic_cq_overran(d);
	if (in_cqe)
		result = nic_fill_payload(d, slot);
	if (in_cqe && unlikely(result != NIC_COPY_OK)) {
		nic_unlock(&d->cq->lock);
		if (nic_is_later(result))
			return nic_no_pages(d, result);
		nic_delivery_unlock(d);
		return VNET_WC_LOC_PROT_ERR;
	}
	nic_completion_of(d, at_receiver, &wc);
	if (unlikely(wc.flags & VNET_WC_IMM64))
		nic_fill_imm_high(d, slot, &wc);
	if (in_cqe)
		wc.payload_len = (u8)d->msg->length;
	if (unlikely(at_receiver))
		nic_qp_fail(nic, d->peer, -1);
	d->peer->counters.got_msgs++;
	d->peer->counters.got_bytes += d->msg->length;
	d->qp->op_status = (u8)nic_requester_status(d, at_receiver);
	nic_commit_receive(nic, d->qp, d->take, d->cq, slot, &wc);
	if (d->rq->is_srq) {
		d->rq->claimed = 0;
		nic_srq_taken(d);
	}
	return nic_delivered(d, at_receiver);
}

/* With the receive queue locked: is this still the QP that was looked up, and ready to receive? */
static bool nic_is_peer(const struct nic_delivery *d)
{
	const struct nic_qp *peer = d->peer;

	if (peer->qpn != d->msg->dest || peer->state < NIC_QPS_RTR || peer->state == NIC_QPS_ERR)
		return false;
	return d->msg->datagram ||
	       peer->attr.dest_qpn == (d->msg->arrival ? d->msg->from : d->qp->qpn);
}

/*
 * Prefetch the lines that the receiver wrote last, and the one that it will read. Each takes as
 * long as all other work of a delivery, so they are fetched together. Read without locks: a wrong
 * guess costs one line.
 */
static void nic_receive_prefetch(struct nic *nic, const struct nic_qp *peer)
{
	const struct nic_rq *rq = &peer->rq;
	const struct nic_srq *srq = NULL;
	const u8 *ring;
	u32 cons, known;

	if (peer->srqn) {
		srq = nic_find_srq(nic, peer->srqn);
		if (!srq)
			return;
		rq = &srq->rq;
	}
	ring = (const u8 *)nic_rq_ring(nic, rq);
	if (unlikely(!ring)) {
		if (srq && nic_rq_is_tm(rq))
			nic_tm_prefetch(nic, srq);
		return;
	}
	cons = nic_load(&rq->cons);
	known = nic_load(&rq->prod_seen) - cons;
	if (!known)
		nic_prefetch(ring);
	nic_prefetch_receive(rq, (const struct vnet_ring *)ring, cons, known);
}

bool nic_close_key(struct nic_delivery *d, enum vnet_wc_status *status)
{
	u32 result = nic_invalidate_key(d->nic, d->qp, d->peer, d->msg->imm);

	if (result == NIC_EXEC_WAIT)
		return false;
	if (result)
		*status = VNET_WC_LOC_QP_OP_ERR;
	return true;
}

u32 nic_deliver(struct nic *nic, struct nic_qp *qp, struct nic_qp *peer,
		const struct nic_message *msg)
{
	struct nic_delivery d NIC_SCRATCH;
	enum vnet_wc_status status;
	u32 available;
	bool is_peer;

	nic_receive_prefetch(nic, peer);
	d.nic = nic;
	d.qp = qp;
	d.peer = peer;
	d.msg = msg;
	d.dst[0].addr = 0;
	if (unlikely(!nic_delivery_lock(&d)))
		return nic_lock_wait(nic, qp, msg);
	d.ring = nic_rq_ring(nic, d.rq);
	/* The QP may have been destroyed, replaced or reset before its lock was taken. */
	is_peer = nic_is_peer(&d);
	if (unlikely(!d.ring || !is_peer)) {
		if (is_peer && nic_rq_is_tm(d.rq))
			return unlikely(nic_is_claimed(&d)) ? nic_claim_wait(&d) :
							      nic_deliver_tm(&d);
		nic_delivery_unlock(&d);
		return nic_lock_wait(nic, qp, msg);
	}
	if (unlikely(d.rq->claimed) && nic_is_claimed(&d))
		return nic_claim_wait(&d);
	if (unlikely(msg->opened)) {
		available = 0;
		d.take = NULL;
		d.wqe.wr_id = msg->opened->wr_id;
		d.ndst = 0;
		status = msg->broken;
	} else {
		d.take = d.rq;
		available = nic_rq_available(nic, d.rq, d.ring);
		if (unlikely(!available))
			return nic_no_receive(&d);
		d.rq->lossy = 0;
		status = nic_fetch_receive(&d, msg->wc_opcode == VNET_WC_RECV ? msg->length : 0);
		/*
		 * Not the receive that could not hold the message: this one completes with that
		 * error.
		 */
		if (unlikely(!status && msg->broken))
			status = msg->broken;
	}
	if (unlikely(msg->invalidate && !status && !nic_close_key(&d, &status))) {
		nic_delivery_unlock(&d);
		return nic_lock_wait(nic, qp, msg);
	}
	if (unlikely(status == VNET_WC_LOC_LEN_ERR && msg->datagram)) {
		/*
		 * A datagram that does not fit is dropped without a completion. A receive that is
		 * invalid itself fails, as for any other message.
		 */
		d.peer->counters.dropped++;
		nic_delivery_unlock(&d);
		nic_fetch_add(&nic->hdr->counters.drop_length, 1);
		return NIC_EXEC_DROPPED | VNET_WC_REM_INV_REQ_ERR;
	}
	d.available = available;
	return nic_place(&d, status);
}
