// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Fault injection by sysfs files in /sys/class/infiniband/DEVICE/fault.
 *
 * Like "vnet fault" for devices of user mode:
 *
 *   event   write NAME or NAME:NUMBER to raise an asynchronous event. Numbers of queue pairs
 *           and work queues are those that programs see, numbers of completion queues and
 *           shared receive queues those of "rdma resource".
 *   starve  1: no message finds a receive, until 0 is written
 */
#include <linux/string.h>

#include "completion/event_names.h"
#include "device.h"
#include "doorbells/doorbells.h"
#include "link/link.h"

struct vnet_fault {
	const char *name;
	u8 event;
	char kind;
};

#define VNET_FAULT(name, event, kind) { name, event, kind },

static const struct vnet_fault vnet_faults[] = { NIC_EVENT_NAMES(VNET_FAULT) };

/* ------------------------------------------------------------------- numbers */

/* The firmware's number of an object if the resource tracker knows it by this id, else 0. */
static u32 vnet_cq_by_id(struct vnet_object *obj, u32 id)
{
	struct ib_cq *ibcq = &container_of(obj, struct vnet_cq, obj)->ibcq;

	return ibcq->res.id == id ? vnet_cqn(ibcq) : 0;
}

static u32 vnet_srq_by_id(struct vnet_object *obj, u32 id)
{
	struct ib_srq *ibsrq = &container_of(obj, struct vnet_srq, obj)->ibsrq;

	return ibsrq->res.id == id ? vnet_srqn(ibsrq) : 0;
}

/* The firmware's number of the object with this id; 0 if there is none. */
static u32 vnet_tracked(struct vnet_numbers *numbers, u32 id,
			u32 (*called)(struct vnet_object *obj, u32 id))
{
	struct vnet_object *obj;
	u32 i, found = 0;

	for (i = 0; i < numbers->pool.places && !found; i++) {
		obj = vnet_object_get(numbers, i);
		if (!obj)
			continue;
		found = called(obj, id);
		vnet_object_put(obj);
	}
	return found;
}

/* -------------------------------------------------------------------- events */

static void vnet_raise_device(struct vnet_dev *dev, u8 number)
{
	struct ib_event event = { .device = &dev->ibdev, .element.port_num = 1, .event = number };

	ib_dispatch_event(&event);
}

/* The firmware has one kind of object for both; the events of each are refused for the other. */
static bool vnet_is_work_queue(const struct nic *nic, u32 number)
{
	const struct nic_qp *qp = &nic->qp[number % VNET_MAX_QP];

	return nic_load(&qp->qpn) == number && nic_load(&qp->kind) == NIC_QPT_WQ;
}

static int vnet_raise_object(struct vnet_dev *dev, struct nic_async *async)
{
	struct nic *nic = &dev->agent.nic;
	enum nic_result result;

	if (async->kind == 'w' || async->kind == 'q') {
		if (vnet_is_work_queue(nic, async->num) != (async->kind == 'w'))
			return -EINVAL;
		async->kind = 'q';
	}
	if (async->kind == 'c')
		async->num = vnet_tracked(&dev->cqs, async->num, vnet_cq_by_id);
	else if (async->kind == 's')
		async->num = vnet_tracked(&dev->srqs, async->num, vnet_srq_by_id);
	mutex_lock(&dev->commands);
	result = vnet_command(dev, nic_async_raise(nic, async));
	mutex_unlock(&dev->commands);
	vnet_deliver(dev);
	plat_kick(nic);
	return vnet_errno(result);
}

/* `text` is NAME or NAME:NUMBER, and is modified. */
static int vnet_raise(struct vnet_dev *dev, char *text)
{
	char *number = strchr(text, ':');
	struct nic_async async = {};
	u32 i;

	if (number)
		*number++ = '\0';
	for (i = 0; i < ARRAY_SIZE(vnet_faults) && strcmp(text, vnet_faults[i].name); i++)
		;
	if (i == ARRAY_SIZE(vnet_faults))
		return -EINVAL;
	async.event = vnet_faults[i].event;
	async.kind = vnet_faults[i].kind;
	if ((async.kind == 'd') != !number)
		return -EINVAL;
	/* The core raises this event itself when addresses change, and ignores a driver's. */
	if (async.kind == 'd' && async.event == IB_EVENT_GID_CHANGE)
		return -EOPNOTSUPP;
	if (!number) {
		vnet_raise_device(dev, async.event);
		return 0;
	}
	return kstrtou32(number, 0, &async.num) ?: vnet_raise_object(dev, &async);
}

/* --------------------------------------------------------------------- files */

static ssize_t event_store(struct device *device, struct device_attribute *attribute,
			   const char *text, size_t length)
{
	struct vnet_dev *dev = rdma_device_to_drv_device(device, struct vnet_dev, ibdev);
	char name[48];
	int err;

	if (!vnet_may_configure(dev))
		return -EPERM;
	if (strscpy(name, text, sizeof(name)) < 0)
		return -EINVAL;
	/* Clients of the device may be unregistering. */
	if (!ib_device_try_get(&dev->ibdev))
		return -ENODEV;
	err = vnet_raise(dev, strim(name));
	ib_device_put(&dev->ibdev);
	return err ?: length;
}
static DEVICE_ATTR_WO(event);

static ssize_t starve_show(struct device *device, struct device_attribute *attribute, char *text)
{
	struct vnet_dev *dev = rdma_device_to_drv_device(device, struct vnet_dev, ibdev);

	return sysfs_emit(text, "%u\n", nic_load(&dev->agent.nic.hdr->starves));
}

static ssize_t starve_store(struct device *device, struct device_attribute *attribute,
			    const char *text, size_t length)
{
	struct vnet_dev *dev = rdma_device_to_drv_device(device, struct vnet_dev, ibdev);
	bool starves;
	int err;

	if (!vnet_may_configure(dev))
		return -EPERM;
	err = kstrtobool(text, &starves);
	if (err)
		return err;
	nic_starve(&dev->agent.nic, starves);
	/* Resume the senders that waited for a receive. */
	plat_kick(&dev->agent.nic);
	return length;
}
static DEVICE_ATTR_RW(starve);

static struct attribute *vnet_fault_attributes[] = {
	&dev_attr_event.attr,
	&dev_attr_starve.attr,
	NULL,
};

static const struct attribute_group vnet_fault_group = {
	.name = "fault",
	.attrs = vnet_fault_attributes,
};

void vnet_fault_create_files(struct vnet_dev *dev)
{
	/* The core creates only one attribute group of a driver. The link uses it. */
	if (sysfs_create_group(&dev->ibdev.dev.kobj, &vnet_fault_group))
		ibdev_warn(&dev->ibdev, "no faults can be asked for\n");
}
