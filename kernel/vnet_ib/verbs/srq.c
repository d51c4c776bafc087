// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Shared receive queues, also those with tag matching (IB_SRQT_TM) and of XRC domains. */
#include <linux/log2.h>
#include <rdma/uverbs_ioctl.h>

#include "doorbells/doorbells.h"
#include "tags/tags.h"
#include "verbs.h"
#include "wq.h"

static_assert((int)VNET_MAX_TAGS <= (int)NIC_TM_MAX_TAGS);

static int vnet_srq_respond(const struct vnet_srq *srq, struct ib_udata *udata)
{
	struct vnet_create_srq_resp resp = {
		.srqn = srq->srqn,
		.tags = srq->max_tags,
	};

	if (!udata)
		return 0;
	if (udata->outlen < sizeof(resp))
		return -EINVAL;
	vnet_ring_info(&srq->rq.mem, &resp.rq);
	vnet_ring_info(&srq->ops, &resp.ops);
	return ib_copy_to_udata(udata, &resp, sizeof(resp));
}

static void vnet_srq_leave(struct vnet_dev *dev, struct vnet_srq *srq)
{
	enum nic_result result;

	mutex_lock(&dev->commands);
	result = vnet_command(dev, nic_srq_destroy(&dev->agent.nic, srq->srqn));
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
	};
	enum nic_result result;

	if (ib_srq_has_cq(ibsrq->srq_type))
		p.cqn = vnet_cqn(ibsrq->ext.cq);
	if (ibsrq->srq_type == IB_SRQT_TM) {
		p.tm_tags = srq->max_tags;
		p.tm = vnet_ring_name(&srq->tags);
		p.tm_ops = vnet_ring_name(&srq->ops);
		p.tm_ops_entries = srq->ops.entries;
	}
	if (ibsrq->srq_type == IB_SRQT_XRC) {
		p.xrcdn = vnet_xrcdn(ibsrq->ext.xrc.xrcd);
		/* XRC requests name the queue by this number. */
		ibsrq->ext.xrc.srq_num = vnet_srqn(ibsrq);
	}
	mutex_lock(&dev->commands);
	result = vnet_command(dev, nic_srq_create(&dev->agent.nic, srq->srqn, &p));
	mutex_unlock(&dev->commands);
	return vnet_errno(result);
}

static int vnet_srq_check(const struct ib_srq_init_attr *init, bool is_user)
{
	const struct ib_srq_attr *attr = &init->attr;
	u32 tags = init->ext.tag_matching.max_num_tags;

	switch (init->srq_type) {
	case IB_SRQT_BASIC:
	case IB_SRQT_XRC:
		break;
	case IB_SRQT_TM:
		/* Kernel consumers have no work requests that add tags. */
		if (!is_user)
			return -EOPNOTSUPP;
		if (!tags || tags > VNET_MAX_TAGS)
			return -EINVAL;
		break;
	default:
		return -EOPNOTSUPP;
	}
	if (!attr->max_wr || attr->max_wr > VNET_MAX_SRQ_WR || attr->max_sge > VNET_MAX_SGE)
		return -EINVAL;
	return 0;
}

static void vnet_srq_free_rings(struct vnet_srq *srq)
{
	vnet_ring_free(&srq->rq.mem);
	if (srq->ops.ring)
		vnet_ring_free(&srq->ops);
	if (srq->tags.ring)
		vnet_ring_free(&srq->tags);
}

/*
 * The process writes the ring of tag operations. The list of tags belongs to the firmware, and
 * is not mapped.
 */
static int vnet_srq_make_tags(struct vnet_srq *srq, struct ib_ucontext *ucontext, u32 tags)
{
	int err;

	err = vnet_ring_make(&srq->ops, ucontext, VNET_TAG_OPS, VNET_TM_OP_SHIFT);
	if (err)
		return err;
	srq->max_tags = tags;
	return vnet_shared_make(&srq->tags, NULL,
				sizeof(struct nic_tm) + tags * sizeof(struct nic_tag));
}

static int vnet_srq_make_rings(struct vnet_srq *srq, struct ib_ucontext *ucontext,
			       const struct ib_srq_init_attr *init)
{
	int err;

	err = vnet_recv_wq_make(&srq->rq, ucontext, init->attr.max_wr, init->attr.max_sge);
	if (err || init->srq_type != IB_SRQT_TM)
		return err;
	err = vnet_srq_make_tags(srq, ucontext, init->ext.tag_matching.max_num_tags);
	if (err)
		vnet_srq_free_rings(srq);
	return err;
}

int vnet_create_srq(struct ib_srq *ibsrq, struct ib_srq_init_attr *init, struct ib_udata *udata)
{
	struct vnet_ucontext *uc = rdma_udata_to_drv_context(udata, struct vnet_ucontext, ibuc);
	struct vnet_dev *dev = to_vdev(ibsrq->device);
	struct vnet_srq *srq = to_vsrq(ibsrq);
	struct ib_srq_attr *attr = &init->attr;
	int err;

	err = vnet_srq_check(init, uc);
	if (err)
		return err;
	err = vnet_srq_make_rings(srq, uc ? &uc->ibuc : NULL, init);
	if (err)
		return err;
	err = vnet_number_draw(dev, &dev->srqs, nic_srqn_draw, &srq->obj, &srq->srqn);
	if (err)
		goto free_rings;
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
free_rings:
	vnet_srq_free_rings(srq);
	return err;
}

int vnet_modify_srq(struct ib_srq *ibsrq, struct ib_srq_attr *attr, enum ib_srq_attr_mask mask,
		    struct ib_udata *udata)
{
	struct vnet_dev *dev = to_vdev(ibsrq->device);
	enum nic_result result;

	/* A shared receive queue cannot be resized. */
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
	vnet_srq_free_rings(srq);
	return 0;
}
