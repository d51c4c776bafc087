// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* The oracle: matches receive completions with messages, and checks their data. */
#include <string.h>

#include "base/trace.h"
#include "oracle/oracle.h"

/* Copy the first bytes of a received message, from the CQE or the receive buffer. */
static void first_bytes(const struct receive *r, const struct vnet_cqe *cqe, u32 skip, u8 *to,
			u32 n)
{
	if (cqe->payload_len)
		memcpy(to, cqe->payload + skip, n);
	else
		memcpy(to, buffer_memory(r->local[0]) + skip, n);
}

static bool has_imm(const struct work *w)
{
	return w->opcode == VNET_WR_SEND_IMM || w->opcode == VNET_WR_RDMA_WRITE_IMM;
}

bool work_is_wide(const struct work *w)
{
	return has_imm(w) && w->imm % 2;
}

/* Whether the immediate data is that of the request. */
static bool imm_ok(const struct work *w, const struct vnet_cqe *cqe)
{
	bool wide = work_is_wide(w);
	u32 high = w->imm_high;

	if (!(cqe->flags & VNET_WC_WITH_IMM) != !has_imm(w) ||
	    !(cqe->flags & VNET_WC_IMM64) != !wide)
		return false;
	if (wide)
		memcpy(&high, cqe->payload + vnet_cqe_imm_high(cqe->byte_len), sizeof(high));
	return !has_imm(w) || (cqe->imm == w->imm && high == w->imm_high);
}

static bool looks_like(const struct work *w, const struct receive *r, const struct vnet_cqe *cqe)
{
	bool write = w->opcode == VNET_WR_RDMA_WRITE_IMM;
	u32 skip = w->end->type == NIC_QPT_UD ? VNET_GRH_SIZE : 0;
	u32 n = w->length < 8 ? w->length : 8;
	u8 first[8];

	if (!consumes(w->opcode) || (cqe->opcode == VNET_WC_RECV_RDMA_WITH_IMM) != write ||
	    !imm_ok(w, cqe) || cqe->byte_len != w->length + skip)
		return false;
	if (write || r->local_length[0] < n + skip)
		return true;
	first_bytes(r, cqe, skip, first, n);
	return bytes_are(first, n, w->content, 0);
}

/* The message that a connected end must have received. NULL: none was posted. */
static struct work *next_message(struct end *from, const struct receive *r,
				 const struct vnet_cqe *cqe)
{
	u32 i;

	for (i = from->next_deliver; i < from->nwork; i++) {
		struct work *w = from->work[i];

		if (!consumes(w->opcode))
			continue;
		/* RC delivers each message, in order. UC may lose some before this one. */
		if (from->type == NIC_QPT_RC || looks_like(w, r, cqe))
			return w;
	}
	return NULL;
}

static struct work *datagram_to(const struct end *to, u64 not_done_before, const struct receive *r,
				const struct vnet_cqe *cqe)
{
	struct work *w;

	for (w = to->datagrams; w; w = w->next_datagram) {
		if (looks_like(w, r, cqe) && w->end->qp->qpn == cqe->src_qp &&
		    (!w->done || w->done_at >= not_done_before))
			return w;
	}
	return NULL;
}

/*
 * The datagram that an end received: one sent to it, or one sent to a destroyed end with the
 * same QP number that was not complete when this end was created.
 */
static struct work *datagram(const struct end *e, const struct receive *r,
			     const struct vnet_cqe *cqe)
{
	struct work *w = datagram_to(e, 0, r, cqe);
	u32 i;

	for (i = 0; i < posted.nend && !w; i++) {
		const struct end *other = posted.end[i];

		if (other != e && other->gone && node_of(other) == node_of(e) &&
		    other->qp->qpn == e->qp->qpn)
			w = datagram_to(other, e->made_at, r, cqe);
	}
	return w;
}

static bool content_ok(const struct work *w, const struct receive *r, const struct vnet_cqe *cqe)
{
	u32 skip = w->end->type == NIC_QPT_UD ? VNET_GRH_SIZE : 0;

	if (w->opcode == VNET_WR_RDMA_WRITE_IMM)
		return !w->length || bytes_are(buffer_memory(w->remote), w->length, w->id, 0);
	if (cqe->payload_len)
		return cqe->payload_len == w->length + skip &&
		       bytes_are(cqe->payload + skip, w->length, w->content, 0);
	return pieces_are(r->local, r->local_length, r->nlocal, w->length + skip, w->content, skip);
}

