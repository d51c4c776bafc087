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
 * Those who send ask for a frame all the time, an arriving packet only when its
 * sender tries again: so one endpoint for which a packet came in vain has the next
 * frame that becomes free, and keeps it until the packet comes again. Else NICs that
 * refuse each other's packets might never have both ends of a connection in.
 */
#include "nic_vn.h"

/* Frames that are looked at for one that can be had. */
#define NIC_MOST_LOOKS 128u
/* A packet that was refused is awaited for so many times the shortest timeout. */
#define NIC_AWAIT_TIMEOUTS 4u
/* And for an odd time more, ns, so that two NICs do not go on in step. */
#define NIC_AWAIT_ODD 0xfffffu

static struct nic_endpoint *nic_backing_of(struct nic *nic, const struct nic_qp *qp)
{
	return &nic->backing[nic_qp_index(nic, qp)];
}

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
			if (!(tx->flags & NIC_TX_NACKED)) {
				all = false;
				continue;
			}
			nic_fetch_or(&ep->done, 1ull << (tx->psn % NIC_WINDOW));
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
	u64 busy, again = 0, now = plat_clock();
	bool all = true;

	if (ep->una == ep->next || plat_broken(NIC_RULE_UNLOAD))
		return true;
	if (qp->type == NIC_QPT_UD)
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
			      now - tx->answered > nic->hdr->settings.unreachable * 1000000ull);
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

/* The endpoint that the next frame is for; 0: none. */
static u32 nic_awaited(const struct nic *nic)
{
	u32 qpn = nic_load(&nic->hdr->awaited);

	return qpn && plat_clock() < nic_load(&nic->hdr->awaited_until) ? qpn : 0;
}

static void nic_await(struct nic *nic, u32 qpn)
{
	u64 now = plat_clock();

	if (nic_awaited(nic))
		return;
	nic_store(&nic->hdr->awaited_until,
		  now + NIC_AWAIT_TIMEOUTS * nic->hdr->settings.rto_min * 1000ull +
			  (now & NIC_AWAIT_ODD));
	nic_store(&nic->hdr->awaited, qpn);
}

/* A free frame, or one that can be freed; frame_lock is held. */
static struct nic_endpoint *nic_frame_find(struct nic *nic)
{
	/* Twice round a few frames; of many, some are always free or idle. */
	u32 i, looks = 2 * nic->max_frame, awaited = nic_awaited(nic);

	if (looks > NIC_MOST_LOOKS)
		looks = NIC_MOST_LOOKS;
	for (i = 0; i < looks; i++) {
		struct nic_endpoint *ep = &nic->frame[nic->hdr->frame_hand++ % nic->max_frame];

		if (!ep->qpn)
			return ep;
		if (ep->qpn == awaited)
			continue;
		if (ep->used)
			ep->used = 0;
		else if (nic_frame_evict(nic, ep))
			return ep;
	}
	return NULL;
}

/* The QP's endpoint comes into this frame; its sq_lock and frame_lock are held. */
static void nic_frame_load(struct nic *nic, struct nic_endpoint *ep, struct nic_qp *qp)
{
	*ep = *nic_backing_of(nic, qp);
	ep->sent = 0;
	ep->used = 1;
	ep->leaving = 0;
	ep->qpn = qp->qpn;
	nic_store_release(&qp->frame, (u32)(ep - nic->frame));
	nic_count(nic, loads);
}

static bool nic_takes_packets(const struct nic_qp *qp)
{
	u8 state = nic_load(&qp->state);

	return state >= NIC_QPS_RTR && state != NIC_QPS_ERR;
}

/* A free frame is for the endpoint that is awaited, if that is another's: true. */
static bool nic_frame_to_awaited(struct nic *nic, struct nic_endpoint *ep, const struct nic_qp *qp)
{
	u32 qpn = nic_awaited(nic);
	struct nic_qp *other = qpn && qpn != qp->qpn ? nic_find_qp(nic, qpn) : NULL;
	bool given = false;

	/* Tried, never waited for: its holder may be waiting for frame_lock. */
	if (!other || !nic_trylock(nic, &other->sq_lock))
		return false;
	if (other->qpn == qpn && nic_takes_packets(other) && nic_load(&other->frame) == NIC_NONE) {
		nic_frame_load(nic, ep, other);
		given = true;
	}
	nic_unlock(&other->sq_lock);
	nic_pend(nic, other);
	return given;
}

static struct nic_endpoint *nic_endpoint_load(struct nic *nic, struct nic_qp *qp, bool arrived)
{
	struct nic_endpoint *ep;

	nic_count(nic, faults);
	if (!nic_trylock(nic, &nic->hdr->frame_lock))
		return NULL;
	ep = nic_frame_find(nic);
	while (ep && nic_frame_to_awaited(nic, ep, qp))
		ep = nic_frame_find(nic);
	if (ep)
		nic_frame_load(nic, ep, qp);
	else if (arrived)
		nic_await(nic, qp->qpn);
	nic_unlock(&nic->hdr->frame_lock);
	return ep;
}

