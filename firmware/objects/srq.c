// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Shared receive queues: commands. responder/receive.c takes their receives. */
#include "layout/lookup.h"
#include "layout/ring.h"
#include "tags/tags.h"

static bool nic_srq_params_ok(struct nic *nic, const struct nic_srq_params *p)
{
	return p->max_sge <= VNET_MAX_SGE && p->xrcdn <= 0xffff &&
	       (!p->xrcdn && !p->tm_tags) == !p->cqn && !(p->xrcdn && p->tm_tags) &&
	       (!p->cqn || nic_find_cq(nic, p->cqn)) &&
	       nic_slot_holds(p->stride_shift, VNET_RECV_HDR_SIZE,
			      p->max_sge * sizeof(struct vnet_sge)) &&
	       nic_ring_check(nic, p->ring, p->entries, p->stride_shift);
}

enum nic_result nic_srq_create(struct nic *nic, u32 srqn, const struct nic_srq_params *p)
{
	struct nic_srq *srq;

	if (!srqn || srqn >> NIC_QPN_BITS || !nic_srq_params_ok(nic, p))
		return NIC_EINVAL;
	srq = &nic->srq[nic_srqn_index(nic, srqn)];
	if (nic_load(&srq->rq.num))
		return NIC_EINUSE;
	if (p->tm_tags && !nic_tm_make(nic, p))
		return NIC_EINVAL;
	/* An earlier SRQ of this entry may still have a lock holder. */
	if (!nic_lock(nic, &srq->rq.lock))
		return NIC_BUSY;
	srq->rq.cons = 0;
	srq->rq.prod_seen = 0;
	srq->rq.ring = p->ring;
	srq->rq.mask = p->entries - 1;
	srq->rq.shift = p->stride_shift;
	srq->rq.max_sge = p->max_sge;
	srq->rq.is_srq = 1;
	srq->rq.pdn = p->pdn;
	srq->rq.space = p->space;
	/* Armed only by nic_srq_set_limit(); a limit given at creation is ignored. */
	srq->rq.limit = 0;
	srq->rq.lossy = 1;
	srq->xrcdn = p->xrcdn;
	srq->cqn = p->cqn;
	srq->tm = p->tm_tags ? p->tm : 0;
	srq->tm_tags = p->tm_tags;
	if (p->tm_tags)
		srq->rq.shift |= NIC_RQ_TM;
	srq->use++;
	nic_store(&srq->async_pending, 0);
	nic_store_release(&srq->rq.num, srqn);
	nic_unlock(&srq->rq.lock);
	return NIC_OK;
}

enum nic_result nic_srq_set_limit(struct nic *nic, u32 srqn, u32 limit)
{
	struct nic_srq *srq = nic_find_srq(nic, srqn);

	if (!srq || limit > srq->rq.mask + 1)
		return NIC_EINVAL;
	if (!nic_lock(nic, &srq->rq.lock))
		return NIC_BUSY;
	srq->rq.limit = limit;
	nic_unlock(&srq->rq.lock);
	return NIC_OK;
}

enum nic_result nic_srq_get_limit(struct nic *nic, u32 srqn, u32 *limit)
{
	struct nic_srq *srq = nic_find_srq(nic, srqn);

	if (!srq)
		return NIC_EINVAL;
	*limit = nic_load(&srq->rq.limit);
	return NIC_OK;
}

enum nic_result nic_srq_destroy(struct nic *nic, u32 srqn)
{
	struct nic_srq *srq = nic_find_srq(nic, srqn);

	if (!srq)
		return NIC_EINVAL;
	if (!nic_lock(nic, &srq->rq.lock))
		return NIC_BUSY;
	nic_store(&srq->rq.num, 0);
	nic_xchg(&srq->async_pending, 0);
	nic_unlock(&srq->rq.lock);
	return NIC_OK;
}
