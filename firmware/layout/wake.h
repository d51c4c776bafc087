/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Wake-ups of the NIC processor. The caller has recorded the work, and then executed a full
 * barrier. Pairs with the barrier between the processor's store of processor_sleeps and its last
 * check for work: either the processor finds the work, or the caller finds it asleep.
 */
#ifndef NIC_WAKE_H
#define NIC_WAKE_H

#include "layout/lookup.h"

/* End the processor's sleep. Returns true to the one thread that has to kick it. */
static inline bool nic_end_sleep(struct nic *nic)
{
	return nic_xchg(&nic->hdr->processor_sleeps, NIC_AWAKE) != NIC_AWAKE;
}

/* Wake the processor, whether it sleeps or dozes: work can be done at once. */
static inline void nic_wake_now(struct nic *nic)
{
	if (nic_load(&nic->hdr->processor_sleeps) != NIC_AWAKE && nic_end_sleep(nic)) {
		nic_count(nic, kicks);
		plat_kick(nic);
	}
}

/* Wake the processor if it has no tick. While it dozes, its next tick is early enough. */
static inline void nic_wake_for_tick(struct nic *nic)
{
	if (nic_load(&nic->hdr->processor_sleeps) == NIC_SLEEPS && nic_end_sleep(nic)) {
		nic_count(nic, kicks);
		plat_kick(nic);
	}
}

#endif /* NIC_WAKE_H */
