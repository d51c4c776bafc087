// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Grace periods: when a key is taken away, operations that looked it up before
 * may still be copying. They run under the lock of a send queue, and between
 * two of them their executor notes the NIC's epoch in the QP. So a moment after
 * which a QP's lock was free, or its epoch no longer old, is the end of every
 * operation of that QP that began before. Constant traffic cannot delay it: no
 * lock needs to be caught, and all QPs are waited for at once.
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

bool nic_grace_over(struct nic *nic, u32 ticket)
{
	int turns = NIC_LOCK_SPINS;
	u32 i, high = nic_qp_high(nic);

	for (i = 0; i < high; i++) {
		/* Most operations end within the turns of all together. */
		while (!nic_grace_passed(&nic->qp[i], ticket)) {
			if (!turns--)
				return false;
			plat_relax();
		}
	}
	return true;
}
