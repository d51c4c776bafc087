/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The link: a UDP socket for each address that is a GID of the device, in the
 * net device's namespace. Grouped by the file that implements it.
 *
 * Frames leave in batches. Whoever runs the firmware has batches of its own, from
 * its first frame to plat_flush(); those who may not call the network (consumers
 * in the kernel, which may hold anything) leave theirs to a receiver. Frames that
 * arrive are queued and, when the network has no more of them, given to the firmware,
 * all by the same softirq: each processor has a receiver of its own. What they make
 * the firmware send leaves from there as well, so no task is woken for any of it.
 *
 * A softirq must not enter the firmware in the midst of a task's being there, on
 * whose locks it would wait in vain: tasks enter it between vnet_enter() and
 * vnet_leave().
 *
 * Who uses what: sockets and given keys are found by those inside (vnet_inside), and
 * freed when all of these have left; the network's callback is ended by its own
 * grace period before its socket is freed, and receivers after that. The common key and
 * the replay memory are there from the link's beginning to its end.
 */
#ifndef VNET_IB_LINK_H
#define VNET_IB_LINK_H

#include <linux/in.h>
#include <linux/in6.h>
#include <linux/interrupt.h>
#include <linux/net.h>
#include <linux/skbuff.h>

#include "recovery/replay.h"
#include "vnet_ib.h"

enum vnet_link_limits {
	/* The most payload in a frame; and the longest frame then, however it is made. */
	VNET_LINK_PAYLOAD = 16384,
	VNET_LINK_FRAME = VNET_LINK_PAYLOAD + VNET_WIRE_SLACK,
	/* Frames of a batch; and bytes, after which there is none to come. */
	VNET_BATCH_FRAMES = 64,
	VNET_BATCH_SIZE = 64 << 10,
	/* Memory of frames that wait for a receiver; and of those that wait to leave. */
	VNET_LINK_QUEUE = 16 << 20,
	VNET_SEND_QUEUE = 8 << 20,
	/* That for sending, and another that is accepted. */
	VNET_KEYS = 16,
};

/* Where frames go to, or come from, and by which of our sockets. */
union vnet_address {
	struct nic_address nic;
	struct {
		union {
			struct sockaddr any;
			struct sockaddr_in in;
			struct sockaddr_in6 in6;
		};
		/* Index of the GID. */
		u32 port;
	};
};
static_assert(sizeof(union vnet_address) == sizeof(struct nic_address));

/* One of our addresses. */
struct vnet_port {
	struct vnet_link *link;
	struct socket *sock;
	u8 gid[VNET_WIRE_GID_SIZE];
	union vnet_address own;
};

/* A group of peers: those whose addresses (IPv4-mapped ones) begin with these bits. */
struct vnet_network {
	struct in6_addr ip;
	u32 bits;
};

struct vnet_key {
	__le32 id;
	u8 bytes[VNET_WIRE_KEY_SIZE];
	struct vnet_network peers;
	/* For sending: our salt, and what follows from both. */
	u8 salt[VNET_WIRE_SALT_SIZE];
	u8 subkey[VNET_WIRE_KEY_SIZE];
	/* What secrets (plat_secret()) follow from. */
	u8 secret_key[VNET_WIRE_KEY_SIZE];
};

/*
 * Given keys. For a peer those count that have the narrowest network it is in: the first
 * of these is for sending, all of them are accepted. A peer that no network covers has the
 * link's common key if it is local, else none.
 */
struct vnet_keys {
	u32 n;
	struct vnet_key key[VNET_KEYS];
};
static_assert(VNET_KEYS + 1 <= NIC_REPLAY_KEYS);

struct vnet_batch {
	/* Who has it; see vnet_executor(). 0: nobody. */
	unsigned long owner;
	/* Of several that one executor has, in their order: the last has the first. */
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
		/* It may leave this machine. */
		bool leaves;
	} frame[VNET_BATCH_FRAMES];
};

/* Frames that came to nothing, by reason; atomically advanced. */
struct vnet_link_counters {
	/*
	 * The network did not take them; there is no key for the peer, or none but the
	 * common one for a frame that would leave the machine.
	 */
	u64 unsent;
	u64 no_key;
	/* All batches were somebody's. */
	u64 no_batch;
	/* From elsewhere, and there is no key. */
	u64 strangers;
	/* Too many waited for a receiver; one was too long. */
	u64 overrun;
	u64 oversize;
	/* Without a MAC, with one of an unknown key, with a wrong one. */
	u64 no_mac;
	u64 unknown_key;
	u64 bad_mac;
	/* With a right MAC, and not for the first time. */
	u64 replayed;
};

/* Of each processor: what arrived there, and who gives it to the firmware. */
struct vnet_receiver {
	struct vnet_link *link;
	struct vnet_view view;
	struct tasklet_struct tasklet;
	struct sk_buff_head arrived;
	/* The frame in hand. */
	u8 *frame;
};

struct vnet_link {
	struct vnet_dev *dev;
	struct vnet_receiver __percpu *receiver;
	struct vnet_port __rcu *port[NIC_MAX_GIDS];

