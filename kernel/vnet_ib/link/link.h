/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The link: exchange of frames with other NICs, by a UDP socket for each address of the device;
 * keys of peers, MACs and checksums of frames, and the link's files in sysfs.
 *
 * Calls base and events, and of the firmware its transport. Takes vnet_link.keys_lock, and in it
 * vnet_dev.commands.
 *
 * Sockets are in the net device's namespace.
 *
 * Sending: each executor of the firmware collects its frames in batches, from plat_frame() to
 * plat_flush(). Kernel consumers may hold any lock, so they must not call the network stack, and
 * leave their batches to a receiver.
 *
 * Receiving: the socket's callback queues frames, and the receiver of that processor (a tasklet)
 * passes them to the firmware after the network's softirq. The frames that the firmware sends in
 * reply leave from there, so no task is woken. Tasks call the firmware between vnet_enter() and
 * vnet_leave(): otherwise a tasklet could interrupt a task and wait in vain for a lock that the
 * task holds.
 *
 * Lifetime: sockets and given keys are looked up under vnet_inside, and freed after a grace
 * period. A socket is freed after an RCU grace period for its callbacks, then receivers. The
 * common key and the replay memory exist from vnet_link_make() to vnet_link_end().
 *
 * layers.h has what the files of this room have in common.
 */
#ifndef VNET_IB_LINK_H
#define VNET_IB_LINK_H

#include "base/base.h"

/* ------------------------------------------------------------- crc.c, mac.c */

/* Choose the CRC32C implementation. Call it before the first frame. */
void vnet_crc_choose(void);
/* Measure which size of pieces is fastest for Poly1305 here. Called once. */
void vnet_mac_choose(void);

/* ------------------------------------------------------------------- send.c */

/*
 * Called after the firmware has returned: send the batches of the executor, or leave them to a
 * receiver.
 */
void vnet_link_flush(struct vnet_view *view);

/* ----------------------------------------------------------------- socket.c */

/* The core has added, or deletes, a GID: open or close its socket. May sleep. */
void vnet_link_add(struct vnet_dev *dev, const struct ib_gid_attr *attr);
void vnet_link_del(struct vnet_dev *dev, u32 index);

/* ------------------------------------------------------------------- link.c */

/* `net` is the net device's namespace. Returns 0 or a negative errno. May sleep. */
int vnet_link_make(struct vnet_dev *dev, const struct net *net);
/*
 * Close all sockets and stop the receivers. Frames that are sent from now on are lost. May
 * sleep.
 */
void vnet_link_stop(struct vnet_dev *dev);
void vnet_link_end(struct vnet_dev *dev);
/* Adapt the payload limits to the net device's MTU and offloads. */
void vnet_link_fit(struct vnet_dev *dev);
/* Counters of frames that were dropped, by reason. Updated atomically. */
struct vnet_link_counters {
	/*
	 * The network did not accept them. No key applies to the peer, or only the common key
	 * applies to a frame that would leave the machine.
	 */
	u64 unsent;
	u64 no_key;
	/* All batches were in use. */
	u64 no_batch;
	/* From another machine, while there is no given key. */
	u64 strangers;
	/* Too many frames waited for a receiver; too long. */
	u64 overrun;
	u64 oversize;
	/* Without a MAC; with a MAC of an unknown key; with a wrong MAC. */
	u64 no_mac;
	u64 unknown_key;
	u64 bad_mac;
	/* With a right MAC, but received before. */
	u64 replayed;
};

const struct vnet_link_counters *vnet_link_counters(const struct vnet_dev *dev);

/* ------------------------------------------------------------------ files.c */

/* Whether the caller has CAP_NET_ADMIN in the net device's namespace. */
bool vnet_may_configure(const struct vnet_dev *dev);
/* The folder `link` of the device in sysfs. */
extern const struct attribute_group vnet_link_group;

#endif /* VNET_IB_LINK_H */
