// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Completion queues: creation, resize and events. Kernel consumers poll in poll.c. */
#include <linux/log2.h>
#include <rdma/uverbs_ioctl.h>

#include "doorbells/doorbells.h"
#include "events/events.h"
#include "verbs.h"

#define VNET_CQE_SHIFT 7
#define VNET_LEAST_CQE 4u
static_assert(1 << VNET_CQE_SHIFT == VNET_CQE_SIZE);

static struct ib_ucontext *vnet_udata_context(struct ib_udata *udata)
{
	struct vnet_ucontext *uc;

	if (!udata)
		return NULL;
	uc = rdma_udata_to_drv_context(udata, struct vnet_ucontext, ibuc);
	return uc ? &uc->ibuc : NULL;
}

static int vnet_cq_flags(const struct ib_cq_init_attr *attr, struct ib_udata *udata, u32 *flags)
{
	struct vnet_create_cq_req req = {};
	int err;

	*flags = 0;
	if (attr->flags &
	    ~(IB_UVERBS_CQ_FLAGS_TIMESTAMP_COMPLETION | IB_UVERBS_CQ_FLAGS_IGNORE_OVERRUN))
		return -EOPNOTSUPP;
	if (!udata || !udata->inlen)
		return 0;
	err = vnet_copy_request(&req, sizeof(req), udata);
	if (err)
		return err;
	if (memchr_inv(req.reserved_20, 0, sizeof(req.reserved_20)))
		return -EINVAL;
	*flags = req.flags;
	return 0;
}

static int vnet_cq_respond(const struct vnet_cq *cq, struct ib_udata *udata)
{
	struct vnet_create_cq_resp resp = { .cqn = cq->obj.index + 1 };

	if (!udata)
		return 0;
	if (udata->outlen < sizeof(resp))
		return -EINVAL;
	vnet_ring_info(&cq->ring, &resp.cq);
	return ib_copy_to_udata(udata, &resp, sizeof(resp));
}

/* Create the firmware's CQ. The number and the ring have been assigned. */
static int vnet_cq_enter(struct vnet_dev *dev, struct vnet_cq *cq, u32 flags)
{
	struct nic_cq_params p = {
		.ring = vnet_ring_name(&cq->ring),
		.entries = cq->ring.entries,
		.flags = flags,
		.channel = cq->obj.index,
	};
	enum nic_result result;

	mutex_lock(&dev->commands);
	result = vnet_command(dev, nic_cq_create(&dev->agent.nic, cq->obj.index + 1, &p));
	mutex_unlock(&dev->commands);
	return vnet_errno(result);
}

static void vnet_cq_leave(struct vnet_dev *dev, struct vnet_cq *cq)
{
	enum nic_result result;
	u32 events;

	mutex_lock(&dev->commands);
	result = vnet_command(dev, nic_cq_destroy(&dev->agent.nic, cq->obj.index + 1, &events));
	mutex_unlock(&dev->commands);
	WARN_ON(result != NIC_OK);
	/* The list of ready CQs may hold a reference, for which vnet_number_end() will wait. */
	vnet_deliver_command(dev);
}

int vnet_create_cq(struct ib_cq *ibcq, const struct ib_cq_init_attr *attr,
		   vnet_create_cq_input *input)
{
	struct ib_udata *udata = vnet_create_cq_udata(input);
	struct ib_ucontext *ibuc = vnet_udata_context(udata);
	struct vnet_dev *dev = to_vdev(ibcq->device);
	struct vnet_cq *cq = to_vcq(ibcq);
	u32 flags, entries;
	int err;

	if (!attr->cqe || attr->cqe > VNET_MAX_CQE ||
	    attr->comp_vector >= ibcq->device->num_comp_vectors)
		return -EINVAL;
	err = vnet_cq_flags(attr, udata, &flags);
	if (err)
		return err;
	spin_lock_init(&cq->lock);
	cq->space = ibuc ? to_vuc(ibuc)->obj.index : VNET_SPACE_KERNEL;
	/*
	 * At least four entries. A program that asks for one, as on devices that round up, may
	 * have two for a moment: it posts the next request before it polls the last completion.
	 */
	entries = max_t(u32, roundup_pow_of_two(attr->cqe), VNET_LEAST_CQE);
	err = vnet_ring_make(&cq->ring, ibuc, entries, VNET_CQE_SHIFT);
	if (err)
		return err;
	err = vnet_number_get(&dev->cqs, &cq->obj);
	if (err)
		goto free_ring;
	err = vnet_cq_enter(dev, cq, flags);
	if (err)
		goto end_number;
	err = vnet_cq_respond(cq, udata);
	if (err)
		goto leave;
	ibcq->cqe = cq->ring.entries;
	return 0;

leave:
	vnet_cq_leave(dev, cq);
end_number:
	vnet_number_end(&dev->cqs, &cq->obj);
free_ring:
	vnet_ring_free(&cq->ring);
	return err;
}

/* ------------------------------------------------------------------ resize */

static void vnet_cq_arm(struct vnet_cq *cq, u32 arm)
{
	struct vnet_ring *ring = cq->ring.ring;

	lockdep_assert_held(&cq->lock);
	if (arm == VNET_CQ_ARM_NEXT || nic_load(&ring->arm) != VNET_CQ_ARM_NEXT)
		nic_store(&ring->arm, arm);
	/*
	 * Pairs with the firmware's full barrier between the store of a CQE and its look at
	 * `arm`.
	 */
	smp_mb();
}

