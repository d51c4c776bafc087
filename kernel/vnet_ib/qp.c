// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Queue pairs: life and attributes. Kernel consumers' posting is in post.c. */
#include <linux/module.h>
#include <linux/pid.h>
#include <rdma/ib_cache.h>
#include <rdma/uverbs_ioctl.h>

#include "vnet_ib.h"
#include "wq.h"

/* ------------------------------------------------------------------ create */

/* The values of ibv_qp_type, which the core's are as well. */
static u8 vnet_qp_nic_type(enum ib_qp_type type)
{
	return type == IB_QPT_GSI ? NIC_QPT_UD : type;
}

static bool vnet_qp_type_ok(enum ib_qp_type type, bool is_user)
{
	switch (type) {
	case IB_QPT_RC:
	case IB_QPT_UC:
	case IB_QPT_UD:
		return true;
	case IB_QPT_GSI:
		return !is_user;
	default:
		return false;
	}
}

static int vnet_qp_check(const struct ib_qp_init_attr *init, bool is_user)
{
	const struct ib_qp_cap *cap = &init->cap;

	if (init->create_flags || init->rwq_ind_tbl)
		return -EOPNOTSUPP;
	if (!vnet_qp_type_ok(init->qp_type, is_user))
		return -EOPNOTSUPP;
	if (!init->send_cq || !init->recv_cq)
		return -EINVAL;
	if (cap->max_send_wr > VNET_MAX_QP_WR || cap->max_send_sge > VNET_MAX_SGE ||
	    cap->max_inline_data > VNET_MAX_INLINE)
		return -EINVAL;
	if (!init->srq && (cap->max_recv_wr > VNET_MAX_QP_WR || cap->max_recv_sge > VNET_MAX_SGE))
		return -EINVAL;
	return 0;
}

static int vnet_qp_make_rings(struct vnet_qp *qp, struct vnet_ucontext *uc,
			      const struct ib_qp_init_attr *init)
{
	struct ib_ucontext *ibuc = uc ? &uc->ibuc : NULL;
	const struct ib_qp_cap *cap = &init->cap;
	int err;

	qp->max_inline = cap->max_inline_data;
	err = vnet_send_wq_make(&qp->sq, ibuc, cap->max_send_wr, cap->max_send_sge,
				&qp->max_inline);
	if (err || init->srq)
		return err;
	err = vnet_recv_wq_make(&qp->rq, ibuc, cap->max_recv_wr, cap->max_recv_sge);
	if (err)
		vnet_ring_free(&qp->sq.mem);
	return err;
}

static void vnet_qp_free_rings(struct vnet_qp *qp)
{
	vnet_ring_free(&qp->sq.mem);
	if (qp->rq.mem.ring)
		vnet_ring_free(&qp->rq.mem);
}

/* Index and generation: never 0 or 1, which are special. */
static u32 vnet_qpn(const struct vnet_dev *dev, u32 index)
{
	u32 generations = (1u << NIC_QPN_BITS) / VNET_MAX_QP - 2;

	return index < VNET_FIRST_QP ?
		       index :
		       (1 + dev->qps.uses[index] % generations) * VNET_MAX_QP + index;
}

static int vnet_qp_enter(struct vnet_qp *qp, struct vnet_ucontext *uc,
			 const struct ib_qp_init_attr *init)
{
	struct vnet_dev *dev = to_vdev(qp->ibqp.device);
	struct nic_qp_params p = {
		.qpn = qp->ibqp.qp_num,
		.type = vnet_qp_nic_type(init->qp_type),
		.sq_sig_all = init->sq_sig_type == IB_SIGNAL_ALL_WR,
		.sq_stride_shift = qp->sq.mem.shift,
		.max_send_sge = qp->sq.max_sge,
		.max_inline = qp->max_inline,
		.pdn = vnet_pdn(qp->ibqp.pd),
		.sq_ring = vnet_ring_name(&qp->sq.mem),
		.sq_entries = qp->sq.mem.entries,
		.send_cqn = vnet_cqn(init->send_cq),
		.recv_cqn = vnet_cqn(init->recv_cq),
		.space = uc ? uc->obj.index : VNET_SPACE_KERNEL,
		.owner_pid = uc ? task_pid_nr(current) : 0,
		.privileged = !uc,
	};
	enum nic_result result;

	if (init->srq) {
		p.srqn = vnet_srqn(init->srq);
	} else {
		p.rq_stride_shift = qp->rq.mem.shift;
		p.max_recv_sge = qp->rq.max_sge;
		p.rq_ring = vnet_ring_name(&qp->rq.mem);
		p.rq_entries = qp->rq.mem.entries;
	}
	mutex_lock(&dev->commands);
	result = vnet_command(dev, nic_qp_create(&dev->agent.nic, &p));
	mutex_unlock(&dev->commands);
	return vnet_errno(result);
}

static void vnet_qp_leave(struct vnet_dev *dev, struct vnet_qp *qp)
{
	enum nic_result result;

	mutex_lock(&dev->commands);
	result = vnet_command(dev, nic_qp_destroy(&dev->agent.nic, qp->ibqp.qp_num));
	mutex_unlock(&dev->commands);
	WARN_ON(result != NIC_OK);
}

