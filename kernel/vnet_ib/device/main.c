// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Module entry and exit: "rdma link add NAME type vnet netdev DEV" creates a device. */
#include <linux/module.h>
#include <rdma/rdma_netlink.h>

#include "device.h"
#include "link/link.h"

MODULE_DESCRIPTION("vnet: a virtual interface NIC made of software");
MODULE_AUTHOR("The vnet authors");
MODULE_LICENSE("Dual BSD/GPL");
MODULE_VERSION(VNET_VERSION);
MODULE_ALIAS_RDMA_LINK("vnet");

static struct rdma_link_ops vnet_link_ops = {
	.type = "vnet",
	.newlink = vnet_newlink,
};

static struct notifier_block vnet_netdev_notifier = {
	.notifier_call = vnet_netdev_event,
};

static int __init vnet_init(void)
{
	int err = register_netdevice_notifier(&vnet_netdev_notifier);

	if (err)
		return err;
	vnet_name_stats();
	vnet_crc_choose();
	vnet_mac_choose();
	rdma_link_register(&vnet_link_ops);
	return 0;
}

static void __exit vnet_exit(void)
{
	/* Prevent new devices, then remove all. */
	rdma_link_unregister(&vnet_link_ops);
	unregister_netdevice_notifier(&vnet_netdev_notifier);
	vnet_delete_all();
	/* Wait for SRCU callbacks, which execute this module's code. */
	srcu_barrier(&vnet_inside);
}

module_init(vnet_init);
module_exit(vnet_exit);
