// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Packets of the requester: gathers and transmits them, and places the data of reads. */
#include "address/address.h"
#include "layout/lookup.h"
#include "layout/ring.h"
#include "layout/message.h"
#include "ether/ether.h"
#include "pending/pending.h"
#include "protection/protection.h"
#include "objects/objects.h"
#include "requester/requester.h"
#include "vn/sending.h"

#define IMMS (OP(VNET_WR_SEND_IMM) | OP(VNET_WR_RDMA_WRITE_IMM))

u32 nic_sending_gather(struct nic_sending *s)
{
	struct nic_request *r = &s->r;
	u32 i, status;
	u8 grh;

	s->op_flags = 0;
	if (unlikely(r->wqe.opcode == VNET_WR_ATOMIC_WRITE))
		return nic_gather_word(r);
	if (unlikely(r->wqe.opcode == VNET_WR_FLUSH))
		return nic_gather_flush(r);
	status = nic_gather(r, READS & OP(r->wqe.opcode) ? NIC_ACCESS_LOCAL_WRITE : 0);
	if (status)
		return status;
	if (ATOMICS & OP(r->wqe.opcode))
		return r->length == 8 ? VNET_WC_SUCCESS : VNET_WC_LOC_LEN_ERR;
	if (unlikely(s->qp->type == NIC_QPT_RAW_PACKET))
		return nic_is_ether_length(r->length) ? VNET_WC_SUCCESS : VNET_WC_LOC_LEN_ERR;
	s->op_flags = r->wqe.flags & VNET_WR_SOLICITED ? VNET_OP_SOLICITED : 0;
	if (s->qp->type != NIC_QPT_UD)
		return VNET_WC_SUCCESS;
	if (r->length > NIC_MTU)
		return VNET_WC_LOC_LEN_ERR;
	grh = nic_make_grh(s->nic, &r->wqe.ud, r->length, s->grh);
	if (grh & VNET_WC_GRH_IPV4)
		s->op_flags |= VNET_OP_GRH_IPV4;
	if (!grh)
		s->op_flags |= VNET_OP_NO_GRH;
	for (i = r->nlocal; i > 0; i--)
		r->local[i] = r->local[i - 1];
	r->local[0].addr = (u64)(unsigned long)s->grh;
	r->local[0].length = VNET_GRH_SIZE;
	r->local[0].space = NIC_SPACE_POINTER;
	r->nlocal++;
	r->length += VNET_GRH_SIZE;
	return VNET_WC_SUCCESS;
}

/* Request the pages of the block at `offset`. If others are missing, nic_transmit() finds out. */
static NIC_COLD u32 nic_sending_fetch_block(struct nic_sending *s, u64 offset)
{
	struct nic_piece piece[VNET_MAX_SGE + 1] NIC_SCRATCH;
	u64 length = NIC_FETCH_BLOCK - offset % NIC_FETCH_BLOCK;
	bool reads = s->r.wqe.opcode == VNET_WR_RDMA_READ;
	enum nic_copy_result result;
	u32 n;

	if (length > s->r.length - offset)
		length = s->r.length - offset;
	n = nic_slice(s->r.local, s->r.nlocal, offset, length, piece);
	result = nic_fetch_pages(s->nic, nic_page_waiter(s->qp, NIC_REQUESTS, s->r.index), piece,
				 reads ? n : 0, piece, reads ? 0 : n, length);
	if (nic_is_later(result))
		return NIC_EXEC_PAGES;
	return result == NIC_COPY_OK ? VNET_WC_SUCCESS : VNET_WC_LOC_PROT_ERR;
}

/*
 * Checks the pages of a whole block with its first packet only. Usually they are still present for
 * the block's other packets, and checking all of them for each packet would be slow.
 */
