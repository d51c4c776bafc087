// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * ibv_post_send() and ibv_bind_mw(). wr.c has the extended way of posting.
 */
#include <errno.h>

#include "vnet.h"
#include "wqe.h"

#define SEND_FLAGS (IBV_SEND_FENCE | IBV_SEND_SIGNALED | IBV_SEND_SOLICITED | IBV_SEND_INLINE)

void vnet_send_doorbell_trap(struct vnet_qp *qp)
{
	struct ibv_send_wr *bad_wr;

	/* The result is ignored: each posted request completes, with success or an error. */
	ibv_cmd_post_send(&qp->vqp.qp, NULL, &bad_wr);
}

/* Copy inline data into the WQE. Returns its length, or -1 if it is too long. */
static inline int64_t put_inline(struct vnet_send_wqe *wqe, const struct ibv_send_wr *wr,
				 uint32_t max)
{
	uint8_t *dst = wqe_data(wqe);
	const struct ibv_sge *sge;
	uint32_t len = 0;
	int i;

	for (i = 0; i < wr->num_sge; i++) {
		sge = &wr->sg_list[i];
		if (unlikely(sge->length > max - len))
			return -1;
		wqe_copy(dst + len, (const uint8_t *)(uintptr_t)sge->addr, sge->length);
		len += sge->length;
	}
	return len;
}

/* Set the fields that depend on the opcode. Returns 0 or an errno value. */
static inline int put_operation(const struct vnet_qp *qp, struct vnet_send_wqe *wqe,
				const struct ibv_send_wr *wr)
{
	switch (wr->opcode) {
	case IBV_WR_SEND:
	case IBV_WR_SEND_WITH_IMM:
	case IBV_WR_SEND_WITH_INV:
		if (!qp->is_ud)
			return 0;
		if (unlikely(!wr->wr.ud.ah))
			return EINVAL;
		wqe_set_address(wqe, wr->wr.ud.ah, wr->wr.ud.remote_qpn, wr->wr.ud.remote_qkey);
		return 0;
	case IBV_WR_RDMA_WRITE:
	case IBV_WR_RDMA_WRITE_WITH_IMM:
	case IBV_WR_RDMA_READ:
	case IBV_WR_ATOMIC_WRITE:
		wqe_set_remote(wqe, wr->wr.rdma.remote_addr, wr->wr.rdma.rkey);
		return 0;
	case IBV_WR_ATOMIC_CMP_AND_SWP:
	case IBV_WR_ATOMIC_FETCH_AND_ADD:
		wqe_set_remote(wqe, wr->wr.atomic.remote_addr, wr->wr.atomic.rkey);
		wqe_set_atomic(wqe, wr->wr.atomic.compare_add, wr->wr.atomic.swap);
		return 0;
	case IBV_WR_BIND_MW:
		return wqe_set_bind(wqe, wr->bind_mw.mw, wr->bind_mw.rkey, &wr->bind_mw.bind_info) ?
			       0 :
			       EINVAL;
	default:
		return 0;
	}
}

/*
 * Write one request of a supported opcode to the slot of entry `prod`. Returns 0 or an errno value.
 */
static inline __attribute__((always_inline)) int put_known(struct vnet_qp *qp, uint32_t prod,
							   const struct ibv_send_wr *wr,
							   uint32_t own_flags, uint32_t imm)
{
	uint32_t opcode = (uint32_t)wr->opcode;
	uint32_t num_sge = (uint32_t)wr->num_sge;
	uint32_t flags = wr->send_flags;
	struct vnet_send_wqe *wqe;
	int64_t inline_len = 0;
	int ret;

	if (unlikely(num_sge > qp->sq.max_sge || flags & ~SEND_FLAGS))
		return EINVAL;
	if (vnet_wq_full(&qp->sq, prod))
		return ENOMEM;

	wqe = vnet_wq_slot(&qp->sq, prod);
	ret = put_operation(qp, wqe, wr);
	if (unlikely(ret))
		return ret;
	/* These operations have no data, so their SGEs are ignored. */
	if (unlikely(OPCODE(opcode) & (OPCODE(VNET_WR_LOCAL_INV) | OPCODE(VNET_WR_BIND_MW))))
		num_sge = 0;

	if (flags & IBV_SEND_INLINE) {
		if (unlikely(!(OPCODE(opcode) & OPCODES_INLINE)))
			return EINVAL;
		inline_len = put_inline(wqe, wr, qp->max_inline);
		if (unlikely(inline_len < 0))
			return EINVAL;
		num_sge = 0;
	} else {
		wqe_set_sges(wqe, wr->sg_list, num_sge);
	}

	wqe->wr_id = wr->wr_id;
	wqe_set_control(wqe, wqe_control(opcode, flags | own_flags | qp->sig_all, num_sge, imm));
	wqe_set_inline_len(wqe, (uint32_t)inline_len);
	return 0;
}

