/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The layers of the link, from the lowest to the highest. A file calls files of lower layers only,
 * so declarations are grouped by the file that implements them, in this order:
 *
 *   crc.c, mac.c   checksums and MACs (mac.h)
 *   port.c         addresses, ports by address, and the check of rows
 *   keys.c         keys: given ones, the common one, and which of them applies to a peer
 *   peer.c         what the firmware asks about a peer: its address, key group, secrets
 *   seal.c         MACs of frames: appended, verified, and each taken once
 *   send.c         batches of frames, and their transmission
 *   receive.c      receivers
 *   socket.c       sockets of ports: opened, closed
 *   link.c         start and end of all of them
 *   files.c        files in sysfs: keys, settings
 *
 * A sender that must not call the network stack leaves its batch to a receiver, which is a higher
 * layer: it queues vnet_link.call, an irq_work that receive.c has initialized.
 */
#ifndef VNET_IB_LINK_LAYERS_H
#define VNET_IB_LINK_LAYERS_H

#include <linux/in.h>
#include <linux/in6.h>
#include <linux/interrupt.h>
#include <linux/jhash.h>
#include <linux/net.h>
#include <linux/skbuff.h>

#include "vn/replay.h"
#include "link.h"

enum vnet_link_limits {
	/* Maximum payload of a frame, and the length of a frame with it. */
	VNET_LINK_PAYLOAD = 16384,
	VNET_LINK_FRAME = VNET_LINK_PAYLOAD + VNET_WIRE_SLACK,
	/* Limits of a batch: frames; and bytes, after which no frame is added. */
	VNET_BATCH_FRAMES = 64,
	VNET_BATCH_SIZE = 64 << 10,
	/*
	 * Limits of memory, in bytes: of frames that wait for a receiver, and of frames that a
	 * socket has in the network's queues.
	 */
	VNET_LINK_QUEUE = 16 << 20,
	VNET_SEND_QUEUE = 8 << 20,
	/* Given keys, of all groups. A group has up to two. */
	VNET_KEYS = 16,
};

/*
 * Address of a peer, and the port by whose socket it is reached. A port is named by the index of
 * its GID and a hash of the GID, as an index may get another GID.
 */
union vnet_address {
	struct nic_address nic;
	struct {
		union {
			struct sockaddr any;
			struct sockaddr_in in;
			struct sockaddr_in6 in6;
		};
		/* See vnet_port_name(). */
		u32 port;
	};
};
static_assert(sizeof(union vnet_address) == sizeof(struct nic_address));

/* A GID with its socket and address. */
struct vnet_port {
	struct vnet_link *link;
	struct socket *sock;
	u8 gid[VNET_WIRE_GID_SIZE];
	union vnet_address own;
};

/* A group of peers: all addresses with this prefix. IPv4 addresses are in IPv4-mapped form. */
struct vnet_network {
	struct in6_addr ip;
	u32 bits;
};

struct vnet_key {
	__le32 id;
	u8 bytes[VNET_WIRE_KEY_SIZE];
	struct vnet_network peers;
	/* For sending: our salt, and the subkey derived from key and salt. */
	u8 salt[VNET_WIRE_SALT_SIZE];
	u8 subkey[VNET_WIRE_KEY_SIZE];
	/* The key from which secrets of plat_secret() are derived. */
	u8 secret_key[VNET_WIRE_KEY_SIZE];
};

/*
 * Given keys. The keys of the narrowest network that contains a peer apply to it: the first of
 * them is used for sending, and all are accepted. A peer that is in no network has the common
 * key if it is local, else none.
 */
struct vnet_keys {
	u32 n;
	struct vnet_key key[VNET_KEYS];
};
static_assert(VNET_KEYS + 1 <= NIC_REPLAY_KEYS);

struct vnet_batch {
	/* Owner, by vnet_executor(); 0 if the batch is free. */
	unsigned long owner;
	/*
	 * List of the batches of one executor, oldest first. `first` is set in the last one
	 * only.
	 */
	struct vnet_batch *next;
	struct vnet_batch *first;
	struct llist_node left;
	u32 n;
	u32 used;
	u8 *arena;
	struct {
		union vnet_address to;
		u32 offset;
		u32 length;
		/* Whether the frame may leave this machine. */
		bool leaves;
	} frame[VNET_BATCH_FRAMES];
};

/* The receiver of one processor: frames that arrived there, and the tasklet that processes them. */
struct vnet_receiver {
	struct vnet_link *link;
	struct vnet_view view;
	struct tasklet_struct tasklet;
	struct sk_buff_head arrived;
	/* Buffer of the frame that is being processed. */
	u8 *frame;
};

struct vnet_link {
	struct vnet_dev *dev;
	struct vnet_receiver __percpu *receiver;
	struct vnet_port __rcu *port[NIC_MAX_GIDS];

	/*
	 * Key shared by all devices of this machine and network namespace, and the namespace's
	 * cookie.
	 */
	struct vnet_key common;
	u64 net_cookie;
	/* Key for this NIC's own handshake cookies: plat_secret() without a peer. */
	u8 own_secret[VNET_WIRE_KEY_SIZE];
	/* Given keys, or NULL. Replaced under keys_lock. */
	struct vnet_keys __rcu *keys;
	struct mutex keys_lock;
	/*
	 * Number of sealed frames, with any key. It is the nonce of a frame, so it never
	 * repeats.
	 */
	atomic64_t sealed;
	/* Numbers of the sealed frames that have arrived. */
	struct nic_replay *replay;

	/* Number of batches in use. */
	atomic_t busy;
	u32 nbatch;
	struct vnet_batch *batch;
	/* Batches left to a receiver, and the irq_work that starts one from any context. */
	struct llist_head left;
	struct irq_work call;

