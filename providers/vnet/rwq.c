// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Receive work queues, and the indirection tables that contain them. recv.c posts to them.
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

/* Returns 0 or an errno value. */
static int check_attr(const struct ibv_context *context, const struct ibv_wq_init_attr *attr)
{
	if (!check_comp_mask(attr->comp_mask, IBV_WQ_INIT_ATTR_FLAGS))
		return EOPNOTSUPP;
	if (attr->comp_mask & IBV_WQ_INIT_ATTR_FLAGS && attr->create_flags)
		return EOPNOTSUPP;
	/* Handles are numbered per context. */
	if (!attr->pd || attr->pd->context != context || !attr->cq || attr->cq->context != context)
		return EINVAL;
	return attr->wq_type == IBV_WQT_RQ ? 0 : EINVAL;
}

static int init_ring(struct vnet_work_queue *wq, const struct ibv_wq_init_attr *attr,
		     const struct vnet_create_wq_resp *resp)
{
	const struct vnet_context *ctx = to_vctx(attr->pd->context);
	int ret;

	ret = vnet_wq_init(&wq->rq, ctx, &resp->rq, recv_slot(attr->max_sge),
			   ctx->single_threaded || vnet_pd_skips_locks(attr->pd));
	if (ret)
		return ret;
	wq->rq.max_sge = attr->max_sge;
	return wq->rq.ring ? 0 : EPROTO;
}

struct ibv_wq *vnet_create_wq(struct ibv_context *context, struct ibv_wq_init_attr *attr)
{
	struct vnet_create_wq_reply reply = {};
	struct ibv_create_wq cmd = {};
	struct vnet_work_queue *wq;
	int ret;

	ret = check_attr(context, attr);
	if (ret)
		goto err;
	wq = vnet_zalloc(sizeof(*wq));
	if (!wq)
		return NULL;
	ret = ibv_cmd_create_wq(context, attr, &wq->ibv_wq, &cmd, sizeof(cmd), &reply.ibv,
				sizeof(reply));
	if (ret)
		goto err_free;
	ret = init_ring(wq, attr, &reply.vnet);
	if (ret)
		goto err_destroy;
	wq->ibv_wq.wq_context = attr->wq_context;
	wq->ibv_wq.state = IBV_WQS_RESET;
	wq->ibv_wq.post_recv = vnet_post_wq_recv;
	return &wq->ibv_wq;

err_destroy:
	/*
	 * ibv_cmd_destroy_wq() uses these to wait for events, but libibverbs initialises them
	 * later.
	 */
	pthread_mutex_init(&wq->ibv_wq.mutex, NULL);
	pthread_cond_init(&wq->ibv_wq.cond, NULL);
	ibv_cmd_destroy_wq(&wq->ibv_wq);
err_free:
	free(wq);
err:
	errno = ret;
	return NULL;
}

/*
 * Check for valid states. Linux (6.1 to 6.12 at least) refuses an invalid state, but then leaks a
 * reference to the work queue, so that it can never be destroyed.
 */
static bool check_states(const struct ibv_wq_attr *attr)
{
	if (attr->attr_mask & IBV_WQ_ATTR_STATE && attr->wq_state > IBV_WQS_ERR)
		return false;
	return !(attr->attr_mask & IBV_WQ_ATTR_CURR_STATE) || attr->curr_wq_state <= IBV_WQS_ERR;
}

int vnet_modify_wq(struct ibv_wq *ibwq, struct ibv_wq_attr *attr)
{
	struct ibv_modify_wq cmd = {};
	int ret;

	if (!attr->attr_mask || !check_states(attr))
		return EINVAL;
	ret = ibv_cmd_modify_wq(ibwq, attr, &cmd, sizeof(cmd));
	if (ret)
		return ret;
	/* The queue is empty now. */
	if (attr->attr_mask & IBV_WQ_ATTR_STATE && attr->wq_state == IBV_WQS_RESET)
		vnet_cq_clean(ibwq->cq, ibwq->wq_num);
	return 0;
}

int vnet_destroy_wq(struct ibv_wq *ibwq)
{
	struct vnet_work_queue *wq = to_vwq(ibwq);
	int ret;

	ret = ibv_cmd_destroy_wq(ibwq);
	if (ret)
		return ret;
	vnet_cq_clean(ibwq->cq, ibwq->wq_num);
	vnet_wq_fini(&wq->rq);
	free(wq);
	return 0;
}

/* ------------------------------------------------------------------- tables */

/* The limit of the kernel's ABI, which bounds what is read here. */
#define MOST_LOG_SIZE 13

/* Returns 0 or an errno value. */
static int check_table(const struct ibv_context *context,
		       const struct ibv_rwq_ind_table_init_attr *attr)
{
	uint32_t i;

	if (!check_comp_mask(attr->comp_mask, 0))
		return EOPNOTSUPP;
	if (attr->log_ind_tbl_size > MOST_LOG_SIZE || !attr->ind_tbl)
		return EINVAL;
	for (i = 0; i < 1u << attr->log_ind_tbl_size; i++)
		if (!attr->ind_tbl[i] || attr->ind_tbl[i]->context != context)
			return EINVAL;
	return 0;
}

struct ibv_rwq_ind_table *vnet_create_rwq_ind_table(struct ibv_context *context,
						    struct ibv_rwq_ind_table_init_attr *attr)
{
	struct ib_uverbs_ex_create_rwq_ind_table_resp resp = {};
	struct ibv_rwq_ind_table *table;
	int ret;

	ret = check_table(context, attr);
	if (ret)
		goto err;
	table = calloc(1, sizeof(*table));
	if (!table)
		return NULL;
	ret = ibv_cmd_create_rwq_ind_table(context, attr, table, &resp, sizeof(resp));
	if (!ret)
		return table;
	free(table);
err:
	errno = ret;
	return NULL;
}

int vnet_destroy_rwq_ind_table(struct ibv_rwq_ind_table *table)
{
	int ret;

	ret = ibv_cmd_destroy_rwq_ind_table(table);
	if (!ret)
		free(table);
	return ret;
}
