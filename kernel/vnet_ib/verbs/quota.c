// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Quotas of users in the tables of a device: peers of connections, and multicast memberships. Both
 * are counted in NIC memory when a user requests more, so there is no account to keep.
 */
#include "vn/handshake.h"
#include "address/address.h"
#include "inside.h"

/*
 * Whether the user's queue pair belongs to the caller. While dev->commands is held, a queue pair
 * in use by the firmware does not end.
 */
static bool vnet_qp_is_callers(struct vnet_dev *dev, u32 qpn)
{
	struct vnet_object *obj = xa_load(&dev->qps.xa, qpn % VNET_MAX_QP);

	return obj && uid_eq(container_of(obj, struct vnet_qp, obj)->user, current_uid());
}

bool vnet_may_connect(struct vnet_dev *dev, const struct vnet_qp *qp,
		      const struct nic_qp_attr *attr)
{
	struct nic *nic = &dev->agent.nic;
	const u8 *own_gid = nic->hdr->gid[attr->sgid_index % NIC_MAX_GIDS];
	u64 own = 0, all = 0;
	u32 i, row;

	static_assert(VNET_MAX_ROWS == 64, "a bit for each row");
	lockdep_assert_held(&dev->commands);
	if (nic_is_own_path(nic, attr))
		return true;
	for (i = nic_qp_next(nic, 0); i < VNET_MAX_QP; i = nic_qp_next(nic, i + 1)) {
		row = nic_load(&nic->qp[i].row);
		/* The queue pair's present row is given up. */
		if (row >= VNET_MAX_ROWS || !nic_load(&nic->qp[i].qpn) || i == qp->obj.index)
			continue;
		all |= BIT_ULL(row);
		if (!vnet_qp_is_callers(dev, i))
			continue;
		if (nic_row_is_between(&nic->row[row], attr->dgid, own_gid))
			return true;
		own |= BIT_ULL(row);
	}
	return vnet_in_quota(hweight64(own) + 1, hweight64(all) + 1, VNET_MAX_ROWS);
}

bool vnet_may_join(struct vnet_dev *dev)
{
	const struct nic_header *hdr = dev->agent.nic.hdr;
	u32 i, qpn, own = 0, all = 0;

	lockdep_assert_held(&dev->commands);
	for (i = 0; i < NIC_MAX_MEMBERS; i++) {
		qpn = nic_load(&hdr->member[i].qpn);
		all += !!qpn;
		own += qpn && vnet_qp_is_callers(dev, qpn);
	}
	return vnet_in_quota(own + 1, all + 1, NIC_MAX_MEMBERS);
}
