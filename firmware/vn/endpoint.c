// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Endpoints at state transitions of their QP, and recovery of the vn state after a death. */
#include "address/address.h"
#include "layout/lookup.h"
#include "transport/transport.h"
#include "completion/completion.h"
#include "tags/tags.h"
#include "objects/objects.h"
#include "vn/vn.h"

/* ---------------------------------------------------------- a QP's own life */

/* Under sq_lock; without it, callers check again under the lock. */
bool nic_vn_is_busy(struct nic *nic, struct nic_qp *qp)
{
	const struct nic_endpoint *ep = nic_endpoint_at(nic, qp);

	if (!ep || nic_load(&ep->qpn) != nic_load(&qp->qpn)) {
		/* Packets that were taken back are outstanding, too. */
		if (!nic->max_row || nic_load(&qp->row) == NIC_NONE)
			return false;
		ep = nic_backing_of(nic, qp);
	}
	return nic_load(&ep->una) != nic_load(&ep->next) || nic_load(&ep->cut) ||
	       (s32)(nic_load(&ep->sq_next) - nic_load(&qp->sq_cons)) > 0;
}

struct nic_endpoint *nic_endpoint_any(struct nic *nic, struct nic_qp *qp)
{
	struct nic_endpoint *ep = nic_endpoint_at(nic, qp);

	return ep && ep->qpn == qp->qpn ? ep : nic_backing_of(nic, qp);
}

/* Find the row of a path. NIC_NONE: the path leads to this NIC, or has no known address. */
static enum nic_result nic_vn_find(struct nic *nic, const struct nic_qp *qp, u32 *n)
{
	u32 tries;

	*n = NIC_NONE;
	if (nic_is_own_path(nic, &qp->attr))
		return NIC_OK;
	/* Twice, because the lock may have become free between the two attempts. */
	for (tries = 0; tries < 2; tries++) {
		*n = nic_path_row(nic, &qp->attr);
		if (likely(*n != NIC_NONE) || !nic_path_is_known(nic, &qp->attr))
			return NIC_OK;
		/* The lock's owner may be stopped. */
		if (!nic_lock(nic, &nic->hdr->row_lock))
			return NIC_BUSY;
		nic_unlock(&nic->hdr->row_lock);
	}
	return NIC_ENOMEM;
}

/*
 * Set the row of a connection's path. The row is stored before it is looked up once more: a row
 * that is being reclaimed is not found then, and one that is found is not reclaimed any more.
 */
static enum nic_result nic_vn_connect(struct nic *nic, struct nic_qp *qp)
{
	enum nic_result result;
	u32 tries, n;

	for (tries = 0; tries < NIC_ROW_TRIES; tries++) {
		result = nic_vn_find(nic, qp, &n);
		if (result == NIC_OK && n == qp->row)
			return NIC_OK;
		/* The row that was set before may have been reclaimed meanwhile. */
		if (result == NIC_OK || tries)
			nic_store(&qp->row, n);
		if (result != NIC_OK)
			return result;
		/* Pairs with the barrier in nic_row_evict(). */
		nic_barrier();
	}
	nic_store(&qp->row, NIC_NONE);
	return NIC_BUSY;
}

enum nic_result nic_vn_configure(struct nic *nic, struct nic_qp *qp, bool path, u8 from, u8 to)
{
	enum nic_result result = NIC_OK;
	struct nic_endpoint *ep;

	if (!nic->max_row)
		return NIC_OK;
	if (path && !nic_is_unordered(qp->type))
		result = nic_vn_connect(nic, qp);
	if (result != NIC_OK)
		return result;
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
		nic_store(&ep->failed, 0);
	}
	return NIC_OK;
}

