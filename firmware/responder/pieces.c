// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The responder for messages of several packets. The first packet takes the receive that all of
 * them fill, and the last completes it like a message of one packet.
 */
#include "layout/lookup.h"
#include "layout/ring.h"
#include "layout/message.h"
#include "protection/protection.h"
#include "completion/completion.h"
#include "tags/tags.h"
#include "responder/responder.h"
#include "responder/receiving.h"

/* Record the receive at the head. rq: the queue, as it is for ordinary receives. */
static void nic_open_record(const struct nic_delivery *d, const struct nic_rq *rq,
			    struct nic_open_receive *open)
{
	const u8 *slot = (const u8 *)(d->ring + 1) + ((u64)(rq->cons & rq->mask) << rq->shift);

	open->wr_id = d->wqe.wr_id;
	open->num_sge = (u16)d->wqe.num_sge;
	/* Keys are checked again for every piece. */
	memcpy(open->sge, slot + VNET_RECV_HDR_SIZE, d->wqe.num_sge * sizeof(open->sge[0]));
	open->index = rq->cons;
	open->tm_kind = NIC_TM_PLAIN;
}

/* From here on, the receive counts as taken: see nic_vn_recover(). */
static void nic_open_commit(const struct nic_delivery *d, struct nic_open_receive *open)
{
	open->srqn = d->qp->op_srqn;
	open->srq_use = d->rq->is_srq ? (u16)((const struct nic_srq *)d->rq)->use : 0;
	nic_store_release(&open->open, 1);
	/* The same step as the commitment of a message in one packet. */
	plat_step(11);
}

/* Tag matching: the first packet has the headers, and decides for the whole message. */
static __attribute__((__noinline__)) u32 nic_open_tm(struct nic_delivery *d,
						     struct nic_open_receive *open)
{
	struct nic_tm_message tm = { .msg = *d->msg };
	struct nic_piece src[VNET_MAX_SGE + 2] NIC_SCRATCH;
	struct nic_rq plain;
	u32 status = nic_match(d, &tm, &plain);

	if (status)
		return status;
	status = nic_take_match(d, &tm, &plain, src);
	if (status == VNET_WC_SUCCESS) {
		if (tm.match.kind < NIC_TM_EAGER)
			nic_open_record(d, &plain, open);
		nic_tm_save(&tm.match, open);
		nic_open_commit(d, open);
		nic_tm_take_saved(&tm.match, open);
		if (d->take)
			nic_take_receive(d->nic, d->take);
		nic_srq_taken(d);
	}
	nic_delivery_unlock(d);
	return status;
}

u32 nic_open(struct nic *nic, struct nic_qp *qp, const struct nic_message *msg,
	     struct nic_open_receive *open)
{
	struct nic_delivery d NIC_SCRATCH;
	enum vnet_wc_status status;

	d.nic = nic;
	d.qp = qp;
	d.peer = qp;
	d.msg = msg;
	d.dst[0].addr = 0;
	if (!nic_delivery_lock(&d))
		return NIC_EXEC_BUSY;
	if (unlikely(nic_is_claimed(&d))) {
		nic_delivery_unlock(&d);
		return NIC_EXEC_BUSY;
	}
	d.ring = nic_rq_ring(nic, d.rq);
	if (!d.ring) {
		if (nic_rq_is_tm(d.rq))
			return nic_open_tm(&d, open);
		nic_delivery_unlock(&d);
		return NIC_EXEC_BUSY;
	}
	d.available = nic_rq_available(nic, d.rq, d.ring);
	if (!d.available)
		return nic_no_receive(&d);
	d.rq->lossy = 0;
	status = nic_fetch_receive(&d, msg->length);
	if (status == VNET_WC_SUCCESS) {
		nic_open_record(&d, d.rq, open);
		nic_open_commit(&d, open);
		d.take = d.rq;
		nic_take_receive(nic, d.take);
		if (d.rq->is_srq)
			nic_srq_taken(&d);
	}
	nic_delivery_unlock(&d);
	return status;
}

bool nic_open_srq_exists(struct nic *nic, const struct nic_qp *qp,
			 const struct nic_open_receive *open)
{
	const struct nic_srq *srq;

	if (likely(qp->srqn != NIC_SRQ_NAMED))
		return true;
	srq = nic_srq_of(nic, qp, open->srqn);
	return srq && (u16)srq->use == open->srq_use;
}

/*
 * Find the memory of bytes [offset, offset + need) of the receive: VNET_WC_SUCCESS and *n pieces,
 * or the error.
 */
static enum vnet_wc_status nic_open_pieces(struct nic *nic, const struct nic_qp *qp,
					   const struct nic_open_receive *open, u64 offset,
					   u64 need, struct nic_piece *dst, u32 *n)
{
	const struct nic_srq *srq = qp->srqn ? nic_srq_of(nic, qp, open->srqn) : NULL;
	u32 i, pdn = srq ? srq->rq.pdn : qp->pdn;

	*n = 0;
	for (i = 0; i < open->num_sge && i < VNET_MAX_SGE && need; i++) {
		struct vnet_sge sge = open->sge[i];

		if (offset >= sge.length) {
			offset -= sge.length;
			continue;
		}
		sge.addr += offset;
		sge.length -= (u32)offset;
		offset = 0;
		if (sge.length > need)
			sge.length = (u32)need;
		if (!nic_check_key(nic, sge.lkey, pdn, qp->qpn, NIC_ACCESS_LOCAL_WRITE, sge.addr,
				   sge.length, &dst[*n]))
			return VNET_WC_LOC_PROT_ERR;
		need -= sge.length;
		(*n)++;
	}
	return need ? VNET_WC_LOC_LEN_ERR : VNET_WC_SUCCESS;
}

u32 nic_fill_open(struct nic *nic, struct nic_qp *qp, const struct nic_open_receive *open,
		  u64 offset, const struct nic_piece *src, u64 left)
{
	struct nic_piece dst[VNET_MAX_SGE] NIC_SCRATCH, piece = *src;
	enum vnet_wc_status status;
	enum nic_copy_result result;
	u32 n;

	if (unlikely(open->tm_kind >= NIC_TM_EAGER))
		nic_tm_clip(open, &offset, &piece);
	if (!piece.length)
		return VNET_WC_SUCCESS;
	status = nic_open_pieces(nic, qp, open, offset, piece.length, dst, &n);
	if (status)
		return status;
	result = nic_copy(nic, nic_page_waiter(qp, NIC_ARRIVALS, open->index), dst, n, &piece, 1,
			  piece.length);
	/* The process is exiting; its memory is not at fault. */
	if (unlikely(result == NIC_COPY_DST_GONE))
		return NIC_EXEC_BUSY;
	if (likely(!nic_is_later(result)))
		return result == NIC_COPY_OK ? VNET_WC_SUCCESS : VNET_WC_LOC_PROT_ERR;
	if (left > NIC_FETCH_BLOCK)
		left = NIC_FETCH_BLOCK;
	if (left > piece.length && !nic_open_pieces(nic, qp, open, offset, left, dst, &n))
		nic_fetch_ahead(nic, dst, n, NULL, 0, left);
	return NIC_EXEC_PAGES;
}
