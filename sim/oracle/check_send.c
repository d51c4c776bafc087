// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* The oracle: checks the completions of send requests, and their effects. */
#include <string.h>

#include "base/event.h"
#include "base/trace.h"
#include "cluster/fault.h"
#include "oracle/oracle.h"

bool consumes(u8 opcode)
{
	return opcode == VNET_WR_SEND || opcode == VNET_WR_SEND_IMM || opcode == VNET_WR_SEND_INV ||
	       opcode == VNET_WR_RDMA_WRITE_IMM;
}

static void counter_result(struct work *w)
{
	struct counter *c = w->counter;
	u64 value;

	memcpy(&value, buffer_memory(w->local[0]), 8);
	if (value >= c->posted || value >= (u64)c->room * 8)
		bad(w, "an atomic addition answers with more than was added");
	else if (c->seen[value / 8] & 1u << value % 8)
		bad(w, "an atomic addition answers what another one did");
	else
		c->seen[value / 8] |= (u8)(1u << value % 8);
	c->succeeded++;
}

static void atomic_done(struct work *w)
{
	u64 value;

	if (w->counter) {
		counter_result(w);
	} else {
		memcpy(&value, buffer_memory(w->local[0]), 8);
		if (w->end->word_sure && value != w->result)
			bad(w, "compare and swap answers with another word than there was");
	}
	put(w->local[0], 8);
	w->nlocal = 0;
}

static void write_done(struct work *w)
{
	if (w->length && !bytes_are(buffer_memory(w->remote), w->length, w->id, 0))
		bad(w, "success, but its data is not where it was to be written");
	put(w->remote, w->length);
}

static void window_done(struct work *w)
{
	if (w->opcode == VNET_WR_BIND_MW && w->end->window == WINDOW_OPENING)
		w->end->window = WINDOW_OPEN;
	if (w->opcode == VNET_WR_LOCAL_INV && w->end->window == WINDOW_CLOSING)
		w->end->window = WINDOW_CLOSED;
}

/* Whether it was delivered, or may have been: completions of a dead process are not seen. */
static bool may_have_come(const struct work *w)
{
	return w->delivered || w->end->peer->actor->process->dead;
}

static void succeed_reliable(struct work *w)
{
	switch (w->opcode) {
	case VNET_WR_SEND:
	case VNET_WR_SEND_IMM:
	case VNET_WR_SEND_INV:
		if (!may_have_come(w))
			bad(w, "success, but it was not delivered");
		release_source(w);
		break;
	case VNET_WR_RDMA_WRITE_IMM:
		if (!may_have_come(w))
			bad(w, "success, but it was not delivered");
		write_done(w);
		release_source(w);
		break;
	case VNET_WR_RDMA_WRITE:
	case VNET_WR_ATOMIC_WRITE:
		write_done(w);
		release_source(w);
		break;
	case VNET_WR_RDMA_READ:
		release_target(w, w->remote_id);
		put(w->remote, w->length);
		break;
	case VNET_WR_ATOMIC_CMP_SWP:
	case VNET_WR_ATOMIC_FETCH_ADD:
		atomic_done(w);
		break;
	default:
		window_done(w);
		break;
	}
	if (w->opcode == VNET_WR_SEND_INV && w->end->peer->window == WINDOW_CLOSING)
		w->end->peer->window = WINDOW_CLOSED;
}

/*
 * Whether a datagram was delivered, or may have been unseen: completions of a killed node or
 * process are not checked. After a reset of the NIC, another queue pair may have the number.
 */
static bool datagram_may_have_come(const struct work *w)
{
	const struct qp *to = w->to ? w->to->qp : NULL;

	return w->delivered || (to && (to->process->node->dead || to->process->dead ||
				       is_lost(to->process, to->life)));
}

