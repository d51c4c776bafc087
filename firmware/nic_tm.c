// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Tag matching: a shared receive queue whose messages go to the first tagged buffer
 * that fits, in the order in which those were posted, or else to an ordinary receive.
 * What a large message announces is fetched by requests that the NIC itself posts to
 * the send queue of the queue pair that it came by.
 *
 * The list of tags is a copy of what each tag says of itself, so that whoever dies
 * while changing it leaves something to make it anew from.
 */
#include "nic_tm.h"

#include "nic_request.h"

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
	/* Nothing of the others, but there is something. */
	TM_ANY = 1 << 3,
};

/* Requests of a rendezvous: the read, and what tells the sender of its end. */
#define TM_RENDEZVOUS_REQUESTS 2

static u32 nic_be32(const u8 *p)
{
	return (u32)p[0] << 24 | (u32)p[1] << 16 | (u32)p[2] << 8 | p[3];
}

static u64 nic_be64(const u8 *p)
{
	return (u64)nic_be32(p) << 32 | nic_be32(p + 4);
}

struct nic_tm *nic_tm_of(struct nic *nic, const struct nic_srq *srq)
{
	u64 offset = nic_load(&srq->tm);
	const struct nic_tm *tm = plat_queue(nic, offset, sizeof(*tm));
	u32 max = tm ? nic_load(&tm->max) : 0;

	if (!max || max > NIC_TM_MAX_TAGS)
		return NULL;
	return plat_queue(nic, offset, sizeof(*tm) + (u64)max * sizeof(struct nic_tag));
}

bool nic_tm_make(struct nic *nic, const struct nic_srq_params *p)
{
	u64 size = sizeof(struct nic_tm) + (u64)p->tm_tags * sizeof(struct nic_tag);
	struct nic_tm *tm;

	if (!p->tm_tags || p->tm_tags > NIC_TM_MAX_TAGS ||
	    !nic_ring_check(nic, p->tm_ops, p->tm_ops_entries, VNET_TM_OP_SHIFT))
		return false;
	tm = plat_queue(nic, p->tm, size);
	if (!tm)
		return false;
	tm->ops = p->tm_ops;
	tm->ops_mask = p->tm_ops_entries - 1;
	tm->max = p->tm_tags;
	tm->head = NIC_NONE;
	tm->tail = NIC_NONE;
	return true;
}

/* ---------------------------------------------------------------- the list */

static struct nic_tag *nic_tag_at(struct nic_tm *tm, u32 index)
{
	/* What stands in NIC memory may be anything. */
	return index < tm->max && index < NIC_TM_MAX_TAGS ? &tm->tag[index] : NULL;
}

/* The one after it; so many times, however the links go around. */
static struct nic_tag *nic_tag_next(struct nic_tm *tm, const struct nic_tag *tag, u32 *n)
{
	return ++*n < tm->max ? nic_tag_at(tm, tag->next) : NULL;
}

static void nic_tag_append(struct nic_tm *tm, u32 index)
{
	struct nic_tag *tail = nic_tag_at(tm, tm->tail);

	tm->tag[index].next = NIC_NONE;
	if (tail)
		tail->next = index;
	else
		tm->head = index;
	tm->tail = index;
	tm->used++;
}

/* prev: before it in the list, or NULL. */
static void nic_tag_unlink(struct nic_tm *tm, struct nic_tag *prev, struct nic_tag *tag)
{
	if (prev)
		prev->next = tag->next;
	else
		tm->head = tag->next;
	if (!nic_tag_at(tm, tag->next))
		tm->tail = prev ? (u32)(prev - tm->tag) : NIC_NONE;
	tm->used--;
	nic_store_release(&tag->state, NIC_TAG_FREE);
}

static void nic_tag_take(struct nic_tm *tm, u32 index)
{
	struct nic_tag *tag, *prev = NULL;
	u32 n = 0;

	for (tag = nic_tag_at(tm, tm->head); tag; tag = nic_tag_next(tm, tag, &n)) {
		if (tag == &tm->tag[index]) {
			nic_tag_unlink(tm, prev, tag);
			return;
		}
		prev = tag;
	}
}

/* How many tags are in the list, for who posts them. */
static void nic_tm_tell(struct nic *nic, const struct nic_tm *tm)
{
	struct vnet_ring *ring = plat_queue(nic, tm->ops, VNET_RING_HDR_SIZE);

	if (ring)
		nic_store_release(&ring->used, tm->used);
}

