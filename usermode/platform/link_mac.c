// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Keyed frames: computes and checks message authentication codes, and derives secrets.
 *
 * The MAC is that of XChaCha20-Poly1305 over additional data alone: the sender's and the receiver's
 * addresses and ports, then the frame. So a frame that is replayed from another address, or
 * reflected, has a wrong MAC. It is computed step by step, because prefix and frame are not
 * contiguous, and because the sender derives the subkey from its salt once for all frames.
 */
#include <sodium.h>
#include <string.h>

#include "link.h"

static const char key_purpose[] = "vnet link key 2";
/* Salts are random, so none is equal to this. */
static const u8 secret_purpose[VNET_WIRE_SALT_SIZE] = "vnet link secret";

void link_key_derive(struct link_key *key, const void *secret, size_t length)
{
	crypto_generichash_blake2b_state state;
	u8 hash[64];
	__le32 id;

	crypto_generichash_blake2b_init(&state, NULL, 0, sizeof(hash));
	crypto_generichash_blake2b_update(&state, (const u8 *)key_purpose, sizeof(key_purpose));
	crypto_generichash_blake2b_update(&state, secret, length);
	crypto_generichash_blake2b_final(&state, hash, sizeof(hash));
	memcpy(key->bytes, hash, sizeof(key->bytes));
	memcpy(&id, hash + sizeof(key->bytes), sizeof(id));
	key->id = le32toh(id);
	memset(&key->peers, 0, sizeof(key->peers));
	key->former = 0;
	(void)crypto_core_hchacha20(key->secret_key, secret_purpose, key->bytes, NULL);
	sodium_memzero(hash, sizeof(hash));
}

void link_keys_set(struct link_memory *link, const struct link_keys *keys)
{
	u32 other = !(nic_load(&link->keys_in_use) & 1);
	struct link_keys *next = &link->keys[other];
	u32 ids[LINK_KEYS + 1], i;

	*next = *keys;
	randombytes_buf(next->salt, sizeof(next->salt));
	for (i = 0; i < keys->n; i++) {
		(void)crypto_core_hchacha20(next->key[i].subkey, next->salt, next->key[i].bytes,
					    NULL);
		ids[i] = keys->key[i].id;
	}
	(void)crypto_core_hchacha20(next->common.subkey, next->salt, next->common.bytes, NULL);
	ids[i++] = keys->common.id;
	/* Release: pairs with the acquire in link_keys(). */
	nic_store_release(&link->keys_in_use, other);
	nic_store(&link->reachable, keys->n != 0);
	nic_replay_set_keys(&link->replay, ids, i);
}

void link_ip(const union link_address *address, u8 ip[16])
{
	if (address->any.sa_family == AF_INET) {
		memset(ip, 0, 10);
		memset(ip + 10, 0xff, 2);
		memcpy(ip + 12, &address->in.sin_addr, 4);
	} else {
		memcpy(ip, &address->in6.sin6_addr, 16);
	}
}

static void add_address(const union link_address *address, u8 bytes[16], __be16 *port)
{
	link_ip(address, bytes);
	*port = address->any.sa_family == AF_INET ? address->in.sin_port : address->in6.sin6_port;
}

/* -------------------------------------------------------------- keys of a peer */

static bool is_in(const struct link_network *network, const u8 ip[16])
{
	u32 bits = nic_load(&network->bits), whole = bits / 8, rest = bits % 8;

	if (bits > 128 || memcmp(network->address, ip, whole) != 0)
		return false;
	return !rest || !((network->address[whole] ^ ip[whole]) >> (8 - rest));
}

static bool is_loopback_ip(const u8 ip[16])
{
	static const u8 mapped[12] = { [10] = 0xff, [11] = 0xff };

	return IN6_IS_ADDR_LOOPBACK((const struct in6_addr *)(const void *)ip) ||
	       (!memcmp(ip, mapped, sizeof(mapped)) && ip[12] == 127);
}

/* Returns the key for sending to a peer, or NULL. */
static const struct link_key *key_of(const struct link_keys *keys, const u8 ip[16])
{
	const struct link_key *best = NULL;
	u32 n = nic_load(&keys->n);

	for (u32 i = 0; i < n && i < LINK_KEYS; i++) {
		const struct link_key *key = &keys->key[i];

		if (is_in(&key->peers, ip) && (!best || key->peers.bits > best->peers.bits))
			best = key;
	}
	return best || !is_loopback_ip(ip) ? best : &keys->common;
}

bool link_has_key(const struct link_memory *link, const union link_address *peer)
{
	const struct link_keys *keys = link_keys(link);
	u8 ip[16];

	link_ip(peer, ip);
	return key_of(keys, ip);
}

bool link_has_given_key(const struct link_memory *link, const union link_address *peer)
{
	const struct link_keys *keys = link_keys(link);
	const struct link_key *key;
	u8 ip[16];

	link_ip(peer, ip);
	key = key_of(keys, ip);
	return key && key != &keys->common;
}

