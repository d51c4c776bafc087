// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Traces completions and events.
 */
#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>

#include "../cqe.h"
#include "trace.h"

/* Check for messages without a receive after this many empty polls. */
#define LOOK 1024

static const struct vnet_trace_name wc_flags[] = {
	{ IBV_WC_GRH, "GRH" },
	{ IBV_WC_WITH_IMM, "WITH_IMM" },
	{ IBV_WC_WITH_INV, "WITH_INV" },
	{ IBV_WC_TM_MATCH, "TM_MATCH" },
	{ IBV_WC_TM_DATA_VALID, "TM_DATA_VALID" },
	{ IBV_WC_TM_SYNC_REQ, "TM_SYNC_REQ" },
	{ 0, NULL },
};

static const char *wc_opcode_name(unsigned int opcode)
{
	switch (opcode) {
	case IBV_WC_SEND:
		return "SEND";
	case IBV_WC_RDMA_WRITE:
		return "RDMA_WRITE";
	case IBV_WC_RDMA_READ:
		return "RDMA_READ";
	case IBV_WC_COMP_SWAP:
		return "ATOMIC_CMP_AND_SWP";
	case IBV_WC_FETCH_ADD:
		return "ATOMIC_FETCH_AND_ADD";
	case IBV_WC_BIND_MW:
		return "BIND_MW";
	case IBV_WC_LOCAL_INV:
		return "LOCAL_INV";
	case VNET_WC_FLUSH:
		return "FLUSH";
	case IBV_WC_ATOMIC_WRITE:
		return "ATOMIC_WRITE";
	case IBV_WC_RECV:
		return "RECV";
	case IBV_WC_RECV_RDMA_WITH_IMM:
		return "RECV_RDMA_WITH_IMM";
	case IBV_WC_TM_ADD:
		return "TAG_ADD";
	case IBV_WC_TM_DEL:
		return "TAG_DEL";
	case IBV_WC_TM_SYNC:
		return "TAG_SYNC";
	case IBV_WC_TM_RECV:
		return "TAG_RECV";
	case IBV_WC_TM_NO_TAG:
		return "TAG_NO_TAG";
	default:
		return "?";
	}
}

static bool is_receive(unsigned int opcode)
{
	return opcode == IBV_WC_RECV || opcode == IBV_WC_RECV_RDMA_WITH_IMM;
}

static void show(const struct vnet_trace_cq *tcq, const struct ibv_wc *wc,
		 const struct vnet_trace_wr *wr)
{
	bool receive = wc->opcode & IBV_WC_RECV;
	bool good = wc->status == IBV_WC_SUCCESS;
	struct vnet_trace_line line;

	if (!vnet_trace_settings()->lines)
		return;
	vnet_trace_begin(&line, tcq->cq->vcq.cq.context, "qp", wc->qp_num, "completion",
			 good ? TRACE_GREEN : TRACE_RED);
	vnet_trace_word(&line, "opcode", "",
			wr && !receive ? vnet_trace_operation_names[wr->operation] :
					 wc_opcode_name((unsigned int)wc->opcode));
	if (good && (receive || wr))
		vnet_trace_number(&line, "length", "", receive ? wc->byte_len : wr->length, "B");
	vnet_trace_hex(&line, "wr_id", "wr_id", wc->wr_id);
	vnet_trace_word(&line, "status", good ? "" : "FAILED:", ibv_wc_status_str(wc->status));
	if (!good) {
		vnet_trace_number(&line, "status_code", "status", (uint64_t)wc->status, NULL);
		vnet_trace_hex(&line, "vendor_err", "vendor_err", wc->vendor_err);
	} else if (receive) {
		vnet_trace_flags(&line, "flags", "", wc->wc_flags, wc_flags);
		if (wc->wc_flags & IBV_WC_WITH_IMM)
			vnet_trace_hex(&line, "imm", "imm", be32toh(wc->imm_data));
		if (wc->wc_flags & IBV_WC_WITH_INV)
			vnet_trace_hex(&line, "invalidated", "invalidated", wc->invalidated_rkey);
		if (wc->wc_flags & IBV_WC_GRH)
			vnet_trace_number(&line, "src_qp", "from qp", wc->src_qp, NULL);
	}
	if (wr)
		vnet_trace_time(&line, "latency", "after",
				vnet_clock_ns(CLOCK_MONOTONIC) - wr->posted);
	vnet_trace_number(&line, "cq", "cq", tcq->cq->cqn, NULL);
	vnet_trace_end(&line);
}

static void add(uint64_t *to, uint64_t n)
{
	__atomic_fetch_add(to, n, __ATOMIC_RELAXED);
}

