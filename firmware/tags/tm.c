// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Tag matching: headers, rendezvous, and the intents of a matched message.
 *
 * A message goes to the first tagged buffer that matches, in posting order, else to an ordinary
 * receive. For a rendezvous, the NIC posts requests of its own to the send queue of the QP by which
 * the announcement arrived. tags/list.c has the list of tags.
 */
#include "layout/lookup.h"
#include "layout/ring.h"
#include "layout/message.h"
#include "pending/pending.h"
#include "protection/protection.h"
#include "completion/completion.h"
#include "tags/tags.h"

/* enum ibv_tmh_op */
enum {
	TMH_NO_TAG = 0,
	TMH_RNDV = 1,
	TMH_FIN = 2,
	TMH_EAGER = 3,
};

/* Bits of nic_qp.op_tm. */
enum {
	TM_TAKES_TAG = 1 << 0,
	TM_COUNTS = 1 << 1,
	TM_POSTS = 1 << 2,
	/* Always set, so that op_tm is not 0. */
	TM_ANY = 1 << 3,
};

/* Requests of a rendezvous: the read, and the message (FIN) that tells the sender of its end. */
#define TM_RENDEZVOUS_REQUESTS 2

static u32 nic_be32(const u8 *p)
{
	return (u32)p[0] << 24 | (u32)p[1] << 16 | (u32)p[2] << 8 | p[3];
}

static u64 nic_be64(const u8 *p)
{
	return (u64)nic_be32(p) << 32 | nic_be32(p + 4);
}

static void nic_tm_parse(struct nic_tm_match *match)
{
	const u8 *h = match->headers;

	match->priv = nic_be32(h + 4);
	match->tag = nic_be64(h + 8);
	if (h[0] != TMH_RNDV)
		return;
	match->va = nic_be64(h + NIC_TMH_SIZE);
	match->rkey = nic_be32(h + NIC_TMH_SIZE + 8);
	match->length = nic_be32(h + NIC_TMH_SIZE + 12);
}

/* Number of bytes of the message in its pieces: of the whole message, or of its first packet. */
static u64 nic_tm_local_bytes(const struct nic_message *msg)
{
	return msg->arrival && msg->length > msg->src[0].length ? msg->src[0].length : msg->length;
}

/* Copy the headers that the message has; returns a status, or NIC_EXEC_PAGES. */
static u32 nic_tm_read_headers(struct nic *nic, struct nic_qp *executor,
			       const struct nic_message *msg, u64 length, u8 *headers)
{
	enum nic_copy_result result;
	struct nic_piece here = { .addr = (u64)(unsigned long)headers,
				  .length = NIC_TM_HEADERS,
				  .space = NIC_SPACE_POINTER };
	const u8 *src = (const u8 *)(unsigned long)msg->src[0].addr;
	bool both = length >= NIC_TM_HEADERS;

	if (unlikely(msg->nsrc != 1 || msg->src[0].space != NIC_SPACE_POINTER)) {
		result = nic_copy(nic, nic_page_waiter(executor, NIC_REQUESTS, executor->sq_cons),
				  &here, 1, msg->src, msg->nsrc,
				  both ? NIC_TM_HEADERS : NIC_TMH_SIZE);
		if (unlikely(nic_is_later(result)))
			return NIC_EXEC_PAGES;
		return result == NIC_COPY_OK ? VNET_WC_SUCCESS : VNET_WC_LOC_PROT_ERR;
	}
	memcpy(headers, src, NIC_TMH_SIZE);
	if (both)
		memcpy(headers + NIC_TMH_SIZE, src + NIC_TMH_SIZE, NIC_RVH_SIZE);
	nic_read_once_barrier();
	return VNET_WC_SUCCESS;
}

u32 nic_tm_lookup(struct nic *nic, struct nic_qp *executor, const struct nic_srq *srq,
		  const struct nic_message *msg, struct nic_tm_match *match)
{
	u64 here = nic_tm_local_bytes(msg);
	u32 status;
	u8 opcode;

	match->kind = NIC_TM_PLAIN;
	match->index = NIC_NONE;
	match->opened = false;
	if (msg->wc_opcode != VNET_WC_RECV || here < NIC_TMH_SIZE ||
	    !nic_tm_open(nic, srq, &match->list))
		return VNET_WC_SUCCESS;
	status = nic_tm_read_headers(nic, executor, msg, here, match->headers);
	if (status)
		return status;
	opcode = match->headers[0];
	if (opcode != TMH_EAGER && (opcode != TMH_RNDV || here < NIC_TM_HEADERS))
		return VNET_WC_SUCCESS;
	nic_tm_parse(match);
	match->kind = NIC_TM_UNEXPECTED;
	if (nic_tm_find(&match->list, match))
		match->kind = opcode == TMH_EAGER ? NIC_TM_EAGER : NIC_TM_RENDEZVOUS;
	return VNET_WC_SUCCESS;
}

void nic_tm_fill_info(const struct nic_tm_match *match, u32 byte_len, struct vnet_cqe *slot)
{
	u8 *info = slot->payload + vnet_cqe_tm_info(byte_len);

	memcpy(info, &match->tag, sizeof(match->tag));
	memcpy(info + sizeof(match->tag), &match->priv, sizeof(match->priv));
}