static void check_delivery(struct end *e, struct receive *r, const struct vnet_cqe *cqe)
{
	struct work *w = e->type == NIC_QPT_UD ? datagram(e, r, cqe) :
						 next_message(e->peer, r, cqe);

	if (!w || !looks_like(w, r, cqe)) {
		violated("node %u QP %u: a message of %u bytes arrived%s: it is not the next one%s",
			 node_of(e), e->qp->qpn, cqe->byte_len,
			 cqe->flags & VNET_WC_WITH_IMM ? " with immediate data" : "",
			 w ? "" : ", there is none");
		return;
	}
	if (w->delivered)
		bad(w, "delivered twice");
	if (w->returned)
		bad(w, "delivered, and its sender had it back");
	if (w->end->qp->qpn != cqe->src_qp && e->type == NIC_QPT_UD)
		bad(w, "delivered as another queue pair's");
	if (!content_ok(w, r, cqe))
		bad(w, "delivered with wrong bytes");
	w->delivered = true;
	w->end->next_deliver = w->index + 1;
	r->work = w;
	r->byte_len = cqe->byte_len;
	check_totals.delivered++;
	check_totals.by_opcode[w->opcode]++;
}

/*
 * Whether a receive may fail with this status. A request that the responder refuses (too long,
 * no access) also puts the responder into the error state.
 */
static bool receive_may_fail(const struct end *e, u32 status)
{
	/* The end's own failed request may be checked later in this step: consider its causes. */
	if (status == VNET_WC_WR_FLUSH_ERR)
		return e->may_fail || e->failed || e->excused || e->may_rnr || links_were_cut() ||
		       (e->peer && (e->peer->gone || e->peer->may_fail || e->peer->excused));
	return status == VNET_WC_LOC_LEN_ERR && e->may_fail;
}

void check_receive_done(const struct queue *cq, const struct vnet_cqe *cqe, struct receive *r)
{
	struct end *e = end_of(cq, cqe->qp_num);

	if (!e || (r->end && r->end != e) || (r->srq && e->qp->srq != r->srq) ||
	    e->qp->recv_cq != cq) {
		violated("node %u: a receive completes for QP %u, to which it does not belong",
			 cq->process->node->index, cqe->qp_num);
		return;
	}
	if (r->done)
		violated("node %u QP %u: receive %llu completed twice", node_of(e), e->qp->qpn,
			 (unsigned long long)r->id);
	if (r->end && r->index != e->received)
		violated("node %u QP %u: receive %u completes before receive %u", node_of(e),
			 e->qp->qpn, r->index, e->received);
	r->done = true;
	r->status = cqe->status;
	if (r->end)
		e->received = r->index + 1;
	else
		e->actor->srq_done++;
	if (!cqe->status)
		check_delivery(e, r, cqe);
	else if (!receive_may_fail(e, cqe->status))
		violated("node %u QP %u: receive %llu failed with status %u without a reason",
			 node_of(e), e->qp->qpn, (unsigned long long)r->id, cqe->status);
}

/*
 * Whether a receive buffer may contain more than its message: parts of a message that was
 * delivered again to another receive, or of a UC message whose later packets were lost.
 */
static bool may_hold_more(const struct receive *r)
{
	return !check_strict || r->work->end->type == NIC_QPT_UC;
}

void check_polled(struct actor *actor, const struct wc *wc)
{
	struct receive *r = receive_of(wc->wr_id);
	u32 i, skip, left = 0;

	(void)actor;
	if (!r || !r->done)
		return;
	if (r->status || !r->work) {
		/*
		 * A failed receive may contain a part of a message. Unchanged buffers are freed,
		 * so that repeated failures do not exhaust the pool.
		 */
		for (i = 0; i < r->nlocal; i++) {
			if (buffer_is_own(r->local[i]))
				put(r->local[i], r->local[i]->size);
			else
				buffer_taint(r->local[i], 0, 0);
		}
		return;
	}
	skip = r->work->end->type == NIC_QPT_UD ? VNET_GRH_SIZE : 0;
	if (r->work->opcode != VNET_WR_RDMA_WRITE_IMM &&
	    !pieces_are(r->local, r->local_length, r->nlocal, r->byte_len, r->work->content, skip))
		bad(r->work, "its bytes are wrong when they are polled");
	/* Bytes of the message in each buffer, in order. */
	if (r->work->opcode != VNET_WR_RDMA_WRITE_IMM)
		left = r->byte_len;
	for (i = 0; i < r->nlocal; i++) {
		u32 part = left < r->local_length[i] ? left : r->local_length[i];

		put(r->local[i], may_hold_more(r) ? r->local[i]->size : part);
		left -= part;
	}
}
