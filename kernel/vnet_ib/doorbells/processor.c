// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The NIC processor: a thread that executes waiting requests and delivers events. It sleeps
 * until it is kicked, or, while requests are pending, until the next tick.
 */
#include <linux/kthread.h>
#include <linux/sched.h>
#include <linux/sched/signal.h>

#include "link/link.h"
#include "pending/pending.h"
#include "requester/requester.h"

/*
 * How long doorbell pages are polled after the last doorbell, and the limit of that time, as
 * other work waits meanwhile.
 */
#define VNET_POLL_NS (50 * NSEC_PER_USEC)
#define VNET_POLL_MAX_NS NSEC_PER_MSEC

/* ------------------------------------------------------- completion events */

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
static bool vnet_tell_events(struct vnet_dev *dev, struct vnet_cq *cq)
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
 * time: a caller that finds it running sets VNET_CQ_NEWS, and the running caller repeats.
 * Returns false if the firmware is busy with the channel.
 */
static bool vnet_tell_cq(struct vnet_dev *dev, struct vnet_cq *cq)
{
	bool done = true;

	set_bit(VNET_CQ_NEWS, &cq->state);
	/* Pairs with the barriers below: of two concurrent callers, one sees the other's bit. */
	smp_mb__after_atomic();
	while (done && test_bit(VNET_CQ_NEWS, &cq->state) &&
	       !test_and_set_bit_lock(VNET_CQ_TELLING, &cq->state)) {
		clear_bit(VNET_CQ_NEWS, &cq->state);
		smp_mb__after_atomic();
		done = vnet_tell_events(dev, cq);
		clear_bit_unlock(VNET_CQ_TELLING, &cq->state);
		smp_mb__after_atomic();
	}
	return done;
}

static void vnet_tell_all(struct vnet_dev *dev)
{
	struct llist_node *list = llist_del_all(&dev->ready);
	struct vnet_cq *cq, *next;

	llist_for_each_entry_safe(cq, next, list, ready)
	{
		/* Before the events are taken, so that a later event queues the CQ again. */
		clear_bit(VNET_CQ_QUEUED, &cq->state);
		smp_mb__after_atomic();
		if (!vnet_tell_cq(dev, cq) && !test_and_set_bit(VNET_CQ_QUEUED, &cq->state)) {
			/* The list keeps the reference. */
			llist_add(&cq->ready, &dev->ready);
			plat_kick(&dev->agent.nic);
			continue;
		}
		vnet_object_put(&cq->obj);
	}
}

void vnet_tell(struct vnet_dev *dev)
{
	vnet_link_leave(&dev->agent);
	if (likely(llist_empty(&dev->ready)))
		return;
	/* Handlers expect atomic context, as if called from an interrupt. */
	local_bh_disable();
	vnet_tell_all(dev);
	local_bh_enable();
}

static void vnet_tell_work(struct irq_work *work)
{
	vnet_tell_all(container_of(work, struct vnet_dev, tell));
}

static void vnet_tell_soon(struct vnet_dev *dev)
{
	if (unlikely(!llist_empty(&dev->ready)))
		irq_work_queue(&dev->tell);
}

void vnet_tell_later(struct vnet_dev *dev)
{
	vnet_link_leave(&dev->kernel);
	vnet_tell_soon(dev);
}

void vnet_tell_command(struct vnet_dev *dev)
{
	vnet_link_leave(&dev->agent);
	vnet_tell_soon(dev);
}

/* ----------------------------------------------------- asynchronous events */

static void vnet_tell_qp(struct vnet_dev *dev, const struct nic_async *async)
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

static void vnet_tell_cq_error(struct vnet_dev *dev, const struct nic_async *async)
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

static void vnet_tell_srq(struct vnet_dev *dev, const struct nic_async *async)
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

static void vnet_tell_async(struct vnet_dev *dev)
{
	struct nic_async async;

	while (nic_async_take(&dev->agent.nic, &async)) {
		if (async.kind == 'q')
			vnet_tell_qp(dev, &async);
		else if (async.kind == 'c')
			vnet_tell_cq_error(dev, &async);
		else
			vnet_tell_srq(dev, &async);
	}
}

/* --------------------------------------------------------------- doorbells */

/*
 * Find a queue pair for a doorbell. The agent's view may run all queue pairs, others only those
 * of their own space.
 */
static struct nic_qp *vnet_qp_of(struct vnet_view *view, u32 qpn)
{
	struct nic *nic = &view->nic;
	struct nic_qp *qp = nic_find_qp(nic, qpn);

	if (!qp || (nic->space != NIC_SPACE_POINTER && nic_load(&qp->space) != nic->space))
		return NULL;
	return qp;
}

