// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Traces posting of send requests. A request is printed and recorded before it is posted, because
 * another thread could see its completion at once. If it is refused, the record is removed.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "trace.h"
#include "../wqe.h"

const char *const vnet_trace_operation_names[VNET_TRACE_OPERATIONS] = {
	[IBV_WR_RDMA_WRITE] = "RDMA_WRITE",
	[IBV_WR_RDMA_WRITE_WITH_IMM] = "RDMA_WRITE_WITH_IMM",
	[IBV_WR_SEND] = "SEND",
	[IBV_WR_SEND_WITH_IMM] = "SEND_WITH_IMM",
	[IBV_WR_RDMA_READ] = "RDMA_READ",
	[IBV_WR_ATOMIC_CMP_AND_SWP] = "ATOMIC_CMP_AND_SWP",
	[IBV_WR_ATOMIC_FETCH_AND_ADD] = "ATOMIC_FETCH_AND_ADD",
	[IBV_WR_LOCAL_INV] = "LOCAL_INV",
	[IBV_WR_BIND_MW] = "BIND_MW",
	[IBV_WR_SEND_WITH_INV] = "SEND_WITH_INV",
	[VNET_WR_FLUSH] = "FLUSH",
	[IBV_WR_ATOMIC_WRITE] = "ATOMIC_WRITE",
	[TRACE_RECV] = "RECV",
	[TRACE_TAG_ADD] = "TAG_ADD",
	[TRACE_TAG_DEL] = "TAG_DEL",
	[TRACE_TAG_SYNC] = "TAG_SYNC",
};

static const struct vnet_trace_name send_flags[] = {
	{ IBV_SEND_SIGNALED, "SIGNALED" }, { IBV_SEND_INLINE, "INLINE" },
	{ IBV_SEND_FENCE, "FENCE" },       { IBV_SEND_SOLICITED, "SOLICITED" },
	{ VNET_WR_IMM64, "IMM64" },        { 0, NULL },
};

static const struct vnet_trace_name flush_types[] = {
	{ VNET_FLUSH_GLOBAL, "GLOBAL" },
	{ VNET_FLUSH_PERSISTENT, "PERSISTENT" },
	{ 0, NULL },
};

/* A send request, posted by either interface. */
struct request {
	uint64_t wr_id;
	uint32_t opcode;
	uint32_t flags;
	uint32_t num_sge;
	const struct ibv_sge *sge;
	uint64_t length;
	uint64_t remote_addr;
	uint32_t rkey;
	/* Immediate data, or the rkey to invalidate. */
	uint32_t imm;
	uint32_t remote_qpn;
	/* A flush: vnet_flush_operand(). */
	uint64_t flush;
};

static bool is_known(uint32_t opcode)
{
	return opcode < TRACE_RECV && vnet_trace_operation_names[opcode];
}

static bool has_remote(uint32_t opcode)
{
	return OPCODE(opcode) & (OPCODES_WRITE | OPCODE(VNET_WR_RDMA_READ) |
				 OPCODE(VNET_WR_ATOMIC_CMP_SWP) | OPCODE(VNET_WR_ATOMIC_FETCH_ADD) |
				 OPCODE(VNET_WR_ATOMIC_WRITE) | OPCODE(VNET_WR_FLUSH));
}

static bool has_imm(uint32_t opcode)
{
	return opcode == IBV_WR_SEND_WITH_IMM || opcode == IBV_WR_RDMA_WRITE_WITH_IMM;
}

static bool has_key(uint32_t opcode)
{
	return opcode == IBV_WR_SEND_WITH_INV || opcode == IBV_WR_LOCAL_INV;
}

static uint64_t length_of(const struct ibv_sge *sge, uint32_t num_sge)
{
	uint64_t length = 0;
	uint32_t i;

	for (i = 0; i < num_sge; i++)
		length += sge[i].length;
	return length;
}

static void show_sges(struct vnet_trace_line *line, const struct ibv_sge *sge, uint32_t num_sge)
{
	if (!num_sge)
		return;
	if (num_sge > 1)
		vnet_trace_number(line, "sges", "in", num_sge, "pieces");
	vnet_trace_hex(line, "addr", "at", sge[0].addr);
	vnet_trace_hex(line, "lkey", "lkey", sge[0].lkey);
}

