// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* The slow side of the locks of NIC memory. */
#include "layout/lock.h"

bool nic_lock_slow(struct nic *nic, nic_lock_t *lock)
{
	int turn;

	for (turn = 0; turn < NIC_LOCK_SPINS; turn++) {
		plat_relax();
		/* Look before trying, so that the line stays with its holder. */
		if (!nic_load(lock) && nic_trylock(nic, lock))
			return true;
	}
	return false;
}
