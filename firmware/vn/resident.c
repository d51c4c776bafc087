// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Endpoint frames: loading, eviction, and turns. An endpoint needs a frame while its packets are
 * outstanding, and while it sends or receives packets; otherwise its state is in host memory.
 *
 * A clock algorithm with a second chance chooses the endpoint to evict. A busy endpoint leaves
 * after its turn: it sends nothing new, and is evicted when nothing of it is outstanding, or all
 * its packets were refused at their latest transmission. These are taken back, and sent again when
 * it returns.
 *
 * Endpoints that find no free frame wait in a queue. Otherwise an endpoint that tries more often
 * than others would get all frames.
 */
#include "layout/lookup.h"
#include "transport/transport.h"
#include "pending/pending.h"
#include "vn/vn.h"

/* Limit of frames that one search looks at. */
#define NIC_MOST_LOOKS 128u
/* Length of a turn in a frame, ns; a shorter time without use ends it. */
#define NIC_TURN_LENGTH_NS 1000000ull
#define NIC_UNUSED_NS 200000ull
/*
 * An endpoint that was loaded for an arrived packet is kept until the sender's retransmission: for
 * the shortest timeout and a random time, ns. One endpoint at a time is kept for several timeouts.
 * Otherwise two NICs that refuse each other's packets could stay in step forever.
 */
#define NIC_PIN_TIMEOUTS 4u
#define NIC_PIN_JITTER 0xfffffu

/* ------------------------------------------------------------------ leaving */

/*
 * Give up datagrams that were refused at their latest transmission: otherwise two NICs could hold
 * all their frames for datagrams that the other refuses. false: other packets are outstanding.
 */
static bool nic_give_up_refused(struct nic *nic, const struct nic_qp *qp, struct nic_endpoint *ep)
{
	u32 i, high = nic_row_high(nic);
	bool all = true;
	u64 busy;

	for (i = 0; i < high; i++) {
		struct nic_row *row = &nic->row[i];

		if (!nic_load(&row->busy))
			continue;
		if (!nic_trylock(nic, &row->lock))
			return false;
		for (busy = row->busy; busy; busy &= busy - 1) {
			struct nic_tx *tx = &row->tx[__builtin_ctzll(busy)];

			if (tx->qpn != qp->qpn)
				continue;
			if (!(tx->flags & (NIC_TX_NACKED | NIC_TX_DEFERRED))) {
				all = false;
				continue;
			}
			/* RETRY_EXC, because an earlier transmission may still arrive. */
			nic_vn_done(ep, tx->psn, VNET_WC_RETRY_EXC_ERR);
			nic_tx_free(nic, row, tx);
			nic_count(nic, unreachable);
		}
		nic_unlock(&row->lock);
	}
	return all;
}

/*
 * Take back packets that were refused at their latest transmission. false: other packets are
 * outstanding. The caller holds the QP's sq_lock.
 */
static bool nic_take_back(struct nic *nic, struct nic_qp *qp, struct nic_endpoint *ep)
{
	struct nic_row *row = nic_row_at(nic, qp->row);
	u64 busy, again = 0, now = nic_timeout_clock(nic, plat_clock());
	bool all = true;

	if (ep->una == ep->next || plat_broken(NIC_RULE_UNLOAD))
		return true;
	if (nic_is_unordered(qp->type))
		return ep->leaving && nic_give_up_refused(nic, qp, ep);
	if (!row || nic_load(&ep->failed))
		return false;
	if (!nic_trylock(nic, &row->lock))
		return false;
	for (busy = row->busy; busy; busy &= busy - 1) {
		const struct nic_tx *tx = &row->tx[__builtin_ctzll(busy)];

		if (tx->qpn != qp->qpn)
			continue;
		/*
		 * No answer for `unreachable`: the packet may still be accepted later. The peer
		 * then recognises its repetition by the packet number.
		 */
		all = all && ((tx->flags & NIC_TX_NACKED) ||
			      (now > tx->answered &&
			       now - tx->answered > nic->hdr->settings.unreachable * 1000000ull));
		again |= 1ull << (tx->psn % NIC_WINDOW);
	}
	if (all) {
		nic_tx_cancel(nic, row, qp->qpn);
		ep->resend |= again;
	}
	nic_unlock(&row->lock);
	return all;
}

