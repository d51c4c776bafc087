// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The responder: what happens to a packet that arrived. The channel tells whether
 * it is new; the queue pair's packet number whether it is its turn. What must be
 * in order (messages, and the last piece of a write) waits for what is missing by
 * being refused; the other pieces of a write are written wherever they belong.
 */
#include "nic_lid.h"
#include "nic_vn.h"

/* How soon an unreliable message that waits for a receive tries again, ns. */
#define NIC_STALL_TRY_NS 200000ull
/* And what waits for memory that is paged on demand. */
#define NIC_PAGES_TRY_NS 200000ull

/* A packet, and the answer to it. */
struct nic_arrival_op {
	struct nic *nic;
	struct nic_row *row;
	const struct vnet_frame_op *op;
	/* Of the NIC that sent it. */
	u64 life;
	struct nic_piece data;
	struct nic_qp *qp;
	struct nic_endpoint *ep;
	/* Begun for the data of an RDMA read. */
	struct vnet_frame *reply;
	u32 reply_len;
	/* It was carried out before, or is before its turn. */
	bool again;
	bool early;
	/* The channel knows that it came before, and has counted it. */
	bool counted;
	u8 code;
	u64 result;
};

static void nic_answer(struct nic_arrival_op *a, u8 code, u64 result)
{
	a->code = code;
	a->result = result;
}

/* ------------------------------------------------------- order among packets */

/* The packet that was expected is done, and with it those that came before. */
static void nic_endpoint_advance(struct nic_endpoint *ep)
{
	u64 bit;

	do {
		bit = 1ull << (ep->expected % NIC_WINDOW);
		/* First: a bit that a death leaves behind is outside of the window. */
		nic_store_release(&ep->expected, ep->expected + 1);
		ep->ahead &= ~bit;
	} while (ep->ahead & 1ull << (ep->expected % NIC_WINDOW));
}

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

/* ------------------------------------------------------------------ refusals */

/*
 * The queue pair fails; a reliable requester learns with what. Not by what it has
 * carried out already: its memory may have gone since, as it may.
 */
static void nic_refuse(struct nic_arrival_op *a, enum vnet_wc_status status)
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

static struct nic_rq *nic_arrival_rq(struct nic_arrival_op *a)
{
	struct nic_srq *srq = a->qp->srqn ? nic_srq_of(a->nic, a->qp, nic_load(&a->qp->op_srqn)) :
					    NULL;

	return srq ? &srq->rq : &a->qp->rq;
}

