// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * A flow's specifications, as a process gives them: which fields of which headers,
 * and what becomes of a frame.
 */
#include <errno.h>
#include <string.h>

#include "uverbs.h"

/* The values of enum ibv_flow_spec_type. */
enum {
	SPEC_ETH = 0x20,
	SPEC_IPV4 = 0x30,
	SPEC_IPV6 = 0x31,
	SPEC_ESP = 0x34,
	SPEC_TCP = 0x40,
	SPEC_UDP = 0x41,
	SPEC_VXLAN = 0x50,
	SPEC_GRE = 0x51,
	SPEC_MPLS = 0x60,
	SPEC_INNER = 0x100,
	ACTION_TAG = 0x1000,
	ACTION_DROP = 0x1001,
	ACTION_HANDLE = 0x1002,
	ACTION_COUNT = 0x1003,
};

/* Headers that a flow may name once each, besides those of enum nic_frame_layers. */
#define SEEN_ETH (1u << 31)
#define SEEN_TAG (1u << 30)
/* As many bits of a tag as adapters have. */
#define TAG_END (1u << 24)

struct spec {
	u32 type;
	const u8 *bytes;
	u32 size;
};

struct reading {
	struct uv_request *req;
	struct uv_flow *flow;
	/* Headers named so far. */
	u32 seen;
};

static bool all_zero(const u8 *bytes, u32 length)
{
	u32 i;

	for (i = 0; i < length; i++)
		if (bytes[i])
			return false;
	return true;
}

/*
 * Value and mask, each a filter of up to `known` bytes: older ones are shorter, newer
 * ones longer, whose mask must be zero beyond what is known.
 */
static int get_filters(const struct spec *spec, void *value, void *mask, u32 known)
{
	const u8 *filters = spec->bytes + sizeof(struct ib_uverbs_flow_spec_hdr);
	u32 length = (spec->size - (u32)sizeof(struct ib_uverbs_flow_spec_hdr)) / 2;
	u32 common = length < known ? length : known;

	if (!length || spec->size % 2)
		return -EINVAL;
	if (!all_zero(filters + length + common, length - common))
		return -EOPNOTSUPP;
	memset(value, 0, known);
	memset(mask, 0, known);
	memcpy(value, filters, common);
	memcpy(mask, filters + length, common);
	return 0;
}

/* The frame must have this header, and not another one in its place. */
static int name_header(struct reading *reading, u32 header, u32 others)
{
	struct nic_flow *params = &reading->flow->params;

	if (reading->seen & (header | others))
		return -EINVAL;
	reading->seen |= header;
	params->value.layers |= (u8)header;
	params->mask.layers |= (u8)header;
	return 0;
}

static void set_ether(struct nic_frame_key *key, const struct ib_uverbs_flow_eth_filter *from)
{
	memcpy(key->dst_mac, from->dst_mac, sizeof(key->dst_mac));
	memcpy(key->src_mac, from->src_mac, sizeof(key->src_mac));
	memcpy(key->ether_type, &from->ether_type, sizeof(key->ether_type));
	memcpy(key->vlan_tag, &from->vlan_tag, sizeof(key->vlan_tag));
}

static int read_ether(struct reading *reading, const struct spec *spec)
{
	struct nic_flow *params = &reading->flow->params;
	struct ib_uverbs_flow_eth_filter value, mask;
	int err;

	if (reading->seen & SEEN_ETH)
		return -EINVAL;
	reading->seen |= SEEN_ETH;
	err = get_filters(spec, &value, &mask, sizeof(value));
	if (err)
		return err;
	set_ether(&params->value, &value);
	set_ether(&params->mask, &mask);
	return mask.vlan_tag ? name_header(reading, NIC_LAYER_VLAN, 0) : 0;
}

static void set_ipv4(struct nic_frame_key *key, const struct ib_uverbs_flow_ipv4_filter *from)
{
	memcpy(key->src_ip, &from->src_ip, sizeof(from->src_ip));
	memcpy(key->dst_ip, &from->dst_ip, sizeof(from->dst_ip));
	key->proto = from->proto;
	key->tos = from->tos;
	key->ttl = from->ttl;
	key->ip_flags = from->flags;
}

static int read_ipv4(struct reading *reading, const struct spec *spec)
{
	struct nic_flow *params = &reading->flow->params;
	struct ib_uverbs_flow_ipv4_filter value, mask;
	int err;

	err = name_header(reading, NIC_LAYER_IPV4, NIC_LAYER_IPV6);
	if (!err)
		err = get_filters(spec, &value, &mask, sizeof(value));
	if (err)
		return err;
	set_ipv4(&params->value, &value);
	set_ipv4(&params->mask, &mask);
	return 0;
}

static void set_ipv6(struct nic_frame_key *key, const struct ib_uverbs_flow_ipv6_filter *from)
{
	memcpy(key->src_ip, from->src_ip, sizeof(key->src_ip));
	memcpy(key->dst_ip, from->dst_ip, sizeof(key->dst_ip));
	memcpy(key->flow_label, &from->flow_label, sizeof(key->flow_label));
	key->proto = from->next_hdr;
	key->tos = from->traffic_class;
	key->ttl = from->hop_limit;
}

