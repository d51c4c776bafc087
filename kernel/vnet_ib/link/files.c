// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The sysfs folder /sys/class/infiniband/DEVICE/link: keys, transport settings, number of NICs.
 * Keys can be written, but not read.
 */
#include <linux/inet.h>

#include "layers.h"
#include "nic_settings.h"

/* ------------------------------------------------------------------- networks */

/* Parse ADDRESS or ADDRESS/BITS of `length` characters, IPv4 or IPv6. */
static int vnet_network_parse(struct vnet_network *network, const char *text, size_t length)
{
	const char *end = text + length, *slash = memchr(text, '/', length);
	const char *stop = slash ?: end;
	struct in6_addr address;
	u32 first = 96, bits;
	char digits[4] = {};
	__be32 ip;

	if (in4_pton(text, stop - text, (u8 *)&ip, -1, NULL)) {
		ipv6_addr_set_v4mapped(ip, &address);
	} else {
		first = 0;
		if (!in6_pton(text, stop - text, address.s6_addr, -1, NULL))
			return -EINVAL;
	}
	bits = 128 - first;
	if (slash) {
		if (end - slash < 2 || end - slash > sizeof(digits))
			return -EINVAL;
		memcpy(digits, slash + 1, end - slash - 1);
		if (kstrtou32(digits, 10, &bits) || bits > 128 - first)
			return -EINVAL;
	}
	network->bits = first + bits;
	ipv6_addr_prefix(&network->ip, &address, network->bits);
	return 0;
}

/* ------------------------------------------------------------------------ keys */

/* The group of all peers, for files that take no network. */
static const struct vnet_network vnet_any_network;

bool vnet_may_configure(const struct vnet_dev *dev)
{
	return ns_capable(dev_net(dev->netdev)->user_ns, CAP_NET_ADMIN);
}

/* Returns NULL if the caller may not configure the network. */
static struct vnet_link *vnet_link_of(struct device *device)
{
	struct vnet_dev *dev = rdma_device_to_drv_device(device, struct vnet_dev, ibdev);

	return vnet_may_configure(dev) ? dev->link : NULL;
}

static ssize_t use_key_store(struct device *device, struct device_attribute *attribute,
			     const char *secret, size_t length)
{
	struct vnet_link *link = vnet_link_of(device);

	return link ? vnet_keys_add(link, &vnet_any_network, secret, length, false) ?: length :
		      -EPERM;
}
static DEVICE_ATTR_WO(use_key);

static ssize_t accept_key_store(struct device *device, struct device_attribute *attribute,
				const char *secret, size_t length)
{
	struct vnet_link *link = vnet_link_of(device);

	return link ? vnet_keys_add(link, &vnet_any_network, secret, length, true) ?: length :
		      -EPERM;
}
static DEVICE_ATTR_WO(accept_key);

static ssize_t forget_keys_store(struct device *device, struct device_attribute *attribute,
				 const char *what, size_t length)
{
	struct vnet_link *link = vnet_link_of(device);

	if (!link)
		return -EPERM;
	vnet_keys_forget_all(link);
	return length;
}
static DEVICE_ATTR_WO(forget_keys);

/* Parse a line with the network, then the key. */
static ssize_t vnet_group_key_store(struct vnet_link *link, const char *text, size_t length,
				    bool accept)
{
	const char *line = memchr(text, '\n', length);
	struct vnet_network peers;
	int err;

	if (!link)
		return -EPERM;
	err = line ? vnet_network_parse(&peers, text, line - text) : -EINVAL;
	if (!err)
		err = vnet_keys_add(link, &peers, line + 1, text + length - line - 1, accept);
	return err ?: length;
}

static ssize_t use_group_key_store(struct device *device, struct device_attribute *attribute,
				   const char *text, size_t length)
{
	return vnet_group_key_store(vnet_link_of(device), text, length, false);
}
static DEVICE_ATTR_WO(use_group_key);

static ssize_t accept_group_key_store(struct device *device, struct device_attribute *attribute,
				      const char *text, size_t length)
{
	return vnet_group_key_store(vnet_link_of(device), text, length, true);
}
static DEVICE_ATTR_WO(accept_group_key);

static ssize_t forget_group_store(struct device *device, struct device_attribute *attribute,
				  const char *text, size_t length)
{
	struct vnet_link *link = vnet_link_of(device);
	const char *line = memchr(text, '\n', length);
	struct vnet_network peers;
	int err;

	if (!link)
		return -EPERM;
	err = vnet_network_parse(&peers, text, line ? line - text : length) ?:
		      vnet_keys_forget(link, &peers);
	return err ?: length;
}
static DEVICE_ATTR_WO(forget_group);

