// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Start and end of the link, and its sockets: one for each GID that contains an IP address. */
#include <linux/vmalloc.h>
#include <net/addrconf.h>
#include <net/inet_sock.h>
#include <net/ipv6.h>
#include <net/route.h>
#include <net/udp.h>
#include <net/udp_tunnel.h>

#include "link.h"

/* IPv6 and UDP headers; those of IPv4 are shorter. */
#define VNET_HEADERS 48u
/*
 * Minimum retransmission timeout in us, as in TCP. Acknowledgements of later frames reveal most
 * losses sooner. The peer may be waiting for its processor; early retransmissions to it would
 * not be faster.
 */
#define VNET_RTO_MIN 200000

/* ----------------------------------------------------------------- addresses */

/* The address that a GID contains, with the port. Returns false if no node can have it. */
static bool vnet_address_of(const u8 *gid, int scope, union vnet_address *address)
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

static int vnet_common_bits(const u8 *a, const u8 *b)
{
	return ipv6_addr_diff((const struct in6_addr *)a, (const struct in6_addr *)b);
}

/*
 * Choose the source address, as the firmware does not name one: the GID with the longest prefix
 * in common with the peer's. The choice is the same in every context.
 */
static struct vnet_port *vnet_port_towards(const struct vnet_link *link, const u8 *gid, int family)
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

bool plat_resolve(struct nic *nic, const u8 *gid, struct nic_address *to)
{
	const struct vnet_view *view = nic->host;
	struct vnet_link *link = view->dev->link;
	struct vnet_port *port = NULL;
	union vnet_address address;
	bool found = false;
	int idx = srcu_read_lock(&vnet_inside);

	if (vnet_address_of(gid, view->dev->netdev->ifindex, &address))
		port = vnet_port_towards(link, gid, address.any.sa_family);
	if (port) {
		address.port = port->own.port;
		*to = address.nic;
		found = vnet_has_key(link, &address);
		/* The peer would not answer without a key. */
		if (!found)
			nic_fetch_add(&link->counters.no_key, 1);
	}
	srcu_read_unlock(&vnet_inside, idx);
	return found;
}

bool plat_same_key_group(struct nic *nic, const struct nic_address *a, const struct nic_address *b)
{
	const struct vnet_view *view = nic->host;
	int idx = srcu_read_lock(&vnet_inside);
	bool same = vnet_same_key_group(view->dev->link, (const union vnet_address *)a,
					(const union vnet_address *)b);

	srcu_read_unlock(&vnet_inside, idx);
	return same;
}

void plat_refused(struct nic *nic, const u8 *gid, u32 why)
{
	const struct vnet_view *view = nic->host;

	/* enum vnet_refusal has one reason only. */
	ibdev_warn_ratelimited(
		&view->dev->ibdev,
		"the device with GID %pI6 has another key: give both the same (use_key)\n", gid);
}

