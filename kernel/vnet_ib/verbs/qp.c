// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Queue pairs: creation and destruction. See qp_attr.c for attributes, post.c for posting. */
#include <linux/module.h>
#include <linux/pid.h>
#include <rdma/uverbs_ioctl.h>

#include "doorbells/doorbells.h"
#include "inside.h"
#include "wq.h"

/* ------------------------------------------------------------------ create */

/* Work requests that the device posts for tag matching: two for each active rendezvous. */
#define VNET_TM_SENDS 128
/* Inline data of such a request: both headers of a rendezvous message. */
#define VNET_TM_INLINE 32

/* The firmware uses the values of enum ibv_qp_type, which equal the core's. */
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
	/* Created for a process by the core, which also opens it for other processes. */
	case IB_QPT_XRC_TGT:
		return true;
	/* The core's work requests have no field for a remote SRQ, and none for raw packets. */
	case IB_QPT_XRC_INI:
	case IB_QPT_RAW_PACKET:
		return is_user;
	default:
		return false;
	}
}

/* XRC initiators only send. XRC targets receive to shared receive queues. */
static bool vnet_has_receives(const struct ib_qp_init_attr *init)
{
	return !init->srq && init->qp_type != IB_QPT_XRC_INI && init->qp_type != IB_QPT_XRC_TGT;
}

static bool vnet_qp_has_cqs(const struct ib_qp_init_attr *init)
{
	switch (init->qp_type) {
	case IB_QPT_XRC_TGT:
		return true;
	case IB_QPT_XRC_INI:
		return init->send_cq;
	default:
		return init->send_cq && init->recv_cq;
	}
}

static bool vnet_qp_matches(const struct ib_qp_init_attr *init)
{
	return init->srq && init->srq->srq_type == IB_SRQT_TM;
}

/* A queue pair with an RSS table has no queues of its own. */
static int vnet_qp_check_rss(const struct ib_qp_init_attr *init)
{
	const struct ib_qp_cap *cap = &init->cap;

	if (init->qp_type != IB_QPT_RAW_PACKET || init->send_cq || init->srq || cap->max_send_wr ||
	    cap->max_recv_wr || cap->max_recv_sge)
		return -EINVAL;
	return 0;
}

static int vnet_qp_check(const struct ib_qp_init_attr *init, bool is_user)
{
	const struct ib_qp_cap *cap = &init->cap;

	if (init->create_flags || !vnet_qp_type_ok(init->qp_type, is_user))
		return -EOPNOTSUPP;
	/* The core has checked this for some commands. Check it for all. */
	if (init->qp_type == IB_QPT_RAW_PACKET && !capable(CAP_NET_RAW))
		return -EPERM;
	if (init->rwq_ind_tbl)
		return vnet_qp_check_rss(init);
	if (!vnet_qp_has_cqs(init))
		return -EINVAL;
	if (init->qp_type == IB_QPT_XRC_TGT)
		return 0;
	/* With tag matching, only the device posts to the send queue. */
	if (vnet_qp_matches(init) && (init->qp_type != IB_QPT_RC || cap->max_send_wr))
		return -EINVAL;
	if (cap->max_send_wr > VNET_MAX_QP_WR || cap->max_send_sge > VNET_MAX_SGE ||
	    cap->max_inline_data > VNET_MAX_INLINE)
		return -EINVAL;
	if (vnet_has_receives(init) &&
	    (cap->max_recv_wr > VNET_MAX_QP_WR || cap->max_recv_sge > VNET_MAX_SGE))
		return -EINVAL;
	return 0;
}

/* Read the flags of the driver's part of the request. They apply to UD queue pairs only. */
static int vnet_qp_flags(const struct ib_qp_init_attr *init, struct ib_udata *udata, u32 *flags)
{
	static const struct vnet_create_qp_req none;
	struct vnet_create_qp_req req = {};
	int err;

	*flags = 0;
	if (!udata || !udata->inlen)
		return 0;
	err = vnet_copy_request(&req, sizeof(req), udata);
	if (err)
		return err;
	*flags = req.flags;
	req.flags = 0;
	if (*flags & ~(u32)VNET_CREATE_QP_RETURN || memcmp(&req, &none, sizeof(none)))
		return -EINVAL;
	return *flags && init->qp_type != IB_QPT_UD ? -EOPNOTSUPP : 0;
}

static int vnet_qp_make_rings(struct vnet_qp *qp, struct vnet_ucontext *uc,
			      const struct ib_qp_init_attr *init)
{
	struct ib_ucontext *ibuc = uc ? &uc->ibuc : NULL;
	const struct ib_qp_cap *cap = &init->cap;
	int err;

	/*
	 * An XRC target may outlive the process, so its rings are not mapped. The firmware
	 * expects a send queue, which is never used.
	 */
	if (init->qp_type == IB_QPT_XRC_TGT)
		return vnet_send_wq_make(&qp->sq, NULL, 0, 0, &qp->max_inline);
	if (vnet_qp_matches(init)) {
		qp->max_inline = VNET_TM_INLINE;
		return vnet_send_wq_make(&qp->sq, NULL, VNET_TM_SENDS, VNET_TM_MAX_SGE,
					 &qp->max_inline);
	}
	qp->max_inline = cap->max_inline_data;
	err = vnet_send_wq_make(&qp->sq, ibuc, cap->max_send_wr, cap->max_send_sge,
				&qp->max_inline);
	if (err || !vnet_has_receives(init))
		return err;
	err = vnet_recv_wq_make(&qp->rq, ibuc, cap->max_recv_wr, cap->max_recv_sge);
	if (err)
		vnet_ring_free(&qp->sq.mem);
	return err;
}

