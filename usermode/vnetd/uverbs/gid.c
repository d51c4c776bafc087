// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Queries of the port's GID table. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "ioctl.h"
#include "objects.h"

bool uv_gid_valid(const struct device *device, u32 index)
{
	return index < device->gids_shown && index < NIC_MAX_GIDS &&
	       !gid_is_none(device->gid[index]);
}

static void fill_entry(const struct device *device, u32 index, struct ib_uverbs_gid_entry *entry)
{
	*entry = (struct ib_uverbs_gid_entry){
		.gid_index = index,
		.port_num = 1,
		.gid_type = device->lid ? IB_UVERBS_GID_TYPE_IB : IB_UVERBS_GID_TYPE_ROCE_V2,
		.netdev_ifindex = device->lid ? 0 : device->gid_ifindex[index],
	};
	memcpy(entry->gid, device->gid[index], sizeof(entry->gid));
}

/*
 * Writes the valid GIDs as entries of entry_size bytes, which may differ from the size known
 * here. Returns the number of entries.
 */
static u32 fill_table(const struct device *device, u8 *table, u64 entry_size)
{
	size_t known = sizeof(struct ib_uverbs_gid_entry);
	struct ib_uverbs_gid_entry entry;
	u32 i, n = 0;

	if (entry_size < known)
		known = entry_size;
	for (i = 0; i < device->gids_shown; i++) {
		if (!uv_gid_valid(device, i))
			continue;
		fill_entry(device, i, &entry);
		memcpy(table + n++ * entry_size, &entry, known);
	}
	return n;
}

int uv_ioctl_query_gid_table(struct uv_request *req)
{
	u32 room = uv_attr_length(req, UVERBS_ATTR_QUERY_GID_TABLE_RESP_ENTRIES);
	u32 count = req->device->gids_shown;
	u64 entry_size, total;
	u32 flags;
	u8 *table;
	int err;

	err = uv_attr_flags(req, UVERBS_ATTR_QUERY_GID_TABLE_FLAGS, 0, &flags);
	if (!err)
		err = uv_attr_const(req, UVERBS_ATTR_QUERY_GID_TABLE_ENTRY_SIZE, ~0ull,
				    &entry_size);
	if (err)
		return err;
	if (!entry_size || !room || room % entry_size || !req->ctx->open || count > NIC_MAX_GIDS ||
	    room / entry_size < count)
		return -EINVAL;
	table = calloc(1, room);
	if (!table)
		return -ENOMEM;
	total = fill_table(req->device, table, entry_size);
	err = uv_attr_put(req, UVERBS_ATTR_QUERY_GID_TABLE_RESP_ENTRIES, table, total * entry_size);
	if (!err)
		err = uv_attr_put(req, UVERBS_ATTR_QUERY_GID_TABLE_RESP_NUM_ENTRIES, &total,
				  sizeof(total));
	free(table);
	return err;
}

int uv_ioctl_query_gid_entry(struct uv_request *req)
{
	struct ib_uverbs_gid_entry entry;
	u64 port, index;
	u32 flags;
	int err;

	err = uv_attr_flags(req, UVERBS_ATTR_QUERY_GID_ENTRY_FLAGS, 0, &flags);
	if (!err)
		err = uv_attr_const(req, UVERBS_ATTR_QUERY_GID_ENTRY_PORT, 0xffffffff, &port);
	if (!err)
		err = uv_attr_const(req, UVERBS_ATTR_QUERY_GID_ENTRY_GID_INDEX, 0xffffffff, &index);
	if (err)
		return err;
	if (!req->ctx->open || port != 1 || index >= NIC_MAX_GIDS)
		return -EINVAL;
	if (!uv_gid_valid(req->device, (u32)index))
		return -ENODATA;
	fill_entry(req->device, (u32)index, &entry);
	return uv_attr_put_or_zero(req, UVERBS_ATTR_QUERY_GID_ENTRY_RESP_ENTRY, &entry,
				   sizeof(entry));
}