static void show_flush(struct vnet_trace_line *line, uint64_t operand)
{
	vnet_trace_flags(line, "type", "", (uint32_t)(operand & 0xff), flush_types);
	vnet_trace_word(line, "level", "of", operand >> 8 == VNET_FLUSH_RANGE ? "RANGE" : "MR");
}

static void show_request(const struct ibv_qp *qp, const struct request *r)
{
	struct vnet_trace_line line;
	char number[16];

	if (!vnet_trace_settings()->lines)
		return;
	vnet_trace_begin(&line, qp->context, "qp", qp->qp_num, "post_send", TRACE_CYAN);
	snprintf(number, sizeof(number), "opcode_%u", r->opcode);
	vnet_trace_word(&line, "opcode", "",
			is_known(r->opcode) ? vnet_trace_operation_names[r->opcode] : number);
	vnet_trace_number(&line, "length", "", r->length, "B");
	vnet_trace_hex(&line, "wr_id", "wr_id", r->wr_id);
	vnet_trace_flags(&line, "flags", "", r->flags, send_flags);
	show_sges(&line, r->sge, r->num_sge);
	if (is_known(r->opcode) && has_remote(r->opcode)) {
		vnet_trace_hex(&line, "remote_addr", "to", r->remote_addr);
		vnet_trace_hex(&line, "rkey", "rkey", r->rkey);
	}
	if (r->opcode == VNET_WR_FLUSH)
		show_flush(&line, r->flush);
	if (has_imm(r->opcode))
		vnet_trace_hex(&line, "imm", "imm", be32toh(r->imm));
	if (has_key(r->opcode))
		vnet_trace_hex(&line, "invalidate", "invalidate", r->imm);
	if (qp->qp_type == IBV_QPT_UD)
		vnet_trace_number(&line, "remote_qp", "to qp", r->remote_qpn, NULL);
	vnet_trace_end(&line);
}

static void count(uint32_t operation, int64_t change, uint64_t bytes)
{
	struct vnet_trace_row *row = &vnet_trace_counters()->operation[operation];

	__atomic_fetch_add(&row->count, (uint64_t)change, __ATOMIC_RELAXED);
	__atomic_fetch_add(&row->bytes, change < 0 ? -bytes : bytes, __ATOMIC_RELAXED);
}

/* Print and record a request. The caller holds the mutex. */
static void note(struct vnet_trace *trace, struct vnet_trace_qp *tqp, const struct request *r)
{
	const struct ibv_qp *qp = vnet_trace_ibv_qp(tqp);
	struct vnet_trace_wr wr = {
		.wr_id = r->wr_id,
		.length = r->length,
		.remote_addr = r->remote_addr,
		.rkey = r->rkey,
		.operation = (uint8_t)r->opcode,
		.signaled = r->flags & IBV_SEND_SIGNALED,
	};
	struct vnet_trace_cq *tcq = vnet_trace_cq(trace, qp->send_cq);
	uint32_t change;

	show_request(qp, r);
	if (!is_known(r->opcode))
		return;
	vnet_trace_check_send(trace, tqp, &wr, r->sge, r->num_sge);
	count(r->opcode, 1, r->length);
	wr.posted = vnet_clock_ns(CLOCK_MONOTONIC);
	change = vnet_trace_queue_push(&tqp->sq, &wr);
	if (tcq)
		tcq->expected += change;
	vnet_trace_check_depth(trace, tqp);
	vnet_trace_check_cq(trace, qp->send_cq);
}

/* Do not read the fields of requests that will be refused without being read. */
static void read_request(const struct vnet_trace_qp *tqp, const struct ibv_send_wr *wr,
			 struct request *r)
{
	const struct vnet_qp *qp = tqp->qp;