/* Not logged, as any program could fill the system log. */
void plat_unknown(struct nic *nic, const u8 *gid)
{
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

/* ------------------------------------------------------------------- sockets */

static void vnet_set(struct socket *sock, int level, int name, int value)
{
	int err = sock->ops->setsockopt(sock, level, name, KERNEL_SOCKPTR(&value), sizeof(value));

	WARN_ONCE(err, "vnet_ib: no socket option %d of %d: %d\n", name, level, err);
}

static int vnet_socket_bind(struct socket *sock, const union vnet_address *own)
{
	/* A GID may exist before its address is assigned, and after it is removed. */
	if (own->any.sa_family == AF_INET) {
		vnet_set(sock, SOL_IP, IP_FREEBIND, 1);
	} else {
		vnet_set(sock, SOL_IPV6, IPV6_V6ONLY, 1);
		vnet_set(sock, SOL_IPV6, IPV6_FREEBIND, 1);
	}
	/* Consecutive frames may arrive joined. */
	vnet_set(sock, SOL_UDP, UDP_GRO, 1);
	return kernel_bind(sock, (struct sockaddr *)&own->any, vnet_address_size(own));
}

static int vnet_port_open(struct vnet_port *port, struct net *net)
{
	struct udp_tunnel_sock_cfg tunnel = {
		.sk_user_data = port,
		.encap_type = 1,
		.encap_rcv = vnet_encap_rcv,
	};
	int err = sock_create_kern(net, port->own.any.sa_family, SOCK_DGRAM, IPPROTO_UDP,
				   &port->sock);

	if (err)
		return err;
	err = vnet_socket_bind(port->sock, &port->own);
	if (err) {
		sock_release(port->sock);
		return err;
	}
	setup_udp_tunnel_sock(net, port->sock, &tunnel);
	return 0;
}

void vnet_link_add(struct vnet_dev *dev, const struct ib_gid_attr *attr)
{
	struct vnet_port *port = kzalloc(sizeof(*port), GFP_KERNEL);
	struct net_device *netdev;
	int scope = dev->netdev->ifindex;
	int err = -ENOMEM;

	if (!port)
		goto fail;
	rcu_read_lock();
	netdev = rcu_dereference(attr->ndev);
	if (netdev)
		scope = netdev->ifindex;
	rcu_read_unlock();
	port->link = dev->link;
	memcpy(port->gid, attr->gid.raw, sizeof(port->gid));
	err = -EADDRNOTAVAIL;
	/* In another namespace, the net device would need another common key. */
	if (vnet_address_of(port->gid, scope, &port->own) &&
	    dev_net(dev->netdev)->net_cookie == dev->link->net_cookie) {
		port->own.port = vnet_port_name(attr->index, port->gid);
		err = vnet_port_open(port, dev_net(dev->netdev));
	}
	if (err)
		goto fail;
	rcu_assign_pointer(dev->link->port[attr->index], port);
	vnet_link_check(dev);
	return;
fail:
	kfree(port);
	ibdev_warn(&dev->ibdev, "no link by GID %pI6: %d\n", attr->gid.raw, err);
}

void vnet_link_del(struct vnet_dev *dev, u32 index)
{
	/* The core serializes additions and deletions of GIDs. */
	struct vnet_port *port = rcu_replace_pointer(dev->link->port[index], NULL, true);

	if (!port)
		return;
	synchronize_srcu(&vnet_inside);
	udp_tunnel_sock_release(port->sock);
	/* Wait for the socket's receive callbacks. */
	synchronize_rcu();
	kfree(port);
	vnet_link_check(dev);
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

/* ------------------------------------------------------------- start and end */

void vnet_link_fit(struct vnet_dev *dev)
{
	struct nic_settings *settings = &dev->agent.nic.hdr->settings;
	u32 extra = VNET_HEADERS + VNET_WIRE_SLACK + sizeof(struct vnet_wire_trailer);
	u32 mtu = READ_ONCE(dev->netdev->mtu);
	u32 fit = mtu > extra ? (mtu - extra) & ~31u : 0;

	fit = clamp_t(u32, fit, VNET_WIRE_MIN_PAYLOAD, VNET_LINK_PAYLOAD);
	/*
	 * A net device without checksum offload has no segmentation offload either. Then long
	 * frames in IP fragments cost much less than many short ones. Other net devices handle
	 * many frames well, and fragments badly.
	 */
	nic_store(&settings->fit, fit);
	nic_store(&settings->payload,
		  dev->netdev->features & NETIF_F_CSUM_MASK ? fit : VNET_LINK_PAYLOAD);
	/* The buffers of short frames are several times as large as their payload. */
	nic_store(&settings->window, VNET_LINK_QUEUE / 8);
}

int vnet_link_make(struct vnet_dev *dev, const struct net *net)
{
	struct vnet_link *link = kzalloc(sizeof(*link), GFP_KERNEL);
	int err;

	if (!link)
		return -ENOMEM;
	dev->link = link;
	link->dev = dev;
	init_llist_head(&link->left);
	err = vnet_keys_init(link, net) ?: vnet_receivers_make(link) ?: vnet_batches_make(link);
	if (err)
		return err;
	dev->agent.nic.hdr->settings.rto_min = VNET_RTO_MIN;
	/* The new incarnation is later than those of earlier devices on this machine. */
	nic_link_renew(&dev->agent.nic, ktime_get_real_ns());
	return 0;
}

void vnet_link_stop(struct vnet_dev *dev)
{
	struct vnet_link *link = dev->link;
	u32 i;

	if (!link)
		return;
	for (i = 0; i < NIC_MAX_GIDS; i++)
		vnet_link_del(dev, i);
	vnet_receivers_stop(link);
}

/* Free the link, also one that is partly constructed. No reader of vnet_inside is left. */
void vnet_link_end(struct vnet_dev *dev)
{
	struct vnet_link *link = dev->link;

	if (!link)
		return;
	vnet_receivers_free(link);
	vnet_batches_free(link);
	vnet_keys_free(link);
	kfree(link);
	dev->link = NULL;
}
