// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Warnings of requests that cannot work, or that work here but not on an adapter.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "trace.h"
#include "../wqe.h"

const char *const vnet_trace_warning_names[TRACE_WARNINGS] = {
	[TRACE_UNSIGNALED_FULL] = "unsignaled-full",
	[TRACE_QUEUE_EXCEEDED] = "queue-exceeded",
	[TRACE_UNARMED_WAIT] = "unarmed-wait",
	[TRACE_NO_RECEIVE] = "no-receive",
	[TRACE_LOCAL_ACCESS] = "local-access",
	[TRACE_REMOTE_ACCESS] = "remote-access",
	[TRACE_CQ_TOO_SMALL] = "cq-too-small",
	[TRACE_RECEIVE_TOO_SMALL] = "receive-too-small",
	[TRACE_INLINE_TOO_LONG] = "inline-too-long",
	[TRACE_GRH_ROOM] = "no-room-for-grh",
	[TRACE_NO_READ_CREDIT] = "no-read-credit",
	[TRACE_MISALIGNED_ATOMIC] = "misaligned-atomic",
	[TRACE_EVENTS_UNACKED] = "events-unacknowledged",
	[TRACE_WRONG_STATE] = "wrong-state",
	[TRACE_REFUSED] = "refused",
	[TRACE_UNREACHABLE] = "unreachable",
	[TRACE_FAILED] = "failed",
};

void vnet_trace_warn(const struct ibv_context *context, const char *object, uint32_t number,
		     enum vnet_trace_warning warning, uint32_t *warned, const char *format, ...)
{
	uint64_t *count = &vnet_trace_counters()->warning[warning].count;
	struct vnet_trace_line line;
	char text[512];
	va_list ap;

	__atomic_fetch_add(count, 1, __ATOMIC_RELAXED);
	if (warned && *warned & 1u << warning)
		return;
	if (warned)
		*warned |= 1u << warning;
	if (!vnet_trace_settings()->warnings)
		return;
	va_start(ap, format);
	vsnprintf(text, sizeof(text), format, ap);
	va_end(ap);
	vnet_trace_begin(&line, context, object, number,
			 vnet_trace_settings()->json ? "warning" : "WARNING", TRACE_YELLOW);
	vnet_trace_word(&line, "warning", "", vnet_trace_warning_names[warning]);
	vnet_trace_word(&line, "text", "-", text);
	vnet_trace_end(&line);
}

/* ------------------------------------------------------------ before posting */

static bool is_atomic(uint32_t operation)
{
	return operation == IBV_WR_ATOMIC_CMP_AND_SWP || operation == IBV_WR_ATOMIC_FETCH_AND_ADD ||
	       operation == IBV_WR_ATOMIC_WRITE;
}

/* Is data written into the requester's memory? */
static bool reads(uint32_t operation)
{
	return operation == IBV_WR_RDMA_READ || operation == IBV_WR_ATOMIC_CMP_AND_SWP ||
	       operation == IBV_WR_ATOMIC_FETCH_AND_ADD;
}

static void check_sges(struct vnet_trace *trace, const struct ibv_pd *pd, const char *object,
		       uint32_t number, struct vnet_trace_wr *wr, const struct ibv_sge *sge,
		       uint32_t num_sge, bool written, uint32_t *warned)
{
	const unsigned int access = written ? IBV_ACCESS_LOCAL_WRITE : 0;
	const char *problem;
	uint32_t i;
	bool known;

	for (i = 0; i < num_sge; i++) {
		if (!sge[i].length)
			continue;
		problem = vnet_trace_check_memory(trace, pd, false, sge[i].lkey, sge[i].addr,
						  sge[i].length, access, &known);
		if (!known)
			wr->unknown_lkey = sge[i].lkey;
		if (problem)
			vnet_trace_warn(trace->context, object, number, TRACE_LOCAL_ACCESS, warned,
					"%s 0x%" PRIx64 ": %u bytes at 0x%" PRIx64
					", lkey 0x%x: %s",
					vnet_trace_operation_names[wr->operation], wr->wr_id,
					sge[i].length, sge[i].addr, sge[i].lkey, problem);
	}
}

void vnet_trace_check_send(struct vnet_trace *trace, struct vnet_trace_qp *tqp,
			   struct vnet_trace_wr *wr, const struct ibv_sge *sge, uint32_t num_sge)
{
	const struct ibv_qp *qp = vnet_trace_ibv_qp(tqp);

