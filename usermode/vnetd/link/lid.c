// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Assignment of LIDs to InfiniBand ports, in place of a subnet manager. A NIC's LID is a hash of
 * its address. If another node of the user has that LID, the next one is tried. A LID is claimed
 * by an entry in the GID directory (gid_directory.c), under the GID that stands for the LID; the
 * first to create it has the LID.
 */
#include "daemon.h"
#include "lid.h"
#include "link.h"
#include "process/process.h"

#include <dirent.h>
#include <errno.h>
#include <string.h>

/* Limit of LIDs that are tried. Collisions are rare unless the directory has stale entries. */
#define ATTEMPTS 1024u

/* FNV-1a. */
static u32 hash(const void *data, size_t length)
{
	const u8 *bytes = data;
	u64 h = 0xcbf29ce484222325ull;

	while (length--)
		h = (h ^ *bytes++) * 0x100000001b3ull;
	return (u32)(h ^ h >> 32);
}

/* Returns the nth LID to try for this NIC. LIDs start after the subnet manager's. */
static u16 nth_lid(const struct nic_device *made, u32 n)
{
	const union link_address *own = &made->link_memory->own;
	u32 h;

	if (made->link.fd < 0)
		h = hash(made->device.node_guid, sizeof(made->device.node_guid));
	else
		h = hash(&own->nic, sizeof(own->nic));
	return (u16)(LID_FIRST_NODE + (h + n) % (NIC_LID_LAST - LID_FIRST_NODE + 1));
}

int lid_claim(struct nic_device *made)
{
	struct daemon *daemon = made->device.daemon;
	char text[LINK_ADDRESS_TEXT];
	u8 gid[16];

	if (made->link.fd < 0) {
		made->device.lid = nth_lid(made, 0);
		return 0;
	}
	link_address_text(&made->link_memory->own.nic, text);
	for (u32 n = 0; n < ATTEMPTS; n++) {
		u16 lid = nth_lid(made, n);
		int error;

		nic_lid_gid(lid, gid);
		error = link_gid_claim(daemon, gid, text);
		if (!error)
			made->device.lid = lid;
		if (error != -EEXIST)
			return error;
	}
	return failed(daemon, EADDRINUSE, "--link-layer infiniband: %s: no LID is free in %s",
		      made->device.name, daemon->gids_dir);
}

/* Looks among the node's own ports, which have no directory entries if they have no link. */
static bool find_own(struct daemon *daemon, const u8 *gid, struct lid_port *port)
{
	for (u32 d = 0; d < daemon->ndevices; d++) {
		const struct device *device = &daemon->device[d]->device;

		for (u32 i = 0; i < device->ngids; i++) {
			if (!device->lid || memcmp(device->gid[i], gid, 16) != 0)
				continue;
			port->lid = device->lid;
			memcpy(port->gid, device->gid[0], sizeof(port->gid));
			return true;
		}
	}
	return false;
}

static bool is_link_local(const u8 *gid)
{
	return gid[0] == 0xfe && gid[1] == 0x80;
}

bool lid_find(struct daemon *daemon, const u8 *gid, struct lid_port *port)
{
	char text[LINK_ADDRESS_TEXT];
	struct nic_address address;
	struct dirent *entry;
	DIR *dir;

	memset(port, 0, sizeof(*port));
	if (find_own(daemon, gid, port))
		return true;
	if (!plat_resolve(&daemon->device[0]->device.nic, gid, &address))
		return false;
	link_address_text(&address, text);
	dir = opendir(daemon->gids_dir);
	while (dir && (entry = readdir(dir))) {
		u8 other[16];

		if (!link_gid_parse(entry->d_name, other) || !link_gid_is_at(daemon, other, text))
			continue;
		if (nic_gid_lid(other))
			port->lid = nic_gid_lid(other);
		else if (is_link_local(other))
			memcpy(port->gid, other, sizeof(port->gid));
	}
	if (dir)
		closedir(dir);
	return port->lid;
}
