// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Peer discovery for multicast and Ethernet frames. A NIC sends copies of those to all NICs that it
 * knows, which are those that it has exchanged frames with. When a program joins a multicast group,
 * names one as a destination, or creates a raw packet queue pair or a flow, the NIC contacts all
 * NICs in the GID directory (gid_directory.c): the user's nodes and --peers. A NIC that starts
 * later does the same, and becomes known by that.
 */
#include <dirent.h>
#include <string.h>

#include "address/address.h"
#include "daemon.h"
#include "link.h"

#define MOST_PEERS 256u

struct peer {
	struct nic_address address;
	u8 gid[16];
};

/*
 * Adds a peer. A NIC has a directory entry for each of its GIDs; keep the smallest, so that the
 * choice is always the same. Returns the number of peers.
 */
static u32 add(struct peer *peers, u32 n, const struct nic_address *address, const u8 *gid)
{
	u32 i = 0;

	while (i < n && memcmp(&peers[i].address, address, sizeof(*address)) != 0)
		i++;
	if (i == MOST_PEERS)
		return n;
	if (i == n || memcmp(gid, peers[i].gid, 16) < 0) {
		peers[i].address = *address;
		memcpy(peers[i].gid, gid, 16);
	}
	return i == n ? n + 1 : n;
}

/* Whether frames of this port's link layer can use this GID. */
static bool is_of_port(const struct device *device, const u8 *gid)
{
	return !device->lid == !nic_gid_lid(gid);
}

void discover_peers(struct device *device)
{
	struct nic_device *made = container_of(device, struct nic_device, device);
	struct peer peers[MOST_PEERS];
	struct nic_address address;
	struct dirent *entry;
	u32 n = 0;
	DIR *dir;

	dir = made->link.fd < 0 ? NULL : opendir(device->daemon->gids_dir);
	while (dir && (entry = readdir(dir))) {
		u8 gid[16];

		if (link_gid_parse(entry->d_name, gid) && is_of_port(device, gid) &&
		    plat_resolve(&device->nic, gid, &address) &&
		    memcmp(&address, &made->link_memory->own.nic, sizeof(address)) != 0)
			n = add(peers, n, &address, gid);
	}
	if (dir)
		closedir(dir);
	for (u32 i = 0; i < n; i++)
		nic_peer_call(&device->nic, peers[i].gid);
}
