// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Traces posting of receives and of tag matching operations.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "trace.h"

/* The queue to which receives are posted: of a queue pair, an SRQ, or a work queue. */
struct receives {
	struct vnet_trace *trace;
	struct ibv_context *context;
	const struct ibv_pd *pd;
	const char *object;
	uint32_t number;
	uint32_t max_sge;
	bool is_ud;
	/* NULL: receives of this queue are not recorded. */
	struct vnet_trace_queue *queue;
	struct vnet_trace_cq *tcq;
	uint32_t *warned;
};

static void show(const struct receives *to, const struct ibv_recv_wr *wr, uint32_t num_sge,
		 uint64_t length)
{
	struct vnet_trace_line line;

	if (!vnet_trace_settings()->lines)
		return;
	vnet_trace_begin(&line, to->context, to->object, to->number, "post_recv", TRACE_DIM);
	vnet_trace_word(&line, "opcode", "", vnet_trace_operation_names[TRACE_RECV]);
	vnet_trace_number(&line, "length", "", length, "B");
	vnet_trace_hex(&line, "wr_id", "wr_id", wr->wr_id);
	if (num_sge > 1)
		vnet_trace_number(&line, "sges", "in", num_sge, "pieces");
	if (num_sge) {
		vnet_trace_hex(&line, "addr", "at", wr->sg_list[0].addr);
		vnet_trace_hex(&line, "lkey", "lkey", wr->sg_list[0].lkey);
	}
	vnet_trace_end(&line);
}

static void count(int64_t change)
{
	__atomic_fetch_add(&vnet_trace_counters()->operation[TRACE_RECV].count, (uint64_t)change,
			   __ATOMIC_RELAXED);
}

/* Print and record a receive. The caller holds the mutex. */
static void note(const struct receives *to, const struct ibv_recv_wr *recv)
{
	uint32_t i, num_sge = (uint32_t)recv->num_sge <= to->max_sge ? (uint32_t)recv->num_sge : 0;
	uint32_t change;
	struct vnet_trace_wr wr = {
		.wr_id = recv->wr_id,
		.operation = TRACE_RECV,
		.signaled = true,
	};

	for (i = 0; i < num_sge; i++)
		wr.length += recv->sg_list[i].length;
	show(to, recv, num_sge, wr.length);
	if (num_sge)
		vnet_trace_check_recv(to->trace, to->pd, to->object, to->number, &wr, recv,
				      to->warned);
	if (to->is_ud && wr.length < VNET_GRH_SIZE)
		vnet_trace_warn(to->context, to->object, to->number, TRACE_GRH_ROOM, to->warned,
				"a receive of %u bytes: a datagram takes %u before its data",
				(unsigned int)wr.length, VNET_GRH_SIZE);
	count(1);
	if (!to->queue)
		return;
	wr.posted = vnet_clock_ns(CLOCK_MONOTONIC);
	change = vnet_trace_queue_push(to->queue, &wr);
	if (!to->tcq)
		return;
	to->tcq->expected += change;
	vnet_trace_check_cq(to->trace, &to->tcq->cq->vcq.cq);
}

static uint32_t note_all(const struct receives *to, const struct ibv_recv_wr *wr)
{
	for (; wr; wr = wr->next)
		note(to, wr);
	return to->queue ? to->queue->head : 0;
}

static void refuse(const struct receives *to, const struct ibv_recv_wr *bad, uint32_t end,
		   int error)
{
	const struct ibv_recv_wr *wr;
	uint32_t n = 0, gone = 0;

	if (!bad)
		return;
	for (wr = bad; wr; wr = wr->next)
		n++;
	count(-(int64_t)n);
	if (to->queue)
		gone = vnet_trace_queue_undo(to->queue, end - n, end);
	if (to->tcq)
		to->tcq->expected -= gone;
	if (error == ENOMEM)
		vnet_trace_warn(to->context, to->object, to->number, TRACE_REFUSED, NULL,
				"receive 0x%llx is refused: the queue is full",
				(unsigned long long)bad->wr_id);
	else
		vnet_trace_warn(
			to->context, to->object, to->number, TRACE_REFUSED, NULL,
			"receive 0x%llx is refused (%s): %s", (unsigned long long)bad->wr_id,
			strerror(error),
			(uint32_t)bad->num_sge > to->max_sge ?
				"it has more pieces than the queue takes (max_recv_sge)" :
				"the queue pair is in RESET, or has a shared receive queue");
}

static int refused(const struct receives *to, const struct ibv_recv_wr *bad, uint32_t end,
		   int error)
{
	pthread_mutex_lock(&to->trace->mutex);
	refuse(to, bad, end, error);
	pthread_mutex_unlock(&to->trace->mutex);
	return error;
}

