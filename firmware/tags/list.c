// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The list of tags of a shared receive queue, and the operations that change it.
 *
 * A process adds tags by writing them to a ring. The thread that delivers a message takes them from
 * the ring when none of the earlier tags matches, so the list and its lock stay in the cache of the
 * delivering processor. Operations with a completion, and those that fail, are executed by the
 * process itself: if it dies while it writes the CQE, the CQ is its own.
 *
 * The list is derived from the tags, so that recovery can rebuild it. An operation counts as taken
 * from the ring when a tag records it.
 */
#include "layout/lookup.h"
#include "layout/ring.h"
#include "completion/completion.h"
#include "tags/tags.h"

/* ---------------------------------------------------------------- the memory */

bool nic_tm_open(struct nic *nic, const struct nic_srq *srq, struct nic_tm_list *l)
{
	/* Read once each: NIC memory may be corrupted. */
	u32 tags = nic_load(&srq->tm_tags), mask;

	if (!tags || tags > NIC_TM_MAX_TAGS)
		return false;
	l->tags = tags;
	l->tm = plat_queue(nic, nic_load(&srq->tm),
			   sizeof(struct nic_tm) + tags * sizeof(struct nic_tag));
	if (!l->tm)
		return false;
	mask = nic_load(&l->tm->ops_mask);
	if (mask >= NIC_TM_MAX_OPS)
		return false;
	l->mask = mask;
	l->ring = plat_queue(nic, nic_load(&l->tm->ops),
			     VNET_RING_HDR_SIZE + ((mask + 1) << VNET_TM_OP_SHIFT));
	return l->ring;
}

bool nic_tm_make(struct nic *nic, const struct nic_srq_params *p)
{
	u64 size = sizeof(struct nic_tm) + (u64)p->tm_tags * sizeof(struct nic_tag);
	struct nic_tm *tm;

	if (!p->tm_tags || p->tm_tags > NIC_TM_MAX_TAGS || p->tm_ops_entries > NIC_TM_MAX_OPS ||
	    !nic_ring_check(nic, p->tm_ops, p->tm_ops_entries, VNET_TM_OP_SHIFT))
		return false;
	tm = plat_queue(nic, p->tm, size);
	if (!tm)
		return false;
	tm->ops = p->tm_ops;
	tm->ops_mask = p->tm_ops_entries - 1;
	tm->head = NIC_NONE;
	tm->tail = NIC_NONE;
	return true;
}

static const u8 *nic_tm_slot(const struct nic_tm_list *l, u64 index)
{
	return (const u8 *)(l->ring + 1) + ((index & l->mask) << VNET_TM_OP_SHIFT);
}

/* ---------------------------------------------------------------- the list */

static struct nic_tag *nic_tag_at(const struct nic_tm_list *l, u32 index)
{
	return index < l->tags ? &l->tm->tag[index] : NULL;
}

/* Next tag in the list; the number of steps is bounded, even if the links are circular. */
static struct nic_tag *nic_tag_next(const struct nic_tm_list *l, const struct nic_tag *tag, u32 *n)
{
	return ++*n < l->tags ? nic_tag_at(l, nic_load(&tag->next)) : NULL;
}

static void nic_tag_append(const struct nic_tm_list *l, u32 index)
{
	struct nic_tm *tm = l->tm;
	struct nic_tag *tail = nic_tag_at(l, nic_load(&tm->tail));

	tm->tag[index].next = NIC_NONE;
	if (tail)
		tail->next = index;
	else
		tm->head = index;
	tm->tail = index;
	/* nic_tm_prefetch() reads this, and `taken`, without the lock. */
	nic_store(&tm->used, tm->used + 1);
}

/* prev: predecessor in the list, or NULL. */
static void nic_tag_unlink(const struct nic_tm_list *l, struct nic_tag *prev, struct nic_tag *tag)
{
	struct nic_tm *tm = l->tm;

	nic_store_release(&tag->state, NIC_TAG_FREE);
	plat_step(70);
	if (prev)
		prev->next = tag->next;
	else
		tm->head = tag->next;
	if (!nic_tag_at(l, tag->next))
		tm->tail = prev ? (u32)(prev - tm->tag) : NIC_NONE;
	nic_store(&tm->used, tm->used - 1);
}

