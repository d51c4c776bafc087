// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The platform functions (plat_*) of the firmware that need no other room: names of rings, clock,
 * random bytes, wake-ups and turns. They work in any context.
 */
#include <linux/ktime.h>
#include <linux/random.h>
#include <linux/sched.h>
#include <linux/sched/signal.h>

#include "base.h"

DEFINE_SRCU(vnet_inside);
DEFINE_PER_CPU(u32, vnet_copied);

/*
 * Rings are named by their kernel addresses. Processes cannot write NIC memory, which contains
 * the names.
 */
void *plat_queue(struct nic *nic, u64 offset, u64 length)
{
	return (void *)(uintptr_t)offset;
}

u64 plat_clock(void)
{
	return ktime_get_ns();
}

bool plat_random(struct nic *nic, void *bytes, u32 length)
{
	/* vnet_link_make() has waited until the kernel's generator is seeded. */
	get_random_bytes(bytes, length);
	return true;
}

void plat_kick(struct nic *nic)
{
	const struct vnet_view *view = nic->host;
	struct vnet_dev *dev = view->dev;
	struct task_struct *task = READ_ONCE(dev->processor);

	atomic_set(&dev->kicked, 1);
	if (task)
		wake_up_process(task);
}

void plat_relax(void)
{
	cpu_relax();
}

/* false: the task is being killed or must not sleep. The NIC processor continues. */
bool plat_yield(struct nic *nic)
{
	const struct vnet_view *view = nic->host;

	if (!view->may_sleep)
		return false;
	vnet_leave();
	cond_resched();
	vnet_enter();
	return !fatal_signal_pending(current);
}
