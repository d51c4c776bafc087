// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * What a device is called on the network: a GUID that stays the same for this
 * machine, user, runtime directory, node and device name; and the GIDs of a RoCE port: link-local
 * first, then the machine's IPv4 addresses (127.0.0.1 if it has no other), then
 * its IPv6 ones.
 */
#include <arpa/inet.h>
#include <fcntl.h>
#include <ifaddrs.h>
#include <string.h>
#include <unistd.h>

#include "lid.h"

/* FNV-1a, 64 bits. */
static u64 hash(u64 state, const void *data, size_t length)
{
	const u8 *bytes = data;

	while (length--)
		state = (state ^ *bytes++) * 0x100000001b3ull;
	return state;
}

static u64 hash_machine(u64 state)
{
	char text[128];
	int fd = open("/etc/machine-id", O_RDONLY | O_CLOEXEC);
	ssize_t n = fd >= 0 ? read(fd, text, sizeof(text)) : -1;

	if (fd >= 0)
		close(fd);
	if (n > 0)
		return hash(state, text, (size_t)n);
	if (gethostname(text, sizeof(text) - 1) < 0)
		return state;
	text[sizeof(text) - 1] = '\0';
	return hash(state, text, strlen(text));
}

/* As of a locally administered Ethernet address: modified EUI-64. */
static void make_guid(struct device *device, const struct options *options)
{
	const char *node = options->node;
	uid_t uid = geteuid();
	u64 h = 0xcbf29ce484222325ull;
	u8 *guid = device->node_guid;

	h = hash_machine(h);
	h = hash(h, &uid, sizeof(uid));
	h = hash(h, node, strlen(node) + 1);
	h = hash(h, device->name, strlen(device->name));
	/* The same node on other hosts, or in other network namespaces. */
	if (options->listen)
		h = hash(h, options->listen, strlen(options->listen));
	/* Or of another runtime directory, which has another key for as long as it is there. */
	h = hash(h, &device->daemon->keys.common.id, sizeof(device->daemon->keys.common.id));
	guid[0] = 0;
	guid[1] = (u8)(h >> 32);
	guid[2] = (u8)(h >> 24);
	guid[3] = 0xff;
	guid[4] = 0xfe;
	guid[5] = (u8)(h >> 16);
	guid[6] = (u8)(h >> 8);
	guid[7] = (u8)h;
}

static void add_gid(struct nic_device *made, const u8 gid[16], const char *ifname)
{
	struct device *device = &made->device;
	u32 n = device->ngids;

	for (u32 i = 0; i < n; i++)
		if (!memcmp(device->gid[i], gid, 16))
			return;
	if (n == NIC_MAX_GIDS)
		return;
	memcpy(device->gid[n], gid, 16);
	device->gid_ifindex[n] = if_nametoindex(ifname);
	snprintf(made->gid_ndev[n], IF_NAMESIZE, "%s", ifname);
	device->ngids++;
}

static void add_ipv4(struct nic_device *made, const struct in_addr *addr, const char *ifname)
{
	u8 gid[16] = { [10] = 0xff, [11] = 0xff };

	memcpy(gid + 12, addr, 4);
	add_gid(made, gid, ifname);
}

/* An address that others may use: its interface is up, and not the loopback. */
static bool usable(const struct ifaddrs *ifa, int family)
{
	return ifa->ifa_addr && ifa->ifa_addr->sa_family == family && (ifa->ifa_flags & IFF_UP) &&
	       !(ifa->ifa_flags & IFF_LOOPBACK);
}

static const char *first_interface(const struct ifaddrs *list)
{
	for (const struct ifaddrs *ifa = list; ifa; ifa = ifa->ifa_next)
		if (usable(ifa, AF_INET))
			return ifa->ifa_name;
	return "lo";
}

static void add_link_local(struct nic_device *made, const char *ifname)
{
	u8 gid[16] = { 0xfe, 0x80 };

	memcpy(gid + 8, made->device.node_guid, 8);
	add_gid(made, gid, ifname);
}

static void add_machine(struct nic_device *made, const struct ifaddrs *list)
{
	const struct ifaddrs *ifa;

	for (ifa = list; ifa; ifa = ifa->ifa_next) {
		const struct sockaddr_in *in = (const void *)ifa->ifa_addr;

		if (usable(ifa, AF_INET))
			add_ipv4(made, &in->sin_addr, ifa->ifa_name);
	}
	if (made->device.ngids == 1) {
		const struct in_addr loopback = { htonl(INADDR_LOOPBACK) };

		add_ipv4(made, &loopback, "lo");
	}
	for (ifa = list; ifa; ifa = ifa->ifa_next) {
		const struct sockaddr_in6 *in6 = (const void *)ifa->ifa_addr;

		if (usable(ifa, AF_INET6) && !IN6_IS_ADDR_LINKLOCAL(&in6->sin6_addr))
			add_gid(made, in6->sin6_addr.s6_addr, ifa->ifa_name);
	}
}

/* What other nodes reach the NIC by. */
static void add_own(struct nic_device *made)
{
	const union link_address *own = &made->link_memory->own;

	if (made->link.fd < 0)
		return;
	if (own->any.sa_family == AF_INET)
		add_ipv4(made, &own->in.sin_addr, made->link_ndev);
	else
		add_gid(made, own->in6.sin6_addr.s6_addr, made->link_ndev);
}

/*
 * The machine's addresses are those of the default node's first NIC alone, so that
 * they name it; where the addresses are chosen, there are no others.
 */
static bool is_machine(const struct nic_device *made)
{
	const struct options *options = &made->device.daemon->options;

	return made->link.fd < 0 ||
	       (!options->listen && !strcmp(options->node, DEFAULT_NODE) &&
		made->device.index == 0 &&
		made->link_memory->own.in.sin_addr.s_addr == htonl(INADDR_LOOPBACK));
}

/* Nodes of the loopback network find them at the node that has them: link_resolve.c. */
static void note_machine(struct nic_device *made, const struct ifaddrs *list)
{
	struct link_memory *memory = made->link_memory;
	u32 first = made->device.ngids;

	add_machine(made, list);
	for (u32 i = first; i < made->device.ngids && !made->device.daemon->options.listen; i++)
		memcpy(memory->machine[memory->nmachine++], made->device.gid[i], 16);
	if (!is_machine(made))
		made->device.ngids = first;
}

int identity_init(struct nic_device *made)
{
	struct ifaddrs *list = NULL;

	make_guid(&made->device, &made->device.daemon->options);
	if (getifaddrs(&list) < 0)
		list = NULL;
	add_link_local(made, first_interface(list));
	note_machine(made, list);
	add_own(made);
	if (list)
		freeifaddrs(list);
	made->device.gids_shown = made->device.ngids;
	if (!made->device.daemon->options.infiniband)
		return 0;
	made->device.gids_shown = 1;
	return lid_claim(made);
}