static int vnet_qp_respond(const struct vnet_qp *qp, struct ib_udata *udata)
{
	struct vnet_create_qp_resp resp = { .qpn = qp->ibqp.qp_num };

	if (!udata)
		return 0;
	if (udata->outlen < sizeof(resp))
		return -EINVAL;
	vnet_ring_info(&qp->sq.mem, &resp.sq);
	vnet_ring_info(&qp->rq.mem, &resp.rq);
	return ib_copy_to_udata(udata, &resp, sizeof(resp));
}

static void vnet_qp_fill_cap(const struct vnet_qp *qp, struct ib_qp_cap *cap)
{
	cap->max_send_wr = qp->sq.mem.entries;
	cap->max_send_sge = qp->sq.max_sge;
	cap->max_inline_data = qp->max_inline;
	cap->max_recv_wr = qp->rq.mem.ring ? qp->rq.mem.entries : 0;
	cap->max_recv_sge = qp->rq.mem.ring ? qp->rq.max_sge : 0;
}

static int vnet_qp_number(struct vnet_dev *dev, struct vnet_qp *qp, enum ib_qp_type type)
{
	int err;

	if (type == IB_QPT_GSI)
		err = vnet_number_claim(&dev->qps, &qp->obj, VNET_QP1);
	else
		err = vnet_number_get(&dev->qps, &qp->obj);
	if (!err)
		qp->ibqp.qp_num = vnet_qpn(dev, qp->obj.index);
	return err;
}

/*
 * The module is busy, for kernel consumers too. But not by queue pair 1, which every
 * device has for its life.
 */
static bool vnet_qp_holds_module(const struct vnet_qp *qp)
{
	return qp->obj.index != VNET_QP1;
}

int vnet_create_qp(struct ib_qp *ibqp, struct ib_qp_init_attr *init, struct ib_udata *udata)
{
	struct vnet_ucontext *uc = rdma_udata_to_drv_context(udata, struct vnet_ucontext, ibuc);
	struct vnet_dev *dev = to_vdev(ibqp->device);
	struct vnet_qp *qp = to_vqp(ibqp);
	int err;

	err = vnet_qp_check(init, uc);
	if (err)
		return err;
	err = vnet_qp_make_rings(qp, uc, init);
	if (err)
		return err;
	err = vnet_qp_number(dev, qp, init->qp_type);
	if (err)
		goto free_rings;
	qp->view = uc ? &uc->door->view : &dev->kernel;
	qp->sig_all = init->sq_sig_type == IB_SIGNAL_ALL_WR;
	err = vnet_qp_enter(qp, uc, init);
	if (err)
		goto end_number;
	err = vnet_qp_respond(qp, udata);
	if (err)
		goto leave;
	vnet_qp_fill_cap(qp, &init->cap);
	if (vnet_qp_holds_module(qp))
		__module_get(THIS_MODULE);
	return 0;

leave:
	vnet_qp_leave(dev, qp);
end_number:
	vnet_number_end(&dev->qps, &qp->obj);
free_rings:
	vnet_qp_free_rings(qp);
	return err;
}

int vnet_destroy_qp(struct ib_qp *ibqp, struct ib_udata *udata)
{
	struct vnet_dev *dev = to_vdev(ibqp->device);
	struct vnet_qp *qp = to_vqp(ibqp);

	vnet_qp_leave(dev, qp);
	vnet_number_end(&dev->qps, &qp->obj);
	vnet_qp_free_rings(qp);
	if (vnet_qp_holds_module(qp))
		module_put(THIS_MODULE);
	return 0;
}

/* -------------------------------------------------------------- attributes */

/* Loopback only, so far: the path does not matter, but its address must be one. */
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

/* Which transition may set what is the firmware's to check. */
int vnet_modify_qp(struct ib_qp *ibqp, struct ib_qp_attr *attr, int mask, struct ib_udata *udata)
{
	struct vnet_dev *dev = to_vdev(ibqp->device);
	struct vnet_qp *qp = to_vqp(ibqp);
	struct nic_qp_attr nic;
	enum nic_result result;
	int err;

	if (mask & ~(IB_QP_ATTR_STANDARD_BITS | IB_QP_RATE_LIMIT))
		return -EOPNOTSUPP;
	/* Path migration is InfiniBand's alone. */
	if (mask & IB_QP_ALT_PATH)
		return -EINVAL;
	err = vnet_qp_attributes(attr, mask, &nic);
	if (err)
		return err;
	/* Which port it is for was said when it was made. */
	if (ibqp->qp_type == IB_QPT_GSI && mask & IB_QP_STATE && attr->qp_state == IB_QPS_INIT) {
		mask |= IB_QP_PORT;
		nic.port = 1;
	}
	mutex_lock(&dev->commands);
	result = vnet_command(dev, nic_qp_modify(&dev->agent.nic, ibqp->qp_num, &nic, mask,
						 mask & IB_QP_CUR_STATE ? attr->cur_qp_state : 0,
						 mask & IB_QP_STATE ? attr->qp_state : 0));
	mutex_unlock(&dev->commands);
	/* A queue that is reset has forgotten what was posted. */
	if (result == NIC_OK && mask & IB_QP_STATE && attr->qp_state == IB_QPS_RESET) {
		qp->sq.prod = nic_load(&qp->sq.mem.ring->prod);
		if (qp->rq.mem.ring)
			qp->rq.prod = nic_load(&qp->rq.mem.ring->prod);
	}
	vnet_tell(dev);
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
		.rate_limit = nic.rate_limit,
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