/* Publish to the process how much of the ring and of the list it can use again. */
static void nic_tm_publish(const struct nic_tm_list *l)
{
	nic_store_release(&l->ring->ended, l->tm->added - l->tm->used);
	nic_store_release(&l->ring->cons, (u32)l->tm->taken);
}

void nic_tm_take(const struct nic_tm_list *l, u32 index)
{
	const struct nic_tag *taken = nic_tag_at(l, index);
	struct nic_tag *tag, *prev = NULL;
	u32 n = 0;

	for (tag = nic_tag_at(l, nic_load(&l->tm->head)); tag; tag = nic_tag_next(l, tag, &n)) {
		if (tag == taken) {
			nic_tag_unlink(l, prev, tag);
			nic_tm_publish(l);
			return;
		}
		prev = tag;
	}
}

void nic_tm_retake(struct nic *nic, const struct nic_srq *srq, u32 index, u32 added)
{
	struct nic_tm_list l;
	struct nic_tag *tag;

	if (!nic_tm_open(nic, srq, &l))
		return;
	tag = nic_tag_at(&l, index);
	/* nic_tm_rebuild() follows, and builds the list without it. */
	if (tag && tag->added == added)
		nic_store_release(&tag->state, NIC_TAG_FREE);
}

void nic_tm_activate(const struct nic_tm_list *l)
{
	struct nic_tag *tag;
	u32 n = 0;

	if (l->tm->handled != l->tm->unexpected)
		return;
	for (tag = nic_tag_at(l, nic_load(&l->tm->head)); tag; tag = nic_tag_next(l, tag, &n)) {
		if (tag->state == NIC_TAG_PARKED)
			nic_store_release(&tag->state, NIC_TAG_ACTIVE);
	}
}

/* The tag that was added next after `after`; NIC_NONE: none. */
static u32 nic_tag_find_after(const struct nic_tm_list *l, u64 after)
{
	u64 least = ~0ull;
	u32 i, first = NIC_NONE;

	for (i = 0; i < l->tags; i++) {
		const struct nic_tag *tag = &l->tm->tag[i];

		if (tag->state == NIC_TAG_FREE || tag->seq <= after || tag->seq >= least)
			continue;
		least = tag->seq;
		first = i;
	}
	return first;
}

void nic_tm_rebuild(struct nic *nic, struct nic_srq *srq)
{
	struct nic_tm_list l;
	struct nic_tm *tm;
	u64 last = 0;
	u32 i, n;

	if (!nic_tm_open(nic, srq, &l))
		return;
	tm = l.tm;
	tm->head = NIC_NONE;
	tm->tail = NIC_NONE;
	nic_store(&tm->used, 0);
	for (n = 0; n < l.tags; n++) {
		i = nic_tag_find_after(&l, last);
		if (i == NIC_NONE)
			break;
		nic_tag_append(&l, i);
		last = tm->tag[i].seq;
		if (last <= tm->taken)
			continue;
		/* The operation that added the tag was taken, too. */
		nic_store(&tm->taken, last);
		tm->added = tm->tag[i].added;
	}
	nic_tm_activate(&l);
	nic_tm_publish(&l);
}

/* --------------------------------------------------------------- operations */

/* Operations in the ring; 0 also if the producer index is invalid. */
static u32 nic_tm_waiting(const struct nic_tm_list *l)
{
	/* Pairs with the release of prod by the process that wrote the entry. */
	u32 n = nic_load_acquire(&l->ring->prod) - (u32)l->tm->taken;

	return n <= l->mask + 1 ? n : 0;
}

/* `to` has room for VNET_TM_MAX_SGE. Most buffers have one SGE, which is copied inline. */
static inline void nic_tm_copy_sges(struct vnet_sge *to, const struct vnet_sge *from, u32 n)
{
	memcpy(to, from, sizeof(*to));
	if (unlikely(n > 1))
		memcpy(to + 1, from + 1, (VNET_TM_MAX_SGE - 1) * sizeof(*to));
}

