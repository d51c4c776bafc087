// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The responder for queues that match tags: selects the tagged buffer, or the ordinary receive, of
 * a message.
 */
#include "layout/ring.h"
#include "layout/message.h"
#include "protection/protection.h"
#include "tags/tags.h"
#include "responder/receiving.h"

/* Skip the first `skip` bytes of the message, all of which are in its pieces. */
static void nic_skip_pieces(struct nic_message *msg, struct nic_piece *to, u64 skip)
{
	u32 i, n = 0;

	for (i = 0; i < msg->nsrc; i++) {
		struct nic_piece piece = msg->src[i];
		u64 here = piece.length < skip ? piece.length : skip;

		skip -= here;
		piece.addr += here;
		piece.length -= here;
		if (piece.length)
			to[n++] = piece;
	}
	msg->src = to;
	msg->nsrc = n;
}

/* Find the memory of the tagged buffer that the message fills. */
static enum vnet_wc_status nic_fetch_tagged(struct nic_delivery *d,
					    const struct nic_tm_buffer *buffer, u64 need)
{
	u32 i;

	d->ndst = 0;
	for (i = 0; i < buffer->num_sge && need; i++) {
		struct vnet_sge sge = buffer->sge[i];

		if (sge.length > need)
			sge.length = (u32)need;
		if (!sge.length)
			continue;
		if (!nic_check_key(d->nic, sge.lkey, d->rq->pdn, d->peer->qpn,
				   NIC_ACCESS_LOCAL_WRITE, sge.addr, sge.length, &d->dst[d->ndst]))
			return VNET_WC_LOC_PROT_ERR;
		need -= sge.length;
		d->ndst++;
	}
	return need ? VNET_WC_LOC_LEN_ERR : VNET_WC_SUCCESS;
}

/* Prepare the delivery to the matched buffer. Of a rendezvous only the completion, if any. */
static enum vnet_wc_status nic_take_tagged(struct nic_delivery *d, struct nic_tm_message *tm,
					   struct nic_piece *src)
{
	struct nic_tm_match *match = &tm->match;
	u64 room = nic_tm_buffer_size(&match->buffer);

	d->take = NULL;
	d->wqe.wr_id = match->buffer.wr_id;
	tm->msg.wc_opcode = VNET_WC_TM_RECV;
	tm->msg.wc_flags |= VNET_WC_TM_MATCH | VNET_WC_TM_DATA_VALID;
	if (match->kind == NIC_TM_EAGER) {
		nic_skip_pieces(&tm->msg, src, NIC_TMH_SIZE);
		tm->msg.length -= NIC_TMH_SIZE;
		return nic_fetch_tagged(d, &match->buffer, tm->msg.length);
	}
	/*
	 * Rendezvous: the data is read later. If the buffer is too small, it gets the headers, by
	 * which the process can read the data itself.
	 */
	tm->msg.length = 0;
	if (room < match->length) {
		match->kind = NIC_TM_INCOMPLETE;
		tm->msg.length = nic_tm_header_bytes(&match->buffer);
	}
	return nic_fetch_tagged(d, &match->buffer, tm->msg.length);
}

/* The queue as it is for ordinary receives; sets d->ring. false: its ring is invalid. */
static bool nic_find_plain(struct nic_delivery *d, struct nic_rq *plain)
{
	*plain = *d->rq;
	plain->shift = (u8)(plain->shift & ~NIC_RQ_TM);
	d->ring = nic_rq_ring(d->nic, plain);
	return d->ring;
}

/*
 * Setting drop_unexpected: as in EMP, an unexpected message is refused, and sent again. The
 * sender's QP takes it for a missing receive (RNR), so its own retry limits apply.
 */
static bool nic_drops_unexpected(const struct nic_delivery *d, const struct nic_tm_match *match)
{
	return match->kind == NIC_TM_UNEXPECTED && nic_load(&d->nic->hdr->settings.drop_unexpected);
}

/* Prepare the delivery to an ordinary receive, which is available. */
static enum vnet_wc_status nic_take_plain(struct nic_delivery *d, struct nic_tm_message *tm,
					  struct nic_rq *plain)
{
	bool has_data = tm->msg.wc_opcode == VNET_WC_RECV;
	enum vnet_wc_status status;

	d->take = d->rq;
	d->rq->lossy = 0;
	d->rq = plain;
	status = nic_fetch_receive(d, has_data ? tm->msg.length : 0);
	d->rq = d->take;
	if (has_data)
		tm->msg.wc_opcode = tm->match.kind == NIC_TM_PLAIN ? VNET_WC_TM_NO_TAG :
								     VNET_WC_TM_RECV;
	return status ? status : tm->msg.broken;
}

/* The last packet of a message, or one that failed: complete the first packet's match. */
static enum vnet_wc_status nic_take_opened(struct nic_delivery *d, struct nic_tm_message *tm)
{
	struct nic_tm_match *match = &tm->match;

