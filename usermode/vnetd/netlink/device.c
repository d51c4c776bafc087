// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* NETLINK_RDMA commands about devices, ports, device files and counters. */
#include <errno.h>
#include <rdma/ib_user_mad.h>
#include <rdma/ib_user_verbs.h>
#include <string.h>

#include "daemon.h"
#include "link/lid.h"
#include "inside.h"
#include "uverbs/objects.h"

/* Values of enum rdma_node_type, ib_port_state, ib_port_phys_state. */
enum {
	NODE_CHANNEL_ADAPTER = 1,
	PORT_DOWN = 1,
	PORT_ACTIVE = 4,
	PHYS_DISABLED = 3,
	PHYS_LINK_UP = 5,
};

static u64 host_order(const u8 *bytes)
{
	u64 value = 0;

	for (u32 i = 0; i < sizeof(value); i++)
		value = value << 8 | bytes[i];
	return value;
}

/* ---------------------------------------------------------------- devices */

static int send_device(struct netlink_request *request, const struct device *device)
{
	struct netlink_message *message = &request->answer;

	netlink_answer(request, RDMA_NLDEV_CMD_GET, device);
	netlink_put_u32(message, RDMA_NLDEV_ATTR_PORT_INDEX, UV_PORTS);
	netlink_put_u64(message, RDMA_NLDEV_ATTR_CAP_FLAGS, UV_DEVICE_CAPS_EX);
	netlink_put_string(message, RDMA_NLDEV_ATTR_FW_VERSION, DEVICE_FW_VER);
	netlink_put_u64(message, RDMA_NLDEV_ATTR_NODE_GUID, host_order(device->node_guid));
	netlink_put_u64(message, RDMA_NLDEV_ATTR_SYS_IMAGE_GUID, host_order(device->node_guid));
	netlink_put_u8(message, RDMA_NLDEV_ATTR_DEV_NODE_TYPE, NODE_CHANNEL_ADAPTER);
	netlink_put_u8(message, RDMA_NLDEV_ATTR_DEV_DIM, 0);
	netlink_put_string(message, RDMA_NLDEV_ATTR_DEV_PROTOCOL, device->lid ? "ib" : "roce");
	return netlink_answer_end(request);
}

int netlink_get(struct netlink_request *request)
{
	const struct device *device;
	int error = 0;

	if (request->dump) {
		for (u32 i = 0; i < request->daemon->ndevices && !error; i++)
			error = send_device(request, &request->daemon->device[i]->device);
		return error;
	}
	device = netlink_device(request);
	return device ? send_device(request, device) : -EINVAL;
}

/* Attributes that only InfiniBand ports have. */
static void put_lids(struct netlink_message *message, const struct device *device)
{
	netlink_put_u64(message, RDMA_NLDEV_ATTR_CAP_FLAGS, device_cap_mask(device));
	netlink_put_u64(message, RDMA_NLDEV_ATTR_SUBNET_PREFIX, host_order(device->gid[0]));
	netlink_put_u32(message, RDMA_NLDEV_ATTR_LID, device->lid);
	netlink_put_u32(message, RDMA_NLDEV_ATTR_SM_LID, LID_SUBNET_MANAGER);
	netlink_put_u8(message, RDMA_NLDEV_ATTR_LMC, 0);
}

/* Reports the device's only port. A request that is no dump must name it. */
int netlink_port_get(struct netlink_request *request)
{
	struct device *device = netlink_device(request);
	struct netlink_message *message = &request->answer;
	bool up;
	u32 port;

	if (!device)
		return -EINVAL;
	if (!request->dump && (netlink_port(request, &port) || !port))
		return -EINVAL;
	up = nic_load(&device->nic.hdr->port_up);
	/* The kernel uses the type of CMD_GET in the answer to a single PORT_GET. */
	netlink_answer(request, request->dump ? RDMA_NLDEV_CMD_PORT_GET : RDMA_NLDEV_CMD_GET,
		       device);
	netlink_put_u32(message, RDMA_NLDEV_ATTR_PORT_INDEX, 1);
	if (device->lid)
		put_lids(message, device);
	netlink_put_u8(message, RDMA_NLDEV_ATTR_PORT_STATE, up ? PORT_ACTIVE : PORT_DOWN);
	netlink_put_u8(message, RDMA_NLDEV_ATTR_PORT_PHYS_STATE, up ? PHYS_LINK_UP : PHYS_DISABLED);
	if (!device->lid && device->gid_ifindex[0]) {
		netlink_put_u32(message, RDMA_NLDEV_ATTR_NDEV_INDEX, device->gid_ifindex[0]);
		netlink_put_string(message, RDMA_NLDEV_ATTR_NDEV_NAME,
				   nic_device(device)->gid_ndev[0]);
	}
	return netlink_answer_end(request);
}

