// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Grace periods: when a key is taken away, operations that looked it up before
 * may still be copying. They run under the lock of a send queue, and between
 * two of them their executor notes the NIC's epoch in the QP. So a moment after
 * which a QP's lock was free, or its epoch no longer old, is the end of every
 * operation of that QP that began before. Constant traffic cannot delay it: no
 * lock needs to be caught, and all QPs are waited for at once.
 *
 * A process may be stopped in the midst of an operation, for hours. Memory waits
 * for that only if the operation is one of its own protection domain's.
 */
#include "nic_internal.h"

u32 nic_grace_begin(struct nic *nic)
{
	/*
	 * A full barrier between what was taken away and the look at the locks;
	 * pairs with that of taking a lock before anything is looked up.
	 */
	return nic_fetch_add(&nic->hdr->grace_epoch, 1) + 1;
}

static bool nic_grace_passed(const struct nic_qp *qp, u32 ticket)
{
	/* Acquire: what the operation wrote is seen by who frees its memory. */
	if (!nic_load_acquire(&qp->sq_lock))
		return true;
	return (s32)(nic_load_acquire(&qp->grace_seen) - ticket) >= 0;
}

/*
 * May the operation of this QP, which is locked, use memory of the domain? Its
 * own domain and its peer's do not change while it is: the peer is destroyed,
 * and set to RESET, only when nobody is in the midst of an operation with it.
 */
static bool nic_grace_concerns(struct nic *nic, const struct nic_qp *qp, u32 pdn)
{
	struct nic_qp *peer;
	struct nic_srq *srq;

	if (nic_load(&qp->pdn) == pdn || nic_load(&qp->type) == NIC_QPT_UD ||
	    nic_load(&qp->type) == NIC_QPT_RAW_PACKET)
		return true;
	/* Each request may name another SRQ, and with it another domain. */
	if (nic_is_extended(nic_load(&qp->kind)))
		return true;
	/* What comes by the wire is written by the queue pair's own executor. */
	srq = nic_load(&qp->srqn) ? nic_find_srq(nic, qp->srqn) : NULL;
	if (srq && nic_load(&srq->rq.pdn) == pdn)
		return true;
	peer = nic_find_qp(nic, nic_load(&qp->attr.dest_qpn));
	if (!peer)
		return false;
	srq = nic_load(&peer->srqn) ? nic_find_srq(nic, peer->srqn) : NULL;
	return nic_load(&peer->pdn) == pdn || (srq && nic_load(&srq->rq.pdn) == pdn);
}

bool nic_grace_over(struct nic *nic, u32 ticket, u32 pdn)
{
	int turns = NIC_LOCK_SPINS;
	u32 i;

	for (i = nic_qp_next(nic, 0); i < nic->max_qp; i = nic_qp_next(nic, i + 1)) {
		struct nic_qp *qp = &nic->qp[i];

		/* Most operations end within the turns of all together. */
		for (; !nic_grace_passed(qp, ticket) && turns; turns--)
			plat_relax();
		if (!turns && !nic_grace_passed(qp, ticket) &&
		    (pdn == NIC_NONE || nic_grace_concerns(nic, qp, pdn)))
			return false;
	}
	return true;
}