	/* Of all devices of this machine and network namespace, which has this cookie. */
	struct vnet_key common;
	u64 net_cookie;
	/* By which this NIC knows its own cookies: plat_secret() without a peer. */
	u8 own_secret[VNET_WIRE_KEY_SIZE];
	/* Given keys, or NULL: changed under the mutex. */
	struct vnet_keys __rcu *keys;
	struct mutex keys_lock;
	/* Frames that were sealed, by whichever key: no number comes twice. */
	atomic64_t sealed;
	/* Those with a MAC that have come. */
	struct nic_replay *replay;

	/* How many batches somebody has. */
	atomic_t busy;
	u32 nbatch;
	struct vnet_batch *batch;
	/* Those that their owners left to a receiver; and how one is called, from anywhere. */
	struct llist_head left;
	struct irq_work call;

	/* What frames occupy that have arrived. */
	atomic_t waiting;

	struct vnet_link_counters counters;
};

/* -------------------------------------------------------- link.c: addresses */

/* For a net device that is in this namespace. May sleep. */
int vnet_link_make(struct vnet_dev *dev, const struct net *net);
/* Nothing arrives any more. What leaves comes to nothing. */
void vnet_link_stop(struct vnet_dev *dev);
void vnet_link_end(struct vnet_dev *dev);
/* Frames are to fit the net device. */
void vnet_link_fit(struct vnet_dev *dev);
/* A GID comes, which then has a socket, if it can; and goes. May sleep. */
void vnet_link_add(struct vnet_dev *dev, const struct ib_gid_attr *attr);
void vnet_link_del(struct vnet_dev *dev, u32 index);

/* The socket of a GID, for those inside; NULL: there is none any more. */
static inline struct vnet_port *vnet_port_at(const struct vnet_link *link, u32 index)
{
	return index < NIC_MAX_GIDS ? srcu_dereference(link->port[index], &vnet_inside) : NULL;
}

/* Is it an address of this machine, in the port's namespace? */
bool vnet_is_local(const struct vnet_port *port, const union vnet_address *address);
static inline u32 vnet_address_size(const union vnet_address *address)
{
	return address->any.sa_family == AF_INET6 ? sizeof(address->in6) : sizeof(address->in);
}

/* ------------------------------------------------------- link_send.c: batches */

int vnet_batches_make(struct vnet_link *link);
void vnet_batches_free(struct vnet_link *link);
/* The firmware was left: whatever it made is on its way. */
void vnet_link_leave(struct vnet_view *view);
/* Send what others left. */
void vnet_batches_send(struct vnet_link *link);

/* ------------------------------------------------- link_receive.c: receivers */

int vnet_encap_rcv(struct sock *sk, struct sk_buff *skb);
int vnet_receivers_make(struct vnet_link *link);
/* Nothing arrives any more: when this returns, none of them runs. May sleep. */
void vnet_receivers_stop(struct vnet_link *link);
void vnet_receivers_free(struct vnet_link *link);
/* A receiver will send what was left. Any context. */
void vnet_receiver_call(struct vnet_link *link);

/* -------------------------------------------- link_key.c: keys, MACs and secrets */

/*
 * The keys that a link has from birth, and its replay memory: 0, -ENOMEM, -EINTR. Waits
 * until the kernel's random generator is seeded.
 */
int vnet_keys_init(struct vnet_link *link, const struct net *net);
void vnet_keys_free(struct vnet_link *link);
/*
 * A group's key: for sending, that which was so is accepted beside; accept: the other way
 * round. The same once more: it is the only one. 0, -EINVAL (too short), -ENOSPC,
 * -ENOMEM, -EINTR.
 */
int vnet_keys_add(struct vnet_link *link, const struct vnet_network *peers, const void *secret,
		  size_t length, bool accept);
/* A group has none any more: 0, -ENOENT, -ENOMEM. */
int vnet_keys_forget(struct vnet_link *link, const struct vnet_network *peers);
void vnet_keys_forget_all(struct vnet_link *link);
/*
 * Make the frame prove itself as it says (vnet_frame.proof): append a trailer with a MAC, or
 * fill in the CRC. The new length; 0: there is no such address of ours any more, or no key
 * for the peer (counted). *leaves: it may leave this machine.
 */
u32 vnet_seal(struct vnet_link *link, const union vnet_address *to, u8 *frame, u32 length,
	      bool *leaves);
/*
 * Check and take off the trailer, if it has one: the frame's length; 0: drop it (counted).
 * local: it is from this machine. *stranger: it is sealed with a key that there is not.
 */
u32 vnet_unseal(struct vnet_link *link, const union vnet_address *from, bool local, const u8 *frame,
		u32 length, struct nic_proof *proof, bool *stranger);
/* Has a frame that gave this proof come for the first time? false: drop it (counted). */
bool vnet_is_first(struct nic *nic, struct vnet_link *link, const struct nic_proof *proof);
/* Is there a key for this peer? For those inside. */
bool vnet_has_key(const struct vnet_link *link, const union vnet_address *peer);
/* As plat_same_key_group(), for those inside. */
bool vnet_same_key_group(const struct vnet_link *link, const union vnet_address *a,
			 const union vnet_address *b);

/* ---------------------------------------------------------------- link_files.c */

/* For the device's folder in sysfs. */
extern const struct attribute_group vnet_link_group;

#endif /* VNET_IB_LINK_H */
