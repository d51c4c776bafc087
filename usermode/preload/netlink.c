// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The system would name the machine's own RDMA devices, and only those, in
 * answer to RDMA netlink. Where it knows no such protocol, libibverbs and
 * others look into sysfs.
 */
#define _GNU_SOURCE
#include <linux/netlink.h>

#include "real.h"
#include "settings.h"

INTERPOSED int socket(int domain, int type, int protocol)
{
	if (unlikely(domain == AF_NETLINK && protocol == NETLINK_RDMA) && !settings()->off)
		return (int)result(-EPROTONOSUPPORT);
	return real()->socket(domain, type, protocol);
}
