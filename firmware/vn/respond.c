// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The responder for other NICs: order, refusal and dispatch of packets. The channel (vn/rx.c)
 * recognises repeated packets; the packet number of the queue pair gives the order. A packet that
 * must be executed in order (a message, the last piece of a write) is refused while an earlier one
 * is missing; the other pieces of a write are written when they arrive.
 */
#include "layout/lookup.h"
#include "layout/message.h"
#include "transport/transport.h"
#include "pending/pending.h"
#include "protection/protection.h"
#include "completion/completion.h"
#include "responder/responder.h"
#include "requester/requester.h"
#include "vn/responding.h"

/* Retry interval of a packet whose pages are being brought, ns. */
#define NIC_PAGES_TRY_NS 200000ull

void nic_vn_arrived(struct nic *nic, struct nic_qp *qp)
{
	struct nic_endpoint *ep = nic_endpoint_at(nic, qp);

	if (qp->op_arrival != NIC_ARRIVAL_ORDERED || !ep || ep->qpn != qp->qpn ||
	    ep->expected != qp->op_psn)
		return;
	ep->receive.open = 0;
	ep->got = 0;
	ep->stalled = 0;
	nic_endpoint_advance(ep);
}

void nic_refuse(struct nic_arrival_op *a, enum vnet_wc_status status)
{
	if (a->qp->type == NIC_QPT_UD) {
		nic_answer(a, VNET_RETURN_DROPPED, status);
		return;
	}
	if (a->qp->type != NIC_QPT_RC) {
		nic_answer(a, VNET_ACK_DONE, 0);
		return;
	}
	if (!a->again)
		nic_qp_fail(a->nic, a->qp,
			    status == VNET_WC_REM_ACCESS_ERR ? NIC_EVENT_QP_ACCESS_ERR :
							       NIC_EVENT_QP_REQ_ERR);
	nic_answer(a, VNET_RETURN_ERROR, status);
}

void nic_no_pages_yet(struct nic_arrival_op *a)
{
	u64 since = nic_load(&a->qp->counters.fetch_since[NIC_ARRIVALS]);

	if (a->qp->type == NIC_QPT_RC || a->early || plat_clock() - since < a->nic->stall_ns) {
		nic_answer(a, VNET_NACK_ABSENT, NIC_PAGES_TRY_NS);
		return;
	}
	a->qp->counters.dropped++;
	nic_count(a->nic, drop_no_receive);
	nic_answer(a, VNET_RETURN_DROPPED, VNET_WC_RNR_RETRY_EXC_ERR);
}

/*
 * XRC: does the SRQ that the packet names exist? The pieces of a message use the SRQ in which the
 * first one opened a receive. false: the packet was refused.
 */
static bool nic_arrival_srq(struct nic_arrival_op *a)
{
	struct nic_open_receive *open = &a->ep->receive;

	if (open->open) {
		if (nic_open_srq_exists(a->nic, a->qp, open)) {
			a->qp->op_srqn = open->srqn;
			return true;
		}
		/* The SRQ of the open receive was destroyed, and the receive with it. */
		open->open = 0;
	} else if (nic_srq_of(a->nic, a->qp, a->qp->op_srqn)) {
		return true;
	}
	nic_refuse(a, VNET_WC_REM_INV_REQ_ERR);
	return false;
}

static void nic_arrive_expected(struct nic_arrival_op *a)
{
	if (unlikely(a->qp->srqn == NIC_SRQ_NAMED) && !nic_arrival_srq(a))
		return;
	switch (a->op->opcode) {
	case VNET_WR_SEND:
	case VNET_WR_SEND_IMM:
	case VNET_WR_SEND_INV:
		nic_arrive_send(a);
		break;
	case VNET_WR_RDMA_WRITE:
	case VNET_WR_RDMA_WRITE_IMM:
		nic_arrive_write(a);
		break;
	case VNET_WR_RDMA_READ:
		nic_arrive_read(a);
		break;
	case VNET_WR_FLUSH:
		nic_arrive_flush(a);
		break;
	default:
		nic_arrive_atomic(a);
		break;
	}
}

/* Earlier packets are missing. Only the inner pieces of a write are executed before their turn. */
static void nic_arrive_early(struct nic_arrival_op *a, u32 psn, u32 distance)
{
	const struct vnet_frame_op *op = a->op;

	if (plat_broken(NIC_RULE_EXPECTED)) {
		nic_arrive_expected(a);
		return;
	}
	/*
	 * The missing packets must belong to the same message: data of a later message is never
	 * written before that of an earlier one.
	 */
	if (!a->data.length || distance > nic_le32(op->offset) / a->data.length ||
	    (op->flags & VNET_OP_LAST && !plat_broken(NIC_RULE_LAST)) ||
	    (op->opcode != VNET_WR_RDMA_WRITE && op->opcode != VNET_WR_RDMA_WRITE_IMM)) {
		nic_answer(a, VNET_NACK_EARLY, 0);
		return;
	}
	a->early = true;
	nic_answer(a, VNET_ACK_DONE, 0);
	if (nic_arrive_data(a) || a->code == VNET_ACK_DONE)
		a->ep->ahead |= 1ull << (psn % NIC_WINDOW);
}

