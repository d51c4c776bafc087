// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The requester for peers on the same NIC: executes the requests of a send queue in order. Each WQE
 * is copied once and checked before use, then executed at both ends and completed. The thread that
 * rings the doorbell executes it (cut-through). Requests to other NICs are handed to nic_vn_run().
 */
#include "address/address.h"
#include "layout/lookup.h"
#include "layout/ring.h"
#include "layout/message.h"
#include "transport/transport.h"
#include "pending/pending.h"
#include "protection/protection.h"
#include "completion/completion.h"
#include "responder/responder.h"
#include "objects/objects.h"
#include "requester/requester.h"
#include "layout/opcodes.h"

/* log2 of the bytes for which a long request costs one more unit of the budget. */
#define NIC_BUDGET_SHIFT 20
/* Limit of rounds in which one call runs a queue that keeps getting new requests. */
#define NIC_RUN_ROUNDS 64
/* Limit of QPs named by nic_pend_next() that one call runs; the NIC processor runs the others. */
#define NIC_RUN_FOLLOWERS 8u

/* Operations of each transport (IB vol 1, table 37). */
u32 nic_opcodes_of(u8 type)
{
	switch (type) {
	case NIC_QPT_RC:
	case NIC_QPT_XRC_INI:
		return SENDS | OP(VNET_WR_SEND_INV) | WRITES | OP(VNET_WR_RDMA_READ) |
		       ATOMIC_FETCHES | ATOMIC_WRITE | FLUSH | KEYS;
	case NIC_QPT_UC:
		return SENDS | OP(VNET_WR_SEND_INV) | WRITES | KEYS;
	case NIC_QPT_UD:
		return SENDS;
	default:
		return 0;
	}
}

/* ---------------------------------------------------------------- the peer */

/* The connected peer on this NIC; NULL if it does not exist or is not ready to receive. */
static struct nic_qp *nic_find_peer(struct nic *nic, const struct nic_qp *qp)
{
	struct nic_qp *peer = nic_find_qp(nic, qp->attr.dest_qpn);
	u8 state;

	if (unlikely(!peer || peer->kind != qp->peer_kind || peer->attr.dest_qpn != qp->qpn))
		return NULL;
	state = nic_load(&peer->state);
	if (unlikely(state < NIC_QPS_RTR || state == NIC_QPS_ERR))
		return NULL;
	if (unlikely(!nic_is_own_path(nic, &qp->attr)))
		return NULL;
	return peer;
}

void nic_established(struct nic *nic, struct nic_qp *peer)
{
	if (likely(peer->comm_est || peer->state != NIC_QPS_RTR))
		return;
	if (!nic_xchg(&peer->comm_est, 1))
		nic_raise_qp(nic, peer, NIC_EVENT_COMM_EST);
}

/*
 * The peer does not answer: a reliable QP waits, or fails after its last retry; others lose the
 * message.
 */
static u32 nic_no_answer(struct nic_request *r)
{
	enum vnet_wc_status status;

	if (r->qp->type != NIC_QPT_RC)
		return NIC_EXEC_DROPPED;
	status = nic_wait_on(r->nic, r->qp, NIC_WAIT_PEER, nic_transport_timeout(r->qp));
	return status == VNET_WC_SUCCESS ? NIC_EXEC_WAIT : status;
}

/*
 * The responder refuses the request: its QP goes to the error state. The requester's QP follows
 * when the request completes with `status` (IB vol 1, 9.9.3, class C). An unreliable request is
 * lost without an error at either end.
 */
static u32 nic_refused(struct nic_request *r, enum vnet_wc_status status)
{
	if (r->qp->type != NIC_QPT_RC)
		return NIC_EXEC_DROPPED;
	if (!nic_lock(r->nic, &r->peer->rq.lock))
		return nic_no_answer(r);
	plat_step(8);
	nic_qp_fail(r->nic, r->peer,
		    status == VNET_WC_REM_ACCESS_ERR ? NIC_EVENT_QP_ACCESS_ERR :
						       NIC_EVENT_QP_REQ_ERR);
	plat_step(9);
	nic_unlock(&r->peer->rq.lock);
	return status;
}

/* --------------------------------------------------------------- operations */

/* Set the immediate data of the message; returns the flags of its completion. */
static u8 nic_set_imm(const struct nic_request *r, struct nic_message *msg)
{
	msg->imm = r->wqe.imm;
	if (likely(!(r->wqe.flags & VNET_WR_IMM64)))
		return VNET_WC_WITH_IMM;
	msg->imm_high = r->wqe.rdma.imm_high;
	return VNET_WC_WITH_IMM | VNET_WC_IMM64;
}

