// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Completion events and asynchronous events. Both are stored as state of their objects, so no queue
 * can overflow, and recovery can rebuild everything if the process that was recording an event
 * dies.
 */
#include "layout/wake.h"
#include "completion/completion.h"

void nic_wake_processor(struct nic *nic)
{
	if (nic_load(&nic->hdr->processor_sleeps) && nic_end_sleep(nic))
		plat_kick(nic);
}

static void nic_raise(struct nic *nic, u32 *pending, u64 *bitmap, u32 index, enum nic_event event)
{
	/* nic_async_take() clears in the reverse order. */
	nic_fetch_or(pending, 1u << event);
	nic_fetch_or(&bitmap[index / 64], 1ull << (index % 64));
	nic_xchg(&nic->hdr->async_any, 1);
	nic_wake_processor(nic);
}

void nic_raise_qp(struct nic *nic, struct nic_qp *qp, enum nic_event event)
{
	nic_raise(nic, &qp->async_pending, nic->async_qp, nic_qp_index(nic, qp), event);
}

void nic_raise_cq(struct nic *nic, struct nic_cq *cq, enum nic_event event)
{
	nic_raise(nic, &cq->async_pending, nic->async_cq, (u32)(cq - nic->cq), event);
}

void nic_raise_srq(struct nic *nic, struct nic_srq *srq, enum nic_event event)
{
	nic_raise(nic, &srq->async_pending, nic->async_srq, (u32)(srq - nic->srq), event);
}

/* Lowest set bit of a bitmap, taken out of it; false if there is none. */
static bool nic_take_bit(u64 *bitmap, u32 bits, u32 *index)
{
	u32 word;
	u64 seen;

	for (word = 0; word < (bits + 63) / 64; word++) {
		seen = nic_load(&bitmap[word]);
		if (!seen)
			continue;
		*index = word * 64 + (u32)__builtin_ctzll(seen);
		nic_fetch_and(&bitmap[word], ~(seen & -seen));
		return *index < bits;
	}
	return false;
}

/* Take one event of an object; further ones are raised again. */
static bool nic_take_event(u32 *pending, u64 *bitmap, u32 index, u32 *event)
{
	u32 seen = nic_xchg(pending, 0);

	if (!seen)
		return false;
	*event = (u32)__builtin_ctz(seen);
	seen &= seen - 1;
	if (seen) {
		nic_fetch_or(pending, seen);
		nic_fetch_or(&bitmap[index / 64], 1ull << (index % 64));
	}
	return true;
}

static bool nic_async_scan(struct nic *nic, struct nic_async *out)
{
	u32 i;

	while (nic_take_bit(nic->async_qp, nic->max_qp, &i)) {
		out->kind = 'q';
		out->num = nic_load(&nic->qp[i].qpn);
		if (nic_take_event(&nic->qp[i].async_pending, nic->async_qp, i, &out->event))
			return true;
	}
	while (nic_take_bit(nic->async_cq, nic->max_cq, &i)) {
		out->kind = 'c';
		out->num = nic_load(&nic->cq[i].num);
		if (nic_take_event(&nic->cq[i].async_pending, nic->async_cq, i, &out->event))
			return true;
	}
	while (nic_take_bit(nic->async_srq, nic->max_srq, &i)) {
		out->kind = 's';
		out->num = nic_load(&nic->srq[i].rq.num);
		if (nic_take_event(&nic->srq[i].async_pending, nic->async_srq, i, &out->event))
			return true;
	}
	return false;
}

bool nic_async_take(struct nic *nic, struct nic_async *out)
{
	if (!nic_load(&nic->hdr->async_any))
		return false;
	/*
	 * Cleared before the scan: events that are raised during the scan are found by the next
	 * one.
	 */
	nic_xchg(&nic->hdr->async_any, 0);
	if (!nic_async_scan(nic, out))
		return false;
	nic_xchg(&nic->hdr->async_any, 1);
	return true;
}

enum nic_result nic_async_raise(struct nic *nic, const struct nic_async *event)
{
	struct nic_qp *qp = event->kind == 'q' ? nic_find_qp(nic, event->num) : NULL;
	struct nic_cq *cq = event->kind == 'c' ? nic_find_cq(nic, event->num) : NULL;
	struct nic_srq *srq = event->kind == 's' ? nic_find_srq(nic, event->num) : NULL;

	if (qp && event->event >= NIC_EVENT_QP_FATAL && event->event <= NIC_EVENT_QP_ACCESS_ERR)
		return nic_qp_error(nic, event->num, (enum nic_event)event->event);
	if (qp)
		nic_raise_qp(nic, qp, (enum nic_event)event->event);
	else if (cq)
		nic_raise_cq(nic, cq, (enum nic_event)event->event);
	else if (srq)
		nic_raise_srq(nic, srq, (enum nic_event)event->event);
	else
		return NIC_EINVAL;
	return NIC_OK;
}

