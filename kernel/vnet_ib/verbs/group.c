// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Multicast attachment and XRC domains. */
#include "doorbells/doorbells.h"
#include "inside.h"

int vnet_attach_mcast(struct ib_qp *ibqp, union ib_gid *gid, u16 lid)
{
	struct vnet_dev *dev = to_vdev(ibqp->device);
	bool limited = ibqp->uobject && vnet_has_quota();
	enum nic_result result = NIC_ENOMEM;

	mutex_lock(&dev->commands);
	if (!limited || vnet_may_join(dev))
		result = vnet_command(dev,
				      nic_mcast_attach(&dev->agent.nic, ibqp->qp_num, gid->raw));
	mutex_unlock(&dev->commands);
	/* Attaching twice is no error, as on other devices. */
	return result == NIC_EINUSE ? 0 : vnet_errno(result);
}

int vnet_detach_mcast(struct ib_qp *ibqp, union ib_gid *gid, u16 lid)
{
	struct vnet_dev *dev = to_vdev(ibqp->device);
	enum nic_result result;

	mutex_lock(&dev->commands);
	result = vnet_command(dev, nic_mcast_detach(&dev->agent.nic, ibqp->qp_num, gid->raw));
	mutex_unlock(&dev->commands);
	return vnet_errno(result);
}

int vnet_alloc_xrcd(struct ib_xrcd *ibxrcd, struct ib_udata *udata)
{
	return vnet_number_get(&to_vdev(ibxrcd->device)->xrcds,
			       &container_of(ibxrcd, struct vnet_xrcd, ibxrcd)->obj);
}

int vnet_dealloc_xrcd(struct ib_xrcd *ibxrcd, struct ib_udata *udata)
{
	vnet_number_end(&to_vdev(ibxrcd->device)->xrcds,
			&container_of(ibxrcd, struct vnet_xrcd, ibxrcd)->obj);
	return 0;
}
