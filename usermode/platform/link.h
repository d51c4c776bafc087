/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The link: the UDP socket between NICs, shared by all processes of a NIC. A process that has a
 * frame sends it, and a process that polls receives. The shared state is in memory made by the
 * agent. Declarations are grouped by the file that implements them.
 */
#ifndef LINK_H
#define LINK_H

#include <netinet/in.h>

#include "host.h"
#include "vn/replay.h"

#define LINK_MAGIC 0x356b6e696c766e76ull
#define LINK_KEYS 16
#define LINK_HELD 256
/* Limit of peers with faults of their own. */
#define LINK_FAULTY_PEERS 16
/* The agent leaves the socket to clients for this time after a client has polled it, ns. */
#define LINK_FRESH_NS 1000000ull

/* Where frames go: a socket address, padded with zeros. */
union link_address {
	struct nic_address nic;
	struct sockaddr any;
	struct sockaddr_in in;
	struct sockaddr_in6 in6;
};
static_assert(sizeof(union link_address) == sizeof(struct nic_address), "a socket address fits");

/* ----------------------------------------------------------------- link_mac.c */

/* A group of peers: those whose addresses (IPv4 as IPv4-mapped) begin with these bits. */
struct link_network {
	u8 address[16];
	u32 bits;
};

struct link_key {
	u32 id;
	u8 bytes[VNET_WIRE_KEY_SIZE];
	struct link_network peers;
	/* The key's file contains another key by now. */
	u32 former;
	/* For sending: derived from the key and our salt. */
	u8 subkey[VNET_WIRE_KEY_SIZE];
	/* Key of plat_secret() for these peers. */
	u8 secret_key[VNET_WIRE_KEY_SIZE];
};

/*
 * The keys of a peer are those with the narrowest network that it is in. The first of these is used
 * for sending, all of them are accepted.
 */
struct link_keys {
	u32 n;
	struct link_key key[LINK_KEYS];
	/*
	 * The key of the runtime directory, which all nodes of the user share. For peers on the
	 * loopback network that no other key is for.
	 */
	struct link_key common;
	u8 salt[VNET_WIRE_SALT_SIZE];
};
static_assert(LINK_KEYS + 1 <= NIC_REPLAY_KEYS, "they can be told apart");

/* ---------------------------------------------------------------- link_fault.c */

enum link_direction {
	LINK_OUT = 1,
	LINK_IN = 2,
};

/* Faults that the link injects. Probabilities are in units of 1/2^32. */
struct link_faults {
	u32 loss;
	u32 duplicate;
	u32 reorder;
	u32 corrupt;
	/* Delay of every frame, and the upper limit of a further random delay, us. */
	u32 delay;
	u32 jitter;
	/* Additional delay of a frame that is to be overtaken, us; 0: the default. */
	u32 reorder_by;
	u32 down;
	/* Bytes per second; 0: no limit. */
	u64 rate;
	u64 seed;
	/* enum link_direction */
	u32 directions;
	u32 rsvd;
};

/* Faults for the frames of one peer, instead of the general ones. */
struct link_peer_faults {
	/* IPv6 or IPv4-mapped address; 0: this entry is free. */
	u8 peer[16];
	struct link_faults faults;
};

/* An entry keeps its index when others come and go. */
struct link_faulty_peers {
	/* Index of the last used entry, plus 1. */
	u32 n;
	u32 rsvd;
	struct link_peer_faults one[LINK_FAULTY_PEERS];
};

/* Injected faults, as counted. */
enum link_fault_kind {
	LINK_LOST,
	LINK_DUPLICATED,
	LINK_REORDERED,
	LINK_CORRUPTED,
	LINK_DELAYED,
	LINK_LIMITED,
	LINK_WHILE_DOWN,
	LINK_FAULT_KINDS,
};

/* State of one set of faults. */
struct link_course {
	/*
	 * Number of frames considered, and for each direction the time from which the rate lets the
	 * next frame leave.
	 */
	u64 considered;
	u64 next_departure[2];
	/* Indexed by enum link_fault_kind. */
	u64 injected[LINK_FAULT_KINDS];
};

/* A frame that is held back. */
struct link_held {
	/*
	 * Bits 7..0: enum held_state (link_fault.c): 0 free, 1 being filled, 2 waiting, 3 being
	 * released. Bits 31..8: owner id of the process that fills or releases it, otherwise 0.
	 */
	u32 state;
	/* enum link_direction */
	u32 direction;
	/* When to release it, by the NIC's clock. */
	u64 due;
	struct nic_address peer;
	u32 length;
	u32 rsvd;
	u8 frame[VNET_WIRE_MAX_FRAME + 64] __attribute__((aligned(64)));
};

/* --------------------------------------------------------- memory of the link */