u32 nic_sending_fetch(struct nic_sending *s, u64 offset)
{
	if (likely(!nic_fetches(s->nic)) || (ATOMICS & OP(s->r.wqe.opcode)) ||
	    offset >= s->r.length)
		return VNET_WC_SUCCESS;
	if (offset % NIC_FETCH_BLOCK >= NIC_MAX_PAYLOAD &&
	    !s->qp->counters.fetch_since[NIC_REQUESTS])
		return VNET_WC_SUCCESS;
	return nic_sending_fetch_block(s, offset);
}

static void nic_op_fill(const struct nic_sending *s, struct vnet_frame_op *op,
			const struct nic_tx *tx, u32 channel)
{
	const struct vnet_send_wqe *wqe = &s->r.wqe;
	bool datagram = s->qp->type == NIC_QPT_UD;
	u32 qkey = wqe->ud.remote_qkey;

	memset(op, 0, sizeof(*op));
	op->seq = nic_to_le32(tx->seq);
	op->timestamp = nic_to_le32(tx->timestamp);
	op->channel = (u8)channel;
	op->opcode = wqe->opcode;
	op->flags = s->op_flags;
	op->qp_type = s->qp->kind;
	op->src_qpn = nic_to_le32(s->qp->qpn);
	op->dst_qpn = nic_to_le32(datagram ? wqe->ud.remote_qpn : s->qp->attr.dest_qpn);
	if (unlikely(s->qp->type == NIC_QPT_RAW_PACKET))
		op->dst_qpn = nic_to_le32(NIC_GROUP_QPN);
	op->psn = nic_to_le32(tx->psn);
	if (unlikely(s->qp->kind == NIC_QPT_XRC_INI))
		op->srqn = nic_to_le32(wqe->srqn);
	else
		op->floor = nic_to_le32(nic_load(&s->ep->una));
	op->imm = wqe->opcode == VNET_WR_SEND_INV ? nic_le32_word(wqe->imm) : wqe->imm;
	if (unlikely(wqe->flags & VNET_WR_IMM64) && (IMMS & OP(wqe->opcode))) {
		op->flags |= VNET_OP_IMM64;
		op->imm_high = nic_to_le32(wqe->rdma.imm_high);
	}
	if (!(ATOMICS & OP(wqe->opcode))) {
		op->offset = nic_to_le32(tx->offset);
		op->msg_len = nic_to_le32((u32)s->r.length);
		if (!tx->offset)
			op->flags |= VNET_OP_FIRST;
		if ((u64)tx->offset + tx->length == s->r.length)
			op->flags |= VNET_OP_LAST;
	}
	if (datagram) {
		/* The high bit asks for the sender's own key (IB vol 1, 10.2.5). */
		op->read_len = nic_to_le32(qkey & NIC_QKEY_CONTROLLED ? s->qp->attr.qkey : qkey);
		op->sl = nic_to_le32(wqe->ud.sl & 15);
		if (unlikely(tx->flags & NIC_TX_GROUP)) {
			memcpy(op->group_high, wqe->ud.dgid, 8);
			memcpy(op->group_low, wqe->ud.dgid + 8, 8);
		}
		return;
	}
	if (!((READS | WRITES) & OP(wqe->opcode)))
		return;
	if (wqe->opcode == VNET_WR_RDMA_READ)
		op->read_len = nic_to_le32(tx->length);
	op->remote_addr = nic_to_le64(wqe->rdma.remote_addr + tx->offset);
	op->rkey = nic_to_le32(wqe->rdma.rkey);
	if (!((ATOMICS | FLUSH) & OP(wqe->opcode)))
		return;
	op->compare_add = nic_to_le64(wqe->rdma.compare_add);
	op->swap = nic_to_le64(wqe->rdma.swap);
}

/* Local memory of the packet cannot be read: it fails. The caller holds the row's lock. */
static void nic_tx_fail(struct nic_sending *s, struct nic_tx *tx)
{
	nic_vn_fail(s->ep, tx->psn, VNET_WC_LOC_PROT_ERR);
	nic_tx_free(s->nic, s->row, tx);
}