static bool nic_row_cancel(struct nic *nic, u32 n, u32 qpn)
{
	struct nic_row *row = nic_row_at(nic, n);

	if (!row || nic_load(&row->state) == NIC_ROW_FREE || !nic_load(&row->busy))
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

	if (!nic_is_unordered(qp->type)) {
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
	ep->resend = 0;
	nic_store(&ep->failed, 0);
	ep->rnr_until = 0;
	nic_store(&ep->cut, 0);
	nic_store(&ep->sq_next, qp->sq_cons);
	return true;
}

bool nic_vn_teardown(struct nic *nic, struct nic_qp *qp)
{
	struct nic_endpoint *ep = nic_endpoint_at(nic, qp);

	if (!nic->max_row)
		return true;
	if (ep && ep->qpn == qp->qpn) {
		/*
		 * The endpoint must not be evicted half-way: cancelled packets must not be sent
		 * again.
		 */
		if (!nic_trylock(nic, &nic->hdr->frame_lock))
			return false;
		if (!nic_vn_cancel(nic, qp, ep)) {
			nic_unlock(&nic->hdr->frame_lock);
			return false;
		}
		nic_tm_abandon(nic, qp, &ep->receive);
		nic_store(&qp->frame, NIC_NONE);
		memset(ep, 0, sizeof(*ep));
		nic_unlock(&nic->hdr->frame_lock);
	} else {
		nic_tm_abandon(nic, qp, &nic_backing_of(nic, qp)->receive);
	}
	memset(nic_backing_of(nic, qp), 0, sizeof(*ep));
	qp->row = NIC_NONE;
	return true;
}

/* ---------------------------------------------------------------------- death */

/* Recompute the counts from the tables, and let all timers expire. */
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

static void nic_row_recover(struct nic *nic, struct nic_row *row, u32 owner)
{
	u32 i;

	/* A packet that the owner was writing is repeated, and recognised if it was written. */
	for (i = 0; i < VNET_WIRE_CHANNELS; i++) {
		if (nic_load(&row->rx[i].busy) == owner)
			nic_store(&row->rx[i].busy, 0);
	}
	if (nic_load(&row->lock) != owner)
		return;
	nic_row_repair(row);
	/* The row was being reclaimed; that did not complete. */
	if (row->state == NIC_ROW_FREE)
		nic_row_renew(nic, row);
	nic_unlock(&row->lock);
}

/*
 * Undo a packet whose launch was interrupted, so that the same piece is sent with the same packet
 * number. The row's lock is free, or still held by the dead owner.
 */
static void nic_launch_recover(struct nic *nic, struct nic_qp *qp, struct nic_endpoint *ep,
			       struct nic_row *row)
{
	u32 last = (ep->next - 1) % NIC_WINDOW;
	u64 busy;

	if (ep->next != ep->una && ep->index[last] == ep->sq_next && ep->offset[last] == ep->cut)
		ep->next--;
	else if (ep->next != ep->una && ep->cut && ep->index[last] != ep->sq_next)
		nic_store(&ep->cut, 0);
	for (busy = row ? row->busy : 0; busy; busy &= busy - 1) {
		struct nic_tx *tx = &row->tx[__builtin_ctzll(busy)];

		if (tx->qpn == qp->qpn && tx->psn == ep->next)
			nic_tx_free(nic, row, tx);
	}
	/* Bits outside of the windows belong to packets that were counted already. */
	if (ep->next - ep->una < NIC_WINDOW)
		nic_fetch_and(&ep->done, nic_window_bits(ep->una, ep->next));
	nic_fetch_and(&ep->resend, nic_window_bits(ep->una, ep->next));
	ep->ahead &= ~(1ull << ((ep->expected - 1) % NIC_WINDOW));
}

/* The same for datagrams, in the rows whose locks the owner held. */
static void nic_datagram_recover(struct nic *nic, struct nic_qp *qp, struct nic_endpoint *ep,
				 u32 owner)
{
	u32 i, high = nic_row_high(nic);

	for (i = 0; i < high; i++) {
		if (nic_load(&nic->row[i].lock) == owner)
			nic_launch_recover(nic, qp, ep, &nic->row[i]);
	}
	/* Stale progress of a request that has all its packets: see nic_request_segmented(). */
	if (ep->cut && nic_group_at(ep->cut, ep->sq_next) == NIC_NONE)
		ep->cut = 0;
}

/* nic_open_recover() for a queue that matches tags. */
static void nic_open_recover_tm(struct nic *nic, struct nic_srq *srq,
				const struct nic_open_receive *open)
{
	struct nic_tm_list l;

	if (open->tm_kind >= NIC_TM_EAGER) {
		nic_tm_retake(nic, srq, open->index, open->tm_count);
		return;
	}
	if (srq->rq.cons != open->index)
		return;
	if (open->tm_kind == NIC_TM_UNEXPECTED && nic_tm_open(nic, srq, &l))
		l.tm->unexpected = open->tm_count;
	nic_take_receive(nic, &srq->rq);
}

/* Finish taking the receive of a message in pieces. */
static void nic_open_recover(struct nic *nic, struct nic_qp *qp, u32 owner)
{
	struct nic_endpoint *ep = nic_endpoint_at(nic, qp);
	struct nic_srq *srq;
	struct nic_rq *rq;

	if (!ep || ep->qpn != qp->qpn || !ep->receive.open)
		return;
	srq = qp->srqn ? nic_srq_of(nic, qp, ep->receive.srqn) : NULL;
	rq = srq ? &srq->rq : &qp->rq;
	if (nic_load(&rq->lock) != owner)
		return;
	if (unlikely(srq && nic_rq_is_tm(rq)))
		nic_open_recover_tm(nic, srq, &ep->receive);
	else if (rq->cons == ep->receive.index)
		nic_take_receive(nic, rq);
}

void nic_vn_recover(struct nic *nic, u32 owner)
{
	u32 i, high = nic_load(&nic->hdr->row_high);

	if (!nic->max_row)
		return;
	for (i = nic_qp_next(nic, 0); i < nic->max_qp; i = nic_qp_next(nic, i + 1)) {
		struct nic_qp *qp = &nic->qp[i];
		struct nic_endpoint *ep = nic_endpoint_at(nic, qp);

		if (!qp->qpn || nic_load(&qp->sq_lock) != owner)
			continue;
		nic_open_recover(nic, qp, owner);
		if (!ep || ep->qpn != qp->qpn)
			continue;
		if (nic_is_unordered(qp->type))
			nic_datagram_recover(nic, qp, ep, owner);
		else
			nic_launch_recover(nic, qp, ep, nic_row_at(nic, qp->row));
	}
	for (i = 0; i < high && i < nic->max_row; i++)
		nic_row_recover(nic, &nic->row[i], owner);
	if (nic_load(&nic->hdr->row_lock) == owner)
		nic_unlock(&nic->hdr->row_lock);
	/* The owner may have died while it looked at the timers of any row. */
	if (high)
		nic_xchg(&nic->hdr->row_active, ~0ull);
	nic_frames_recover(nic, owner);
}
