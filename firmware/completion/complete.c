// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Completion queue entries, written so that recovery can finish or discard them. The executor of an
 * operation writes the entry under nic_cq.lock. A process may die at any instruction (see enum
 * nic_op_phase). The order is: the body, which is not valid yet; the intent; the indices; and last
 * the entry's seq, which makes the entry valid.
 */
#include "layout/lookup.h"
#include "protection/protection.h"
#include "completion/completion.h"

struct vnet_ring *nic_cq_ring(struct nic *nic, const struct nic_cq *cq)
{
	return plat_queue(nic, cq->ring, VNET_RING_HDR_SIZE + ((u64)cq->mask + 1) * VNET_CQE_SIZE);
}

static struct vnet_cqe *nic_cqe_at(struct vnet_ring *ring, const struct nic_cq *cq, u32 index)
{
	struct vnet_cqe *cqes = (struct vnet_cqe *)(ring + 1);

	return &cqes[index & cq->mask];
}

/*
 * Distance of the entry that is prefetched. An idle receiver polls the next entry all the time, and
 * would take its line back before it is written.
 */
#define NIC_ENTRIES_AHEAD 2

/*
 * Is the CQ full, by the consumer index that its process publishes? An invalid index counts as
 * full.
 */
static bool nic_cq_full(struct vnet_ring *ring, struct nic_cq *cq)
{
	if (likely(cq->prod - cq->cons_seen <= cq->mask))
		return false;
	/* Pairs with the release of cons by the process after it read entries. */
	cq->cons_seen = nic_load_acquire(&ring->cons);
	return cq->prod - cq->cons_seen > cq->mask;
}

struct vnet_cqe *nic_cq_free_slot(struct nic *nic, struct nic_cq *cq)
{
	struct vnet_ring *ring = nic_cq_ring(nic, cq);

	if (unlikely(!ring || cq->error))
		return NULL;
	/* With IGNORE_OVERRUN, the newest entry overwrites the oldest. */
	if (unlikely(nic_cq_full(ring, cq) && !(cq->flags & VNET_CREATE_CQ_IGNORE_OVERRUN)))
		return NULL;
	nic_prefetch_write(nic_cqe_at(ring, cq, cq->prod + NIC_ENTRIES_AHEAD));
	return nic_cqe_at(ring, cq, cq->prod);
}

struct vnet_cqe *nic_cq_slot(struct nic *nic, struct nic_cq *cq)
{
	struct vnet_cqe *slot = nic_cq_free_slot(nic, cq);

	if (likely(slot) || cq->error || !nic_cq_ring(nic, cq))
		return slot;
	cq->error = 1;
	nic_raise_cq(nic, cq, NIC_EVENT_CQ_ERR);
	return NULL;
}

static void nic_fill(struct nic *nic, struct nic_cq *cq, struct vnet_cqe *cqe,
		     const struct nic_completion *wc)
{
	cqe->wr_id = wc->wr_id;
	cqe->scatter_addr = wc->scatter_addr;
	cqe->byte_len = wc->byte_len;
	cqe->qp_num = wc->qp_num;
	cqe->src_qp = wc->src_qp;
	cqe->imm = wc->imm;
	cqe->opcode = wc->opcode;
	cqe->status = wc->status;
	cqe->flags = wc->flags;
	cqe->payload_len = wc->payload_len;
	if (unlikely(cq->flags & VNET_CREATE_CQ_TIMESTAMP))
		cqe->timestamp = plat_clock();
	cq->completions++;
	/* Failures count as solicited. nic_cq_doorbell() reads this without the lock. */
	if (unlikely(wc->status | wc->solicited))
		nic_store(&cq->solicited, cq->prod + 1);
	if (unlikely(wc->status)) {
		cq->errors++;
		nic_fetch_add(&nic->hdr->completions[wc->status % VNET_WC_STATUS_MAX], 1);
	}
}

/* First the index, for processes that read it; then seq, which makes the entry valid. */
static void nic_publish(struct nic *nic, struct nic_cq *cq, struct vnet_cqe *cqe)
{
	u32 next = cq->prod + 1;
	struct vnet_ring *ring = nic_cq_ring(nic, cq);

	/* nic_cq_prefetch() reads this without the lock. */
	nic_store(&cq->prod, next);
	nic_store(&ring->prod, next);
	plat_step(13);
	/* Pairs with the provider's acquire of seq. */
	nic_store_release(&cqe->seq, next);
}