/* ------------------------------------------------------- completion events */

static void nic_channel_append(struct nic *nic, struct nic_channel *ch, u32 cq_index)
{
	nic->cq[cq_index].ev_next = NIC_NONE;
	if (ch->head == NIC_NONE)
		ch->head = cq_index;
	else
		nic->cq[ch->tail & (nic->max_cq - 1)].ev_next = cq_index;
	ch->tail = cq_index;
}

static bool nic_armed_for(const struct vnet_ring *ring, bool solicited)
{
	u32 arm = nic_load(&ring->arm);

	return arm == VNET_CQ_ARM_NEXT || (arm == VNET_CQ_ARM_SOLICITED && solicited);
}

/*
 * An event has a due time: have the NIC processor look then. The caller holds the channel's lock,
 * or the lock's holder makes the event and resets the time.
 */
static void nic_cq_set_due(struct nic *nic, struct nic_cq *cq, u64 due)
{
	/* In this order: see nic_channel_rebuild(). */
	nic_store(&cq->ev_due, due);
	nic_fetch_or(&nic->hdr->cq_due, 1ull << ((u32)(cq - nic->cq) % 64));
	if (nic_load(&nic->hdr->processor_sleeps) == NIC_SLEEPS)
		nic_wake_processor(nic);
}

/*
 * Moderation: must the event wait for more entries, or for time? The caller holds the channel's
 * lock.
 */
static NIC_COLD bool nic_cq_delays_event(struct nic *nic, struct nic_cq *cq)
{
	u32 made = nic_load(&cq->prod) - cq->ev_prod;
	u64 now;

	if (cq->event_count && made >= cq->event_count)
		return false;
	if (!cq->event_period)
		return true;
	now = plat_clock();
	if (!cq->ev_due)
		nic_cq_set_due(nic, cq, now + cq->event_period * 1000ull);
	return now < cq->ev_due;
}

/* Make an event of a CQ that is armed for it. The caller holds the channel's lock. */
static void nic_cq_event(struct nic *nic, struct nic_cq *cq, struct vnet_ring *ring, u32 channel)
{
	struct nic_channel *ch = &nic->channel[channel];
	bool was_empty = ch->head == NIC_NONE;

	/* Recorded before the CQ is disarmed: a death in between repeats the event. */
	if (!cq->ev_pending++)
		nic_channel_append(nic, ch, (u32)(cq - nic->cq));
	plat_step(40);
	nic_store_release(&ring->arm, VNET_CQ_DISARMED);
	if (was_empty || nic_load(&ch->reader) != NIC_READER_BLOCKS)
		plat_channel_ready(nic, channel,
				   was_empty || (nic_load(&ch->reader) & NIC_READER_SIGNALS));
	plat_step(41);
	if (unlikely(cq->event_count | cq->event_period)) {
		cq->ev_prod = nic_load(&cq->prod);
		nic_store(&cq->ev_due, 0);
	}
}

/*
 * Lost wake-ups are excluded as follows. `arm` is loaded here after the full barrier of the CQ's
 * unlock. The process stores `arm`, executes a full barrier, and polls. So either the process finds
 * the entry, or this function finds the CQ armed.
 */
bool nic_cq_notify(struct nic *nic, struct nic_cq *cq, bool solicited)
{
	u32 channel = nic_load(&cq->channel);
	struct vnet_ring *ring;
	struct nic_channel *ch;

	/* Without a channel nothing is checked, and nic_cq_unlock() has no full barrier. */
	if (likely(channel >= nic->max_channel))
		return true;
	ring = nic_cq_ring(nic, cq);
	if (likely(!ring || !nic_armed_for(ring, solicited)))
		return true;
	ch = &nic->channel[channel];
	if (!nic_lock(nic, &ch->lock))
		return false;
	/*
	 * Check again: a resize moves the ring, and the destruction of a channel ends its CQs'
	 * events, both under this lock.
	 */
	ring = nic_cq_ring(nic, cq);
	if (ring && cq->channel == channel && ch->generation && nic_armed_for(ring, solicited) &&
	    (likely(!(cq->event_count | cq->event_period)) || !nic_cq_delays_event(nic, cq)))
		nic_cq_event(nic, cq, ring, channel);
	nic_unlock_release(&ch->lock);
	return true;
}

void nic_cq_notify_later(struct nic *nic, struct nic_cq *cq)
{
	nic_cq_set_due(nic, cq, plat_clock());
}

