// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Tag matching: posts operations on the tag list of a shared receive queue. The NIC executes them
 * in order.
 */
#include <errno.h>
#include <string.h>

#include "vnet.h"

int vnet_tm_init(struct vnet_srq *srq, const struct ibv_srq_init_attr_ex *attr,
		 const struct vnet_create_srq_resp *resp)
{
	struct ibv_pd *pd = attr->pd;
	struct vnet_context *ctx = to_vctx(pd->context);
	bool skip_lock = ctx->single_threaded || vnet_pd_skips_locks(pd);
	struct vnet_cq *cq = to_vcq(attr->cq);
	int ret;

	ret = vnet_wq_init(&srq->ops, ctx, &resp->ops, sizeof(struct vnet_tm_op), skip_lock);
	if (!ret && (!srq->ops.ring || attr->tm_cap.max_ops > srq->ops.entries))
		ret = srq->ops.ring ? EINVAL : EPROTO;
	if (ret) {
		vnet_wq_fini(&srq->ops);
		vnet_wq_fini(&srq->rq);
		ibv_cmd_destroy_srq(&srq->vsrq.srq);
		return ret;
	}
	srq->tags = resp->tags;
	srq->cq = cq;
	vnet_lock(&cq->lock);
	srq->next = cq->matching;
	/* Atomic, because an empty poll reads it before it takes the lock. */
	__atomic_store_n(&cq->matching, srq, __ATOMIC_RELAXED);
	vnet_unlock(&cq->lock);
	return 0;
}

void vnet_tm_fini(struct vnet_srq *srq)
{
	struct vnet_cq *cq = srq->cq;
	struct vnet_srq **place;

	if (!cq)
		return;
	vnet_lock(&cq->lock);
	for (place = &cq->matching; *place != srq; place = &(*place)->next)
		;
	__atomic_store_n(place, srq->next, __ATOMIC_RELAXED);
	vnet_unlock(&cq->lock);
	vnet_wq_fini(&srq->ops);
}

/*
 * Has this process no operations left to execute? Read the cache line with cons only while there
 * may be some, because the NIC writes to it for every delivered message.
 */
static bool is_done(struct vnet_srq *srq)
{
	const struct vnet_ring *ring = srq->ops.ring;
	uint32_t due = __atomic_load_n(&srq->due, __ATOMIC_RELAXED);

	if (__atomic_load_n(&ring->need_doorbell, __ATOMIC_RELAXED))
		return false;
	if (__atomic_load_n(&srq->done, __ATOMIC_RELAXED) == due)
		return true;
	if ((int32_t)(__atomic_load_n(&ring->cons, __ATOMIC_ACQUIRE) - due) < 0)
		return false;
	__atomic_store_n(&srq->done, due, __ATOMIC_RELAXED);
	return true;
}

static void ring_doorbell(struct vnet_srq *srq)
{
	const struct vnet_context *ctx = to_vctx(srq->vsrq.srq.context);
	struct ibv_recv_wr *bad_wr;
	int saved = errno;

	if (ctx->gate.tag_doorbell) {
		ctx->gate.tag_doorbell(ctx->gate_cookie, srq->srqn);
		return;
	}
	/* The command for posting, without a request. */
	ibv_cmd_post_srq_recv(&srq->vsrq.srq, NULL, &bad_wr);
	errno = saved;
}

void vnet_tm_flush(struct vnet_cq *cq)
{
	struct vnet_srq *srq;

	vnet_lock(&cq->lock);
	/* Ring only if necessary: a doorbell takes a lock that senders need. */
	for (srq = cq->matching; srq; srq = srq->next) {
		if (!is_done(srq))
			ring_doorbell(srq);
	}
	vnet_unlock(&cq->lock);
}

/* Does the tag list have no room? Tags that have left the list are counted by the NIC. */
static bool list_is_full(struct vnet_srq *srq)
{
	if (likely(srq->added - srq->ended < srq->tags))
		return false;
	srq->ended = __atomic_load_n(&srq->ops.ring->ended, __ATOMIC_RELAXED);
	return srq->added - srq->ended >= srq->tags;
}

static int check(struct vnet_srq *srq, const struct ibv_ops_wr *wr, uint32_t prod)
{
	const int known = IBV_OPS_SIGNALED | IBV_OPS_TM_SYNC;

	if ((unsigned int)wr->opcode > IBV_WR_TAG_SYNC || wr->flags & ~known)
		return EINVAL;
	if (vnet_wq_full(&srq->ops, prod))
		return ENOMEM;
	if (wr->opcode != IBV_WR_TAG_ADD)
		return 0;
	if ((unsigned int)wr->tm.add.num_sge > VNET_TM_MAX_SGE)
		return EINVAL;
	return list_is_full(srq) ? ENOMEM : 0;
}

/*
 * An unsignaled ADD needs no doorbell: the NIC takes it from the ring when it delivers a message.
 * All other operations make completions, or must take effect at once.
 */
static bool is_left_to_nic(const struct ibv_ops_wr *wr)
{
	return wr->opcode == IBV_WR_TAG_ADD && !(wr->flags & IBV_OPS_SIGNALED);
}

static void put(struct vnet_srq *srq, struct ibv_ops_wr *wr, uint32_t prod)
{
	struct vnet_tm_op *op = vnet_wq_slot(&srq->ops, prod);

	memset(op, 0, offsetof(struct vnet_tm_op, sge));
	op->wr_id = wr->wr_id;
	op->opcode = (uint8_t)wr->opcode;
	op->flags = (uint8_t)wr->flags;
	op->unexpected = wr->tm.unexpected_cnt;
	if (wr->opcode == IBV_WR_TAG_ADD) {
		srq->added++;
		wr->tm.handle = ++srq->handle;
		op->recv_wr_id = wr->tm.add.recv_wr_id;
		op->tag = wr->tm.add.tag;
		op->mask = wr->tm.add.mask;
		op->num_sge = (uint8_t)wr->tm.add.num_sge;
		if (op->num_sge)
			memcpy(op->sge, wr->tm.add.sg_list, op->num_sge * sizeof(op->sge[0]));
	}
	op->handle = wr->tm.handle;
}

int vnet_post_srq_ops(struct ibv_srq *ibsrq, struct ibv_ops_wr *wr, struct ibv_ops_wr **bad_wr)
{
	struct vnet_srq *srq = to_vsrq(ibsrq);
	uint32_t prod, due;
	int ret = 0;

	if (!srq->cq) {
		*bad_wr = wr;
		return EINVAL;
	}
	vnet_lock(&srq->ops.lock);
	due = srq->due;
	for (prod = srq->ops.prod; wr; wr = wr->next, prod++) {
		ret = check(srq, wr, prod);
		if (ret) {
			*bad_wr = wr;
			break;
		}
		put(srq, wr, prod);
		if (!is_left_to_nic(wr))
			due = prod + 1;
	}
	if (prod != srq->ops.prod)
		vnet_wq_publish(&srq->ops, prod);
	if (due != srq->due)
		__atomic_store_n(&srq->due, due, __ATOMIC_RELAXED);
	vnet_unlock(&srq->ops.lock);

	/* If a sender holds the list's lock, the NIC executes them later. */
	if (!is_done(srq))
		ring_doorbell(srq);
	return ret;
}
