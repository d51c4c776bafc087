/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Events: delivery of completion events and asynchronous events to the consumers of the
 * InfiniBand core. The firmware records events; they are delivered after it has returned.
 *
 * Calls base and queues. Takes no locks, but a reference of the object that an event is for;
 * handlers of consumers run without locks of the driver.
 */
#ifndef VNET_IB_EVENTS_H
#define VNET_IB_EVENTS_H

#include "queues/queues.h"

/* -------------------------------------------------------------- completion.c */

/* The list of CQs with events, and the irq_work. Called before the NIC processor starts. */
void vnet_completions_init(struct vnet_dev *dev);
/* Wait for the irq_work. Afterwards, nothing queues it. May sleep. */
void vnet_completions_stop(struct vnet_dev *dev);
/* Queue a CQ for the next delivery. Any context. */
void vnet_cq_ready(struct vnet_dev *dev, u32 index);
/*
 * Deliver the completion events of the calls of the firmware so far. Completion handlers are
 * called from here, so the caller holds no locks. Task context, or a softirq that has not
 * interrupted a consumer.
 */
void vnet_completions_deliver(struct vnet_dev *dev);
/* The same, by an irq_work. Any context. */
void vnet_completions_deliver_later(struct vnet_dev *dev);

/* ------------------------------------------------------------------- async.c */

/* Deliver the asynchronous events of objects. Called by the NIC processor. */
void vnet_async_deliver(struct vnet_dev *dev);

#endif /* VNET_IB_EVENTS_H */