/* --------------------------------------------------- armed with unpolled entries */

/* Does the CQ have unpolled entries of the kind for which it is armed? */
static bool nic_cq_has_armed_entry(const struct nic_cq *cq, const struct vnet_ring *ring)
{
	u32 arm = nic_load(&ring->arm);
	u32 end = arm == VNET_CQ_ARM_SOLICITED ? nic_load(&cq->solicited) : nic_load(&cq->prod);

	return arm != VNET_CQ_DISARMED && (s32)(end - nic_load(&ring->cons)) > 0;
}

/* false: another holds the channel's lock. */
static bool nic_cq_armed_late(struct nic *nic, struct nic_cq *cq)
{
	u32 channel = nic_load(&cq->channel);
	struct vnet_ring *ring;
	struct nic_channel *ch;

	if (channel >= nic->max_channel)
		return true;
	ch = &nic->channel[channel];
	if (!nic_lock(nic, &ch->lock))
		return false;
	ring = nic_cq_ring(nic, cq);
	/* One unread event is enough. */
	if (ring && cq->channel == channel && ch->generation && !cq->ev_pending &&
	    nic_cq_has_armed_entry(cq, ring) &&
	    (likely(!(cq->event_count | cq->event_period)) || !nic_cq_delays_event(nic, cq)))
		nic_cq_event(nic, cq, ring, channel);
	nic_unlock_release(&ch->lock);
	return true;
}

/*
 * The channel's lock is held for an instant, unless its holder was stopped or died. In that case
 * the event is not made, as if the entry had arrived before the CQ was armed.
 */
#define NIC_CQ_DOORBELL_TRIES 100

void nic_cq_doorbell(struct nic *nic, u32 cqn)
{
	struct nic_cq *cq = nic_find_cq(nic, cqn);
	int i;

	for (i = 0; cq && i < NIC_CQ_DOORBELL_TRIES; i++)
		if (nic_cq_armed_late(nic, cq))
			return;
}

/* ----------------------------------------------------------- moderated events */

/* Make the CQ's event, if it is due. false: look at the CQ again. */
static bool nic_cq_run_one(struct nic *nic, struct nic_cq *cq, u64 now, u64 *next)
{
	u32 channel = nic_load(&cq->channel);
	struct nic_channel *ch;
	struct vnet_ring *ring;
	u64 due = nic_load(&cq->ev_due);

	if (!due || !nic_load(&cq->num) || channel >= nic->max_channel)
		return true;
	if (due > now) {
		if (due < *next)
			*next = due;
		return false;
	}
	ch = &nic->channel[channel];
	if (!nic_lock(nic, &ch->lock))
		return false;
	ring = nic_cq_ring(nic, cq);
	if (ring && cq->ev_due == due && cq->channel == channel && ch->generation &&
	    nic_load(&ring->arm) != VNET_CQ_DISARMED)
		nic_cq_event(nic, cq, ring, channel);
	nic_unlock_release(&ch->lock);
	return true;
}

void nic_cq_run_due(struct nic *nic, u64 now, u64 *next)
{
	u64 bits = nic_xchg(&nic->hdr->cq_due, 0), left = 0;
	u32 bit, i;

	for (bit = 0; bit < 64; bit++) {
		if (!(bits >> bit & 1))
			continue;
		for (i = bit; i < nic->max_cq; i += 64)
			if (!nic_cq_run_one(nic, &nic->cq[i], now, next))
				left |= 1ull << bit;
	}
	if (left)
		nic_fetch_or(&nic->hdr->cq_due, left);
}

enum nic_result nic_cq_moderate(struct nic *nic, u32 cqn, u32 count, u32 period)
{
	struct nic_cq *cq = nic_find_cq(nic, cqn);
	struct nic_channel *ch;
	u32 channel;

	if (!cq)
		return NIC_EINVAL;
	channel = nic_load(&cq->channel);
	/* No channel: there are no events to moderate. */
	if (channel >= nic->max_channel)
		return NIC_OK;
	ch = &nic->channel[channel];
	if (!nic_lock(nic, &ch->lock))
		return NIC_BUSY;
	/* A moderated event is made now; under the new values it might wait forever. */
	if ((cq->event_count | cq->event_period) && nic_load(&cq->prod) != cq->ev_prod)
		nic_cq_set_due(nic, cq, plat_clock());
	cq->event_count = count;
	cq->event_period = period;
	cq->ev_prod = nic_load(&cq->prod);
	nic_unlock_release(&ch->lock);
	return NIC_OK;
}