static u32 nic_do_any_send(struct nic_request *r)
{
	struct nic_message msg = {
		.dest = r->qp->attr.dest_qpn,
		.src = r->local,
		.nsrc = r->nlocal,
		.length = r->length,
		.imm = r->wqe.imm,
		.wc_opcode = VNET_WC_RECV,
		.solicited = r->wqe.flags & VNET_WR_SOLICITED,
	};

	if (r->wqe.opcode == VNET_WR_SEND_IMM)
		msg.wc_flags = nic_set_imm(r, &msg);
	if (r->wqe.opcode == VNET_WR_SEND_INV) {
		msg.wc_flags = VNET_WC_WITH_INV;
		msg.invalidate = true;
	}
	return nic_deliver(r->nic, r->qp, r->peer, &msg);
}

static u32 nic_do_send(struct nic_request *r)
{
	u32 status = NIC_EXEC_OTHER;

	if (likely(r->wqe.opcode == VNET_WR_SEND && r->nlocal == 1))
		status = nic_deliver_short(r->nic, r->qp, r->peer, r->local,
					   r->wqe.flags & VNET_WR_SOLICITED);
	return likely(status != NIC_EXEC_OTHER) ? status : nic_do_any_send(r);
}

/* Protection domain of the rkey: that of the SRQ that an XRC request names, else the peer's. */
static u32 nic_remote_pdn(const struct nic_request *r)
{
	const struct nic_srq *srq;

	if (r->peer->srqn != NIC_SRQ_NAMED)
		return r->peer->pdn;
	srq = nic_srq_of(r->nic, r->peer, r->qp->op_srqn);
	return srq ? srq->rq.pdn : NIC_NONE;
}

/* XRC: check the rkey in the protection domain of the SRQ that the request names. */
static NIC_COLD bool nic_check_named(struct nic_request *r, u32 access, u64 length,
				     struct nic_piece *piece)
{
	return r->peer->srqn == NIC_SRQ_NAMED &&
	       nic_check_key(r->nic, r->wqe.rdma.rkey, nic_remote_pdn(r), r->peer->qpn, access,
			     r->wqe.rdma.remote_addr, length, piece);
}

/* Check the access rights and the rkey of a one-sided operation. */
static inline __attribute__((__always_inline__)) u32 nic_check_remote(struct nic_request *r,
								      u32 access, u64 length,
								      struct nic_piece *piece)
{
	const struct vnet_wqe_rdma *rdma = &r->wqe.rdma;

	if (!(r->peer->attr.access & access))
		return nic_refused(r, VNET_WC_REM_INV_REQ_ERR);
	if (length &&
	    unlikely(!nic_check_key(r->nic, rdma->rkey, r->peer->pdn, r->peer->qpn, access,
				    rdma->remote_addr, length, piece)) &&
	    !nic_check_named(r, access, length, piece))
		return nic_refused(r, VNET_WC_REM_ACCESS_ERR);
	return VNET_WC_SUCCESS;
}

/*
 * Convert the result of a copy. dst_remote: the destination is the peer's memory; else the source
 * is.
 */
static u32 nic_copy_status(struct nic_request *r, enum nic_copy_result result, bool dst_remote)
{
	switch (result) {
	case NIC_COPY_OK:
		return VNET_WC_SUCCESS;
	case NIC_COPY_PART:
		return NIC_EXEC_PART;
	case NIC_COPY_SRC_LATER:
	case NIC_COPY_DST_LATER:
		return nic_await_pages(r->nic, r->qp, (result == NIC_COPY_SRC_LATER) == dst_remote);
	case NIC_COPY_SRC_FAULT:
	case NIC_COPY_SRC_GONE:
		if (dst_remote)
			return VNET_WC_LOC_PROT_ERR;
		break;
	default:
		if (!dst_remote)
			return VNET_WC_LOC_PROT_ERR;
		break;
	}
	if (result == NIC_COPY_SRC_GONE || result == NIC_COPY_DST_GONE)
		return nic_no_answer(r);
	return nic_refused(r, VNET_WC_REM_OP_ERR);
}

static u32 nic_do_write(struct nic_request *r)
{
	struct nic_piece remote;
	enum nic_copy_result result;
	u32 status;

	status = nic_check_remote(r, NIC_ACCESS_REMOTE_WRITE, r->length, &remote);
	if (unlikely(status || !r->length))
		return status;
	result = nic_copy_long(r->nic, nic_page_waiter(r->qp, NIC_REQUESTS, r->index), 0, &remote,
			       1, r->local, r->nlocal, r->length);
	if (unlikely(result != NIC_COPY_OK))
		return nic_copy_status(r, result, true);
	return VNET_WC_SUCCESS;
}

static u32 nic_do_write_imm(struct nic_request *r)
{
	struct nic_message msg = {
		.dest = r->qp->attr.dest_qpn,
		.length = r->length,
		.wc_opcode = VNET_WC_RECV_RDMA_WITH_IMM,
		.solicited = r->wqe.flags & VNET_WR_SOLICITED,
	};
	u32 status;

	/* A retry for lack of a receive does not write the data again. */
	if (r->qp->wait != NIC_WAIT_RNR && r->qp->wait != NIC_WAIT_STALL) {
		status = nic_do_write(r);
		if (status)
			return status;
	}
	msg.wc_flags = nic_set_imm(r, &msg);
	return nic_deliver(r->nic, r->qp, r->peer, &msg);
}

