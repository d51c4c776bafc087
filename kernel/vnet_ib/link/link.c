// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Start and end of the link, its payload limits and counters. */
#include <linux/slab.h>

#include "layers.h"

/* IPv6 and UDP headers; those of IPv4 are shorter. */
#define VNET_HEADERS 48u
/*
 * Minimum retransmission timeout in us, as in TCP. Acknowledgements of later frames reveal most
 * losses sooner. The peer may be waiting for its processor; early retransmissions to it would
 * not be faster.
 */
#define VNET_RTO_MIN 200000

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

const struct vnet_link_counters *vnet_link_counters(const struct vnet_dev *dev)
{
	return &dev->link->counters;
}
