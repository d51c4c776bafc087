// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Opens the device, and selects its port and GID. */
#include "am_device.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

static bool port_usable(struct ibv_context *context, int port, struct ibv_port_attr *attr)
{
	return !ibv_query_port(context, (uint8_t)port, attr) && attr->state == IBV_PORT_ACTIVE;
}

static int find_port(struct am_device *device, long wanted)
{
	for (int port = 1; port <= device->attr.phys_port_cnt; port++) {
		if (wanted && port != wanted)
			continue;
		if (!port_usable(device->context, port, &device->port_attr))
			continue;
		device->port = (uint8_t)port;
		return 0;
	}
	return ENODEV;
}

/*
 * Ranks GIDs. IPv4-mapped RoCE v2 addresses are best, because other nodes reach them most
 * likely; link-local addresses are the worst of RoCE v2. On InfiniBand, the first GID is
 * used.
 */
static int gid_rank(const struct ibv_gid_entry *entry)
{
	static const uint8_t v4mapped[12] = { [10] = 0xff, [11] = 0xff };

	if (entry->gid_type == IBV_GID_TYPE_ROCE_V1)
		return 1;
	if (entry->gid_type != IBV_GID_TYPE_ROCE_V2)
		return 2;
	if (!memcmp(entry->gid.raw, v4mapped, sizeof(v4mapped)))
		return 5;
	return entry->gid.raw[0] == 0xfe && (entry->gid.raw[1] & 0xc0) == 0x80 ? 3 : 4;
}

static int find_gid(struct am_device *device, long wanted)
{
	struct ibv_gid_entry entry;
	int best = 0;

	for (int i = 0; i < device->port_attr.gid_tbl_len; i++) {
		if (wanted >= 0 && i != wanted)
			continue;
		if (ibv_query_gid_ex(device->context, device->port, (uint32_t)i, &entry, 0))
			continue;
		if (gid_rank(&entry) <= best)
			continue;
		best = gid_rank(&entry);
		device->gid = entry.gid;
		device->gid_index = i;
	}
	return best ? 0 : EADDRNOTAVAIL;
}

/* Tries to open a device. Returns NULL, or the reason why it cannot be used. */
static const char *try_device(struct am_device *device, struct ibv_device *candidate,
			      const struct am_device_choice *choice)
{
	const char *why;

	device->context = ibv_open_device(candidate);
	if (!device->context)
		return "cannot be opened";
	why = "cannot be queried";
	if (ibv_query_device(device->context, &device->attr))
		goto close;
	why = "has no such active port";
	if (find_port(device, choice->port))
		goto close;
	why = "has no such GID";
	if (find_gid(device, choice->gid_index))
		goto close;
	why = "has no protection domain left";
	device->pd = ibv_alloc_pd(device->context);
	if (!device->pd)
		goto close;
	return NULL;
close:
	ibv_close_device(device->context);
	device->context = NULL;
	return why;
}

int am_device_open(struct am_device *device, const struct am_device_choice *choice)
{
	const char *why = NULL, *name = NULL;
	struct ibv_device **list;
	int n;

	memset(device, 0, sizeof(*device));
	list = ibv_get_device_list(&n);
	for (int i = 0; list && i < n && !device->pd; i++) {
		if (choice->device[0] && strcmp(choice->device, ibv_get_device_name(list[i])) != 0)
			continue;
		name = choice->device[0] ? choice->device : "a device";
		why = try_device(device, list[i], choice);
	}
	if (list)
		ibv_free_device_list(list);
	if (device->pd) {
		pthread_mutex_init(&device->region_lock, NULL);
		device->watch.fd = -1;
		device->max_regions = (unsigned int)choice->regions;
		device->keeps_none = !device->max_regions;
		return 0;
	}
	if (name)
		fprintf(stderr, "%s: %s %s\n", choice->who, name, why);
	else if (choice->device[0])
		fprintf(stderr, "%s: there is no verbs device %s\n", choice->who, choice->device);
	else
		fprintf(stderr, "%s: there is no verbs device\n", choice->who);
	return ENODEV;
}