/* Rendezvous read: the request that announced the data has not been retired yet (tags/tm.c). */
static bool nic_is_too_early(const struct nic_request *r)
{
	return r->wqe.rdma.compare_add && nic_load(&r->peer->sq_cons) == (u32)r->wqe.rdma.swap;
}

static u32 nic_do_read(struct nic_request *r)
{
	struct nic_piece remote;
	enum nic_copy_result result;
	u32 status;

	if (unlikely(r->wqe.flags & VNET_WR_TM) && nic_is_too_early(r)) {
		nic_wait_on(r->nic, r->qp, NIC_WAIT_LOCK, 0);
		return NIC_EXEC_WAIT;
	}
	if (!r->qp->attr.max_rd_atomic)
		return VNET_WC_LOC_QP_OP_ERR;
	if (!r->peer->attr.max_dest_rd_atomic)
		return nic_refused(r, VNET_WC_REM_INV_REQ_ERR);
	status = nic_check_remote(r, NIC_ACCESS_REMOTE_READ, r->length, &remote);
	if (unlikely(status || !r->length))
		return status;
	result = nic_copy_long(r->nic, nic_page_waiter(r->qp, NIC_REQUESTS, r->index), 0, r->local,
			       r->nlocal, &remote, 1, r->length);
	if (unlikely(result != NIC_COPY_OK))
		return nic_copy_status(r, result, false);
	r->qp->op_bytes = (u32)r->length;
	return VNET_WC_SUCCESS;
}

static u32 nic_do_atomic(struct nic_request *r)
{
	struct nic_piece remote, here = { .length = 8, .space = NIC_SPACE_POINTER };
	enum nic_copy_result result;
	u64 old = 0;
	u32 status;

	if (r->length != 8)
		return VNET_WC_LOC_LEN_ERR;
	if (!r->qp->attr.max_rd_atomic)
		return VNET_WC_LOC_QP_OP_ERR;
	if (!r->peer->attr.max_dest_rd_atomic || r->wqe.rdma.remote_addr % 8)
		return nic_refused(r, VNET_WC_REM_INV_REQ_ERR);
	status = nic_check_remote(r, NIC_ACCESS_REMOTE_ATOMIC, 8, &remote);
	if (status)
		return status;
	if (!nic_atomic(r->nic, r->qp, NIC_INTENT_REQUEST, r->qp->sq_cons, &r->wqe, &remote, &old,
			&result))
		return nic_no_answer(r);
	if (result != NIC_COPY_OK)
		return nic_copy_status(r, result, false);
	here.addr = (u64)(unsigned long)&old;
	result = nic_copy(r->nic, nic_page_waiter(r->qp, NIC_REQUESTS, r->index), r->local,
			  r->nlocal, &here, 1, 8);
	if (unlikely(nic_is_later(result)))
		return nic_await_pages(r->nic, r->qp, true);
	r->qp->op_bytes = 8;
	return result == NIC_COPY_OK ? VNET_WC_SUCCESS : VNET_WC_LOC_PROT_ERR;
}

static NIC_COLD u32 nic_do_atomic_write(struct nic_request *r)
{
	struct nic_piece remote;
	enum nic_copy_result result;
	u64 old;
	u32 status;

	status = nic_gather_word(r);
	if (unlikely(status == NIC_EXEC_PAGES))
		return nic_await_pages(r->nic, r->qp, true);
	if (status)
		return status;
	if (!r->qp->attr.max_rd_atomic)
		return VNET_WC_LOC_QP_OP_ERR;
	if (!r->peer->attr.max_dest_rd_atomic || r->wqe.rdma.remote_addr % 8)
		return nic_refused(r, VNET_WC_REM_INV_REQ_ERR);
	status = nic_check_remote(r, NIC_ACCESS_REMOTE_WRITE, 8, &remote);
	if (status)
		return status;
	if (!nic_atomic(r->nic, r->qp, NIC_INTENT_REQUEST, r->qp->sq_cons, &r->wqe, &remote, &old,
			&result))
		return nic_no_answer(r);
	return result == NIC_COPY_OK ? VNET_WC_SUCCESS : nic_copy_status(r, result, false);
}

static NIC_COLD u32 nic_do_placement(struct nic_request *r)
{
	struct nic_placement p = { .key = r->wqe.rdma.rkey,
				   .addr = r->wqe.rdma.remote_addr,
				   .length = r->wqe.rdma.compare_add };
	enum vnet_wc_status status;

	if (!r->qp->attr.max_rd_atomic || !nic_placement_read(r->wqe.rdma.swap, &p))
		return VNET_WC_LOC_QP_OP_ERR;
	status = nic_placement_run(r->nic, r->peer, nic_remote_pdn(r), &p);
	return status == VNET_WC_SUCCESS ? VNET_WC_SUCCESS : nic_refused(r, status);
}