/*
 * The packet cannot be transmitted, nor the acknowledgements in its frame. The caller does not hold
 * the row's lock, so an earlier transmission may have been acknowledged meanwhile.
 */
static NIC_COLD void nic_not_sent(struct nic_sending *s, struct nic_tx *tx, u32 seq,
				  const struct vnet_frame *frame, enum nic_copy_result why, u64 now)
{
	struct nic_row *row = s->row;

	if (!nic_lock(s->nic, &row->lock))
		return;
	nic_acks_requeue(s->nic, row, (const struct vnet_frame_ack *)(frame + 1), frame->nacks);
	if (!nic_tx_is(row, tx, seq, s->qp->qpn)) {
		nic_unlock(&row->lock);
		return;
	}
	if (nic_is_later(why)) {
		/* A new packet was never transmitted, so it was not accepted. */
		if (tx->since == now && !tx->retries)
			tx->flags |= NIC_TX_NACKED;
		nic_tx_defer(s->nic, row, s->qp, s->ep, tx, now);
	} else {
		nic_tx_fail(s, tx);
	}
	nic_unlock(&row->lock);
}

/*
 * Put the acknowledgements of packets that this endpoint has accepted into its next frame, if they
 * fit (room), else send them before it.
 */
static void nic_answers_first(struct nic_sending *s, const struct nic_tx *tx, u32 room, u64 now)
{
	if (!s->nic->hdr->settings.piggyback || !s->ep->accepted)
		return;
	nic_acks_repeat(s->row, s->ep);
	if (s->row->nowed > room)
		nic_acks_send_locked(s->nic, s->row);
	/* A retransmission may be overtaken by a new packet, so that must carry them, too. */
	if (tx->since == now)
		s->ep->accepted = 0;
}

void nic_transmit(struct nic_sending *s, struct nic_tx *tx, u64 now)
{
	struct nic *nic = s->nic;
	struct nic_row *row = s->row;
	bool carries = !(READS & OP(s->r.wqe.opcode));
	u32 length = sizeof(struct vnet_frame) + sizeof(struct vnet_frame_op);
	struct nic_piece src[VNET_MAX_SGE + 1] NIC_SCRATCH, dst = { .space = NIC_SPACE_POINTER };
	struct nic_address address = row->address;
	enum nic_copy_result result = NIC_COPY_OK;
	struct vnet_frame *frame;
	struct vnet_frame_op *op;
	u32 room, n, seq = tx->seq;

	nic_tx_sent(nic, row, tx, now,
		    s->qp->type == NIC_QPT_RC ? nic_transport_timeout(s->qp) : 0);
	dst.length = carries ? tx->length : 0;
	if (unlikely(dst.length > NIC_MAX_PAYLOAD)) {
		nic_tx_fail(s, tx);
		nic_unlock(&row->lock);
		return;
	}
	length += (u32)dst.length;
	/* A datagram is one frame, however long. */
	room = nic_row_payload(row) + VNET_WIRE_SLACK;
	room = room > length ? room - length : 0;
	room /= (u32)sizeof(struct vnet_frame_ack);
	nic_answers_first(s, tx, room, now);
	frame = nic_frame_begin(nic, row, VNET_FRAME_DATA);
	if (!frame) {
		nic_unlock(&row->lock);
		return;
	}
	if (nic->hdr->settings.piggyback && room && row->owed)
		frame->nacks =
			(u8)nic_acks_take(nic, row, (struct vnet_frame_ack *)(frame + 1), room);
	length += frame->nacks * sizeof(struct vnet_frame_ack);
	frame->payload_len = nic_to_le16((u16)dst.length);
	op = (struct vnet_frame_op *)((u8 *)(frame + 1) +
				      frame->nacks * sizeof(struct vnet_frame_ack));
	nic_op_fill(s, op, tx, nic_tx_channel(row, tx));
	n = nic_slice(s->r.local, s->r.nlocal, tx->offset, dst.length, src);
	nic_unlock(&row->lock);

	dst.addr = (u64)(unsigned long)(op + 1);
	if (dst.length)
		result = nic_copy(nic, nic_page_waiter(s->qp, NIC_REQUESTS, s->r.index), &dst, 1,
				  src, n, dst.length);
	if (likely(result == NIC_COPY_OK))
		nic_frame_send(nic, &address, length);
	else
		nic_not_sent(s, tx, seq, frame, result, now);
}

