// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Completion queues: creating, resizing, arming and destroying them. poll.c polls them.
 */
#include <errno.h>
#include <stdlib.h>

#include "cmd.h"
#include "vnet.h"

static const uint64_t timestamp_flags = IBV_WC_EX_WITH_COMPLETION_TIMESTAMP |
					IBV_WC_EX_WITH_COMPLETION_TIMESTAMP_WALLCLOCK;

/* ------------------------------------------------------------------- rings */

/* Poll this ring from now on, from the same entry index. */
static void use_ring(struct vnet_cq *cq, const struct vnet_ring_map *map, uint32_t entries)
{
	cq->map = *map;
	cq->ring = map->hdr;
	cq->slots = (struct vnet_cqe *)((uintptr_t)map->hdr + VNET_RING_HDR_SIZE);
	cq->mask = entries - 1;
}

static int map_ring(struct vnet_ring_map *map, struct ibv_context *context,
		    const struct vnet_ring_info *info)
{
	int ret;

	if (1u << info->stride_shift != VNET_CQE_SIZE)
		return EPROTO;
	ret = vnet_ring_map(map, to_vctx(context), info);
	if (ret)
		return ret;
	return map->hdr ? 0 : EPROTO;
}

/* ------------------------------------------------------- list of all queues */

static void enlist(struct vnet_context *ctx, struct vnet_cq *cq)
{
	pthread_mutex_lock(&ctx->cq_mutex);
	cq->next = ctx->cqs;
	cq->prev = &ctx->cqs;
	if (cq->next)
		cq->next->prev = &cq->next;
	ctx->cqs = cq;
	pthread_mutex_unlock(&ctx->cq_mutex);
}

static void delist(struct vnet_context *ctx, struct vnet_cq *cq)
{
	pthread_mutex_lock(&ctx->cq_mutex);
	*cq->prev = cq->next;
	if (cq->next)
		cq->next->prev = cq->prev;
	pthread_mutex_unlock(&ctx->cq_mutex);
}

/* ----------------------------------------------------------------- creating */

/* Returns 0 or an errno value. */
static int check_attr(const struct vnet_context *ctx, const struct ibv_cq_init_attr_ex *attr)
{
	const uint64_t known_fields = IBV_WC_STANDARD_FLAGS | timestamp_flags |
				      IBV_WC_EX_WITH_CVLAN | IBV_WC_EX_WITH_FLOW_TAG |
				      (ctx->tm ? (uint64_t)IBV_WC_EX_WITH_TM_INFO : 0);
	const uint32_t known_masks = IBV_CQ_INIT_ATTR_MASK_FLAGS | IBV_CQ_INIT_ATTR_MASK_PD;
	const uint32_t known_flags = IBV_CREATE_CQ_ATTR_SINGLE_THREADED |
				     IBV_CREATE_CQ_ATTR_IGNORE_OVERRUN;

	if (attr->cqe <= 0)
		return EINVAL;
	if (!check_comp_mask(attr->comp_mask, known_masks))
		return EOPNOTSUPP;
	if (!check_comp_mask(attr->wc_flags, known_fields))
		return EOPNOTSUPP;
	if (attr->comp_mask & IBV_CQ_INIT_ATTR_MASK_FLAGS &&
	    !check_comp_mask(attr->flags, known_flags))
		return EOPNOTSUPP;
	if (attr->comp_mask & IBV_CQ_INIT_ATTR_MASK_PD &&
	    (!attr->parent_domain || attr->parent_domain->context != &ctx->ibv_ctx.context ||
	     !to_vpd(attr->parent_domain)->contained))
		return EINVAL;
	return 0;
}

static uint32_t create_flags(const struct vnet_context *ctx, const struct ibv_cq_init_attr_ex *attr)
{
	uint32_t flags = ctx->imm64 ? VNET_CREATE_CQ_IMM64 : 0;

	if (attr->wc_flags & timestamp_flags)
		flags |= VNET_CREATE_CQ_TIMESTAMP;
	if (attr->comp_mask & IBV_CQ_INIT_ATTR_MASK_FLAGS &&
	    attr->flags & IBV_CREATE_CQ_ATTR_IGNORE_OVERRUN)
		flags |= VNET_CREATE_CQ_IGNORE_OVERRUN;
	return flags;
}

