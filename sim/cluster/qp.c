// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Queue pairs of simulated processes: creation, connection, state changes, destruction. */
#include "cluster/command.h"

/* The values of enum ibv_qp_attr_mask. */
enum mask {
	M_STATE = 1 << 0,
	M_CUR_STATE = 1 << 1,
	M_SQD_NOTIFY = 1 << 2,
	M_ACCESS = 1 << 3,
	M_PKEY = 1 << 4,
	M_PORT = 1 << 5,
	M_QKEY = 1 << 6,
	M_AV = 1 << 7,
	M_MTU = 1 << 8,
	M_TIMEOUT = 1 << 9,
	M_RETRY_CNT = 1 << 10,
	M_RNR_RETRY = 1 << 11,
	M_RQ_PSN = 1 << 12,
	M_RD_ATOMIC = 1 << 13,
	M_MIN_RNR = 1 << 15,
	M_SQ_PSN = 1 << 16,
	M_DEST_RD_ATOMIC = 1 << 17,
	M_DEST_QPN = 1 << 20,
	M_RATE_LIMIT = 1 << 25,
};

/* XRC queue pairs have no receive queue. XRC targets have no send CQ and no owning process. */
static void extend(struct nic_qp_params *params, const struct qp_options *o)
{
	if (params->type != NIC_QPT_XRC_INI && params->type != NIC_QPT_XRC_TGT)
		return;
	params->recv_cqn = 0;
	params->rq_entries = 0;
	params->rq_stride_shift = 0;
	params->max_recv_sge = 0;
	if (params->type == NIC_QPT_XRC_INI)
		return;
	params->send_cqn = 0;
	params->sq_entries = 1;
	params->xrcdn = o->xrcdn;
	params->space = 0;
	params->owner_pid = 0;
}

struct qp *make_qp(struct process *p, u8 type, struct queue *send_cq, struct queue *recv_cq,
		   const struct qp_options *o)
{
	struct qp *qp = sim_alloc(sizeof(*qp));
	struct node *node = p->node;
	struct nic_qp_params params = {
		.type = type,
		.sq_sig_all = o->sig_all,
		.privileged = o->privileged,
		.returns = o->returns,
		.sq_stride_shift = SEND_SHIFT,
		.rq_stride_shift = RECV_SHIFT,
		.max_send_sge = MAX_SEND_SGE,
		.max_recv_sge = MAX_RECV_SGE,
		.max_inline = MAX_INLINE,
		.pdn = p->pdn,
		.sq_entries = o->sq_entries ? o->sq_entries : 16,
		.rq_entries = o->srq        ? 0 :
			      o->rq_entries ? o->rq_entries :
					      16,
		.send_cqn = send_cq->cqn,
		.recv_cqn = recv_cq->cqn,
		.srqn = o->srq ? o->srq->srqn : 0,
		.space = p->space,
		.owner_pid = 1000 + p->space,
	};

	enum nic_result result;
	u32 tries = 0;

	extend(&params, o);
	qp->process = p;
	qp->life = node->life;
	qp->type = type;
	qp->send_cq = send_cq;
	qp->recv_cq = recv_cq;
	qp->srq = o->srq;
	qp->sq = ring_make(p, params.sq_entries, SEND_SHIFT);
	params.sq_ring = qp->sq.offset;
	if (params.rq_entries) {
		qp->rq = ring_make(p, params.rq_entries, RECV_SHIFT);
		params.rq_ring = qp->rq.offset;
	}
	/* Repeat while another queue pair has the index that the number implies. */
	do {
		params.qpn = qp->qpn = new_qpn(node);
		result = COMMAND(p, nic_qp_create(&node->nic, &params));
	} while (result == NIC_EINUSE && tries++ < node->nic.max_qp);
	if (result != NIC_OK && has_nic(p))
		violated("node %u: QP %u cannot be made", node->index, qp->qpn);
	own_number(p, 'q', qp->qpn);
	return qp;
}

static bool is_reliable(u8 type)
{
	return type == NIC_QPT_RC || type == NIC_QPT_XRC_INI || type == NIC_QPT_XRC_TGT;
}

static u32 needed(u8 type, u8 to)
{
	if (type == NIC_QPT_RAW_PACKET)
		return to == NIC_QPS_INIT ? M_PORT : 0;
	switch (to) {
	case NIC_QPS_INIT:
		return M_PKEY | M_PORT | (type == NIC_QPT_UD ? M_QKEY : M_ACCESS);
	case NIC_QPS_RTR:
		if (type == NIC_QPT_UD)
			return 0;
		return M_AV | M_MTU | M_DEST_QPN | M_RQ_PSN |
		       (is_reliable(type) ? M_DEST_RD_ATOMIC | M_MIN_RNR : 0);
	case NIC_QPS_RTS:
		return M_SQ_PSN |
		       (is_reliable(type) ? M_TIMEOUT | M_RETRY_CNT | M_RNR_RETRY | M_RD_ATOMIC :
					    0);
	default:
		return 0;
	}
}

