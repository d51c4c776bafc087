// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Posting by kernel consumers, in any context, and the uverbs commands for posting. Processes
 * write their rings themselves; the uverbs command only rings the doorbell.
 */
#include "doorbells/doorbells.h"
#include "memory/memory.h"
#include "inside.h"

static void *vnet_slot(const struct vnet_wq *wq, u32 index)
{
	u8 *slots = (u8 *)wq->mem.ring + VNET_RING_HDR_SIZE;

	return slots + ((size_t)(index & (wq->mem.entries - 1)) << wq->mem.shift);
}

/* Pairs with the firmware's release store of cons after it has read a slot. */
static bool vnet_wq_full(const struct vnet_wq *wq, u32 prod)
{
	return prod - nic_load_acquire(&wq->mem.ring->cons) >= wq->mem.entries;
}

void vnet_wq_forget(struct vnet_wq *wq)
{
	unsigned long flags;

	if (!wq->mem.ring)
		return;
	spin_lock_irqsave(&wq->lock, flags);
	wq->prod = nic_load(&wq->mem.ring->prod);
	spin_unlock_irqrestore(&wq->lock, flags);
}

static void vnet_put_sges(struct vnet_sge *to, const struct ib_sge *from, int n)
{
	int i;

	for (i = 0; i < n; i++)
		to[i] = (struct vnet_sge){ from[i].addr, from[i].length, from[i].lkey };
}

/* -------------------------------------------------------------------- sends */

static int vnet_put_inline(const struct vnet_qp *qp, struct vnet_send_wqe *wqe,
			   const struct ib_send_wr *wr)
{
	u8 *to = (u8 *)(wqe + 1);
	u32 length = 0;
	int i;

	for (i = 0; i < wr->num_sge; i++) {
		const struct ib_sge *sge = &wr->sg_list[i];

		if (sge->length > qp->max_inline - length)
			return -EINVAL;
		memcpy(to + length, (const void *)(uintptr_t)sge->addr, sge->length);
		length += sge->length;
	}
	wqe->inline_len = length;
	wqe->flags |= VNET_WR_INLINE;
	return 0;
}

static int vnet_put_data(const struct vnet_qp *qp, struct vnet_send_wqe *wqe,
			 const struct ib_send_wr *wr)
{
	if (wr->num_sge < 0 || wr->num_sge > qp->sq.max_sge)
		return -EINVAL;
	if (wr->send_flags & IB_SEND_INLINE)
		return vnet_put_inline(qp, wqe, wr);
	vnet_put_sges((struct vnet_sge *)(wqe + 1), wr->sg_list, wr->num_sge);
	wqe->num_sge = wr->num_sge;
	return 0;
}

static void vnet_put_rdma(struct vnet_send_wqe *wqe, const struct ib_send_wr *wr)
{
	wqe->rdma.remote_addr = rdma_wr(wr)->remote_addr;
	wqe->rdma.rkey = rdma_wr(wr)->rkey;
}

static void vnet_put_atomic(struct vnet_send_wqe *wqe, const struct ib_send_wr *wr)
{
	const struct ib_atomic_wr *atomic = atomic_wr(wr);

	wqe->rdma.remote_addr = atomic->remote_addr;
	wqe->rdma.rkey = atomic->rkey;
	wqe->rdma.compare_add = atomic->compare_add;
	wqe->rdma.swap = atomic->swap;
}

static void vnet_put_datagram(struct vnet_send_wqe *wqe, const struct ib_send_wr *wr)
{
	const struct ib_ud_wr *ud = ud_wr(wr);

	wqe->ud = container_of(ud->ah, struct vnet_ah, ibah)->av;
	wqe->ud.remote_qpn = ud->remote_qpn;
	wqe->ud.remote_qkey = ud->remote_qkey;
}

static void vnet_put_registration(struct vnet_send_wqe *wqe, const struct ib_send_wr *wr)
{
	const struct ib_reg_wr *reg = reg_wr(wr);

	wqe->opcode = VNET_WR_REG_MR;
	wqe->bind.addr = reg->mr->iova;
	wqe->bind.length = reg->mr->length;
	wqe->bind.old_rkey = to_vmr(reg->mr)->key;
	wqe->bind.new_rkey = reg->key;
	wqe->bind.access = reg->access &
			   (IB_ACCESS_LOCAL_WRITE | IB_ACCESS_REMOTE_WRITE | IB_ACCESS_REMOTE_READ |
			    IB_ACCESS_REMOTE_ATOMIC | VNET_ACCESS_FLUSH);
	wqe->bind.page_offset = reg->mr->iova & (reg->mr->page_size - 1);
}

/*
 * Write the fields that depend on the opcode. A flush is not supported, as struct ib_send_wr has
 * no fields for its range and type.
 */
