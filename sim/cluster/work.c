// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Simulated processes: posting, doorbells and polling. */
#include <string.h>

#include "base/event.h"
#include "cluster/command.h"

static u32 room(const struct ring_view *ring, u32 prod)
{
	return ring->mask + 1 - (prod - nic_load(&ring->hdr->cons));
}

u32 send_room(const struct qp *qp)
{
	return is_lost(qp->process, qp->life) ? 0 : room(&qp->sq, qp->sq_prod);
}

u32 recv_room(const struct qp *qp)
{
	return is_lost(qp->process, qp->life) || qp->srq ? 0 : room(&qp->rq, qp->rq_prod);
}

u32 srq_room(const struct srq *srq)
{
	return is_lost(srq->process, srq->life) ? 0 : room(&srq->ring, srq->prod);
}

static u8 *slot(const struct ring_view *ring, u32 index)
{
	return ring->slots + ((u64)(index & ring->mask) << ring->shift);
}

static void write_sges(u8 *to, const struct sge *sg, u32 n)
{
	u32 i;

	for (i = 0; i < n; i++) {
		struct vnet_sge one = { sg[i].addr, sg[i].length, sg[i].lkey };

		memcpy(to + i * sizeof(one), &one, sizeof(one));
	}
}

bool post_send(struct qp *qp, const struct vnet_send_wqe *wqe, const struct sge *sg, u32 n)
{
	struct vnet_send_wqe copy = *wqe;
	u8 *to;

	if (!send_room(qp))
		return false;
	to = slot(&qp->sq, qp->sq_prod);
	copy.num_sge = (u8)n;
	memcpy(to, &copy, sizeof(copy));
	write_sges(to + sizeof(copy), sg, n);
	nic_store_release(&qp->sq.hdr->prod, ++qp->sq_prod);
	qp->process->debt += sim.config.cost.post;
	trace(TRACE_POST, qp->process->node->index, qp->qpn, wqe->wr_id, wqe->opcode);
	return true;
}

bool post_inline(struct qp *qp, const struct vnet_send_wqe *wqe, const void *data, u32 length)
{
	struct vnet_send_wqe copy = *wqe;
	u8 *to;

	if (!send_room(qp) || length > MAX_INLINE)
		return false;
	to = slot(&qp->sq, qp->sq_prod);
	copy.flags |= VNET_WR_INLINE;
	copy.inline_len = length;
	memcpy(to, &copy, sizeof(copy));
	memcpy(to + sizeof(copy), data, length);
	nic_store_release(&qp->sq.hdr->prod, ++qp->sq_prod);
	qp->process->debt += sim.config.cost.post;
	trace(TRACE_POST, qp->process->node->index, qp->qpn, wqe->wr_id, wqe->opcode);
	return true;
}

void ring_qp(struct qp *qp)
{
	struct process *p = qp->process;
	struct node *node = p->node;

	p->debt += sim.config.cost.doorbell;
	process_pay(p);
	if (is_lost(p, qp->life) || node->dead)
		return;
	if (!sim.config.cut_through) {
		node_bell(node, 's', qp->qpn, event_now() + (u64)sim.config.cost.wqe_fetch);
		return;
	}
	trace(TRACE_DOORBELL, node->index, qp->qpn, 1, 0);
	p->inside = true;
	nic_send_doorbell(&p->view, qp->qpn);
	p->inside = false;
	node_ran(node);
}

void post_crooked(struct qp *qp, const struct vnet_send_wqe *wqe, u32 pieces)
{
	struct vnet_send_wqe copy = *wqe;

	if (!send_room(qp))
		return;
	copy.num_sge = (u8)pieces;
	memcpy(slot(&qp->sq, qp->sq_prod), &copy, sizeof(copy));
	nic_store_release(&qp->sq.hdr->prod, ++qp->sq_prod);
}

void advance_producer(struct qp *qp, u32 by)
{
	if (!is_lost(qp->process, qp->life))
		nic_store_release(&qp->sq.hdr->prod, qp->sq_prod + by);
}

static void write_recv(struct ring_view *ring, u32 *prod, u64 wr_id, const struct sge *sg, u32 n)
{
	struct vnet_recv_wqe wqe = { .wr_id = wr_id, .num_sge = n };
	u8 *to = slot(ring, *prod);

	memcpy(to, &wqe, sizeof(wqe));
	write_sges(to + sizeof(wqe), sg, n);
	nic_store_release(&ring->hdr->prod, ++*prod);
	nic_barrier();
}

static void ring_receive(struct process *p, const struct ring_view *ring, u32 num, bool is_srq)
{
	p->debt += sim.config.cost.post_recv;
	if (!nic_load(&ring->hdr->need_doorbell) || p->node->dead)
		return;
	if (!sim.config.cut_through) {
		node_bell(p->node, is_srq ? 'q' : 'r', num,
			  event_now() + (u64)sim.config.cost.doorbell);
		return;
	}
	p->inside = true;
	nic_recv_doorbell(&p->view, num, is_srq);
	p->inside = false;
	node_ran(p->node);
}

bool post_recv(struct qp *qp, u64 wr_id, const struct sge *sg, u32 n)
{
	if (!recv_room(qp))
		return false;
	write_recv(&qp->rq, &qp->rq_prod, wr_id, sg, n);
	trace(TRACE_POST_RECEIVE, qp->process->node->index, qp->qpn, wr_id, n ? sg->length : 0);
	ring_receive(qp->process, &qp->rq, qp->qpn, false);
	return true;
}

