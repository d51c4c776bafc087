// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Shared receive queues. recv.c posts to them.
 */
#include <errno.h>
#include <stdlib.h>

#include "cmd.h"
#include "vnet.h"

/* Size of the slot for a receive of max_sge SGEs. */
static uint32_t recv_slot(uint32_t max_sge)
{
	return VNET_RECV_HDR_SIZE + max_sge * (uint32_t)sizeof(struct vnet_sge);
}

/*
 * Map the ring that the agent has made. Returns 0 or an errno value; on failure the SRQ is
 * destroyed.
 */
static int init_queue(struct vnet_srq *srq, struct ibv_pd *pd, uint32_t max_sge,
		      const struct vnet_create_srq_resp *resp)
{
	const struct vnet_context *ctx = to_vctx(pd->context);
	bool skip_lock = ctx->single_threaded || vnet_pd_skips_locks(pd);
	int ret;

	ret = vnet_wq_init(&srq->rq, ctx, &resp->rq, recv_slot(max_sge), skip_lock);
	if (!ret && !srq->rq.ring)
		ret = EPROTO;
	if (ret) {
		ibv_cmd_destroy_srq(&srq->vsrq.srq);
		return ret;
	}
	srq->rq.max_sge = max_sge;
	srq->srqn = resp->srqn;
	return 0;
}

static struct ibv_srq *finish(struct vnet_srq *srq, int ret)
{
	if (!ret)
		return &srq->vsrq.srq;
	free(srq);
	errno = ret;
	return NULL;
}

struct ibv_srq *vnet_create_srq(struct ibv_pd *pd, struct ibv_srq_init_attr *attr)
{
	struct vnet_create_srq_reply reply = {};
	struct ibv_create_srq cmd = {};
	struct vnet_srq *srq;
	int ret;

	srq = vnet_zalloc(sizeof(*srq));
	if (!srq)
		return NULL;
	ret = ibv_cmd_create_srq(pd, &srq->vsrq.srq, attr, &cmd, sizeof(cmd), &reply.ibv,
				 sizeof(reply));
	if (!ret)
		ret = init_queue(srq, pd, attr->attr.max_sge, &reply.vnet);
	return finish(srq, ret);
}

/*
 * Check the attributes for XRC. Handles are numbered per context, so a handle of another context
 * would name another object.
 */
static int check_extended(const struct ibv_context *context,
			  const struct ibv_srq_init_attr_ex *attr)
{
	const uint32_t needed = IBV_SRQ_INIT_ATTR_XRCD | IBV_SRQ_INIT_ATTR_CQ;

	if ((attr->comp_mask & needed) != needed || !attr->xrcd || !attr->cq)
		return EINVAL;
	if (attr->xrcd->context != context || attr->cq->context != context)
		return EINVAL;
	return 0;
}

static int check_matching(const struct ibv_context *context,
			  const struct ibv_srq_init_attr_ex *attr)
{
	const uint32_t needed = IBV_SRQ_INIT_ATTR_TM | IBV_SRQ_INIT_ATTR_CQ;

	if (!to_vctx((struct ibv_context *)(uintptr_t)context)->tm)
		return EOPNOTSUPP;
	if ((attr->comp_mask & needed) != needed || !attr->cq || attr->cq->context != context)
		return EINVAL;
	/* Only extended polling reports tags. */
	if (!to_vcq(attr->cq)->extended)
		return EINVAL;
	return attr->tm_cap.max_num_tags ? 0 : EINVAL;
}

/* Returns 0 or an errno value. */
static int check_attr(const struct ibv_context *context, const struct ibv_srq_init_attr_ex *attr)
{
	const uint32_t known = IBV_SRQ_INIT_ATTR_TYPE | IBV_SRQ_INIT_ATTR_PD |
			       IBV_SRQ_INIT_ATTR_XRCD | IBV_SRQ_INIT_ATTR_CQ | IBV_SRQ_INIT_ATTR_TM;

	if (!check_comp_mask(attr->comp_mask, known))
		return EOPNOTSUPP;
	if (!(attr->comp_mask & IBV_SRQ_INIT_ATTR_PD) || !attr->pd || attr->pd->context != context)
		return EINVAL;
	if (!(attr->comp_mask & IBV_SRQ_INIT_ATTR_TYPE) || attr->srq_type == IBV_SRQT_BASIC)
		return 0;
	if (attr->srq_type == IBV_SRQT_XRC)
		return check_extended(context, attr);
	return attr->srq_type == IBV_SRQT_TM ? check_matching(context, attr) : EOPNOTSUPP;
}

struct ibv_srq *vnet_create_srq_ex(struct ibv_context *context, struct ibv_srq_init_attr_ex *attr)
{
	struct vnet_create_srq_reply reply = {};
	struct ibv_create_xsrq cmd = {};
	struct vnet_srq *srq;
	int ret;

	ret = check_attr(context, attr);
	if (ret) {
		errno = ret;
		return NULL;
	}
	srq = vnet_zalloc(sizeof(*srq));
	if (!srq)
		return NULL;
	ret = ibv_cmd_create_srq_ex(context, &srq->vsrq, attr, &cmd, sizeof(cmd), &reply.ibv,
				    sizeof(reply));
	if (!ret) {
		srq->vsrq.srq.context = context;
		srq->vsrq.srq.srq_context = attr->srq_context;
		srq->vsrq.srq.pd = attr->pd;
		ret = init_queue(srq, attr->pd, attr->attr.max_sge, &reply.vnet);
	}
	if (!ret && srq->vsrq.srq_type == IBV_SRQT_TM)
		ret = vnet_tm_init(srq, attr, &reply.vnet);
	return finish(srq, ret);
}

int vnet_modify_srq(struct ibv_srq *srq, struct ibv_srq_attr *attr, int mask)
{
	struct ibv_modify_srq cmd = {};

	/* The device does not have IBV_DEVICE_SRQ_RESIZE. */
	if (mask & IBV_SRQ_MAX_WR)
		return EOPNOTSUPP;
	return ibv_cmd_modify_srq(srq, attr, mask, &cmd, sizeof(cmd));
}

int vnet_query_srq(struct ibv_srq *srq, struct ibv_srq_attr *attr)
{
	struct ibv_query_srq cmd = {};

	return ibv_cmd_query_srq(srq, attr, &cmd, sizeof(cmd));
}

int vnet_destroy_srq(struct ibv_srq *ibsrq)
{
	struct vnet_srq *srq = to_vsrq(ibsrq);
	int ret;

	ret = ibv_cmd_destroy_srq(ibsrq);
	if (ret)
		return ret;
	vnet_tm_fini(srq);
	vnet_wq_fini(&srq->rq);
	free(srq);
	return 0;
}

int vnet_get_srq_num(struct ibv_srq *srq, uint32_t *srq_num)
{
	*srq_num = to_vsrq(srq)->srqn;
	return 0;
}