/* -------------------------------------------------------------------- settings */

#define VNET_LEVELS ARRAY_SIZE(((struct nic_settings *)0)->weight)

struct vnet_setting {
	struct device_attribute file;
	u32 offset, least, most;
};

static struct nic_settings *vnet_settings_of(struct device *device)
{
	struct vnet_dev *dev = rdma_device_to_drv_device(device, struct vnet_dev, ibdev);

	return &dev->agent.nic.hdr->settings;
}

static u32 *vnet_setting_of(struct nic_settings *settings, const struct vnet_setting *setting)
{
	return (u32 *)((u8 *)settings + setting->offset);
}

static ssize_t vnet_setting_show(struct device *device, struct device_attribute *file, char *text)
{
	const struct vnet_setting *setting = container_of(file, struct vnet_setting, file);

	return sysfs_emit(text, "%u\n",
			  nic_load(vnet_setting_of(vnet_settings_of(device), setting)));
}

static ssize_t vnet_setting_store(struct device *device, struct device_attribute *file,
				  const char *text, size_t length)
{
	struct vnet_dev *dev = rdma_device_to_drv_device(device, struct vnet_dev, ibdev);
	const struct vnet_setting *setting = container_of(file, struct vnet_setting, file);
	struct nic_settings *settings = vnet_settings_of(device), wanted;
	int err;
	u32 value;

	if (!vnet_link_of(device))
		return -EPERM;
	err = kstrtou32(text, 0, &value);
	if (err)
		return err;
	if (value < setting->least || value > setting->most)
		return -EINVAL;
	mutex_lock(&dev->commands);
	wanted = *settings;
	*vnet_setting_of(&wanted, setting) = value;
	if (nic_settings_problem(&wanted))
		err = -EINVAL;
	else
		nic_store(vnet_setting_of(settings, setting), value);
	mutex_unlock(&dev->commands);
	return err ?: length;
}

#define VNET_SETTING(field, least, most)                                                           \
	static struct vnet_setting vnet_setting_##field = {                                        \
		__ATTR(field, 0644, vnet_setting_show, vnet_setting_store),                        \
		offsetof(struct nic_settings, field),                                              \
		least,                                                                             \
		most,                                                                              \
	};
NIC_SETTINGS(VNET_SETTING)

static ssize_t weight_show(struct device *device, struct device_attribute *file, char *text)
{
	const u8 *weight = vnet_settings_of(device)->weight;
	ssize_t length = 0;
	u32 i;

	/* A weight that was never set is 0, and counts as 1. */
	for (i = 0; i < VNET_LEVELS; i++)
		length += sysfs_emit_at(text, length, "%u%c", nic_load(&weight[i]) ?: 1,
					i + 1 < VNET_LEVELS ? ' ' : '\n');
	return length;
}

/* "LEVEL WEIGHT" */
static ssize_t weight_store(struct device *device, struct device_attribute *file, const char *text,
			    size_t length)
{
	u64 level, weight;
	char more;

	if (!vnet_link_of(device))
		return -EPERM;
	if (sscanf(text, "%llu %llu %c", &level, &weight, &more) != 2 || level >= VNET_LEVELS ||
	    weight < 1 || weight > U8_MAX)
		return -EINVAL;
	nic_store(&vnet_settings_of(device)->weight[level], weight);
	return length;
}
static DEVICE_ATTR_RW(weight);

/* ------------------------------------------------------------------------ rows */

/* Rows ever used: the other NICs that this device has called or accepted. */
static ssize_t rows_show(struct device *device, struct device_attribute *file, char *text)
{
	struct vnet_dev *dev = rdma_device_to_drv_device(device, struct vnet_dev, ibdev);

	return sysfs_emit(text, "%u\n", nic_load(&dev->agent.nic.hdr->row_high));
}
static DEVICE_ATTR_RO(rows);

/* ---------------------------------------------------------------------- folder */

#define VNET_SETTING_ATTRIBUTE(field, least, most) &vnet_setting_##field.file.attr,

static struct attribute *vnet_link_attributes[] = {
	/* clang-format off */
	&dev_attr_use_key.attr,
	&dev_attr_accept_key.attr,
	&dev_attr_forget_keys.attr,
	&dev_attr_use_group_key.attr,
	&dev_attr_accept_group_key.attr,
	&dev_attr_forget_group.attr,
	NIC_SETTINGS(VNET_SETTING_ATTRIBUTE)
	&dev_attr_weight.attr,
	&dev_attr_rows.attr,
	NULL,
	/* clang-format on */
};

const struct attribute_group vnet_link_group = {
	.name = "link",
	.attrs = vnet_link_attributes,
};
