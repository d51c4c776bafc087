// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Posting receive requests to queue pairs, shared receive queues and work queues.
 */
#include <errno.h>
#include <string.h>

#include "vnet.h"

/* Write one request to the slot of entry `prod`. Returns 0 or an errno value. */
static inline int put(struct vnet_wq *wq, uint32_t prod, const struct ibv_recv_wr *wr)
{
	struct vnet_recv_wqe *wqe;

	static_assert(sizeof(struct vnet_sge) == sizeof(struct ibv_sge), "copied as they are");
	static_assert(offsetof(struct vnet_sge, lkey) == offsetof(struct ibv_sge, lkey), "alike");

	if (unlikely((uint32_t)wr->num_sge > wq->max_sge))
		return EINVAL;
	if (vnet_wq_full(wq, prod))
		return ENOMEM;

	wqe = vnet_wq_slot(wq, prod);
	wqe->wr_id = wr->wr_id;
	wqe->num_sge = (uint32_t)wr->num_sge;
	wqe->rsvd = 0;
	if (likely(wr->num_sge == 1))
		memcpy(wqe + 1, wr->sg_list, sizeof(struct vnet_sge));
	else if (wr->num_sge)
		memcpy(wqe + 1, wr->sg_list, (size_t)wr->num_sge * sizeof(struct vnet_sge));
	return 0;
}

/* A slot is prefetched this many posts before it is written. */
#define SLOTS_AHEAD 8

/*
 * Prefetch a slot for writing, because the NIC has read its line last. Not a slot that still holds
 * a receive: the NIC would have to fetch its line twice. In assembler, because compilers emit a
 * read prefetch for the oldest x86-64 processors.
 */
static inline void prefetch_free(const struct vnet_wq *wq, uint32_t prod)
{
	const char *slot = vnet_wq_slot(wq, prod);

	if (unlikely(prod - wq->cons >= wq->entries))
		return;
#ifdef __x86_64__
	__asm__ __volatile__("prefetchw %0" : : "m"(*slot));
#else
	__builtin_prefetch(slot, 1);
#endif
}

/* Post a list. Requests before the first bad one are posted. Returns 0 or an errno value. */
static inline __attribute__((always_inline)) int put_all(struct vnet_wq *wq, struct ibv_recv_wr *wr,
							 struct ibv_recv_wr **bad_wr)
{
	uint32_t prod;
	int ret = 0;

	vnet_lock(&wq->lock);
	for (prod = wq->prod; wr; wr = wr->next, prod++) {
		ret = put(wq, prod, wr);
		if (unlikely(ret)) {
			*bad_wr = wr;
			break;
		}
	}
	if (prod != wq->prod) {
		vnet_wq_publish(wq, prod);
		prefetch_free(wq, prod + SLOTS_AHEAD);
	}
	vnet_unlock(&wq->lock);
	return ret;
}

static __attribute__((cold, noinline)) void wq_doorbell(struct ibv_wq *ibwq)
{
	struct vnet_context *ctx = to_vctx(ibwq->context);

	/*
	 * Agents with work queues have this doorbell. Without it, a waiting sender finds the
	 * receive by its timer.
	 */
	if (ctx->gate.recv_doorbell)
		ctx->gate.recv_doorbell(ctx->gate_cookie, ibwq->wq_num, 0);
}

static __attribute__((cold, noinline)) void qp_doorbell(struct ibv_qp *ibqp)
{
	struct vnet_context *ctx = to_vctx(ibqp->context);
	struct ibv_recv_wr *bad_wr;

	if (ctx->gate.recv_doorbell)
		ctx->gate.recv_doorbell(ctx->gate_cookie, ibqp->qp_num, 0);
	else
		ibv_cmd_post_recv(ibqp, NULL, &bad_wr);
}

static __attribute__((cold, noinline)) void srq_doorbell(struct ibv_srq *ibsrq)
{
	struct vnet_context *ctx = to_vctx(ibsrq->context);
	struct ibv_recv_wr *bad_wr;

	if (ctx->gate.recv_doorbell)
		ctx->gate.recv_doorbell(ctx->gate_cookie, to_vsrq(ibsrq)->srqn, 1);
	else
		ibv_cmd_post_srq_recv(ibsrq, NULL, &bad_wr);
}

int vnet_post_recv(struct ibv_qp *ibqp, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad_wr)
{
	struct vnet_qp *qp = to_vqp(ibqp);
	int ret;

	if (unlikely(ibqp->state == IBV_QPS_RESET || ibqp->srq)) {
		*bad_wr = wr;
		return EINVAL;
	}
	ret = put_all(&qp->rq, wr, bad_wr);
	if (unlikely(!qp->rq.ring))
		return ret;
	/* In ERR, the NIC needs a doorbell to flush the receives. */
	if (unlikely(vnet_wq_needs_doorbell(&qp->rq) || ibqp->state == IBV_QPS_ERR))
		qp_doorbell(ibqp);
	return ret;
}

int vnet_post_srq_recv(struct ibv_srq *ibsrq, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad_wr)
{
	struct vnet_srq *srq = to_vsrq(ibsrq);
	int ret;

	ret = put_all(&srq->rq, wr, bad_wr);
	if (unlikely(vnet_wq_needs_doorbell(&srq->rq)))
		srq_doorbell(ibsrq);
	return ret;
}

int vnet_post_wq_recv(struct ibv_wq *ibwq, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad_wr)
{
	struct vnet_work_queue *wq = to_vwq(ibwq);
	int ret;

	if (unlikely(ibwq->state == IBV_WQS_RESET)) {
		*bad_wr = wr;
		return EINVAL;
	}
	ret = put_all(&wq->rq, wr, bad_wr);
	if (unlikely(vnet_wq_needs_doorbell(&wq->rq) || ibwq->state == IBV_WQS_ERR))
		wq_doorbell(ibwq);
	return ret;
}
