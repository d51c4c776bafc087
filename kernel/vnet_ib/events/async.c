// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Asynchronous events of queue pairs, completion queues and shared receive queues. */
#include "events.h"

static void vnet_deliver_qp(struct vnet_dev *dev, const struct nic_async *async)
{
	struct vnet_object *obj = vnet_object_get(&dev->qps, async->num % VNET_MAX_QP);
	struct ib_event event = { .device = &dev->ibdev, .event = async->event };
	struct ib_qp *ibqp;

	if (!obj)
		return;
	ibqp = &container_of(obj, struct vnet_qp, obj)->ibqp;
	event.element.qp = ibqp;
	if (ibqp->qp_num == async->num && ibqp->event_handler)
		ibqp->event_handler(&event, ibqp->qp_context);
	vnet_object_put(obj);
}

static void vnet_deliver_cq_error(struct vnet_dev *dev, const struct nic_async *async)
{
	struct vnet_object *obj = vnet_object_get(&dev->cqs, async->num - 1);
	struct ib_event event = { .device = &dev->ibdev, .event = async->event };
	struct ib_cq *ibcq;

	if (!obj)
		return;
	ibcq = &container_of(obj, struct vnet_cq, obj)->ibcq;
	event.element.cq = ibcq;
	if (ibcq->event_handler)
		ibcq->event_handler(&event, ibcq->cq_context);
	vnet_object_put(obj);
}

static void vnet_deliver_srq(struct vnet_dev *dev, const struct nic_async *async)
{
	struct vnet_object *obj =
		vnet_object_get(&dev->srqs, nic_srqn_index(&dev->agent.nic, async->num));
	struct ib_event event = { .device = &dev->ibdev, .event = async->event };
	struct ib_srq *ibsrq;

	if (!obj)
		return;
	ibsrq = &container_of(obj, struct vnet_srq, obj)->ibsrq;
	event.element.srq = ibsrq;
	if (vnet_srqn(ibsrq) == async->num && ibsrq->event_handler)
		ibsrq->event_handler(&event, ibsrq->srq_context);
	vnet_object_put(obj);
}

void vnet_async_deliver(struct vnet_dev *dev)
{
	struct nic_async async;

	while (nic_async_take(&dev->agent.nic, &async)) {
		if (async.kind == 'q')
			vnet_deliver_qp(dev, &async);
		else if (async.kind == 'c')
			vnet_deliver_cq_error(dev, &async);
		else
			vnet_deliver_srq(dev, &async);
	}
}