static void count_receive(const struct ibv_wc *wc)
{
	struct vnet_trace_row *row = &vnet_trace_counters()->operation[TRACE_RECV];

	if (wc->status != IBV_WC_SUCCESS) {
		add(&row->failed, 1);
		return;
	}
	add(&row->completed, 1);
	add(&row->bytes, wc->byte_len);
}

static void count_sends(const struct vnet_trace_wr *wr, bool failed,
			const uint32_t completed[VNET_TRACE_OPERATIONS])
{
	struct vnet_trace_row *row = vnet_trace_counters()->operation;
	unsigned int i;

	for (i = 0; i < VNET_TRACE_OPERATIONS; i++)
		if (completed[i])
			add(&row[i].completed, completed[i]);
	if (!failed)
		return;
	add(&row[wr->operation].completed, -(uint64_t)1);
	add(&row[wr->operation].failed, 1);
}

/* Find the receive of a completion. Returns false if it is not known. */
static bool take_receive(struct vnet_trace *trace, struct vnet_trace_cq *tcq,
			 struct vnet_trace_qp *tqp, const struct ibv_wc *wc,
			 struct vnet_trace_wr *wr)
{
	const struct ibv_srq *srq = tqp ? vnet_trace_ibv_qp(tqp)->srq : NULL;
	struct vnet_trace_srq *tsrq;

	if (srq) {
		tsrq = vnet_trace_srq(trace, srq);
		return tsrq && vnet_trace_queue_take_one(&tsrq->rq, wc->wr_id, wr);
	}
	if (!tqp || !vnet_trace_queue_take_one(&tqp->rq, wc->wr_id, wr))
		return false;
	tcq->expected--;
	return true;
}

static void receive_completed(struct vnet_trace *trace, struct vnet_trace_cq *tcq,
			      const struct ibv_wc *wc)
{
	struct vnet_trace_qp *tqp = vnet_trace_qp(trace, wc->qp_num);
	struct vnet_trace_wr wr;
	bool known = take_receive(trace, tcq, tqp, wc, &wr);

	show(tcq, wc, known ? &wr : NULL);
	count_receive(wc);
	if (wc->status != IBV_WC_SUCCESS)
		vnet_trace_check_status(trace, tqp, wc->status, known ? &wr : NULL, true);
	if (tqp)
		vnet_trace_check_no_receive_qp(tqp);
}

static void send_completed(struct vnet_trace *trace, struct vnet_trace_cq *tcq,
			   const struct ibv_wc *wc)
{
	bool failed = wc->status != IBV_WC_SUCCESS;
	struct vnet_trace_qp *tqp = vnet_trace_qp(trace, wc->qp_num);
	uint32_t completed[VNET_TRACE_OPERATIONS], signaled;
	struct vnet_trace_wr wr;
	bool known = tqp &&
		     vnet_trace_queue_take(&tqp->sq, wc->wr_id, failed, &wr, &signaled, completed);

	if (known) {
		tcq->expected -= signaled;
		count_sends(&wr, failed, completed);
	}
	show(tcq, wc, known ? &wr : NULL);
	if (failed)
		vnet_trace_check_status(trace, tqp, wc->status, known ? &wr : NULL, false);
}

static void completed(struct vnet_trace_cq *tcq, const struct ibv_wc *wc)
{
	struct vnet_trace *trace = vnet_trace_of(tcq->cq->vcq.cq.context);

	pthread_mutex_lock(&trace->mutex);
	if (is_receive((unsigned int)wc->opcode))
		receive_completed(trace, tcq, wc);
	else if (wc->opcode & IBV_WC_RECV)
		show(tcq, wc, NULL);
	else
		send_completed(trace, tcq, wc);
	pthread_mutex_unlock(&trace->mutex);
}

/* A program may poll in vain because it has no receive for a message. */
static void polled_empty(struct vnet_trace_cq *tcq)
{
	struct vnet_trace *trace = vnet_trace_of(tcq->cq->vcq.cq.context);

	if (__atomic_add_fetch(&tcq->empty_polls, 1, __ATOMIC_RELAXED) % LOOK)
		return;
	pthread_mutex_lock(&trace->mutex);
	vnet_trace_check_no_receive(trace);
	pthread_mutex_unlock(&trace->mutex);
}

int vnet_trace_poll_cq(struct ibv_cq *ibcq, int num_entries, struct ibv_wc *wc)
{
	struct vnet_trace_cq *tcq = to_vcq(ibcq)->trace;
	int i, n = vnet_trace_of(ibcq->context)->poll_cq(ibcq, num_entries, wc);

	if (!tcq)
		return n;
	for (i = 0; i < n; i++)
		completed(tcq, &wc[i]);
	if (!n)
		polled_empty(tcq);
	return n;
}

