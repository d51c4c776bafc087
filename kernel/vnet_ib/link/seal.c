// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Seals of frames: the trailer with a MAC, or the CRC. A MAC covers the addresses and ports of
 * sender and receiver, then the frame. So a frame that is replayed from another address, or
 * reflected, has a wrong MAC.
 */
#include "layers.h"
#include "mac.h"

static void vnet_make_prefix(struct vnet_wire_prefix *prefix, const union vnet_address *from,
			     const union vnet_address *to, u32 length)
{
	memset(prefix, 0, sizeof(*prefix));
	vnet_put_address(from, prefix->from, &prefix->from_port);
	vnet_put_address(to, prefix->to, &prefix->to_port);
	prefix->length = cpu_to_le32(length);
}

static u32 vnet_seal_mac(struct vnet_link *link, const struct vnet_port *port,
			 const struct vnet_key *key, const union vnet_address *to, u8 *frame,
			 u32 length)
{
	struct vnet_wire_trailer trailer = {
		.key_id = key->id,
		.number = cpu_to_le64(atomic64_inc_return(&link->sealed)),
	};
	struct vnet_wire_prefix prefix;

	vnet_make_prefix(&prefix, &port->own, to, length);
	memcpy(trailer.salt, key->salt, sizeof(trailer.salt));
	vnet_mac_make(key->subkey, trailer.number, &prefix, frame, length, trailer.mac);
	memcpy(frame + length, &trailer, sizeof(trailer));
	return length + sizeof(trailer);
}

u32 vnet_seal(struct vnet_link *link, const union vnet_address *to, u8 *frame, u32 length,
	      bool *leaves)
{
	const struct vnet_keys *keys = vnet_keys_of(link);
	const struct vnet_port *port = vnet_port_of(link, to);
	u8 proof = ((const struct vnet_frame *)frame)->proof;
	const struct vnet_key *key;

	if (proof != VNET_PROOF_MAC) {
		/* A proof by a shared secret is valid on this machine only. */
		*leaves = keys && proof == VNET_PROOF_NONE;
		nic_frame_set_crc(frame, length);
		return length;
	}
	if (!port) {
		nic_fetch_add(&link->counters.unsent, 1);
		return 0;
	}
	key = vnet_key_of(link, keys, to);
	if (!key) {
		nic_fetch_add(&link->counters.no_key, 1);
		return 0;
	}
	*leaves = key != &link->common;
	return vnet_seal_mac(link, port, key, to, frame, length);
}

static bool vnet_mac_is_right(const struct vnet_key *key, const struct vnet_wire_trailer *trailer,
			      const struct vnet_wire_prefix *prefix, const u8 *frame, u32 length,
			      struct nic_proof *proof)
{
	u8 subkey[VNET_WIRE_KEY_SIZE], mac[VNET_WIRE_MAC_SIZE];

	vnet_mac_subkey(key->bytes, trailer->salt, subkey);
	vnet_mac_make(subkey, trailer->number, prefix, frame, length, mac);
	memcpy(proof->sender, subkey, sizeof(proof->sender));
	proof->number = le64_to_cpu(trailer->number);
	proof->key = le32_to_cpu(key->id);
	proof->given = !crypto_memneq(mac, trailer->mac, sizeof(mac));
	memzero_explicit(subkey, sizeof(subkey));
	return proof->given;
}

static u32 vnet_unseal_mac(struct vnet_link *link, const union vnet_address *from, const u8 *frame,
			   u32 length, struct nic_proof *proof, bool *stranger)
{
	const struct vnet_port *port = vnet_port_of(link, from);
	struct vnet_wire_trailer trailer;
	struct vnet_wire_prefix prefix;
	const struct vnet_key *key;

	if (length < sizeof(struct vnet_frame) + sizeof(trailer)) {
		nic_fetch_add(&link->counters.no_mac, 1);
		return 0;
	}
	length -= sizeof(trailer);
	memcpy(&trailer, frame + length, sizeof(trailer));
	/* The GID may have been deleted since the frame arrived. */
	if (!port) {
		nic_fetch_add(&link->counters.bad_mac, 1);
		return 0;
	}
	vnet_make_prefix(&prefix, from, &port->own, length);
	key = vnet_key_find(link, vnet_keys_of(link), prefix.from, proof->local, trailer.key_id);
	if (!key) {
		nic_fetch_add(&link->counters.unknown_key, 1);
		*stranger = true;
		return 0;
	}
	if (likely(vnet_mac_is_right(key, &trailer, &prefix, frame, length, proof)))
		return length;
	nic_fetch_add(&link->counters.bad_mac, 1);
	return 0;
}

u32 vnet_unseal(struct vnet_link *link, const union vnet_address *from, bool local, const u8 *frame,
		u32 length, struct nic_proof *proof, bool *stranger)
{
	*stranger = false;
	proof->given = false;
	proof->local = local;
	/* The last given key may have been forgotten since the frame arrived. */
	if (!local && !vnet_keys_of(link)) {
		nic_fetch_add(&link->counters.strangers, 1);
		return 0;
	}
	if (length >= sizeof(struct vnet_frame) &&
	    ((const struct vnet_frame *)frame)->proof != VNET_PROOF_MAC)
		return length;
	return vnet_unseal_mac(link, from, frame, length, proof, stranger);
}

bool vnet_replay_check(struct nic *nic, struct vnet_link *link, const struct nic_proof *proof)
{
	if (nic_replay_accept(nic, link->replay, proof))
		return true;
	nic_fetch_add(&link->counters.replayed, 1);
	return false;
}
