// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The NIC processor: a thread that executes waiting requests and delivers events. It sleeps
 * until it is kicked, or, while requests are pending, until the next tick.
 */
#include <linux/kthread.h>
#include <linux/sched.h>
#include <linux/sched/signal.h>

#include "doorbells.h"
#include "events/events.h"
#include "pending/pending.h"

/*
 * How long doorbell pages are polled after the last doorbell, and the limit of that time, as
 * other work waits meanwhile.
 */
#define VNET_POLL_NS (50 * NSEC_PER_USEC)
#define VNET_POLL_MAX_NS NSEC_PER_MSEC

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
			vnet_deliver(dev);
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
		vnet_deliver(dev);
		vnet_async_deliver(dev);
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

	vnet_completions_init(dev);
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
	vnet_completions_stop(dev);
	WRITE_ONCE(dev->processor, NULL);
	if (task)
		kthread_stop(task);
}