struct nic_endpoint *nic_endpoint_get(struct nic *nic, struct nic_qp *qp)
{
	struct nic_endpoint *ep = nic_endpoint_at(nic, qp);

	if (unlikely(!ep || ep->qpn != qp->qpn))
		return nic_endpoint_load(nic, qp, false);
	ep->used = 1;
	return ep;
}

struct nic_endpoint *nic_endpoint_await(struct nic *nic, struct nic_qp *qp)
{
	struct nic_endpoint *ep = nic_endpoint_at(nic, qp);

	if (unlikely(!ep || ep->qpn != qp->qpn))
		ep = nic_endpoint_load(nic, qp, true);
	else
		ep->used = 1;
	if (unlikely(ep && nic_load(&nic->hdr->awaited) == qp->qpn))
		nic_store(&nic->hdr->awaited, 0);
	return ep;
}

/* ---------------------------------------------------------- a QP's own life */

bool nic_vn_is_busy(struct nic *nic, struct nic_qp *qp)
{
	const struct nic_endpoint *ep = nic_endpoint_at(nic, qp);

	if (!ep || ep->qpn != qp->qpn) {
		/* What was taken back is under way all the same. */
		if (!nic->max_row || qp->row == NIC_NONE)
			return false;
		ep = nic_backing_of(nic, qp);
	}
	return (ep->una != ep->next || ep->cut || (s32)(ep->sq_next - qp->sq_cons) > 0);
}

struct nic_endpoint *nic_endpoint_any(struct nic *nic, struct nic_qp *qp)
{
	struct nic_endpoint *ep = nic_endpoint_at(nic, qp);

	return ep && ep->qpn == qp->qpn ? ep : nic_backing_of(nic, qp);
}

void nic_vn_configure(struct nic *nic, struct nic_qp *qp, bool path, u8 from, u8 to)
{
	struct nic_endpoint *ep;

	if (!nic->max_row)
		return;
	if (path && qp->type != NIC_QPT_UD)
		qp->row = nic_is_own_gid(nic, qp->attr.dgid) ?
				  NIC_NONE :
				  nic_row_find(nic, qp->attr.dgid,
					       nic->hdr->gid[qp->attr.sgid_index % NIC_MAX_GIDS]);
	ep = nic_endpoint_any(nic, qp);
	if (to == NIC_QPS_RTR && from == NIC_QPS_INIT) {
		memset(ep, 0, sizeof(*ep));
		ep->expected = qp->attr.rq_psn;
	}
	if (to == NIC_QPS_RTS && from == NIC_QPS_RTR) {
		ep->next = qp->attr.sq_psn;
		ep->una = qp->attr.sq_psn;
		ep->read_end = qp->attr.sq_psn;
		ep->sq_next = qp->sq_cons;
	}
	if (to == NIC_QPS_RTS && (from == NIC_QPS_SQE || from == NIC_QPS_RTR)) {
		ep->sq_next = qp->sq_cons;
		ep->failed_status = 0;
	}
}

static bool nic_row_cancel(struct nic *nic, u32 n, u32 qpn)
{
	struct nic_row *row = nic_row_at(nic, n);

	if (!row || row->state == NIC_ROW_FREE || !row->busy)
		return true;
	if (!nic_lock(nic, &row->lock))
		return false;
	nic_tx_cancel(nic, row, qpn);
	nic_unlock(&row->lock);
	return true;
}

bool nic_vn_cancel(struct nic *nic, struct nic_qp *qp, struct nic_endpoint *ep)
{
	u32 i, high = nic_row_high(nic);

	if (qp->type != NIC_QPT_UD) {
		if (!nic_row_cancel(nic, qp->row, qp->qpn))
			return false;
	} else {
		for (i = 0; i < high; i++) {
			if (!nic_row_cancel(nic, i, qp->qpn))
				return false;
		}
	}
	nic_store(&ep->una, ep->next);
	nic_store(&ep->done, 0);
	ep->again = 0;
	ep->failed_status = 0;
	ep->hold_until = 0;
	ep->cut = 0;
	nic_store(&ep->sq_next, qp->sq_cons);
	return true;
}

bool nic_vn_leave(struct nic *nic, struct nic_qp *qp)
{
	struct nic_endpoint *ep = nic_endpoint_at(nic, qp);

	if (!nic->max_row)
		return true;
	if (ep && ep->qpn == qp->qpn) {
		/* All of it or nothing: what is cancelled must not be sent again. */
		if (!nic_trylock(nic, &nic->hdr->frame_lock))
			return false;
		if (!nic_vn_cancel(nic, qp, ep)) {
			nic_unlock(&nic->hdr->frame_lock);
			return false;
		}
		nic_store(&qp->frame, NIC_NONE);
		memset(ep, 0, sizeof(*ep));
		nic_unlock(&nic->hdr->frame_lock);
	}
	memset(nic_backing_of(nic, qp), 0, sizeof(*ep));
	qp->row = NIC_NONE;
	return true;
}

/* ---------------------------------------------------------------------- death */

