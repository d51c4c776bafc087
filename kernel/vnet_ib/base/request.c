// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Commands of all kinds: reading of requests, results as errno, and who has quotas. */
#include "base.h"

int vnet_copy_request(void *req, size_t size, struct ib_udata *udata)
{
	if (udata->inlen > size && !ib_is_udata_cleared(udata, size, udata->inlen - size))
		return -EINVAL;
	return ib_copy_from_udata(req, udata, min(size, udata->inlen));
}

int vnet_errno(enum nic_result result)
{
	switch (result) {
	case NIC_OK:
		return 0;
	case NIC_EINUSE:
		return -EBUSY;
	case NIC_ENOMEM:
		return -ENOMEM;
	case NIC_EOPNOTSUPP:
		return -EOPNOTSUPP;
	case NIC_EAGAIN:
		return -EAGAIN;
	default:
		return -EINVAL;
	}
}

bool vnet_has_quota(void)
{
	return !ns_capable_noaudit(&init_user_ns, CAP_SYS_RESOURCE);
}
