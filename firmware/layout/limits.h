/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Bounds of a NIC, its locks' type, and the number that names nothing. */
#ifndef NIC_LIMITS_H
#define NIC_LIMITS_H

#include "layout/types.h"
#include "vnet_wire.h"

enum nic_limits {
	NIC_MAX_GIDS = 16,
	NIC_MTU = 4096,
	NIC_ATOMIC_LOCKS = 64,
	/* Low bits of a QP number are its index, the rest its generation. */
	NIC_QPN_BITS = 24,
	NIC_KEY_TAG_BITS = 8,
	/* Packets of a queue pair that may be under way at once. */
	NIC_WINDOW = 64,
	/* QPs whose turn for a channel of a row is kept. */
	NIC_ROW_QUEUE = 64,
	/* Results of atomic operations that a responder keeps. */
	NIC_RESULTS = 16,
	/* The most that a frame carries, whatever was agreed. */
	NIC_MAX_PAYLOAD = VNET_WIRE_MAX_FRAME - VNET_WIRE_SLACK,
	/* Queue pairs that are attached to multicast groups, each as often as to one. */
	NIC_MAX_MEMBERS = 256,
	/* Flows of Ethernet frames, and counters that these may have. */
	NIC_MAX_FLOWS = 256,
	NIC_MAX_FLOW_COUNTERS = 256,
	/* Work queues among which frames are spread, as a power of two; and the key. */
	NIC_MAX_RSS_LOG = 7,
	NIC_RSS_KEY = 40,
	/* An Ethernet frame: its header, and the most that a port takes. */
	NIC_ETHER_HEADER = 14,
	NIC_MAX_ETHER = 9216,
	/* Entry of the client table, whose contents are the host's. */
	NIC_CLIENT_SIZE = 64,
};

#define NIC_MAX_MSG 0x80000000ull
/*
 * A stretch: what one call executes, or one round of nic_run(), before the host has its
 * turn (plat_turn()). At most so many requests, and so many bytes copied by them; a longer
 * request is moved in pieces, and others may have their turn after each.
 */
#ifndef NIC_TEST_STEPS
#define NIC_STRETCH_REQUESTS 256u
#define NIC_STRETCH_BYTES (2ull << 20)
#define NIC_PIECE_BYTES (1ull << 20)
#else
/* Small, so that tests need no gigabytes to see many. */
#define NIC_STRETCH_REQUESTS 64u
#define NIC_STRETCH_BYTES (72ull << 10)
#define NIC_PIECE_BYTES (8ull << 10)
#endif
/*
 * Set in controlled Q_Keys. In a send request it selects the queue pair's own Q_Key (IB
 * vol 1, 10.2.5). The host decides which queue pairs may have a controlled Q_Key.
 */
#define NIC_QKEY_CONTROLLED 0x80000000u
/* No object: CQ, SRQ, channel numbers. */
#define NIC_NONE 0xffffffffu

/*
 * A lock word: 0 free, else the owner's id (see nic.self): which process may
 * be inside, so that the agent can clean up after a dead one.
 */
typedef u32 nic_lock_t;

#endif /* NIC_LIMITS_H */
