/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The link: a UDP socket that every process of a NIC holds, so that whoever has
 * a frame sends it, and whoever polls receives. What they must agree on is in
 * memory that they share, made by the agent; grouped by who implements what.
 */
#ifndef LINK_H
#define LINK_H

#include <netinet/in.h>

#include "host.h"
#include "recovery/replay.h"

#define LINK_MAGIC 0x356b6e696c766e76ull
#define LINK_KEYS 16
#define LINK_HELD 256
/* Peers whose frames have faults of their own. */
#define LINK_FAULTY_PEERS 16
/* A client's look at the link is fresh for so long, ns. */
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

/* A group of peers: those whose addresses (IPv4-mapped ones) begin with these bits. */
struct link_network {
	u8 address[16];
	u32 bits;
};

struct link_key {
	u32 id;
	u8 bytes[VNET_WIRE_KEY_SIZE];
	struct link_network peers;
	/* Its file has another one by now. */
	u32 former;
	/* For sending: what follows from it and our salt. */
	u8 subkey[VNET_WIRE_KEY_SIZE];
	/* What secrets (plat_secret()) follow from. */
	u8 secret_key[VNET_WIRE_KEY_SIZE];
};

/*
 * For a peer those count that have the narrowest network it is in: the first of these is
 * used for sending, all of them are accepted.
 */
struct link_keys {
	u32 n;
	struct link_key key[LINK_KEYS];
	/*
	 * That of the runtime directory, which all nodes of the user share: for peers of the
	 * loopback network that none of the others is for.
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

/* What the link does to frames on purpose. Shares are of 2^32. */
struct link_faults {
	u32 loss;
	u32 duplicate;
	u32 reorder;
	u32 corrupt;
	/* Every frame is late by this, and by up to so much more, us. */
	u32 delay;
	u32 jitter;
	/* How late a frame is that others are to overtake, us. */
	u32 reorder_by;
	u32 down;
	/* Bytes a second; 0: no limit. */
	u64 rate;
	u64 seed;
	/* enum link_direction */
	u32 directions;
	u32 rsvd;
};

/* For the frames of one peer, in place of those for all. */
struct link_peer_faults {
	/* As an IPv6 address, IPv4-mapped perhaps; 0: nobody has this place. */
	u8 peer[16];
	struct link_faults faults;
};

/* Each keeps its place, whoever else comes and goes. */
struct link_faulty_peers {
	/* Places up to the last that somebody has. */
	u32 n;
	u32 rsvd;
	struct link_peer_faults one[LINK_FAULTY_PEERS];
};

/* What was done to a frame on purpose. */
enum link_deed {
	LINK_LOST,
	LINK_DUPLICATED,
	LINK_REORDERED,
	LINK_CORRUPTED,
	LINK_DELAYED,
	LINK_LIMITED,
	LINK_WHILE_DOWN,
	LINK_DEEDS,
};

/* How far the frames are that some faults are for. */
struct link_course {
	/* How many were considered; when the next of a direction may leave, by the rate. */
	u64 considered;
	u64 next_departure[2];
	/* By enum link_deed. */
	u64 deeds[LINK_DEEDS];
};

/* A frame that is kept back. */
struct link_held {
	/* 0 free, 1 being filled, 2 waiting, 3 being released. */
	u32 state;
	/* enum link_direction */
	u32 direction;
	/* NIC clock. */
	u64 due;
	struct nic_address peer;
	u32 length;
	u32 rsvd;
	u8 frame[VNET_WIRE_MAX_FRAME + 64] __attribute__((aligned(64)));
};

/* --------------------------------------------------------- memory of the link */

struct link_counters {
	/* Frames that the system did not take. */
	u64 unsent;
	/* From beyond this machine, and there is no key. */
	u64 strangers;
	/* To a peer that no key is for. */
	u64 no_key;
	/* Without a MAC, with one of an unknown key, with a wrong one. */
	u64 no_mac;
	u64 unknown_key;
	u64 bad_mac;
	/* Datagrams that are no frame: too long. */
	u64 oversize;
	/* On purpose, to frames of all peers, by enum link_deed. */
	u64 deeds[LINK_DEEDS];
	/* With a right MAC, and not for the first time. */
	u64 replayed;
	u64 rsvd[2];
};

enum link_refusal_why {
	/* We have no key for its address. */
	LINK_NO_KEY,
	/* It has no key of ours. */
	LINK_OTHER_KEY,
	/* Nothing says where the GID is. */
	LINK_UNKNOWN,
	/*
	 * Nobody listens at the address on this node; the address is also that of the node with
	 * this GID, which is none of this runtime directory.
	 */
	LINK_ELSEWHERE,
};

/* Somebody was refused, or has refused us: what a person is to be told. */
struct link_refusal {
	/* How many there were; the rest is about the last one. */
	u32 count;
	/* enum link_refusal_why */
	u32 why;
	u8 gid[16];
};

struct link_memory {
	u64 magic;
	/* Our own address; and the port of peers that are in no list. */
	union link_address own;
	u32 port;
	/* The machine's addresses as GIDs: the node at 127.0.0.1 has them. */
	u32 nmachine;
	u8 machine[NIC_MAX_GIDS][16];
	/* Largest datagram that the network takes whole, headers not counted. */
	u32 mtu;
	/* The system cuts one large datagram into frames. */
	u32 segments;
	/* Peers beyond this machine may be spoken to (there is a key). */
	u32 reachable;
	/* Folder with a symbolic link for each GID, named by it: link_resolve.c */
	char gids[2048];

