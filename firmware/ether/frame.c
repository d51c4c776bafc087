// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Parses the headers of Ethernet frames. requester/frame.c delivers raw packets on this NIC, and
 * vn/ether.c those of other NICs.
 */
#include "ether/ether.h"

enum nic_ether_types {
	NIC_ETHER_IPV4 = 0x0800,
	NIC_ETHER_IPV6 = 0x86dd,
	NIC_ETHER_VLAN = 0x8100,
	NIC_ETHER_QINQ = 0x88a8,
};

enum nic_ip_protocols {
	NIC_IP_TCP = 6,
	NIC_IP_UDP = 17,
};

/* ------------------------------------------------------------------ headers */

struct nic_frame_head {
	const u8 *bytes;
	u32 length;
	/* Bytes that have been parsed. */
	u32 at;
};

/* The next `length` bytes; NULL: the frame is shorter. */
static const u8 *nic_head_next(struct nic_frame_head *head, u32 length)
{
	const u8 *start = &head->bytes[head->at];

	if (length > head->length - head->at)
		return NULL;
	head->at += length;
	return start;
}

static u32 nic_get16(const u8 *at)
{
	return (u32)at[0] << 8 | at[1];
}

static void nic_parse_ports(struct nic_frame_head *head, struct nic_frame_key *key)
{
	const u8 *ports;

	if (key->proto != NIC_IP_TCP && key->proto != NIC_IP_UDP)
		return;
	ports = nic_head_next(head, 4);
	if (!ports)
		return;
	key->layers |= key->proto == NIC_IP_TCP ? NIC_LAYER_TCP : NIC_LAYER_UDP;
	memcpy(key->src_port, &ports[0], sizeof(key->src_port));
	memcpy(key->dst_port, &ports[2], sizeof(key->dst_port));
}

static void nic_parse_ipv4(struct nic_frame_head *head, struct nic_frame_key *key)
{
	const u8 *ip = nic_head_next(head, 20);
	u32 words = ip ? ip[0] & 15u : 0;

	if (!ip || ip[0] >> 4 != 4 || words < 5 || !nic_head_next(head, (words - 5) * 4))
		return;
	key->layers |= NIC_LAYER_IPV4;
	memcpy(key->src_ip, &ip[12], 4);
	memcpy(key->dst_ip, &ip[16], 4);
	key->tos = ip[1];
	key->ttl = ip[8];
	key->proto = ip[9];
	key->ip_flags = ip[6] >> 5;
	/* A later fragment has no ports. */
	if (!(nic_get16(&ip[6]) & 0x1fff))
		nic_parse_ports(head, key);
}

static void nic_parse_ipv6(struct nic_frame_head *head, struct nic_frame_key *key)
{
	const u8 *ip = nic_head_next(head, 40);

	if (!ip || ip[0] >> 4 != 6)
		return;
	key->layers |= NIC_LAYER_IPV6;
	memcpy(key->src_ip, &ip[8], sizeof(key->src_ip));
	memcpy(key->dst_ip, &ip[24], sizeof(key->dst_ip));
	key->flow_label[1] = ip[1] & 15;
	memcpy(&key->flow_label[2], &ip[2], 2);
	key->tos = (u8)(ip[0] << 4 | ip[1] >> 4);
	key->ttl = ip[7];
	key->proto = ip[6];
	nic_parse_ports(head, key);
}

/* Parse VLAN tags; returns the EtherType behind them. */
static u32 nic_parse_tags(struct nic_frame_head *head, struct nic_frame_key *key, u32 type)
{
	const u8 *tag;

	while (type == NIC_ETHER_VLAN || type == NIC_ETHER_QINQ) {
		tag = nic_head_next(head, 4);
		if (!tag)
			break;
		if (!(key->layers & NIC_LAYER_VLAN))
			memcpy(key->vlan_tag, tag, sizeof(key->vlan_tag));
		key->layers |= NIC_LAYER_VLAN;
		memcpy(key->ether_type, &tag[2], sizeof(key->ether_type));
		type = nic_get16(&tag[2]);
	}
	return type;
}

void nic_frame_parse_key(const u8 *frame, u32 length, struct nic_frame_key *key)
{
	struct nic_frame_head head = { .bytes = frame,
				       .length = length < NIC_FRAME_HEAD ? length :
									   NIC_FRAME_HEAD };
	const u8 *ether = nic_head_next(&head, NIC_ETHER_HEADER);
	u32 type;

	memset(key, 0, sizeof(*key));
	if (!ether)
		return;
	memcpy(key->dst_mac, &ether[0], sizeof(key->dst_mac));
	memcpy(key->src_mac, &ether[6], sizeof(key->src_mac));
	memcpy(key->ether_type, &ether[12], sizeof(key->ether_type));
	type = nic_parse_tags(&head, key, nic_get16(&ether[12]));
	if (type == NIC_ETHER_IPV4)
		nic_parse_ipv4(&head, key);
	else if (type == NIC_ETHER_IPV6)
		nic_parse_ipv6(&head, key);
}

/* A port has a link-local GID that is derived from its MAC address (modified EUI-64). */
static bool nic_is_gid_of_mac(const u8 *gid, const u8 *mac)
{
	static const u8 prefix[8] = { 0xfe, 0x80 };
	const u8 eui[8] = { mac[0] ^ 2, mac[1], mac[2], 0xff, 0xfe, mac[3], mac[4], mac[5] };
	u64 have[2], want[2];

	memcpy(have, gid, sizeof(have));
	memcpy(&want[0], prefix, sizeof(want[0]));
	memcpy(&want[1], eui, sizeof(want[1]));
	return have[0] == want[0] && have[1] == want[1];
}

bool nic_is_own_mac(const struct nic *nic, const u8 *mac)
{
	u32 i;

	for (i = 0; i < nic->hdr->ngids && i < NIC_MAX_GIDS; i++) {
		if (nic_is_gid_of_mac(nic->hdr->gid[i], mac))
			return true;
	}
	return false;
}
