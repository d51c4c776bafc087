// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Rings of queues: their addresses, checked. */
#include "layout/lookup.h"
#include "layout/ring.h"

#define NIC_MAX_RING_ENTRIES (1u << 24)

struct vnet_ring *nic_ring_check(struct nic *nic, u64 ring, u32 entries, u8 shift)
{
	if (!entries || entries > NIC_MAX_RING_ENTRIES || (entries & (entries - 1)) ||
	    ring % VNET_CACHE_LINE)
		return NULL;
	return plat_queue(nic, ring, VNET_RING_HDR_SIZE + ((u64)entries << shift));
}

/* ------------------------------------------------------------- the send queue */

struct vnet_ring *nic_sq_ring(struct nic *nic, const struct nic_qp *qp)
{
	if (!nic_slot_holds(qp->sq_shift, VNET_WQE_HDR_SIZE, 0))
		return NULL;
	return plat_queue(nic, qp->sq_ring,
			  VNET_RING_HDR_SIZE + (((u64)qp->sq_mask + 1) << qp->sq_shift));
}