void nic_tm_rebuild(struct nic *nic, struct nic_srq *srq)
{
	struct nic_tm *tm = nic_tm_of(nic, srq);
	u64 after = 0, least;
	u32 i, next;

	if (!tm)
		return;
	tm->head = NIC_NONE;
	tm->tail = NIC_NONE;
	tm->used = 0;
	for (;;) {
		least = ~0ull;
		next = NIC_NONE;
		for (i = 0; i < tm->max && i < NIC_TM_MAX_TAGS; i++) {
			const struct nic_tag *tag = &tm->tag[i];

			if (tag->state == NIC_TAG_FREE || tag->seq <= after || tag->seq >= least)
				continue;
			least = tag->seq;
			next = i;
		}
		if (next == NIC_NONE)
			break;
		nic_tag_append(tm, next);
		after = least;
	}
	nic_tm_tell(nic, tm);
}

/* ---------------------------------------------------------------- matching */

static bool nic_tm_find(struct nic_tm *tm, struct nic_tm_match *match)
{
	const struct nic_tag *tag;
	u32 n = 0;

	for (tag = nic_tag_at(tm, tm->head); tag; tag = nic_tag_next(tm, tag, &n)) {
		if (tag->state != NIC_TAG_ACTIVE || (match->tag & tag->mask) != tag->tag)
			continue;
		match->index = (u32)(tag - tm->tag);
		memcpy(&match->buffer, tag, offsetof(struct nic_tag, sge));
		if (match->buffer.num_sge > VNET_TM_MAX_SGE)
			return false;
		memcpy(match->buffer.sge, tag->sge, match->buffer.num_sge * sizeof(tag->sge[0]));
		return true;
	}
	return false;
}

static void nic_tm_parse(struct nic_tm_match *match)
{
	const u8 *h = match->headers;

	match->priv = nic_be32(h + 4);
	match->tag = nic_be64(h + 8);
	match->va = nic_be64(h + NIC_TMH_SIZE);
	match->rkey = nic_be32(h + NIC_TMH_SIZE + 8);
	match->length = nic_be32(h + NIC_TMH_SIZE + 12);
}

u32 nic_tm_judge(struct nic *nic, struct nic_srq *srq, const struct nic_message *msg,
		 struct nic_tm_match *match)
{
	struct nic_piece here = { .addr = (u64)(unsigned long)match->headers,
				  .length = NIC_TM_HEADERS,
				  .space = NIC_SPACE_POINTER };
	u64 length = msg->length < NIC_TM_HEADERS ? msg->length : NIC_TM_HEADERS;
	struct nic_tm *tm = nic_tm_of(nic, srq);
	u8 opcode;

	match->kind = NIC_TM_PLAIN;
	if (msg->wc_opcode != VNET_WC_RECV || length < NIC_TMH_SIZE || !tm)
		return VNET_WC_SUCCESS;
	if (plat_copy(nic, &here, 1, msg->src, msg->nsrc, length) != NIC_COPY_OK)
		return VNET_WC_LOC_PROT_ERR;
	opcode = match->headers[0];
	if (opcode != TMH_EAGER && (opcode != TMH_RNDV || length < NIC_TM_HEADERS))
		return VNET_WC_SUCCESS;
	nic_tm_parse(match);
	match->kind = NIC_TM_UNEXPECTED;
	if (nic_tm_find(tm, match))
		match->kind = opcode == TMH_EAGER ? NIC_TM_EAGER : NIC_TM_RENDEZVOUS;
	return VNET_WC_SUCCESS;
}

void nic_tm_fill_info(const struct nic_tm_match *match, struct vnet_cqe *slot)
{
	memcpy(slot->payload + VNET_CQE_TM_INFO, &match->tag, sizeof(match->tag));
	memcpy(slot->payload + VNET_CQE_TM_INFO + sizeof(match->tag), &match->priv,
	       sizeof(match->priv));
}

/* -------------------------------------------------------------- rendezvous */

/* Of the buffer, as much as is to be read. */
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
	/* The sender hears of its request's end before it hears of the data's. */
	wqe.rdma.compare_add = !executor->op_arrival;
	wqe.rdma.swap = nic_load(&executor->sq_cons);
	memcpy(slot, &wqe, sizeof(wqe));
	memcpy(slot + sizeof(wqe), sges, wqe.num_sge * sizeof(sges[0]));
}