/* Copy the oldest operation once; most need only their first line. false: it is invalid. */
static bool nic_tm_fetch(const struct nic_tm_list *l, struct vnet_tm_op *op)
{
	const struct vnet_tm_op *slot = (const struct vnet_tm_op *)nic_tm_slot(l, l->tm->taken);

	memcpy(op, slot, offsetof(struct vnet_tm_op, sge));
	nic_read_once_barrier();
	if (op->num_sge > VNET_TM_MAX_SGE)
		return false;
	nic_tm_copy_sges(op->sge, slot->sge, op->num_sge);
	nic_read_once_barrier();
	return true;
}

/* A free tag; NIC_NONE: none. */
static u32 nic_tag_find_free(const struct nic_tm_list *l)
{
	u32 n, i = nic_load(&l->tm->next);

	for (n = 0; n < l->tags; n++, i++) {
		if (i >= l->tags)
			i = 0;
		if (l->tm->tag[i].state == NIC_TAG_FREE)
			return i;
	}
	return NIC_NONE;
}

/* Execute an operation that adds a tag. false: the list is full. */
static bool nic_tm_add(const struct nic_tm_list *l, const struct vnet_tm_op *op)
{
	u32 i = nic_tag_find_free(l);
	struct nic_tm *tm = l->tm;
	struct nic_tag *tag;

	if (i == NIC_NONE)
		return false;
	tag = &tm->tag[i];
	tag->tag = op->tag;
	tag->mask = op->mask;
	tag->wr_id = op->recv_wr_id;
	tag->handle = op->handle;
	tag->seq = tm->taken + 1;
	tag->added = tm->added + 1;
	tag->num_sge = op->num_sge;
	nic_tm_copy_sges(tag->sge, op->sge, op->num_sge);
	plat_step(71);
	/* From here on the operation counts as taken: see nic_tm_rebuild(). */
	nic_store_release(&tag->state,
			  tm->handled == tm->unexpected ? NIC_TAG_ACTIVE : NIC_TAG_PARKED);
	plat_step(72);
	nic_tag_append(l, i);
	tm->next = i + 1;
	tm->added++;
	nic_store(&tm->taken, tm->taken + 1);
	return true;
}

static bool nic_tm_del(const struct nic_tm_list *l, u32 handle)
{
	struct nic_tag *tag, *prev = NULL;
	u32 n = 0;

	for (tag = nic_tag_at(l, nic_load(&l->tm->head)); tag; tag = nic_tag_next(l, tag, &n)) {
		if (tag->handle == handle) {
			nic_tag_unlink(l, prev, tag);
			return true;
		}
		prev = tag;
	}
	return false;
}

static void nic_tm_sync(const struct nic_tm_list *l, const struct vnet_tm_op *op)
{
	if (op->opcode != VNET_TM_OP_SYNC && !(op->flags & VNET_TM_OP_SYNCS))
		return;
	l->tm->handled = op->unexpected;
	nic_tm_activate(l);
}

/* -------------------------------------------- ... taken by the delivering thread */

/* An operation without a completion, which its process need not execute. */
static bool nic_tm_is_unsignaled(const struct vnet_tm_op *op)
{
	return op->opcode == VNET_TM_OP_ADD && !(op->flags & VNET_TM_OP_SIGNALED);
}

/* Take operations up to the first that its process must execute; returns whether there were any. */
static bool nic_tm_take_unsignaled(const struct nic_tm_list *l)
{
	u32 n, waiting = nic_tm_waiting(l);
	struct vnet_tm_op op;

	if (!waiting)
		return false;
	for (n = 0; n < waiting; n++) {
		if (!nic_tm_fetch(l, &op) || !nic_tm_is_unsignaled(&op))
			break;
		nic_tm_sync(l, &op);
		if (!nic_tm_add(l, &op))
			break;
	}
	if (n < waiting && !nic_load(&l->ring->need_doorbell))
		nic_store(&l->ring->need_doorbell, 1);
	nic_tm_publish(l);
	plat_step(73);
	return n;
}

