// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The responder for one-sided operations from other NICs: writes, reads, atomics, flushes. The data
 * of a read is in the answer. The results of atomic operations are stored for repeated packets.
 */
#include "layout/lookup.h"
#include "layout/message.h"
#include "protection/protection.h"
#include "requester/requester.h"
#include "vn/responding.h"

/*
 * Protection domain of the rkey: that of the SRQ that an XRC packet names, else the queue pair's.
 */
static u32 nic_arrival_pdn(const struct nic_arrival_op *a)
{
	const struct nic_srq *srq;

	if (likely(a->qp->srqn != NIC_SRQ_NAMED))
		return a->qp->pdn;
	srq = nic_srq_of(a->nic, a->qp, a->qp->op_srqn);
	return srq ? srq->rq.pdn : NIC_NONE;
}

/* Check access rights and rkey. false: refused, the answer is set. */
static bool nic_arrival_memory(struct nic_arrival_op *a, u32 access, u64 length,
			       struct nic_piece *piece)
{
	const struct vnet_frame_op *op = a->op;

	if (!(a->qp->attr.access & access)) {
		nic_refuse(a, VNET_WC_REM_INV_REQ_ERR);
		return false;
	}
	if (length && !nic_check_key(a->nic, nic_le32(op->rkey), nic_arrival_pdn(a), a->qp->qpn,
				     access, nic_le64(op->remote_addr), length, piece)) {
		nic_refuse(a, VNET_WC_REM_ACCESS_ERR);
		return false;
	}
	return true;
}

/* Handle the result of a copy to or from local memory. false: failed, the answer is set. */
static bool nic_arrival_copied(struct nic_arrival_op *a, enum nic_copy_result result)
{
	if (likely(result == NIC_COPY_OK))
		return true;
	if (nic_is_later(result))
		nic_no_pages_yet(a);
	else if (result == NIC_COPY_DST_GONE || result == NIC_COPY_SRC_GONE)
		nic_answer(a, VNET_RETURN_NO_QP, 0);
	else
		nic_refuse(a, VNET_WC_REM_OP_ERR);
	return false;
}

/*
 * Find the memory of the message's rest, up to NIC_FETCH_BLOCK, to request its pages early. false:
 * there is no more, or its key is not valid.
 */
static NIC_COLD bool nic_arrival_ahead(struct nic_arrival_op *a, u32 access,
				       struct nic_piece *piece)
{
	u64 left = nic_message_left(a->op);

	if (left > NIC_FETCH_BLOCK)
		left = NIC_FETCH_BLOCK;
	return left > piece->length &&
	       nic_check_key(a->nic, nic_le32(a->op->rkey), nic_arrival_pdn(a), a->qp->qpn, access,
			     nic_le64(a->op->remote_addr), left, piece);
}

static struct nic_page_waiter nic_arrival_waiter(const struct nic_arrival_op *a)
{
	return nic_page_waiter(a->qp, nic_arrival_owns_wait(a) ? NIC_ARRIVALS : NIC_EARLY,
			       nic_le32(a->op->psn));
}

bool nic_arrive_data(struct nic_arrival_op *a)
{
	enum nic_copy_result result;
	struct nic_piece remote;

	if (!nic_arrival_memory(a, NIC_ACCESS_REMOTE_WRITE, a->data.length, &remote))
		return false;
	if (!a->data.length)
		return true;
	result = nic_copy(a->nic, nic_arrival_waiter(a), &remote, 1, &a->data, 1, a->data.length);
	if (unlikely(result == NIC_COPY_DST_LATER) &&
	    nic_arrival_ahead(a, NIC_ACCESS_REMOTE_WRITE, &remote))
		nic_fetch_ahead(a->nic, &remote, 1, NULL, 0, remote.length);
	return nic_arrival_copied(a, result);
}

void nic_arrive_write(struct nic_arrival_op *a)
{
	const struct vnet_frame_op *op = a->op;
	struct nic_message msg;

	nic_answer(a, VNET_ACK_DONE, 0);
	if (op->flags & VNET_OP_FIRST)
		a->ep->lacks = 0;
	if (nic_arrive_data(a) && op->opcode == VNET_WR_RDMA_WRITE_IMM &&
	    (op->flags & VNET_OP_LAST) && !a->ep->lacks) {
		nic_message_of(a, &msg);
		/*
		 * The open receive of a message that was lost serves the next one that needs a
		 * receive.
		 */
		if (a->ep->receive.open)
			msg.opened = &a->ep->receive;
		nic_arrival_deliver(a, &msg);
		if (a->code != VNET_RETURN_DROPPED)
			return;
	}
	if (a->code == VNET_RETURN_DROPPED)
		a->ep->lacks = 1;
	if (a->code == VNET_ACK_DONE || a->code == VNET_RETURN_DROPPED)
		nic_endpoint_advance(a->ep);
}