static int vnet_put_operation(const struct vnet_qp *qp, struct vnet_send_wqe *wqe,
			      const struct ib_send_wr *wr)
{
	wqe->opcode = wr->opcode;
	/* The core has a name for it since Linux 6.2. */
	if ((u32)wr->opcode == VNET_WR_ATOMIC_WRITE) {
		vnet_put_rdma(wqe, wr);
		return vnet_put_data(qp, wqe, wr);
	}
	switch (wr->opcode) {
	case IB_WR_SEND:
	case IB_WR_SEND_WITH_IMM:
		if (vnet_is_datagram(qp)) {
			if (!ud_wr(wr)->ah)
				return -EINVAL;
			vnet_put_datagram(wqe, wr);
		}
		break;
	case IB_WR_SEND_WITH_INV:
	case IB_WR_LOCAL_INV:
		break;
	case IB_WR_RDMA_WRITE:
	case IB_WR_RDMA_WRITE_WITH_IMM:
	case IB_WR_RDMA_READ:
		vnet_put_rdma(wqe, wr);
		break;
	case IB_WR_ATOMIC_CMP_AND_SWP:
	case IB_WR_ATOMIC_FETCH_AND_ADD:
		vnet_put_atomic(wqe, wr);
		break;
	case IB_WR_REG_MR:
		vnet_put_registration(wqe, wr);
		return 0;
	default:
		return -EINVAL;
	}
	return wr->opcode == IB_WR_LOCAL_INV ? 0 : vnet_put_data(qp, wqe, wr);
}

static int vnet_put_send(struct vnet_qp *qp, u32 index, const struct ib_send_wr *wr)
{
	struct vnet_send_wqe *wqe = vnet_slot(&qp->sq, index);

	lockdep_assert_held(&qp->sq.lock);
	memset(wqe, 0, sizeof(*wqe));
	wqe->wr_id = wr->wr_id;
	if (wr->send_flags & IB_SEND_FENCE)
		wqe->flags |= VNET_WR_FENCE;
	if (wr->send_flags & IB_SEND_SIGNALED)
		wqe->flags |= VNET_WR_SIGNALED;
	if (wr->send_flags & IB_SEND_SOLICITED)
		wqe->flags |= VNET_WR_SOLICITED;
	/* The immediate data as given, or the key to invalidate, which is in the same union. */
	wqe->imm = (__force u32)wr->ex.imm_data;
	return vnet_put_operation(qp, wqe, wr);
}

static bool vnet_may_send(struct vnet_dev *dev, const struct vnet_qp *qp)
{
	return nic_load(&dev->agent.nic.qp[qp->obj.index].state) >= NIC_QPS_RTS;
}

static int vnet_post_sends(struct vnet_qp *qp, const struct ib_send_wr *wr,
			   const struct ib_send_wr **bad_wr)
{
	struct vnet_dev *dev = to_vdev(qp->ibqp.device);
	struct vnet_wq *sq = &qp->sq;
	unsigned long flags;
	int idx, err = 0;

	spin_lock_irqsave(&sq->lock, flags);
	for (; wr; wr = wr->next) {
		err = -EINVAL;
		if (!vnet_may_send(dev, qp))
			break;
		err = -ENOMEM;
		if (vnet_wq_full(sq, sq->prod))
			break;
		err = vnet_put_send(qp, sq->prod, wr);
		if (err)
			break;
		sq->prod++;
	}
	if (err)
		*bad_wr = wr;
	/* Pairs with the firmware's acquire load of prod. */
	nic_store_release(&sq->mem.ring->prod, sq->prod);
	spin_unlock_irqrestore(&sq->lock, flags);
	/* Order the store of prod before the attempt to lock the send queue. */
	smp_mb();
	idx = srcu_read_lock(&vnet_inside);
	vnet_run_turn(&dev->kernel, qp->ibqp.qp_num, nic_budget(&dev->kernel.nic));
	srcu_read_unlock(&vnet_inside, idx);
	vnet_deliver_later(dev);
	return err;
}

int vnet_post_send(struct ib_qp *ibqp, const struct ib_send_wr *wr,
		   const struct ib_send_wr **bad_wr)
{
	struct vnet_qp *qp = to_vqp(ibqp);
	int idx;

	if (qp->view == &to_vdev(ibqp->device)->kernel)
		return vnet_post_sends(qp, wr, bad_wr);
	/* A process: its requests are in its ring, so there are none here. */
	if (wr) {
		*bad_wr = wr;
		return -EINVAL;
	}
	idx = srcu_read_lock(&vnet_inside);
	vnet_ring_send(to_vdev(ibqp->device), qp->view, ibqp->qp_num);
	srcu_read_unlock(&vnet_inside, idx);
	return 0;
}

