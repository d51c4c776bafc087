// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Queue pairs: attributes and state transitions. See qp.c for creation and destruction. */
#include <rdma/ib_cache.h>

#include "doorbells/doorbells.h"
#include "inside.h"

/* Ports with Ethernet link layer have no LIDs, so a path without a GRH is not valid. */
static int vnet_qp_address(const struct rdma_ah_attr *ah, struct nic_qp_attr *attr)
{
	const struct ib_global_route *grh = rdma_ah_read_grh(ah);

	if (!(rdma_ah_get_ah_flags(ah) & IB_AH_GRH) || rdma_ah_get_port_num(ah) != 1)
		return -EINVAL;
	memcpy(attr->dgid, grh->dgid.raw, sizeof(attr->dgid));
	attr->flow_label = grh->flow_label;
	attr->sgid_index = grh->sgid_index;
	attr->hop_limit = grh->hop_limit;
	attr->traffic_class = grh->traffic_class;
	attr->sl = rdma_ah_get_sl(ah);
	attr->static_rate = rdma_ah_get_static_rate(ah);
	attr->src_path_bits = rdma_ah_get_path_bits(ah);
	attr->is_global = 1;
	return 0;
}

static int vnet_qp_attributes(const struct ib_qp_attr *attr, int mask, struct nic_qp_attr *nic)
{
	*nic = (struct nic_qp_attr){
		.qkey = attr->qkey,
		.rq_psn = attr->rq_psn,
		.sq_psn = attr->sq_psn,
		.dest_qpn = attr->dest_qp_num,
		.access = attr->qp_access_flags,
		.pkey_index = attr->pkey_index,
		.port = attr->port_num,
		.path_mtu = attr->path_mtu,
		.max_rd_atomic = attr->max_rd_atomic,
		.max_dest_rd_atomic = attr->max_dest_rd_atomic,
		.min_rnr_timer = attr->min_rnr_timer,
		.timeout = attr->timeout,
		.retry_cnt = attr->retry_cnt,
		.rnr_retry = attr->rnr_retry,
		.en_sqd_async_notify = attr->en_sqd_async_notify,
		.path_mig_state = attr->path_mig_state,
		.rate_limit = attr->rate_limit,
	};
	return mask & IB_QP_AV ? vnet_qp_address(&attr->ah_attr, nic) : 0;
}

/* Setting a controlled Q_Key is privileged, as it allows a process to send to QP 1. */
static bool vnet_qkey_allowed(const struct ib_qp_attr *attr, int mask, const struct ib_udata *udata)
{
	if (!VNET_CHECKS_QKEYS || !udata || !(mask & IB_QP_QKEY))
		return true;
	return !(attr->qkey & NIC_QKEY_CONTROLLED) || capable(CAP_NET_RAW);
}

static enum nic_result vnet_qp_change(struct vnet_dev *dev, struct vnet_qp *qp,
				      const struct ib_qp_attr *attr, int mask,
				      const struct nic_qp_attr *nic, bool limited)
{
	/* vnet_command() may release the lock before it repeats the call. */
	if (limited && !vnet_may_connect(dev, qp, nic))
		return NIC_ENOMEM;
	return nic_qp_modify(&dev->agent.nic, qp->ibqp.qp_num, nic, mask,
			     mask & IB_QP_CUR_STATE ? attr->cur_qp_state : 0,
			     mask & IB_QP_STATE ? attr->qp_state : 0);
}

/* The firmware checks which attributes a transition may set. */
int vnet_modify_qp(struct ib_qp *ibqp, struct ib_qp_attr *attr, int mask, struct ib_udata *udata)
{
	struct vnet_dev *dev = to_vdev(ibqp->device);
	struct vnet_qp *qp = to_vqp(ibqp);
	struct nic_qp_attr nic;
	enum nic_result result;
	bool limited;
	int err;

	if (mask & ~(IB_QP_ATTR_STANDARD_BITS | IB_QP_RATE_LIMIT))
		return -EOPNOTSUPP;
	/* An RSS queue pair has no state; its work queues have. */
	if (vnet_qp_is_rss(qp))
		return -EOPNOTSUPP;
	/* Only InfiniBand ports have path migration. */
	if (mask & IB_QP_ALT_PATH)
		return -EINVAL;
	if (!vnet_qkey_allowed(attr, mask, udata))
		return -EPERM;
	err = vnet_qp_attributes(attr, mask, &nic);
	if (err)
		return err;
	/* The core has set the port of queue pair 1 at its creation. */
	if (ibqp->qp_type == IB_QPT_GSI && mask & IB_QP_STATE && attr->qp_state == IB_QPS_INIT) {
		mask |= IB_QP_PORT;
		nic.port = 1;
	}
	/* Datagram queue pairs have no path, and hold no rows. */
	limited = udata && mask & IB_QP_AV && vnet_has_quota();
	mutex_lock(&dev->commands);
	result = vnet_command(dev, vnet_qp_change(dev, qp, attr, mask, &nic, limited));
	mutex_unlock(&dev->commands);
	if (result == NIC_OK && mask & IB_QP_STATE && attr->qp_state == IB_QPS_RESET) {
		vnet_wq_forget(&qp->sq);
		vnet_wq_forget(&qp->rq);
	}
	vnet_deliver_command(dev);
	return vnet_errno(result);
}