void vnet_run_turn(struct vnet_view *view, u32 qpn, u32 budget)
{
	struct nic_qp *qp = vnet_qp_of(view, qpn);

	if (likely(qp))
		nic_qp_run_turn(&view->nic, qp, budget);
}

void vnet_run_later(struct vnet_view *view, u32 qpn)
{
	struct nic_qp *qp = vnet_qp_of(view, qpn);

	if (qp)
		nic_pend_now(&view->nic, qp);
}

/* ---------------------------------------------------------------- the thread */

/* Sleep until there is work, or until `next` (ns) if requests are pending. */
static void vnet_processor_sleep(struct vnet_dev *dev, bool pending, u64 next)
{
	struct nic_header *hdr = dev->agent.nic.hdr;
	ktime_t until = ns_to_ktime(next);

	set_current_state(TASK_IDLE);
	nic_store(&hdr->processor_sleeps, pending ? NIC_DOZES : NIC_SLEEPS);
	/* Set the flag before the last check. Others set their bit before they read the flag. */
	smp_mb();
	if (vnet_doors_sleep(dev, true) || atomic_xchg(&dev->kicked, 0) ||
	    nic_load(&hdr->async_any) || (!pending && nic_has_work(&dev->agent.nic)) ||
	    !llist_empty(&dev->ready) || kthread_should_stop())
		goto awake;
	if (pending)
		schedule_hrtimeout(&until, HRTIMER_MODE_ABS);
	else
		schedule();
awake:
	__set_current_state(TASK_RUNNING);
	nic_store(&hdr->processor_sleeps, NIC_AWAKE);
	vnet_doors_sleep(dev, false);
}

/* Poll doorbell pages. A process that has rung by its page is likely to do so again soon. */
static void vnet_poll_doors(struct vnet_dev *dev)
{
	u64 end = plat_clock() + VNET_POLL_MAX_NS;
	u64 until = 0;

	do {
		if (vnet_doors_run(dev)) {
			vnet_tell(dev);
			until = min_t(u64, plat_clock() + VNET_POLL_NS, end);
		}
		cpu_relax();
		cond_resched();
	} while (until && plat_clock() < until && !kthread_should_stop());
}

/*
 * One round of the firmware over all pending work. Returns whether more is pending, with the
 * time of the next round in *next.
 */
static bool vnet_run(struct vnet_dev *dev, u64 *next)
{
	int idx = srcu_read_lock(&vnet_inside);
	bool pending;

	vnet_enter();
	pending = nic_run(&dev->agent.nic, nic_budget(&dev->agent.nic), next);
	vnet_leave();
	srcu_read_unlock(&vnet_inside, idx);
	return pending;
}

static int vnet_processor(void *arg)
{
	struct vnet_dev *dev = arg;
	u64 next = 0;
	bool pending;

	while (!kthread_should_stop()) {
		if (!list_empty(&dev->doors))
			vnet_poll_doors(dev);
		pending = vnet_run(dev, &next);
		vnet_tell(dev);
		vnet_tell_async(dev);
		/* Work that can continue at once does so after other tasks had their turn. */
		if (!pending || next > plat_clock())
			vnet_processor_sleep(dev, pending, next);
		cond_resched();
	}
	return 0;
}

int vnet_processor_start(struct vnet_dev *dev)
{
	struct task_struct *task;

	init_llist_head(&dev->ready);
	init_irq_work(&dev->tell, vnet_tell_work);
	task = kthread_create(vnet_processor, dev, "vnet_nic");
	if (IS_ERR(task))
		return PTR_ERR(task);
	WRITE_ONCE(dev->processor, task);
	wake_up_process(task);
	return 0;
}

void vnet_processor_stop(struct vnet_dev *dev)
{
	struct task_struct *task = dev->processor;

	/* The irq_work may kick the processor. */
	irq_work_sync(&dev->tell);
	WRITE_ONCE(dev->processor, NULL);
	if (task)
		kthread_stop(task);
}

/* ---------------------------------------------------------------- commands */

void vnet_command_pause(struct vnet_dev *dev)
{
	/*
	 * Another thread in the firmware may be copying for long. Let other commands continue. A
	 * command that was refused can be repeated as a whole.
	 */
	lockdep_assert_held(&dev->commands);
	mutex_unlock(&dev->commands);
	vnet_tell_command(dev);
	usleep_range(10, 50);
	mutex_lock(&dev->commands);
}

int vnet_errno(enum nic_result result)
{
	switch (result) {
	case NIC_OK:
		return 0;
	case NIC_EINUSE:
		return -EBUSY;
	case NIC_ENOMEM:
		return -ENOMEM;
	case NIC_EOPNOTSUPP:
		return -EOPNOTSUPP;
	case NIC_EAGAIN:
		return -EAGAIN;
	default:
		return -EINVAL;
	}
}