void nic_tm_fill_ended(const struct nic_tm_match *match, struct nic_completion *wc)
{
	const struct nic_tm *tm = match->list.tm;

	/* For a message in pieces, the tag ended with the first packet. */
	if (match->opened)
		return;
	wc->ended = &match->list.ring->ended;
	wc->ended_with = tm->added - tm->used + 1;
}

/* -------------------------------------------------------------- rendezvous */

/* SGEs for the bytes that are to be read. */
static u8 nic_tm_scatter(const struct nic_tm_match *match, struct vnet_sge *sges)
{
	u32 i, need = match->length;
	u8 n = 0;

	for (i = 0; i < match->buffer.num_sge && need; i++) {
		sges[n] = match->buffer.sge[i];
		if (sges[n].length > need)
			sges[n].length = need;
		need -= sges[n].length;
		n++;
	}
	return n;
}

static void nic_tm_write_read(const struct nic_tm_match *match, const struct nic_qp *executor,
			      u8 *slot)
{
	struct vnet_send_wqe wqe = { .wr_id = match->buffer.wr_id,
				     .opcode = VNET_WR_RDMA_READ,
				     .flags = VNET_WR_TM };
	struct vnet_sge sges[VNET_TM_MAX_SGE];

	wqe.num_sge = nic_tm_scatter(match, sges);
	wqe.rdma.remote_addr = match->va;
	wqe.rdma.rkey = match->rkey;
	/* The announcement must be completed before its data is read: nic_is_too_early(). */
	wqe.rdma.compare_add = !executor->op_arrival;
	wqe.rdma.swap = nic_load(&executor->sq_cons);
	memcpy(slot, &wqe, sizeof(wqe));
	memcpy(slot + sizeof(wqe), sges, wqe.num_sge * sizeof(sges[0]));
}

/*
 * The FIN message: the headers of the announcement, with the opcode changed. It is fenced, because
 * a read whose data was lost is executed again, and the sender may have reused the memory by then.
 */
static void nic_tm_write_fin(const struct nic_tm_match *match, u8 *slot)
{
	struct vnet_send_wqe wqe = { .wr_id = match->buffer.wr_id,
				     .opcode = VNET_WR_SEND,
				     .flags = VNET_WR_INLINE | VNET_WR_FENCE,
				     .inline_len = NIC_TM_HEADERS };

	memcpy(slot, &wqe, sizeof(wqe));
	memcpy(slot + sizeof(wqe), match->headers, NIC_TM_HEADERS);
	slot[sizeof(wqe)] = TMH_FIN;
}

/* Write the requests of a rendezvous behind those that are posted; *prod publishes them. */
static bool nic_tm_post(struct nic *nic, struct nic_qp *executor, struct nic_qp *qp,
			const struct nic_tm_match *match, u32 *prod)
{
	struct vnet_ring *ring = nic_sq_ring(nic, qp);
	u8 *slots;
	u32 at;

	if (!ring || !nic_slot_holds(qp->sq_shift, VNET_WQE_HDR_SIZE, VNET_TM_MAX_SGE * 16))
		return false;
	slots = (u8 *)(ring + 1);
	at = nic_load(&ring->prod);
	if (at - nic_load(&qp->sq_cons) > qp->sq_mask + 1 - TM_RENDEZVOUS_REQUESTS)
		return false;
	nic_tm_write_read(match, executor, slots + ((u64)(at & qp->sq_mask) << qp->sq_shift));
	nic_tm_write_fin(match, slots + ((u64)((at + 1) & qp->sq_mask) << qp->sq_shift));
	*prod = at + TM_RENDEZVOUS_REQUESTS;
	return true;
}

/* ------------------------------------------------------------------ intents */

bool nic_tm_record(struct nic *nic, struct nic_qp *executor, struct nic_qp *peer,
		   const struct nic_srq *srq, const struct nic_tm_match *match)
{
	u32 what = TM_ANY;

	if (match->kind == NIC_TM_RENDEZVOUS) {
		if (!nic_tm_post(nic, executor, peer, match, &executor->op_tm_prod))
			return false;
		executor->op_tm_qpn = peer->qpn;
		what |= TM_POSTS;
	}
	if (match->kind >= NIC_TM_EAGER && !match->opened)
		what |= TM_TAKES_TAG;
	executor->op_tm_tag = match->index;
	if (match->kind == NIC_TM_UNEXPECTED && !match->opened) {
		executor->op_tm_unexpected = match->list.tm->unexpected + 1;
		what |= TM_COUNTS;
	}
	executor->op_tm_srqn = srq->rq.num;
	/* Valid only when the operation is committed. */
	nic_store_release(&executor->op_tm, what);
	return true;
}