/*
 * Unreliable connection: the sender has given up the packets before `floor`, so go on after them. A
 * message that lacks a piece is lost; its receive serves the next message.
 */
static void nic_skip_to_floor(struct nic_endpoint *ep, u32 floor)
{
	if ((s32)(floor - ep->expected) <= 0)
		return;
	if (floor - ep->expected >= NIC_WINDOW)
		ep->ahead = 0;
	while (ep->expected != floor && ep->ahead) {
		ep->ahead &= ~(1ull << (ep->expected % NIC_WINDOW));
		ep->expected++;
	}
	ep->expected = floor;
	ep->got = 0;
	ep->lacks = 1;
	if (ep->ahead & 1ull << (floor % NIC_WINDOW)) {
		ep->expected--;
		nic_endpoint_advance(ep);
	}
}

static void nic_arrive_ordered(struct nic_arrival_op *a)
{
	u32 psn = nic_le32(a->op->psn);
	s32 distance;

	if (a->qp->type == NIC_QPT_UC)
		nic_skip_to_floor(a->ep, nic_le32(a->op->floor));
	distance = (s32)(psn - a->ep->expected);

	if (likely(!distance)) {
		nic_arrive_expected(a);
	} else if (distance < 0) {
		if (!a->counted)
			nic_count(a->nic, duplicates);
		a->again = true;
		if (a->op->opcode == VNET_WR_RDMA_READ)
			nic_arrive_read(a);
		else if ((a->op->opcode >= VNET_WR_ATOMIC_CMP_SWP &&
			  a->op->opcode <= VNET_WR_ATOMIC_FETCH_ADD) ||
			 a->op->opcode == VNET_WR_ATOMIC_WRITE)
			nic_atomic_again(a, psn);
		else
			nic_answer(a, VNET_ACK_DONE, 0);
	} else if (distance >= NIC_WINDOW - 1) {
		/* The last packet of the window may have a stale bit in `ahead` after a death. */
		nic_answer(a, VNET_NACK_EARLY, 0);
	} else if (a->ep->ahead & 1ull << (psn % NIC_WINDOW)) {
		nic_answer(a, VNET_ACK_DONE, 0);
	} else {
		nic_arrive_early(a, psn, (u32)distance);
	}
}

/* Is this the queue pair that the packet is for, in a state to receive it? */
static bool nic_is_addressed(const struct nic_arrival_op *a)
{
	const struct nic_qp *qp = a->qp;
	u8 state = nic_load(&qp->state);
	u8 kind = a->op->qp_type == NIC_QPT_XRC_INI ? NIC_QPT_XRC_TGT : a->op->qp_type;

	if (qp->kind != kind || state < NIC_QPS_RTR || state == NIC_QPS_ERR)
		return false;
	return qp->type == NIC_QPT_UD || (qp->row == nic_row_index(a->nic, a->row) &&
					  qp->attr.dest_qpn == nic_le32(a->op->src_qpn));
}

static void nic_arrive_no_qp(struct nic_arrival_op *a)
{
	nic_count(a->nic, drop_no_qp);
	if (a->op->qp_type == NIC_QPT_UD)
		nic_answer(a, VNET_RETURN_DROPPED, VNET_WC_REM_OP_ERR);
	else
		nic_answer(a, VNET_RETURN_NO_QP, 0);
}

/*
 * Retire the requests that were acknowledged before this packet arrived. The program must learn of
 * their completion before it learns of the reply, but the queue may have been in use when the
 * acknowledgement came. false: not possible now, or the connection has failed.
 */
static NIC_COLD bool nic_retire_acked(struct nic_arrival_op *a)
{
	return nic_vn_retire_only(a->nic, a->qp, a->ep) && nic_is_addressed(a);
}