/*
 * Unlock after an entry was written. nic_cq_notify() needs the full barrier, so that it finds the
 * CQ armed, or the process that arms it finds the entry. Without a channel there are no events.
 */
static void nic_cq_unlock(struct nic_cq *cq)
{
	if (likely(cq->channel == NIC_NONE))
		nic_unlock_release(&cq->lock);
	else
		nic_unlock(&cq->lock);
}

void nic_take_receive(struct nic *nic, struct nic_rq *rq)
{
	struct vnet_ring *ring = plat_queue(nic, rq->ring, VNET_RING_HDR_SIZE);

	/* nic_receive_prefetch() reads this without the lock. */
	nic_store(&rq->cons, rq->cons + 1);
	/* The process may reuse the slot from here on. */
	if (likely(ring))
		nic_store_release(&ring->cons, rq->cons);
}

void nic_commit_receive(struct nic *nic, struct nic_qp *qp, struct nic_rq *rq, struct nic_cq *cq,
			struct vnet_cqe *slot, const struct nic_completion *wc)
{
	nic_fill(nic, cq, slot, wc);
	qp->op_rq = rq ? rq->num : 0;
	qp->op_rq_is_srq = rq && rq->is_srq;
	qp->op_rq_idx = rq ? rq->cons : 0;
	qp->op_cqn = cq->num;
	qp->op_cq_idx = cq->prod;
	plat_step(10);
	/* Stored before the indices. Recovery reads it after the process is dead. */
	nic_store_release(&qp->op_phase, NIC_OP_COMMIT);
	plat_step(11);
	if (likely(rq))
		nic_take_receive(nic, rq);
	else if (wc->ended)
		/* A process that sees the entry may add a tag in its place. */
		nic_store_release(wc->ended, wc->ended_with);
	plat_step(12);
	nic_publish(nic, cq, slot);
	plat_step(14);
	nic_store_release(&qp->op_phase,
			  unlikely(qp->op_arrival) ? NIC_OP_RETIRE_NOTIFY : NIC_OP_NOTIFY);
	plat_step(15);
	nic_cq_unlock(cq);
	plat_step(16);
}

void nic_complete_alone(struct nic *nic, struct nic_cq *cq, struct vnet_cqe *slot,
			const struct nic_completion *wc)
{
	nic_fill(nic, cq, slot, wc);
	nic_publish(nic, cq, slot);
}

/* ---------------------------------------------- completions of send requests */

static u8 nic_send_opcode(u8 wr_opcode)
{
	static const u8 opcode[] = {
		[VNET_WR_RDMA_WRITE] = VNET_WC_RDMA_WRITE,
		[VNET_WR_RDMA_WRITE_IMM] = VNET_WC_RDMA_WRITE,
		[VNET_WR_SEND] = VNET_WC_SEND,
		[VNET_WR_SEND_IMM] = VNET_WC_SEND,
		[VNET_WR_RDMA_READ] = VNET_WC_RDMA_READ,
		[VNET_WR_ATOMIC_CMP_SWP] = VNET_WC_COMP_SWAP,
		[VNET_WR_ATOMIC_FETCH_ADD] = VNET_WC_FETCH_ADD,
		[VNET_WR_LOCAL_INV] = VNET_WC_LOCAL_INV,
		[VNET_WR_BIND_MW] = VNET_WC_BIND_MW,
		[VNET_WR_SEND_INV] = VNET_WC_SEND,
		[VNET_WR_REG_MR] = VNET_WC_REG_MR,
		[VNET_WR_FLUSH] = VNET_WC_FLUSH,
		[VNET_WR_ATOMIC_WRITE] = VNET_WC_ATOMIC_WRITE,
	};

	return wr_opcode < sizeof(opcode) ? opcode[wr_opcode] : VNET_WC_SEND;
}

/* The head request is retired: the process may reuse its slot. */
static void nic_advance(struct nic *nic, struct nic_qp *qp)
{
	struct vnet_ring *ring = plat_queue(nic, qp->sq_ring, VNET_RING_HDR_SIZE);

	nic_store(&qp->sq_cons, qp->sq_cons + 1);
	if (likely(ring))
		nic_store_release(&ring->cons, qp->sq_cons);
}