bool link_key_equal(const struct link_key *a, const struct link_key *b)
{
	return a->id == b->id && !memcmp(a->bytes, b->bytes, sizeof(a->bytes));
}

bool link_network_equal(const struct link_network *a, const struct link_network *b)
{
	return a->bits == b->bits && !memcmp(a->address, b->address, sizeof(a->address));
}

const struct link_key *link_first_key(const struct link_keys *keys,
				      const struct link_network *peers)
{
	u32 n = nic_load(&keys->n);

	for (u32 i = 0; i < n && i < LINK_KEYS; i++)
		if (link_network_equal(&keys->key[i].peers, peers))
			return &keys->key[i];
	return NULL;
}

/* Does one of the keys cover the whole loopback network, so that no peer uses the common key? */
static bool covers_loopback(const struct link_keys *keys, bool ipv6)
{
	static const u8 first[2][16] = { { [10] = 0xff, 0xff, 127 }, { [15] = 1 } };
	u32 n = nic_load(&keys->n);

	for (u32 i = 0; i < n && i < LINK_KEYS; i++)
		if (nic_load(&keys->key[i].peers.bits) <= (ipv6 ? 128 : 96 + 8) &&
		    is_in(&keys->key[i].peers, first[ipv6]))
			return true;
	return false;
}

/* Do all peers have the same key? */
static bool is_one_group(const struct link_memory *link, const struct link_keys *keys)
{
	u32 n = nic_load(&keys->n);

	if (n && !covers_loopback(keys, link->own.any.sa_family == AF_INET6))
		return false;
	for (u32 i = 1; i < n && i < LINK_KEYS; i++) {
		const struct link_key *first = link_first_key(keys, &keys->key[i].peers);

		if (!first || !link_key_equal(first, &keys->key[0]))
			return false;
	}
	return true;
}

bool plat_same_key_group(struct nic *nic, const struct nic_address *a, const struct nic_address *b)
{
	const struct host *host = nic->host;
	const struct link_keys *keys = link_keys(host->link.memory);
	const struct link_key *of_a, *of_b;
	u8 ip[16];
	__be16 port;

	if (!b)
		return is_one_group(host->link.memory, keys);
	add_address((const union link_address *)a, ip, &port);
	of_a = key_of(keys, ip);
	add_address((const union link_address *)b, ip, &port);
	of_b = key_of(keys, ip);
	return of_a && of_b && link_key_equal(of_a, of_b);
}

/* Returns the peer's key with this id, or NULL. */
static const struct link_key *find_key(const struct link_keys *keys, const u8 ip[16], u32 id)
{
	const struct link_key *first = key_of(keys, ip);
	u32 n = nic_load(&keys->n);

	if (first == &keys->common)
		return first->id == id ? first : NULL;
	for (u32 i = 0; first && i < n && i < LINK_KEYS; i++)
		if (keys->key[i].id == id && keys->key[i].peers.bits == first->peers.bits &&
		    is_in(&keys->key[i].peers, ip))
			return &keys->key[i];
	return NULL;
}

/* -------------------------------------------------------------------- secrets */

bool plat_secret(struct nic *nic, const struct nic_address *peer, u32 key, const void *text,
		 u32 length, u8 secret[VNET_WIRE_SECRET_SIZE])
{
	const struct link_memory *link = ((const struct host *)nic->host)->link.memory;
	const union link_address *address = (const union link_address *)peer;
	const struct link_key *of_peer = NULL;
	u8 state[VNET_WIRE_KEY_SIZE], ip[16];

	if (peer) {
		if (!link_is_loopback(address))
			return false;
		link_ip(address, ip);
		of_peer = key ? find_key(link_keys(link), ip, key) : key_of(link_keys(link), ip);
		if (!of_peer)
			return false;
	}
	memcpy(state, of_peer ? of_peer->secret_key : link->own_secret, sizeof(state));
	/*
	 * A cascade of HChaCha20. The texts have one length for each key, so this is a PRF because
	 * HChaCha20 is one.
	 */
	for (u32 i = 0; i < length; i += 16)
		(void)crypto_core_hchacha20(state, (const u8 *)text + i, state, NULL);
	memcpy(secret, state, VNET_WIRE_SECRET_SIZE);
	return true;
}

/* ------------------------------------------------------------------------ MACs */

/* The key for this frame: the first half of the stream's first block. */
static void make_frame_key(const u8 *subkey, __le64 number, u8 frame_key[32])
{
	u8 nonce[crypto_stream_chacha20_ietf_NONCEBYTES] = { 0 };

	memcpy(nonce + sizeof(nonce) - sizeof(number), &number, sizeof(number));
	(void)crypto_stream_chacha20_ietf(frame_key, 32, nonce, subkey);
}