/* ----------------------------------------------------------------- receives */

static void vnet_put_recv(struct vnet_wq *rq, u32 index, const struct ib_recv_wr *wr)
{
	struct vnet_recv_wqe *wqe = vnet_slot(rq, index);

	lockdep_assert_held(&rq->lock);
	wqe->wr_id = wr->wr_id;
	wqe->num_sge = wr->num_sge;
	wqe->rsvd = 0;
	vnet_put_sges((struct vnet_sge *)(wqe + 1), wr->sg_list, wr->num_sge);
}

/* *ring: a sender waits for a receive of this queue, so the doorbell must be rung. */
static int vnet_post_recvs(struct vnet_wq *rq, const struct ib_recv_wr *wr,
			   const struct ib_recv_wr **bad_wr, bool *ring)
{
	unsigned long flags;
	int err = 0;

	spin_lock_irqsave(&rq->lock, flags);
	for (; wr; wr = wr->next) {
		err = -EINVAL;
		if (wr->num_sge < 0 || wr->num_sge > rq->max_sge)
			break;
		err = -ENOMEM;
		if (vnet_wq_full(rq, rq->prod))
			break;
		vnet_put_recv(rq, rq->prod++, wr);
		err = 0;
	}
	if (err)
		*bad_wr = wr;
	/* Pairs with the firmware's acquire load of prod. */
	nic_store_release(&rq->mem.ring->prod, rq->prod);
	spin_unlock_irqrestore(&rq->lock, flags);
	/* Order the store of prod before the load of need_doorbell. */
	smp_mb();
	*ring = nic_load(&rq->mem.ring->need_doorbell);
	return err;
}

/* Doorbell of a process, by the uverbs command. */
static int vnet_user_recv(struct vnet_dev *dev, struct vnet_view *view, u32 qpn)
{
	int idx = srcu_read_lock(&vnet_inside);

	vnet_ring_recv(dev, view, qpn, false);
	srcu_read_unlock(&vnet_inside, idx);
	return 0;
}

/* The same for a shared receive queue. This command also announces tag operations. */
static int vnet_user_srq_recv(struct vnet_dev *dev, const struct vnet_srq *srq, u32 srqn)
{
	int idx = srcu_read_lock(&vnet_inside);

	vnet_ring_recv(dev, srq->view, srqn, true);
	if (srq->max_tags)
		vnet_ring_tags(dev, srq->view, srqn);
	srcu_read_unlock(&vnet_inside, idx);
	return 0;
}

/*
 * Doorbell of a kernel consumer, which may be in atomic context. Senders that are processes are
 * left to the NIC processor.
 */
static void vnet_ring_recv_atomic(struct vnet_dev *dev, u32 num, bool is_srq)
{
	int idx = srcu_read_lock(&vnet_inside);

	nic_recv_doorbell(&dev->kernel.nic, num, is_srq);
	vnet_run_sender(&dev->kernel, &dev->kernel, num, is_srq);
	srcu_read_unlock(&vnet_inside, idx);
	vnet_deliver_later(dev);
}

int vnet_post_recv(struct ib_qp *ibqp, const struct ib_recv_wr *wr,
		   const struct ib_recv_wr **bad_wr)
{
	struct vnet_dev *dev = to_vdev(ibqp->device);
	struct vnet_qp *qp = to_vqp(ibqp);
	bool ring;
	int err;

	if (qp->view != &dev->kernel && !wr)
		return vnet_user_recv(dev, qp->view, ibqp->qp_num);
	if (!qp->rq.mem.ring || qp->view != &dev->kernel) {
		*bad_wr = wr;
		return -EINVAL;
	}
	err = vnet_post_recvs(&qp->rq, wr, bad_wr, &ring);
	if (ring)
		vnet_ring_recv_atomic(dev, ibqp->qp_num, false);
	return err;
}

int vnet_post_srq_recv(struct ib_srq *ibsrq, const struct ib_recv_wr *wr,
		       const struct ib_recv_wr **bad_wr)
{
	struct vnet_dev *dev = to_vdev(ibsrq->device);
	struct vnet_srq *srq = to_vsrq(ibsrq);
	bool ring;
	int err;

	if (srq->view != &dev->kernel && wr) {
		*bad_wr = wr;
		return -EINVAL;
	}
	if (srq->view != &dev->kernel)
		return vnet_user_srq_recv(dev, srq, vnet_srqn(ibsrq));
	err = vnet_post_recvs(&srq->rq, wr, bad_wr, &ring);
	if (ring)
		vnet_ring_recv_atomic(dev, vnet_srqn(ibsrq), true);
	return err;
}