struct link_counters {
	/* Frames that the kernel did not accept. */
	u64 unsent;
	/* Received from beyond this machine, while there is no key. */
	u64 strangers;
	/* To a peer without a key. */
	u64 no_key;
	/* Received without a MAC, with one of an unknown key, with a wrong one. */
	u64 no_mac;
	u64 unknown_key;
	u64 bad_mac;
	/* Datagrams that are too long for a frame. */
	u64 oversize;
	/* Injected faults of all peers' frames, by enum link_fault_kind. */
	u64 injected[LINK_FAULT_KINDS];
	/* Received with a valid MAC, but not for the first time. */
	u64 replayed;
	u64 rsvd[2];
};

enum link_refusal_reason {
	/* This node has no key for the peer's address. */
	LINK_NO_KEY,
	/* The peer does not have our key. */
	LINK_OTHER_KEY,
	/* No address is known for the GID. */
	LINK_UNKNOWN,
	/*
	 * No NIC answers at the address on this node. The node with this GID has the same address,
	 * but belongs to another runtime directory.
	 */
	LINK_ELSEWHERE,
};

/* A refused NIC, of which the user is to be told. */
struct link_refusal {
	/* Number of refusals; the other fields describe the last one. */
	u32 count;
	/* enum link_refusal_reason */
	u32 why;
	u8 gid[16];
};

struct link_memory {
	u64 magic;
	/* Our own address, and the port of peers that are not in the list. */
	union link_address own;
	u32 port;
	/* The machine's own addresses as GIDs: they belong to the node at 127.0.0.1. */
	u32 nmachine;
	u8 machine[NIC_MAX_GIDS][16];
	/* Largest datagram that the network does not fragment, without headers. */
	u32 mtu;
	/* The kernel splits one large datagram into frames (UDP_SEGMENT). */
	u32 segments;
	/* There is a key, so peers beyond this machine are permitted. */
	u32 reachable;
	/* Folder with a symbolic link for each GID, named by it (link_resolve.c). */
	char gids[2048];

	/* Key of plat_secret() without a peer, with which this NIC recognises its own cookies. */
	u8 own_secret[VNET_WIRE_KEY_SIZE];
	struct link_refusal refusal;

	/* The agent waits for the socket. */
	u32 agent_listens __attribute__((aligned(64)));
	/* Which of the two tables of keys is current. */
	u32 keys_in_use __attribute__((aligned(64)));
	struct link_keys keys[2];
	/* Number of frames that were sent with a MAC, over all keys: no nonce is used twice. */
	u64 sealed __attribute__((aligned(64)));

	/* Whether there are any faults; the general ones; those of single peers. */
	u32 faulty __attribute__((aligned(64)));
	struct link_faults faults;
	struct link_faulty_peers faulty_peers;
	/* State of the general faults, and of each of these peers' faults. */
	struct link_course course[1 + LINK_FAULTY_PEERS] __attribute__((aligned(64)));
	/* Frames may be held back (link_fault.c). */
	u32 holds;

	struct link_counters counters __attribute__((aligned(64)));

	/* Replay windows of frames with a MAC. */
	struct nic_replay replay __attribute__((aligned(4096)));

	struct link_held held[LINK_HELD] __attribute__((aligned(4096)));
};

static inline void link_count(u64 *counter)
{
	(void)__atomic_fetch_add(counter, 1, __ATOMIC_RELAXED);
}

/* ----------------------------------------------------------------------- link.c */

/*
 * Open the link of a host, after host_init(). fd and memory become the host's. Returns 0 or -errno.
 */
int host_link_open(struct host *host, int fd, struct link_memory *memory, u64 size);
/* Called by host_fini(). The descriptor stays open, and the memory mapped. */
void link_close(struct host *host);
/* Is the descriptor still ours? If not, the link is closed. */
bool link_check(struct host *host);

/* Append a frame to this thread's batch, as it is: without faults or a MAC. */
void link_queue(struct host *host, const struct nic_address *to, const void *frame, u32 length);
/* Send this thread's batch. */
void link_flush(struct host *host);

/* --------------------------------------------------------------- link_receive.c */

int link_receive_open(struct host *host);
void link_receive_close(struct host *host);

/*
 * Receive at most `turns` batches of frames, and release frames that were held back. Returns the
 * number of frames received. For any thread, but not from within the firmware.
 */
u32 link_poll(struct nic *nic, u32 turns);
/* link_report_refusals(), if there is one to report. */
void link_report_new(struct host *host);
/*
 * Tell the user of refusals since this process did so last. If another thread is telling the user,
 * the caller waits for it: the caller's next step may be an error that ends the program.
 */
static inline void link_report_refusals(struct host *host)
{
	u32 count = nic_load_acquire(&host->link.memory->refusal.count);

	if (unlikely(count != nic_load(&host->link.refusals_said)) && host->refused)
		link_report_new(host);
}
/*
 * Called at an empty poll of a CQ: receive frames. If the CQ is armed, the program is about to
 * sleep, and the agent takes over the socket, unless the program's threads wait for it, too.
 */