int netlink_sys_get(struct netlink_request *request)
{
	struct netlink_message *message = &request->answer;

	netlink_answer(request, RDMA_NLDEV_CMD_SYS_GET, NULL);
	/* Shared by all network namespaces. */
	netlink_put_u8(message, RDMA_NLDEV_SYS_ATTR_NETNS_MODE, 1);
	/* The NIC accesses memory by virtual address: fork() does not change the parent's. */
	netlink_put_u8(message, RDMA_NLDEV_SYS_ATTR_COPY_ON_FORK, 1);
	return netlink_answer_end(request);
}

/* Encodes a device number in 64 bits, like the kernel's huge_encode_dev(). */
static u64 device_number(u64 major, u64 minor)
{
	return (minor & 0xff) | major << 8 | (minor & ~0xffull) << 12;
}

struct chardev {
	const char *name;
	u64 number;
	u64 abi;
};

/* Fills in the uverbs or umad file of a device. Returns false if it has none of this type. */
static bool device_chardev(const struct device *device, const char *type, char name[32],
			   struct chardev *chardev)
{
	u32 minor = device->minor;

	if (!strcmp(type, "umad") && device->lid) {
		minor = device->index;
		chardev->abi = IB_USER_MAD_ABI_VERSION;
	} else if (!strcmp(type, "uverbs")) {
		chardev->abi = VNET_UVERBS_ABI_VERSION;
	} else {
		return false;
	}
	snprintf(name, 32, "%s%u", type, device->minor - VNET_UVERBS_FIRST_MINOR);
	chardev->name = name;
	chardev->number = device_number(VNET_UVERBS_MAJOR, minor);
	return true;
}

int netlink_chardev_get(struct netlink_request *request)
{
	const struct nlattr *type = request->attr[RDMA_NLDEV_ATTR_CHARDEV_TYPE];
	struct device *device = netlink_device(request);
	struct netlink_message *message = &request->answer;
	struct chardev chardev = {
		.name = "rdma_cm",
		.number = device_number(VNET_RDMA_CM_MAJOR, VNET_RDMA_CM_MINOR),
		.abi = VNET_RDMA_CM_ABI_VERSION,
	};
	const char *wanted;
	char name[32];
	u32 port;

	if (!type || netlink_port(request, &port))
		return -EINVAL;
	if (!device && (port || netlink_has(request, RDMA_NLDEV_ATTR_DEV_INDEX)))
		return -EINVAL;
	wanted = (const char *)type + NLA_HDRLEN;
	if (device ? !device_chardev(device, wanted, name, &chardev) :
		     strcmp(wanted, "rdma_cm") != 0)
		return -EOPNOTSUPP;
	netlink_answer(request, RDMA_NLDEV_CMD_GET_CHARDEV, NULL);
	netlink_put_u64(message, RDMA_NLDEV_ATTR_CHARDEV, chardev.number);
	netlink_put_u64(message, RDMA_NLDEV_ATTR_CHARDEV_ABI, chardev.abi);
	netlink_put_string(message, RDMA_NLDEV_ATTR_CHARDEV_NAME, chardev.name);
	return netlink_answer_end(request);
}

/* --------------------------------------------------------------- counters */