	/* By which this NIC knows its own cookies: plat_secret() without a peer. */
	u8 own_secret[VNET_WIRE_KEY_SIZE];
	struct link_refusal refusal;

	/* The agent wakes up for frames. */
	u32 agent_listens __attribute__((aligned(64)));
	/* Which of the two tables of keys counts. */
	u32 keys_in_use __attribute__((aligned(64)));
	struct link_keys keys[2];
	/* Frames that were sealed, by whichever key: no number comes twice. */
	u64 sealed __attribute__((aligned(64)));

	/* Any faults at all; then these; and those that single peers have instead. */
	u32 faulty __attribute__((aligned(64)));
	struct link_faults faults;
	struct link_faulty_peers faulty_peers;
	/* Of the frames of all others, and of each of these peers. */
	struct link_course course[1 + LINK_FAULTY_PEERS] __attribute__((aligned(64)));
	/* How many are held, and a time before which none is due. */
	u32 nheld;
	u64 held_due;

	struct link_counters counters __attribute__((aligned(64)));

	/* Frames with a MAC that have come. */
	struct nic_replay replay __attribute__((aligned(4096)));

	struct link_held held[LINK_HELD] __attribute__((aligned(4096)));
};

static inline void link_count(u64 *counter)
{
	(void)__atomic_fetch_add(counter, 1, __ATOMIC_RELAXED);
}

/* ----------------------------------------------------------------------- link.c */

/* The link of a host: fd and memory become its own. After host_init(). */
int host_link_open(struct host *host, int fd, struct link_memory *memory, u64 size);
/* By host_fini(). The descriptor stays open, the memory mapped. */
void link_close(struct host *host);
/* Is the descriptor still ours? Else the link is none any more. */
bool link_check(struct host *host);

/* Append a frame to what the thread is about to send; no faults, no MAC yet. */
void link_queue(struct host *host, const struct nic_address *to, const void *frame, u32 length);
/* Hand what this thread has to the system. */
void link_flush(struct host *host);

/* --------------------------------------------------------------- link_receive.c */

int link_receive_open(struct host *host);
void link_receive_close(struct host *host);

/*
 * Take what has arrived, `turns` batches at most, and frames that were held back;
 * answers how many there were. By any thread, never from within the firmware.
 */
u32 link_poll(struct nic *nic, u32 turns);
/* Tell the user of NICs that were refused, or refuse, since this process told last. */
static inline void link_tell_refusals(struct host *host)
{
	const struct link_refusal *refusal = &host->link.memory->refusal;
	u32 count = nic_load_acquire(&refusal->count);

	if (likely(count == host->link.refusals_told) || !host->refused)
		return;
	host->link.refusals_told = count;
	host->refused(host, refusal->gid, nic_load(&refusal->why));
}
/*
 * An empty poll of a process: it runs the link itself; unless it is about to sleep
 * (the queue is armed), when the agent gets it back.
 */
void link_idle(struct nic *nic, u32 cqn);
/*
 * This process sleeps on the socket, too, and was woken by it: it runs the link,
 * and the agent need not wake up as long as that happens often.
 */
void link_woken(struct nic *nic);
/* This process goes to sleep: the agent is to run the link. */
void link_hand_back(struct nic *nic);
/* Some client looked at the link within LINK_FRESH_NS. */
bool link_is_polled(const struct nic *nic, u64 now);

/* ------------------------------------------------------------------- link_mac.c */

/* Its IP address alone, IPv4-mapped where it is one of IPv4. */
void link_ip(const union link_address *address, u8 ip[16]);
/* From what its owners keep; for all peers. */
void link_key_derive(struct link_key *key, const void *secret, size_t length);
/* Replace all keys; by the agent alone. */
void link_keys_set(struct link_memory *link, const struct link_keys *keys);
static inline const struct link_keys *link_keys(const struct link_memory *link)
{
	return &link->keys[nic_load_acquire(&link->keys_in_use) & 1];
}
bool link_key_equal(const struct link_key *a, const struct link_key *b);
bool link_network_equal(const struct link_network *a, const struct link_network *b);
/* That for sending to exactly these peers; NULL: there is none. */
const struct link_key *link_first_key(const struct link_keys *keys,
				      const struct link_network *peers);
/* Is there a key for this peer? */
bool link_has_key(const struct link_memory *link, const union link_address *peer);
/* And is it one that was given, not the common one of the runtime directory? */
bool link_has_given_key(const struct link_memory *link, const union link_address *peer);
/*
 * Make the frame prove itself as it says (vnet_frame.proof): append a trailer with a MAC, or
 * fill in the CRC. The new length; 0: it may not go there.
 */
u32 link_seal(struct link_memory *link, const union link_address *to, u8 *frame, u32 length);
/*
 * Check and take off the trailer, if it has one: the frame's length, 0: drop it (counted).
 * *stranger: because it is sealed with a key that there is not.
 */
u32 link_unseal(struct link_memory *link, const union link_address *from, const u8 *frame,
		u32 length, struct nic_proof *proof, bool *stranger);
/* Has a frame that gave this proof come for the first time? false: drop it (counted). */
bool link_is_first(struct nic *nic, struct link_memory *link, const struct nic_proof *proof);

/* ----------------------------------------------------------------- link_fault.c */

/* What becomes of a frame. */
enum link_fate {
	LINK_FATE_GO,
	/* It is lost, or held back: nothing more to do. */
	LINK_FATE_GONE,
	LINK_FATE_TWICE,
};

/* Outgoing frames have their trailer, incoming ones too. May change the frame. */
enum link_fate link_fault(struct host *host, enum link_direction direction,
			  const struct nic_address *peer, u8 *frame, u32 length);
/* Keep a copy of a frame back; false: there is no room. */
bool link_hold(struct link_memory *memory, enum link_direction direction,
	       const struct nic_address *peer, const u8 *frame, u32 length, u64 due);
/*
 * Frames whose time has come go out, or are given to take(). Answers when the next
 * one is due, by the NIC's clock; ~0: there are none.
 */
u64 link_release(struct nic *nic, void (*take)(struct nic *nic, const struct nic_address *from,
					       u8 *frame, u32 length));

/* --------------------------------------------------------------- link_resolve.c */

/* Name of a GID's entry in the folder of GIDs. */
#define LINK_GID_NAME 33
void link_gid_name(const u8 *gid, char name[LINK_GID_NAME]);
/* The GID that has such a name; false: nobody's. */
bool link_gid_parse(const char *name, u8 *gid);
/* What its symbolic link says: an address as text, and back. */
#define LINK_ADDRESS_TEXT (2 * sizeof(struct nic_address) + 1)
void link_address_text(const struct nic_address *address, char text[LINK_ADDRESS_TEXT]);
bool link_is_loopback(const union link_address *address);
/* For people: the LID, where it is one that the GID stands for. */
#define LINK_GID_TEXT INET6_ADDRSTRLEN
void link_gid_text(const u8 *gid, char text[LINK_GID_TEXT]);
/* Note for the user that this NIC is not spoken with. */
void link_refused(struct link_memory *memory, const u8 *gid, enum link_refusal_why why);

static inline u32 link_address_length(const union link_address *address)
{
	return address->any.sa_family == AF_INET6 ? sizeof(address->in6) : sizeof(address->in);
}

#endif /* LINK_H */
