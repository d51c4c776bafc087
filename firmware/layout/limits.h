/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Limits of a NIC, and the type of its locks. */
#ifndef NIC_LIMITS_H
#define NIC_LIMITS_H

#include "layout/types.h"
#include "vnet_wire.h"

enum nic_limits {
	NIC_MAX_GIDS = 16,
	NIC_MTU = 4096,
	NIC_ATOMIC_LOCKS = 64,
	/* Bits of a QP number. The low bits are the table index, the others are random. */
	NIC_QPN_BITS = 24,
	NIC_KEY_TAG_BITS = 8,
	/* Limit of outstanding packets of a queue pair. */
	NIC_WINDOW = 64,
	/* Limit of QPs in the queue for a row's channels. */
	NIC_ROW_QUEUE = 64,
	/* Results of atomic operations that a responder stores. */
	NIC_RESULTS = 16,
	/* Upper limit of the payload of a frame. */
	NIC_MAX_PAYLOAD = VNET_WIRE_MAX_FRAME - VNET_WIRE_SLACK,
	/* Attachments of queue pairs to multicast groups. */
	NIC_MAX_MEMBERS = 256,
	/* Flows of Ethernet frames, and their counters. */
	NIC_MAX_FLOWS = 256,
	NIC_MAX_FLOW_COUNTERS = 256,
	/* RSS: log2 of the limit of work queues; length of the hash key. */
	NIC_MAX_RSS_LOG = 7,
	NIC_RSS_KEY = 40,
	/* Ethernet frame: length of the header, and limit of the total length. */
	NIC_ETHER_HEADER = 14,
	NIC_MAX_ETHER = 9216,
	/* Size of an entry of the client table; its contents are the host's. */
	NIC_CLIENT_SIZE = 128,
};

#define NIC_MAX_MSG 0x80000000ull
/*
 * A stretch is what one call, or one round of nic_run(), executes before the host has its turn
 * (plat_yield()). It is bounded in requests and in bytes copied. A longer request is executed in
 * pieces, and other QPs may have their turn after each.
 */
#ifndef NIC_TEST_STEPS
#define NIC_STRETCH_REQUESTS 256u
#define NIC_STRETCH_BYTES (2ull << 20)
#define NIC_PIECE_BYTES (1ull << 20)
#else
/* Small, so that tests see many stretches without gigabytes of data. */
#define NIC_STRETCH_REQUESTS 64u
#define NIC_STRETCH_BYTES (72ull << 10)
#define NIC_PIECE_BYTES (8ull << 10)
#endif
/*
 * Set in controlled Q_Keys. In a send request it selects the queue pair's own Q_Key (IB
 * vol 1, 10.2.5). The host decides which queue pairs may have a controlled Q_Key.
 */
#define NIC_QKEY_CONTROLLED 0x80000000u
/* No object: invalid index or number of a CQ, SRQ or channel. */
#define NIC_NONE 0xffffffffu

/*
 * A lock word: 0 if free, else the owner's id (nic.self). It shows which process may hold the lock,
 * so that the agent can recover it from a dead one.
 */
typedef u32 nic_lock_t;

#endif /* NIC_LIMITS_H */