	nic_tm_reopen(tm->msg.opened, match);
	d->take = NULL;
	d->ndst = 0;
	d->wqe.wr_id = match->buffer.wr_id;
	tm->msg.wc_opcode = match->kind == NIC_TM_PLAIN ? VNET_WC_TM_NO_TAG : VNET_WC_TM_RECV;
	if (match->kind < NIC_TM_EAGER)
		return tm->msg.broken;
	tm->msg.wc_flags |= VNET_WC_TM_MATCH | VNET_WC_TM_DATA_VALID;
	if (match->kind == NIC_TM_EAGER)
		tm->msg.length -= NIC_TMH_SIZE;
	else
		tm->msg.length =
			match->kind == NIC_TM_INCOMPLETE ? nic_tm_header_bytes(&match->buffer) : 0;
	return tm->msg.broken;
}

u32 nic_match(struct nic_delivery *d, struct nic_tm_message *tm, struct nic_rq *plain)
{
	u32 status =
		nic_tm_lookup(d->nic, d->qp, (const struct nic_srq *)d->rq, &tm->msg, &tm->match);

	if (unlikely(status == NIC_EXEC_PAGES))
		return nic_no_pages(d, NIC_COPY_SRC_LATER);
	if (status) {
		nic_delivery_unlock(d);
		return status;
	}
	if (tm->match.kind >= NIC_TM_EAGER)
		return VNET_WC_SUCCESS;
	if (!nic_find_plain(d, plain)) {
		nic_delivery_unlock(d);
		return nic_lock_wait(d->nic, d->qp, d->msg);
	}
	d->available = nic_rq_available(d->nic, d->rq, d->ring);
	if (!d->available || nic_drops_unexpected(d, &tm->match))
		return nic_no_receive(d);
	return VNET_WC_SUCCESS;
}

enum vnet_wc_status nic_take_match(struct nic_delivery *d, struct nic_tm_message *tm,
				   struct nic_rq *plain, struct nic_piece *src)
{
	enum vnet_wc_status status;

	if (tm->match.kind < NIC_TM_EAGER)
		return nic_take_plain(d, tm, plain);
	status = nic_take_tagged(d, tm, src);
	if (likely(!status))
		status = tm->msg.broken;
	/* Its data is not read. */
	if (status && tm->match.kind == NIC_TM_RENDEZVOUS)
		tm->match.kind = NIC_TM_INCOMPLETE;
	return status;
}

/* The SRQ's lock keeps the order of messages of all its QPs. */
u32 nic_deliver_tm(struct nic_delivery *d)
{
	const struct nic_srq *srq = (const struct nic_srq *)d->rq;
	const struct nic_message *whole = d->msg;
	struct nic_piece src[VNET_MAX_SGE + 2] NIC_SCRATCH;
	enum vnet_wc_status at_receiver;
	struct nic_tm_message tm;
	struct nic_rq plain;
	u32 status;

	tm.msg = *whole;
	tm.msg.wc_flags &= (u8)~VNET_WC_IMM64;
	d->available = 0;
	status = whole->opened ? VNET_WC_SUCCESS : nic_match(d, &tm, &plain);
	if (status)
		return status;
	/* Restored before this function returns. */
	/* cppcheck-suppress autoVariables */
	d->msg = &tm.msg;
	at_receiver = whole->opened ? nic_take_opened(d, &tm) : nic_take_match(d, &tm, &plain, src);
	d->tagged = tm.match.kind >= NIC_TM_EAGER && !whole->opened ? nic_tm_buffer_id(&tm.match) :
								      0;
	/* The peer's send queue is full of rendezvous: treated like a missing receive. */
	if (!nic_tm_record(d->nic, d->qp, d->peer, srq, &tm.match)) {
		d->msg = whole;
		if (nic_find_plain(d, &plain))
			return nic_no_receive(d);
		nic_delivery_unlock(d);
		return nic_lock_wait(d->nic, d->qp, whole);
	}
	/* Last, because it cannot be done twice. */
	if (unlikely(whole->invalidate && !at_receiver)) {
		if (!nic_close_key(d, &at_receiver)) {
			d->msg = whole;
			nic_store(&d->qp->op_tm, 0);
			nic_delivery_unlock(d);
			return nic_lock_wait(d->nic, d->qp, whole);
		}
		if (at_receiver && tm.match.kind == NIC_TM_RENDEZVOUS) {
			tm.match.kind = NIC_TM_INCOMPLETE;
			(void)nic_tm_record(d->nic, d->qp, d->peer, srq, &tm.match);
		}
	}
	status = nic_place(d, at_receiver);
	d->msg = whole;
	/* If the message was committed, nic_tm_apply() has done this. */
	nic_store(&d->qp->op_tm, 0);
	return status;
}
