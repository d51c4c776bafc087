// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Shared receive queues. */
#include <linux/log2.h>
#include <rdma/uverbs_ioctl.h>

#include "vnet_ib.h"
#include "wq.h"

static int vnet_srq_respond(const struct vnet_srq *srq, struct ib_udata *udata)
{
	struct vnet_create_srq_resp resp = { .srqn = srq->obj.index + 1 };

	if (!udata)
		return 0;
	if (udata->outlen < sizeof(resp))
		return -EINVAL;
	vnet_ring_info(&srq->rq.mem, &resp.rq);
	return ib_copy_to_udata(udata, &resp, sizeof(resp));
}

static void vnet_srq_leave(struct vnet_dev *dev, struct vnet_srq *srq)
{
	enum nic_result result;

	mutex_lock(&dev->commands);
	result = vnet_command(dev, nic_srq_destroy(&dev->agent.nic, srq->obj.index + 1));
	mutex_unlock(&dev->commands);
	WARN_ON(result != NIC_OK);
}

static int vnet_srq_enter(struct ib_srq *ibsrq, const struct ib_srq_attr *attr, u32 space)
{
	struct vnet_dev *dev = to_vdev(ibsrq->device);
	struct vnet_srq *srq = to_vsrq(ibsrq);
	struct nic_srq_params p = {
		.ring = vnet_ring_name(&srq->rq.mem),
		.entries = srq->rq.mem.entries,
		.stride_shift = srq->rq.mem.shift,
		.max_sge = srq->rq.max_sge,
		.pdn = vnet_pdn(ibsrq->pd),
		.space = space,
		.limit = attr->srq_limit,
	};
	enum nic_result result;

	if (ibsrq->srq_type == IB_SRQT_XRC) {
		p.xrcdn = vnet_xrcdn(ibsrq->ext.xrc.xrcd);
		p.cqn = vnet_cqn(ibsrq->ext.cq);
		/* The name by which requests call it. */
		ibsrq->ext.xrc.srq_num = vnet_srqn(ibsrq);
	}
	mutex_lock(&dev->commands);
	result = vnet_command(dev, nic_srq_create(&dev->agent.nic, srq->obj.index + 1, &p));
	mutex_unlock(&dev->commands);
	return vnet_errno(result);
}

int vnet_create_srq(struct ib_srq *ibsrq, struct ib_srq_init_attr *init, struct ib_udata *udata)
{
	struct vnet_ucontext *uc = rdma_udata_to_drv_context(udata, struct vnet_ucontext, ibuc);
	struct vnet_dev *dev = to_vdev(ibsrq->device);
	struct vnet_srq *srq = to_vsrq(ibsrq);
	struct ib_srq_attr *attr = &init->attr;
	int err;

	if (init->srq_type != IB_SRQT_BASIC && init->srq_type != IB_SRQT_XRC)
		return -EOPNOTSUPP;
	if (!attr->max_wr || attr->max_wr > VNET_MAX_SRQ_WR || attr->max_sge > VNET_MAX_SGE ||
	    attr->srq_limit > attr->max_wr)
		return -EINVAL;
	err = vnet_recv_wq_make(&srq->rq, uc ? &uc->ibuc : NULL, attr->max_wr, attr->max_sge);
	if (err)
		return err;
	err = vnet_number_get(&dev->srqs, &srq->obj);
	if (err)
		goto free_ring;
	srq->view = uc ? &uc->door->view : &dev->kernel;
	err = vnet_srq_enter(ibsrq, attr, uc ? uc->obj.index : VNET_SPACE_KERNEL);
	if (err)
		goto end_number;
	err = vnet_srq_respond(srq, udata);
	if (err)
		goto leave;
	attr->max_wr = srq->rq.mem.entries;
	attr->max_sge = srq->rq.max_sge;
	return 0;

leave:
	vnet_srq_leave(dev, srq);
end_number:
	vnet_number_end(&dev->srqs, &srq->obj);
free_ring:
	vnet_ring_free(&srq->rq.mem);
	return err;
}

int vnet_modify_srq(struct ib_srq *ibsrq, struct ib_srq_attr *attr, enum ib_srq_attr_mask mask,
		    struct ib_udata *udata)
{
	struct vnet_dev *dev = to_vdev(ibsrq->device);
	enum nic_result result;

	/* A posted queue does not grow. */
	if (mask & IB_SRQ_MAX_WR)
		return -EOPNOTSUPP;
	if (mask & ~(IB_SRQ_LIMIT | IB_SRQ_MAX_WR))
		return -EINVAL;
	if (!(mask & IB_SRQ_LIMIT))
		return 0;
	mutex_lock(&dev->commands);
	result = vnet_command(dev, nic_srq_set_limit(&dev->agent.nic, vnet_srqn(ibsrq),
						     attr->srq_limit));
	mutex_unlock(&dev->commands);
	return vnet_errno(result);
}

int vnet_query_srq(struct ib_srq *ibsrq, struct ib_srq_attr *attr)
{
	struct vnet_dev *dev = to_vdev(ibsrq->device);
	struct vnet_srq *srq = to_vsrq(ibsrq);

	attr->max_wr = srq->rq.mem.entries;
	attr->max_sge = srq->rq.max_sge;
	return vnet_errno(nic_srq_get_limit(&dev->agent.nic, vnet_srqn(ibsrq), &attr->srq_limit));
}

int vnet_destroy_srq(struct ib_srq *ibsrq, struct ib_udata *udata)
{
	struct vnet_dev *dev = to_vdev(ibsrq->device);
	struct vnet_srq *srq = to_vsrq(ibsrq);

	vnet_srq_leave(dev, srq);
	vnet_number_end(&dev->srqs, &srq->obj);
	vnet_ring_free(&srq->rq.mem);
	return 0;
}
