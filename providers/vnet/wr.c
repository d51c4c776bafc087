// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * ibv_wr_*(): posting send requests by the extended interface.
 *
 * A program calls ibv_wr_start(), then for each request a builder (ibv_wr_send(), ...) and setters,
 * then ibv_wr_complete(). The send queue's lock is held from start to complete or abort. A builder
 * writes the request directly to its slot, and complete publishes the batch. Errors are stored
 * until then, and fail the whole batch.
 */
#include <errno.h>
#include <string.h>

#include "vnet.h"
#include "wqe.h"

#define WR_FLAGS (IBV_SEND_FENCE | IBV_SEND_SIGNALED | IBV_SEND_SOLICITED)

static __attribute__((cold, noinline)) void fail(struct vnet_qp *qp, int error)
{
	if (!qp->wr_error)
		qp->wr_error = error;
}

/* ----------------------------------------------------------------- the batch */

static void wr_start(struct ibv_qp_ex *ibqp)
{
	struct vnet_qp *qp = to_vqp_ex(ibqp);

	vnet_lock(&qp->sq.lock);
	qp->wr_prod = qp->sq.prod;
	qp->wr_error = 0;
	qp->wr_wqe = qp->wr_spare;
	if (unlikely(qp->vqp.qp.state < IBV_QPS_RTS))
		fail(qp, EINVAL);
}

static int wr_complete(struct ibv_qp_ex *ibqp)
{
	struct vnet_qp *qp = to_vqp_ex(ibqp);
	int error = qp->wr_error;
	bool posted = !error && qp->wr_prod != qp->sq.prod;

	if (likely(posted))
		vnet_wq_publish(&qp->sq, qp->wr_prod);
	vnet_unlock(&qp->sq.lock);
	if (likely(posted))
		vnet_send_doorbell(qp);
	return error;
}

static void wr_abort(struct ibv_qp_ex *ibqp)
{
	vnet_unlock(&to_vqp_ex(ibqp)->sq.lock);
}

/* ------------------------------------------------------------------ builders */

/* Begin the next request. If there is no slot, use the spare WQE, which is never posted. */
static inline struct vnet_send_wqe *begin_with(struct ibv_qp_ex *ibqp, uint32_t opcode,
					       uint32_t own_flags, uint32_t imm)
{
	struct vnet_qp *qp = to_vqp_ex(ibqp);
	uint32_t flags = ibqp->wr_flags;
	struct vnet_send_wqe *wqe;

	if (unlikely(!(qp->all_opcodes & OPCODE(opcode)) || flags & ~WR_FLAGS))
		fail(qp, EINVAL);
	if (unlikely(vnet_wq_full(&qp->sq, qp->wr_prod))) {
		fail(qp, ENOMEM);
		wqe = qp->wr_spare;
	} else {
		wqe = vnet_wq_slot(&qp->sq, qp->wr_prod++);
	}

	qp->wr_wqe = wqe;
	qp->wr_control = wqe_control(opcode, flags | own_flags | qp->sig_all, 0, imm);
	wqe->wr_id = ibqp->wr_id;
	wqe_set_control(wqe, qp->wr_control);
	wqe_set_inline_len(wqe, 0);
	return wqe;
}

static inline struct vnet_send_wqe *begin(struct ibv_qp_ex *ibqp, uint32_t opcode, uint32_t imm)
{
	return begin_with(ibqp, opcode, 0, imm);
}

static inline void set_control(struct vnet_qp *qp, uint32_t flags, uint32_t num_sge)
{
	qp->wr_control |= wqe_control(0, flags, num_sge, 0);
	wqe_set_control(qp->wr_wqe, qp->wr_control);
}

static void wr_send(struct ibv_qp_ex *ibqp)
{
	begin(ibqp, VNET_WR_SEND, 0);
}

static void wr_send_imm(struct ibv_qp_ex *ibqp, __be32 imm_data)
{
	begin(ibqp, VNET_WR_SEND_IMM, (uint32_t)imm_data);
}

static void wr_send_inv(struct ibv_qp_ex *ibqp, uint32_t invalidate_rkey)
{
	begin(ibqp, VNET_WR_SEND_INV, invalidate_rkey);
}

static void wr_rdma_write(struct ibv_qp_ex *ibqp, uint32_t rkey, uint64_t remote_addr)
{
	wqe_set_remote(begin(ibqp, VNET_WR_RDMA_WRITE, 0), remote_addr, rkey);
}

static void wr_rdma_write_imm(struct ibv_qp_ex *ibqp, uint32_t rkey, uint64_t remote_addr,
			      __be32 imm_data)
{
	struct vnet_send_wqe *wqe = begin(ibqp, VNET_WR_RDMA_WRITE_IMM, (uint32_t)imm_data);

	wqe_set_remote(wqe, remote_addr, rkey);
}