/* ----------------------------------------------------------------- datagrams */

/* Is the QP in a state to take this datagram, with this Q_Key? Refusals are counted. */
static enum vnet_wc_status nic_takes_datagram(struct nic_request *r, const struct nic_qp *peer)
{
	struct nic_counters *count = &r->nic->hdr->counters;
	u32 qkey = r->wqe.ud.remote_qkey;
	u8 state = peer ? nic_load(&peer->state) : (u8)NIC_QPS_RESET;

	if (!peer || peer->type != NIC_QPT_UD || state < NIC_QPS_RTR || state == NIC_QPS_ERR) {
		nic_fetch_add(&count->drop_no_qp, 1);
		return VNET_WC_REM_OP_ERR;
	}
	/* A controlled Q_Key selects the sender's own Q_Key (IB vol 1, 10.2.5). */
	if (qkey & NIC_QKEY_CONTROLLED)
		qkey = r->qp->attr.qkey;
	if (qkey != peer->attr.qkey) {
		nic_fetch_add(&count->drop_qkey, 1);
		return VNET_WC_REM_ACCESS_ERR;
	}
	return VNET_WC_SUCCESS;
}

/*
 * Find the receiver of a datagram: r->peer, NULL for a group. Otherwise returns why there is none
 * (counted).
 */
static enum vnet_wc_status nic_datagram_peer(struct nic_request *r)
{
	const struct vnet_wqe_ud *ud = &r->wqe.ud;

	r->peer = NULL;
	if (nic_is_group_datagram(r->nic, ud))
		return VNET_WC_SUCCESS;
	if (!nic_is_own_datagram(r->nic, ud)) {
		nic_fetch_add(&r->nic->hdr->counters.drop_address, 1);
		return VNET_WC_RETRY_EXC_ERR;
	}
	r->peer = nic_find_qp(r->nic, ud->remote_qpn);
	return nic_takes_datagram(r, r->peer);
}

NIC_COLD u32 nic_deliver_one(struct nic_request *r, struct nic_qp *peer, struct nic_message *msg,
			     u32 i)
{
	struct nic_qp *qp = r->qp;
	u32 status;

	nic_store(&qp->op_member, nic_group_mark(r->index, i + 1));
	nic_store_release(&qp->group, qp->group | NIC_GROUP_MEMBER);
	msg->dest = peer->qpn;
	status = nic_deliver(r->nic, qp, peer, msg);
	/* The member's completion event is still to be made: nic_resume() continues there. */
	if (qp->op_phase == NIC_OP_NOTIFY)
		return NIC_EXEC_MORE;
	nic_store_release(&qp->op_phase, NIC_OP_IDLE);
	nic_store(&qp->group, qp->group & ~NIC_GROUP_MEMBER);
	if (status == NIC_EXEC_WAIT)
		nic_store(&qp->op_member, nic_group_mark(r->index, i));
	else
		nic_store(&qp->wait, NIC_WAIT_NONE);
	/* A member that loses the datagram does not make the request fail. */
	return status & NIC_EXEC_DROPPED ? VNET_WC_SUCCESS : status;
}

/* Deliver to all members of the group on this NIC; qp->op_member records the progress. */
static NIC_COLD u32 nic_do_group(struct nic_request *r, struct nic_message *msg)
{
	u32 status, i = nic_group_at(r->qp->op_member, r->index);
	struct nic_qp *qp = r->qp;

	if (r->wqe.ud.remote_qpn != NIC_GROUP_QPN) {
		nic_fetch_add(&r->nic->hdr->counters.drop_no_qp, 1);
		return NIC_EXEC_DROPPED | VNET_WC_REM_OP_ERR;
	}
	msg->group = true;
	if (i == NIC_NONE) {
		nic_group_forget(qp);
		i = 0;
	}
	for (; i < nic_member_high(r->nic); i++) {
		struct nic_qp *peer = nic_member_find(r->nic, i, r->wqe.ud.dgid);

		if (!peer || nic_takes_datagram(r, peer))
			continue;
		status = nic_deliver_one(r, peer, msg, i);
		if (status)
			return status;
	}
	return VNET_WC_SUCCESS;
}

