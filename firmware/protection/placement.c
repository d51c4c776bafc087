// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Flush operations (IB vol 1, annex A19): complete when earlier writes are placed. A responder
 * executes requests in order, and completely. So a flush only has to check the access rights, and
 * to make the data visible to all processors.
 */
#include "protection/protection.h"

bool nic_placement_read(u64 operand, struct nic_placement *p)
{
	u8 type = (u8)operand, level = (u8)(operand >> 8);

	if (operand != vnet_flush_operand(type, level) || !type || type & ~VNET_FLUSH_TYPES ||
	    level > VNET_FLUSH_MR)
		return false;
	p->access = (type & VNET_FLUSH_GLOBAL ? NIC_ACCESS_FLUSH_GLOBAL : 0) |
		    (type & VNET_FLUSH_PERSISTENT ? NIC_ACCESS_FLUSH_PERSISTENT : 0);
	p->whole = level == VNET_FLUSH_MR;
	return true;
}

enum vnet_wc_status nic_placement_run(struct nic *nic, const struct nic_qp *qp, u32 pdn,
				      const struct nic_placement *p)
{
	if (!qp->attr.max_dest_rd_atomic || (p->access & ~qp->attr.access))
		return VNET_WC_REM_INV_REQ_ERR;
	if (!nic_check_placement(nic, pdn, qp->qpn, p))
		return VNET_WC_REM_ACCESS_ERR;
	/* The earlier writers held the send queue's lock before this executor. */
	nic_barrier();
	return VNET_WC_SUCCESS;
}
