// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Addresses of the link, and its ports: the GIDs that contain an IP address. */
#include <net/addrconf.h>
#include <net/ipv6.h>
#include <net/route.h>

#include "layers.h"

/* ----------------------------------------------------------------- addresses */

bool vnet_address_of(const u8 *gid, int scope, union vnet_address *address)
{
	struct in6_addr ip;

	memset(address, 0, sizeof(*address));
	memcpy(&ip, gid, sizeof(ip));
	if (ipv6_addr_v4mapped(&ip)) {
		address->in.sin_family = AF_INET;
		address->in.sin_port = htons(VNET_WIRE_PORT);
		address->in.sin_addr.s_addr = ip.s6_addr32[3];
		return !ipv4_is_zeronet(ip.s6_addr32[3]) && !ipv4_is_multicast(ip.s6_addr32[3]) &&
		       !ipv4_is_lbcast(ip.s6_addr32[3]);
	}
	address->in6.sin6_family = AF_INET6;
	address->in6.sin6_port = htons(VNET_WIRE_PORT);
	address->in6.sin6_addr = ip;
	if (ipv6_addr_type(&ip) & IPV6_ADDR_LINKLOCAL)
		address->in6.sin6_scope_id = scope;
	return !ipv6_addr_any(&ip) && !ipv6_addr_is_multicast(&ip);
}

void vnet_put_address(const union vnet_address *address, u8 bytes[16], __be16 *port)
{
	struct in6_addr ip;

	if (address->any.sa_family == AF_INET) {
		ipv6_addr_set_v4mapped(address->in.sin_addr.s_addr, &ip);
		*port = address->in.sin_port;
	} else {
		ip = address->in6.sin6_addr;
		*port = address->in6.sin6_port;
	}
	memcpy(bytes, &ip, sizeof(ip));
}

/* A link-local address is local on its own net device only. */
static bool vnet_is_local6(struct net *net, const struct sockaddr_in6 *address)
{
	struct net_device *netdev = NULL;
	bool local;

	if (ipv6_addr_loopback(&address->sin6_addr))
		return true;
	rcu_read_lock();
	if (address->sin6_scope_id)
		netdev = dev_get_by_index_rcu(net, address->sin6_scope_id);
	local = (netdev || !address->sin6_scope_id) &&
		ipv6_chk_addr(net, &address->sin6_addr, netdev, 0);
	rcu_read_unlock();
	return local;
}

bool vnet_is_local(const struct vnet_port *port, const union vnet_address *address)
{
	struct net *net = sock_net(port->sock->sk);

	if (address->any.sa_family == AF_INET)
		return inet_addr_type(net, address->in.sin_addr.s_addr) == RTN_LOCAL;
	return vnet_is_local6(net, &address->in6);
}

/* --------------------------------------------------------------------- ports */

static int vnet_common_bits(const u8 *a, const u8 *b)
{
	return ipv6_addr_diff((const struct in6_addr *)a, (const struct in6_addr *)b);
}

struct vnet_port *vnet_port_towards(const struct vnet_link *link, const u8 *gid, int family)
{
	struct vnet_port *port, *best = NULL;
	u32 i;

	for (i = 0; i < NIC_MAX_GIDS; i++) {
		port = srcu_dereference(link->port[i], &vnet_inside);
		if (!port || port->own.any.sa_family != family)
			continue;
		if (!best || vnet_common_bits(port->gid, gid) > vnet_common_bits(best->gid, gid))
			best = port;
	}
	return best;
}

void vnet_link_check(struct vnet_dev *dev)
{
	int idx;

	/* A command may have looked up a port that was deleted, and not made its row yet. */
	mutex_lock(&dev->commands);
	idx = srcu_read_lock(&vnet_inside);
	vnet_enter();
	nic_link_check(&dev->agent.nic);
	vnet_leave();
	srcu_read_unlock(&vnet_inside, idx);
	mutex_unlock(&dev->commands);
}