u32 nic_do_datagram(struct nic_request *r)
{
	u8 grh[VNET_GRH_SIZE];
	struct nic_message msg = {
		.dest = r->wqe.ud.remote_qpn,
		.src = r->local,
		.wc_opcode = VNET_WC_RECV,
		.solicited = r->wqe.flags & VNET_WR_SOLICITED,
		.datagram = true,
		.slid = (u16)r->nic->hdr->lid,
		.sl = r->wqe.ud.sl & 15,
	};
	u32 i, status;

	if (r->length > NIC_MTU)
		return VNET_WC_LOC_LEN_ERR;
	if (unlikely(!nic_has_source(r->nic, &r->wqe.ud)))
		return VNET_WC_LOC_QP_OP_ERR;
	status = nic_datagram_peer(r);
	if (unlikely(status))
		return NIC_EXEC_DROPPED | status;
	msg.wc_flags = nic_make_grh(r->nic, &r->wqe.ud, r->length, grh);
	for (i = r->nlocal; i > 0; i--)
		r->local[i] = r->local[i - 1];
	r->local[0].addr = (u64)(unsigned long)grh;
	r->local[0].length = VNET_GRH_SIZE;
	r->local[0].space = NIC_SPACE_POINTER;
	msg.nsrc = r->nlocal + 1;
	msg.length = r->length + VNET_GRH_SIZE;
	if (r->wqe.opcode == VNET_WR_SEND_IMM)
		msg.wc_flags |= nic_set_imm(r, &msg);
	if (unlikely(!r->peer))
		return nic_do_group(r, &msg);
	nic_group_forget(r->qp);
	return nic_deliver(r->nic, r->qp, r->peer, &msg);
}

/* ----------------------------------------------------------------- dispatch */

/*
 * Find the XRC target QP, and in its domain the SRQ that the request names. Otherwise returns how
 * the request ends, or NIC_EXEC_WAIT.
 */
static NIC_COLD u32 nic_find_target(struct nic_request *r)
{
	struct nic_qp *qp = r->qp, *peer = nic_find_qp(r->nic, qp->attr.dest_qpn);
	u8 state;

	if (qp->kind != NIC_QPT_XRC_INI || !peer || peer->kind != NIC_QPT_XRC_TGT ||
	    peer->attr.dest_qpn != qp->qpn || !nic_is_own_path(r->nic, &qp->attr))
		return nic_no_answer(r);
	state = nic_load(&peer->state);
	if (state < NIC_QPS_RTR || state == NIC_QPS_ERR)
		return nic_no_answer(r);
	r->peer = peer;
	qp->op_srqn = r->wqe.srqn;
	return nic_srq_of(r->nic, peer, qp->op_srqn) ? VNET_WC_SUCCESS :
						       nic_refused(r, VNET_WC_REM_INV_REQ_ERR);
}

static u32 nic_do_connected(struct nic_request *r)
{
	u32 status;

	r->peer = nic_find_peer(r->nic, r->qp);
	if (unlikely(!r->peer)) {
		status = nic_find_target(r);
		if (status)
			return status;
	}
	nic_established(r->nic, r->peer);
	switch (r->wqe.opcode) {
	case VNET_WR_SEND:
	case VNET_WR_SEND_IMM:
	case VNET_WR_SEND_INV:
		return nic_do_send(r);
	case VNET_WR_RDMA_WRITE:
		return nic_do_write(r);
	case VNET_WR_RDMA_WRITE_IMM:
		return nic_do_write_imm(r);
	case VNET_WR_RDMA_READ:
		return nic_do_read(r);
	case VNET_WR_ATOMIC_WRITE:
		return nic_do_atomic_write(r);
	case VNET_WR_FLUSH:
		return nic_do_placement(r);
	default:
		return nic_do_atomic(r);
	}
}

/*
 * Key operations (bind, register, invalidate) are not idempotent. If the executing process died
 * half-way, recovery would run them again. So only the queue pair's own process, or the agent,
 * executes them.
 */
static bool nic_may_do_keys(const struct nic *nic, const struct nic_qp *qp)
{
	return nic->space == NIC_SPACE_POINTER || qp->space == nic->space;
}

u32 nic_do_local(struct nic_request *r)
{
	u32 status;

	if (unlikely(!nic_may_do_keys(r->nic, r->qp))) {
		nic_wait_on(r->nic, r->qp, NIC_WAIT_LOCK, 0);
		return NIC_EXEC_WAIT;
	}
	if (r->wqe.opcode == VNET_WR_BIND_MW)
		return nic_bind_window(r->nic, r->qp, &r->wqe.bind);
	if (r->wqe.opcode == VNET_WR_REG_MR)
		return r->qp->privileged ? nic_register(r->nic, r->qp, &r->wqe.bind) :
					   VNET_WC_LOC_QP_OP_ERR;
	status = nic_invalidate_key(r->nic, r->qp, r->qp, r->wqe.imm);
	if (status == NIC_EXEC_WAIT)
		nic_wait_on(r->nic, r->qp, NIC_WAIT_LOCK, 0);
	return status;
}

/* Collect the local memory of a request. */
static u32 nic_gather_local(struct nic_request *r)
{
	u32 opcode = r->wqe.opcode;

	if (unlikely(opcode == VNET_WR_FLUSH))
		return nic_gather_flush(r);
	return nic_gather(r, (ATOMIC_FETCHES | OP(VNET_WR_RDMA_READ)) & OP(opcode) ?
				     NIC_ACCESS_LOCAL_WRITE :
				     0);
}

