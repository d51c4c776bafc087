// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Shared receive queues; recv.c posts to them.
 */
#include <errno.h>
#include <stdlib.h>

#include "cmd.h"
#include "vnet.h"

/* What slot size a receive of so many SGEs needs. */
static uint32_t recv_slot(uint32_t max_sge)
{
	return VNET_RECV_HDR_SIZE + max_sge * (uint32_t)sizeof(struct vnet_sge);
}

struct ibv_srq *vnet_create_srq(struct ibv_pd *pd, struct ibv_srq_init_attr *attr)
{
	struct vnet_create_srq_reply reply = {};
	struct ibv_create_srq cmd = {};
	struct vnet_srq *srq;
	bool skip_lock;
	int ret;

	srq = vnet_zalloc(sizeof(*srq));
	if (!srq)
		return NULL;
	ret = ibv_cmd_create_srq(pd, &srq->ibv_srq, attr, &cmd, sizeof(cmd), &reply.ibv,
				 sizeof(reply));
	if (ret)
		goto err_free;

	skip_lock = to_vctx(pd->context)->single_threaded || vnet_pd_skips_locks(pd);
	ret = vnet_wq_init(&srq->rq, to_vctx(pd->context), &reply.vnet.rq,
			   recv_slot(attr->attr.max_sge), skip_lock);
	if (!ret && !srq->rq.ring)
		ret = EPROTO;
	if (ret)
		goto err_destroy;
	srq->rq.max_sge = attr->attr.max_sge;
	srq->srqn = reply.vnet.srqn;
	return &srq->ibv_srq;

err_destroy:
	ibv_cmd_destroy_srq(&srq->ibv_srq);
err_free:
	free(srq);
	errno = ret;
	return NULL;
}

int vnet_modify_srq(struct ibv_srq *srq, struct ibv_srq_attr *attr, int mask)
{
	struct ibv_modify_srq cmd = {};

	/* Its ring stays as it is: the device does not claim IBV_DEVICE_SRQ_RESIZE. */
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
	vnet_wq_fini(&srq->rq);
	free(srq);
	return 0;
}

int vnet_get_srq_num(struct ibv_srq *srq, uint32_t *srq_num)
{
	*srq_num = to_vsrq(srq)->srqn;
	return 0;
}
