// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Records requests that are posted to a traced queue and have not been seen to complete. The record
 * behaves like the queue of an adapter, whose slots are free only after a completion was polled.
 */
#include <stdlib.h>
#include <string.h>

#include "trace.h"

/* Limit of records; the oldest are dropped. */
#define MOST (1u << 16)

void vnet_trace_queue_init(struct vnet_trace_queue *queue, uint32_t depth)
{
	uint32_t size = 16;

	memset(queue, 0, sizeof(*queue));
	/* Twice the depth: vnet frees its slots earlier, so that more requests may be posted. */
	while (size < MOST && size / 2 < depth)
		size *= 2;
	queue->wr = calloc(size, sizeof(*queue->wr));
	queue->size = queue->wr ? size : 0;
}

void vnet_trace_queue_fini(struct vnet_trace_queue *queue)
{
	free(queue->wr);
	memset(queue, 0, sizeof(*queue));
}

/* Returns how many signaled requests the queue has less. */
static uint32_t drop_oldest(struct vnet_trace_queue *queue)
{
	const struct vnet_trace_wr *wr = vnet_trace_queue_at(queue, queue->tail++);

	return wr->signaled && !wr->void_;
}

uint32_t vnet_trace_queue_push(struct vnet_trace_queue *queue, const struct vnet_trace_wr *wr)
{
	uint32_t before = queue->signaled;

	if (!queue->size)
		return 0;
	if (vnet_trace_queue_used(queue) == queue->size)
		queue->signaled -= drop_oldest(queue);
	*vnet_trace_queue_at(queue, queue->head++) = *wr;
	queue->signaled += wr->signaled;
	return queue->signaled - before;
}

uint32_t vnet_trace_queue_undo(struct vnet_trace_queue *queue, uint32_t at, uint32_t end)
{
	uint32_t i, signaled = 0;

	if (!queue->size)
		return 0;
	for (i = at; i != end; i++) {
		struct vnet_trace_wr *wr = vnet_trace_queue_at(queue, i);

		/* The record was dropped meanwhile. */
		if (i - queue->tail >= vnet_trace_queue_used(queue) || wr->void_)
			continue;
		wr->void_ = true;
		signaled += wr->signaled;
	}
	queue->signaled -= signaled;
	if (end == queue->head && at - queue->tail <= end - queue->tail)
		queue->head = at;
	return signaled;
}

/* Find the request of a completion: the first that matches. */
static bool find(const struct vnet_trace_queue *queue, uint64_t wr_id, bool failed, uint32_t *at)
{
	const struct vnet_trace_wr *wr;
	uint32_t i;

	for (i = queue->tail; i != queue->head; i++) {
		wr = vnet_trace_queue_at(queue, i);
		if (!wr->void_ && wr->wr_id == wr_id && (wr->signaled || failed)) {
			*at = i;
			return true;
		}
	}
	return false;
}

bool vnet_trace_queue_take(struct vnet_trace_queue *queue, uint64_t wr_id, bool failed,
			   struct vnet_trace_wr *wr, uint32_t *signaled,
			   uint32_t completed[VNET_TRACE_OPERATIONS])
{
	const struct vnet_trace_wr *old;
	uint32_t at;

	*signaled = 0;
	memset(completed, 0, VNET_TRACE_OPERATIONS * sizeof(completed[0]));
	if (!queue->size || !find(queue, wr_id, failed, &at))
		return false;
	*wr = *vnet_trace_queue_at(queue, at);
	while (queue->tail != at + 1) {
		old = vnet_trace_queue_at(queue, queue->tail++);
		if (old->void_)
			continue;
		*signaled += old->signaled;
		completed[old->operation]++;
	}
	queue->signaled -= *signaled;
	return true;
}

bool vnet_trace_queue_take_one(struct vnet_trace_queue *queue, uint64_t wr_id,
			       struct vnet_trace_wr *wr)
{
	struct vnet_trace_wr *old;
	uint32_t at;

	if (!queue->size || !find(queue, wr_id, true, &at))
		return false;
	old = vnet_trace_queue_at(queue, at);
	*wr = *old;
	old->void_ = true;
	queue->signaled -= old->signaled;
	while (vnet_trace_queue_used(queue) && vnet_trace_queue_at(queue, queue->tail)->void_)
		queue->tail++;
	return true;
}