/* Returns the completion status of the request, or one of NIC_EXEC_*. */
static u32 nic_execute(struct nic_request *r)
{
	u8 opcode = r->wqe.opcode;
	u32 status;

	/*
	 * Raw packet QPs are not in the table of transports: nic_do_frame() checks their opcodes.
	 */
	if (unlikely(opcode > VNET_WR_MAX || !(nic_opcodes_of(r->qp->kind) & OP(opcode))))
		return r->qp->kind == NIC_QPT_RAW_PACKET ? nic_do_frame(r) : VNET_WC_LOC_QP_OP_ERR;
	if (unlikely(KEYS & OP(opcode)))
		return nic_do_local(r);
	status = nic_gather_local(r);
	if (unlikely(status))
		return status;
	if (r->qp->type == NIC_QPT_UD)
		return nic_do_datagram(r);
	return nic_do_connected(r);
}

/* Number of requests in the send queue. */
static u32 nic_sq_waiting(const struct nic_qp *qp, const struct vnet_ring *ring)
{
	/* Pairs with the release of prod by the process that wrote the entry. */
	return nic_load_acquire(&ring->prod) - nic_load(&qp->sq_cons);
}

void nic_fetch(struct nic_request *r, const struct vnet_ring *ring, u32 index)
{
	const u8 *slot =
		(const u8 *)(ring + 1) + ((u64)(index & r->qp->sq_mask) << r->qp->sq_shift);

	memcpy(&r->wqe, slot, sizeof(r->wqe));
	nic_read_once_barrier();
	r->index = index;
	r->tail = slot + VNET_WQE_HDR_SIZE;
}

/* Set the QP's state after a failed request (IB vol 1, 10.3.1 and 10.8.2). */
void nic_send_failed(struct nic *nic, struct nic_qp *qp, u32 status)
{
	qp->counters.send_errors++;
	if (status == VNET_WC_WR_FLUSH_ERR)
		return;
	if (nic_is_returned(qp, status)) {
		nic_count(nic, returned);
		return;
	}
	if (qp->type == NIC_QPT_RC)
		nic_qp_fail(nic, qp, -1);
	else if (qp->state == NIC_QPS_RTS)
		nic_store(&qp->state, NIC_QPS_SQE);
}

enum nic_head_action nic_head_action(const struct nic_qp *qp)
{
	switch (nic_load(&qp->state)) {
	case NIC_QPS_RTS:
		return NIC_HEAD_EXECUTE;
	case NIC_QPS_SQD:
		/* The request under way ends; no other begins. */
		return nic_load(&qp->wait) ? NIC_HEAD_EXECUTE : NIC_HEAD_LEAVE;
	case NIC_QPS_SQE:
	case NIC_QPS_ERR:
		return NIC_HEAD_FLUSH;
	default:
		return NIC_HEAD_LEAVE;
	}
}

/* A request ended. If the queue drains (SQD) and nothing is outstanding, draining is complete. */
void nic_drained(struct nic *nic, struct nic_qp *qp)
{
	if (likely(!qp->sq_draining || qp->state != NIC_QPS_SQD) || nic_vn_is_busy(nic, qp))
		return;
	qp->sq_draining = 0;
	if (qp->attr.en_sqd_async_notify)
		nic_raise_qp(nic, qp, NIC_EVENT_SQ_DRAINED);
}

enum nic_step {
	/* The request has to wait. */
	NIC_STEP_WAITS,
	/* A piece of the request was executed; the next may follow at once. */
	NIC_STEP_PART,
	NIC_STEP_DONE,
};

/* Execute or flush the head request, as far as possible. */
static enum nic_step nic_step_head(struct nic_request *r, enum nic_head_action turn)
{
	struct nic_qp *qp = r->qp;
	u32 status = VNET_WC_WR_FLUSH_ERR;

	if (likely(turn == NIC_HEAD_EXECUTE))
		status = nic_execute(r);
	if (status == NIC_EXEC_WAIT || unlikely(status == NIC_EXEC_MORE))
		return NIC_STEP_WAITS;
	if (unlikely(status == NIC_EXEC_PART))
		return NIC_STEP_PART;
	status = nic_requester_wc_status(qp, status);
	if (likely(status == VNET_WC_SUCCESS)) {
		qp->counters.sent_msgs++;
		qp->counters.sent_bytes += r->length;
	} else {
		nic_send_failed(r->nic, qp, status);
	}
	qp->op_status = (u8)status;
	/* The receiver's completion event is still to be made: nic_resume() continues there. */
	if (unlikely(qp->op_phase == NIC_OP_NOTIFY))
		return NIC_STEP_WAITS;
	nic_store_release(&qp->op_phase, NIC_OP_EXECUTED);
	return NIC_STEP_DONE;
}