/* ---------------------------------------------------------- extended polling */

static void completed_ex(struct ibv_cq_ex *ibcq)
{
	const struct vnet_cq *cq = to_vcq_ex(ibcq);
	const struct vnet_cqe *cqe = cq->cur;
	const struct ibv_wc wc = {
		.wr_id = ibcq->wr_id,
		.status = ibcq->status,
		.opcode = cqe->opcode,
		.vendor_err = cqe->status ? cqe->imm : 0,
		.byte_len = byte_len_of(cqe),
		.invalidated_rkey = cqe->imm,
		.qp_num = cqe->qp_num,
		.src_qp = src_qp_of(cqe),
		.wc_flags = wc_flags_of(cqe),
	};

	completed(cq->trace, &wc);
}

static int start_poll(struct ibv_cq_ex *ibcq, struct ibv_poll_cq_attr *attr)
{
	struct vnet_trace_cq *tcq = to_vcq_ex(ibcq)->trace;
	int ret = tcq->start_poll(ibcq, attr);

	if (!ret)
		completed_ex(ibcq);
	else if (ret == ENOENT)
		polled_empty(tcq);
	return ret;
}

static int next_poll(struct ibv_cq_ex *ibcq)
{
	int ret = to_vcq_ex(ibcq)->trace->next_poll(ibcq);

	if (!ret)
		completed_ex(ibcq);
	return ret;
}

void vnet_trace_poll_ops(struct vnet_trace_cq *tcq)
{
	struct ibv_cq_ex *ex = &tcq->cq->vcq.cq_ex;

	tcq->start_poll = ex->start_poll;
	tcq->next_poll = ex->next_poll;
	ex->start_poll = start_poll;
	ex->next_poll = next_poll;
}

/* -------------------------------------------------------------------- events */

static void show_event(const struct ibv_cq *ibcq, const char *event, const char *word)
{
	struct vnet_trace_line line;

	if (!vnet_trace_settings()->lines)
		return;
	vnet_trace_begin(&line, ibcq->context, "cq", to_vcq((struct ibv_cq *)(uintptr_t)ibcq)->cqn,
			 event, TRACE_DIM);
	if (word)
		vnet_trace_word(&line, "solicited", "", word);
	vnet_trace_end(&line);
}

int vnet_trace_req_notify_cq(struct ibv_cq *ibcq, int solicited_only)
{
	show_event(ibcq, "arm", solicited_only ? "solicited" : NULL);
	return vnet_req_notify_cq(ibcq, solicited_only);
}

void vnet_trace_cq_event(struct ibv_cq *ibcq)
{
	struct vnet_trace_cq *tcq = to_vcq(ibcq)->trace;

	if (tcq)
		__atomic_fetch_add(&tcq->events, 1, __ATOMIC_RELAXED);
	show_event(ibcq, "cq_event", NULL);
	vnet_cq_event(ibcq);
}

void vnet_trace_async_event(struct ibv_context *context, struct ibv_async_event *event)
{
	const char *object = NULL;
	struct vnet_trace_line line;
	uint32_t number = 0;

	switch (event->event_type) {
	case IBV_EVENT_CQ_ERR:
		object = "cq";
		number = to_vcq(event->element.cq)->cqn;
		break;
	case IBV_EVENT_QP_FATAL:
	case IBV_EVENT_QP_REQ_ERR:
	case IBV_EVENT_QP_ACCESS_ERR:
	case IBV_EVENT_COMM_EST:
	case IBV_EVENT_SQ_DRAINED:
	case IBV_EVENT_PATH_MIG:
	case IBV_EVENT_PATH_MIG_ERR:
	case IBV_EVENT_QP_LAST_WQE_REACHED:
		object = "qp";
		number = event->element.qp->qp_num;
		break;
	case IBV_EVENT_SRQ_ERR:
	case IBV_EVENT_SRQ_LIMIT_REACHED:
		object = "srq";
		number = to_vsrq(event->element.srq)->srqn;
		break;
	default:
		break;
	}
	if (vnet_trace_settings()->lines) {
		vnet_trace_begin(&line, context, object, number, "async", TRACE_RED);
		vnet_trace_word(&line, "type", "", ibv_event_type_str(event->event_type));
		vnet_trace_end(&line);
	}
	if (event->event_type == IBV_EVENT_QP_ACCESS_ERR)
		vnet_trace_explain_access(vnet_trace_of(context), number);
}
