/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Ethernet frames in NIC memory (layout/memory.h): flows, their counters, and RSS. */
#ifndef NIC_MEMORY_FRAMES_H
#define NIC_MEMORY_FRAMES_H

#include "layout/limits.h"

/* Headers that were recognised in a frame. */
enum nic_frame_layers {
	NIC_LAYER_VLAN = 1 << 0,
	NIC_LAYER_IPV4 = 1 << 1,
	NIC_LAYER_IPV6 = 1 << 2,
	NIC_LAYER_TCP = 1 << 3,
	NIC_LAYER_UDP = 1 << 4,
};

/* Header fields that flows match, in network byte order; 0 if the frame lacks the header. */
struct nic_frame_key {
	u8 dst_mac[6];
	u8 src_mac[6];
	/* EtherType after the last VLAN tag; the first VLAN tag. */
	u8 ether_type[2];
	u8 vlan_tag[2];
	/* IPv4 uses the first four bytes. */
	u8 src_ip[16];
	u8 dst_ip[16];
	u8 flow_label[4];
	u8 proto;
	u8 tos;
	u8 ttl;
	u8 ip_flags;
	u8 src_port[2];
	u8 dst_port[2];
	/* enum nic_frame_layers */
	u8 layers;
	u8 rsvd[3];
};
static_assert(sizeof(struct nic_frame_key) == 64, "compared by words");

/* The values of enum ibv_flow_attr_type. */
enum nic_flow_type {
	NIC_FLOW_NORMAL = 0,
	NIC_FLOW_ALL_DEFAULT = 1,
	NIC_FLOW_MC_DEFAULT = 2,
	NIC_FLOW_SNIFFER = 3,
};

enum nic_flow_flags {
	/* The frame also goes to flows of lower priority. */
	NIC_FLOW_DONT_TRAP = 1 << 0,
	/* Drop the frames of this flow. */
	NIC_FLOW_DROP = 1 << 1,
};

/* The values of enum ibv_flow_spec_type: headers, and actions. */
enum nic_flow_spec_type {
	NIC_SPEC_ETH = 0x20,
	NIC_SPEC_IPV4 = 0x30,
	NIC_SPEC_IPV6 = 0x31,
	NIC_SPEC_ESP = 0x34,
	NIC_SPEC_TCP = 0x40,
	NIC_SPEC_UDP = 0x41,
	NIC_SPEC_VXLAN = 0x50,
	NIC_SPEC_GRE = 0x51,
	NIC_SPEC_MPLS = 0x60,
	/* Flag: a header inside a tunnel. */
	NIC_SPEC_INNER = 0x100,
	NIC_SPEC_ACTION_TAG = 0x1000,
	NIC_SPEC_ACTION_DROP = 0x1001,
	NIC_SPEC_ACTION_HANDLE = 0x1002,
	NIC_SPEC_ACTION_COUNT = 0x1003,
};

/* A flow directs matching frames to a queue pair, or spreads them over work queues. */
struct nic_flow {
	/* enum nic_flow_type and enum nic_flow_flags; a lower value is a higher priority. */
	u8 type;
	u8 flags;
	u16 priority;
	/* Stored last; 0: the entry is free. */
	u32 qpn;
	/* Offset of its struct nic_rss in queue memory; 0: none. */
	u64 rss;
	/* Counter, or NIC_NONE. */
	u32 counter;
	/* Tag that completions report; 0: none. */
	u32 tag;
	struct nic_frame_key value;
	struct nic_frame_key mask;
};

/* Atomically incremented. */
struct nic_flow_counter {
	u64 packets;
	u64 bytes;
};

/* The values of enum ibv_rx_hash_fields. */
enum nic_rss_fields {
	NIC_RSS_SRC_IPV4 = 1 << 0,
	NIC_RSS_DST_IPV4 = 1 << 1,
	NIC_RSS_SRC_IPV6 = 1 << 2,
	NIC_RSS_DST_IPV6 = 1 << 3,
	NIC_RSS_SRC_PORT_TCP = 1 << 4,
	NIC_RSS_DST_PORT_TCP = 1 << 5,
	NIC_RSS_SRC_PORT_UDP = 1 << 6,
	NIC_RSS_DST_PORT_UDP = 1 << 7,
	NIC_RSS_KNOWN = (1 << 8) - 1,
};

/* RSS: work queues, and the Toeplitz hash of these fields that selects one. */
struct nic_rss {
	u32 fields;
	u32 log_size;
	u8 key[NIC_RSS_KEY];
	u32 wqn[1 << NIC_MAX_RSS_LOG];
};

#endif /* NIC_MEMORY_FRAMES_H */