static void wr_rdma_read(struct ibv_qp_ex *ibqp, uint32_t rkey, uint64_t remote_addr)
{
	wqe_set_remote(begin(ibqp, VNET_WR_RDMA_READ, 0), remote_addr, rkey);
}

static void wr_atomic_cmp_swp(struct ibv_qp_ex *ibqp, uint32_t rkey, uint64_t remote_addr,
			      uint64_t compare, uint64_t swap)
{
	struct vnet_send_wqe *wqe = begin(ibqp, VNET_WR_ATOMIC_CMP_SWP, 0);

	wqe_set_remote(wqe, remote_addr, rkey);
	wqe_set_atomic(wqe, compare, swap);
}

static void wr_atomic_fetch_add(struct ibv_qp_ex *ibqp, uint32_t rkey, uint64_t remote_addr,
				uint64_t add)
{
	struct vnet_send_wqe *wqe = begin(ibqp, VNET_WR_ATOMIC_FETCH_ADD, 0);

	wqe_set_remote(wqe, remote_addr, rkey);
	wqe_set_atomic(wqe, add, 0);
}

/* Stored as inline data, even if the queue pair has less of that: a slot has room for an SGE. */
static void wr_atomic_write(struct ibv_qp_ex *ibqp, uint32_t rkey, uint64_t remote_addr,
			    const void *atomic_wr)
{
	struct vnet_send_wqe *wqe = begin(ibqp, VNET_WR_ATOMIC_WRITE, 0);

	wqe_set_remote(wqe, remote_addr, rkey);
	memcpy(wqe_data(wqe), atomic_wr, 8);
	wqe_set_inline_len(wqe, 8);
	set_control(to_vqp_ex(ibqp), VNET_WR_INLINE, 0);
}

void vnetdv_wr_flush(struct ibv_qp_ex *ibqp, uint32_t rkey, uint64_t remote_addr, size_t len,
		     uint8_t type, uint8_t level)
{
	struct vnet_send_wqe *wqe;

	if (unlikely(!to_vqp_ex(ibqp)->flush))
		fail(to_vqp_ex(ibqp), ENOTSUP);
	wqe = begin(ibqp, VNET_WR_FLUSH, 0);
	wqe_set_remote(wqe, remote_addr, rkey);
	wqe_set_atomic(wqe, len, vnet_flush_operand(type, level));
}

static void wr_local_inv(struct ibv_qp_ex *ibqp, uint32_t invalidate_rkey)
{
	begin(ibqp, VNET_WR_LOCAL_INV, invalidate_rkey);
}

static void wr_bind_mw(struct ibv_qp_ex *ibqp, struct ibv_mw *mw, uint32_t rkey,
		       const struct ibv_mw_bind_info *bind_info)
{
	struct vnet_send_wqe *wqe = begin(ibqp, VNET_WR_BIND_MW, 0);

	if (mw->type != IBV_MW_TYPE_2 || !wqe_set_bind(wqe, mw, rkey, bind_info))
		fail(to_vqp_ex(ibqp), EINVAL);
}

static inline struct vnet_send_wqe *begin_imm64(struct ibv_qp_ex *ibqp, uint32_t opcode,
						uint64_t imm)
{
	struct vnet_send_wqe *wqe = begin_with(ibqp, opcode, VNET_WR_IMM64, wqe_imm_low(imm));

	if (unlikely(!to_vqp_ex(ibqp)->imm64))
		fail(to_vqp_ex(ibqp), ENOTSUP);
	wqe_set_imm_high(wqe, imm);
	return wqe;
}

void vnetdv_wr_send_imm64(struct ibv_qp_ex *ibqp, uint64_t imm)
{
	begin_imm64(ibqp, VNET_WR_SEND_IMM, imm);
}

void vnetdv_wr_rdma_write_imm64(struct ibv_qp_ex *ibqp, uint32_t rkey, uint64_t remote_addr,
				uint64_t imm)
{
	wqe_set_remote(begin_imm64(ibqp, VNET_WR_RDMA_WRITE_IMM, imm), remote_addr, rkey);
}

/* ------------------------------------------------------------------- setters */

static void wr_set_ud_addr(struct ibv_qp_ex *ibqp, struct ibv_ah *ah, uint32_t remote_qpn,
			   uint32_t remote_qkey)
{
	struct vnet_qp *qp = to_vqp_ex(ibqp);

	if (unlikely(!ah))
		fail(qp, EINVAL);
	else
		wqe_set_address(qp->wr_wqe, ah, remote_qpn, remote_qkey);
}

static void wr_set_sge_list(struct ibv_qp_ex *ibqp, size_t num_sge, const struct ibv_sge *sg_list)
{
	struct vnet_qp *qp = to_vqp_ex(ibqp);

	if (unlikely(num_sge > qp->sq.max_sge)) {
		fail(qp, EINVAL);
		return;
	}
	wqe_set_sges(qp->wr_wqe, sg_list, (uint32_t)num_sge);
	set_control(qp, 0, (uint32_t)num_sge);
}