/* ------------------------------------------------------------ data of reads */

/* The caller holds sq_lock. false: drop the acknowledgement that brought the data. */
static bool nic_read_place(struct nic_sending *s, const struct nic_arrived_frame *f)
{
	const struct vnet_frame_ack *ack = &f->ack[0];
	struct vnet_ring *ring = nic_sq_ring(s->nic, s->qp);
	struct nic_piece dst[VNET_MAX_SGE + 1] NIC_SCRATCH, src = { .space = NIC_SPACE_POINTER };
	enum nic_copy_result result;
	struct nic_tx tx, *kept;
	bool known, fits, later = false;
	u32 n;

	nic_grace_point(s->nic, s->qp);
	s->ep = nic_endpoint_at(s->nic, s->qp);
	if (!ring || !s->ep || !nic_lock(s->nic, &s->row->lock))
		return false;
	tx = s->row->tx[ack->channel];
	known = s->row->busy & 1ull << ack->channel && tx.seq == nic_le32(ack->seq) &&
		tx.qpn == s->qp->qpn;
	fits = nic_tx_acks_ok(s->nic, s->row, f);
	nic_unlock(&s->row->lock);
	if (!fits)
		return false;
	if (!known) {
		nic_count(s->nic, stale_answers);
		return false;
	}
	if (tx.opcode != VNET_WR_RDMA_READ || tx.length != f->payload_len) {
		nic_count(s->nic, bad_field);
		return false;
	}
	nic_fetch(&s->r, ring, tx.sq_index);
	src.addr = (u64)(unsigned long)f->payload;
	src.length = f->payload_len;
	if (s->r.wqe.opcode == VNET_WR_RDMA_READ && !nic_sending_gather(s) &&
	    (u64)tx.offset + tx.length <= s->r.length) {
		n = nic_slice(s->r.local, s->r.nlocal, tx.offset, tx.length, dst);
		result = nic_copy(s->nic, nic_page_waiter(s->qp, NIC_REQUESTS, s->r.index), dst, n,
				  &src, 1, tx.length);
		if (result == NIC_COPY_OK)
			return true;
		later = nic_is_later(result);
	}
	if (!nic_lock(s->nic, &s->row->lock))
		return false;
	if (unlikely(later)) {
		/* Retry the read when the pages are present. */
		kept = &s->row->tx[ack->channel];
		if (s->row->busy & 1ull << ack->channel && kept->seq == tx.seq &&
		    kept->qpn == tx.qpn)
			nic_tx_defer(s->nic, s->row, s->qp, s->ep, kept, plat_clock());
		nic_unlock(&s->row->lock);
		return false;
	}
	nic_vn_fail(s->ep, tx.psn, VNET_WC_LOC_PROT_ERR);
	nic_unlock(&s->row->lock);
	return true;
}

bool nic_vn_read_data(struct nic *nic, struct nic_row *row, const struct nic_arrived_frame *f)
{
	struct nic_sending s NIC_SCRATCH;
	struct nic_qp *qp = nic_find_qp(nic, nic_load(&row->tx[f->ack[0].channel].qpn));
	bool placed;

	if (!qp)
		nic_count(nic, stale_answers);
	if (!qp)
		return false;
	if (!nic_lock(nic, &qp->sq_lock)) {
		nic_tx_note_alive(nic, row, f);
		return false;
	}
	nic_sending_begin(&s, nic, qp, row);
	placed = nic_read_place(&s, f);
	nic_qp_unlock(nic, qp);
	return placed;
}