	check_sges(trace, qp->pd, "qp", qp->qp_num, wr, sge, num_sge, reads(wr->operation),
		   &tqp->warned);
	if (is_atomic(wr->operation) && wr->remote_addr % 8)
		vnet_trace_warn(trace->context, "qp", qp->qp_num, TRACE_MISALIGNED_ATOMIC,
				&tqp->warned, "%s at 0x%" PRIx64 ", which is not a multiple of 8",
				vnet_trace_operation_names[wr->operation], wr->remote_addr);
	if (reads(wr->operation) && tqp->knows_rd_atomic && !tqp->max_rd_atomic)
		vnet_trace_warn(trace->context, "qp", qp->qp_num, TRACE_NO_READ_CREDIT,
				&tqp->warned, "%s on a queue pair whose max_rd_atomic is 0",
				vnet_trace_operation_names[wr->operation]);
}

void vnet_trace_check_recv(struct vnet_trace *trace, const struct ibv_pd *pd, const char *object,
			   uint32_t number, struct vnet_trace_wr *wr,
			   const struct ibv_recv_wr *recv, uint32_t *warned)
{
	check_sges(trace, pd, object, number, wr, recv->sg_list, (uint32_t)recv->num_sge, true,
		   warned);
}

/* -------------------------------------------------------------- full queues */

/*
 * Adapters free the slots of a send queue when a completion was polled. vnet's NIC frees a slot
 * when its request is retired, polled or not, which hides mistakes.
 */
void vnet_trace_check_depth(struct vnet_trace *trace, struct vnet_trace_qp *tqp)
{
	uint32_t used = vnet_trace_queue_used(&tqp->sq), depth = tqp->cap.max_send_wr;
	uint32_t qpn = vnet_trace_ibv_qp(tqp)->qp_num;

	if (used < depth || !depth)
		return;
	if (!tqp->sq.signaled)
		vnet_trace_warn(
			trace->context, "qp", qpn, TRACE_UNSIGNALED_FULL, &tqp->warned,
			"%u requests, the send queue's depth, and none of them signaled: no "
			"completion can free its slots, adapters refuse the next (ENOMEM)",
			used);
	else if (used > depth)
		vnet_trace_warn(
			trace->context, "qp", qpn, TRACE_QUEUE_EXCEEDED, &tqp->warned,
			"%u requests of which no completion was polled, in a send queue of %u: "
			"adapters refuse the last (ENOMEM)",
			used, depth);
}

void vnet_trace_check_cq(struct vnet_trace *trace, const struct ibv_cq *cq)
{
	struct vnet_trace_cq *tcq = vnet_trace_cq(trace, cq);

	if (tcq && (int32_t)tcq->expected > cq->cqe && !tcq->cq->ignores_overrun)
		vnet_trace_warn(trace->context, "cq", tcq->cq->cqn, TRACE_CQ_TOO_SMALL,
				&tcq->warned,
				"%u requests may complete to a completion queue of %d entries: it "
				"overruns unless it is polled in time",
				tcq->expected, cq->cqe);
}

/* ------------------------------------------------------------ no receive there */

static bool found_none(struct vnet_ring *ring, uint32_t *before)
{
	uint32_t now = ring ? __atomic_load_n(&ring->no_receive, __ATOMIC_RELAXED) : *before;

	if (now == *before)
		return false;
	*before = now;
	return true;
}

void vnet_trace_check_no_receive_qp(struct vnet_trace_qp *tqp)
{
	const struct ibv_qp *qp = vnet_trace_ibv_qp(tqp);
	const char *what = qp->qp_type == IBV_QPT_UD || qp->qp_type == IBV_QPT_UC ?
				   "is lost, or late" :
				   "waits, and fails after rnr_retry attempts";

	if (found_none(tqp->qp->rq.ring, &tqp->no_receive))
		vnet_trace_warn(qp->context, "qp", qp->qp_num, TRACE_NO_RECEIVE, &tqp->warned,
				"a message came while no receive was posted: it %s", what);
}

void vnet_trace_check_no_receive_srq(struct vnet_trace_srq *tsrq)
{
	const struct ibv_srq *srq = &tsrq->srq->vsrq.srq;

	if (found_none(tsrq->srq->rq.ring, &tsrq->no_receive))
		vnet_trace_warn(srq->context, "srq", tsrq->srq->srqn, TRACE_NO_RECEIVE,
				&tsrq->warned, "a message came while no receive was posted");
}

void vnet_trace_check_no_receive(struct vnet_trace *trace)
{
	struct vnet_trace_srq *tsrq;
	struct vnet_trace_qp *tqp;
	unsigned int i;

	for (i = 0; i < TRACE_BUCKETS; i++)
		for (tqp = trace->qp[i]; tqp; tqp = tqp->next)
			vnet_trace_check_no_receive_qp(tqp);
	for (tsrq = trace->srqs; tsrq; tsrq = tsrq->next)
		vnet_trace_check_no_receive_srq(tsrq);
}