static bool skips_lock(const struct vnet_context *ctx, const struct ibv_cq_init_attr_ex *attr)
{
	if (ctx->single_threaded)
		return true;
	if (attr->comp_mask & IBV_CQ_INIT_ATTR_MASK_FLAGS &&
	    attr->flags & IBV_CREATE_CQ_ATTR_SINGLE_THREADED)
		return true;
	return attr->comp_mask & IBV_CQ_INIT_ATTR_MASK_PD &&
	       vnet_pd_skips_locks(attr->parent_domain);
}

/* Returns NULL with errno set on failure. */
static struct vnet_cq *new_cq(struct ibv_context *context, const struct ibv_cq_init_attr_ex *attr)
{
	struct vnet_context *ctx = to_vctx(context);
	struct vnet_create_cq_cmd cmd = { .vnet.flags = create_flags(ctx, attr) };
	struct vnet_create_cq_reply reply = {};
	struct vnet_ring_map map;
	struct vnet_cq *cq;
	int ret;

	cq = vnet_zalloc(sizeof(*cq));
	if (!cq)
		return NULL;
	ret = vnet_cmd_create_cq(context, attr, &cq->vcq, &cmd, &reply);
	if (ret)
		goto err_free;
	ret = map_ring(&map, context, &reply.vnet.cq);
	if (ret)
		goto err_destroy;

	use_ring(cq, &map, reply.vnet.cq.entries);
	vnet_lock_init(&cq->lock, skips_lock(ctx, attr));
	cq->idle = ctx->gate.idle;
	cq->copy = ctx->gate.copy;
	cq->cookie = ctx->gate_cookie;
	cq->cqn = reply.vnet.cqn;
	cq->in_nic = ctx->cq_read_ns;
	/* There has been no event before the first poll. */
	cq->seen_empty = true;
	cq->ignores_overrun = cmd.vnet.flags & VNET_CREATE_CQ_IGNORE_OVERRUN;
	enlist(ctx, cq);
	return cq;

err_destroy:
	ibv_cmd_destroy_cq(&cq->vcq.cq);
err_free:
	free(cq);
	errno = ret;
	return NULL;
}

struct ibv_cq *vnet_create_cq(struct ibv_context *context, int cqe,
			      struct ibv_comp_channel *channel, int comp_vector)
{
	const struct ibv_cq_init_attr_ex attr = {
		.cqe = cqe,
		.channel = channel,
		.comp_vector = comp_vector,
		.wc_flags = IBV_WC_STANDARD_FLAGS,
	};
	struct vnet_cq *cq;
	int ret;

	ret = check_attr(to_vctx(context), &attr);
	if (ret) {
		errno = ret;
		return NULL;
	}
	cq = new_cq(context, &attr);
	return cq ? &cq->vcq.cq : NULL;
}

struct ibv_cq_ex *vnet_create_cq_ex(struct ibv_context *context, struct ibv_cq_init_attr_ex *attr)
{
	struct vnet_cq *cq;
	int ret;

	ret = check_attr(to_vctx(context), attr);
	if (ret) {
		errno = ret;
		return NULL;
	}
	cq = new_cq(context, attr);
	if (!cq)
		return NULL;
	cq->extended = true;
	vnet_cq_set_poll_ops(cq, attr->wc_flags);
	if (cq->in_nic)
		vnet_cq_set_in_nic(cq);
	return &cq->vcq.cq_ex;
}

/* --------------------------------------------------- changing and destroying */

/*
 * The current completion of a batch is in the ring that is about to be replaced. For a batch of the
 * calling thread, keep a copy of it. A batch of another thread is waited for, because that thread
 * may be reading. The caller holds the lock.
 */
static void settle_batch(struct vnet_cq *cq)
{
	if (!cq->lock.skip)
		vnet_cq_await_batch(cq);
	if (!vnet_cq_in_batch(cq))
		return;
	cq->kept = *cq->cur;
	cq->cur = &cq->kept;
}

