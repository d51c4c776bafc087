// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Slow path of the locks of NIC memory. */
#include "layout/lock.h"

bool nic_lock_slow(struct nic *nic, nic_lock_t *lock)
{
	int turn;

	for (turn = 0; turn < NIC_LOCK_SPINS; turn++) {
		plat_relax();
		/* Load before trying, so that the cache line stays with the lock's holder. */
		if (!nic_load(lock) && nic_trylock(nic, lock))
			return true;
	}
	return false;
}
