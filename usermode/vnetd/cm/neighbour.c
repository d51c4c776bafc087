// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Neighbours: nodes of other users or runtime directories that share this host's addresses. For
 * rdma_cm, an address of the host means the program's own node. If no id listens there, the
 * program may have meant a neighbour.
 */
#include <inttypes.h>
#include <netinet/in.h>
#include <stdio.h>

#include "inside.h"

static const u8 localhost[16] = { [10] = 0xff, [11] = 0xff, 127, 0, 0, 1 };
static const u8 localhost6[16] = { [15] = 1 };

/* Whether several nodes of this host may use the address. */
static bool is_shared(struct daemon *daemon, const u8 *gid)
{
	u8 index;

	if (cm_gid_is_localhost(gid))
		return true;
	return cm_gid_is_machines(gid) &&
	       (cm_gid_device(daemon, gid, &index) || !cm_gid_is_published(daemon, gid));
}

/* Whether a neighbour has 127.0.0.1, and so receives frames for the host's addresses. */
static bool has_first(struct daemon *daemon)
{
	u8 index;

	return !daemon->options.listen && !cm_gid_device(daemon, localhost, &index) &&
	       !cm_gid_is_published(daemon, localhost) && cm_gid_is_taken(daemon, localhost);
}

static bool has_given_key(const struct device *device)
{
	const struct link_memory *memory = device->host.link.memory;
	union link_address first = { .in = { .sin_family = AF_INET } };

	first.in.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	return memory && link_has_given_key(memory, &first);
}

static bool has_local_listener(const struct cm_id *id, const struct device *device)
{
	u64 service_id = cm_service_id(id, &id->dst);

	return cm_port_owner(id->cm, CM_ID_LISTEN, service_id, &id->dst, device) ||
	       cm_port_owner(id->cm, CM_ID_BOUND, service_id, &id->dst, device);
}

bool cm_neighbour_serves(const struct cm_id *id, const struct device *device)
{
	struct daemon *daemon = id->cm->daemon;
	u8 gid[16];

	if (!has_given_key(device))
		return false;
	cm_address_gid(&id->dst, gid);
	/* ::1 is never a GID. */
	if (!memcmp(gid, localhost6, sizeof(gid)))
		return false;
	return is_shared(daemon, gid) && !has_local_listener(id, device) && has_first(daemon);
}

/* Finds a neighbour's address: a UDP socket at the link's port in the kernel's list. */
static bool find(struct daemon *daemon, u8 *gid)
{
	FILE *list = fopen("/proc/net/udp", "re");
	bool found = false;
	char line[256];

	while (list && !found && fgets(line, sizeof(line), list)) {
		union cm_address address = { .in = { .sin_family = AF_INET } };
		u32 ip, port;
		u8 index;

		if (sscanf(line, "%*u: %8" SCNx32 ":%4" SCNx32, &ip, &port) != 2 ||
		    port != daemon->options.port || !ip)
			continue;
		address.in.sin_addr.s_addr = ip;
		cm_address_gid(&address, gid);
		found = !cm_gid_device(daemon, gid, &index) && !cm_gid_is_published(daemon, gid);
	}
	if (list)
		fclose(list);
	return found;
}

void cm_neighbour_report(struct cm *cm, const struct cm_arrival *arrival,
			 const union cm_address *dst)
{
	struct link_memory *memory = arrival->device->host.link.memory;
	u8 gid[16], index;

	if (!memory || !cm_gid_device(cm->daemon, arrival->sgid, &index))
		return;
	cm_address_gid(dst, gid);
	if (is_shared(cm->daemon, gid) && find(cm->daemon, gid))
		link_refused(memory, gid, LINK_ELSEWHERE);
}