void post_crooked_receive(struct qp *qp, u32 pieces)
{
	struct vnet_recv_wqe wqe = { .wr_id = 1, .num_sge = pieces };

	if (!recv_room(qp))
		return;
	memcpy(slot(&qp->rq, qp->rq_prod), &wqe, sizeof(wqe));
	nic_store_release(&qp->rq.hdr->prod, ++qp->rq_prod);
	nic_barrier();
	ring_receive(qp->process, &qp->rq, qp->qpn, false);
}

bool post_srq(struct srq *srq, u64 wr_id, const struct sge *sg, u32 n)
{
	if (!srq_room(srq))
		return false;
	write_recv(&srq->ring, &srq->prod, wr_id, sg, n);
	trace(TRACE_POST_RECEIVE, srq->process->node->index, srq->srqn, wr_id, n ? sg->length : 0);
	ring_receive(srq->process, &srq->ring, srq->srqn, true);
	return true;
}

struct vnet_cqe *queue_entry(const struct queue *cq, u32 i)
{
	return (struct vnet_cqe *)(void *)slot(&cq->ring, i);
}

bool queue_has(const struct queue *cq, u32 i)
{
	return nic_load_acquire(&queue_entry(cq, i)->seq) == i + 1;
}

void post_tag(struct srq *srq, const struct vnet_tm_op *op)
{
	if (is_lost(srq->process, srq->life) || !room(&srq->ops, srq->ops_prod))
		return;
	memcpy(slot(&srq->ops, srq->ops_prod), op, sizeof(*op));
	nic_store_release(&srq->ops.hdr->prod, ++srq->ops_prod);
	srq->process->debt += sim.config.cost.post_recv;
}

void ring_tags(struct srq *srq)
{
	struct process *p = srq->process;

	if (is_lost(p, srq->life) || p->node->dead)
		return;
	p->inside = true;
	nic_tm_doorbell(&p->view, srq->srqn);
	p->inside = false;
	node_ran(p->node);
}

bool poll_cq(struct queue *cq, struct wc *wc)
{
	struct process *p = cq->process;
	const struct space *space = &p->node->space[p->space];
	const struct vnet_cqe *cqe;

	if (is_lost(p, cq->life))
		return false;
	cqe = queue_entry(cq, cq->cons);
	if (!queue_has(cq, cq->cons)) {
		process_polled(p);
		return false;
	}
	*wc = (struct wc){
		.wr_id = cqe->wr_id,
		.status = cqe->status,
		.opcode = cqe->opcode,
		.flags = cqe->flags,
		.byte_len = cqe->byte_len,
		.imm = cqe->imm,
		.qp_num = cqe->qp_num,
		.src_qp = cqe->src_qp,
	};
	if (wc->flags & VNET_WC_LID) {
		wc->byte_len &= (1u << VNET_CQE_LID_SHIFT) - 1;
		wc->src_qp &= (1u << VNET_CQE_SL_SHIFT) - 1;
	}
	if (cqe->payload_len && cqe->scatter_addr >= space->start &&
	    cqe->scatter_addr - space->start <= space->size - cqe->payload_len)
		memcpy(space->memory + (cqe->scatter_addr - space->start), cqe->payload,
		       cqe->payload_len);
	nic_store_release(&cq->ring.hdr->cons, ++cq->cons);
	p->debt += sim.config.cost.poll;
	return true;
}

void arm_cq(struct queue *cq, bool solicited)
{
	struct process *p = cq->process;

	if (is_lost(p, cq->life))
		return;
	nic_store(&cq->ring.hdr->arm, solicited ? VNET_CQ_ARM_SOLICITED : VNET_CQ_ARM_NEXT);
	nic_barrier();
	if (!queue_has(cq, cq->cons))
		return;
	p->inside = true;
	nic_cq_doorbell(&p->view, cq->cqn);
	p->inside = false;
	node_ran(p->node);
}

struct vnet_send_wqe make_wr(u8 opcode, u64 wr_id)
{
	return (struct vnet_send_wqe){
		.wr_id = wr_id,
		.opcode = opcode,
		.flags = VNET_WR_SIGNALED,
	};
}

void to_address(struct vnet_send_wqe *wqe, u32 node, u32 qpn)
{
	wqe->ud = (struct vnet_wqe_ud){
		.remote_qpn = qpn,
		.remote_qkey = SIM_QKEY,
		.sgid_index = 1,
		.hop_limit = 64,
	};
	node_gid(node, wqe->ud.dgid);
	if (sim.config.lids)
		wqe->ud.dlid = node_lid(node);
}

void to_group(struct vnet_send_wqe *wqe, u32 from, const u8 *gid)
{
	to_address(wqe, from, VNET_WIRE_GROUP_QPN);
	memcpy(wqe->ud.dgid, gid, sizeof(wqe->ud.dgid));
	if (sim.config.lids)
		wqe->ud.dlid = 0xc000;
}

void to_address_ipv6(struct vnet_send_wqe *wqe, u32 node, u32 qpn)
{
	to_address(wqe, node, qpn);
	wqe->ud.sgid_index = 0;
	node_gid_ipv6(node, wqe->ud.dgid);
}