static void vnet_qp_fill_address(const struct nic_qp_attr *nic, struct rdma_ah_attr *ah)
{
	union ib_gid dgid;

	ah->type = RDMA_AH_ATTR_TYPE_ROCE;
	memcpy(dgid.raw, nic->dgid, sizeof(dgid.raw));
	rdma_ah_set_grh(ah, &dgid, nic->flow_label, nic->sgid_index, nic->hop_limit,
			nic->traffic_class);
	rdma_ah_set_sl(ah, nic->sl);
	rdma_ah_set_static_rate(ah, nic->static_rate);
	rdma_ah_set_path_bits(ah, nic->src_path_bits);
	rdma_ah_set_port_num(ah, 1);
	if (!nic->is_global)
		rdma_ah_set_ah_flags(ah, 0);
}

int vnet_query_qp(struct ib_qp *ibqp, struct ib_qp_attr *attr, int mask,
		  struct ib_qp_init_attr *init)
{
	struct vnet_dev *dev = to_vdev(ibqp->device);
	struct vnet_qp *qp = to_vqp(ibqp);
	enum nic_result result;
	struct nic_qp_attr nic;
	u8 state, draining;

	if (vnet_qp_is_rss(qp)) {
		/* An error would end tools that list all queue pairs. */
		*attr = (struct ib_qp_attr){ .qp_state = IB_QPS_RESET };
		*init = (struct ib_qp_init_attr){ .qp_type = ibqp->qp_type,
						  .rwq_ind_tbl = ibqp->rwq_ind_tbl };
		return 0;
	}
	mutex_lock(&dev->commands);
	vnet_enter();
	result = nic_qp_query(&dev->agent.nic, ibqp->qp_num, &nic, &state, &draining);
	vnet_leave();
	mutex_unlock(&dev->commands);
	if (result != NIC_OK)
		return vnet_errno(result);
	*attr = (struct ib_qp_attr){
		.qp_state = state,
		.cur_qp_state = state,
		.path_mtu = nic.path_mtu,
		.path_mig_state = nic.path_mig_state,
		.qkey = nic.qkey,
		.rq_psn = nic.rq_psn,
		.sq_psn = nic.sq_psn,
		.dest_qp_num = nic.dest_qpn,
		.qp_access_flags = nic.access,
		.pkey_index = nic.pkey_index,
		.en_sqd_async_notify = nic.en_sqd_async_notify,
		.sq_draining = draining,
		.max_rd_atomic = nic.max_rd_atomic,
		.max_dest_rd_atomic = nic.max_dest_rd_atomic,
		.min_rnr_timer = nic.min_rnr_timer,
		.port_num = nic.port,
		.timeout = nic.timeout,
		.retry_cnt = nic.retry_cnt,
		.rnr_retry = nic.rnr_retry,
	};
	vnet_qp_fill_cap(qp, &attr->cap);
	vnet_qp_fill_address(&nic, &attr->ah_attr);
	*init = (struct ib_qp_init_attr){
		.event_handler = ibqp->event_handler,
		.qp_context = ibqp->qp_context,
		.send_cq = ibqp->send_cq,
		.recv_cq = ibqp->recv_cq,
		.srq = ibqp->srq,
		.cap = attr->cap,
		.sq_sig_type = qp->sig_all ? IB_SIGNAL_ALL_WR : IB_SIGNAL_REQ_WR,
		.qp_type = ibqp->qp_type,
	};
	return 0;
}
