// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The responder for messages from other NICs that take a receive: sends and datagrams. A message of
 * several packets fills a receive that stays open until the last one.
 */
#include "address/address.h"
#include "layout/lookup.h"
#include "layout/message.h"
#include "pending/pending.h"
#include "responder/responder.h"
#include "vn/responding.h"

static struct nic_rq *nic_arrival_rq(struct nic_arrival_op *a)
{
	struct nic_srq *srq = a->qp->srqn ? nic_srq_of(a->nic, a->qp, nic_load(&a->qp->op_srqn)) :
					    NULL;

	return srq ? &srq->rq : &a->qp->rq;
}

/*
 * No receive: RNR NACK for a reliable sender; others stall for a limited time, then lose the
 * message.
 */
static void nic_no_receive_yet(struct nic_arrival_op *a)
{
	struct nic_rq *rq = nic_arrival_rq(a);
	u64 now = plat_clock();

	if (a->qp->type == NIC_QPT_RC) {
		nic_answer(a, VNET_NACK_RNR, nic_rnr_timeout(a->qp));
		return;
	}
	if (!a->ep->stalled)
		a->ep->stalled = now;
	if (!nic_load(&rq->lossy) && now - a->ep->stalled < a->nic->stall_ns) {
		nic_answer(a, VNET_NACK_RNR, NIC_STALL_TRY_NS);
		return;
	}
	nic_store(&rq->lossy, 1);
	a->ep->stalled = 0;
	a->qp->counters.dropped++;
	nic_count(a->nic, drop_no_receive);
	nic_answer(a, VNET_RETURN_DROPPED, VNET_WC_RNR_RETRY_EXC_ERR);
}

static u8 nic_message_flags(const struct vnet_frame_op *op)
{
	if (op->opcode == VNET_WR_SEND_IMM || op->opcode == VNET_WR_RDMA_WRITE_IMM)
		return op->flags & VNET_OP_IMM64 ? VNET_WC_WITH_IMM | VNET_WC_IMM64 :
						   VNET_WC_WITH_IMM;
	return op->opcode == VNET_WR_SEND_INV ? VNET_WC_WITH_INV : 0;
}

void nic_message_of(struct nic_arrival_op *a, struct nic_message *msg)
{
	const struct vnet_frame_op *op = a->op;

	memset(msg, 0, sizeof(*msg));
	msg->dest = a->qp ? a->qp->qpn : 0;
	msg->from = nic_le32(op->src_qpn);
	msg->src = &a->data;
	msg->nsrc = 1;
	msg->length = nic_le32(op->msg_len);
	msg->imm = op->opcode == VNET_WR_SEND_INV ? nic_le32_word(op->imm) : op->imm;
	if (op->flags & VNET_OP_IMM64)
		msg->imm_high = nic_le32(op->imm_high);
	msg->wc_flags = nic_message_flags(op);
	msg->wc_opcode = op->opcode == VNET_WR_RDMA_WRITE_IMM ? VNET_WC_RECV_RDMA_WITH_IMM :
								VNET_WC_RECV;
	msg->solicited = op->flags & VNET_OP_SOLICITED;
	msg->invalidate = op->opcode == VNET_WR_SEND_INV;
	msg->arrival = true;
}

void nic_arrival_deliver(struct nic_arrival_op *a, const struct nic_message *msg)
{
	struct nic_qp *qp = a->qp;
	u32 status;

	/* The announced length must be that of the payload. */
	if (msg->wc_opcode == VNET_WC_RECV && !msg->opened && !msg->broken &&
	    msg->length != a->data.length) {
		nic_refuse(a, VNET_WC_REM_INV_REQ_ERR);
		return;
	}
	qp->op_psn = nic_le32(a->op->psn);
	qp->op_arrival = msg->datagram ? NIC_ARRIVAL_DATAGRAM : NIC_ARRIVAL_ORDERED;
	status = nic_deliver(a->nic, qp, qp, msg);
	if (qp->op_phase == NIC_OP_IDLE)
		qp->op_arrival = NIC_ARRIVAL_NONE;
	switch (status) {
	case VNET_WC_SUCCESS:
		nic_answer(a, VNET_ACK_DONE, 0);
		break;
	case NIC_EXEC_NO_RECEIVE:
		nic_no_receive_yet(a);
		break;
	case NIC_EXEC_BUSY:
		nic_answer(a, VNET_NACK_BUSY, 0);
		break;
	case NIC_EXEC_PAGES:
		nic_no_pages_yet(a);
		break;
	default:
		if (!(status & NIC_EXEC_DROPPED))
			nic_answer(a, VNET_RETURN_ERROR, status);
		else if (msg->datagram)
			nic_answer(a, VNET_RETURN_DROPPED, status & ~NIC_EXEC_DROPPED);
		else
			nic_answer(a, VNET_ACK_DONE, 0);
		break;
	}
}