/* Bits of packets [from, to), at most NIC_WINDOW. */
static u64 nic_window_bits(u32 from, u32 to)
{
	u64 bits = 0;

	for (; from != to && to - from <= NIC_WINDOW; from++)
		bits |= 1ull << (from % NIC_WINDOW);
	return bits;
}

/* Counts are what the tables say, and all timers end soon. */
static void nic_row_repair(struct nic_row *row)
{
	u64 busy, now = plat_clock();

	row->unacked = 0;
	row->unacked_bytes = 0;
	row->nowed = 0;
	for (busy = row->owed; busy; busy &= busy - 1)
		row->nowed++;
	for (busy = row->busy; busy; busy &= busy - 1) {
		struct nic_tx *tx = &row->tx[__builtin_ctzll(busy)];

		row->unacked++;
		row->unacked_bytes += tx->length;
		tx->due = now;
	}
	row->due = now;
}

static void nic_row_recover(struct nic_row *row, u32 owner)
{
	u32 i;

	/* A packet that it was writing comes again, and is known if it was written. */
	for (i = 0; i < VNET_WIRE_CHANNELS; i++) {
		if (nic_load(&row->rx[i].busy) == owner)
			nic_store(&row->rx[i].busy, 0);
	}
	if (nic_load(&row->lock) != owner)
		return;
	nic_row_repair(row);
	nic_unlock(&row->lock);
}

/*
 * Half way through launching a packet: as if it was not, so that the same piece goes
 * out with the same number. The row's lock is free, or still the dead owner's.
 */
static void nic_launch_recover(struct nic *nic, struct nic_qp *qp, struct nic_endpoint *ep)
{
	struct nic_row *row = nic_row_at(nic, qp->row);
	u32 last = (ep->next - 1) % NIC_WINDOW;
	u64 busy;

	if (ep->next != ep->una && ep->index[last] == ep->sq_next && ep->offset[last] == ep->cut)
		ep->next--;
	else if (ep->next != ep->una && ep->cut && ep->index[last] != ep->sq_next)
		ep->cut = 0;
	for (busy = row ? row->busy : 0; busy; busy &= busy - 1) {
		struct nic_tx *tx = &row->tx[__builtin_ctzll(busy)];

		if (tx->qpn == qp->qpn && tx->psn == ep->next)
			nic_tx_free(nic, row, tx);
	}
	/* Bits outside of the windows are of packets that were counted already. */
	if (ep->next - ep->una < NIC_WINDOW)
		nic_fetch_and(&ep->done, nic_window_bits(ep->una, ep->next));
	nic_fetch_and(&ep->again, nic_window_bits(ep->una, ep->next));
	ep->ahead &= ~(1ull << ((ep->expected - 1) % NIC_WINDOW));
}

/* A receive that it was taking for a message in pieces. */
static void nic_open_recover(struct nic *nic, struct nic_qp *qp, u32 owner)
{
	struct nic_endpoint *ep = nic_endpoint_at(nic, qp);
	struct nic_srq *srq = qp->srqn ? nic_find_srq(nic, qp->srqn) : NULL;
	struct nic_rq *rq = srq ? &srq->rq : &qp->rq;

	if (!ep || ep->qpn != qp->qpn || !ep->receive.open || nic_load(&rq->lock) != owner)
		return;
	if (rq->cons == ep->receive.index)
		nic_take_receive(nic, rq);
}

static void nic_frames_recover(struct nic *nic, u32 owner)
{
	u32 i;

	if (nic_load(&nic->hdr->frame_lock) != owner)
		return;
	/* A frame is whose queue pair says so; the copy at home is whole till then. */
	for (i = 0; i < nic->max_frame; i++) {
		struct nic_endpoint *ep = &nic->frame[i];
		struct nic_qp *qp = ep->qpn ? nic_find_qp(nic, ep->qpn) : NULL;

		if (ep->qpn && (!qp || qp->frame != i))
			ep->qpn = 0;
	}
	nic_unlock(&nic->hdr->frame_lock);
}

void nic_vn_recover(struct nic *nic, u32 owner)
{
	u32 i, high = nic_load(&nic->hdr->row_high);

	if (!nic->max_row)
		return;
	for (i = 0; i < nic_qp_high(nic); i++) {
		struct nic_qp *qp = &nic->qp[i];
		struct nic_endpoint *ep = nic_endpoint_at(nic, qp);

		if (!qp->qpn || nic_load(&qp->sq_lock) != owner)
			continue;
		nic_open_recover(nic, qp, owner);
		if (ep && ep->qpn == qp->qpn && qp->type != NIC_QPT_UD)
			nic_launch_recover(nic, qp, ep);
	}
	for (i = 0; i < high && i < nic->max_row; i++)
		nic_row_recover(&nic->row[i], owner);
	if (nic_load(&nic->hdr->row_lock) == owner)
		nic_unlock(&nic->hdr->row_lock);
	/* Whatever it had begun to look at. */
	if (high)
		nic_xchg(&nic->hdr->row_active, ~0ull);
	nic_frames_recover(nic, owner);
}