/* No receive: a reliable sender tries again; others stall for a while, then lose. */
static void nic_no_receive_yet(struct nic_arrival_op *a)
{
	struct nic_rq *rq = nic_arrival_rq(a);
	u64 now = plat_clock();

	if (a->qp->type == NIC_QPT_RC) {
		nic_answer(a, VNET_NACK_RNR, nic_rnr_patience(a->qp));
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

/*
 * Memory that is paged on demand is being brought: the packet is to come again. An
 * unreliable one is lost after a while, so that its sender goes on.
 */
static NIC_COLD void nic_no_pages_yet(struct nic_arrival_op *a)
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

/* ------------------------------------------------------------------ messages */

static u8 nic_message_flags(const struct vnet_frame_op *op)
{
	if (op->opcode == VNET_WR_SEND_IMM || op->opcode == VNET_WR_RDMA_WRITE_IMM)
		return op->flags & VNET_OP_IMM64 ? VNET_WC_WITH_IMM | VNET_WC_IMM64 :
						   VNET_WC_WITH_IMM;
	return op->opcode == VNET_WR_SEND_INV ? VNET_WC_WITH_INV : 0;
}

/* Bytes of the message from this packet on, as its sender says. */
static u64 nic_message_left(const struct vnet_frame_op *op)
{
	u32 length = nic_le32(op->msg_len), offset = nic_le32(op->offset);

	return length > offset ? length - offset : 0;
}

static void nic_message_of(struct nic_arrival_op *a, struct nic_message *msg)
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

/* Complete a receive with it: the answer is a->code. */
static void nic_arrival_deliver(struct nic_arrival_op *a, const struct nic_message *msg)
{
	struct nic_qp *qp = a->qp;
	u32 status;

	/* What is delivered is what came. */
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

/* A piece of a message whose receive is open, or the first that opens it. */
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
			/* As a whole, it completes a receive with its error. */
			msg.broken = (enum vnet_wc_status)status;
			nic_arrival_deliver(a, &msg);
			return;
		}
	}
	if (ep->got_at == ep->expected)
		ep->got = ep->got_next;
	if (!ep->receive.open || ep->got != nic_le32(op->offset)) {
		/* Of an unreliable message whose beginning was lost. */
		nic_refuse(a, VNET_WC_REM_INV_REQ_ERR);
		if (a->code == VNET_ACK_DONE)
			nic_endpoint_advance(ep);
		return;
	}
	status =
		nic_fill_open(a->nic, a->qp, &ep->receive, ep->got, &a->data, nic_message_left(op));
	if (unlikely(status == NIC_EXEC_PAGES)) {
		nic_no_pages_yet(a);
		/* Lost: its receive serves the next message. */
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
	/* Told before the packet counts as come, and believed only then. */
	ep->got_next = ep->got + (u32)a->data.length;
	ep->got_at = ep->expected + 1;
	ep->stalled = 0;
	nic_endpoint_advance(ep);
	nic_answer(a, VNET_ACK_DONE, 0);
}

static void nic_arrive_send(struct nic_arrival_op *a)
{
	struct nic_message msg;

	/* A receive that is open, of a message that was lost, serves the next. */
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

/* ------------------------------------------------------- one-sided operations */

/* The domain of memory that a packet names: its SRQ's, where it names one. */
static u32 nic_arrival_pdn(const struct nic_arrival_op *a)
{
	const struct nic_srq *srq;

	if (likely(a->qp->srqn != NIC_SRQ_NAMED))
		return a->qp->pdn;
	srq = nic_srq_of(a->nic, a->qp, a->qp->op_srqn);
	return srq ? srq->rq.pdn : NIC_NONE;
}

/* false: refused, which is answered already. */
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

/* What a failed copy to or from our own memory means; false: it failed. */
static bool nic_arrival_copied(struct nic_arrival_op *a, enum nic_copy_result result)
{
	if (likely(result == NIC_COPY_OK))
		return true;
	if (nic_is_later(result))
		nic_no_pages_yet(a);
	else if (result == NIC_COPY_DST_GONE || result == NIC_COPY_SRC_GONE)
		nic_answer(a, VNET_RETURN_NOBODY, 0);
	else
		nic_refuse(a, VNET_WC_REM_OP_ERR);
	return false;
}

/*
 * The rest of the message, or as much as is asked for at a time: where it is. false: there
 * is no more, or not there.
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

/* The wait for pages is this packet's: a read that comes again leaves others theirs. */
static bool nic_arrival_asks(const struct nic_arrival_op *a)
{
	const struct nic_qp_counters *c = &a->qp->counters;

	if (a->early)
		return false;
	return !a->again || !nic_load(&c->fetch_since[NIC_ARRIVALS]) ||
	       c->fetch_for[NIC_ARRIVALS] == nic_le32(a->op->psn);
}

static struct nic_asker nic_arrival_asker(const struct nic_arrival_op *a)
{
	return nic_asker(a->qp, nic_arrival_asks(a) ? NIC_ARRIVALS : NIC_EARLY,
			 nic_le32(a->op->psn));
}

static bool nic_arrive_data(struct nic_arrival_op *a)
{
	enum nic_copy_result result;
	struct nic_piece remote;

	if (!nic_arrival_memory(a, NIC_ACCESS_REMOTE_WRITE, a->data.length, &remote))
		return false;
	if (!a->data.length)
		return true;
	result = nic_copy(a->nic, nic_arrival_asker(a), &remote, 1, &a->data, 1, a->data.length);
	if (unlikely(result == NIC_COPY_DST_LATER) &&
	    nic_arrival_ahead(a, NIC_ACCESS_REMOTE_WRITE, &remote))
		nic_fetch_ahead(a->nic, &remote, 1, NULL, 0, remote.length);
	return nic_arrival_copied(a, result);
}

static void nic_arrive_write(struct nic_arrival_op *a)
{
	const struct vnet_frame_op *op = a->op;
	struct nic_message msg;

	nic_answer(a, VNET_ACK_DONE, 0);
	if (op->flags & VNET_OP_FIRST)
		a->ep->lacks = 0;
	if (nic_arrive_data(a) && op->opcode == VNET_WR_RDMA_WRITE_IMM &&
	    (op->flags & VNET_OP_LAST) && !a->ep->lacks) {
		nic_message_of(a, &msg);
		/* That of a message that was lost serves the next which needs one. */
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

/* The answer carries the data; a packet that comes again is answered anew. */
static void nic_arrive_read(struct nic_arrival_op *a)
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
		result = nic_copy(a->nic, nic_arrival_asker(a), &here, 1, &remote, 1, length);
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

static void nic_arrive_atomic(struct nic_arrival_op *a)
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

static void nic_atomic_again(struct nic_arrival_op *a, u32 psn)
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

/* ------------------------------------------------------------------ dispatch */

/*
 * Is the SRQ there that the packet names? The pieces of a message have that in which
 * the first opened a receive. false: refused.
 */
static bool nic_arrival_srq(struct nic_arrival_op *a)
{
	struct nic_open_receive *open = &a->ep->receive;

	if (open->open) {
		if (nic_open_is_there(a->nic, a->qp, open)) {
			a->qp->op_srqn = open->srqn;
			return true;
		}
		/* Whose receive it was does not ask for it any more. */
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
	default:
		nic_arrive_atomic(a);
		break;
	}
}

/* Packets before it are missing: only the inner pieces of a write do not mind. */
static void nic_arrive_early(struct nic_arrival_op *a, u32 psn, u32 distance)
{
	const struct vnet_frame_op *op = a->op;

	if (plat_broken(NIC_RULE_EXPECTED)) {
		nic_arrive_expected(a);
		return;
	}
	/*
	 * What is missing must be of the same message: data of a later one never is
	 * where that of an earlier one has still to be written.
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
 * What an unreliable sender has given up will not come: go on after it. A message
 * of which a piece is missing is lost; its receive serves the next one.
 */
static void nic_pass_over(struct nic_endpoint *ep, u32 floor)
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
		nic_pass_over(a->ep, nic_le32(a->op->floor));
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
		/* The last of the window has the bit that a death may leave behind. */
		nic_answer(a, VNET_NACK_EARLY, 0);
	} else if (a->ep->ahead & 1ull << (psn % NIC_WINDOW)) {
		nic_answer(a, VNET_ACK_DONE, 0);
	} else {
		nic_arrive_early(a, psn, (u32)distance);
	}
}

static void nic_datagram_of(struct nic_arrival_op *a, struct nic_message *msg)
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

static void nic_arrive_datagram(struct nic_arrival_op *a)
{
	struct nic_message msg;

	nic_datagram_of(a, &msg);
	nic_arrival_deliver(a, &msg);
	if (a->code < VNET_NACK_FIRST || a->code >= VNET_RETURN_FIRST)
		a->ep->stalled = 0;
}

/* Is this the queue pair that the packet is for, in a state to take it? */
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

static void nic_nobody(struct nic_arrival_op *a)
{
	nic_count(a->nic, drop_no_qp);
	if (a->op->qp_type == NIC_QPT_UD)
		nic_answer(a, VNET_RETURN_DROPPED, VNET_WC_REM_OP_ERR);
	else
		nic_answer(a, VNET_RETURN_NOBODY, 0);
}

/*
 * The answers that came before this packet are told of before it: who has them may not have
 * had the queue yet. false: not now, or the connection is over by them.
 */
static NIC_COLD bool nic_settled(struct nic_arrival_op *a)
{
	return nic_vn_settle(a->nic, a->qp, a->ep) && nic_is_addressed(a);
}

/* With sq_lock held: carry it out. */
static void nic_arrive_locked(struct nic_arrival_op *a)
{
	struct nic_qp *qp = a->qp;

	nic_grace_point(a->nic, qp);
	if (qp->qpn != nic_le32(a->op->dst_qpn) || !nic_is_addressed(a)) {
		nic_nobody(a);
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
	a->ep = nic_endpoint_await(a->nic, qp);
	if (!a->ep) {
		nic_answer(a, VNET_NACK_ABSENT, 0);
		return;
	}
	if (unlikely(nic_vn_is_answered(a->ep)) && qp->type == NIC_QPT_RC && !nic_settled(a)) {
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
	if ((a->code < VNET_NACK_FIRST || a->code >= VNET_RETURN_FIRST) && nic_arrival_asks(a))
		nic_fetched(qp, NIC_ARRIVALS);
}

/* ---------------------------------------------------------------- the channel */

enum nic_rx_verdict { NIC_RX_DROP, NIC_RX_NEW, NIC_RX_AGAIN };

/* Was it refused, the last time that it came? */
static bool nic_rx_refused(const struct nic_rx *rx, u32 seq)
{
	return rx->answer_seq == seq && rx->code >= VNET_NACK_FIRST &&
	       rx->code <= VNET_RETURN_NOBODY;
}

static enum nic_rx_verdict nic_rx_compare(const struct nic *nic, const struct nic_rx *rx, u32 seq)
{
	s32 ahead = (s32)(seq - rx->seq);

	/* Alternating bit: right only where packets cannot overtake each other. */
	if (nic->hdr->settings.sequence_bits == 1)
		ahead &= 1;
	if (ahead)
		return ahead > 0 ? NIC_RX_NEW : NIC_RX_DROP;
	/* A read that was carried out, and then was refused: the next may have its number. */
	return nic_rx_refused(rx, seq) ? NIC_RX_NEW : NIC_RX_AGAIN;
}

/*
 * It was accepted, and nobody came to say how that ended. Of a datagram nothing else
 * tells, either: who delivered it may have died before it had.
 */
static void nic_rx_forgot(struct nic_rx *rx, const struct vnet_frame_op *op)
{
	rx->answer_seq = nic_le32(op->seq);
	rx->code = VNET_ACK_DONE;
	rx->result = 0;
	if (op->qp_type != NIC_QPT_UD)
		return;
	rx->code = VNET_RETURN_DROPPED;
	rx->result = VNET_WC_RETRY_EXC_ERR;
}

/*
 * Is the packet to be carried out? Then the channel is ours until nic_rx_end(). counted: it
 * came before, as the channel knows.
 */
static bool nic_rx_begin(struct nic *nic, struct nic_row *row, const struct nic_arrived_frame *f,
			 bool *counted)
{
	const struct vnet_frame_op *op = f->op;
	struct nic_rx *rx = &row->rx[op->channel];
	u32 seq = nic_le32(op->seq);
	enum nic_rx_verdict verdict;
	bool go;

	if (!nic_lock(nic, &row->lock)) {
		nic_count(nic, drop_busy);
		return false;
	}
	if (!nic_row_is_alive(nic, row, f)) {
		nic_unlock(&row->lock);
		return false;
	}
	verdict = nic_load(&rx->busy) ? NIC_RX_DROP : nic_rx_compare(nic, rx, seq);
	go = verdict == NIC_RX_NEW;
	*counted = !go;
	/* Also while it is being carried out. */
	if (!go)
		nic_count(nic, duplicates);
	if (verdict == NIC_RX_AGAIN) {
		/* A read is answered by its data, which is nowhere kept; till it can be. */
		go = op->opcode == VNET_WR_RDMA_READ && rx->code <= VNET_RETURN_NOBODY;
		if (!go) {
			/*
			 * While the answer to the first of them is still to be sent, it
			 * tells that this one was not needed.
			 */
			if (rx->answer_seq != seq || !(row->owed & 1ull << op->channel))
				rx->timestamp = nic_le32(op->timestamp);
			if (rx->answer_seq != seq)
				nic_rx_forgot(rx, op);
			nic_acks_owe(row, op->channel);
			nic_row_activate(nic, row);
		}
	}
	if (go)
		nic_store(&rx->busy, nic->self);
	/* Of datagrams nothing else tells, should we die, that this one was delivered. */
	if (verdict == NIC_RX_NEW && op->qp_type == NIC_QPT_UD) {
		rx->seq = seq;
		/* Nor does an earlier refusal of it. */
		rx->answer_seq = seq - 1;
	}
	nic_unlock(&row->lock);
	return go;
}

static void nic_rx_end(const struct nic_arrival_op *a)
{
	struct nic *nic = a->nic;
	struct nic_row *row = a->row;
	struct nic_rx *rx = &row->rx[a->op->channel];

	u32 tries = 8;

	while (!nic_lock(nic, &row->lock) && --tries)
		;
	if (!tries) {
		/* It comes again, and the queue pair knows that it had it. */
		nic_store(&rx->busy, 0);
		nic_count(nic, drop_busy);
		return;
	}
	nic_store(&rx->busy, 0);
	/* It may have begun a new life meanwhile. */
	if (row->incarnation == a->life) {
		rx->answer_seq = nic_le32(a->op->seq);
		rx->timestamp = nic_le32(a->op->timestamp);
		rx->code = plat_broken(NIC_RULE_WRITTEN) ? VNET_ACK_DONE : a->code;
		rx->result = a->result;
		if (rx->code < VNET_NACK_FIRST || rx->code > VNET_RETURN_NOBODY)
			rx->seq = rx->answer_seq;
		else if (a->op->qp_type == NIC_QPT_UD)
			/* It has not been taken. */
			rx->seq = rx->answer_seq - 1;
		if (!a->reply)
			nic_acks_owe(row, a->op->channel);
		nic_row_activate(nic, row);
	}
	nic_unlock(&row->lock);
}

static void nic_send_reply(struct nic_arrival_op *a)
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

/* To a group, whoever of it is here: its sender learns no more than that it came. */
static void nic_arrive_group(struct nic_arrival_op *a)
{
	struct nic_message msg;

	nic_datagram_of(a, &msg);
	nic_answer(a, VNET_ACK_DONE, 0);
	if (!nic_group_arrive(a->nic, &a->row->rx[a->op->channel], a->op, &msg))
		nic_answer(a, VNET_NACK_BUSY, 0);
	nic_rx_end(a);
}

/* See nic_acks_owe_again(). */
static void nic_taken(const struct nic_arrival_op *a)
{
	u32 psn = nic_le32(a->op->psn), floor = nic_le32(a->op->floor);
	struct nic_endpoint *ep = a->ep;

	if (!ep || a->op->qp_type != NIC_QPT_RC || a->reply || a->code >= VNET_NACK_FIRST)
		return;
	/* Of those before it the peer has the answers. */
	if ((s32)(floor - ep->taken_floor) > 0) {
		ep->taken &= ~nic_window_bits(ep->taken_floor, floor);
		ep->taken_floor = floor;
	}
	ep->taken_by[psn % NIC_WINDOW] = a->op->channel;
	ep->taken |= 1ull << psn % NIC_WINDOW;
}

static void nic_arrive(struct nic_arrival_op *a)
{
	u8 group[16];

	if (unlikely(nic_group_of(a->op, group))) {
		nic_arrive_group(a);
		return;
	}
	a->qp = nic_find_qp(a->nic, nic_le32(a->op->dst_qpn));
	if (!a->qp || !nic_is_addressed(a)) {
		nic_nobody(a);
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
	nic_taken(a);
	/* Before anything else uses the buffer in which it was begun. */
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
