// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Collects the local memory of a request: its SGEs, checked against their keys, or inline data. */
#include "layout/lookup.h"
#include "layout/message.h"
#include "protection/protection.h"
#include "requester/requester.h"

/* --------------------------------------------------------------- gathering */

static u32 nic_gather_inline(struct nic_request *r)
{
	if (r->wqe.inline_len > r->qp->max_inline ||
	    !nic_slot_holds(r->qp->sq_shift, VNET_WQE_HDR_SIZE, r->wqe.inline_len))
		return VNET_WC_LOC_LEN_ERR;
	r->local[0].addr = (u64)(unsigned long)r->tail;
	r->local[0].length = r->wqe.inline_len;
	r->local[0].space = NIC_SPACE_POINTER;
	r->nlocal = r->wqe.inline_len != 0;
	r->length = r->wqe.inline_len;
	return VNET_WC_SUCCESS;
}

u32 nic_gather(struct nic_request *r, u32 access)
{
	const struct vnet_sge *sges = (const struct vnet_sge *)r->tail;
	u32 i;

	r->nlocal = 0;
	r->length = 0;
	if (r->wqe.flags & VNET_WR_INLINE)
		return access ? VNET_WC_LOC_QP_OP_ERR : nic_gather_inline(r);
	if (r->wqe.num_sge > r->qp->max_send_sge || r->wqe.num_sge > VNET_MAX_SGE ||
	    !nic_slot_holds(r->qp->sq_shift, VNET_WQE_HDR_SIZE, r->wqe.num_sge * sizeof(*sges)))
		return VNET_WC_LOC_QP_OP_ERR;
	for (i = 0; i < r->wqe.num_sge; i++) {
		struct vnet_sge sge;

		memcpy(&sge, &sges[i], sizeof(sge));
		nic_read_once_barrier();
		if (!sge.length)
			continue;
		if (!nic_check_key(r->nic, sge.lkey, r->qp->pdn, r->qp->qpn, access, sge.addr,
				   sge.length, &r->local[r->nlocal]))
			return VNET_WC_LOC_PROT_ERR;
		r->length += sge.length;
		r->nlocal++;
	}
	return r->length > NIC_MAX_MSG ? VNET_WC_LOC_LEN_ERR : VNET_WC_SUCCESS;
}

NIC_COLD u32 nic_gather_word(struct nic_request *r)
{
	struct nic_piece here = { .addr = (u64)(unsigned long)&r->wqe.rdma.compare_add,
				  .length = 8,
				  .space = NIC_SPACE_POINTER };
	enum nic_copy_result result;
	u32 status = nic_gather(r, 0);

	if (status)
		return status;
	if (r->length != 8)
		return VNET_WC_LOC_LEN_ERR;
	result = nic_copy(r->nic, nic_page_waiter(r->qp, NIC_REQUESTS, r->index), &here, 1,
			  r->local, r->nlocal, 8);
	if (unlikely(nic_is_later(result)))
		return NIC_EXEC_PAGES;
	return result == NIC_COPY_OK ? VNET_WC_SUCCESS : VNET_WC_LOC_PROT_ERR;
}

u32 nic_gather_flush(struct nic_request *r)
{
	struct nic_placement p;

	r->nlocal = 0;
	r->length = 0;
	if (r->wqe.num_sge || r->wqe.flags & VNET_WR_INLINE ||
	    !nic_placement_read(r->wqe.rdma.swap, &p))
		return VNET_WC_LOC_QP_OP_ERR;
	return VNET_WC_SUCCESS;
}
