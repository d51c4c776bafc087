// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Attaches queue pairs to multicast groups and detaches them. */
#include <errno.h>

#include "address/address.h"
#include "link/link.h"
#include "objects.h"

static struct uv_qp *find_qp(struct uv_request *req, u32 handle)
{
	return UV_CAST(struct uv_qp, uv_object_read(req, UVERBS_OBJECT_QP, handle));
}

/* Whether the LID can be a group's (IB vol 1, 4.1.3). It is ignored on Ethernet. */
static bool is_group(const struct device *device, u16 mlid)
{
	return !device->lid || (mlid > NIC_LID_LAST && mlid != NIC_LID_PERMISSIVE);
}

int uv_attach_mcast(struct uv_request *req)
{
	struct ib_uverbs_attach_mcast cmd;
	enum nic_result result;
	struct uv_qp *qp;
	int err;

	err = uv_get(req, &cmd, sizeof(cmd));
	if (err)
		return err;
	qp = find_qp(req, cmd.qp_handle);
	if (!qp || !is_group(req->device, cmd.mlid))
		return -EINVAL;
	result = nic_mcast_attach(&req->device->nic, qp->params.qpn, cmd.gid);
	/* Senders to the group must know this NIC. */
	discover_peers(req->device);
	/* Attached already. */
	if (result == NIC_EINUSE)
		return 0;
	if (result == NIC_OK)
		qp->groups++;
	return uv_result(result);
}

int uv_detach_mcast(struct uv_request *req)
{
	struct ib_uverbs_detach_mcast cmd;
	enum nic_result result;
	struct uv_qp *qp;
	int err;

	err = uv_get(req, &cmd, sizeof(cmd));
	if (err)
		return err;
	qp = find_qp(req, cmd.qp_handle);
	if (!qp || !is_group(req->device, cmd.mlid))
		return -EINVAL;
	result = nic_mcast_detach(&req->device->nic, qp->params.qpn, cmd.gid);
	if (result == NIC_OK && qp->groups)
		qp->groups--;
	return uv_result(result);
}
