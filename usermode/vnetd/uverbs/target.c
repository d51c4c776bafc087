// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * XRC target queue pairs. A target belongs to an XRC domain and is shared by all that have opened
 * it; it is destroyed with the last of these.
 */
#include <errno.h>
#include <stdlib.h>

#include "objects.h"

/* The send queue is not used, but every queue pair of the NIC has one. */
#define ENTRIES 1

static int target_reserve(struct device *device, struct uv_target *target, struct uv_qp *qp)
{
	struct nic_qp_params *params = &target->params;
	int err;

	target->sq = uv_ring_get(device, params->sq_entries, params->sq_stride_shift);
	if (!target->sq)
		return -ENOMEM;
	params->sq_ring = target->sq->offset;
	err = uv_qpn_new(device, qp, &params->qpn);
	if (err)
		uv_heap_put(device, target->sq);
	return err;
}

/* Adds a queue pair object to the openers of a target. */
static void target_join(struct uv_target *target, struct uv_qp *qp)
{
	qp->target = target;
	qp->params = target->params;
	qp->next_opened = target->opened;
	target->opened = qp;
}

int uv_target_new(struct uv_request *req, struct uv_qp *qp)
{
	struct uv_target *target;
	int err;

	target = calloc(1, sizeof(*target));
	if (!target)
		return -ENOMEM;
	target->domain = qp->xrcd->domain;
	target->params = (struct nic_qp_params){
		.type = NIC_QPT_XRC_TGT,
		.sq_entries = ENTRIES,
		.sq_stride_shift = (u8)uv_send_stride_shift(0, 0),
		.xrcdn = (u16)target->domain->number,
		/* The target outlives its creator. */
		.space = NIC_SPACE_POINTER,
		.owner_pid = (u32)req->client->pid,
	};
	err = target_reserve(req->device, target, qp);
	if (err) {
		free(target);
		return err;
	}
	target_join(target, qp);
	return 0;
}

int uv_target_start(struct device *device, struct uv_target *target)
{
	int err;

	/* An existing target is opened once more. */
	if (target->live)
		return 0;
	err = uv_created(device, nic_qp_create(&device->nic, &target->params));
	if (err)
		return err;
	target->live = true;
	target->next = target->domain->targets;
	target->domain->targets = target;
	return 0;
}

int uv_target_open(struct uv_qp *qp, u32 qpn)
{
	struct uv_target *target;

	for (target = qp->xrcd->domain->targets; target; target = target->next)
		if (target->params.qpn == qpn)
			break;
	/* Its last opener is destroying it. */
	if (!target || target->opened->obj.dying)
		return -EINVAL;
	target_join(target, qp);
	return 0;
}

bool uv_target_is_shared(const struct uv_target *target)
{
	return target->opened->next_opened;
}

static void target_end(struct device *device, struct uv_target *target)
{
	struct uv_target **place;

	if (target->live) {
		for (place = &target->domain->targets; *place != target;)
			place = &(*place)->next;
		*place = target->next;
	}
	/* No process has mapped it. */
	uv_heap_put(device, target->sq);
	uv_qpn_end(device, target->params.qpn);
	free(target);
}

void uv_target_leave(struct uv_qp *qp)
{
	struct device *device = qp->obj.device;
	struct uv_target *target = qp->target;
	struct uv_qp **place;

	for (place = &target->opened; *place != qp;)
		place = &(*place)->next_opened;
	*place = qp->next_opened;
	if (target->opened)
		uv_number_own(&device->alloc->qp, nic_qpn_index(&device->nic, target->params.qpn),
			      target->opened);
	else
		target_end(device, target);
}