	*r = (struct request){
		.wr_id = wr->wr_id,
		.opcode = (uint32_t)wr->opcode,
		.flags = wr->send_flags | qp->sig_all,
		.imm = wr->invalidate_rkey,
	};
	if ((uint32_t)wr->num_sge <= qp->sq.max_sge && r->opcode != IBV_WR_LOCAL_INV &&
	    r->opcode != IBV_WR_BIND_MW) {
		r->sge = wr->sg_list;
		r->num_sge = (uint32_t)wr->num_sge;
		r->length = length_of(r->sge, r->num_sge);
	}
	if (r->opcode == IBV_WR_ATOMIC_CMP_AND_SWP || r->opcode == IBV_WR_ATOMIC_FETCH_AND_ADD) {
		r->remote_addr = wr->wr.atomic.remote_addr;
		r->rkey = wr->wr.atomic.rkey;
	} else if (is_known(r->opcode) && has_remote(r->opcode)) {
		r->remote_addr = wr->wr.rdma.remote_addr;
		r->rkey = wr->wr.rdma.rkey;
	} else if (qp->is_ud) {
		r->remote_qpn = wr->wr.ud.remote_qpn;
	}
	/* Inline data needs no lkey. */
	if (r->flags & IBV_SEND_INLINE)
		r->num_sge = 0;
}

/*
 * Remove the records of the requests from `bad` on; `end` is the queue's head after they were
 * recorded.
 */
static void take_back(struct vnet_trace *trace, struct vnet_trace_qp *tqp,
		      const struct ibv_send_wr *bad, uint32_t end)
{
	struct vnet_trace_cq *tcq = vnet_trace_cq(trace, vnet_trace_ibv_qp(tqp)->send_cq);
	uint32_t n = 0, signaled;
	struct request r;

	for (; bad; bad = bad->next) {
		read_request(tqp, bad, &r);
		if (!is_known(r.opcode))
			continue;
		count(r.opcode, -1, r.length);
		n++;
	}
	signaled = vnet_trace_queue_undo(&tqp->sq, end - n, end);
	if (tcq)
		tcq->expected -= signaled;
}

int vnet_trace_post_send(struct ibv_qp *ibqp, struct ibv_send_wr *wr, struct ibv_send_wr **bad_wr)
{
	struct vnet_trace *trace = vnet_trace_of(ibqp->context);
	const struct ibv_send_wr *one;
	struct vnet_trace_qp *tqp;
	struct request r;
	uint32_t end = 0;
	int ret;

	pthread_mutex_lock(&trace->mutex);
	tqp = vnet_trace_qp(trace, ibqp->qp_num);
	for (one = wr; one && tqp; one = one->next) {
		read_request(tqp, one, &r);
		note(trace, tqp, &r);
	}
	if (tqp)
		end = tqp->sq.head;
	pthread_mutex_unlock(&trace->mutex);

	ret = vnet_post_send(ibqp, wr, bad_wr);
	if (!ret || !tqp)
		return ret;
	pthread_mutex_lock(&trace->mutex);
	take_back(trace, tqp, *bad_wr, end);
	vnet_trace_refused_send(trace, tqp, ret, *bad_wr);
	pthread_mutex_unlock(&trace->mutex);
	return ret;
}

int vnet_trace_bind_mw(struct ibv_qp *ibqp, struct ibv_mw *mw, struct ibv_mw_bind *bind)
{
	struct vnet_trace *trace = vnet_trace_of(ibqp->context);
	struct request r = {
		.wr_id = bind->wr_id,
		.opcode = IBV_WR_BIND_MW,
		.flags = bind->send_flags | to_vqp(ibqp)->sig_all,
		.length = bind->bind_info.length,
	};
	struct vnet_trace_qp *tqp;
	uint32_t end = 0;
	int ret;

	pthread_mutex_lock(&trace->mutex);
	tqp = vnet_trace_qp(trace, ibqp->qp_num);
	if (tqp) {
		note(trace, tqp, &r);
		end = tqp->sq.head;
	}
	pthread_mutex_unlock(&trace->mutex);

	ret = vnet_bind_mw(ibqp, mw, bind);
	if (!ret || !tqp)
		return ret;
	pthread_mutex_lock(&trace->mutex);
	count(IBV_WR_BIND_MW, -1, r.length);
	vnet_trace_queue_undo(&tqp->sq, end - 1, end);
	vnet_trace_refused_send(trace, tqp, ret, NULL);
	pthread_mutex_unlock(&trace->mutex);
	return ret;
}

