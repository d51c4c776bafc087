// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Traces completion queues, shared receive queues and work queues.
 */
#include <errno.h>
#include <stdlib.h>

#include "trace.h"

struct vnet_trace_cq *vnet_trace_cq(const struct vnet_trace *trace, const struct ibv_cq *cq)
{
	struct vnet_trace_cq *tcq;

	for (tcq = trace->cqs; tcq; tcq = tcq->next)
		if (&tcq->cq->vcq.cq == cq)
			return tcq;
	return NULL;
}

struct vnet_trace_srq *vnet_trace_srq(const struct vnet_trace *trace, const struct ibv_srq *srq)
{
	struct vnet_trace_srq *tsrq;

	for (tsrq = trace->srqs; tsrq; tsrq = tsrq->next)
		if (&tsrq->srq->vsrq.srq == srq)
			return tsrq;
	return NULL;
}

void vnet_trace_show_end(struct ibv_context *context, const char *object, uint32_t number,
			 const char *event)
{
	struct vnet_trace_line line;

	if (!vnet_trace_settings()->lines)
		return;
	vnet_trace_begin(&line, context, object, number, event, TRACE_DIM);
	vnet_trace_end(&line);
}

/* --------------------------------------------------------- completion queues */

static struct vnet_trace_cq *add_cq(struct ibv_cq *ibcq)
{
	struct vnet_trace *trace = vnet_trace_of(ibcq->context);
	struct vnet_trace_cq *tcq = calloc(1, sizeof(*tcq));
	struct vnet_trace_line line;

	if (vnet_trace_settings()->lines) {
		vnet_trace_begin(&line, ibcq->context, "cq", to_vcq(ibcq)->cqn, "create_cq",
				 TRACE_DIM);
		vnet_trace_number(&line, "entries", "entries", (uint64_t)ibcq->cqe, NULL);
		if (ibcq->channel)
			vnet_trace_word(&line, "channel", "", "with a channel");
		vnet_trace_end(&line);
	}
	if (!tcq)
		return NULL;
	tcq->cq = to_vcq(ibcq);
	tcq->cq->trace = tcq;
	pthread_mutex_lock(&trace->mutex);
	tcq->next = trace->cqs;
	trace->cqs = tcq;
	pthread_mutex_unlock(&trace->mutex);
	return tcq;
}

/* libibverbs initialises context and channel only afterwards, so set them here. */
struct ibv_cq *vnet_trace_create_cq(struct ibv_context *context, int cqe,
				    struct ibv_comp_channel *channel, int comp_vector)
{
	struct ibv_cq *cq = vnet_create_cq(context, cqe, channel, comp_vector);

	if (cq) {
		cq->context = context;
		cq->channel = channel;
		add_cq(cq);
	}
	return cq;
}

struct ibv_cq_ex *vnet_trace_create_cq_ex(struct ibv_context *context,
					  struct ibv_cq_init_attr_ex *attr)
{
	struct ibv_cq_ex *cq = vnet_create_cq_ex(context, attr);
	struct vnet_trace_cq *tcq;

	if (!cq)
		return NULL;
	cq->context = context;
	cq->channel = attr->channel;
	tcq = add_cq(ibv_cq_ex_to_cq(cq));
	if (tcq)
		vnet_trace_poll_ops(tcq);
	return cq;
}

int vnet_trace_resize_cq(struct ibv_cq *ibcq, int cqe)
{
	struct vnet_trace *trace = vnet_trace_of(ibcq->context);
	struct vnet_trace_cq *tcq;
	int ret;

	pthread_mutex_lock(&trace->mutex);
	tcq = vnet_trace_cq(trace, ibcq);
	if (tcq)
		tcq->resizing = true;
	pthread_mutex_unlock(&trace->mutex);
	ret = vnet_resize_cq(ibcq, cqe);
	pthread_mutex_lock(&trace->mutex);
	if (tcq)
		tcq->resizing = false;
	pthread_mutex_unlock(&trace->mutex);
	return ret;
}

static struct vnet_trace_cq *take_cq(struct vnet_trace *trace, const struct ibv_cq *ibcq)
{
	struct vnet_trace_cq **place, *tcq;

	pthread_mutex_lock(&trace->mutex);
	for (place = &trace->cqs; *place; place = &(*place)->next)
		if (&(*place)->cq->vcq.cq == ibcq)
			break;
	tcq = *place;
	if (tcq)
		*place = tcq->next;
	pthread_mutex_unlock(&trace->mutex);
	return tcq;
}