/* The headers as they came, but that they tell of the end. */
static void nic_tm_write_fin(const struct nic_tm_match *match, u8 *slot)
{
	struct vnet_send_wqe wqe = { .wr_id = match->buffer.wr_id,
				     .opcode = VNET_WR_SEND,
				     .flags = VNET_WR_INLINE,
				     .inline_len = NIC_TM_HEADERS };

	memcpy(slot, &wqe, sizeof(wqe));
	memcpy(slot + sizeof(wqe), match->headers, NIC_TM_HEADERS);
	slot[sizeof(wqe)] = TMH_FIN;
}

/* Write them behind what is posted; *prod is what publishes them. */
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

bool nic_tm_intend(struct nic *nic, struct nic_qp *executor, struct nic_qp *peer,
		   const struct nic_srq *srq, const struct nic_tm_match *match)
{
	const struct nic_tm *tm = nic_tm_of(nic, srq);
	u32 what = TM_ANY;

	if (match->kind == NIC_TM_RENDEZVOUS) {
		if (!nic_tm_post(nic, executor, peer, match, &executor->op_tm_prod))
			return false;
		executor->op_tm_qpn = peer->qpn;
		what |= TM_POSTS;
	}
	if (match->kind >= NIC_TM_EAGER)
		what |= TM_TAKES_TAG;
	executor->op_tm_tag = match->index;
	if (match->kind == NIC_TM_UNEXPECTED && tm) {
		executor->op_tm_unexpected = tm->unexpected + 1;
		what |= TM_COUNTS;
	}
	executor->op_tm_srqn = srq->rq.num;
	/* Believed only once the operation is committed. */
	nic_store_release(&executor->op_tm, what);
	return true;
}

void nic_tm_apply(struct nic *nic, struct nic_qp *executor)
{
	struct nic_srq *srq = nic_find_srq(nic, executor->op_tm_srqn);
	struct nic_tm *tm = srq ? nic_tm_of(nic, srq) : NULL;
	u32 what = executor->op_tm;
	struct vnet_ring *ring;
	struct nic_qp *qp;

	if (tm && what & TM_TAKES_TAG && nic_tag_at(tm, executor->op_tm_tag)) {
		nic_tag_take(tm, executor->op_tm_tag);
		nic_tm_tell(nic, tm);
	}
	if (tm && what & TM_COUNTS)
		tm->unexpected = executor->op_tm_unexpected;
	qp = what & TM_POSTS ? nic_find_qp(nic, executor->op_tm_qpn) : NULL;
	ring = qp ? nic_sq_ring(nic, qp) : NULL;
	if (ring) {
		nic_store_release(&ring->prod, executor->op_tm_prod);
		nic_follow(nic, qp);
	}
	nic_store_release(&executor->op_tm, 0);
}

/* --------------------------------------------------------------- operations */

static bool nic_tm_add(struct nic_tm *tm, const struct vnet_tm_op *op)
{
	u32 i, n, at = (u32)(tm->seq % tm->max);
	struct nic_tag *tag;

	if (op->num_sge > VNET_TM_MAX_SGE)
		return false;
	for (n = 0, i = at; n < tm->max; n++, i = i + 1 < tm->max ? i + 1 : 0) {
		tag = nic_tag_at(tm, i);
		if (!tag || tag->state != NIC_TAG_FREE)
			continue;
		tag->tag = op->tag;
		tag->mask = op->mask;
		tag->wr_id = op->recv_wr_id;
		tag->handle = op->handle;
		tag->seq = ++tm->seq;
		tag->num_sge = op->num_sge;
		memcpy(tag->sge, op->sge, op->num_sge * sizeof(tag->sge[0]));
		nic_store_release(&tag->state,
				  tm->handled == tm->unexpected ? NIC_TAG_ACTIVE : NIC_TAG_PARKED);
		nic_tag_append(tm, i);
		return true;
	}
	return false;
}

static bool nic_tm_del(struct nic_tm *tm, u32 handle)
{
	struct nic_tag *tag, *prev = NULL;
	u32 n = 0;

	for (tag = nic_tag_at(tm, tm->head); tag; tag = nic_tag_next(tm, tag, &n)) {
		if (tag->handle == handle) {
			nic_tag_unlink(tm, prev, tag);
			return true;
		}
		prev = tag;
	}
	return false;
}

/* The process has seen so many: from there on, what it posted matches. */
static void nic_tm_sync(struct nic_tm *tm, u32 handled)
{
	struct nic_tag *tag;
	u32 n = 0;

	tm->handled = handled;
	if (tm->handled != tm->unexpected)
		return;
	for (tag = nic_tag_at(tm, tm->head); tag; tag = nic_tag_next(tm, tag, &n)) {
		if (tag->state == NIC_TAG_PARKED)
			nic_store_release(&tag->state, NIC_TAG_ACTIVE);
	}
}