/* Finish the operation that op_phase records. false: a lock is held by another, call again. */
static bool nic_resume(struct nic *nic, struct nic_qp *qp, struct vnet_ring *ring)
{
	struct nic_request r = { .nic = nic, .qp = qp };
	struct nic_cq *cq;

	if (qp->op_phase == NIC_OP_NOTIFY) {
		cq = nic_find_cq(nic, qp->op_cqn);
		if (cq && !nic_cq_notify(nic, cq, true))
			return false;
		nic_store_release(&qp->op_phase, NIC_OP_EXECUTED);
	}
	if (qp->op_phase == NIC_OP_EXECUTED && unlikely(qp->group & NIC_GROUP_MEMBER)) {
		/* This was the delivery to one of several receivers, not the end of the request. */
		nic_store_release(&qp->op_phase, NIC_OP_IDLE);
		nic_store(&qp->group, qp->group & ~NIC_GROUP_MEMBER);
		nic_store(&qp->wait, NIC_WAIT_NONE);
		return true;
	}
	if (qp->op_phase == NIC_OP_EXECUTED)
		nic_fetch(&r, ring, qp->sq_cons);
	return nic_retire(nic, qp, &r.wqe);
}

/*
 * A long request costs several units of the budget: it keeps the executor, and those who wait for
 * the lock, busy for as long as several short ones.
 */
static NIC_COLD void nic_spend_long(struct nic_stretch *s, u64 length)
{
	u64 cost = length >> NIC_BUDGET_SHIFT;

	s->budget = cost < s->budget ? s->budget - (u32)cost : 0;
	s->work += NIC_PIECE_BYTES;
}

/* A request of this length was executed, or the last piece of it. */
static inline void nic_spend(struct nic_stretch *s, u64 length)
{
	s->budget--;
	s->work += NIC_STRETCH_REQUEST;
	if (likely(length <= NIC_PIECE_BYTES))
		s->work += length;
	else
		nic_spend_long(s, length);
}

/* May this call execute another request? */
static inline bool nic_may_continue(struct nic *nic, struct nic_stretch *s)
{
	return (likely(s->budget && !nic_stretch_is_over(s))) || nic_stretch_next(nic, s);
}

/*
 * Execute the send queue as far as possible. The caller holds sq_lock. Returns false if another try
 * at once is of no use; what is left to do is pending.
 */
static bool nic_run_queue(struct nic *nic, struct nic_qp *qp, struct nic_stretch *s)
{
	struct vnet_ring *ring = nic_sq_ring(nic, qp);
	struct nic_request r NIC_SCRATCH;
	enum nic_head_action turn;
	enum nic_step step;
	u32 waiting;

	if (unlikely(!ring || !qp->qpn))
		return false;
	if (unlikely(qp->op_phase != NIC_OP_IDLE)) {
		if (!nic_resume(nic, qp, ring))
			goto later;
		nic_drained(nic, qp);
	}
	r.nic = nic;
	r.qp = qp;
	for (;;) {
		nic_grace_point(nic, qp);
		/* Read once, so that all decisions below see the same requests. */
		waiting = nic_sq_waiting(qp, ring);
		if (unlikely(nic_vn_concerns(nic, qp)) && nic_vn_must_run(nic, qp, ring, waiting)) {
			if (nic_vn_run(nic, qp, ring, s))
				return true;
			waiting = nic_sq_waiting(qp, ring);
			if (nic_vn_must_run(nic, qp, ring, waiting)) {
				if (nic_stretch_is_over(s) && nic_stretch_next(nic, s))
					continue;
				return false;
			}
		}
		turn = nic_head_action(qp);
		if (!waiting || turn == NIC_HEAD_LEAVE)
			return true;
		if (unlikely(waiting > qp->sq_mask + 1)) {
			/* The producer index is invalid: the process has corrupted the ring. */
			nic_qp_fail(nic, qp, NIC_EVENT_QP_FATAL);
			return false;
		}
		if (unlikely(!nic_may_continue(nic, s)))
			goto later;
		r.length = 0;
		nic_fetch(&r, ring, qp->sq_cons);
		plat_step(30);
		step = nic_step_head(&r, turn);
		if (unlikely(step != NIC_STEP_DONE)) {
			if (step == NIC_STEP_WAITS)
				break;
			nic_stretch_add(s, NIC_PIECE_BYTES);
			continue;
		}
		plat_step(31);
		nic_spend(s, r.length);
		if (!nic_retire(nic, qp, &r.wqe))
			goto later;
		plat_step(32);
		nic_drained(nic, qp);
	}
	/* nic_wait_on() has marked the QP of a waiting request as pending. */
	if (qp->op_phase == NIC_OP_IDLE)
		return false;
later:
	nic_pend(nic, qp);
	return false;
}

/* The caller does not hold the lock: a current holder looks for new work after its release. */
bool nic_qp_has_work(struct nic *nic, struct nic_qp *qp)
{
	struct vnet_ring *ring = plat_queue(nic, qp->sq_ring, VNET_RING_HDR_SIZE);
	u8 wait;

	if (unlikely(nic_vn_concerns(nic, qp)) && nic_head_action(qp) != NIC_HEAD_FLUSH &&
	    (qp->row != NIC_NONE || nic_vn_is_busy(nic, qp)))
		return nic_vn_has_work(nic, qp, ring);
	wait = nic_load(&qp->wait);
	if (!ring || (wait && wait != NIC_WAIT_TURN) || nic_load(&qp->op_phase) != NIC_OP_IDLE ||
	    nic_head_action(qp) == NIC_HEAD_LEAVE)
		return false;
	return nic_sq_waiting(qp, ring) - 1 <= qp->sq_mask;
}

