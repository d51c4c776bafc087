// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Specifications of flows: header fields to match, and tags. Hosts parse them from different
 * commands.
 */
#include "layout/lock.h"

/* Flags for specifications that may occur once, besides enum nic_frame_layers. */
#define NIC_NAMED_ETH (1u << 31)
#define NIC_NAMED_TAG (1u << 30)
/* Limit of a flow tag: 24 bits, as with adapters. */
#define NIC_FLOW_TAG_END (1u << 24)
/* Length of a filter that is evaluated; no header has more. */
#define NIC_FILTER_MAX 40u
#define NIC_FILTER_FIELDS 6

/* A field: its place in a filter, and in a frame's key. */
struct nic_filter_field {
	u8 from;
	u8 to;
	u8 length;
};

#define NIC_FIELD(from, member)                                                                    \
	{                                                                                          \
		from, offsetof(struct nic_frame_key, member),                                      \
			sizeof(((struct nic_frame_key *)0)->member)                                \
	}
/* An IPv4 address has four bytes. */
#define NIC_FIELD_IPV4(from, member)                                                               \
	{                                                                                          \
		from, offsetof(struct nic_frame_key, member), 4                                    \
	}

struct nic_filter {
	u32 type;
	/* Flag of this header, and of those that exclude it. */
	u32 name;
	u32 others;
	/* Bytes of the filter that have a meaning. */
	u32 known;
	struct nic_filter_field field[NIC_FILTER_FIELDS];
};

static const struct nic_filter nic_filters[] = {
	{ .type = NIC_SPEC_ETH,
	  .name = NIC_NAMED_ETH,
	  .known = 16,
	  .field = { NIC_FIELD(0, dst_mac), NIC_FIELD(6, src_mac), NIC_FIELD(12, ether_type),
		     NIC_FIELD(14, vlan_tag) } },
	{ .type = NIC_SPEC_IPV4,
	  .name = NIC_LAYER_IPV4,
	  .others = NIC_LAYER_IPV6,
	  .known = 12,
	  .field = { NIC_FIELD_IPV4(0, src_ip), NIC_FIELD_IPV4(4, dst_ip), NIC_FIELD(8, proto),
		     NIC_FIELD(9, tos), NIC_FIELD(10, ttl), NIC_FIELD(11, ip_flags) } },
	{ .type = NIC_SPEC_IPV6,
	  .name = NIC_LAYER_IPV6,
	  .others = NIC_LAYER_IPV4,
	  .known = 39,
	  .field = { NIC_FIELD(0, src_ip), NIC_FIELD(16, dst_ip), NIC_FIELD(32, flow_label),
		     NIC_FIELD(36, proto), NIC_FIELD(37, tos), NIC_FIELD(38, ttl) } },
	{ .type = NIC_SPEC_TCP,
	  .name = NIC_LAYER_TCP,
	  .others = NIC_LAYER_UDP,
	  .known = 4,
	  .field = { NIC_FIELD(0, dst_port), NIC_FIELD(2, src_port) } },
	{ .type = NIC_SPEC_UDP,
	  .name = NIC_LAYER_UDP,
	  .others = NIC_LAYER_TCP,
	  .known = 4,
	  .field = { NIC_FIELD(0, dst_port), NIC_FIELD(2, src_port) } },
};

/* A known type that is not supported: of other devices, or inside a tunnel. */
static bool nic_spec_is_foreign(u32 type)
{
	switch (type & ~(u32)NIC_SPEC_INNER) {
	case NIC_SPEC_ESP:
	case NIC_SPEC_VXLAN:
	case NIC_SPEC_GRE:
	case NIC_SPEC_MPLS:
	case NIC_SPEC_ACTION_HANDLE:
		return true;
	default:
		return type & NIC_SPEC_INNER;
	}
}

static const struct nic_filter *nic_filter_of(u32 type)
{
	const u32 n = sizeof(nic_filters) / sizeof(nic_filters[0]);
	u32 i;

	for (i = 0; i < n; i++)
		if (nic_filters[i].type == type)
			return &nic_filters[i];
	return NULL;
}

/* The frame must have this header; false: it was named before, or one that excludes it. */
static bool nic_name_header(struct nic_flow_specs *specs, u32 name, u32 others)
{
	u8 layer = (u8)name;

	if (specs->named & (name | others))
		return false;
	specs->named |= name;
	specs->flow->value.layers |= layer;
	specs->flow->mask.layers |= layer;
	return true;
}

/* Bytes behind the end of a short filter are zero. */
static void nic_filter_fill(struct nic_frame_key *key, const struct nic_filter *filter,
			    const u8 *bytes, u32 length)
{
	u8 whole[NIC_FILTER_MAX] = { 0 };
	u32 i;

	memcpy(whole, bytes, length < filter->known ? length : filter->known);
	for (i = 0; i < NIC_FILTER_FIELDS; i++) {
		const struct nic_filter_field *field = &filter->field[i];

		memcpy((u8 *)key + field->to, &whole[field->from], field->length);
	}
}

static bool nic_is_zero(const u8 *bytes, u32 length)
{
	u32 i;

	for (i = 0; i < length; i++)
		if (bytes[i])
			return false;
	return true;
}

enum nic_result nic_flow_match(struct nic_flow_specs *specs, u32 type, const u8 *filters,
			       u32 length)
{
	const struct nic_filter *filter = nic_filter_of(type);
	struct nic_flow *flow = specs->flow;
	const u8 *mask = filters + length / 2;

	if (!filter)
		return nic_spec_is_foreign(type) ? NIC_EOPNOTSUPP : NIC_EINVAL;
	if (!length || length % 2 || !nic_name_header(specs, filter->name, filter->others))
		return NIC_EINVAL;
	length /= 2;
	if (length > filter->known && !nic_is_zero(mask + filter->known, length - filter->known))
		return NIC_EOPNOTSUPP;
	nic_filter_fill(&flow->value, filter, filters, length);
	nic_filter_fill(&flow->mask, filter, mask, length);
	if (type == NIC_SPEC_ETH && (flow->mask.vlan_tag[0] || flow->mask.vlan_tag[1]))
		nic_name_header(specs, NIC_LAYER_VLAN, 0);
	return NIC_OK;
}

enum nic_result nic_flow_mark(struct nic_flow_specs *specs, u32 tag)
{
	if (tag >= NIC_FLOW_TAG_END || !nic_name_header(specs, NIC_NAMED_TAG, 0))
		return NIC_EINVAL;
	specs->flow->tag = tag;
	return NIC_OK;
}
