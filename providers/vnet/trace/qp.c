// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Traces queue pairs: creating, modifying and destroying them.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "trace.h"

static const char *qp_type_name(enum ibv_qp_type type)
{
	switch (type) {
	case IBV_QPT_RC:
		return "RC";
	case IBV_QPT_UC:
		return "UC";
	case IBV_QPT_UD:
		return "UD";
	case IBV_QPT_RAW_PACKET:
		return "RAW_PACKET";
	case IBV_QPT_XRC_SEND:
		return "XRC_SEND";
	case IBV_QPT_XRC_RECV:
		return "XRC_RECV";
	default:
		return "?";
	}
}

static const char *qp_state_name(enum ibv_qp_state state)
{
	static const char *const names[] = { "RESET", "INIT", "RTR", "RTS", "SQD", "SQE", "ERR" };

	return (unsigned int)state < sizeof(names) / sizeof(names[0]) ? names[state] : "?";
}

static struct vnet_trace_qp **bucket_of(struct vnet_trace *trace, uint32_t qpn)
{
	return &trace->qp[qpn % TRACE_BUCKETS];
}

struct vnet_trace_qp *vnet_trace_qp(const struct vnet_trace *trace, uint32_t qpn)
{
	struct vnet_trace_qp *tqp;

	for (tqp = trace->qp[qpn % TRACE_BUCKETS]; tqp; tqp = tqp->next)
		if (tqp->qp->vqp.qp.qp_num == qpn)
			return tqp;
	return NULL;
}

static void show_qp(const struct ibv_qp *qp, const struct ibv_qp_cap *cap)
{
	struct vnet_trace_line line;

	if (!vnet_trace_settings()->lines)
		return;
	vnet_trace_begin(&line, qp->context, "qp", qp->qp_num, "create_qp", TRACE_DIM);
	vnet_trace_word(&line, "type", "", qp_type_name(qp->qp_type));
	if (qp->send_cq)
		vnet_trace_number(&line, "send_cq", "send cq", to_vcq(qp->send_cq)->cqn, NULL);
	if (qp->recv_cq)
		vnet_trace_number(&line, "recv_cq", "recv cq", to_vcq(qp->recv_cq)->cqn, NULL);
	if (qp->srq)
		vnet_trace_number(&line, "srq", "srq", to_vsrq(qp->srq)->srqn, NULL);
	vnet_trace_number(&line, "max_send_wr", "max_send_wr", cap->max_send_wr, NULL);
	vnet_trace_number(&line, "max_recv_wr", "max_recv_wr", cap->max_recv_wr, NULL);
	vnet_trace_number(&line, "max_inline", "max_inline", cap->max_inline_data, NULL);
	vnet_trace_end(&line);
}

static void add_qp(struct ibv_qp *ibqp, const struct ibv_qp_cap *cap)
{
	struct vnet_trace *trace = vnet_trace_of(ibqp->context);
	struct vnet_trace_qp *tqp = calloc(1, sizeof(*tqp));
	struct vnet_trace_qp **bucket;

	show_qp(ibqp, cap);
	if (!tqp)
		return;
	tqp->qp = to_vqp(ibqp);
	tqp->cap = *cap;
	vnet_trace_queue_init(&tqp->sq, cap->max_send_wr);
	vnet_trace_queue_init(&tqp->rq, cap->max_recv_wr);
	if (tqp->qp->rq.ring)
		tqp->no_receive = __atomic_load_n(&tqp->qp->rq.ring->no_receive, __ATOMIC_RELAXED);
	tqp->qp->trace = tqp;
	if (tqp->qp->vqp.comp_mask & VERBS_QP_EX)
		vnet_trace_wr_ops(tqp);
	pthread_mutex_lock(&trace->mutex);
	bucket = bucket_of(trace, ibqp->qp_num);
	tqp->next = *bucket;
	*bucket = tqp;
	pthread_mutex_unlock(&trace->mutex);
}

struct ibv_qp *vnet_trace_create_qp_ex(struct ibv_context *context,
				       struct ibv_qp_init_attr_ex *attr)
{
	struct ibv_qp *qp = vnet_create_qp_ex(context, attr);

	if (qp)
		add_qp(qp, &attr->cap);
	return qp;
}

struct ibv_qp *vnet_trace_create_qp(struct ibv_pd *pd, struct ibv_qp_init_attr *attr)
{
	struct ibv_qp *qp = vnet_create_qp(pd, attr);

	if (qp)
		add_qp(qp, &attr->cap);
	return qp;
}