/* Evict the endpoint in this frame, if possible; the caller holds frame_lock. */
static bool nic_frame_evict(struct nic *nic, struct nic_endpoint *ep)
{
	struct nic_qp *qp = nic_find_qp(nic, ep->qpn);
	bool gone = false;

	if (!qp) {
		ep->qpn = 0;
		return true;
	}
	/* Only tried: the holder of sq_lock may be waiting for frame_lock. */
	if (!nic_trylock(nic, &qp->sq_lock))
		return false;
	if (ep->qpn == qp->qpn && qp->op_phase == NIC_OP_IDLE && nic_take_back(nic, qp, ep)) {
		ep->leaving = 0;
		if (plat_broken(NIC_RULE_OPEN))
			ep->receive.open = 0;
		*nic_backing_of(nic, qp) = *ep;
		nic_store(&qp->frame, NIC_NONE);
		nic_store_release(&ep->qpn, 0);
		nic_count(nic, evictions);
		gone = true;
	} else if (ep->sent >= nic->hdr->settings.loiter || !ep->used) {
		ep->leaving = 1;
	}
	nic_unlock(&qp->sq_lock);
	/* The QP may have work, for which it must be loaded again. */
	nic_pend(nic, qp);
	return gone;
}

/* -------------------------------------------------------- the queue for frames */

static bool nic_is_resident(struct nic *nic, const struct nic_qp *qp)
{
	const struct nic_endpoint *ep = nic_endpoint_at(nic, qp);

	return ep && ep->qpn == qp->qpn;
}

static bool nic_takes_packets(const struct nic_qp *qp)
{
	u8 state = nic_load(&qp->state);

	return state >= NIC_QPS_RTR && state != NIC_QPS_ERR;
}

/* Queue the QP for a frame. The caller holds frame_lock, here and below. */
static void nic_want_frame(struct nic *nic, struct nic_qp *qp, enum nic_want what)
{
	struct nic_header *hdr = nic->hdr;
	bool waits = qp->wants_frame;

	if (what > qp->wants_frame)
		qp->wants_frame = what;
	if (waits)
		return;
	/* More entries than QPs: NIC memory is corrupted. */
	if (hdr->want_prod - hdr->want_cons >= nic->max_qp)
		hdr->want_cons = hdr->want_prod;
	nic->want[hdr->want_prod & nic->qp_index_mask] = nic_qp_index(nic, qp);
	hdr->want_prod++;
}

/* The next QP in the queue; NULL: none. */
static struct nic_qp *nic_frame_next(struct nic *nic)
{
	struct nic_header *hdr = nic->hdr;
	u32 most = nic->max_qp;

	while (hdr->want_cons != hdr->want_prod && most--) {
		u32 index = nic->want[hdr->want_cons & nic->qp_index_mask];
		struct nic_qp *qp = &nic->qp[index & nic->qp_index_mask];

		if (qp->wants_frame && nic_takes_packets(qp) && !nic_is_resident(nic, qp))
			return qp;
		qp->wants_frame = NIC_WANT_NONE;
		hdr->want_cons++;
	}
	return NULL;
}

/* -------------------------------------------------------------------- loading */

/* Find a free frame, or free one. */
static struct nic_endpoint *nic_frame_find(struct nic *nic, u64 now)
{
	/* Two rounds of the clock. Of many frames, some are always free or idle. */
	u32 i, looks = 2 * nic->max_frame;

	if (looks > NIC_MOST_LOOKS)
		looks = NIC_MOST_LOOKS;
	for (i = 0; i < looks; i++) {
		struct nic_endpoint *ep = &nic->frame[nic->hdr->frame_hand++ % nic->max_frame];

		if (!ep->qpn)
			return ep;
		if (now < ep->pinned_until)
			continue;
		if (!ep->used) {
			if (nic_frame_evict(nic, ep))
				return ep;
			continue;
		}
		ep->used = 0;
		ep->pinned_for = NIC_WANT_NONE;
		if (now < ep->turn_until)
			ep->pinned_until = now + NIC_UNUSED_NS;
	}
	return NULL;
}

/* Load the QP's endpoint into this frame; the caller holds the QP's sq_lock. */
static void nic_frame_load(struct nic *nic, struct nic_endpoint *ep, struct nic_qp *qp, u64 now)
{
	*ep = *nic_backing_of(nic, qp);
	ep->sent = 0;
	ep->used = 1;
	ep->leaving = 0;
	ep->pinned_until = 0;
	ep->pinned_for = NIC_WANT_NONE;
	ep->turn_until = now + NIC_TURN_LENGTH_NS;
	ep->qpn = qp->qpn;
	nic_store_release(&qp->frame, (u32)(ep - nic->frame));
	nic_count(nic, loads);
}

