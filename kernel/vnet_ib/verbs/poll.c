// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* poll_cq() for kernel consumers. Processes poll their queues in the ring. */
#include "verbs.h"

static enum ib_wc_opcode vnet_wc_opcode(u8 opcode)
{
	return opcode == VNET_WC_REG_MR ? IB_WC_REG_MR : opcode;
}

/*
 * Find the queue pair of a CQE. A consumer does not destroy a queue pair while it polls its
 * completions, but this CQE may belong to one that another thread is destroying. So the object
 * is not accessed here; the caller gets its address. The firmware's entry has the number only
 * while the object can be found.
 */
static struct ib_qp *vnet_wc_qp(struct vnet_dev *dev, u32 qpn)
{
	struct vnet_object *obj = xa_load(&dev->qps.xa, qpn % VNET_MAX_QP);

	/* Look up the object before the number is read. */
	smp_rmb();
	if (!obj || nic_load(&dev->agent.nic.qp[qpn % VNET_MAX_QP].qpn) != qpn)
		return NULL;
	return &container_of(obj, struct vnet_qp, obj)->ibqp;
}

static void vnet_fill_wc(const struct vnet_cqe *cqe, struct ib_qp *ibqp, struct ib_wc *wc)
{
	*wc = (struct ib_wc){
		.wr_id = cqe->wr_id,
		.status = cqe->status,
		.opcode = vnet_wc_opcode(cqe->opcode),
		.byte_len = cqe->byte_len,
		.qp = ibqp,
		.src_qp = cqe->src_qp,
		.port_num = 1,
	};
	if (cqe->status) {
		wc->vendor_err = cqe->imm;
		return;
	}
	if (cqe->flags & VNET_WC_GRH) {
		wc->wc_flags |= IB_WC_GRH | IB_WC_WITH_NETWORK_HDR_TYPE;
		wc->network_hdr_type = cqe->flags & VNET_WC_GRH_IPV4 ? RDMA_NETWORK_IPV4 :
								       RDMA_NETWORK_IPV6;
	}
	if (cqe->flags & VNET_WC_WITH_IMM) {
		wc->wc_flags |= IB_WC_WITH_IMM;
		wc->ex.imm_data = (__force __be32)cqe->imm;
	}
	if (cqe->flags & VNET_WC_WITH_INV) {
		wc->wc_flags |= IB_WC_WITH_INVALIDATE;
		wc->ex.invalidate_rkey = cqe->imm;
	}
}

int vnet_poll_cq(struct ib_cq *ibcq, int entries, struct ib_wc *wc)
{
	struct vnet_dev *dev = to_vdev(ibcq->device);
	struct vnet_cq *cq = to_vcq(ibcq);
	const struct vnet_cqe *cqes;
	struct ib_qp *ibqp;
	unsigned long flags;
	int n = 0;

	spin_lock_irqsave(&cq->lock, flags);
	if (unlikely(cq->moving)) {
		/* During a resize, report an empty queue. */
		cq->looked = true;
		entries = 0;
	}
	cqes = (const struct vnet_cqe *)(cq->ring.ring + 1);
	while (n < entries) {
		const struct vnet_cqe *cqe = &cqes[cq->cons & (cq->ring.entries - 1)];

		/* Pairs with the firmware's release store of `seq`, the last store to a CQE. */
		if (nic_load_acquire(&cqe->seq) != cq->cons + 1)
			break;
		ibqp = vnet_wc_qp(dev, cqe->qp_num);
		/* Completions of destroyed queue pairs are discarded. */
		if (ibqp)
			vnet_fill_wc(cqe, ibqp, &wc[n++]);
		cq->cons++;
		/* The firmware may reuse the slot. */
		nic_store_release(&cq->ring.ring->cons, cq->cons);
	}
	spin_unlock_irqrestore(&cq->lock, flags);
	return n;
}
