// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Sockets of the link: one for each GID that contains an IP address. */
#include <net/inet_sock.h>
#include <net/ipv6.h>
#include <net/udp.h>
#include <net/udp_tunnel.h>

#include "layers.h"

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