enum nic_result nic_channel_take(struct nic *nic, u32 channel, u64 *user_handle,
				 void (*drain)(void *arg), void *arg)
{
	struct nic_channel *ch;
	struct nic_cq *cq;
	u32 first;

	if (channel >= nic->max_channel)
		return NIC_EINVAL;
	ch = &nic->channel[channel];
	if (!nic_lock(nic, &ch->lock))
		return NIC_BUSY;
	first = ch->head;
	if (first >= nic->max_cq) {
		nic_unlock_release(&ch->lock);
		return NIC_EINVAL;
	}
	cq = &nic->cq[first];
	*user_handle = cq->user_handle;
	cq->ev_delivered++;
	plat_step(42);
	cq->ev_pending--;
	plat_step(43);
	ch->head = cq->ev_next;
	if (ch->head == NIC_NONE)
		ch->tail = NIC_NONE;
	/* The CQ has more events: append it behind the others. */
	if (cq->ev_pending)
		nic_channel_append(nic, ch, first);
	if (ch->head == NIC_NONE)
		drain(arg);
	plat_step(44);
	nic_unlock_release(&ch->lock);
	return NIC_OK;
}

bool nic_channel_has_event(const struct nic *nic, u32 channel)
{
	const struct nic_channel *ch = &nic->channel[channel];

	/* Whoever makes an event wakes the waiter with the lock held. */
	return nic_load_acquire(&ch->head) != NIC_NONE && !nic_load(&ch->lock);
}

void nic_channel_reader_blocks(struct nic *nic, u32 channel, bool blocks)
{
	u32 *reader = &nic->channel[channel].reader;
	u32 from = blocks ? NIC_READER_ANY : NIC_READER_BLOCKS;

	if (nic_load(reader) == from)
		(void)__atomic_compare_exchange_n(reader, &from,
						  blocks ? NIC_READER_BLOCKS : NIC_READER_ANY,
						  false, __ATOMIC_SEQ_CST, __ATOMIC_RELAXED);
}

void nic_channel_needs_edges(struct nic *nic, u32 channel)
{
	nic_fetch_or(&nic->channel[channel].reader, NIC_READER_EDGES);
}

void nic_channel_needs_signals(struct nic *nic, u32 channel)
{
	nic_fetch_or(&nic->channel[channel].reader, NIC_READER_SIGNALS);
}

/* The agent runs the NIC processor: if it cannot wake the waiter, no other process can. */
void nic_channel_later(struct nic *nic, u32 channel)
{
	if (nic->space == NIC_SPACE_POINTER)
		return;
	nic_fetch_or(&nic->hdr->channel_due, 1ull << (channel % 64));
	nic_wake_processor(nic);
}

void nic_channels_run_due(struct nic *nic)
{
	u64 bits = nic_xchg(&nic->hdr->channel_due, 0), left = 0;
	struct nic_channel *ch;
	u32 i;

	for (i = 0; i < nic->max_channel; i++) {
		ch = &nic->channel[i];
		if (!(bits >> (i % 64) & 1) || !nic_load(&ch->generation))
			continue;
		if (!nic_lock(nic, &ch->lock)) {
			left |= 1ull << (i % 64);
			continue;
		}
		if (ch->generation && ch->head != NIC_NONE)
			plat_channel_ready(nic, i, true);
		nic_unlock_release(&ch->lock);
	}
	if (left)
		nic_fetch_or(&nic->hdr->channel_due, left);
}

enum nic_result nic_channel_clear_stale(struct nic *nic, u32 channel, void (*drain)(void *arg),
					void *arg)
{
	struct nic_channel *ch;

	if (channel >= nic->max_channel)
		return NIC_EINVAL;
	ch = &nic->channel[channel];
	if (!nic_lock(nic, &ch->lock))
		return NIC_BUSY;
	if (ch->head == NIC_NONE)
		drain(arg);
	nic_unlock_release(&ch->lock);
	return NIC_OK;
}

void nic_channel_rebuild(struct nic *nic, u32 channel)
{
	struct nic_channel *ch = &nic->channel[channel];
	u32 i;

	ch->head = NIC_NONE;
	ch->tail = NIC_NONE;
	for (i = 0; i < nic->max_cq; i++) {
		struct nic_cq *cq = &nic->cq[i];

		if (cq->num && cq->channel == channel && cq->ev_pending)
			nic_channel_append(nic, ch, i);
		/* The holder may have died after storing ev_due, and before setting this bit. */
		if (cq->num && cq->channel == channel && cq->ev_due)
			nic_fetch_or(&nic->hdr->cq_due, 1ull << (i % 64));
	}
	/* One notification too many does no harm: draining takes all that are there. */
	if (ch->head != NIC_NONE)
		plat_channel_ready(nic, channel, true);
}
