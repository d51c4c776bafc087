// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Explains why a request of a traced program was refused or has failed.
 */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "trace.h"
#include "../wqe.h"

/* The access right that the peer must grant. */
static unsigned int remote_access(uint32_t operation)
{
	switch (operation) {
	case IBV_WR_RDMA_WRITE:
	case IBV_WR_RDMA_WRITE_WITH_IMM:
	case IBV_WR_ATOMIC_WRITE:
		return IBV_ACCESS_REMOTE_WRITE;
	case IBV_WR_RDMA_READ:
		return IBV_ACCESS_REMOTE_READ;
	case IBV_WR_ATOMIC_CMP_AND_SWP:
	case IBV_WR_ATOMIC_FETCH_AND_ADD:
		return IBV_ACCESS_REMOTE_ATOMIC;
	case VNET_WR_FLUSH:
		return VNETDV_ACCESS_FLUSH_GLOBAL;
	default:
		return 0;
	}
}

static const char *access_name(unsigned int access)
{
	switch (access) {
	case IBV_ACCESS_REMOTE_WRITE:
		return "IBV_ACCESS_REMOTE_WRITE";
	case IBV_ACCESS_REMOTE_READ:
		return "IBV_ACCESS_REMOTE_READ";
	case VNETDV_ACCESS_FLUSH_GLOBAL:
		return "IBV_ACCESS_FLUSH_GLOBAL (none has that of persistent placement)";
	default:
		return "IBV_ACCESS_REMOTE_ATOMIC";
	}
}

/* ------------------------------------------------------------------- refusals */

static uint64_t length_of(const struct ibv_send_wr *wr)
{
	uint64_t length = 0;
	int i;

	for (i = 0; i < wr->num_sge; i++)
		length += wr->sg_list[i].length;
	return length;
}

static const char *reason_of(const struct vnet_qp *qp, const struct ibv_send_wr *wr)
{
	uint32_t opcode = (uint32_t)wr->opcode;

	if (opcode >= 32 || !(qp->all_opcodes & OPCODE(opcode)))
		return "queue pairs of this type do not have its opcode";
	if ((uint32_t)wr->num_sge > qp->sq.max_sge)
		return "it has more pieces than the queue pair takes (max_send_sge)";
	if (qp->is_ud && !wr->wr.ud.ah)
		return "it has no address handle";
	if (wr->send_flags & IBV_SEND_INLINE && !(OPCODE(opcode) & OPCODES_INLINE))
		return "its opcode has no inline data";
	return "its arguments are wrong";
}

void vnet_trace_refused_send(struct vnet_trace *trace, struct vnet_trace_qp *tqp, int error,
			     const struct ibv_send_wr *wr)
{
	const struct vnet_qp *qp = tqp->qp;
	uint64_t wr_id = wr ? wr->wr_id : 0;
	const char *batch = wr ? "" : "a batch: ";

	if (qp->vqp.qp.state < IBV_QPS_RTS)
		vnet_trace_warn(trace->context, "qp", qp->qpn, TRACE_WRONG_STATE, NULL,
				"%srequest 0x%" PRIx64
				" is refused: the queue pair is not in RTS, where it may send",
				batch, wr_id);
	else if (error == ENOMEM)
		vnet_trace_warn(trace->context, "qp", qp->qpn, TRACE_REFUSED, NULL,
				"%srequest 0x%" PRIx64 " is refused: the send queue of %u is full",
				batch, wr_id, tqp->cap.max_send_wr);
	else if (wr && (uint32_t)wr->num_sge <= qp->sq.max_sge &&
		 wr->send_flags & IBV_SEND_INLINE && length_of(wr) > qp->max_inline)
		vnet_trace_warn(trace->context, "qp", qp->qpn, TRACE_INLINE_TOO_LONG, NULL,
				"%" PRIu64 " bytes of inline data, where the queue pair takes %u "
				"(cap.max_inline_data, as answered when it was made)",
				length_of(wr), qp->max_inline);
	else
		vnet_trace_warn(trace->context, "qp", qp->qpn, TRACE_REFUSED, NULL,
				"%srequest 0x%" PRIx64 " is refused (%s): %s", batch, wr_id,
				strerror(error),
				wr ? reason_of(qp, wr) :
				     "a builder or setter was given wrong arguments");
}

/* ------------------------------------------------------------------- failures */

static void explain_remote(struct vnet_trace *trace, struct vnet_trace_qp *tqp,
			   const struct vnet_trace_wr *wr)
{
	const struct ibv_qp *qp = vnet_trace_ibv_qp(tqp);
	unsigned int access = remote_access(wr->operation);
	const char *problem;
	bool known;

	/* If the peer is in this context, its region is known. */
	problem = vnet_trace_check_memory(trace, NULL, true, wr->rkey, wr->remote_addr, wr->length,
					  access, &known);
	vnet_trace_warn(trace->context, "qp", qp->qp_num, TRACE_REMOTE_ACCESS, &tqp->warned,
			"%s 0x%" PRIx64 " to 0x%" PRIx64
			", rkey 0x%x: %s%sthe peer's region and the "
			"peer's queue pair (qp_access_flags) must have %s, both in one protection "
			"domain, and the region hold %" PRIu64 " bytes there",
			vnet_trace_operation_names[wr->operation], wr->wr_id, wr->remote_addr,
			wr->rkey, problem ? problem : "", problem ? "; " : "", access_name(access),
			wr->length);
}

/* A responder whose queue pair does not permit the operation returns "invalid request". */
static bool is_refused_access(enum ibv_wc_status status, uint32_t operation)
{
	return remote_access(operation) &&
	       (status == IBV_WC_REM_ACCESS_ERR ||
		(status == IBV_WC_REM_INV_REQ_ERR && operation != IBV_WR_RDMA_WRITE_WITH_IMM));
}

