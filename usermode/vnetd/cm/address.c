// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * rdma_cm addresses (IPv4, IPv6, AF_IB), their GIDs, and the local device that has them. An AF_IB
 * address is the GID of an InfiniBand port. Every address of the host, also a loopback one,
 * belongs to the first device, unless it is the link address of another NIC, or a node of another
 * user is there.
 */
#include <arpa/inet.h>
#include <endian.h>
#include <errno.h>
#include <ifaddrs.h>
#include <limits.h>
#include <unistd.h>

#include "inside.h"
#include "daemon.h"

u32 cm_address_size(const union cm_address *address)
{
	switch (address->any.sa_family) {
	case AF_INET:
		return sizeof(address->in);
	case AF_INET6:
		return sizeof(address->in6);
	case CM_AF_IB:
		return sizeof(address->ib);
	default:
		return 0;
	}
}

bool cm_address_is_any(const union cm_address *address)
{
	static const u8 zero[16];

	switch (address->any.sa_family) {
	case AF_INET:
		return address->in.sin_addr.s_addr == 0;
	case AF_INET6:
		return IN6_IS_ADDR_UNSPECIFIED(&address->in6.sin6_addr);
	case CM_AF_IB:
		return !memcmp(address->ib.gid, zero, sizeof(zero));
	default:
		return false;
	}
}

bool cm_address_same(const union cm_address *a, const union cm_address *b)
{
	if (a->any.sa_family != b->any.sa_family)
		return false;
	switch (a->any.sa_family) {
	case AF_INET:
		return a->in.sin_addr.s_addr == b->in.sin_addr.s_addr;
	case AF_INET6:
		return IN6_ARE_ADDR_EQUAL(&a->in6.sin6_addr, &b->in6.sin6_addr);
	default:
		return !memcmp(a->ib.gid, b->ib.gid, sizeof(a->ib.gid));
	}
}

bool cm_address_is_multicast(const union cm_address *address)
{
	if (address->any.sa_family == AF_INET)
		return IN_MULTICAST(ntohl(address->in.sin_addr.s_addr));
	if (address->any.sa_family == CM_AF_IB)
		return address->ib.gid[0] == 0xff;
	return address->any.sa_family == AF_INET6 && IN6_IS_ADDR_MULTICAST(&address->in6.sin6_addr);
}

/* The last two bytes of a service id are the port. */
u16 cm_address_port(const union cm_address *address)
{
	switch (address->any.sa_family) {
	case AF_INET:
		return ntohs(address->in.sin_port);
	case AF_INET6:
		return ntohs(address->in6.sin6_port);
	case CM_AF_IB:
		return (u16)((address->ib.sid[6] & address->ib.sid_mask[6]) << 8 |
			     (address->ib.sid[7] & address->ib.sid_mask[7]));
	default:
		return 0;
	}
}

void cm_address_set_port(union cm_address *address, u16 port)
{
	switch (address->any.sa_family) {
	case AF_INET:
		address->in.sin_port = htons(port);
		break;
	case AF_INET6:
		address->in6.sin6_port = htons(port);
		break;
	case CM_AF_IB:
		address->ib.sid[6] = (u8)(port >> 8);
		address->ib.sid[7] = (u8)port;
		address->ib.sid_mask[6] = address->ib.sid_mask[7] = 0xff;
		break;
	default:
		break;
	}
}

bool cm_address_copy(union cm_address *to, const void *from, size_t room)
{
	union cm_address whole = { .storage = { 0 } };
	u32 size;

	memcpy(&whole, from, room < sizeof(whole) ? room : sizeof(whole));
	size = cm_address_size(&whole);
	memset(to, 0, sizeof(*to));
	if (!size || size > room)
		return false;
	memcpy(to, &whole, size);
	return true;
}

/* -------------------------------------------------------------------- GIDs */

void cm_address_of_port(const u8 *gid, u64 service_id, union cm_address *address)
{
	struct cm_address_ib *ib = &address->ib;

	memset(address, 0, sizeof(*address));
	ib->family = CM_AF_IB;
	ib->pkey = htons(CM_PKEY);
	memcpy(ib->gid, gid, sizeof(ib->gid));
	if (!service_id)
		return;
	service_id = htobe64(service_id);
	memcpy(ib->sid, &service_id, sizeof(ib->sid));
	memset(ib->sid_mask, 0xff, sizeof(ib->sid_mask));
}

void cm_address_gid(const union cm_address *address, u8 *gid)
{
	memset(gid, 0, 16);
	if (address->any.sa_family == AF_INET) {
		gid[10] = gid[11] = 0xff;
		memcpy(gid + 12, &address->in.sin_addr, 4);
	} else if (address->any.sa_family == AF_INET6) {
		memcpy(gid, &address->in6.sin6_addr, 16);
	} else if (address->any.sa_family == CM_AF_IB) {
		memcpy(gid, address->ib.gid, 16);
	}
}