static void show_modify(const struct ibv_qp *qp, const struct ibv_qp_attr *attr, int mask, int ret)
{
	struct vnet_trace_line line;

	if (!vnet_trace_settings()->lines)
		return;
	vnet_trace_begin(&line, qp->context, "qp", qp->qp_num, "modify_qp",
			 ret ? TRACE_RED : TRACE_DIM);
	if (mask & IBV_QP_STATE)
		vnet_trace_word(&line, "state", "", qp_state_name(attr->qp_state));
	if (mask & IBV_QP_DEST_QPN)
		vnet_trace_number(&line, "dest_qp", "dest qp", attr->dest_qp_num, NULL);
	if (mask & IBV_QP_PATH_MTU)
		vnet_trace_number(&line, "path_mtu", "mtu", 128u << attr->path_mtu, NULL);
	if (mask & IBV_QP_ACCESS_FLAGS)
		vnet_trace_flags(&line, "access", "access", attr->qp_access_flags,
				 vnet_trace_access_names);
	if (mask & IBV_QP_MAX_QP_RD_ATOMIC)
		vnet_trace_number(&line, "max_rd_atomic", "max_rd_atomic", attr->max_rd_atomic,
				  NULL);
	if (mask & IBV_QP_MAX_DEST_RD_ATOMIC)
		vnet_trace_number(&line, "max_dest_rd_atomic", "max_dest_rd_atomic",
				  attr->max_dest_rd_atomic, NULL);
	if (mask & IBV_QP_TIMEOUT)
		vnet_trace_number(&line, "timeout", "timeout", attr->timeout, NULL);
	if (mask & IBV_QP_RETRY_CNT)
		vnet_trace_number(&line, "retry_cnt", "retry_cnt", attr->retry_cnt, NULL);
	if (mask & IBV_QP_RNR_RETRY)
		vnet_trace_number(&line, "rnr_retry", "rnr_retry", attr->rnr_retry, NULL);
	if (mask & IBV_QP_MIN_RNR_TIMER)
		vnet_trace_number(&line, "min_rnr_timer", "min_rnr_timer", attr->min_rnr_timer,
				  NULL);
	if (ret)
		vnet_trace_word(&line, "error", "failed:", strerror(ret));
	vnet_trace_end(&line);
}

/* In RESET, both queues are empty. The caller holds the mutex. */
static void empty_queues(struct vnet_trace *trace, struct vnet_trace_qp *tqp)
{
	const struct ibv_qp *qp = vnet_trace_ibv_qp(tqp);
	struct vnet_trace_cq *send = vnet_trace_cq(trace, qp->send_cq),
			     *recv = vnet_trace_cq(trace, qp->recv_cq);

	if (send)
		send->expected -= tqp->sq.signaled;
	if (recv)
		recv->expected -= tqp->rq.signaled;
	tqp->sq.tail = tqp->sq.head;
	tqp->rq.tail = tqp->rq.head;
	tqp->sq.signaled = 0;
	tqp->rq.signaled = 0;
}

int vnet_trace_modify_qp(struct ibv_qp *ibqp, struct ibv_qp_attr *attr, int mask)
{
	struct vnet_trace *trace = vnet_trace_of(ibqp->context);
	int ret = vnet_modify_qp(ibqp, attr, mask);
	struct vnet_trace_qp *tqp;

	show_modify(ibqp, attr, mask, ret);
	if (ret)
		return ret;
	pthread_mutex_lock(&trace->mutex);
	tqp = vnet_trace_qp(trace, ibqp->qp_num);
	if (tqp && mask & IBV_QP_ACCESS_FLAGS)
		tqp->access = attr->qp_access_flags;
	if (tqp && mask & IBV_QP_MAX_QP_RD_ATOMIC) {
		tqp->max_rd_atomic = attr->max_rd_atomic;
		tqp->knows_rd_atomic = true;
	}
	if (tqp && mask & IBV_QP_STATE && attr->qp_state == IBV_QPS_RESET)
		empty_queues(trace, tqp);
	pthread_mutex_unlock(&trace->mutex);
	return 0;
}

static struct vnet_trace_qp *take_qp(struct vnet_trace *trace, const struct ibv_qp *ibqp)
{
	struct vnet_trace_qp **place, *tqp;

	pthread_mutex_lock(&trace->mutex);
	for (place = bucket_of(trace, ibqp->qp_num); *place; place = &(*place)->next)
		if (vnet_trace_ibv_qp(*place) == ibqp)
			break;
	tqp = *place;
	if (tqp) {
		vnet_trace_check_no_receive(trace);
		*place = tqp->next;
	}
	pthread_mutex_unlock(&trace->mutex);
	return tqp;
}

static void put_back_qp(struct vnet_trace *trace, struct vnet_trace_qp *tqp)
{
	struct vnet_trace_qp **bucket;

	pthread_mutex_lock(&trace->mutex);
	bucket = bucket_of(trace, tqp->qp->vqp.qp.qp_num);
	tqp->next = *bucket;
	*bucket = tqp;
	pthread_mutex_unlock(&trace->mutex);
}

int vnet_trace_destroy_qp(struct ibv_qp *ibqp)
{
	struct ibv_context *context = ibqp->context;
	struct vnet_trace *trace = vnet_trace_of(context);
	/* Before the command: afterwards another queue pair may have its number. */
	struct vnet_trace_qp *tqp = take_qp(trace, ibqp);
	uint32_t qpn = ibqp->qp_num;
	int ret;

	if (!tqp)
		return vnet_destroy_qp(ibqp);
	pthread_mutex_lock(&trace->mutex);
	empty_queues(trace, tqp);
	pthread_mutex_unlock(&trace->mutex);
	ret = vnet_destroy_qp(ibqp);
	if (ret) {
		put_back_qp(trace, tqp);
		return ret;
	}
	vnet_trace_show_end(context, "qp", qpn, "destroy_qp");
	vnet_trace_queue_fini(&tqp->sq);
	vnet_trace_queue_fini(&tqp->rq);
	free(tqp);
	return 0;
}