static struct nic_qp_attr attributes(u32 node, u32 qpn, const struct qp_options *o)
{
	struct nic_qp_attr attr = {
		.qkey = o->qkey ? o->qkey : SIM_QKEY,
		.rate_limit = o->rate_limit,
		.dest_qpn = qpn,
		.access = (ALL_ACCESS & 0xf) | NIC_ACCESS_FLUSH_GLOBAL,
		.port = 1,
		.path_mtu = 5,
		.max_rd_atomic = 16,
		.max_dest_rd_atomic = 16,
		.min_rnr_timer = o->min_rnr_timer ? o->min_rnr_timer : 12,
		.timeout = o->timeout ? o->timeout : 17,
		.retry_cnt = o->retry_cnt ? o->retry_cnt : 7,
		.rnr_retry = o->rnr_retry ? o->rnr_retry : 7,
		.sgid_index = 1,
		.hop_limit = 64,
		.is_global = 1,
	};

	attr.rq_psn = attr.sq_psn = o->psn;
	if (o->no_access)
		attr.access = 0;
	if (o->no_reads)
		attr.max_rd_atomic = 0;
	node_gid(node, attr.dgid);
	if (sim.config.lids)
		attr.dlid = node_lid(node);
	if (o->ipv6) {
		node_gid_ipv6(node, attr.dgid);
		attr.sgid_index = 0;
	}
	return attr;
}

/* Modify a queue pair. Repeats while all rows are in use (NIC_ENOMEM). */
static enum nic_result connect_step(struct qp *qp, const struct nic_qp_attr *attr, u32 mask, u8 to)
{
	struct process *p = qp->process;
	enum nic_result result;
	u32 tries = 0;

	do
		result = COMMAND(p, nic_qp_modify(&p->node->nic, qp->qpn, attr, mask, 0, to));
	while (result == NIC_ENOMEM && command_again(p, &tries));
	return result;
}

void connect_qp(struct qp *qp, u32 node, u32 qpn, const struct qp_options *o)
{
	static const u8 path[] = { NIC_QPS_INIT, NIC_QPS_RTR, NIC_QPS_RTS };
	struct nic_qp_attr attr = attributes(node, qpn, o);
	struct process *p = qp->process;
	u32 i;

	for (i = 0; i < sizeof(path) && has_nic(p); i++) {
		u32 mask = M_STATE | needed(qp->type, path[i]);

		if (path[i] == NIC_QPS_RTS && o->receives_only)
			break;
		if (path[i] == NIC_QPS_RTS && o->rate_limit)
			mask |= M_RATE_LIMIT;
		if (connect_step(qp, &attr, mask, path[i]) != NIC_OK && has_nic(p))
			violated("node %u: QP %u does not go to state %u", p->node->index, qp->qpn,
				 path[i]);
		trace(TRACE_QP, p->node->index, qp->qpn, path[i], qpn);
		node_ran(p->node);
	}
}

enum nic_result set_state(struct qp *qp, u8 to)
{
	static const struct nic_qp_attr attr = { .en_sqd_async_notify = 1 };
	u32 mask = M_STATE | (to == NIC_QPS_SQD ? M_SQD_NOTIFY : 0);
	struct process *p = qp->process;
	enum nic_result result;

	if (is_lost(p, qp->life))
		return NIC_EINVAL;
	result = COMMAND(p, nic_qp_modify(&p->node->nic, qp->qpn, &attr, mask, 0, to));
	trace(TRACE_QP, p->node->index, qp->qpn, to, 0);
	node_ran(p->node);
	return result;
}

enum nic_result set_state_from(struct qp *qp, u8 to, u8 now)
{
	static const struct nic_qp_attr attr = { 0 };
	u32 mask = M_STATE | (now == 0xff ? 0 : M_CUR_STATE);
	struct process *p = qp->process;
	enum nic_result result;

	if (is_lost(p, qp->life))
		return NIC_EINVAL;
	result = COMMAND(p, nic_qp_modify(&p->node->nic, qp->qpn, &attr, mask, now, to));
	node_ran(p->node);
	return result;
}

u8 state_of(const struct qp *qp)
{
	struct nic_qp_attr attr;
	u8 state_now = NIC_QPS_ERR, draining;

	if (!is_lost(qp->process, qp->life))
		nic_qp_query(&qp->process->node->nic, qp->qpn, &attr, &state_now, &draining);
	return state_now;
}

bool destroy_qp(struct qp *qp)
{
	struct process *p = qp->process;
	enum nic_result result;

	if (is_lost(p, qp->life))
		return true;
	result = COMMAND(p, nic_qp_destroy(&p->node->nic, qp->qpn));
	trace(TRACE_QP, p->node->index, qp->qpn, 99, 0);
	node_ran(p->node);
	disown(p, 'q', qp->qpn);
	/* After the death of process or node, the caller need not destroy the queue pair. */
	return result == NIC_OK || p->dead || !has_nic(p);
}
