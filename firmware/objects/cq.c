// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Completion queues: commands. completion/complete.c writes their entries. */
#include "layout/lookup.h"
#include "layout/ring.h"

/* log2 of VNET_CQE_SIZE */
#define NIC_CQE_SHIFT 7
static_assert(1 << NIC_CQE_SHIFT == VNET_CQE_SIZE, "cqe");

static struct nic_channel *nic_cq_channel(struct nic *nic, const struct nic_cq *cq)
{
	u32 channel = nic_load(&cq->channel);

	return channel < nic->max_channel ? &nic->channel[channel] : NULL;
}

static bool nic_cq_params_ok(struct nic *nic, const struct nic_cq_params *p)
{
	if (p->flags &
	    ~(u32)(VNET_CREATE_CQ_TIMESTAMP | VNET_CREATE_CQ_IGNORE_OVERRUN | VNET_CREATE_CQ_IMM64))
		return false;
	if (p->channel != NIC_NONE &&
	    (p->channel >= nic->max_channel || !nic->channel[p->channel].generation))
		return false;
	return nic_ring_check(nic, p->ring, p->entries, NIC_CQE_SHIFT);
}

enum nic_result nic_cq_create(struct nic *nic, u32 cqn, const struct nic_cq_params *p)
{
	struct nic_cq *cq;

	if (!cqn || cqn > nic->max_cq || !nic_cq_params_ok(nic, p))
		return NIC_EINVAL;
	cq = &nic->cq[cqn - 1];
	if (nic_load(&cq->num))
		return NIC_EINUSE;
	/* An earlier CQ of this entry may still have a lock holder. */
	if (!nic_lock(nic, &cq->lock))
		return NIC_BUSY;
	cq->prod = 0;
	cq->cons_seen = 0;
	cq->flags = p->flags;
	cq->ring = p->ring;
	cq->mask = p->entries - 1;
	cq->channel = p->channel;
	cq->error = 0;
	nic_store(&cq->async_pending, 0);
	cq->ev_pending = 0;
	cq->ev_delivered = 0;
	cq->ev_next = NIC_NONE;
	cq->event_count = 0;
	cq->event_period = 0;
	cq->ev_prod = 0;
	cq->solicited = 0;
	nic_store(&cq->ev_due, 0);
	cq->completions = 0;
	cq->errors = 0;
	cq->user_handle = p->user_handle;
	nic_store_release(&cq->num, cqn);
	nic_unlock(&cq->lock);
	return NIC_OK;
}

/* Lock a CQ and its channel (if any), in lock order. */
static bool nic_cq_lock_all(struct nic *nic, struct nic_cq *cq, struct nic_channel **channel)
{
	if (!nic_lock(nic, &cq->lock))
		return false;
	*channel = nic_cq_channel(nic, cq);
	if (!*channel || nic_lock(nic, &(*channel)->lock))
		return true;
	nic_unlock(&cq->lock);
	return false;
}

static void nic_cq_unlock_all(struct nic_cq *cq, struct nic_channel *channel)
{
	if (channel)
		nic_unlock(&channel->lock);
	nic_unlock(&cq->lock);
}

/* ------------------------------------------------------------------ resize */

static struct vnet_cqe *nic_cqe_of(struct vnet_ring *ring, u32 index, u32 mask)
{
	return (struct vnet_cqe *)(ring + 1) + (index & mask);
}

/* Copy entries [cons, prod) to the same indices; all other slots become invalid. */
static void nic_cq_move(struct vnet_ring *to, u32 to_mask, struct vnet_ring *from, u32 from_mask,
			u32 cons, u32 prod)
{
	u32 i;

	for (i = cons; i != prod; i++)
		*nic_cqe_of(to, i, to_mask) = *nic_cqe_of(from, i, from_mask);
	/*
	 * Set seq as the previous round would have left it. A constant could equal the seq of a
	 * future entry.
	 */
	for (; i != cons + to_mask + 1; i++)
		nic_cqe_of(to, i, to_mask)->seq = i - to_mask;
	to->prod = prod;
	to->cons = cons;
	to->arm = nic_load(&from->arm);
}

enum nic_result nic_cq_resize(struct nic *nic, u32 cqn, u64 ring, u32 entries)
{
	struct vnet_ring *to = nic_ring_check(nic, ring, entries, NIC_CQE_SHIFT);
	struct nic_cq *cq = nic_find_cq(nic, cqn);
	struct nic_channel *channel;
	enum nic_result result = NIC_EINVAL;
	struct vnet_ring *from;
	u32 cons;

	if (!cq || !to)
		return NIC_EINVAL;
	/* Code that reads the ring's `arm` holds the channel's lock. */
	if (!nic_cq_lock_all(nic, cq, &channel))
		return NIC_BUSY;
	from = nic_ring_check(nic, cq->ring, cq->mask + 1, NIC_CQE_SHIFT);
	if (!from)
		goto unlock;
	cons = nic_load_acquire(&from->cons);
	/* The process' index may be invalid. */
	if (cq->prod - cons > cq->mask + 1 || cq->prod - cons > entries)
		goto unlock;
	nic_cq_move(to, entries - 1, from, cq->mask, cons, cq->prod);
	cq->cons_seen = cons;
	cq->ring = ring;
	cq->mask = entries - 1;
	result = NIC_OK;
unlock:
	nic_cq_unlock_all(cq, channel);
	return result;
}

/* ----------------------------------------------------------------- destroy */

/* Remove a CQ from its channel's list; the caller holds the channel's lock. */
static void nic_channel_unlink(struct nic *nic, struct nic_channel *channel, struct nic_cq *cq)
{
	u32 index = (u32)(cq - nic->cq);
	u32 at = channel->head, before = NIC_NONE;
	u32 steps;

	/* NIC memory may be corrupted: bound the loop and the index. */
	for (steps = 0; at != index; steps++) {
		if (at >= nic->max_cq || steps >= nic->max_cq)
			return;
		before = at;
		at = nic->cq[at].ev_next;
	}
	if (before == NIC_NONE)
		channel->head = cq->ev_next;
	else
		nic->cq[before].ev_next = cq->ev_next;
	if (channel->tail == index)
		channel->tail = before;
}

enum nic_result nic_cq_destroy(struct nic *nic, u32 cqn, u32 *events)
{
	struct nic_cq *cq = nic_find_cq(nic, cqn);
	struct nic_channel *channel;

	if (!cq)
		return NIC_EINVAL;
	if (!nic_cq_lock_all(nic, cq, &channel))
		return NIC_BUSY;
	/* From here on the CQ is not found, and no one holds its lock. */
	nic_store(&cq->num, 0);
	if (channel && cq->ev_pending)
		nic_channel_unlink(nic, channel, cq);
	cq->ev_pending = 0;
	nic_store(&cq->ev_due, 0);
	nic_fetch_add(&nic->hdr->completions[VNET_WC_SUCCESS], cq->completions - cq->errors);
	*events = cq->ev_delivered;
	nic_xchg(&cq->async_pending, 0);
	nic_cq_unlock_all(cq, channel);
	return NIC_OK;
}