static int read_ipv6(struct reading *reading, const struct spec *spec)
{
	struct nic_flow *params = &reading->flow->params;
	struct ib_uverbs_flow_ipv6_filter value, mask;
	int err;

	err = name_header(reading, NIC_LAYER_IPV6, NIC_LAYER_IPV4);
	if (!err)
		err = get_filters(spec, &value, &mask, sizeof(value));
	if (err)
		return err;
	set_ipv6(&params->value, &value);
	set_ipv6(&params->mask, &mask);
	return 0;
}

static void set_ports(struct nic_frame_key *key, const struct ib_uverbs_flow_tcp_udp_filter *from)
{
	memcpy(key->src_port, &from->src_port, sizeof(key->src_port));
	memcpy(key->dst_port, &from->dst_port, sizeof(key->dst_port));
}

static int read_ports(struct reading *reading, const struct spec *spec, u32 header, u32 other)
{
	struct nic_flow *params = &reading->flow->params;
	struct ib_uverbs_flow_tcp_udp_filter value, mask;
	int err;

	err = name_header(reading, header, other);
	if (!err)
		err = get_filters(spec, &value, &mask, sizeof(value));
	if (err)
		return err;
	set_ports(&params->value, &value);
	set_ports(&params->mask, &mask);
	return 0;
}

static int read_count(struct reading *reading, const struct spec *spec)
{
	struct ib_uverbs_flow_spec_action_count action;
	struct uv_object *counters;

	if (spec->size != sizeof(action) || reading->flow->counters)
		return -EINVAL;
	memcpy(&action, spec->bytes, sizeof(action));
	counters = uv_object_read(reading->req, UVERBS_OBJECT_COUNTERS, action.handle);
	if (!counters)
		return -EINVAL;
	reading->flow->counters = UV_CAST(struct uv_flow_counters, counters);
	return 0;
}

static int read_tag(struct reading *reading, const struct spec *spec)
{
	struct ib_uverbs_flow_spec_action_tag action;

	if (spec->size != sizeof(action) || reading->seen & SEEN_TAG)
		return -EINVAL;
	reading->seen |= SEEN_TAG;
	memcpy(&action, spec->bytes, sizeof(action));
	if (action.tag_id >= TAG_END || action.reserved1)
		return -EINVAL;
	reading->flow->params.tag = action.tag_id;
	return 0;
}

static int read_drop(struct reading *reading, const struct spec *spec)
{
	if (spec->size != sizeof(struct ib_uverbs_flow_spec_action_drop))
		return -EINVAL;
	reading->flow->params.flags |= NIC_FLOW_DROP;
	return 0;
}

/* There are such, of other devices or of what a tunnel carries. */
static bool is_foreign(u32 type)
{
	switch (type & ~(u32)SPEC_INNER) {
	case SPEC_ESP:
	case SPEC_VXLAN:
	case SPEC_GRE:
	case SPEC_MPLS:
	case ACTION_HANDLE:
		return true;
	default:
		return type & SPEC_INNER;
	}
}

static int read_spec(struct reading *reading, const struct spec *spec)
{
	switch (spec->type) {
	case SPEC_ETH:
		return read_ether(reading, spec);
	case SPEC_IPV4:
		return read_ipv4(reading, spec);
	case SPEC_IPV6:
		return read_ipv6(reading, spec);
	case SPEC_TCP:
		return read_ports(reading, spec, NIC_LAYER_TCP, NIC_LAYER_UDP);
	case SPEC_UDP:
		return read_ports(reading, spec, NIC_LAYER_UDP, NIC_LAYER_TCP);
	case ACTION_TAG:
		return read_tag(reading, spec);
	case ACTION_DROP:
		return read_drop(reading, spec);
	case ACTION_COUNT:
		return read_count(reading, spec);
	default:
		return is_foreign(spec->type) ? -EOPNOTSUPP : -EINVAL;
	}
}

int uv_flow_read_specs(struct uv_request *req, const u8 *specs, u32 length, u32 count,
		       struct uv_flow *flow)
{
	struct reading reading = { .req = req, .flow = flow };
	struct ib_uverbs_flow_spec_hdr hdr;
	struct spec spec;
	u32 at = 0;
	int err;

	for (; count; count--, at += spec.size) {
		if (length - at < sizeof(hdr))
			return -EINVAL;
		memcpy(&hdr, specs + at, sizeof(hdr));
		if (hdr.size < sizeof(hdr) || hdr.size > length - at || hdr.reserved)
			return -EINVAL;
		spec = (struct spec){ .type = hdr.type, .bytes = specs + at, .size = hdr.size };
		err = read_spec(&reading, &spec);
		if (err)
			return err;
	}
	return at == length ? 0 : -EINVAL;
}