/* --------------------------------------------------------- extended posting */

static void read_wqe(const struct vnet_qp *qp, const struct vnet_send_wqe *wqe, struct request *r)
{
	*r = (struct request){
		.wr_id = wqe->wr_id,
		.opcode = wqe->opcode,
		.flags = wqe->flags,
		.imm = wqe->imm,
		.sge = (const struct ibv_sge *)(uintptr_t)(wqe + 1),
		.num_sge = wqe->num_sge,
		.length = wqe->inline_len,
	};
	if (!(wqe->flags & VNET_WR_INLINE))
		r->length = length_of(r->sge, r->num_sge);
	if (is_known(r->opcode) && has_remote(r->opcode)) {
		r->remote_addr = wqe->rdma.remote_addr;
		r->rkey = wqe->rdma.rkey;
		r->flush = wqe->rdma.swap;
	} else if (qp->is_ud) {
		r->remote_qpn = wqe->ud.remote_qpn;
	}
	/* The length of a range; not valid for a whole region. */
	if (r->opcode == VNET_WR_FLUSH)
		r->length = r->flush >> 8 == VNET_FLUSH_RANGE ? wqe->rdma.compare_add : 0;
}

/* The send queue is locked since wr_start(), and the batch is in its slots. */
static int wr_complete(struct ibv_qp_ex *ibqp)
{
	struct vnet_qp *qp = to_vqp_ex(ibqp);
	struct vnet_trace *trace = vnet_trace_of(qp->vqp.qp.context);
	struct vnet_trace_qp *tqp = qp->trace;
	int error = qp->wr_error;
	struct request r;
	uint32_t i;

	pthread_mutex_lock(&trace->mutex);
	for (i = qp->sq.prod; i != qp->wr_prod && !error; i++) {
		read_wqe(qp, vnet_wq_slot(&qp->sq, i), &r);
		note(trace, tqp, &r);
	}
	if (error)
		vnet_trace_refused_send(trace, tqp, error, NULL);
	pthread_mutex_unlock(&trace->mutex);
	return tqp->wr_complete(ibqp);
}

static void check_inline(struct vnet_qp *qp, size_t length)
{
	struct vnet_trace *trace = vnet_trace_of(qp->vqp.qp.context);

	if (length <= qp->max_inline)
		return;
	pthread_mutex_lock(&trace->mutex);
	vnet_trace_warn(qp->vqp.qp.context, "qp", qp->qpn, TRACE_INLINE_TOO_LONG,
			&qp->trace->warned,
			"%zu bytes of inline data, where the queue pair takes %u "
			"(cap.max_inline_data, as answered when it was made)",
			length, qp->max_inline);
	pthread_mutex_unlock(&trace->mutex);
}

static void wr_set_inline_data(struct ibv_qp_ex *ibqp, void *addr, size_t length)
{
	struct vnet_qp *qp = to_vqp_ex(ibqp);

	check_inline(qp, length);
	qp->trace->wr_set_inline_data(ibqp, addr, length);
}

static void wr_set_inline_data_list(struct ibv_qp_ex *ibqp, size_t num_buf,
				    const struct ibv_data_buf *buf_list)
{
	struct vnet_qp *qp = to_vqp_ex(ibqp);
	size_t length = 0, i;

	for (i = 0; i < num_buf && length <= qp->max_inline; i++)
		length += buf_list[i].length;
	check_inline(qp, length);
	qp->trace->wr_set_inline_data_list(ibqp, num_buf, buf_list);
}

void vnet_trace_wr_ops(struct vnet_trace_qp *tqp)
{
	struct ibv_qp_ex *ex = &tqp->qp->vqp.qp_ex;

	tqp->wr_complete = ex->wr_complete;
	tqp->wr_set_inline_data = ex->wr_set_inline_data;
	tqp->wr_set_inline_data_list = ex->wr_set_inline_data_list;
	ex->wr_complete = wr_complete;
	ex->wr_set_inline_data = wr_set_inline_data;
	ex->wr_set_inline_data_list = wr_set_inline_data_list;
}