static void succeed(struct work *w)
{
	if (w->expect != EXPECT_SUCCESS)
		bad(w, "success, but it was wrong and had to fail");
	if (w->by_window)
		w->end->peer->window_users--;
	if (w->end->type == NIC_QPT_RC) {
		succeed_reliable(w);
		return;
	}
	if (w->opcode == VNET_WR_BIND_MW || w->opcode == VNET_WR_LOCAL_INV) {
		window_done(w);
		return;
	}
	/* UD: success does not imply delivery, unless the queue pair reports deliveries. */
	if (w->end->returns && !datagram_may_have_come(w))
		bad(w, "told as delivered, and it was not");
	release_source(w);
	if (w->remote)
		buffer_taint(w->remote, w->id, w->length);
}

/* Record the buffers, words and windows that a failed request may have changed. */
void fail(struct work *w)
{
	u32 i;

	if (w->by_window)
		w->end->peer->window_users--;
	switch (w->opcode) {
	case VNET_WR_RDMA_WRITE:
	case VNET_WR_RDMA_WRITE_IMM:
	case VNET_WR_ATOMIC_WRITE:
		buffer_taint(w->remote, w->id, w->length);
		break;
	case VNET_WR_RDMA_READ:
		for (i = 0; i < w->nlocal; i++)
			buffer_taint(w->local[i], 0, 0);
		break;
	case VNET_WR_ATOMIC_FETCH_ADD:
		buffer_taint(w->local[0], 0, 0);
		break;
	case VNET_WR_ATOMIC_CMP_SWP:
		buffer_taint(w->local[0], 0, 0);
		w->end->word_sure = false;
		break;
	case VNET_WR_BIND_MW:
	case VNET_WR_LOCAL_INV:
		w->end->window = WINDOW_NONE;
		break;
	case VNET_WR_SEND_INV:
		w->end->peer->window = WINDOW_NONE;
		break;
	default:
		break;
	}
}

bool links_were_cut(void)
{
	return fault_counts()->cut > 1000;
}

static bool may_fail_with(const struct work *w, u32 status)
{
	const struct end *e = w->end, *peer = e->peer;

	switch (status) {
	case VNET_WC_WR_FLUSH_ERR:
		return e->failed || e->may_fail;
	case VNET_WC_LOC_PROT_ERR:
		return w->expect == EXPECT_LOC_PROT;
	case VNET_WC_LOC_LEN_ERR:
		return w->expect == EXPECT_LOC_LEN;
	case VNET_WC_LOC_QP_OP_ERR:
		return w->expect == EXPECT_LOC_QP_OP;
	case VNET_WC_REM_ACCESS_ERR:
		return w->expect == EXPECT_REM_ACCESS;
	case VNET_WC_REM_INV_REQ_ERR:
		return w->expect == EXPECT_REM_INV_REQ;
	case VNET_WC_RETRY_EXC_ERR:
		return e->type == NIC_QPT_RC &&
		       (e->excused || peer->excused || peer->may_fail || peer->failed ||
			peer->gone || peer->closing || links_were_cut());
	case VNET_WC_RNR_RETRY_EXC_ERR:
		return e->type == NIC_QPT_RC && e->may_rnr;
	default:
		return false;
	}
}

/* Whether a datagram may be returned with this status. */
static bool may_be_returned(const struct work *w, u32 status)
{
	const struct end *to = w->to;

	if (!w->end->returns)
		return false;
	/* No answer: frames were lost, or all endpoint frames were in use. */
	if (status == VNET_WC_RETRY_EXC_ERR)
		return true;
	/* The destination does not exist, was destroyed, or its NIC was reset. */
	if (!to || to->gone || is_lost(to->qp->process, to->qp->life))
		return true;
	switch (status) {
	case VNET_WC_REM_OP_ERR:
		/* A forged frame may name a wrong queue pair, and be refused in place of this one. */
		return !w->to_ready || to->closing || to->may_fail || to->failed || to->excused ||
		       fault_counts()->forged;
	case VNET_WC_RNR_RETRY_EXC_ERR:
		return true;
	case VNET_WC_REM_INV_REQ_ERR:
		return !to->qp->srq && w->length + VNET_GRH_SIZE > to->capacity;
	default:
		return false;
	}
}

