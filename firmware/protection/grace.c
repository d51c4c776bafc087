// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Grace periods: the end of all operations that began before a key was revoked.
 *
 * An operation that looked up the key earlier may still be copying. Each operation runs under the
 * lock of a send queue, and between two operations the executor stores the NIC's epoch in the QP.
 * So the operations of a QP that began before the epoch was advanced have ended once its lock is
 * seen free, or its stored epoch is seen to be new. Constant traffic cannot delay this: no lock has
 * to be taken, and all QPs are waited for at the same time.
 *
 * A process may be stopped in the middle of an operation for hours. Memory waits for that operation
 * only if it can use memory of the same protection domain.
 */
#include "layout/lookup.h"

u32 nic_grace_begin(struct nic *nic)
{
	/*
	 * Full barrier between the revocation and the loads of the locks. It pairs with the barrier
	 * of nic_trylock(), after which an executor looks up keys.
	 */
	return nic_fetch_add(&nic->hdr->grace_epoch, 1) + 1;
}

static bool nic_grace_passed(const struct nic_qp *qp, u32 ticket)
{
	/* Acquire: the caller, which frees the memory, sees what the operation wrote. */
	if (!nic_load_acquire(&qp->sq_lock))
		return true;
	return (s32)(nic_load_acquire(&qp->grace_seen) - ticket) >= 0;
}

/*
 * Can the operation that holds this QP's lock use memory of the domain? The domains of the QP and
 * of its peer do not change while it is locked: the peer is destroyed, or set to RESET, only when
 * no operation with it is under way.
 */
static bool nic_grace_concerns(struct nic *nic, const struct nic_qp *qp, u32 pdn)
{
	struct nic_qp *peer;
	struct nic_srq *srq;

	if (nic_load(&qp->pdn) == pdn || nic_load(&qp->type) == NIC_QPT_UD ||
	    nic_load(&qp->type) == NIC_QPT_RAW_PACKET)
		return true;
	/* Each request may name another SRQ, and with it another protection domain. */
	if (nic_is_extended(nic_load(&qp->kind)))
		return true;
	/*
	 * Packets that arrive for this QP are executed under its lock, and may write to its SRQ's
	 * receives.
	 */
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

		/* Most operations end within this number of spins, which all QPs share. */
		for (; !nic_grace_passed(qp, ticket) && turns; turns--)
			plat_relax();
		if (!turns && !nic_grace_passed(qp, ticket) &&
		    (pdn == NIC_NONE || nic_grace_concerns(nic, qp, pdn)))
			return false;
	}
	return true;
}