static void check_acknowledged(struct ibv_cq *ibcq, struct vnet_trace_cq *tcq)
{
	uint32_t events = __atomic_load_n(&tcq->events, __ATOMIC_RELAXED), acked;

	pthread_mutex_lock(&ibcq->mutex);
	acked = ibcq->comp_events_completed;
	pthread_mutex_unlock(&ibcq->mutex);
	if (events != acked)
		vnet_trace_warn(ibcq->context, "cq", tcq->cq->cqn, TRACE_EVENTS_UNACKED, NULL,
				"ibv_destroy_cq() waits until %u more events are acknowledged "
				"(ibv_ack_cq_events)",
				events - acked);
}

int vnet_trace_destroy_cq(struct ibv_cq *ibcq)
{
	struct ibv_context *context = ibcq->context;
	struct vnet_trace *trace = vnet_trace_of(context);
	struct vnet_trace_cq *tcq = take_cq(trace, ibcq);
	uint32_t cqn = to_vcq(ibcq)->cqn;
	int ret;

	if (!tcq)
		return vnet_destroy_cq(ibcq);
	check_acknowledged(ibcq, tcq);
	ret = vnet_destroy_cq(ibcq);
	if (ret) {
		pthread_mutex_lock(&trace->mutex);
		tcq->next = trace->cqs;
		trace->cqs = tcq;
		pthread_mutex_unlock(&trace->mutex);
		return ret;
	}
	vnet_trace_show_end(context, "cq", cqn, "destroy_cq");
	free(tcq);
	return 0;
}

/* ------------------------------------------------------ shared receive queues */

static void add_srq(struct ibv_context *context, struct ibv_srq *ibsrq, uint32_t depth)
{
	struct vnet_trace *trace = vnet_trace_of(context);
	struct vnet_trace_srq *tsrq = calloc(1, sizeof(*tsrq));
	struct vnet_trace_line line;

	if (vnet_trace_settings()->lines) {
		vnet_trace_begin(&line, context, "srq", to_vsrq(ibsrq)->srqn, "create_srq",
				 TRACE_DIM);
		vnet_trace_number(&line, "max_wr", "max_wr", depth, NULL);
		vnet_trace_end(&line);
	}
	if (!tsrq)
		return;
	tsrq->srq = to_vsrq(ibsrq);
	tsrq->no_receive = __atomic_load_n(&tsrq->srq->rq.ring->no_receive, __ATOMIC_RELAXED);
	vnet_trace_queue_init(&tsrq->rq, depth);
	pthread_mutex_lock(&trace->mutex);
	tsrq->next = trace->srqs;
	trace->srqs = tsrq;
	pthread_mutex_unlock(&trace->mutex);
}

struct ibv_srq *vnet_trace_create_srq(struct ibv_pd *pd, struct ibv_srq_init_attr *attr)
{
	struct ibv_srq *srq = vnet_create_srq(pd, attr);

	if (srq)
		add_srq(pd->context, srq, attr->attr.max_wr);
	return srq;
}

struct ibv_srq *vnet_trace_create_srq_ex(struct ibv_context *context,
					 struct ibv_srq_init_attr_ex *attr)
{
	struct ibv_srq *srq = vnet_create_srq_ex(context, attr);

	if (srq)
		add_srq(context, srq, attr->attr.max_wr);
	return srq;
}

int vnet_trace_destroy_srq(struct ibv_srq *ibsrq)
{
	struct ibv_context *context = ibsrq->context;
	struct vnet_trace *trace = vnet_trace_of(context);
	struct vnet_trace_srq **place, *tsrq;
	uint32_t srqn = to_vsrq(ibsrq)->srqn;
	int ret;

	pthread_mutex_lock(&trace->mutex);
	for (place = &trace->srqs; *place; place = &(*place)->next)
		if (&(*place)->srq->vsrq.srq == ibsrq)
			break;
	tsrq = *place;
	if (tsrq) {
		vnet_trace_check_no_receive(trace);
		*place = tsrq->next;
	}
	pthread_mutex_unlock(&trace->mutex);
	ret = vnet_destroy_srq(ibsrq);
	if (ret && tsrq) {
		pthread_mutex_lock(&trace->mutex);
		tsrq->next = trace->srqs;
		trace->srqs = tsrq;
		pthread_mutex_unlock(&trace->mutex);
	}
	if (ret)
		return ret;
	vnet_trace_show_end(context, "srq", srqn, "destroy_srq");
	if (tsrq)
		vnet_trace_queue_fini(&tsrq->rq);
	free(tsrq);
	return 0;
}

struct ibv_wq *vnet_trace_create_wq(struct ibv_context *context, struct ibv_wq_init_attr *attr)
{
	struct ibv_wq *wq = vnet_create_wq(context, attr);

	if (wq)
		wq->post_recv = vnet_trace_post_wq_recv;
	return wq;
}