static bool is_returned(const struct work *w, u32 status)
{
	return w->end->returns && status >= VNET_WC_REM_INV_REQ_ERR &&
	       status <= VNET_WC_RNR_RETRY_EXC_ERR;
}

/*
 * A datagram was returned as undeliverable: its data must be unchanged, and it must not be
 * delivered, unless no answer came or frames were forged. The queue pair stays in RTS.
 */
static void come_back(struct work *w, u32 status)
{
	if (status != VNET_WC_RETRY_EXC_ERR && !fault_counts()->forged) {
		if (w->delivered)
			bad(w, "came back, and it was delivered");
		w->returned = true;
	}
	release_source(w);
	check_totals.failed++;
}

static bool permitted(const struct work *w, u32 status)
{
	if (is_returned(w, status))
		return may_be_returned(w, status);
	return may_fail_with(w, status);
}

static const u8 wc_opcode[] = {
	[VNET_WR_RDMA_WRITE] = VNET_WC_RDMA_WRITE,
	[VNET_WR_RDMA_WRITE_IMM] = VNET_WC_RDMA_WRITE,
	[VNET_WR_SEND] = VNET_WC_SEND,
	[VNET_WR_SEND_IMM] = VNET_WC_SEND,
	[VNET_WR_RDMA_READ] = VNET_WC_RDMA_READ,
	[VNET_WR_ATOMIC_CMP_SWP] = VNET_WC_COMP_SWAP,
	[VNET_WR_ATOMIC_FETCH_ADD] = VNET_WC_FETCH_ADD,
	[VNET_WR_LOCAL_INV] = VNET_WC_LOCAL_INV,
	[VNET_WR_BIND_MW] = VNET_WC_BIND_MW,
	[VNET_WR_SEND_INV] = VNET_WC_SEND,
	[VNET_WR_ATOMIC_WRITE] = VNET_WC_ATOMIC_WRITE,
};

/* The requests before index `until`, all unsignaled, have succeeded. */
void complete_silent(struct end *e, u32 until)
{
	while (e->done < until) {
		struct work *w = e->work[e->done++];

		if (w->signaled)
			bad(w, "its completion did not come, but a later one's");
		w->done = true;
		w->done_at = event_now();
		succeed(w);
	}
}

void check_send(const struct queue *cq, const struct vnet_cqe *cqe, struct work *w)
{
	struct end *e = w->end;

	if (w->done) {
		bad(w, "completed twice");
		return;
	}
	if (e->qp->qpn != cqe->qp_num || e->qp->send_cq != cq)
		bad(w, "completed in another queue");
	if (w->expect != EXPECT_LOC_QP_OP && wc_opcode[w->opcode] != cqe->opcode)
		bad(w, "completed with another opcode");
	if (w->index < e->done)
		bad(w, "completed after a later one");
	complete_silent(e, w->index);
	w->done = true;
	w->done_at = event_now();
	e->done = w->index + 1;
	if (!cqe->status) {
		if (!w->signaled)
			bad(w, "tells of its success, and was not to");
		if (e->failed)
			bad(w, "success after an earlier one failed");
		if ((w->opcode == VNET_WR_RDMA_READ && cqe->byte_len != w->length) ||
		    (w->local[0] && !w->length && cqe->byte_len))
			bad(w, "completed with another length");
		succeed(w);
		return;
	}
	if (!permitted(w, cqe->status))
		violated("node %u QP %u: request %llu (opcode %u, %u bytes) failed with status %u "
			 "without a reason",
			 node_of(e), e->qp->qpn, (unsigned long long)w->id, w->opcode, w->length,
			 cqe->status);
	if (e->failed && cqe->status != VNET_WC_WR_FLUSH_ERR)
		bad(w, "fails after an earlier one, and is not flushed");
	if (is_returned(w, cqe->status)) {
		come_back(w, cqe->status);
		return;
	}
	check_totals.failed += cqe->status != VNET_WC_WR_FLUSH_ERR;
	check_totals.flushed += cqe->status == VNET_WC_WR_FLUSH_ERR;
	e->failed = true;
	fail(w);
}
