// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Identity of a device: its node GUID and its GIDs. The GUID is a hash of machine, user, runtime
 * directory, node and device name, so it stays the same. The GIDs of a RoCE port are a link-local
 * one, then the host's IPv4 addresses (127.0.0.1 if there is no other), then its IPv6 addresses.
 * They follow changes of the host's addresses.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <ifaddrs.h>
#include <linux/rtnetlink.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "daemon.h"
#include "devices.h"
#include "link/lid.h"
#include "link/link.h"
#include "loop/loop.h"
#include "process/process.h"
#include "sysfs/sysfs.h"
#include "uverbs/uverbs.h"

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

/* Makes a modified EUI-64, as for a locally administered Ethernet address. */
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
	/* Distinguishes nodes of the same name on other hosts or in other network namespaces. */
	if (options->listen)
		h = hash(h, options->listen, strlen(options->listen));
	/* Another runtime directory has another key. */
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

/* Returns the GID's index, or NIC_NONE. */
static u32 find_gid(const struct device *device, const u8 *gid)
{
	for (u32 i = 0; i < device->ngids; i++)
		if (!memcmp(device->gid[i], gid, 16))
			return i;
	return NIC_NONE;
}

static void add_gid(struct nic_device *made, const u8 gid[16], const char *ifname)
{
	struct device *device = &made->device;
	u32 n = device->ngids;

	if (n == NIC_MAX_GIDS || find_gid(device, gid) != NIC_NONE)
		return;
	memcpy(device->gid[n], gid, 16);
	device->gid_ifindex[n] = if_nametoindex(ifname);
	snprintf(made->gid_ndev[n], IF_NAMESIZE, "%s", ifname);
	device->ngids++;
}

/* Two entries of the GID table are for the link-local GID and the link's address. */
#define MOST_MACHINE (NIC_MAX_GIDS - 2)

struct machine {
	u32 n;
	u8 gid[MOST_MACHINE][16];
	char ndev[MOST_MACHINE][IF_NAMESIZE];
};

static bool has(const struct machine *machine, const u8 *gid)
{
	for (u32 i = 0; i < machine->n; i++)
		if (!memcmp(machine->gid[i], gid, 16))
			return true;
	return false;
}

static void note_gid(struct machine *machine, const u8 gid[16], const char *ifname)
{
	if (machine->n == MOST_MACHINE || has(machine, gid))
		return;
	memcpy(machine->gid[machine->n], gid, 16);
	snprintf(machine->ndev[machine->n], IF_NAMESIZE, "%s", ifname);
	machine->n++;
}

static void note_ipv4(struct machine *machine, const struct in_addr *addr, const char *ifname)
{
	u8 gid[16] = { [10] = 0xff, [11] = 0xff };

	memcpy(gid + 12, addr, 4);
	note_gid(machine, gid, ifname);
}

/* Loopback addresses (127/8 and ::1) do not identify a host. */
static bool is_loopback_addr(const struct sockaddr *addr)
{
	const struct sockaddr_in *in = (const void *)addr;
	const struct sockaddr_in6 *in6 = (const void *)addr;

	if (addr->sa_family == AF_INET)
		return ntohl(in->sin_addr.s_addr) >> 24 == IN_LOOPBACKNET;
	return IN6_IS_ADDR_LOOPBACK(&in6->sin6_addr);
}

/* Whether peers may use the address: it is no loopback address, and its interface is up. */
static bool usable(const struct ifaddrs *ifa, int family)
{
	return ifa->ifa_addr && ifa->ifa_addr->sa_family == family && (ifa->ifa_flags & IFF_UP) &&
	       !is_loopback_addr(ifa->ifa_addr);
}

static const char *first_interface(const struct ifaddrs *list)
{
	for (const struct ifaddrs *ifa = list; ifa; ifa = ifa->ifa_next)
		if (usable(ifa, AF_INET) && !(ifa->ifa_flags & IFF_LOOPBACK))
			return ifa->ifa_name;
	return "lo";
}

