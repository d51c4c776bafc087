// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Once more: a packet whose answer did not come is transmitted again, given up, or,
 * where nobody wants to know any more, asked after.
 */
#include "vn/sending.h"

/* However short the timeout: a packet is not given up before so many retries. */
#define NIC_FEW_RETRIES 2
/* Of no queue pair: only datagrams go there. */
#define NIC_NO_QPN NIC_GROUP_QPN

/*
 * Was it sent often enough to say so? A timeout may be shorter than a timer's turn; as may be
 * what who refused it asked for. Times that somebody was busy are not counted: it is as long
 * as they would take.
 */
static bool nic_tried(const struct nic_sending *s, const struct nic_tx *tx, u64 now)
{
	u8 retries = s->qp->attr.retry_cnt;
	u32 few = retries < NIC_FEW_RETRIES ? retries : NIC_FEW_RETRIES;

	if (tx->retries >= few)
		return true;
	return tx->flags & NIC_TX_NACKED &&
	       now - tx->since > few * s->nic->hdr->settings.rto_min * 1000ull;
}

/* Nobody has answered for so long; 0: it may go on. */
static u32 nic_given_up(const struct nic_sending *s, const struct nic_tx *tx, u64 now)
{
	struct nic_qp *qp = s->qp;
	bool silent = nic_tx_is_silent(s->nic, s->row, qp, s->ep, tx, now);

	if (qp->type != NIC_QPT_RC)
		return silent ? VNET_WC_RETRY_EXC_ERR : 0;
	if (silent && !(tx->flags & NIC_TX_HEARD) && nic_tried(s, tx, now))
		return VNET_WC_RETRY_EXC_ERR;
	if (!(tx->flags & NIC_TX_RNR) || qp->attr.rnr_retry == 7)
		return 0;
	return qp->rnr_used >= qp->attr.rnr_retry ? VNET_WC_RNR_RETRY_EXC_ERR : 0;
}

static void nic_count_retry(struct nic_qp *qp, const struct nic_tx *tx)
{
	if (tx->flags & NIC_TX_KEPT)
		return;
	if (tx->flags & NIC_TX_RNR) {
		qp->counters.rnr_waits++;
		if (qp->rnr_used < 255)
			qp->rnr_used++;
	} else {
		qp->counters.retries++;
	}
}

/* sq_lock is held. */
static void nic_again_locked(struct nic_sending *s, u32 channel, u32 seq, u64 now)
{
	struct nic_row *row = s->row;
	struct nic_tx *tx = &row->tx[channel];
	struct vnet_ring *ring = nic_sq_ring(s->nic, s->qp);
	u32 status;

	nic_grace_point(s->nic, s->qp);
	s->ep = nic_endpoint_at(s->nic, s->qp);
	if (!nic_lock(s->nic, &row->lock))
		return;
	if (!nic_tx_is(row, tx, seq, s->qp->qpn))
		goto unlock;
	if (!ring || !s->ep || nic_turn(s->qp) == NIC_TURN_FLUSH) {
		/* Nobody asks for it any more. */
		nic_tx_free(s->nic, row, tx);
		goto unlock;
	}
	/* Nobody was silent while it was not sent. */
	if (unlikely(tx->flags & NIC_TX_KEPT) && (s32)(nic_us(now) - tx->timestamp) > 0) {
		tx->answered += (nic_us(now) - tx->timestamp) * 1000ull;
		if (tx->answered > nic_patience(s->nic, now))
			tx->answered = nic_patience(s->nic, now);
	}
	status = nic_given_up(s, tx, now);
	if (status) {
		nic_tx_give_up(s->nic, row, s->qp, s->ep, tx, status);
		goto unlock;
	}
	/* An answer that was lost, and came after all? */
	if (tx->psn - s->ep->una >= s->ep->next - s->ep->una) {
		nic_tx_free(s->nic, row, tx);
		goto unlock;
	}
	nic_fetch(&s->r, ring, tx->sq_index);
	status = s->r.wqe.opcode == tx->opcode ? nic_sending_gather(s) : VNET_WC_LOC_QP_OP_ERR;
	if (unlikely(status == NIC_EXEC_PAGES)) {
		nic_tx_keep(s->nic, row, s->qp, s->ep, tx, now);
		goto unlock;
	}
	if (!status && (u64)tx->offset + tx->length > s->r.length && !(ATOMICS & OP(tx->opcode)))
		status = VNET_WC_LOC_QP_OP_ERR;
	if (status) {
		nic_vn_fail(s->ep, tx->psn, status);
		nic_tx_free(s->nic, row, tx);
		goto unlock;
	}
	nic_count_retry(s->qp, tx);
	if (!(tx->flags & (NIC_TX_NACKED | NIC_TX_KEPT)) && tx->retries < 0xffff)
		tx->retries++;
	if (!(tx->flags & (NIC_TX_NACKED | NIC_TX_SOONER | NIC_TX_KEPT)))
		tx->backoff++;
	nic_count(s->nic, retransmitted);
	nic_transmit(s, tx, now);
	return;
unlock:
	nic_unlock(&row->lock);
}

/*
 * Nobody asks for this packet any more, but was it taken? A packet for no queue
 * pair, sent as it was, is refused if not (see nic_tx_forsake()).
 */
static void nic_ask(struct nic *nic, struct nic_row *row, struct nic_tx *tx, u64 now)
{
	struct vnet_frame *frame;
	struct vnet_frame_op *op;

	nic_tx_sent(nic, row, tx, now, 0);
	frame = nic_frame_begin(nic, row, VNET_FRAME_DATA);
	if (!frame)
		return;
	op = (struct vnet_frame_op *)(frame + 1);
	memset(op, 0, sizeof(*op));
	op->seq = nic_to_le32(tx->seq);
	op->timestamp = nic_to_le32(tx->timestamp);
	op->channel = (u8)nic_tx_channel(row, tx);
	op->opcode = VNET_WR_SEND;
	op->flags = VNET_OP_FIRST | VNET_OP_LAST;
	op->qp_type = NIC_QPT_RC;
	op->src_qpn = nic_to_le32(NIC_NO_QPN);
	op->dst_qpn = nic_to_le32(NIC_NO_QPN);
	nic_frame_send(nic, &row->address, sizeof(*frame) + sizeof(*op));
}

void nic_vn_again(struct nic *nic, struct nic_row *row, u32 channel, u32 seq, u64 now)
{
	struct nic_sending s NIC_SCRATCH;
	u32 qpn = nic_load(&row->tx[channel].qpn);
	struct nic_qp *qp = nic_find_qp(nic, qpn);

	if (!qp) {
		if (!nic_lock(nic, &row->lock))
			return;
		if (qpn)
			nic_tx_cancel(nic, row, qpn);
		else if (row->busy & 1ull << channel && row->tx[channel].seq == seq)
			nic_ask(nic, row, &row->tx[channel], now);
		nic_unlock(&row->lock);
		return;
	}
	/* Somebody is inside; the timer comes round. */
	if (!nic_trylock(nic, &qp->sq_lock))
		return;
	nic_sending_begin(&s, nic, qp, row);
	nic_again_locked(&s, channel, seq, now);
	nic_qp_unlock(nic, qp);
}