/* The endpoint was loaded before it is needed again: keep it until then. */
static void nic_frame_pin(struct nic *nic, struct nic_endpoint *ep, enum nic_want what, u64 now)
{
	struct nic_header *hdr = nic->hdr;
	u64 timeout = hdr->settings.rto_min * 1000ull;

	ep->pinned_for = what;
	ep->pinned_until = ep->turn_until;
	if (what != NIC_WANT_PACKET)
		return;
	if (now >= hdr->long_pin_until) {
		timeout *= NIC_PIN_TIMEOUTS;
		hdr->long_pin_until = now + timeout;
	}
	ep->pinned_until = now + timeout + (now & NIC_PIN_JITTER);
}

/* The endpoint is used: its turn begins, and another one may be kept long. */
static void nic_frame_used(struct nic *nic, struct nic_endpoint *ep)
{
	if (ep->pinned_for == NIC_WANT_PACKET)
		nic_store(&nic->hdr->long_pin_until, 0);
	ep->turn_until = plat_clock() + NIC_TURN_LENGTH_NS;
	ep->pinned_until = 0;
	ep->pinned_for = NIC_WANT_NONE;
}

/* Give the frame to the next QP of the queue. false: that QP is locked. */
static bool nic_frame_give(struct nic *nic, struct nic_endpoint *ep, struct nic_qp *next, u64 now)
{
	/* Only tried: the holder of sq_lock may be waiting for frame_lock. */
	if (!nic_trylock(nic, &next->sq_lock))
		return false;
	/* Otherwise the frame stays free, and nic_frame_next() skips this QP. */
	if (nic_takes_packets(next) && !nic_is_resident(nic, next)) {
		nic_frame_load(nic, ep, next, now);
		nic_frame_pin(nic, ep, next->wants_frame, now);
		next->wants_frame = NIC_WANT_NONE;
		nic->hdr->want_cons++;
	}
	nic_unlock(&next->sq_lock);
	nic_pend(nic, next);
	return true;
}

static struct nic_endpoint *nic_endpoint_load(struct nic *nic, struct nic_qp *qp,
					      enum nic_want what)
{
	struct nic_endpoint *ep;
	struct nic_qp *next;
	u64 now = plat_clock();
	u32 i;

	nic_count(nic, faults);
	if (!nic_trylock(nic, &nic->hdr->frame_lock))
		return NULL;
	for (i = 0; i <= nic->max_frame; i++) {
		ep = nic_frame_find(nic, now);
		next = ep ? nic_frame_next(nic) : NULL;
		if (!next || next == qp || !nic_frame_give(nic, ep, next, now))
			break;
		ep = NULL;
	}
	if (ep)
		nic_frame_load(nic, ep, qp, now);
	else
		nic_want_frame(nic, qp, what);
	nic_unlock(&nic->hdr->frame_lock);
	return ep;
}

struct nic_endpoint *nic_endpoint_get(struct nic *nic, struct nic_qp *qp)
{
	struct nic_endpoint *ep = nic_endpoint_at(nic, qp);

	if (unlikely(!ep || ep->qpn != qp->qpn))
		return nic_endpoint_load(nic, qp, NIC_WANT_SEND);
	if (unlikely(ep->pinned_for == NIC_WANT_SEND))
		nic_frame_used(nic, ep);
	ep->used = 1;
	return ep;
}

struct nic_endpoint *nic_endpoint_for_packet(struct nic *nic, struct nic_qp *qp)
{
	struct nic_endpoint *ep = nic_endpoint_at(nic, qp);

	if (unlikely(!ep || ep->qpn != qp->qpn))
		return nic_endpoint_load(nic, qp, NIC_WANT_PACKET);
	if (unlikely(ep->pinned_for))
		nic_frame_used(nic, ep);
	ep->used = 1;
	return ep;
}

/* --------------------------------------------------------------------- death */

void nic_frames_recover(struct nic *nic, u32 owner)
{
	u32 i;

	if (nic_load(&nic->hdr->frame_lock) != owner)
		return;
	/* QPs that wait for a frame ask again. */
	nic->hdr->want_cons = nic->hdr->want_prod;
	for (i = nic_qp_next(nic, 0); i < nic->max_qp; i = nic_qp_next(nic, i + 1))
		nic->qp[i].wants_frame = NIC_WANT_NONE;
	/*
	 * A frame belongs to a QP only if qp->frame names it; until then the copy in host memory is
	 * valid.
	 */
	for (i = 0; i < nic->max_frame; i++) {
		struct nic_endpoint *ep = &nic->frame[i];
		struct nic_qp *qp = ep->qpn ? nic_find_qp(nic, ep->qpn) : NULL;

		if (ep->qpn && (!qp || qp->frame != i))
			ep->qpn = 0;
	}
	nic_unlock(&nic->hdr->frame_lock);
}