/* Search the list from this tag on. */
static bool nic_tm_search(const struct nic_tm_list *l, u32 from, struct nic_tm_match *match)
{
	const struct nic_tag *tag;
	u32 n = 0;

	for (tag = nic_tag_at(l, from); tag; tag = nic_tag_next(l, tag, &n)) {
		if (tag->state != NIC_TAG_ACTIVE || (match->tag & tag->mask) != tag->tag)
			continue;
		match->index = (u32)(tag - l->tm->tag);
		match->buffer.wr_id = tag->wr_id;
		match->buffer.num_sge = tag->num_sge;
		nic_read_once_barrier();
		if (match->buffer.num_sge > VNET_TM_MAX_SGE)
			return false;
		nic_tm_copy_sges(match->buffer.sge, tag->sge, match->buffer.num_sge);
		return true;
	}
	return false;
}

bool nic_tm_find(const struct nic_tm_list *l, struct nic_tm_match *match)
{
	u32 from = nic_load(&l->tm->head);
	const struct nic_tag *tail;

	/*
	 * Earlier tags come first, so the ring is looked at only if none matches; or if an
	 * operation in it may activate parked tags of the list.
	 */
	if (likely(l->tm->handled == l->tm->unexpected)) {
		if (nic_tm_search(l, from, match))
			return true;
		tail = nic_tag_at(l, nic_load(&l->tm->tail));
		if (!nic_tm_take_unsignaled(l))
			return false;
		from = tail ? tail->next : nic_load(&l->tm->head);
	} else if (nic_tm_take_unsignaled(l)) {
		from = nic_load(&l->tm->head);
	}
	return nic_tm_search(l, from, match);
}

void nic_tm_prefetch(struct nic *nic, const struct nic_srq *srq)
{
	const struct nic_tm *tm = plat_queue(nic, nic_load(&srq->tm), sizeof(*tm));
	const u8 *ring, *slots;
	u32 taken, mask;

	if (!tm || nic_load(&tm->used))
		return;
	ring = plat_queue(nic, nic_load(&tm->ops), VNET_RING_HDR_SIZE);
	if (!ring)
		return;
	taken = (u32)nic_load(&tm->taken);
	mask = nic_load(&tm->ops_mask);
	slots = ring + VNET_RING_HDR_SIZE;
	nic_prefetch(ring);
	nic_prefetch(slots + ((u64)(taken & mask) << VNET_TM_OP_SHIFT));
	nic_prefetch(slots + ((u64)((taken + 1) & mask) << VNET_TM_OP_SHIFT));
}

/* ------------------------------------------- ... executed by their own process */

/* Execute an operation. false: it failed, and has changed nothing. Otherwise it is taken. */
static bool nic_tm_execute(const struct nic_tm_list *l, const struct vnet_tm_op *op)
{
	switch (op->opcode) {
	case VNET_TM_OP_ADD:
		return nic_tm_add(l, op);
	case VNET_TM_OP_DEL:
		if (!nic_tm_del(l, op->handle))
			return false;
		break;
	case VNET_TM_OP_SYNC:
		break;
	default:
		return false;
	}
	nic_store(&l->tm->taken, l->tm->taken + 1);
	return true;
}

/* The operation failed: it is taken, and a tag that it would have added counts as ended. */
static void nic_tm_refuse(struct nic_tm *tm, const struct vnet_tm_op *op)
{
	nic_store(&tm->taken, tm->taken + 1);
	if (op->opcode == VNET_TM_OP_ADD)
		tm->added++;
}

static u8 nic_tm_wc_opcode(u8 opcode)
{
	switch (opcode) {
	case VNET_TM_OP_ADD:
		return VNET_WC_TM_ADD;
	case VNET_TM_OP_DEL:
		return VNET_WC_TM_DEL;
	default:
		return VNET_WC_TM_SYNC;
	}
}