static void make_mac(const u8 *subkey, __le64 number, const struct vnet_wire_prefix *prefix,
		     const u8 *frame, u32 length, u8 mac[VNET_WIRE_MAC_SIZE])
{
	static const u8 zero[16];
	__le64 lengths[2] = { htole64(sizeof(*prefix) + length), 0 };
	crypto_onetimeauth_poly1305_state state;
	u8 frame_key[32];

	make_frame_key(subkey, number, frame_key);
	crypto_onetimeauth_poly1305_init(&state, frame_key);
	crypto_onetimeauth_poly1305_update(&state, (const u8 *)prefix, sizeof(*prefix));
	crypto_onetimeauth_poly1305_update(&state, frame, length);
	crypto_onetimeauth_poly1305_update(&state, zero, -length % 16);
	crypto_onetimeauth_poly1305_update(&state, (const u8 *)lengths, sizeof(lengths));
	crypto_onetimeauth_poly1305_final(&state, mac);
}

static void make_prefix(struct vnet_wire_prefix *prefix, const union link_address *from,
			const union link_address *to, u32 length)
{
	memset(prefix, 0, sizeof(*prefix));
	add_address(from, prefix->from, &prefix->from_port);
	add_address(to, prefix->to, &prefix->to_port);
	prefix->length = htole32(length);
}

u32 link_seal(struct link_memory *link, const union link_address *to, u8 *frame, u32 length)
{
	const struct link_keys *keys = link_keys(link);
	struct vnet_wire_trailer trailer = { .key_id = 0 };
	struct vnet_wire_prefix prefix;
	const struct link_key *key;

	if (likely(((const struct vnet_frame *)frame)->proof != VNET_PROOF_MAC)) {
		/* Secrets are for peers on this machine only. */
		if (unlikely(!link_is_loopback(to) &&
			     ((const struct vnet_frame *)frame)->proof == VNET_PROOF_SECRET))
			return 0;
		nic_frame_set_crc(frame, length);
		return length;
	}
	make_prefix(&prefix, &link->own, to, length);
	key = key_of(keys, prefix.to);
	if (unlikely(!key))
		return 0;
	trailer.key_id = htole32(key->id);
	memcpy(trailer.salt, keys->salt, sizeof(trailer.salt));
	trailer.number = htole64(nic_fetch_add(&link->sealed, 1));
	make_mac(key->subkey, trailer.number, &prefix, frame, length, trailer.mac);
	memcpy(frame + length, &trailer, sizeof(trailer));
	return length + (u32)sizeof(trailer);
}

static bool mac_is_right(const struct link_key *key, const struct vnet_wire_trailer *trailer,
			 const struct vnet_wire_prefix *prefix, const u8 *frame, u32 length,
			 struct nic_proof *proof)
{
	u8 subkey[VNET_WIRE_KEY_SIZE], mac[VNET_WIRE_MAC_SIZE];

	(void)crypto_core_hchacha20(subkey, trailer->salt, key->bytes, NULL);
	make_mac(subkey, trailer->number, prefix, frame, length, mac);
	memcpy(proof->sender, subkey, sizeof(proof->sender));
	proof->number = le64toh(trailer->number);
	proof->key = key->id;
	proof->given = sodium_memcmp(mac, trailer->mac, sizeof(mac)) == 0;
	return proof->given;
}

u32 link_unseal(struct link_memory *link, const union link_address *from, const u8 *frame,
		u32 length, struct nic_proof *proof, bool *stranger)
{
	const struct link_keys *keys = link_keys(link);
	struct vnet_wire_trailer trailer;
	struct vnet_wire_prefix prefix;
	const struct link_key *key;

	*stranger = false;
	proof->given = false;
	proof->local = link_is_loopback(from);
	if (likely(length >= sizeof(struct vnet_frame) &&
		   ((const struct vnet_frame *)frame)->proof != VNET_PROOF_MAC))
		return length;
	if (length < sizeof(struct vnet_frame) + sizeof(trailer)) {
		link_count(&link->counters.no_mac);
		return 0;
	}
	length -= (u32)sizeof(trailer);
	memcpy(&trailer, frame + length, sizeof(trailer));
	make_prefix(&prefix, from, &link->own, length);
	key = find_key(keys, prefix.from, le32toh(trailer.key_id));
	if (!key) {
		link_count(&link->counters.unknown_key);
		*stranger = true;
		return 0;
	}
	if (likely(mac_is_right(key, &trailer, &prefix, frame, length, proof)))
		return length;
	link_count(&link->counters.bad_mac);
	return 0;
}

bool link_replay_check(struct nic *nic, struct link_memory *link, const struct nic_proof *proof)
{
	if (likely(nic_replay_accept(nic, &link->replay, proof)))
		return true;
	link_count(&link->counters.replayed);
	return false;
}
