// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Turns of send queues, what follows each call of the firmware, and the repetition of commands
 * that found it busy.
 */
#include <linux/delay.h>

#include "doorbells.h"
#include "events/events.h"
#include "link/link.h"
#include "pending/pending.h"
#include "requester/requester.h"

/* ------------------------------------------------------------------- turns */

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

/* ----------------------------------------------------------- after the call */

void vnet_deliver(struct vnet_dev *dev)
{
	vnet_link_flush(&dev->agent);
	vnet_completions_deliver(dev);
}

void vnet_deliver_later(struct vnet_dev *dev)
{
	vnet_link_flush(&dev->kernel);
	vnet_completions_deliver_later(dev);
}

void vnet_deliver_command(struct vnet_dev *dev)
{
	vnet_link_flush(&dev->agent);
	vnet_completions_deliver_later(dev);
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
	vnet_deliver_command(dev);
	usleep_range(10, 50);
	mutex_lock(&dev->commands);
}