int vnet_trace_post_recv(struct ibv_qp *ibqp, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad_wr)
{
	struct vnet_trace *trace = vnet_trace_of(ibqp->context);
	struct receives to = {
		.trace = trace,
		.context = ibqp->context,
		.pd = ibqp->pd,
		.object = "qp",
		.number = ibqp->qp_num,
		.max_sge = to_vqp(ibqp)->rq.max_sge,
		.is_ud = ibqp->qp_type == IBV_QPT_UD,
	};
	struct vnet_trace_qp *tqp;
	uint32_t end = 0;
	int ret;

	pthread_mutex_lock(&trace->mutex);
	tqp = vnet_trace_qp(trace, ibqp->qp_num);
	if (tqp) {
		vnet_trace_check_no_receive_qp(tqp);
		to.queue = &tqp->rq;
		to.warned = &tqp->warned;
		to.tcq = vnet_trace_cq(trace, ibqp->recv_cq);
	}
	end = note_all(&to, wr);
	pthread_mutex_unlock(&trace->mutex);

	ret = vnet_post_recv(ibqp, wr, bad_wr);
	return ret ? refused(&to, *bad_wr, end, ret) : 0;
}

int vnet_trace_post_srq_recv(struct ibv_srq *ibsrq, struct ibv_recv_wr *wr,
			     struct ibv_recv_wr **bad_wr)
{
	struct vnet_trace *trace = vnet_trace_of(ibsrq->context);
	struct receives to = {
		.trace = trace,
		.context = ibsrq->context,
		.pd = ibsrq->pd,
		.object = "srq",
		.number = to_vsrq(ibsrq)->srqn,
		.max_sge = to_vsrq(ibsrq)->rq.max_sge,
	};
	struct vnet_trace_srq *tsrq;
	uint32_t end = 0;
	int ret;

	pthread_mutex_lock(&trace->mutex);
	tsrq = vnet_trace_srq(trace, ibsrq);
	if (tsrq) {
		vnet_trace_check_no_receive_srq(tsrq);
		to.queue = &tsrq->rq;
		to.warned = &tsrq->warned;
	}
	end = note_all(&to, wr);
	pthread_mutex_unlock(&trace->mutex);

	ret = vnet_post_srq_recv(ibsrq, wr, bad_wr);
	return ret ? refused(&to, *bad_wr, end, ret) : 0;
}

int vnet_trace_post_wq_recv(struct ibv_wq *ibwq, struct ibv_recv_wr *wr,
			    struct ibv_recv_wr **bad_wr)
{
	struct vnet_trace *trace = vnet_trace_of(ibwq->context);
	struct receives to = {
		.trace = trace,
		.context = ibwq->context,
		.pd = ibwq->pd,
		.object = "wq",
		.number = ibwq->wq_num,
		.max_sge = to_vwq(ibwq)->rq.max_sge,
	};
	int ret;

	pthread_mutex_lock(&trace->mutex);
	(void)note_all(&to, wr);
	pthread_mutex_unlock(&trace->mutex);

	ret = vnet_post_wq_recv(ibwq, wr, bad_wr);
	return ret ? refused(&to, *bad_wr, 0, ret) : 0;
}

/* ---------------------------------------------------------------------- tags */

static void show_tag(const struct ibv_srq *ibsrq, const struct ibv_ops_wr *wr)
{
	uint32_t operation = TRACE_TAG_ADD + (uint32_t)wr->opcode;
	struct vnet_trace_line line;

	if ((uint32_t)wr->opcode > IBV_WR_TAG_SYNC)
		return;
	__atomic_fetch_add(&vnet_trace_counters()->operation[operation].count, 1, __ATOMIC_RELAXED);
	if (!vnet_trace_settings()->lines)
		return;
	vnet_trace_begin(&line, ibsrq->context, "srq",
			 to_vsrq((struct ibv_srq *)(uintptr_t)ibsrq)->srqn, "post_tag", TRACE_CYAN);
	vnet_trace_word(&line, "opcode", "", vnet_trace_operation_names[operation]);
	vnet_trace_hex(&line, "wr_id", "wr_id", wr->wr_id);
	if (wr->opcode == IBV_WR_TAG_ADD) {
		vnet_trace_hex(&line, "recv_wr_id", "recv_wr_id", wr->tm.add.recv_wr_id);
		vnet_trace_hex(&line, "tag", "tag", wr->tm.add.tag);
		vnet_trace_hex(&line, "mask", "mask", wr->tm.add.mask);
	} else if (wr->opcode == IBV_WR_TAG_DEL) {
		vnet_trace_number(&line, "handle", "handle", wr->tm.handle, NULL);
	}
	vnet_trace_end(&line);
}

int vnet_trace_post_srq_ops(struct ibv_srq *ibsrq, struct ibv_ops_wr *wr,
			    struct ibv_ops_wr **bad_wr)
{
	const struct ibv_ops_wr *one;
	int ret;

	for (one = wr; one; one = one->next)
		show_tag(ibsrq, one);
	ret = vnet_post_srq_ops(ibsrq, wr, bad_wr);
	if (ret)
		vnet_trace_warn(ibsrq->context, "srq", to_vsrq(ibsrq)->srqn, TRACE_REFUSED, NULL,
				"an operation on tags is refused: %s", strerror(ret));
	return ret;
}