/*
 * Release sq_lock, before the check for requests that were posted meanwhile. The check needs the
 * full barrier, unless only this thread and its signal handlers post to the queue. Packets of other
 * NICs are handled by other processes, too.
 */
static inline void nic_unlock_queue(struct nic *nic, struct nic_qp *qp)
{
	if (nic_load(nic->one_thread) && qp->space == nic->space && !nic_vn_concerns(nic, qp))
		nic_unlock_release(&qp->sq_lock);
	else
		nic_unlock(&qp->sq_lock);
}

static bool nic_qp_run_one(struct nic *nic, struct nic_qp *qp, struct nic_stretch *s)
{
	u32 rounds = NIC_RUN_ROUNDS;
	bool done;

	do {
		/* The holder of the lock looks for new work after releasing it. */
		if (!nic_trylock(nic, &qp->sq_lock))
			return false;
		done = nic_run_queue(nic, qp, s);
		if (unlikely(nic_load(&qp->flush_rq)) && qp->op_phase == NIC_OP_IDLE)
			nic_flush_receives(nic, qp, s);
		nic_unlock_queue(nic, qp);
		/*
		 * The unlock is a full barrier before this check, if it has to be one. The poster has another one
		 * between its store of prod and its try to lock. So one of the two sees the new
		 * request.
		 */
	} while (done && nic_qp_has_work(nic, qp) && --rounds);
	/*
	 * Requests are posted faster than they are executed: leave the rest to the NIC processor.
	 */
	if (unlikely(!rounds))
		nic_pend(nic, qp);
	return true;
}

/*
 * Run the QPs that messages of this call have given work to (nic_pend_next()), while their data is
 * in this processor's cache. Other threads may name further QPs meanwhile, so the number is
 * limited.
 */
static NIC_COLD void nic_run_followers(struct nic *nic)
{
	u32 n;

	for (n = 0; nic_load(&nic->follow); n++) {
		struct nic_qp *qp = nic_find_qp(nic, nic_xchg(&nic->follow, 0));
		struct nic_stretch s = { .budget = nic_budget(nic), .once = true };

		if (qp && (n == NIC_RUN_FOLLOWERS || !nic_qp_run_one(nic, qp, &s)))
			nic_pend(nic, qp);
		nic_stretch_end(nic, &s);
		if (n == NIC_RUN_FOLLOWERS)
			return;
	}
}

bool nic_qp_run_stretch(struct nic *nic, struct nic_qp *qp, struct nic_stretch *s)
{
	bool ran = nic_qp_run_one(nic, qp, s);

	if (ran && unlikely(nic_load(&nic->follow)))
		nic_run_followers(nic);
	return ran;
}

/* nic_qp_run(), inlined into the doorbell, which is the most frequent caller. */
static inline __attribute__((__always_inline__)) bool nic_qp_run_all(struct nic *nic,
								     struct nic_qp *qp, u32 budget)
{
	struct nic_stretch s = { .budget = budget };
	bool ran = nic_qp_run_one(nic, qp, &s);

	if (ran && unlikely(nic_load(&nic->follow)))
		nic_run_followers(nic);
	nic_stretch_end(nic, &s);
	return ran;
}

bool nic_qp_run(struct nic *nic, struct nic_qp *qp, u32 budget)
{
	return nic_qp_run_all(nic, qp, budget);
}

bool nic_qp_run_turn(struct nic *nic, struct nic_qp *qp, u32 budget)
{
	struct nic_stretch s = { .budget = budget, .once = true };
	bool ran = nic_qp_run_stretch(nic, qp, &s);

	nic_stretch_end(nic, &s);
	if (ran && (!s.budget || nic_stretch_is_over(&s)) && nic_qp_has_work(nic, qp))
		nic_pend_now(nic, qp);
	return ran;
}

void nic_send_doorbell(struct nic *nic, u32 qpn)
{
	struct nic_qp *qp = nic_find_qp(nic, qpn);

	/* A process runs only the queues of its own QPs; the agent runs any. */
	if (unlikely(!qp || (nic->space != NIC_SPACE_POINTER && qp->space != nic->space)))
		return;
	nic_qp_run_all(nic, qp, qp->sq_mask + 1);
}

void nic_qp_unlock(struct nic *nic, struct nic_qp *qp)
{
	nic_unlock(&qp->sq_lock);
	if ((nic_qp_has_work(nic, qp) || unlikely(nic_load(&qp->flush_rq))) &&
	    !nic_qp_run_turn(nic, qp, nic_budget(nic)))
		nic_pend(nic, qp);
}