static void add_link_local(struct nic_device *made, const char *ifname)
{
	u8 gid[16] = { 0xfe, 0x80 };

	memcpy(gid + 8, made->device.node_guid, 8);
	add_gid(made, gid, ifname);
}

static void note_ipv6(struct machine *machine, const struct ifaddrs *list, bool link_local)
{
	for (const struct ifaddrs *ifa = list; ifa; ifa = ifa->ifa_next) {
		const struct sockaddr_in6 *in6 = (const void *)ifa->ifa_addr;

		if (usable(ifa, AF_INET6) && !IN6_IS_ADDR_LINKLOCAL(&in6->sin6_addr) != link_local)
			note_gid(machine, in6->sin6_addr.s6_addr, ifa->ifa_name);
	}
}

/* Collects addresses in order: IPv4 (127.0.0.1 if there is no other), IPv6, link-local IPv6. */
static void find_machine(struct machine *machine, const struct ifaddrs *list)
{
	const struct in_addr loopback = { htonl(INADDR_LOOPBACK) };

	machine->n = 0;
	for (const struct ifaddrs *ifa = list; ifa; ifa = ifa->ifa_next) {
		const struct sockaddr_in *in = (const void *)ifa->ifa_addr;

		if (usable(ifa, AF_INET))
			note_ipv4(machine, &in->sin_addr, ifa->ifa_name);
	}
	if (!machine->n)
		note_ipv4(machine, &loopback, "lo");
	note_ipv6(machine, list, false);
	note_ipv6(machine, list, true);
}

/* Adds the address of the NIC's link, by which other nodes reach it. */
static void add_own(struct nic_device *made)
{
	const union link_address *own = &made->link_memory->own;
	u8 gid[16] = { [10] = 0xff, [11] = 0xff };

	if (made->link.fd < 0)
		return;
	if (own->any.sa_family == AF_INET)
		memcpy(gid + 12, &own->in.sin_addr, 4);
	else
		memcpy(gid, &own->in6.sin6_addr, 16);
	add_gid(made, gid, made->link_ndev);
	made->link_gid = find_gid(&made->device, gid);
}

/*
 * Whether the host's addresses are GIDs of this NIC. With links on the loopback network, only the
 * first NIC of the default node has them, so that each GID names one NIC. With --listen, no NIC
 * that has a link has them.
 */
static bool is_machine(const struct nic_device *made)
{
	const struct options *options = &made->device.daemon->options;

	return made->link.fd < 0 ||
	       (!options->listen && !strcmp(options->node, DEFAULT_NODE) &&
		made->device.index == 0 &&
		made->link_memory->own.in.sin_addr.s_addr == htonl(INADDR_LOOPBACK));
}

/*
 * Publishes the host's addresses for clients, which resolve them to this host's default node
 * (link_resolve.c). Clients read the list at the same time, so an entry that stays keeps its
 * index.
 */
static void tell_clients(struct nic_device *made, const struct machine *machine)
{
	struct link_memory *memory = made->link_memory;
	u32 n = memory->nmachine, i, at;

	if (made->device.daemon->options.listen)
		return;
	for (i = 0; i < n; i++)
		if (!has(machine, memory->machine[i]))
			memset(memory->machine[i], 0, 16);
	for (i = 0; i < machine->n; i++) {
		for (at = 0; at < n && memcmp(memory->machine[at], machine->gid[i], 16) != 0;)
			at++;
		if (at < n)
			continue;
		for (at = 0; at < n && !gid_is_none(memory->machine[at]);)
			at++;
		if (at == NIC_MAX_GIDS)
			return;
		memcpy(memory->machine[at], machine->gid[i], 16);
		if (at == n)
			nic_store_release(&memory->nmachine, ++n);
	}
}

/* -------------------------------------------------------------------- address changes */

static void drop_gid(struct nic_device *made, u32 index)
{
	struct device *device = &made->device;

	link_withdraw_gid(made, device->gid[index]);
	memset(device->gid[index], 0, 16);
	device->gid_ifindex[index] = 0;
	made->gid_ndev[index][0] = '\0';
	device_set_gid(made, index);
	sysfs_gid(made, index);
}

