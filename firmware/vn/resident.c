// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Endpoints come into the frames of the NIC and leave them. A frame is needed for
 * as long as packets of the queue pair are under way, and while it sends or takes
 * packets; the rest of the time its state is in host memory.
 *
 * Who leaves is chosen by a clock with a second chance. A busy endpoint is asked
 * to leave once it has had its turn: it sends nothing new, and goes when nothing
 * of it is under way, or all that is has been refused by the latest word of its
 * receiver (such packets are taken back and sent again when it returns).
 *
 * Who comes is whose turn it is: those that find no frame wait in a queue, for
 * else whoever asks most often would have them all.
 */
#include "vn/vn.h"

/* Frames that are looked at for one that can be had. */
#define NIC_MOST_LOOKS 128u
/* A turn in a frame, ns; and who is not used for so long has ended its own. */
#define NIC_TURN_LENGTH_NS 1000000ull
#define NIC_UNUSED_NS 200000ull
/*
 * Who has come for a packet waits for its sender to try again, which takes the
 * shortest timeout and an odd time, ns; one of them for several of these, so that
 * NICs which refuse each other's packets do not go on in step for ever.
 */
#define NIC_KEEP_TIMEOUTS 4u
#define NIC_KEEP_ODD 0xfffffu

/* ------------------------------------------------------------------ leaving */

/*
 * Datagrams that were refused by the latest word are given up, as they may be: two
 * NICs would else hold on to their frames for ever, for each other's sake. false:
 * others are under way.
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
			if (!(tx->flags & (NIC_TX_NACKED | NIC_TX_KEPT))) {
				all = false;
				continue;
			}
			/* An earlier transmission may still be on its way. */
			nic_vn_done(ep, tx->psn, VNET_WC_RETRY_EXC_ERR);
			nic_tx_free(nic, row, tx);
			nic_count(nic, unreachable);
		}
		nic_unlock(&row->lock);
	}
	return all;
}

/*
 * Packets that were refused by the latest word are taken back; false: others are
 * under way. The QP's sq_lock is held.
 */
static bool nic_take_back(struct nic *nic, struct nic_qp *qp, struct nic_endpoint *ep)
{
	struct nic_row *row = nic_row_at(nic, qp->row);
	u64 busy, again = 0, now = nic_patience(nic, plat_clock());
	bool all = true;

	if (ep->una == ep->next || plat_broken(NIC_RULE_UNLOAD))
		return true;
	if (nic_is_unordered(qp->type))
		return ep->leaving && nic_give_up_refused(nic, qp, ep);
	if (!row || ep->failed_status)
		return false;
	if (!nic_trylock(nic, &row->lock))
		return false;
	for (busy = row->busy; busy; busy &= busy - 1) {
		const struct nic_tx *tx = &row->tx[__builtin_ctzll(busy)];

		if (tx->qpn != qp->qpn)
			continue;
		/*
		 * Nobody answers: it may be written after all, and is then known by
		 * its number when it comes again.
		 */
		all = all && ((tx->flags & NIC_TX_NACKED) ||
			      (now > tx->answered &&
			       now - tx->answered > nic->hdr->settings.unreachable * 1000000ull));
		again |= 1ull << (tx->psn % NIC_WINDOW);
	}
	if (all) {
		nic_tx_cancel(nic, row, qp->qpn);
		ep->again |= again;
	}
	nic_unlock(&row->lock);
	return all;
}

/* The endpoint in this frame goes, if it can; frame_lock is held. */
static bool nic_frame_evict(struct nic *nic, struct nic_endpoint *ep)
{
	struct nic_qp *qp = nic_find_qp(nic, ep->qpn);
	bool gone = false;

	if (!qp) {
		ep->qpn = 0;
		return true;
	}
	/* Tried, never waited for: its holder may be waiting for frame_lock. */
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
	/* It may have work, for which it will come back. */
	nic_pend(nic, qp);
	return gone;
}

/* ------------------------------------------------------------ whose turn it is */

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

/* It waits for a frame, behind those that do; frame_lock is held, here and below. */
static void nic_want_frame(struct nic *nic, struct nic_qp *qp, enum nic_want what)
{
	struct nic_header *hdr = nic->hdr;
	bool waits = qp->wants_frame;

	if (what > qp->wants_frame)
		qp->wants_frame = what;
	if (waits)
		return;
	/* More than there are: not what we wrote there. */
	if (hdr->want_prod - hdr->want_cons >= nic->max_qp)
		hdr->want_cons = hdr->want_prod;
	nic->want[hdr->want_prod & nic->qp_index_mask] = nic_qp_index(nic, qp);
	hdr->want_prod++;
}