static bool is_mapped(const u8 *gid)
{
	static const u8 prefix[12] = { [10] = 0xff, [11] = 0xff };

	return !memcmp(gid, prefix, sizeof(prefix));
}

void cm_address_of_gid(const u8 *gid, union cm_address *address)
{
	memset(address, 0, sizeof(*address));
	if (is_mapped(gid)) {
		address->in.sin_family = AF_INET;
		memcpy(&address->in.sin_addr, gid + 12, 4);
	} else {
		address->in6.sin6_family = AF_INET6;
		memcpy(&address->in6.sin6_addr, gid, 16);
	}
}

struct device *cm_gid_device(struct daemon *daemon, const u8 *gid, u8 *index)
{
	for (u32 d = 0; d < daemon->ndevices; d++) {
		struct device *device = &daemon->device[d]->device;

		for (u32 i = 0; i < device->ngids; i++) {
			if (memcmp(device->gid[i], gid, 16) != 0)
				continue;
			*index = (u8)i;
			return device;
		}
	}
	return NULL;
}

/* The first GID of the same address family, else GID 0. */
u8 cm_address_source(const struct device *device, const u8 *dgid)
{
	bool mapped = is_mapped(dgid);

	for (u32 i = 1; i < device->ngids; i++)
		if (is_mapped(device->gid[i]) == mapped && !gid_is_none(device->gid[i]))
			return (u8)i;
	return 0;
}

/* --------------------------------------------------------------- local addresses */

static bool is_loopback(const u8 *gid)
{
	static const u8 one[16] = { [15] = 1 };

	return is_mapped(gid) ? gid[12] == 127 : !memcmp(gid, one, sizeof(one));
}

bool cm_gid_is_machines(const u8 *gid)
{
	struct ifaddrs *list = NULL;
	bool found = false;

	if (getifaddrs(&list) < 0)
		return false;
	for (const struct ifaddrs *ifa = list; ifa && !found; ifa = ifa->ifa_next) {
		union cm_address address;
		u8 own[16];

		if (!ifa->ifa_addr ||
		    (ifa->ifa_addr->sa_family != AF_INET && ifa->ifa_addr->sa_family != AF_INET6))
			continue;
		memset(&address, 0, sizeof(address));
		memcpy(&address, ifa->ifa_addr,
		       ifa->ifa_addr->sa_family == AF_INET ? sizeof(address.in) :
							     sizeof(address.in6));
		cm_address_gid(&address, own);
		found = !memcmp(own, gid, sizeof(own));
	}
	freeifaddrs(list);
	return found;
}

bool cm_gid_is_published(const struct daemon *daemon, const u8 *gid)
{
	char path[PATH_MAX], name[LINK_GID_NAME], text[LINK_ADDRESS_TEXT];

	link_gid_name(gid, name);
	if (snprintf(path, sizeof(path), "%s/%s", daemon->gids_dir, name) >= (int)sizeof(path))
		return false;
	return readlink(path, text, sizeof(text)) > 0;
}

bool cm_gid_is_taken(const struct daemon *daemon, const u8 *gid)
{
	union cm_address address;
	bool taken;
	int sock;

	cm_address_of_gid(gid, &address);
	if (address.any.sa_family == AF_INET)
		address.in.sin_port = htons((u16)daemon->options.port);
	else
		address.in6.sin6_port = htons((u16)daemon->options.port);
	sock = socket(address.any.sa_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (sock < 0)
		return false;
	taken = bind(sock, &address.any, cm_address_size(&address)) < 0 && errno == EADDRINUSE;
	close(sock);
	return taken;
}

bool cm_gid_is_localhost(const u8 *gid)
{
	return is_loopback(gid) && (!is_mapped(gid) || (!gid[13] && !gid[14] && gid[15] == 1));
}

bool cm_address_local(struct daemon *daemon, const union cm_address *address,
		      struct device **device, u8 *gid_index)
{
	u8 gid[16];

	cm_address_gid(address, gid);
	*device = cm_gid_device(daemon, gid, gid_index);
	if (*device)
		return true;
	if (!cm_gid_is_localhost(gid) &&
	    ((!is_loopback(gid) && !cm_gid_is_machines(gid)) || cm_gid_is_published(daemon, gid) ||
	     cm_gid_is_taken(daemon, gid)))
		return false;
	*device = &daemon->device[0]->device;
	*gid_index = cm_address_source(*device, gid);
	return true;
}
