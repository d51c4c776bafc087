// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Retransmission of packets whose timer expired, also after an RNR NACK. The packet is transmitted
 * again, or its request fails (retry_cnt, rnr_retry). If the packet's queue pair no longer exists,
 * another packet with its sequence number finds out whether the peer has accepted it.
 */
#include "layout/lookup.h"
#include "layout/ring.h"
#include "layout/message.h"
#include "protection/protection.h"
#include "objects/objects.h"
#include "requester/requester.h"
#include "vn/sending.h"

/*
 * Retransmissions before RETRY_EXC_ERR, however short the timeout; fewer if retry_cnt is smaller.
 */
#define NIC_MIN_RETRIES 2
/* A QP number that no connected queue pair has: only datagrams and frames are sent to it. */
#define NIC_NO_QPN NIC_GROUP_QPN

/*
 * Was the packet transmitted often enough to report RETRY_EXC_ERR? The transport timeout may be
 * shorter than the retransmission timer, or than the delay that a NACK asked for. A refused packet
 * counts no retries; instead, it must have been outstanding for as long as those retries would
 * take.
 */
static bool nic_retried_enough(const struct nic_sending *s, const struct nic_tx *tx, u64 now)
{
	u8 retries = s->qp->attr.retry_cnt;
	u32 few = retries < NIC_MIN_RETRIES ? retries : NIC_MIN_RETRIES;

	if (tx->retries >= few)
		return true;
	return tx->flags & NIC_TX_NACKED &&
	       now - tx->since > few * s->nic->hdr->settings.rto_min * 1000ull;
}

/* Returns the completion status with which the packet fails now; 0: transmit it again. */
static u32 nic_retry_status(const struct nic_sending *s, const struct nic_tx *tx, u64 now)
{
	struct nic_qp *qp = s->qp;
	bool silent = nic_tx_is_silent(s->nic, s->row, qp, s->ep, tx, now);

	if (qp->type != NIC_QPT_RC)
		return silent ? VNET_WC_RETRY_EXC_ERR : 0;
	if (silent && !(tx->flags & NIC_TX_HEARD) && nic_retried_enough(s, tx, now))
		return VNET_WC_RETRY_EXC_ERR;
	if (!(tx->flags & NIC_TX_RNR) || qp->attr.rnr_retry == 7)
		return 0;
	return qp->rnr_used >= qp->attr.rnr_retry ? VNET_WC_RNR_RETRY_EXC_ERR : 0;
}

static void nic_count_retry(struct nic_qp *qp, const struct nic_tx *tx)
{
	if (tx->flags & NIC_TX_DEFERRED)
		return;
	if (tx->flags & NIC_TX_RNR) {
		qp->counters.rnr_waits++;
		if (qp->rnr_used < 255)
			qp->rnr_used++;
	} else {
		qp->counters.retries++;
	}
}

/* The caller holds sq_lock. */
static void nic_retransmit_locked(struct nic_sending *s, u32 channel, u32 seq, u64 now)
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
	if (!ring || !s->ep || nic_head_action(s->qp) == NIC_HEAD_FLUSH) {
		/* The queue pair is flushed or not resident: the answer is not needed. */
		nic_tx_free(s->nic, row, tx);
		goto unlock;
	}
	/*
	 * The time in which the packet waited for local pages does not count as silence of the
	 * peer.
	 */
	if (unlikely(tx->flags & NIC_TX_DEFERRED) && (s32)(nic_us(now) - tx->timestamp) > 0) {
		tx->answered += (nic_us(now) - tx->timestamp) * 1000ull;
		if (tx->answered > nic_timeout_clock(s->nic, now))
			tx->answered = nic_timeout_clock(s->nic, now);
	}
	status = nic_retry_status(s, tx, now);
	if (status) {
		nic_tx_give_up(s->nic, row, s->qp, s->ep, tx, status);
		goto unlock;
	}
	/* The packet was acknowledged by another transmission, and its request is retired. */
	if (tx->psn - s->ep->una >= s->ep->next - s->ep->una) {
		nic_tx_free(s->nic, row, tx);
		goto unlock;
	}
	nic_fetch(&s->r, ring, tx->sq_index);
	status = s->r.wqe.opcode == tx->opcode ? nic_sending_gather(s) : VNET_WC_LOC_QP_OP_ERR;
	if (unlikely(status == NIC_EXEC_PAGES)) {
		nic_tx_defer(s->nic, row, s->qp, s->ep, tx, now);
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
	if (!(tx->flags & (NIC_TX_NACKED | NIC_TX_DEFERRED)) && tx->retries < 0xffff)
		tx->retries++;
	if (!(tx->flags & (NIC_TX_NACKED | NIC_TX_SOONER | NIC_TX_DEFERRED)))
		tx->backoff++;
	nic_count(s->nic, retransmitted);
	nic_transmit(s, tx, now);
	return;
unlock:
	nic_unlock(&row->lock);
}

/*
 * The queue pair was destroyed, but with one-bit sequence numbers the channel cannot be reused
 * before it is known whether the packet was accepted (nic_tx_orphan()). Send a packet with the same
 * sequence number to a QP that does not exist: the peer acknowledges it if the original was
 * accepted, and refuses it otherwise. The caller holds the row's lock.
 */
static void nic_tx_orphan_probe(struct nic *nic, struct nic_row *row, struct nic_tx *tx, u64 now)
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

void nic_vn_retransmit(struct nic *nic, struct nic_row *row, u32 channel, u32 seq, u64 now)
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
			nic_tx_orphan_probe(nic, row, &row->tx[channel], now);
		nic_unlock(&row->lock);
		return;
	}
	/* Another thread executes the queue pair; the timer will expire again. */
	if (!nic_trylock(nic, &qp->sq_lock))
		return;
	nic_sending_begin(&s, nic, qp, row);
	nic_retransmit_locked(&s, channel, seq, now);
	nic_qp_unlock(nic, qp);
}