static const char *explanation(enum ibv_wc_status status, bool is_recv)
{
	switch (status) {
	case IBV_WC_LOC_PROT_ERR:
	case IBV_WC_LOC_ACCESS_ERR:
		return is_recv ?
			       "the receive's memory cannot be written: look at its lkey, range, "
			       "protection domain and IBV_ACCESS_LOCAL_WRITE" :
			       "its memory cannot be used: look at its lkey, range and protection "
			       "domain, for reads and atomics at IBV_ACCESS_LOCAL_WRITE";
	case IBV_WC_LOC_QP_OP_ERR:
		return "the queue pair cannot do this";
	case IBV_WC_REM_INV_REQ_ERR:
		return "the peer's receive was too small for the message";
	case IBV_WC_RETRY_EXC_ERR:
		return "nobody answered: the peer's queue pair is gone, not in RTR or RTS, or not "
		       "the one whose number and GID were given in RTR";
	case IBV_WC_RNR_RETRY_EXC_ERR:
		return "the peer had no receive posted, for longer than rnr_retry and its "
		       "min_rnr_timer allow";
	case IBV_WC_MW_BIND_ERR:
		return "the window cannot be bound: look at IBV_ACCESS_MW_BIND of its region";
	default:
		return NULL;
	}
}

static enum vnet_trace_warning kind_of(enum ibv_wc_status status)
{
	switch (status) {
	case IBV_WC_LOC_PROT_ERR:
	case IBV_WC_LOC_ACCESS_ERR:
		return TRACE_LOCAL_ACCESS;
	case IBV_WC_RETRY_EXC_ERR:
		return TRACE_UNREACHABLE;
	case IBV_WC_RNR_RETRY_EXC_ERR:
		return TRACE_NO_RECEIVE;
	case IBV_WC_REM_INV_REQ_ERR:
		return TRACE_RECEIVE_TOO_SMALL;
	default:
		return TRACE_FAILED;
	}
}

static void explain_length(struct vnet_trace *trace, struct vnet_trace_qp *tqp,
			   const struct vnet_trace_wr *wr, bool is_recv)
{
	uint32_t qpn = vnet_trace_ibv_qp(tqp)->qp_num;

	if (is_recv)
		vnet_trace_warn(trace->context, "qp", qpn, TRACE_RECEIVE_TOO_SMALL, &tqp->warned,
				"receive 0x%" PRIx64 " of %" PRIu64
				" bytes is smaller than the message that came",
				wr->wr_id, wr->length);
	else
		vnet_trace_warn(
			trace->context, "qp", qpn, TRACE_FAILED, &tqp->warned,
			"%s 0x%" PRIx64 " of %" PRIu64 " bytes is longer than a message may be%s",
			vnet_trace_operation_names[wr->operation], wr->wr_id, wr->length,
			tqp->qp->is_ud ? ": a datagram is one packet, of the path's MTU" : "");
}

void vnet_trace_check_status(struct vnet_trace *trace, struct vnet_trace_qp *tqp,
			     enum ibv_wc_status status, const struct vnet_trace_wr *wr,
			     bool is_recv)
{
	const char *text = explanation(status, is_recv);

	/* A flushed request is the result of an earlier failure. */
	if (!tqp || status == IBV_WC_WR_FLUSH_ERR)
		return;
	if (wr && !is_recv && is_refused_access(status, wr->operation))
		explain_remote(trace, tqp, wr);
	else if (status == IBV_WC_LOC_LEN_ERR && wr)
		explain_length(trace, tqp, wr, is_recv);
	else if (status == IBV_WC_LOC_PROT_ERR && wr && wr->unknown_lkey)
		vnet_trace_warn(trace->context, "qp", vnet_trace_ibv_qp(tqp)->qp_num,
				TRACE_LOCAL_ACCESS, &tqp->warned,
				"%s 0x%" PRIx64
				" has lkey 0x%x, which no region of this context had when "
				"it was posted",
				vnet_trace_operation_names[wr->operation], wr->wr_id,
				wr->unknown_lkey);
	else
		vnet_trace_warn(trace->context, "qp", vnet_trace_ibv_qp(tqp)->qp_num,
				kind_of(status), &tqp->warned, "%s 0x%" PRIx64 ": %s",
				wr ? vnet_trace_operation_names[wr->operation] : "request",
				wr ? wr->wr_id : 0, text ? text : ibv_wc_status_str(status));
}

/* Runs at the responder: report the operations that its queue pair permits. */
void vnet_trace_explain_access(struct vnet_trace *trace, uint32_t qpn)
{
	const struct vnet_trace_qp *tqp;
	bool write, read, atomic;

	pthread_mutex_lock(&trace->mutex);
	tqp = vnet_trace_qp(trace, qpn);
	if (tqp) {
		write = tqp->access & IBV_ACCESS_REMOTE_WRITE;
		read = tqp->access & IBV_ACCESS_REMOTE_READ;
		atomic = tqp->access & IBV_ACCESS_REMOTE_ATOMIC;
		vnet_trace_warn(
			trace->context, "qp", qpn, TRACE_REMOTE_ACCESS, NULL,
			"the peer asked for what it may not: this queue pair's qp_access_flags "
			"allow%s%s%s%s; the region must allow it, too",
			write ? " REMOTE_WRITE" : "", read ? " REMOTE_READ" : "",
			atomic ? " REMOTE_ATOMIC" : "", write || read || atomic ? "" : " nothing");
	}
	pthread_mutex_unlock(&trace->mutex);
}