/*
 * Requests of XRC queue pairs, which name a shared receive queue. ibv_post_send() cannot express a
 * flush.
 */
static __attribute__((cold, noinline)) int put_extended(struct vnet_qp *qp, uint32_t prod,
							const struct ibv_send_wr *wr,
							uint32_t own_flags, uint32_t imm)
{
	uint32_t opcode = (uint32_t)wr->opcode;
	int ret;

	if (opcode >= 32 || !(qp->all_opcodes & OPCODE(opcode)) || opcode == VNET_WR_FLUSH)
		return EINVAL;
	ret = put_known(qp, prod, wr, own_flags, imm);
	if (!ret)
		((struct vnet_send_wqe *)vnet_wq_slot(&qp->sq, prod))->srqn =
			wr->qp_type.xrc.remote_srqn;
	return ret;
}

static inline __attribute__((always_inline)) int put(struct vnet_qp *qp, uint32_t prod,
						     const struct ibv_send_wr *wr,
						     uint32_t own_flags, uint32_t imm)
{
	uint32_t opcode = (uint32_t)wr->opcode;

	if (unlikely(opcode >= 32 || !(qp->opcodes & OPCODE(opcode))))
		return put_extended(qp, prod, wr, own_flags, imm);
	return put_known(qp, prod, wr, own_flags, imm);
}

/* Post a list. Requests before the first bad one are posted. Returns 0 or an errno value. */
static inline int post(struct vnet_qp *qp, struct ibv_send_wr *wr, struct ibv_send_wr **bad_wr)
{
	bool posted;
	uint32_t prod;
	int ret = 0;

	/* In ERR, the NIC flushes the requests. */
	if (unlikely(qp->vqp.qp.state < IBV_QPS_RTS)) {
		*bad_wr = wr;
		return EINVAL;
	}

	vnet_lock(&qp->sq.lock);
	for (prod = qp->sq.prod; wr; wr = wr->next, prod++) {
		/* invalidate_rkey and imm_data are one union. */
		ret = put(qp, prod, wr, 0, wr->invalidate_rkey);
		if (unlikely(ret)) {
			*bad_wr = wr;
			break;
		}
	}
	posted = prod != qp->sq.prod;
	if (likely(posted))
		vnet_wq_publish(&qp->sq, prod);
	vnet_unlock(&qp->sq.lock);

	if (likely(posted))
		vnet_send_doorbell(qp);
	return ret;
}

int vnet_post_send(struct ibv_qp *ibqp, struct ibv_send_wr *wr, struct ibv_send_wr **bad_wr)
{
	return post(to_vqp(ibqp), wr, bad_wr);
}

/* Returns 0 or an errno value. The caller holds the send queue's lock. */
static int post_imm64(struct vnet_qp *qp, const struct ibv_send_wr *wr, uint64_t imm)
{
	uint32_t prod = qp->sq.prod;
	int ret = put(qp, prod, wr, VNET_WR_IMM64, wqe_imm_low(imm));

	if (unlikely(ret))
		return ret;
	wqe_set_imm_high(vnet_wq_slot(&qp->sq, prod), imm);
	vnet_wq_publish(&qp->sq, prod + 1);
	return 0;
}

int vnetdv_post_send_imm64(struct ibv_qp *ibqp, struct ibv_send_wr *wr, uint64_t imm,
			   struct ibv_send_wr **bad_wr)
{
	struct vnet_qp *qp = to_vqp(ibqp);
	int ret = EINVAL;

	if (unlikely(!qp->imm64)) {
		ret = ENOTSUP;
		goto bad;
	}
	if (unlikely(ibqp->state < IBV_QPS_RTS || wr->next ||
		     (wr->opcode != IBV_WR_SEND_WITH_IMM &&
		      wr->opcode != IBV_WR_RDMA_WRITE_WITH_IMM)))
		goto bad;

	vnet_lock(&qp->sq.lock);
	ret = post_imm64(qp, wr, imm);
	vnet_unlock(&qp->sq.lock);
	if (unlikely(ret))
		goto bad;
	vnet_send_doorbell(qp);
	return 0;
bad:
	*bad_wr = wr;
	return ret;
}

int vnet_bind_mw(struct ibv_qp *ibqp, struct ibv_mw *mw, struct ibv_mw_bind *bind)
{
	struct ibv_send_wr wr = {
		.wr_id = bind->wr_id,
		.opcode = IBV_WR_BIND_MW,
		.send_flags = bind->send_flags,
		.bind_mw = {
			.mw = mw,
			.rkey = ibv_inc_rkey(mw->rkey),
			.bind_info = bind->bind_info,
		},
	};
	struct ibv_send_wr *bad_wr;
	int ret;

	ret = post(to_vqp(ibqp), &wr, &bad_wr);
	if (ret)
		return ret;
	/* ibv_bind_mw(3): the new rkey is valid from now on, although the bind completes later. */
	mw->rkey = wr.bind_mw.rkey;
	return 0;
}
