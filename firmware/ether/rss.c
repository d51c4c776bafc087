// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Receive side scaling: selects the work queue of a frame by the Toeplitz hash of its addresses and
 * ports. So the frames of one connection stay together.
 */
#include "ether/ether.h"

/* Two IPv6 addresses, and two ports. */
#define NIC_RSS_INPUT 36

struct nic_rss_input {
	u8 bytes[NIC_RSS_INPUT];
	u32 length;
};

static void nic_rss_add(struct nic_rss_input *input, const u8 *field, u32 length)
{
	memcpy(&input->bytes[input->length], field, length);
	input->length += length;
}

static void nic_rss_add_addresses(const struct nic_rss *rss, const struct nic_frame_key *key,
				  struct nic_rss_input *input)
{
	bool ipv6 = key->layers & NIC_LAYER_IPV6;
	u32 length = ipv6 ? 16 : 4;

	if (!ipv6 && !(key->layers & NIC_LAYER_IPV4))
		return;
	if (rss->fields & (ipv6 ? NIC_RSS_SRC_IPV6 : NIC_RSS_SRC_IPV4))
		nic_rss_add(input, key->src_ip, length);
	if (rss->fields & (ipv6 ? NIC_RSS_DST_IPV6 : NIC_RSS_DST_IPV4))
		nic_rss_add(input, key->dst_ip, length);
}

static void nic_rss_add_ports(const struct nic_rss *rss, const struct nic_frame_key *key,
			      struct nic_rss_input *input)
{
	bool udp = key->layers & NIC_LAYER_UDP;

	if (!udp && !(key->layers & NIC_LAYER_TCP))
		return;
	if (rss->fields & (udp ? NIC_RSS_SRC_PORT_UDP : NIC_RSS_SRC_PORT_TCP))
		nic_rss_add(input, key->src_port, sizeof(key->src_port));
	if (rss->fields & (udp ? NIC_RSS_DST_PORT_UDP : NIC_RSS_DST_PORT_TCP))
		nic_rss_add(input, key->dst_port, sizeof(key->dst_port));
}

/* For each bit of the input that is set, XOR the 32 bits of the key that begin at that bit. */
static u32 nic_toeplitz(const u8 *key, const struct nic_rss_input *input)
{
	u32 window = (u32)key[0] << 24 | (u32)key[1] << 16 | (u32)key[2] << 8 | key[3];
	u32 hash = 0, i, bit;

	for (i = 0; i < input->length; i++) {
		for (bit = 0; bit < 8; bit++) {
			if (input->bytes[i] & 0x80u >> bit)
				hash ^= window;
			window = window << 1 | (key[i + 4] >> (7 - bit) & 1);
		}
	}
	return hash;
}
static_assert(NIC_RSS_INPUT + 4 <= NIC_RSS_KEY, "the key is long enough");

u32 nic_rss_wqn(const struct nic_rss *rss, const struct nic_frame_key *key)
{
	struct nic_rss_input input = { .length = 0 };
	u32 size = 1u << (nic_load(&rss->log_size) & NIC_MAX_RSS_LOG);

	nic_rss_add_addresses(rss, key, &input);
	nic_rss_add_ports(rss, key, &input);
	return nic_load(&rss->wqn[nic_toeplitz(rss->key, &input) & (size - 1)]);
}

enum nic_result nic_rss_create(struct nic *nic, u64 offset, const struct nic_rss *rss)
{
	struct nic_rss *place = plat_queue(nic, offset, sizeof(*rss));

	if (!place || offset % sizeof(u64) || rss->log_size > NIC_MAX_RSS_LOG ||
	    rss->fields & ~(u32)NIC_RSS_KNOWN)
		return NIC_EINVAL;
	memcpy(place, rss, sizeof(*rss));
	return NIC_OK;
}