/* Execute a packet of a message of several packets; the first one opens the receive. */
static void nic_arrive_piece(struct nic_arrival_op *a)
{
	struct nic_endpoint *ep = a->ep;
	const struct vnet_frame_op *op = a->op;
	struct nic_message msg;
	u32 status = VNET_WC_SUCCESS;

	nic_message_of(a, &msg);
	if (op->flags & VNET_OP_FIRST) {
		ep->got = 0;
		ep->got_at = ep->expected - 1;
		if (!ep->receive.open)
			status = nic_open(a->nic, a->qp, &msg, &ep->receive);
		if (status == NIC_EXEC_NO_RECEIVE) {
			nic_no_receive_yet(a);
			if (a->code == VNET_RETURN_DROPPED)
				nic_endpoint_advance(ep);
			return;
		}
		if (status == NIC_EXEC_BUSY) {
			nic_answer(a, VNET_NACK_BUSY, 0);
			return;
		}
		if (status) {
			/*
			 * Deliver it as a whole message, which completes a receive with this error.
			 */
			msg.broken = (enum vnet_wc_status)status;
			nic_arrival_deliver(a, &msg);
			return;
		}
	}
	if (ep->got_at == ep->expected)
		ep->got = ep->got_next;
	if (!ep->receive.open || ep->got != nic_le32(op->offset)) {
		/* The first packet of an unreliable message was lost. */
		nic_refuse(a, VNET_WC_REM_INV_REQ_ERR);
		if (a->code == VNET_ACK_DONE)
			nic_endpoint_advance(ep);
		return;
	}
	status =
		nic_fill_open(a->nic, a->qp, &ep->receive, ep->got, &a->data, nic_message_left(op));
	if (unlikely(status == NIC_EXEC_PAGES)) {
		nic_no_pages_yet(a);
		/* The message is lost; its receive serves the next one. */
		if (a->code == VNET_RETURN_DROPPED)
			nic_endpoint_advance(ep);
		return;
	}
	if (unlikely(status == NIC_EXEC_BUSY)) {
		nic_answer(a, VNET_NACK_BUSY, 0);
		return;
	}
	msg.broken = (enum vnet_wc_status)status;
	msg.opened = &ep->receive;
	if (msg.broken || (op->flags & VNET_OP_LAST)) {
		nic_arrival_deliver(a, &msg);
		return;
	}
	/* Recorded before `expected` advances, and valid only after that (got_at). */
	ep->got_next = ep->got + (u32)a->data.length;
	ep->got_at = ep->expected + 1;
	ep->stalled = 0;
	nic_endpoint_advance(ep);
	nic_answer(a, VNET_ACK_DONE, 0);
}

void nic_arrive_send(struct nic_arrival_op *a)
{
	struct nic_message msg;

	/* The open receive of an unreliable message that was lost serves the next one. */
	if (a->ep->receive.open ||
	    (a->op->flags & (VNET_OP_FIRST | VNET_OP_LAST)) != (VNET_OP_FIRST | VNET_OP_LAST)) {
		nic_arrive_piece(a);
		return;
	}
	nic_message_of(a, &msg);
	nic_arrival_deliver(a, &msg);
	if (a->code == VNET_RETURN_DROPPED)
		nic_endpoint_advance(a->ep);
}

void nic_datagram_of(struct nic_arrival_op *a, struct nic_message *msg)
{
	nic_message_of(a, msg);
	msg->datagram = true;
	msg->slid = a->nic->hdr->lid ? nic_gid_lid(a->row->gid) : 0;
	msg->sl = (u8)nic_le32(a->op->sl);
	if (!(a->op->flags & VNET_OP_NO_GRH))
		msg->wc_flags |= VNET_WC_GRH;
	if (a->op->flags & VNET_OP_GRH_IPV4)
		msg->wc_flags |= VNET_WC_GRH_IPV4;
}

void nic_arrive_datagram(struct nic_arrival_op *a)
{
	struct nic_message msg;

	nic_datagram_of(a, &msg);
	nic_arrival_deliver(a, &msg);
	if (a->code < VNET_NACK_FIRST || a->code >= VNET_RETURN_FIRST)
		a->ep->stalled = 0;
}