/*
 * Returns a free index, 0 if the table is full. Queue pairs may still use the index of a removed
 * GID, so indices that were never in use come first.
 */
static u32 free_index(struct device *device)
{
	if (device->ngids < NIC_MAX_GIDS)
		return device->ngids++;
	for (u32 i = 1; i < NIC_MAX_GIDS; i++)
		if (gid_is_none(device->gid[i]))
			return i;
	return 0;
}

static bool put_gid(struct nic_device *made, const u8 *gid, const char *ifname)
{
	struct device *device = &made->device;
	u32 index = free_index(device);

	if (!index)
		return false;
	memcpy(device->gid[index], gid, 16);
	device->gid_ifindex[index] = if_nametoindex(ifname);
	snprintf(made->gid_ndev[index], IF_NAMESIZE, "%s", ifname);
	if (!device->lid)
		device->gids_shown = device->ngids;
	device_set_gid(made, index);
	sysfs_gid(made, index);
	link_publish_gid(made, gid);
	return true;
}

/* Removes and adds GIDs to match the host's addresses. GIDs that stay keep their index. */
static void follow(struct nic_device *made, const struct machine *machine)
{
	struct device *device = &made->device;
	bool changed = false;

	for (u32 i = 1; i < device->ngids; i++) {
		if (i == made->link_gid || gid_is_none(device->gid[i]) ||
		    has(machine, device->gid[i]))
			continue;
		drop_gid(made, i);
		changed = true;
	}
	for (u32 i = 0; i < machine->n; i++)
		if (find_gid(device, machine->gid[i]) == NIC_NONE)
			changed |= put_gid(made, machine->gid[i], machine->ndev[i]);
	if (changed && !device->lid)
		uverbs_device_event(device, DEVICE_EVENT_GID_CHANGE, 1);
}

static void addresses_ready(struct source *source, u32 events)
{
	struct daemon *daemon = container_of(source, struct daemon, addresses);
	struct ifaddrs *list = NULL;
	struct machine machine;
	char text[4096];

	(void)events;
	/* Messages only trigger a look-up, also if some were lost (ENOBUFS): drain them. */
	while (recv(source->fd, text, sizeof(text), MSG_DONTWAIT) >= 0 || errno != EAGAIN)
		;
	if (getifaddrs(&list) < 0)
		return;
	find_machine(&machine, list);
	freeifaddrs(list);
	for (u32 i = 0; i < daemon->ndevices; i++) {
		tell_clients(daemon->device[i], &machine);
		if (is_machine(daemon->device[i]))
			follow(daemon->device[i], &machine);
	}
}

/* Without rtnetlink (in a sandbox), the GIDs do not change. */
int identity_watch(struct daemon *daemon)
{
	const struct sockaddr_nl groups = { .nl_family = AF_NETLINK,
					    .nl_groups = RTMGRP_LINK | RTMGRP_IPV4_IFADDR |
							 RTMGRP_IPV6_IFADDR };
	struct source *source = &daemon->addresses;

	source->fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, NETLINK_ROUTE);
	if (source->fd < 0)
		return 0;
	if (bind(source->fd, (const struct sockaddr *)&groups, sizeof(groups)) < 0) {
		close(source->fd);
		return 0;
	}
	source->ready = addresses_ready;
	return loop_add(&daemon->loop, source, EPOLLIN);
}

/* -------------------------------------------------------------------- initialisation */

int identity_init(struct nic_device *made)
{
	struct ifaddrs *list = NULL;
	struct machine machine;

	make_guid(&made->device, &made->device.daemon->options);
	if (getifaddrs(&list) < 0)
		list = NULL;
	add_link_local(made, first_interface(list));
	find_machine(&machine, list);
	tell_clients(made, &machine);
	for (u32 i = 0; i < machine.n && is_machine(made); i++)
		add_gid(made, machine.gid[i], machine.ndev[i]);
	add_own(made);
	if (list)
		freeifaddrs(list);
	made->device.gids_shown = made->device.ngids;
	if (!made->device.daemon->options.infiniband)
		return 0;
	made->device.gids_shown = 1;
	return lid_claim(made);
}