/* Returns 0 or an errno value. The caller holds the lock. */
static int resize_locked(struct vnet_cq *cq, int cqe)
{
	struct vnet_resize_cq_reply reply = {};
	struct ibv_cq *ibcq = &cq->vcq.cq;
	struct ibv_resize_cq cmd = {};
	struct vnet_ring_map map;
	int ret;

	settle_batch(cq);
	ret = ibv_cmd_resize_cq(ibcq, cqe, &cmd, sizeof(cmd), &reply.ibv, sizeof(reply));
	if (ret)
		return ret;
	/*
	 * If this fails, the NIC writes to a ring that is not mapped here, and the CQ is unusable.
	 */
	ret = map_ring(&map, ibcq->context, &reply.vnet.cq);
	if (ret)
		return ret;

	vnet_ring_unmap(&cq->map);
	use_ring(cq, &map, reply.vnet.cq.entries);
	return 0;
}

int vnet_resize_cq(struct ibv_cq *ibcq, int cqe)
{
	struct vnet_cq *cq = to_vcq(ibcq);
	int ret;

	if (cqe <= 0)
		return EINVAL;
	vnet_lock(&cq->lock);
	ret = resize_locked(cq, cqe);
	vnet_unlock(&cq->lock);
	return ret;
}

int vnet_modify_cq(struct ibv_cq *ibcq, struct ibv_modify_cq_attr *attr)
{
	struct ibv_modify_cq cmd = {};

	return ibv_cmd_modify_cq(ibcq, attr, &cmd, sizeof(cmd));
}

int vnet_destroy_cq(struct ibv_cq *ibcq)
{
	struct vnet_context *ctx = to_vctx(ibcq->context);
	struct vnet_cq *cq = to_vcq(ibcq);
	int ret;

	/* Before the command: afterwards, the agent may give the ring's memory to another queue. */
	delist(ctx, cq);
	ret = ibv_cmd_destroy_cq(ibcq);
	if (ret) {
		enlist(ctx, cq);
		return ret;
	}
	vnet_ring_unmap(&cq->map);
	free(cq);
	return 0;
}

/* An event was read: the program knows that there are entries. */
void vnet_cq_event(struct ibv_cq *ibcq)
{
	__atomic_store_n(&to_vcq(ibcq)->seen_empty, false, __ATOMIC_RELAXED);
}

/*
 * If the CQ has an unpolled entry that no event has announced, make an event now. By the
 * specification there is no event for entries made before arming, and the program has to poll
 * again. But mlx5 compares its producer index with the consumer index given when arming, and
 * programs rely on that (UCX polls, arms and sleeps).
 *
 * An entry that the last event has announced makes no second event before it is polled. perftest
 * takes each event for a completion ("ib_send_lat -e" polls once for each, and sends), and a
 * further event would make it overrun its send queue.
 */
static void notify_unpolled(const struct vnet_cq *cq)
{
	const struct vnet_context *ctx = to_vctx(cq->vcq.cq.context);
	const struct vnet_cqe *cqe = &cq->slots[cq->cons & cq->mask];

	if (!ctx->gate.cq_doorbell || !__atomic_load_n(&cq->seen_empty, __ATOMIC_RELAXED))
		return;
	if (__atomic_load_n(&cqe->seq, __ATOMIC_RELAXED) == cq->cons + 1)
		ctx->gate.cq_doorbell(cq->cookie, cq->cqn);
}

/*
 * The full barrier pairs with the NIC's, which stores an entry's seq, executes a barrier, and then
 * reads `arm`. Either the NIC sees the CQ armed and makes an event, or the arming thread sees the
 * entry in the poll that has to follow.
 */
int vnet_req_notify_cq(struct ibv_cq *ibcq, int solicited_only)
{
	struct vnet_cq *cq = to_vcq(ibcq);
	uint32_t disarmed = VNET_CQ_DISARMED;

	vnet_lock(&cq->lock);
	cq->uses_events = true;
	/* Arming for solicited completions does not weaken an earlier arming for all. */
	if (solicited_only)
		__atomic_compare_exchange_n(&cq->ring->arm, &disarmed, VNET_CQ_ARM_SOLICITED, false,
					    __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
	else
		__atomic_exchange_n(&cq->ring->arm, VNET_CQ_ARM_NEXT, __ATOMIC_SEQ_CST);
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	/* Entries from this index on find the CQ armed. */
	cq->armed_at = __atomic_load_n(&cq->ring->prod, __ATOMIC_RELAXED);
	notify_unpolled(cq);
	vnet_unlock(&cq->lock);
	return 0;
}