void link_idle(struct nic *nic, u32 cqn);
/*
 * A thread that waits for the socket, too, was woken by it: receive frames. While that happens
 * often, the agent does not wait for the socket.
 */
void link_woken(struct nic *nic);
/* This process is about to sleep: the agent takes over the socket. */
void link_hand_back(struct nic *nic);
/* Has a client polled the socket within the last LINK_FRESH_NS? */
bool link_is_polled(const struct nic *nic, u64 now);

/* ------------------------------------------------------------------- link_mac.c */

/* The IP address alone; IPv4 as IPv4-mapped. */
void link_ip(const union link_address *address, u8 ip[16]);
/* Derive a key, for all peers, from the secret that its users have. */
void link_key_derive(struct link_key *key, const void *secret, size_t length);
/* Replace all keys. Only the agent does this. */
void link_keys_set(struct link_memory *link, const struct link_keys *keys);
static inline const struct link_keys *link_keys(const struct link_memory *link)
{
	return &link->keys[nic_load_acquire(&link->keys_in_use) & 1];
}
bool link_key_equal(const struct link_key *a, const struct link_key *b);
bool link_network_equal(const struct link_network *a, const struct link_network *b);
/* Returns the key for sending to exactly this group of peers, or NULL. */
const struct link_key *link_first_key(const struct link_keys *keys,
				      const struct link_network *peers);
/* Is there a key for this peer? */
bool link_has_key(const struct link_memory *link, const union link_address *peer);
/* Is there one that was configured, and not only the common key of the runtime directory? */
bool link_has_given_key(const struct link_memory *link, const union link_address *peer);
/*
 * Append a trailer with a MAC, or fill in the CRC, as vnet_frame.proof says. Returns the new
 * length; 0: the frame must not be sent to this peer.
 */
u32 link_seal(struct link_memory *link, const union link_address *to, u8 *frame, u32 length);
/*
 * Check the trailer, if there is one, and remove it. Returns the frame's length; 0: drop the frame
 * (counted). *stranger: this node does not have the key of the frame's MAC.
 */
u32 link_unseal(struct link_memory *link, const union link_address *from, const u8 *frame,
		u32 length, struct nic_proof *proof, bool *stranger);
/* Has the frame with this proof arrived for the first time? false: drop it (counted). */
bool link_replay_check(struct nic *nic, struct link_memory *link, const struct nic_proof *proof);

/* ----------------------------------------------------------------- link_fault.c */

/* What happens to a frame. */
enum link_action {
	LINK_PASS,
	/* It was lost or is held back: the caller is done with it. */
	LINK_CONSUMED,
	LINK_SEND_TWICE,
};

/* Inject faults into a frame, which has its trailer in both directions. May change the frame. */
enum link_action link_fault(struct host *host, enum link_direction direction,
			    const struct nic_address *peer, u8 *frame, u32 length);
/* Hold a copy of a frame back until `due`. Returns false if there is no room. */
bool link_hold(struct host *host, enum link_direction direction, const struct nic_address *peer,
	       const u8 *frame, u32 length, u64 due);
/* Number of frames that are held back. */
u32 link_held(const struct link_memory *memory);
/*
 * A process has died: free the entries that it was filling or releasing. Their frames are lost.
 */
void link_held_recover(struct link_memory *memory, u32 owner);
/*
 * Release frames that are due: outgoing ones are sent, incoming ones passed to take(). Returns when
 * the next one is due, by the NIC's clock; ~0: there are none.
 */
u64 link_release(struct nic *nic, void (*take)(struct nic *nic, const struct nic_address *from,
					       u8 *frame, u32 length));

/* --------------------------------------------------------------- link_resolve.c */

/* Name of a GID's entry in the folder of GIDs. */
#define LINK_GID_NAME 33
void link_gid_name(const u8 *gid, char name[LINK_GID_NAME]);
/* Parse such a name; returns false if it is none. */
bool link_gid_parse(const char *name, u8 *gid);
/* The text of the entry's symbolic link: an address. */
#define LINK_ADDRESS_TEXT (2 * sizeof(struct nic_address) + 1)
void link_address_text(const struct nic_address *address, char text[LINK_ADDRESS_TEXT]);
bool link_is_loopback(const union link_address *address);
/* Text for people: the LID if the GID stands for one. */
#define LINK_GID_TEXT INET6_ADDRSTRLEN
void link_gid_text(const u8 *gid, char text[LINK_GID_TEXT]);
/* Record a refusal, for link_report_refusals(). */
void link_refused(struct link_memory *memory, const u8 *gid, enum link_refusal_reason why);

static inline u32 link_address_length(const union link_address *address)
{
	return address->any.sa_family == AF_INET6 ? sizeof(address->in6) : sizeof(address->in);
}

#endif /* LINK_H */
