// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Receiving ends of channels: new and repeated packets, their executor, and their acknowledgements.
 */
#include "transport/transport.h"
#include "vn/responding.h"

enum nic_rx_verdict { NIC_RX_DROP, NIC_RX_NEW, NIC_RX_AGAIN };

/* Was the packet with this sequence number refused when it arrived last? */
static bool nic_rx_refused(const struct nic_rx *rx, u32 seq)
{
	return rx->answer_seq == seq && rx->code >= VNET_NACK_FIRST &&
	       rx->code <= VNET_RETURN_NO_QP;
}

static enum nic_rx_verdict nic_rx_compare(const struct nic *nic, const struct nic_rx *rx, u32 seq)
{
	s32 ahead = (s32)(seq - rx->seq);

	/* Alternating bit: only correct if packets cannot overtake each other. */
	if (nic->hdr->settings.sequence_bits == 1)
		ahead &= 1;
	if (ahead)
		return ahead > 0 ? NIC_RX_NEW : NIC_RX_DROP;
	/*
	 * A read that was executed once and then refused: the next packet may have the same number.
	 */
	return nic_rx_refused(rx, seq) ? NIC_RX_NEW : NIC_RX_AGAIN;
}

/*
 * The packet was accepted, but its executor died before it recorded the outcome. A connection finds
 * out by the packet number; the delivery of a datagram remains unknown.
 */
static void nic_rx_outcome_lost(struct nic_rx *rx, const struct vnet_frame_op *op)
{
	rx->answer_seq = nic_le32(op->seq);
	rx->code = VNET_ACK_DONE;
	rx->result = 0;
	if (!nic_is_unordered(op->qp_type))
		return;
	rx->code = VNET_RETURN_DROPPED;
	rx->result = VNET_WC_RETRY_EXC_ERR;
}

bool nic_rx_begin(struct nic *nic, struct nic_row *row, const struct nic_arrived_frame *f,
		  bool *counted)
{
	const struct vnet_frame_op *op = f->op;
	struct nic_rx *rx = &row->rx[op->channel];
	u32 seq = nic_le32(op->seq);
	enum nic_rx_verdict verdict;
	bool go;

	if (!nic_row_lock(nic, &row->lock, 1))
		return false;
	if (!nic_row_is_alive(nic, row, f)) {
		nic_unlock(&row->lock);
		return false;
	}
	verdict = nic_load(&rx->busy) ? NIC_RX_DROP : nic_rx_compare(nic, rx, seq);
	go = verdict == NIC_RX_NEW;
	*counted = !go;
	/* Counted also while the packet is being executed. */
	if (!go)
		nic_count(nic, duplicates);
	if (verdict == NIC_RX_AGAIN) {
		/*
		 * A repeated read is executed again, because its data is not stored; but not if it
		 * failed for good.
		 */
		go = op->opcode == VNET_WR_RDMA_READ && rx->code <= VNET_RETURN_NO_QP;
		if (!go) {
			/*
			 * While the first answer is not sent yet, its timestamp tells the sender
			 * that the repetition was not needed.
			 */
			if (rx->answer_seq != seq || !(row->owed & 1ull << op->channel))
				rx->timestamp = nic_le32(op->timestamp);
			if (rx->answer_seq != seq)
				nic_rx_outcome_lost(rx, op);
			nic_acks_owe(row, op->channel);
			nic_row_activate(nic, row);
		}
	}
	if (go)
		nic_store(&rx->busy, nic->self);
	/* If this process dies, nothing but `seq` can tell that a datagram was delivered. */
	if (verdict == NIC_RX_NEW && nic_is_unordered(op->qp_type)) {
		rx->seq = seq;
		/* An earlier refusal of the packet is void. */
		rx->answer_seq = seq - 1;
	}
	nic_unlock(&row->lock);
	return go;
}

void nic_rx_end(const struct nic_arrival_op *a)
{
	struct nic *nic = a->nic;
	struct nic_row *row = a->row;
	struct nic_rx *rx = &row->rx[a->op->channel];

	if (!nic_row_lock(nic, &row->lock, NIC_ROW_TRIES)) {
		/*
		 * The packet is sent again, and the queue pair recognises it by its packet number.
		 */
		nic_store(&rx->busy, 0);
		return;
	}
	nic_store(&rx->busy, 0);
	/* The row may have restarted for another incarnation meanwhile. */
	if (row->incarnation == a->life) {
		rx->answer_seq = nic_le32(a->op->seq);
		rx->timestamp = nic_le32(a->op->timestamp);
		rx->code = plat_broken(NIC_RULE_WRITTEN) ? VNET_ACK_DONE : a->code;
		rx->result = a->result;
		if (rx->code < VNET_NACK_FIRST || rx->code > VNET_RETURN_NO_QP)
			rx->seq = rx->answer_seq;
		else if (nic_is_unordered(a->op->qp_type))
			/* The datagram was refused: the channel expects it again. */
			rx->seq = rx->answer_seq - 1;
		if (!a->reply)
			nic_acks_owe(row, a->op->channel);
		nic_row_activate(nic, row);
	}
	nic_unlock(&row->lock);
}