	/* Memory of frames that wait for a receiver, in bytes. */
	atomic_t waiting;

	struct vnet_link_counters counters;
};

/* ------------------------------------------------------------------- port.c */

static inline u32 vnet_port_name(u32 index, const u8 gid[VNET_WIRE_GID_SIZE])
{
	return jhash(gid, VNET_WIRE_GID_SIZE, 0) / NIC_MAX_GIDS * NIC_MAX_GIDS + index;
}

/*
 * The port by which a peer is reached, or NULL if its GID has been deleted. The caller is in a read
 * section of vnet_inside.
 */
static inline struct vnet_port *vnet_port_of(const struct vnet_link *link,
					     const union vnet_address *peer)
{
	struct vnet_port *port =
		srcu_dereference(link->port[peer->port % NIC_MAX_GIDS], &vnet_inside);

	return port && port->own.port == peer->port ? port : NULL;
}

/* Whether the address is one of this machine, in the port's namespace. */
bool vnet_is_local(const struct vnet_port *port, const union vnet_address *address);
static inline u32 vnet_address_size(const union vnet_address *address)
{
	return address->any.sa_family == AF_INET6 ? sizeof(address->in6) : sizeof(address->in);
}

/* The address that a GID contains, with the port. Returns false if no node can have it. */
bool vnet_address_of(const u8 *gid, int scope, union vnet_address *address);
/* The IP address of a peer, in IPv4-mapped form for IPv4, and its UDP port. */
void vnet_put_address(const union vnet_address *address, u8 bytes[16], __be16 *port);
/*
 * Choose the source address, as the firmware does not name one: the GID with the longest prefix
 * in common with the peer's. The choice is the same in every context.
 */
struct vnet_port *vnet_port_towards(const struct vnet_link *link, const u8 *gid, int family);
/* Ports or keys have changed: restart the rows that used others. May sleep. */
void vnet_link_check(struct vnet_dev *dev);

/* ------------------------------------------------------------------- keys.c */

/*
 * Draw the link's own keys, and allocate its replay memory. Returns 0, -ENOMEM or -EINTR. Waits
 * until the kernel's random generator is seeded.
 */
int vnet_keys_init(struct vnet_link *link, const struct net *net);
void vnet_keys_free(struct vnet_link *link);
/*
 * Add a key to a group. Without `accept`, the new key is used for sending, and the one used
 * before is still accepted; with `accept`, the other way round. All further keys are forgotten.
 * If the group sends with this key already, it becomes the group's only key. Returns 0, -EINVAL
 * (too short), -ENOSPC, -ENOMEM, -EINTR, or an error of the hash. May sleep.
 */
int vnet_keys_add(struct vnet_link *link, const struct vnet_network *peers, const void *secret,
		  size_t length, bool accept);
/* Forget all keys of a group. Returns 0, -ENOENT or -ENOMEM. */
int vnet_keys_forget(struct vnet_link *link, const struct vnet_network *peers);
void vnet_keys_forget_all(struct vnet_link *link);
/* Given keys, or NULL. The caller is in a read section of vnet_inside. */
static inline const struct vnet_keys *vnet_keys_of(const struct vnet_link *link)
{
	return srcu_dereference(link->keys, &vnet_inside);
}
/* The key for sending to a peer, given or common, or NULL. */
const struct vnet_key *vnet_key_of(const struct vnet_link *link, const struct vnet_keys *keys,
				   const union vnet_address *peer);
/* The key with number `id` among those that apply to a peer. local: the peer is on this machine. */
const struct vnet_key *vnet_key_find(const struct vnet_link *link, const struct vnet_keys *keys,
				     const u8 ip[16], bool local, __le32 id);
/* Whether a key applies to this peer. The caller is in a read section of vnet_inside. */
bool vnet_has_key(const struct vnet_link *link, const union vnet_address *peer);
/* See plat_same_key_group(). The caller is in a read section of vnet_inside. */
bool vnet_same_key_group(const struct vnet_link *link, const union vnet_address *a,
			 const union vnet_address *b);

/* ------------------------------------------------------------------- seal.c */

/*
 * Complete a frame as its field `proof` says: append a trailer with a MAC, or fill in the CRC.
 * Returns the new length, or 0 if the GID is gone or no key applies to the peer (counted).
 * *leaves: the frame may leave this machine.
 */
u32 vnet_seal(struct vnet_link *link, const union vnet_address *to, u8 *frame, u32 length,
	      bool *leaves);
/*
 * Check a frame, and remove its trailer if it has one. Returns the frame's length, or 0 to drop
 * it (counted). local: it arrived by a loopback device. *stranger: it was sealed with an unknown
 * key.
 */
u32 vnet_unseal(struct vnet_link *link, const union vnet_address *from, bool local, const u8 *frame,
		u32 length, struct nic_proof *proof, bool *stranger);
/*
 * Record the number of an authenticated frame. Returns false if it was received before
 * (counted).
 */
bool vnet_replay_check(struct nic *nic, struct vnet_link *link, const struct nic_proof *proof);

/* ------------------------------------------------------------------- send.c */

int vnet_batches_make(struct vnet_link *link);
void vnet_batches_free(struct vnet_link *link);
/* Send the batches that were left. Called by a receiver. */
void vnet_batches_send(struct vnet_link *link);

/* ---------------------------------------------------------------- receive.c */

int vnet_encap_rcv(struct sock *sk, struct sk_buff *skb);
int vnet_receivers_make(struct vnet_link *link);
/* Stop all receivers: on return, none is running. The sockets are closed. May sleep. */
void vnet_receivers_stop(struct vnet_link *link);
void vnet_receivers_free(struct vnet_link *link);

#endif /* VNET_IB_LINK_LAYERS_H */