/* Who is next; NULL: nobody waits. */
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

/* -------------------------------------------------------------------- coming */

/* A free frame, or one that can be freed. */
static struct nic_endpoint *nic_frame_find(struct nic *nic, u64 now)
{
	/* Twice round a few frames; of many, some are always free or idle. */
	u32 i, looks = 2 * nic->max_frame;

	if (looks > NIC_MOST_LOOKS)
		looks = NIC_MOST_LOOKS;
	for (i = 0; i < looks; i++) {
		struct nic_endpoint *ep = &nic->frame[nic->hdr->frame_hand++ % nic->max_frame];

		if (!ep->qpn)
			return ep;
		if (now < ep->kept_until)
			continue;
		if (!ep->used) {
			if (nic_frame_evict(nic, ep))
				return ep;
			continue;
		}
		ep->used = 0;
		ep->kept_for = NIC_WANT_NONE;
		if (now < ep->turn_until)
			ep->kept_until = now + NIC_UNUSED_NS;
	}
	return NULL;
}

/* The QP's endpoint comes into this frame; its sq_lock is held. */
static void nic_frame_load(struct nic *nic, struct nic_endpoint *ep, struct nic_qp *qp, u64 now)
{
	*ep = *nic_backing_of(nic, qp);
	ep->sent = 0;
	ep->used = 1;
	ep->leaving = 0;
	ep->kept_until = 0;
	ep->kept_for = NIC_WANT_NONE;
	ep->turn_until = now + NIC_TURN_LENGTH_NS;
	ep->qpn = qp->qpn;
	nic_store_release(&qp->frame, (u32)(ep - nic->frame));
	nic_count(nic, loads);
}

/* It has come before it is asked for again: until then it stays. */
static void nic_frame_keep(struct nic *nic, struct nic_endpoint *ep, enum nic_want what, u64 now)
{
	struct nic_header *hdr = nic->hdr;
	u64 timeout = hdr->settings.rto_min * 1000ull;

	ep->kept_for = what;
	ep->kept_until = ep->turn_until;
	if (what != NIC_WANT_PACKET)
		return;
	if (now >= hdr->awaited_until) {
		timeout *= NIC_KEEP_TIMEOUTS;
		hdr->awaited_until = now + timeout;
	}
	ep->kept_until = now + timeout + (now & NIC_KEEP_ODD);
}

/* It is used: its turn begins, and another may be kept as long. */
static void nic_frame_used(struct nic *nic, struct nic_endpoint *ep)
{
	if (ep->kept_for == NIC_WANT_PACKET)
		nic_store(&nic->hdr->awaited_until, 0);
	ep->turn_until = plat_clock() + NIC_TURN_LENGTH_NS;
	ep->kept_until = 0;
	ep->kept_for = NIC_WANT_NONE;
}

/* The frame goes to who is next; false: it is in use just now. */
static bool nic_frame_give(struct nic *nic, struct nic_endpoint *ep, struct nic_qp *next, u64 now)
{
	/* Tried, never waited for: its holder may be waiting for frame_lock. */
	if (!nic_trylock(nic, &next->sq_lock))
		return false;
	/* Otherwise the frame is free, and its want is seen to be over. */
	if (nic_takes_packets(next) && !nic_is_resident(nic, next)) {
		nic_frame_load(nic, ep, next, now);
		nic_frame_keep(nic, ep, next->wants_frame, now);
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
	if (unlikely(ep->kept_for == NIC_WANT_SEND))
		nic_frame_used(nic, ep);
	ep->used = 1;
	return ep;
}

struct nic_endpoint *nic_endpoint_await(struct nic *nic, struct nic_qp *qp)
{
	struct nic_endpoint *ep = nic_endpoint_at(nic, qp);

	if (unlikely(!ep || ep->qpn != qp->qpn))
		return nic_endpoint_load(nic, qp, NIC_WANT_PACKET);
	if (unlikely(ep->kept_for))
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
	/* Who waits asks again. */
	nic->hdr->want_cons = nic->hdr->want_prod;
	for (i = nic_qp_next(nic, 0); i < nic->max_qp; i = nic_qp_next(nic, i + 1))
		nic->qp[i].wants_frame = NIC_WANT_NONE;
	/* A frame is whose queue pair says so; the copy at home is whole till then. */
	for (i = 0; i < nic->max_frame; i++) {
		struct nic_endpoint *ep = &nic->frame[i];
		struct nic_qp *qp = ep->qpn ? nic_find_qp(nic, ep->qpn) : NULL;

		if (ep->qpn && (!qp || qp->frame != i))
			ep->qpn = 0;
	}
	nic_unlock(&nic->hdr->frame_lock);
}
