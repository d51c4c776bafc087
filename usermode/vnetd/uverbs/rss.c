// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * RSS queue pairs, which spread Ethernet frames over the work queues of an indirection table.
 * They have a number but no queues: the NIC knows them by their flows only.
 */
#include <errno.h>
#include <string.h>

#include "objects.h"

#define HASH_TOEPLITZ 1

static bool reserved_is_zero(const struct vnet_create_qp_req *driver)
{
	u32 i;

	for (i = 0; i < sizeof(driver->reserved_50); i++)
		if (driver->reserved_50[i])
			return false;
	return true;
}

int uv_rss_get(struct uv_request *req, struct nic_rss *rss)
{
	struct vnet_create_qp_req driver;
	int err;

	err = uv_get_driver(req, &driver, sizeof(driver));
	if (err)
		return err;
	if (driver.flags || !reserved_is_zero(&driver))
		return -EINVAL;
	if (driver.rx_hash_function != HASH_TOEPLITZ || driver.rx_hash_fields & ~(u64)NIC_RSS_KNOWN)
		return -EOPNOTSUPP;
	if (driver.rx_hash_key_len != NIC_RSS_KEY)
		return -EINVAL;
	memset(rss, 0, sizeof(*rss));
	rss->fields = (u32)driver.rx_hash_fields;
	static_assert(sizeof(rss->key) == sizeof(driver.rx_hash_key), "a key");
	memcpy(rss->key, driver.rx_hash_key, sizeof(rss->key));
	return 0;
}

int uv_rss_new(struct uv_request *req, struct uv_qp *qp, struct uv_table *table,
	       const struct nic_rss *rss)
{
	struct device *device = req->device;
	u32 i;
	int err;

	qp->spread = uv_heap_get(device, sizeof(*rss));
	if (!qp->spread)
		return -ENOMEM;
	err = uv_qpn_new(device, qp, &qp->params.qpn);
	if (err) {
		uv_heap_put(device, qp->spread);
		return err;
	}
	qp->params.type = NIC_QPT_RAW_PACKET;
	qp->params.pdn = qp->pd->pdn;
	qp->rss = *rss;
	qp->rss.log_size = table->log_size;
	for (i = 0; i < 1u << table->log_size; i++)
		qp->rss.wqn[i] = table->wq[i]->params.qpn;
	qp->table = table;
	uv_use(&table->obj);
	uv_use(&qp->pd->obj);
	return 0;
}

int uv_rss_start(struct uv_qp *qp)
{
	return uv_result(nic_rss_create(&qp->obj.device->nic, qp->spread->offset, &qp->rss));
}

/*
 * Stops an RSS queue pair. Its flows are destroyed, but a process that has found one before may
 * still read the table: wait for a grace period.
 */
int uv_rss_stop(struct uv_qp *qp)
{
	struct nic *nic = &qp->obj.device->nic;

	if (!qp->leaves)
		qp->grace = nic_grace_begin(nic);
	qp->leaves = true;
	return nic_grace_over(nic, qp->grace, qp->pd->pdn) ? 0 : UV_PARK;
}

void uv_rss_release(struct uv_qp *qp)
{
	struct device *device = qp->obj.device;

	uv_heap_put(device, qp->spread);
	uv_qpn_end(device, qp->params.qpn);
	uv_unuse(&qp->table->obj);
	uv_unuse(&qp->pd->obj);
}