static void nic_end_op(struct nic_qp *qp)
{
	if (unlikely(qp->op_arrival)) {
		/* An arrival leaves the state of the head request unchanged. */
		qp->op_arrival = NIC_ARRIVAL_NONE;
		nic_store_release(&qp->op_phase, NIC_OP_IDLE);
		return;
	}
	nic_fetched(qp, NIC_REQUESTS);
	qp->op_bytes = 0;
	qp->retries_used = 0;
	qp->rnr_used = 0;
	nic_store(&qp->wait, NIC_WAIT_NONE);
	nic_store_release(&qp->op_phase, NIC_OP_IDLE);
}

bool nic_retire_notify(struct nic *nic, struct nic_qp *qp)
{
	struct nic_cq *cq = nic_find_cq(nic, qp->op_cqn);

	/* On the send side, only failed requests are solicited. */
	if (cq && !nic_cq_notify(nic, cq, qp->op_status != VNET_WC_SUCCESS))
		return false;
	nic_end_op(qp);
	return true;
}

/*
 * From here on, recovery retires the head request, whichever indices have been stored: with entry
 * op_cq_idx of CQ op_cqn, or (cqn 0) without a completion.
 */
static void nic_retire_begin(struct nic_qp *qp, u32 cqn, u32 cq_idx)
{
	qp->op_rq_idx = nic_load(&qp->sq_cons);
	qp->op_cqn = cqn;
	qp->op_cq_idx = cq_idx;
	plat_step(20);
	nic_store_release(&qp->op_phase, NIC_OP_RETIRE);
	plat_step(21);
}

/* Retire the head request without a completion. */
static void nic_retire_no_cqe(struct nic *nic, struct nic_qp *qp)
{
	nic_retire_begin(qp, 0, 0);
	nic_advance(nic, qp);
	plat_step(25);
	nic_end_op(qp);
}

/* Completion fields of failed requests, and of the NIC's own reads (tag matching). */
static void nic_completion_special(const struct nic_qp *qp, const struct vnet_send_wqe *wqe,
				   struct nic_completion *wc)
{
	if (wc->status)
		wc->imm = qp->vendor_err;
	if (!(wqe->flags & VNET_WR_TM))
		return;
	wc->opcode = VNET_WC_TM_RECV;
	wc->flags = wc->status ? 0 : VNET_WC_TM_DATA_VALID;
}

/* false: the CQ cannot take it; the request is retired without a completion. */
static bool nic_complete_send(struct nic *nic, struct nic_qp *qp, struct nic_cq *cq,
			      const struct vnet_send_wqe *wqe)
{
	struct vnet_cqe *slot = nic_cq_slot(nic, cq);
	struct nic_completion wc = {
		.wr_id = wqe->wr_id,
		.byte_len = qp->op_bytes,
		.qp_num = qp->qpn,
		.opcode = nic_send_opcode(wqe->opcode),
		.status = qp->op_status,
	};

	if (unlikely(!slot))
		return false;
	if (unlikely(wc.status | (wqe->flags & VNET_WR_TM)))
		nic_completion_special(qp, wqe, &wc);
	nic_fill(nic, cq, slot, &wc);
	nic_retire_begin(qp, cq->num, cq->prod);
	nic_advance(nic, qp);
	plat_step(22);
	nic_publish(nic, cq, slot);
	nic_store_release(&qp->op_phase, NIC_OP_RETIRE_NOTIFY);
	plat_step(23);
	return true;
}

bool nic_retire(struct nic *nic, struct nic_qp *qp, const struct vnet_send_wqe *wqe)
{
	struct nic_cq *cq;
	bool made;

	if (unlikely(qp->op_phase == NIC_OP_RETIRE_NOTIFY))
		return nic_retire_notify(nic, qp);
	if (qp->op_status == VNET_WC_SUCCESS && !qp->sq_sig_all &&
	    !(wqe->flags & (VNET_WR_SIGNALED | VNET_WR_TM))) {
		nic_retire_no_cqe(nic, qp);
		return true;
	}
	cq = nic_find_cq(nic, qp->send_cqn);
	if (likely(cq)) {
		if (unlikely(!nic_lock(nic, &cq->lock)))
			return false;
		made = nic_complete_send(nic, qp, cq, wqe);
		nic_cq_unlock(cq);
		plat_step(24);
		if (likely(made))
			return nic_retire_notify(nic, qp);
	}
	nic_qp_fail(nic, qp, NIC_EVENT_QP_FATAL);
	nic_retire_no_cqe(nic, qp);
	return true;
}
