// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Completion events: CQs with events are queued on a list of the device, and the handlers of their
 * consumers are called after the firmware has returned.
 */
#include "events.h"

static void vnet_drained(void *arg)
{
}

void vnet_cq_ready(struct vnet_dev *dev, u32 index)
{
	struct vnet_object *obj = vnet_object_get(&dev->cqs, index);
	struct vnet_cq *cq;

	if (!obj)
		return;
	cq = container_of(obj, struct vnet_cq, obj);
	if (test_and_set_bit(VNET_CQ_QUEUED, &cq->state))
		vnet_object_put(obj);
	else
		llist_add(&cq->ready, &dev->ready);
}

/* Deliver all events of a CQ. Returns false if the firmware is busy with its channel. */
static bool vnet_deliver_events(struct vnet_dev *dev, struct vnet_cq *cq)
{
	enum nic_result result;
	u64 handle;

	if (test_and_clear_bit(VNET_CQ_LOOK, &cq->state) && cq->ibcq.comp_handler)
		cq->ibcq.comp_handler(&cq->ibcq, cq->ibcq.cq_context);
	for (;;) {
		result = nic_channel_take(&dev->agent.nic, cq->obj.index, &handle, vnet_drained,
					  NULL);
		if (result != NIC_OK)
			return result != NIC_BUSY;
		if (cq->ibcq.comp_handler)
			cq->ibcq.comp_handler(&cq->ibcq, cq->ibcq.cq_context);
	}
}

/*
 * Deliver the events of a CQ. Consumers expect that a handler does not run twice at the same
 * time: a caller that finds it running sets VNET_CQ_MORE, and the running caller repeats.
 * Returns false if the firmware is busy with the channel.
 */
static bool vnet_deliver_cq(struct vnet_dev *dev, struct vnet_cq *cq)
{
	bool done = true;

	set_bit(VNET_CQ_MORE, &cq->state);
	/* Pairs with the barriers below: of two concurrent callers, one sees the other's bit. */
	smp_mb__after_atomic();
	while (done && test_bit(VNET_CQ_MORE, &cq->state) &&
	       !test_and_set_bit_lock(VNET_CQ_DELIVERING, &cq->state)) {
		clear_bit(VNET_CQ_MORE, &cq->state);
		smp_mb__after_atomic();
		done = vnet_deliver_events(dev, cq);
		clear_bit_unlock(VNET_CQ_DELIVERING, &cq->state);
		smp_mb__after_atomic();
	}
	return done;
}

static void vnet_deliver_all(struct vnet_dev *dev)
{
	struct llist_node *list = llist_del_all(&dev->ready);
	struct vnet_cq *cq, *next;

	llist_for_each_entry_safe(cq, next, list, ready)
	{
		/* Before the events are taken, so that a later event queues the CQ again. */
		clear_bit(VNET_CQ_QUEUED, &cq->state);
		smp_mb__after_atomic();
		if (!vnet_deliver_cq(dev, cq) && !test_and_set_bit(VNET_CQ_QUEUED, &cq->state)) {
			/* The list keeps the reference. */
			llist_add(&cq->ready, &dev->ready);
			plat_kick(&dev->agent.nic);
			continue;
		}
		vnet_object_put(&cq->obj);
	}
}

void vnet_completions_deliver(struct vnet_dev *dev)
{
	if (likely(llist_empty(&dev->ready)))
		return;
	/* Handlers expect atomic context, as if called from an interrupt. */
	local_bh_disable();
	vnet_deliver_all(dev);
	local_bh_enable();
}

static void vnet_deliver_work(struct irq_work *work)
{
	vnet_deliver_all(container_of(work, struct vnet_dev, tell));
}

void vnet_completions_deliver_later(struct vnet_dev *dev)
{
	if (unlikely(!llist_empty(&dev->ready)))
		irq_work_queue(&dev->tell);
}

/* The channel of a CQ has the CQ's index. Events are delivered after the firmware has returned. */
void plat_channel_ready(struct nic *nic, u32 channel, bool first)
{
	const struct vnet_view *view = nic->host;

	/* The handler takes all events, so one call is enough. */
	if (first)
		vnet_cq_ready(view->dev, channel);
}

void vnet_completions_init(struct vnet_dev *dev)
{
	init_llist_head(&dev->ready);
	init_irq_work(&dev->tell, vnet_deliver_work);
}

void vnet_completions_stop(struct vnet_dev *dev)
{
	irq_work_sync(&dev->tell);
}