static void put_counter(struct netlink_message *message, const char *name, u64 value)
{
	u32 entry = netlink_nest(message, RDMA_NLDEV_ATTR_STAT_HWCOUNTER_ENTRY);

	netlink_put_string(message, RDMA_NLDEV_ATTR_STAT_HWCOUNTER_ENTRY_NAME, name);
	netlink_put_u64(message, RDMA_NLDEV_ATTR_STAT_HWCOUNTER_ENTRY_VALUE, value);
	netlink_nest_end(message, entry);
}

/* Queue pairs have no bound counters: the mode is always "none". */
static int send_mode(struct netlink_request *request, const struct device *device)
{
	u32 port;

	if (netlink_has(request, RDMA_NLDEV_ATTR_STAT_COUNTER_ID))
		return -ENOENT;
	if (!device || netlink_port(request, &port) || !port ||
	    !netlink_has(request, RDMA_NLDEV_ATTR_STAT_MODE))
		return -EINVAL;
	netlink_answer(request, RDMA_NLDEV_CMD_STAT_GET, device);
	netlink_put_u32(&request->answer, RDMA_NLDEV_ATTR_PORT_INDEX, port);
	netlink_put_u32(&request->answer, RDMA_NLDEV_ATTR_STAT_MODE, RDMA_COUNTER_MODE_NONE);
	return netlink_answer_end(request);
}

/* Sends the counters of the port. */
static int send_counters(struct netlink_request *request, struct device *device)
{
	struct netlink_message *message = &request->answer;
	struct counter counters[MOST_COUNTERS];
	u32 port, table, count;

	if (!device || request->dump || netlink_port(request, &port) || !port)
		return -EINVAL;
	count = counters_read(device, counters);
	netlink_answer(request, RDMA_NLDEV_CMD_STAT_GET, device);
	netlink_put_u32(message, RDMA_NLDEV_ATTR_PORT_INDEX, port);
	table = netlink_nest(message, RDMA_NLDEV_ATTR_STAT_HWCOUNTERS | NLA_F_NESTED);
	for (u32 i = 0; i < count; i++)
		put_counter(message, counters[i].name, counters[i].value);
	netlink_nest_end(message, table);
	return netlink_answer_end(request);
}

int netlink_stat_get(struct netlink_request *request)
{
	struct device *device = netlink_device(request);

	if (!netlink_has(request, RDMA_NLDEV_ATTR_STAT_RES))
		return send_counters(request, device);
	switch (netlink_get_u32(request, RDMA_NLDEV_ATTR_STAT_RES)) {
	case RDMA_NLDEV_ATTR_RES_QP:
		if (request->dump)
			return device ? 0 : -EINVAL;
		return send_mode(request, device);
	case RDMA_NLDEV_ATTR_RES_MR:
		return netlink_stat_regions(request);
	default:
		return -EINVAL;
	}
}

/* Lists the port's counters. None of them is optional. */
int netlink_stat_status(struct netlink_request *request)
{
	struct device *device = netlink_device(request);
	struct netlink_message *message = &request->answer;
	struct counter counters[MOST_COUNTERS];
	u32 port, table, entry, count;

	if (!device || netlink_port(request, &port) || !port)
		return -EINVAL;
	count = counters_read(device, counters);
	netlink_answer(request, RDMA_NLDEV_CMD_STAT_GET_STATUS, device);
	netlink_put_u32(message, RDMA_NLDEV_ATTR_PORT_INDEX, port);
	table = netlink_nest(message, RDMA_NLDEV_ATTR_STAT_HWCOUNTERS | NLA_F_NESTED);
	for (u32 i = 0; i < count; i++) {
		entry = netlink_nest(message, RDMA_NLDEV_ATTR_STAT_HWCOUNTER_ENTRY);
		netlink_put_string(message, RDMA_NLDEV_ATTR_STAT_HWCOUNTER_ENTRY_NAME,
				   counters[i].name);
		netlink_put_u32(message, RDMA_NLDEV_ATTR_STAT_HWCOUNTER_INDEX, i);
		netlink_nest_end(message, entry);
	}
	netlink_nest_end(message, table);
	return netlink_answer_end(request);
}