static void vnet_cq_move_begin(struct vnet_cq *cq)
{
	spin_lock_irq(&cq->lock);
	cq->moving = true;
	cq->looked = false;
	cq->arm = 0;
	spin_unlock_irq(&cq->lock);
}

/* `other` is the new ring if it replaces the old one, else NULL. */
static void vnet_cq_move_end(struct vnet_cq *cq, struct vnet_ring_mem *other)
{
	bool tell;

	spin_lock_irq(&cq->lock);
	if (other)
		swap(*other, cq->ring);
	cq->moving = false;
	if (cq->arm)
		vnet_cq_arm(cq, cq->arm);
	tell = cq->looked && nic_load(&cq->ring.ring->arm);
	spin_unlock_irq(&cq->lock);
	if (!tell)
		return;
	set_bit(VNET_CQ_LOOK, &cq->state);
	vnet_cq_ready(to_vdev(cq->ibcq.device), cq->obj.index);
	vnet_deliver_command(to_vdev(cq->ibcq.device));
}

/*
 * Move all entries to the ring `other`: up to 128 MiB. So softirqs stay enabled: if the firmware
 * needs the lock of this CQ meanwhile, it finds it busy, as in a long copy. A kernel consumer
 * that polls meanwhile finds no entry; if it arms the CQ, its handler is called afterwards. The
 * caller holds dev->commands. On success, *other is the old ring.
 */
static enum nic_result vnet_cq_move(struct vnet_dev *dev, struct vnet_cq *cq,
				    struct vnet_ring_mem *other)
{
	enum nic_result result;

	lockdep_assert_held(&dev->commands);
	vnet_cq_move_begin(cq);
	result = nic_cq_resize(&dev->agent.nic, cq->obj.index + 1, vnet_ring_name(other),
			       other->entries);
	vnet_cq_move_end(cq, result == NIC_OK ? other : NULL);
	return result;
}

/* Move the entries to a new ring. The process maps it, and unmaps the old one. */
int vnet_resize_cq(struct ib_cq *ibcq, int cqe, struct ib_udata *udata)
{
	struct vnet_dev *dev = to_vdev(ibcq->device);
	struct vnet_cq *cq = to_vcq(ibcq);
	struct vnet_resize_cq_resp resp = {};
	struct vnet_ring_mem ring;
	enum nic_result result;
	int err;

	if (cqe < 1 || cqe > VNET_MAX_CQE || (udata && udata->outlen < sizeof(resp)))
		return -EINVAL;
	err = vnet_ring_make(&ring, vnet_udata_context(udata),
			     max_t(u32, roundup_pow_of_two(cqe), VNET_LEAST_CQE), VNET_CQE_SHIFT);
	if (err)
		return err;
	if (udata) {
		vnet_ring_info(&ring, &resp.cq);
		err = ib_copy_to_udata(udata, &resp, sizeof(resp));
		if (err)
			goto free_ring;
	}
	mutex_lock(&dev->commands);
	for (;;) {
		result = vnet_cq_move(dev, cq, &ring);
		if (result != NIC_BUSY)
			break;
		vnet_command_pause(dev);
	}
	mutex_unlock(&dev->commands);
	err = vnet_errno(result);
	if (!err)
		ibcq->cqe = cq->ring.entries;
free_ring:
	/* The old ring, or the new one if the resize failed. */
	vnet_ring_free(&ring);
	return err;
}

/* --------------------------------------------------------------------- events */

/* Delay completion events until there are `count` entries, or for `period` microseconds. */
int vnet_modify_cq(struct ib_cq *ibcq, u16 count, u16 period)
{
	struct vnet_dev *dev = to_vdev(ibcq->device);
	struct vnet_cq *cq = to_vcq(ibcq);
	enum nic_result result;

	mutex_lock(&dev->commands);
	result = vnet_command(dev,
			      nic_cq_moderate(&dev->agent.nic, cq->obj.index + 1, count, period));
	mutex_unlock(&dev->commands);
	return vnet_errno(result);
}

int vnet_destroy_cq(struct ib_cq *ibcq, struct ib_udata *udata)
{
	struct vnet_dev *dev = to_vdev(ibcq->device);
	struct vnet_cq *cq = to_vcq(ibcq);

	vnet_cq_leave(dev, cq);
	vnet_number_end(&dev->cqs, &cq->obj);
	/*
	 * The core polls a CQ of a kernel consumer in a softirq, which may still arm the CQ when
	 * ib_free_cq() has disabled it. Wait for that softirq.
	 */
	if (!cq->ring.offered)
		synchronize_rcu();
	vnet_ring_free(&cq->ring);
	return 0;
}

/* For kernel consumers. Processes arm their CQs in the ring. */
int vnet_req_notify_cq(struct ib_cq *ibcq, enum ib_cq_notify_flags flags)
{
	bool solicited = (flags & IB_CQ_SOLICITED_MASK) == IB_CQ_SOLICITED;
	struct vnet_cq *cq = to_vcq(ibcq);
	u32 arm = solicited ? VNET_CQ_ARM_SOLICITED : VNET_CQ_ARM_NEXT;
	unsigned long irq;
	int missed = 0;

	spin_lock_irqsave(&cq->lock, irq);
	if (unlikely(cq->moving)) {
		if (cq->arm != VNET_CQ_ARM_NEXT)
			cq->arm = arm;
		cq->looked = true;
	} else {
		vnet_cq_arm(cq, arm);
		if (flags & IB_CQ_REPORT_MISSED_EVENTS)
			missed = nic_load(&cq->ring.ring->prod) != cq->cons;
	}
	spin_unlock_irqrestore(&cq->lock, irq);
	return missed;
}