void vnet_qp_free_rings(struct vnet_qp *qp)
{
	vnet_ring_free(&qp->sq.mem);
	if (qp->rq.mem.ring)
		vnet_ring_free(&qp->rq.mem);
}

/* Set the numbers of the objects that the queue pair refers to. */
static void vnet_qp_relate(struct nic_qp_params *p, const struct vnet_qp *qp,
			   const struct ib_qp_init_attr *init)
{
	if (init->qp_type == IB_QPT_XRC_TGT) {
		p->xrcdn = vnet_xrcdn(init->xrcd);
		return;
	}
	p->pdn = vnet_pdn(qp->ibqp.pd);
	p->send_cqn = vnet_cqn(init->send_cq);
	if (init->qp_type == IB_QPT_XRC_INI)
		return;
	p->recv_cqn = vnet_cqn(init->recv_cq);
	if (init->srq)
		p->srqn = vnet_srqn(init->srq);
	if (!vnet_qp_matches(init))
		return;
	/* All completions go to the CQ of the shared receive queue, and only signaled ones. */
	p->sq_sig_all = 0;
	p->send_cqn = vnet_cqn(init->srq->ext.cq);
	p->recv_cqn = p->send_cqn;
}

static int vnet_qp_enter(struct vnet_qp *qp, struct vnet_ucontext *uc,
			 const struct ib_qp_init_attr *init, u32 flags)
{
	struct vnet_dev *dev = to_vdev(qp->ibqp.device);
	struct nic_qp_params p = {
		.qpn = qp->ibqp.qp_num,
		.type = vnet_qp_nic_type(init->qp_type),
		.sq_sig_all = init->sq_sig_type == IB_SIGNAL_ALL_WR,
		.sq_stride_shift = qp->sq.mem.shift,
		.max_send_sge = qp->sq.max_sge,
		.max_inline = qp->max_inline,
		.sq_ring = vnet_ring_name(&qp->sq.mem),
		.sq_entries = qp->sq.mem.entries,
		.space = qp->view->nic.space,
		.owner_pid = uc ? task_pid_nr(current) : 0,
		.privileged = qp->view == &dev->kernel,
		.returns = flags & VNET_CREATE_QP_RETURN,
	};
	enum nic_result result;

	vnet_qp_relate(&p, qp, init);
	if (qp->rq.mem.ring) {
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

/*
 * Before destruction, wait for a limited time until raw packets and messages to multicast groups
 * on other NICs have been sent.
 */
static void vnet_qp_linger(struct vnet_dev *dev, u32 qpn)
{
	unsigned long until = jiffies + msecs_to_jiffies(NIC_MCAST_LINGER_MS);
	bool lingers;

	do {
		vnet_enter();
		lingers = nic_mcast_is_pending(&dev->agent.nic, qpn);
		vnet_leave();
		if (lingers)
			usleep_range(100, 1000);
	} while (lingers && time_before(jiffies, until));
}

/*
 * Move the counters of a destroyed queue pair to dev->retired, so that the port's sums keep
 * them.
 */
static void vnet_retire_qp(struct vnet_dev *dev, u32 index)
{
	struct nic_qp_counters *c = &dev->agent.nic.qp[index].counters;

	mutex_lock(&dev->retired_lock);
	nic_counters_add(&dev->retired, c);
	/* The QP is destroyed and its index not free yet, so nobody else writes the entry. */
	memset(c, 0, sizeof(*c));
	mutex_unlock(&dev->retired_lock);
}

void vnet_qp_leave(struct vnet_dev *dev, struct vnet_qp *qp)
{
	enum nic_result result;

	mutex_lock(&dev->commands);
	result = vnet_command(dev, nic_qp_destroy(&dev->agent.nic, qp->ibqp.qp_num));
	mutex_unlock(&dev->commands);
	WARN_ON(result != NIC_OK);
	vnet_retire_qp(dev, qp->obj.index);
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

void vnet_qp_fill_cap(const struct vnet_qp *qp, struct ib_qp_cap *cap)
{
	*cap = (struct ib_qp_cap){};
	if (qp->unposted)
		return;
	cap->max_send_wr = qp->sq.mem.entries;
	cap->max_send_sge = qp->sq.max_sge;
	cap->max_inline_data = qp->max_inline;
	if (!qp->rq.mem.ring)
		return;
	cap->max_recv_wr = qp->rq.mem.entries;
	cap->max_recv_sge = qp->rq.max_sge;
}

int vnet_qp_number(struct vnet_dev *dev, struct vnet_qp *qp, enum ib_qp_type type)
{
	if (type != IB_QPT_GSI)
		return vnet_number_draw(dev, &dev->qps, nic_qpn_draw, &qp->obj, &qp->ibqp.qp_num);
	qp->ibqp.qp_num = VNET_QP1;
	return vnet_number_claim(&dev->qps, &qp->obj, VNET_QP1);
}

/*
 * Queue pairs keep the module loaded, also those of kernel consumers. Queue pair 1 does not, as
 * each device always has it.
 */
static bool vnet_qp_holds_module(const struct vnet_qp *qp)
{
	return qp->obj.index != VNET_QP1;
}

/*
 * The view of the owner's doorbells. An XRC target has no owner, and doorbells for it have no
 * effect.
 */
static struct vnet_view *vnet_qp_view(struct vnet_dev *dev, struct vnet_ucontext *uc,
				      enum ib_qp_type type)
{
	if (type == IB_QPT_XRC_TGT)
		return &dev->agent;
	return uc ? &uc->door->view : &dev->kernel;
}

/* Create a queue pair that only spreads frames. It has a number, but no queue to ring for. */
static int vnet_create_rss_qp(struct vnet_qp *qp, struct ib_udata *udata)
{
	struct vnet_ucontext *uc = rdma_udata_to_drv_context(udata, struct vnet_ucontext, ibuc);
	struct vnet_dev *dev = to_vdev(qp->ibqp.device);
	struct nic_rss rss;
	int err;

	err = vnet_rss_get(qp->ibqp.rwq_ind_tbl, udata, &rss);
	if (!err)
		err = vnet_rss_make(dev, qp, &rss);
	if (err)
		return err;
	qp->view = &uc->door->view;
	err = vnet_qp_number(dev, qp, IB_QPT_RAW_PACKET);
	if (err)
		goto free_spread;
	err = vnet_qp_respond(qp, udata);
	if (!err)
		return 0;
	vnet_number_end(&dev->qps, &qp->obj);
free_spread:
	vnet_ring_free(&qp->spread);
	return err;
}

/* Create an ordinary queue pair. */
static int vnet_create_queues(struct vnet_qp *qp, struct ib_qp_init_attr *init,
			      struct ib_udata *udata)
{
	struct vnet_ucontext *uc = rdma_udata_to_drv_context(udata, struct vnet_ucontext, ibuc);
	struct vnet_dev *dev = to_vdev(qp->ibqp.device);
	u32 flags;
	int err;

	err = vnet_qp_flags(init, udata, &flags);
	if (err)
		return err;
	err = vnet_qp_make_rings(qp, uc, init);
	if (err)
		return err;
	err = vnet_qp_number(dev, qp, init->qp_type);
	if (err)
		goto free_rings;
	qp->unposted = init->qp_type == IB_QPT_XRC_TGT || vnet_qp_matches(init);
	qp->view = vnet_qp_view(dev, uc, init->qp_type);
	qp->sig_all = init->sq_sig_type == IB_SIGNAL_ALL_WR;
	err = vnet_qp_enter(qp, uc, init, flags);
	if (err)
		goto end_number;
	err = vnet_qp_respond(qp, udata);
	if (err)
		goto leave;
	vnet_qp_fill_cap(qp, &init->cap);
	return 0;

leave:
	vnet_qp_leave(dev, qp);
end_number:
	vnet_number_end(&dev->qps, &qp->obj);
free_rings:
	vnet_qp_free_rings(qp);
	return err;
}

int vnet_create_qp(struct ib_qp *ibqp, struct ib_qp_init_attr *init, struct ib_udata *udata)
{
	struct vnet_qp *qp = to_vqp(ibqp);
	int err;

	err = vnet_qp_check(init, rdma_udata_to_drv_context(udata, struct vnet_ucontext, ibuc));
	if (err)
		return err;
	qp->user = current_uid();
	if (vnet_qp_is_rss(qp))
		err = vnet_create_rss_qp(qp, udata);
	else
		err = vnet_create_queues(qp, init, udata);
	if (!err && vnet_qp_holds_module(qp))
		__module_get(THIS_MODULE);
	return err;
}

int vnet_destroy_qp(struct ib_qp *ibqp, struct ib_udata *udata)
{
	struct vnet_dev *dev = to_vdev(ibqp->device);
	struct vnet_qp *qp = to_vqp(ibqp);

	if (!vnet_qp_is_rss(qp)) {
		vnet_qp_linger(dev, ibqp->qp_num);
		vnet_qp_leave(dev, qp);
	}
	vnet_number_end(&dev->qps, &qp->obj);
	if (vnet_qp_is_rss(qp))
		vnet_ring_free(&qp->spread);
	else
		vnet_qp_free_rings(qp);
	if (vnet_qp_holds_module(qp))
		module_put(THIS_MODULE);
	return 0;
}