static void nic_tm_do(struct nic_tm *tm, const struct vnet_tm_op *op, struct nic_completion *wc)
{
	bool done = true;

	if (op->opcode == VNET_TM_OP_SYNC || op->flags & VNET_TM_OP_SYNCS)
		nic_tm_sync(tm, op->unexpected);
	switch (op->opcode) {
	case VNET_TM_OP_ADD:
		wc->opcode = VNET_WC_TM_ADD;
		done = nic_tm_add(tm, op);
		break;
	case VNET_TM_OP_DEL:
		wc->opcode = VNET_WC_TM_DEL;
		done = nic_tm_del(tm, op->handle);
		break;
	default:
		wc->opcode = VNET_WC_TM_SYNC;
		done = op->opcode == VNET_TM_OP_SYNC;
		break;
	}
	wc->wr_id = op->wr_id;
	wc->status = done ? VNET_WC_SUCCESS : VNET_WC_TM_ERR;
	if (tm->handled != tm->unexpected)
		wc->flags = VNET_WC_TM_SYNC_REQ;
}

/*
 * The oldest operation, with the SRQ's lock. Only what completes needs the lock of the
 * completion queue, which senders want; false: it cannot be had.
 */
static bool nic_tm_step(struct nic *nic, struct nic_tm *tm, struct vnet_ring *ring,
			struct nic_cq *cq)
{
	const u8 *slots = (const u8 *)(ring + 1);
	struct nic_completion wc = { .status = VNET_WC_SUCCESS };
	struct vnet_cqe *slot;
	struct vnet_tm_op op;

	memcpy(&op, slots + ((u64)(tm->ops_cons & tm->ops_mask) << VNET_TM_OP_SHIFT), sizeof(op));
	nic_read_once_barrier();
	if (op.flags & VNET_TM_OP_SIGNALED && !nic_lock(nic, &cq->lock))
		return false;
	nic_tm_do(tm, &op, &wc);
	/* What fails has changed nothing, and can be tried again. */
	if (wc.status && !(op.flags & VNET_TM_OP_SIGNALED) && !nic_lock(nic, &cq->lock))
		return false;
	nic_store(&tm->ops_cons, tm->ops_cons + 1);
	nic_tm_tell(nic, tm);
	nic_store_release(&ring->cons, tm->ops_cons);
	if (!wc.status && !(op.flags & VNET_TM_OP_SIGNALED))
		return true;
	slot = nic_cq_slot(nic, cq);
	if (slot) {
		nic_complete_alone(nic, cq, slot, &wc);
		tm->notify = 1;
	}
	nic_unlock(&cq->lock);
	return true;
}

static void nic_tm_run(struct nic *nic, struct nic_srq *srq, struct nic_cq *cq)
{
	struct nic_tm *tm = nic_tm_of(nic, srq);
	struct vnet_ring *ring;
	u32 waiting;

	ring = tm ? nic_ring_check(nic, tm->ops, tm->ops_mask + 1, VNET_TM_OP_SHIFT) : NULL;
	if (!ring)
		return;
	/* Pairs with the release of prod by the process that wrote the entry. */
	waiting = nic_load_acquire(&ring->prod) - tm->ops_cons;
	for (; waiting && waiting <= tm->ops_mask + 1; waiting--) {
		if (!nic_tm_step(nic, tm, ring, cq))
			break;
	}
	if (tm->notify && nic_cq_notify(nic, cq, false))
		tm->notify = 0;
	/* An event that is owed still: the process comes again. */
	if (nic_load(&ring->need_doorbell) != tm->notify)
		nic_store(&ring->need_doorbell, tm->notify);
}

void nic_tm_doorbell(struct nic *nic, u32 srqn)
{
	struct nic_srq *srq = nic_find_srq(nic, srqn);
	struct nic_cq *cq;

	/* Only its own process: who dies here takes nobody else's entries along. */
	if (!srq || !nic_load(&srq->tm) ||
	    (nic->space != NIC_SPACE_POINTER && srq->rq.space != nic->space))
		return;
	/* Locked by a sender: the next doorbell or empty poll finds it. */
	if (!nic_lock(nic, &srq->rq.lock))
		return;
	cq = nic_find_cq(nic, srq->cqn);
	if (cq && srq->rq.num == srqn)
		nic_tm_run(nic, srq, cq);
	nic_unlock_release(&srq->rq.lock);
}
