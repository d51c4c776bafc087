// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Keyed frames. The MAC is BLAKE2b with a key and 32 bytes of output, of which
 * the first 16 are sent: no state, no allocation, three blocks for a short frame,
 * and the kernel's "blake2b-256" computes the same.
 *
 * It covers the sender's and the receiver's addresses and ports, then the frame:
 * a frame that is repeated from elsewhere, or sent back, has a wrong one.
 */
#include <sodium.h>
#include <string.h>

#include "link.h"

/* What is before the frame: 16 byte address and port of both, IPv4 ones mapped. */
struct mac_prefix {
	u8 from[16];
	u8 to[16];
	__be16 from_port;
	__be16 to_port;
	__le32 length;
};
static_assert(sizeof(struct mac_prefix) == 40, "prefix");

static const char key_purpose[] = "vnet link key 1";

void link_key_derive(struct link_key *key, const void *secret, size_t length)
{
	crypto_generichash_blake2b_state state;
	u8 hash[64];

	crypto_generichash_blake2b_init(&state, NULL, 0, sizeof(hash));
	crypto_generichash_blake2b_update(&state, (const u8 *)key_purpose, sizeof(key_purpose));
	crypto_generichash_blake2b_update(&state, secret, length);
	crypto_generichash_blake2b_final(&state, hash, sizeof(hash));
	memcpy(key->bytes, hash, sizeof(key->bytes));
	memcpy(&key->id, hash + sizeof(key->bytes), sizeof(key->id));
	sodium_memzero(hash, sizeof(hash));
}

void link_keys_set(struct link_memory *link, const struct link_keys *keys)
{
	u32 other = !(nic_load(&link->keys_in_use) & 1);

	link->keys[other] = *keys;
	/* Release: pairs with the acquire in link_keys(). */
	nic_store_release(&link->keys_in_use, other);
	nic_store(&link->reachable, keys->n != 0);
}

static void add_address(const union link_address *address, u8 bytes[16], __be16 *port)
{
	if (address->any.sa_family == AF_INET) {
		memset(bytes, 0, 10);
		memset(bytes + 10, 0xff, 2);
		memcpy(bytes + 12, &address->in.sin_addr, 4);
		*port = address->in.sin_port;
	} else {
		memcpy(bytes, &address->in6.sin6_addr, 16);
		*port = address->in6.sin6_port;
	}
}

static void make_mac(const struct link_key *key, const union link_address *from,
		     const union link_address *to, const u8 *frame, u32 length, u8 mac[16])
{
	crypto_generichash_blake2b_state state;
	struct mac_prefix prefix;
	u8 hash[32];

	add_address(from, prefix.from, &prefix.from_port);
	add_address(to, prefix.to, &prefix.to_port);
	prefix.length = htole32(length);
	crypto_generichash_blake2b_init(&state, key->bytes, sizeof(key->bytes), sizeof(hash));
	crypto_generichash_blake2b_update(&state, (const u8 *)&prefix, sizeof(prefix));
	crypto_generichash_blake2b_update(&state, frame, length);
	crypto_generichash_blake2b_final(&state, hash, sizeof(hash));
	memcpy(mac, hash, 16);
}

u32 link_seal(const struct link_memory *link, const union link_address *to, u8 *frame, u32 length)
{
	const struct link_keys *keys = link_keys(link);
	struct link_trailer trailer = { .rsvd = 0 };

	if (likely(!nic_load(&keys->n)))
		return length;
	trailer.key_id = keys->key[0].id;
	make_mac(&keys->key[0], &link->own, to, frame, length, trailer.mac);
	memcpy(frame + length, &trailer, sizeof(trailer));
	return length + (u32)sizeof(trailer);
}

static const struct link_key *find_key(const struct link_keys *keys, u32 id)
{
	u32 n = nic_load(&keys->n);

	for (u32 i = 0; i < n && i < LINK_KEYS; i++)
		if (keys->key[i].id == id)
			return &keys->key[i];
	return NULL;
}

u32 link_unseal(struct link_memory *link, const union link_address *from, const u8 *frame,
		u32 length)
{
	const struct link_keys *keys = link_keys(link);
	struct link_trailer trailer;
	const struct link_key *key;
	u8 mac[16];

	if (likely(!nic_load(&keys->n)))
		return length;
	if (length < sizeof(struct vnet_frame) + sizeof(trailer)) {
		link_count(&link->counters.no_mac);
		return 0;
	}
	length -= (u32)sizeof(trailer);
	memcpy(&trailer, frame + length, sizeof(trailer));
	key = find_key(keys, trailer.key_id);
	if (!key) {
		link_count(&link->counters.unknown_key);
		return 0;
	}
	make_mac(key, from, &link->own, frame, length, mac);
	if (sodium_memcmp(mac, trailer.mac, sizeof(mac)) == 0)
		return length;
	link_count(&link->counters.bad_mac);
	return 0;
}