void nic_tm_apply(struct nic *nic, struct nic_qp *executor)
{
	struct nic_srq *srq = nic_find_srq(nic, executor->op_tm_srqn);
	u32 what = executor->op_tm;
	struct vnet_ring *ring;
	struct nic_tm_list l;
	struct nic_qp *qp;

	if (srq && nic_tm_open(nic, srq, &l)) {
		if (what & TM_TAKES_TAG)
			nic_tm_take(&l, executor->op_tm_tag);
		if (what & TM_COUNTS) {
			l.tm->unexpected = executor->op_tm_unexpected;
			/* Recovery or a lost message may have lowered the count. */
			nic_tm_activate(&l);
		}
	}
	qp = what & TM_POSTS ? nic_find_qp(nic, executor->op_tm_qpn) : NULL;
	ring = qp ? nic_sq_ring(nic, qp) : NULL;
	if (ring) {
		nic_store_release(&ring->prod, executor->op_tm_prod);
		nic_pend_next(nic, qp);
	}
	nic_store_release(&executor->op_tm, 0);
}

/* ------------------------------------------------------- messages in pieces */

static_assert(sizeof(((struct nic_open_receive *)0)->tm_headers) == NIC_TM_HEADERS, "headers");

u64 nic_tm_buffer_size(const struct nic_tm_buffer *buffer)
{
	u64 room = 0;
	u32 i;

	for (i = 0; i < buffer->num_sge; i++)
		room += buffer->sge[i].length;
	return room;
}

u64 nic_tm_header_bytes(const struct nic_tm_buffer *buffer)
{
	u64 room = nic_tm_buffer_size(buffer);

	return room < NIC_TM_HEADERS ? room : NIC_TM_HEADERS;
}

void nic_tm_save(const struct nic_tm_match *match, struct nic_open_receive *open)
{
	const struct nic_tm_buffer *buffer = &match->buffer;

	open->tm_kind = match->kind;
	memcpy(open->tm_headers, match->headers, NIC_TM_HEADERS);
	if (match->kind == NIC_TM_UNEXPECTED)
		open->tm_count = match->list.tm->unexpected + 1;
	if (match->kind < NIC_TM_EAGER)
		return;
	open->tm_count = match->list.tm->tag[match->index].added;
	open->index = match->index;
	open->wr_id = buffer->wr_id;
	open->num_sge = (u16)buffer->num_sge;
	memcpy(open->sge, buffer->sge, sizeof(buffer->sge));
}

void nic_tm_take_saved(const struct nic_tm_match *match, const struct nic_open_receive *open)
{
	if (match->kind >= NIC_TM_EAGER)
		nic_tm_take(&match->list, match->index);
	else if (match->kind == NIC_TM_UNEXPECTED)
		match->list.tm->unexpected = open->tm_count;
}

void nic_tm_reopen(const struct nic_open_receive *open, struct nic_tm_match *match)
{
	u32 n = open->num_sge;

	match->kind = (u8)open->tm_kind;
	match->opened = true;
	match->index = NIC_NONE;
	match->buffer.wr_id = open->wr_id;
	match->buffer.num_sge = n < VNET_TM_MAX_SGE ? n : VNET_TM_MAX_SGE;
	memcpy(match->buffer.sge, open->sge, sizeof(match->buffer.sge));
	memcpy(match->headers, open->tm_headers, NIC_TM_HEADERS);
	nic_tm_parse(match);
}

void nic_tm_clip(const struct nic_open_receive *open, u64 *offset, struct nic_piece *piece)
{
	struct nic_tm_match match;
	u64 skip, keep = 0;

	if (open->tm_kind == NIC_TM_EAGER) {
		skip = *offset < NIC_TMH_SIZE ? NIC_TMH_SIZE - *offset : 0;
		if (skip > piece->length)
			skip = piece->length;
		piece->addr += skip;
		piece->length -= skip;
		*offset += skip - NIC_TMH_SIZE;
		return;
	}
	/*
	 * The announcement itself is not stored, except in a buffer that is too small for its data.
	 */
	if (open->tm_kind == NIC_TM_INCOMPLETE) {
		nic_tm_reopen(open, &match);
		keep = nic_tm_header_bytes(&match.buffer);
	}
	keep = keep > *offset ? keep - *offset : 0;
	if (piece->length > keep)
		piece->length = keep;
}

void nic_tm_record_loss(struct nic *nic, struct nic_qp *executor, const struct nic_srq *srq,
			const struct nic_open_receive *open)
{
	struct nic_tm_list l;

	if (open->tm_kind != NIC_TM_UNEXPECTED || !nic_tm_open(nic, srq, &l))
		return;
	executor->op_tm_unexpected = l.tm->unexpected - 1;
	executor->op_tm_srqn = srq->rq.num;
	nic_store_release(&executor->op_tm, TM_ANY | TM_COUNTS);
}

void nic_tm_abandon(struct nic *nic, struct nic_qp *qp, struct nic_open_receive *open)
{
	const struct nic_srq *srq = nic_srq_of(nic, qp, open->srqn);
	struct nic_tm_list l;

	if (unlikely(open->open && open->tm_kind == NIC_TM_UNEXPECTED && srq &&
		     nic_tm_open(nic, srq, &l))) {
		l.tm->unexpected--;
		nic_tm_activate(&l);
	}
	open->open = 0;
}