/* Execute the packet; the caller holds sq_lock. */
static void nic_arrive_locked(struct nic_arrival_op *a)
{
	struct nic_qp *qp = a->qp;

	nic_grace_point(a->nic, qp);
	if (qp->qpn != nic_le32(a->op->dst_qpn) || !nic_is_addressed(a)) {
		nic_arrive_no_qp(a);
		return;
	}
	if (qp->type == NIC_QPT_UD && nic_le32(a->op->read_len) != qp->attr.qkey) {
		nic_count(a->nic, drop_qkey);
		nic_answer(a, VNET_RETURN_DROPPED, VNET_WC_REM_ACCESS_ERR);
		return;
	}
	if (qp->op_phase != NIC_OP_IDLE) {
		nic_pend(a->nic, qp);
		nic_answer(a, VNET_NACK_BUSY, 0);
		return;
	}
	a->ep = nic_endpoint_for_packet(a->nic, qp);
	if (!a->ep) {
		nic_answer(a, VNET_NACK_ABSENT, 0);
		return;
	}
	if (unlikely(nic_vn_is_answered(a->ep)) && qp->type == NIC_QPT_RC && !nic_retire_acked(a)) {
		nic_pend(a->nic, qp);
		nic_answer(a, VNET_NACK_BUSY, 0);
		return;
	}
	nic_established(a->nic, qp);
	if (unlikely(qp->srqn == NIC_SRQ_NAMED))
		qp->op_srqn = nic_le32(a->op->srqn);
	if (qp->type == NIC_QPT_UD)
		nic_arrive_datagram(a);
	else
		nic_arrive_ordered(a);
	if ((a->code < VNET_NACK_FIRST || a->code >= VNET_RETURN_FIRST) && nic_arrival_owns_wait(a))
		nic_fetched(qp, NIC_ARRIVALS);
}

/* Multicast: deliver to the members on this NIC. The sender only learns that the copy arrived. */
static void nic_arrive_group(struct nic_arrival_op *a)
{
	struct nic_message msg;

	nic_datagram_of(a, &msg);
	nic_answer(a, VNET_ACK_DONE, 0);
	if (!nic_group_arrive(a->nic, &a->row->rx[a->op->channel], a->op, &msg))
		nic_answer(a, VNET_NACK_BUSY, 0);
	nic_rx_end(a);
}

/* Ethernet frame: like multicast, but a single receiver without a receive WQE is waited for. */
static void nic_arrive_ether(struct nic_arrival_op *a)
{
	struct nic_message msg;

	nic_message_of(a, &msg);
	switch (nic_ether_arrive(a->nic, &a->row->rx[a->op->channel], a->op, &msg)) {
	case NIC_MEMBER_DONE:
		nic_answer(a, VNET_ACK_DONE, 0);
		break;
	case NIC_MEMBER_BUSY:
		nic_answer(a, VNET_NACK_BUSY, 0);
		break;
	case NIC_MEMBER_RNR:
		nic_answer(a, VNET_NACK_RNR, NIC_STALL_TRY_NS);
		break;
	}
	nic_rx_end(a);
}

/* Record the accepted packet for nic_acks_repeat(). */
static void nic_record_accepted(const struct nic_arrival_op *a)
{
	u32 psn = nic_le32(a->op->psn), floor = nic_le32(a->op->floor);
	struct nic_endpoint *ep = a->ep;

	if (!ep || a->op->qp_type != NIC_QPT_RC || a->reply || a->code >= VNET_NACK_FIRST)
		return;
	/* The peer has the acknowledgements of all packets before `floor`. */
	if ((s32)(floor - ep->accepted_floor) > 0) {
		ep->accepted &= ~nic_window_bits(ep->accepted_floor, floor);
		ep->accepted_floor = floor;
	}
	ep->accepted_on[psn % NIC_WINDOW] = a->op->channel;
	ep->accepted |= 1ull << psn % NIC_WINDOW;
}

static void nic_arrive(struct nic_arrival_op *a)
{
	u8 group[16];

	if (unlikely(nic_group_of(a->op, group))) {
		nic_arrive_group(a);
		return;
	}
	if (unlikely(nic_is_ether(a->op))) {
		nic_arrive_ether(a);
		return;
	}
	a->qp = nic_find_qp(a->nic, nic_le32(a->op->dst_qpn));
	if (!a->qp || !nic_is_addressed(a)) {
		nic_arrive_no_qp(a);
		nic_rx_end(a);
		return;
	}
	if (!nic_lock(a->nic, &a->qp->sq_lock)) {
		nic_answer(a, VNET_NACK_BUSY, 0);
		nic_rx_end(a);
		return;
	}
	nic_arrive_locked(a);
	nic_rx_end(a);
	nic_record_accepted(a);
	/* Sent before the frame buffer of this thread is used for anything else. */
	if (a->reply)
		nic_send_reply(a);
	nic_qp_unlock(a->nic, a->qp);
}

void nic_vn_respond(struct nic *nic, struct nic_row *row, const struct nic_arrived_frame *f)
{
	struct nic_arrival_op a = {
		.nic = nic,
		.row = row,
		.op = f->op,
		.life = nic_le64(f->head->src_incarnation),
		.data = { .addr = (u64)(unsigned long)f->payload,
			  .length = f->payload_len,
			  .space = NIC_SPACE_POINTER },
	};

	if (nic_rx_begin(nic, row, f, &a.counted))
		nic_arrive(&a);
}
