// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * RSS queue pairs, which spread Ethernet frames over the work queues of a table. The firmware
 * finds them by their flows.
 */
#include "doorbells/doorbells.h"
#include "inside.h"

static void vnet_rss_fill(struct nic_rss *rss, const struct ib_rwq_ind_table *ibtable)
{
	u32 i;

	rss->log_size = ibtable->log_ind_tbl_size;
	for (i = 0; i < 1u << rss->log_size; i++)
		rss->wqn[i] = ibtable->ind_tbl[i]->wq_num;
}

int vnet_rss_get(struct ib_rwq_ind_table *ibtable, struct ib_udata *udata, struct nic_rss *rss)
{
	struct vnet_create_qp_req req = {};
	int err;

	if (!udata)
		return -EINVAL;
	err = vnet_copy_request(&req, sizeof(req), udata);
	if (err)
		return err;
	if (req.flags || memchr_inv(req.reserved_50, 0, sizeof(req.reserved_50)))
		return -EINVAL;
	if (req.rx_hash_function != VNET_HASH_TOEPLITZ || req.rx_hash_fields & ~(u64)NIC_RSS_KNOWN)
		return -EOPNOTSUPP;
	if (req.rx_hash_key_len != NIC_RSS_KEY)
		return -EINVAL;
	static_assert(sizeof(rss->key) == sizeof(req.rx_hash_key));
	*rss = (struct nic_rss){ .fields = req.rx_hash_fields };
	memcpy(rss->key, req.rx_hash_key, sizeof(rss->key));
	vnet_rss_fill(rss, ibtable);
	return 0;
}

int vnet_rss_make(struct vnet_dev *dev, struct vnet_qp *qp, const struct nic_rss *rss)
{
	enum nic_result result;
	int err;

	/*
	 * Like a ring, it is freed after readers of vnet_inside, which find it by a flow, have
	 * left.
	 */
	err = vnet_shared_make(&qp->spread, NULL, sizeof(*rss));
	if (err)
		return err;
	mutex_lock(&dev->commands);
	result = vnet_command(dev,
			      nic_rss_create(&dev->agent.nic, vnet_ring_name(&qp->spread), rss));
	mutex_unlock(&dev->commands);
	if (result != NIC_OK)
		vnet_ring_free(&qp->spread);
	return vnet_errno(result);
}