/* The answer carries the data. A repeated packet is executed again. */
void nic_arrive_read(struct nic_arrival_op *a)
{
	const struct vnet_frame_op *op = a->op;
	u32 length = nic_le32(op->read_len);
	struct nic_piece remote, here = { .space = NIC_SPACE_POINTER };
	enum nic_copy_result result;

	if (!a->qp->attr.max_dest_rd_atomic || length > nic_row_payload(a->row)) {
		nic_refuse(a, VNET_WC_REM_INV_REQ_ERR);
		return;
	}
	if (!nic_arrival_memory(a, NIC_ACCESS_REMOTE_READ, length, &remote))
		return;
	if (length) {
		a->reply = nic_frame_begin(a->nic, a->row, VNET_FRAME_ACK);
		if (!a->reply) {
			nic_answer(a, VNET_NACK_BUSY, 0);
			return;
		}
		here.addr = (u64)(unsigned long)((struct vnet_frame_ack *)(a->reply + 1) + 1);
		here.length = length;
		result = nic_copy(a->nic, nic_arrival_waiter(a), &here, 1, &remote, 1, length);
		if (unlikely(result == NIC_COPY_SRC_LATER) &&
		    nic_arrival_ahead(a, NIC_ACCESS_REMOTE_READ, &remote))
			nic_fetch_ahead(a->nic, NULL, 0, &remote, 1, remote.length);
		if (!nic_arrival_copied(a, result)) {
			a->reply = NULL;
			return;
		}
		a->reply_len = length;
	}
	nic_answer(a, VNET_ACK_DONE, 0);
	if (!a->again)
		nic_endpoint_advance(a->ep);
}

void nic_arrive_atomic(struct nic_arrival_op *a)
{
	const struct vnet_frame_op *op = a->op;
	struct vnet_send_wqe wqe = { .opcode = op->opcode };
	enum nic_copy_result result;
	struct nic_piece remote;
	u32 i = nic_le32(op->psn) % NIC_RESULTS;
	u64 old = 0;

	if (!a->qp->attr.max_dest_rd_atomic || nic_le64(op->remote_addr) % 8) {
		nic_refuse(a, VNET_WC_REM_INV_REQ_ERR);
		return;
	}
	if (!nic_arrival_memory(a,
				op->opcode == VNET_WR_ATOMIC_WRITE ? NIC_ACCESS_REMOTE_WRITE :
								     NIC_ACCESS_REMOTE_ATOMIC,
				8, &remote))
		return;
	wqe.rdma.compare_add = nic_le64(op->compare_add);
	wqe.rdma.swap = nic_le64(op->swap);
	if (!nic_atomic(a->nic, a->qp, NIC_INTENT_PACKET, nic_le32(op->psn), &wqe, &remote, &old,
			&result)) {
		nic_answer(a, VNET_NACK_BUSY, 0);
		return;
	}
	if (!nic_arrival_copied(a, result))
		return;
	a->ep->atomic_psn[i] = nic_le32(op->psn);
	a->ep->atomic_result[i] = old;
	nic_endpoint_advance(a->ep);
	nic_answer(a, VNET_ACK_RESULT, old);
}

/* The earlier packets have been executed completely, as this one is in order. */
void nic_arrive_flush(struct nic_arrival_op *a)
{
	const struct vnet_frame_op *op = a->op;
	struct nic_placement p = { .key = nic_le32(op->rkey),
				   .addr = nic_le64(op->remote_addr),
				   .length = nic_le64(op->compare_add) };
	enum vnet_wc_status status = VNET_WC_REM_INV_REQ_ERR;

	if (nic_placement_read(nic_le64(op->swap), &p))
		status = nic_placement_run(a->nic, a->qp, nic_arrival_pdn(a), &p);
	if (status) {
		nic_refuse(a, status);
		return;
	}
	nic_answer(a, VNET_ACK_DONE, 0);
	nic_endpoint_advance(a->ep);
}

void nic_atomic_again(struct nic_arrival_op *a, u32 psn)
{
	u32 i = psn % NIC_RESULTS;

	if (plat_broken(NIC_RULE_ATOMIC_ONCE)) {
		nic_arrive_atomic(a);
		return;
	}
	if (a->ep->atomic_psn[i] == psn)
		nic_answer(a, VNET_ACK_RESULT, a->ep->atomic_result[i]);
	else
		nic_answer(a, VNET_RETURN_ERROR, VNET_WC_REM_OP_ERR);
}

void nic_send_reply(struct nic_arrival_op *a)
{
	struct vnet_frame_ack *ack = (struct vnet_frame_ack *)(a->reply + 1);

	memset(ack, 0, sizeof(*ack));
	ack->seq = a->op->seq;
	ack->timestamp = a->op->timestamp;
	ack->channel = a->op->channel;
	ack->code = VNET_ACK_DONE;
	a->reply->nacks = 1;
	a->reply->payload_len = nic_to_le16((u16)a->reply_len);
	nic_count(a->nic, acks_sent);
	nic_frame_send(a->nic, &a->row->address, sizeof(*a->reply) + sizeof(*ack) + a->reply_len);
}