static void wr_set_sge(struct ibv_qp_ex *ibqp, uint32_t lkey, uint64_t addr, uint32_t length)
{
	const struct ibv_sge sge = { .addr = addr, .length = length, .lkey = lkey };

	wr_set_sge_list(ibqp, 1, &sge);
}

static inline void finish_inline(struct vnet_qp *qp, uint32_t len)
{
	if (unlikely(!(OPCODE(qp->wr_wqe->opcode) & OPCODES_INLINE)))
		fail(qp, EINVAL);
	wqe_set_inline_len(qp->wr_wqe, len);
	set_control(qp, VNET_WR_INLINE, 0);
}

static void wr_set_inline_data(struct ibv_qp_ex *ibqp, void *addr, size_t length)
{
	struct vnet_qp *qp = to_vqp_ex(ibqp);

	if (unlikely(length > qp->max_inline)) {
		fail(qp, EINVAL);
		return;
	}
	wqe_copy(wqe_data(qp->wr_wqe), addr, length);
	finish_inline(qp, (uint32_t)length);
}

static void wr_set_inline_data_list(struct ibv_qp_ex *ibqp, size_t num_buf,
				    const struct ibv_data_buf *buf_list)
{
	struct vnet_qp *qp = to_vqp_ex(ibqp);
	uint8_t *dst = wqe_data(qp->wr_wqe);
	size_t len = 0;
	size_t i;

	for (i = 0; i < num_buf; i++) {
		if (unlikely(buf_list[i].length > qp->max_inline - len)) {
			fail(qp, EINVAL);
			return;
		}
		wqe_copy(dst + len, buf_list[i].addr, buf_list[i].length);
		len += buf_list[i].length;
	}
	finish_inline(qp, (uint32_t)len);
}

/*
 * The SRQ number shares a word with the length of inline data, which setting that length
 * overwrites.
 */
static void wr_set_xrc_srqn(struct ibv_qp_ex *ibqp, uint32_t remote_srqn)
{
	to_vqp_ex(ibqp)->wr_wqe->srqn = remote_srqn;
}

static void wr_set_inline_data_xrc(struct ibv_qp_ex *ibqp, void *addr, size_t length)
{
	uint32_t srqn = to_vqp_ex(ibqp)->wr_wqe->srqn;

	wr_set_inline_data(ibqp, addr, length);
	wr_set_xrc_srqn(ibqp, srqn);
}

static void wr_set_inline_data_list_xrc(struct ibv_qp_ex *ibqp, size_t num_buf,
					const struct ibv_data_buf *buf_list)
{
	uint32_t srqn = to_vqp_ex(ibqp)->wr_wqe->srqn;

	wr_set_inline_data_list(ibqp, num_buf, buf_list);
	wr_set_xrc_srqn(ibqp, srqn);
}

/* One table for all QP types: begin_with() fails opcodes that the type does not have. */
void vnet_qp_set_wr_ops(struct vnet_qp *qp)
{
	struct ibv_qp_ex *ex = &qp->vqp.qp_ex;

	ex->wr_start = wr_start;
	ex->wr_complete = wr_complete;
	ex->wr_abort = wr_abort;

	ex->wr_send = wr_send;
	ex->wr_send_imm = wr_send_imm;
	ex->wr_send_inv = wr_send_inv;
	ex->wr_rdma_write = wr_rdma_write;
	ex->wr_rdma_write_imm = wr_rdma_write_imm;
	ex->wr_rdma_read = wr_rdma_read;
	ex->wr_atomic_cmp_swp = wr_atomic_cmp_swp;
	ex->wr_atomic_fetch_add = wr_atomic_fetch_add;
	ex->wr_atomic_write = wr_atomic_write;
#ifdef VNET_HAVE_FLUSH
	ex->wr_flush = vnetdv_wr_flush;
#endif
	ex->wr_bind_mw = wr_bind_mw;
	ex->wr_local_inv = wr_local_inv;

	ex->wr_set_ud_addr = wr_set_ud_addr;
	ex->wr_set_sge = wr_set_sge;
	ex->wr_set_sge_list = wr_set_sge_list;
	ex->wr_set_inline_data = wr_set_inline_data;
	ex->wr_set_inline_data_list = wr_set_inline_data_list;
	if (qp->vqp.qp.qp_type != IBV_QPT_XRC_SEND)
		return;
	ex->wr_set_xrc_srqn = wr_set_xrc_srqn;
	ex->wr_set_inline_data = wr_set_inline_data_xrc;
	ex->wr_set_inline_data_list = wr_set_inline_data_list_xrc;
}