/* The caller holds the locks of the SRQ and of the CQ. */
static void nic_tm_complete(struct nic *nic, struct nic_tm *tm, struct nic_cq *cq,
			    const struct vnet_tm_op *op, bool done)
{
	struct nic_completion wc = { .wr_id = op->wr_id,
				     .opcode = nic_tm_wc_opcode(op->opcode),
				     .status = done ? VNET_WC_SUCCESS : VNET_WC_TM_ERR };
	struct vnet_cqe *slot = nic_cq_slot(nic, cq);

	if (tm->handled != tm->unexpected)
		wc.flags = VNET_WC_TM_SYNC_REQ;
	if (!slot)
		return;
	nic_complete_alone(nic, cq, slot, &wc);
	tm->notify = 1;
}

/*
 * Execute the oldest operation; the caller holds the SRQ's lock. The CQ's lock, for which senders
 * compete, is taken only for a completion. false: it is held by another.
 */
static bool nic_tm_step(struct nic *nic, const struct nic_tm_list *l, struct nic_cq *cq)
{
	struct vnet_tm_op op;
	bool sound = nic_tm_fetch(l, &op);
	bool told = op.flags & VNET_TM_OP_SIGNALED;
	bool done;

	if (told && !nic_lock(nic, &cq->lock))
		return false;
	if (sound)
		nic_tm_sync(l, &op);
	done = sound && nic_tm_execute(l, &op);
	/* A failed operation has changed nothing, and can be repeated. */
	if (!done && !told && !nic_lock(nic, &cq->lock))
		return false;
	if (!done)
		nic_tm_refuse(l->tm, &op);
	nic_tm_publish(l);
	if (!told && done)
		return true;
	nic_tm_complete(nic, l->tm, cq, &op, done);
	nic_unlock(&cq->lock);
	return true;
}

/*
 * Operations are left, because another thread holds a lock or because the caller may not execute
 * more: the NIC processor executes them.
 */
static NIC_COLD void nic_tm_defer(struct nic *nic, const struct nic_srq *srq)
{
	nic_fetch_or(&nic->hdr->tm_due, 1ull << ((u32)(srq - nic->srq) % 64));
	if (nic_load(&nic->hdr->processor_sleeps) == NIC_SLEEPS)
		nic_wake_processor(nic);
}

/* Execute up to `most` operations. */
static void nic_tm_run(struct nic *nic, const struct nic_srq *srq, struct nic_cq *cq, u32 most)
{
	struct nic_tm_list l;
	u32 left, again;

	if (!nic_tm_open(nic, srq, &l))
		return;
	for (left = nic_tm_waiting(&l); left && most; left--, most--) {
		if (!nic_tm_step(nic, &l, cq))
			break;
	}
	if (l.tm->notify && nic_cq_notify(nic, cq, false))
		l.tm->notify = 0;
	/* If something is left, or an event not made, the process may call again. */
	again = left || l.tm->notify;
	if (nic_load(&l.ring->need_doorbell) != again)
		nic_store(&l.ring->need_doorbell, again);
	if (unlikely(again))
		nic_tm_defer(nic, srq);
}

static void nic_tm_ring(struct nic *nic, u32 srqn, u32 most)
{
	struct nic_srq *srq = nic_find_srq(nic, srqn);
	struct nic_cq *cq;

	/* Only the agent or its own process: if that dies here, the CQ that it writes to is its own. */
	if (!srq || !nic_load(&srq->tm) ||
	    (nic->space != NIC_SPACE_POINTER && srq->rq.space != nic->space))
		return;
	if (!nic_lock(nic, &srq->rq.lock)) {
		nic_tm_defer(nic, srq);
		return;
	}
	cq = nic_find_cq(nic, srq->cqn);
	if (cq && srq->rq.num == srqn)
		nic_tm_run(nic, srq, cq, most);
	nic_unlock_release(&srq->rq.lock);
}

void nic_tm_doorbell(struct nic *nic, u32 srqn)
{
	nic_tm_ring(nic, srqn, NIC_TM_MAX_OPS);
}

void nic_tm_run_due(struct nic *nic)
{
	u64 bits = nic_xchg(&nic->hdr->tm_due, 0);
	u32 i;

	for (i = 0; i < nic->max_srq; i++) {
		if (bits >> (i % 64) & 1)
			nic_tm_ring(nic, nic_load(&nic->srq[i].rq.num), NIC_STRETCH_REQUESTS);
	}
}
