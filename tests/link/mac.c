// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * MACs, keys and secrets of the link. The MAC is libsodium's XChaCha20-Poly1305 of the same
 * bytes, and no nonce is used twice. A frame with a changed bit or another source is dropped. A
 * peer has the keys of the narrowest network that contains it, or, in the loopback network, the
 * common key. Secrets follow from keys, and do not leave the machine.
 */
#include <sodium.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../usermode/platform/link.h"

#define CHECK(what)                                                                                \
	do {                                                                                       \
		if (!(what)) {                                                                     \
			fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #what);                 \
			exit(1);                                                                   \
		}                                                                                  \
	} while (0)

#define LONGEST 16700

static struct link_memory near, far;
static struct link_keys keys;
static u8 frame[LONGEST + sizeof(struct vnet_wire_trailer)] __attribute__((aligned(64)));

static void add_key(const char *secret)
{
	link_key_derive(&keys.key[keys.n++], secret, strlen(secret));
}

/* A key for 127.0.0.0/bits. */
static void add_key_of(const char *secret, u32 bits)
{
	static const u8 start[16] = { [10] = 0xff, 0xff, 0x7f };
	struct link_network *peers = &keys.key[keys.n].peers;

	add_key(secret);
	memcpy(peers->address, start, sizeof(start));
	peers->bits = 96 + bits;
}

static void common_key(void)
{
	link_key_derive(&keys.common, "a runtime directory", 19);
}

static void set_up(void)
{
	randombytes_buf(near.own_secret, sizeof(near.own_secret));
	randombytes_buf(far.own_secret, sizeof(far.own_secret));
	common_key();
	near.own.in = (struct sockaddr_in){ .sin_family = AF_INET, .sin_port = htons(4790) };
	far.own.in = near.own.in;
	near.own.in.sin_addr.s_addr = htonl(0x7f000001);
	far.own.in.sin_addr.s_addr = htonl(0x7f000002);
	add_key("a key of the test");
	link_keys_set(&near, &keys);
	link_keys_set(&far, &keys);
}

static struct vnet_wire_trailer trailer_of(u32 length)
{
	struct vnet_wire_trailer trailer;

	memcpy(&trailer, frame + length, sizeof(trailer));
	return trailer;
}

/* The documented construction, by the library's own function. */
static bool is_standard(u32 length)
{
	static u8 data[sizeof(struct vnet_wire_prefix) + LONGEST];
	static const u8 from[] = { 0xff, 0xff, 0x7f, 0, 0, 1 };
	static const u8 to[] = { 0xff, 0xff, 0x7f, 0, 0, 2 };
	static const u8 ports[] = { 0x12, 0xb6, 0x12, 0xb6 };
	struct vnet_wire_trailer trailer = trailer_of(length);
	u8 nonce[24], none[1] = { 0 }, *at = data;

	memset(data, 0, sizeof(struct vnet_wire_prefix));
	memcpy(at + 10, from, sizeof(from));
	memcpy(at + 26, to, sizeof(to));
	memcpy(at + 32, ports, sizeof(ports));
	at[36] = (u8)length;
	at[37] = (u8)(length >> 8);
	memcpy(at + 48, frame, length);
	memcpy(nonce, trailer.salt, 16);
	memcpy(nonce + 16, &trailer.number, 8);
	return !crypto_aead_xchacha20poly1305_ietf_decrypt_detached(
		none, NULL, none, 0, trailer.mac, data, 48 + length, nonce, keys.key[0].bytes);
}

static void fill(u32 length, u8 how)
{
	randombytes_buf(frame, length);
	((struct vnet_frame *)frame)->proof = how;
}

static u32 seal(u32 length)
{
	fill(length, VNET_PROOF_MAC);
	return link_seal(&near, &far.own, frame, length);
}

static struct nic_proof proof;
static bool stranger;

static u32 unseal(u32 length, bool *proven)
{
	u32 n = link_unseal(&far, &near.own, frame, length, &proof, &stranger);

	*proven = proof.given;
	/* A dropped frame gives the reason. */
	CHECK(!(n && stranger) && proof.local == link_is_loopback(&near.own));
	return n;
}

static void check_lengths(void)
{
	static const u32 lengths[] = { 56, 57, 63, 64, 71, 72, 112, 1351, 1352, LONGEST };
	bool proven;

	for (u32 i = 0; i < sizeof(lengths) / sizeof(*lengths); i++) {
		u32 sealed = seal(lengths[i]);

		CHECK(sealed == lengths[i] + sizeof(struct vnet_wire_trailer));
		CHECK(is_standard(lengths[i]));
		proven = false;
		CHECK(unseal(sealed, &proven) == lengths[i] && proven);
	}
}

static void check_nonces(void)
{
	struct vnet_wire_trailer first, second, other;

	seal(64);
	first = trailer_of(64);
	seal(64);
	second = trailer_of(64);
	CHECK(!memcmp(first.salt, second.salt, sizeof(first.salt)));
	CHECK(first.number != second.number);
	/* The same key, set again. */
	link_keys_set(&near, &keys);
	seal(64);
	other = trailer_of(64);
	CHECK(memcmp(first.salt, other.salt, sizeof(first.salt)) != 0);
	CHECK(other.number != first.number && other.number != second.number);
}

static void check_spoilt(void)
{
	u32 length = seal(100);
	u64 dropped;
	bool proven;

	for (u32 i = 0; i < 8 * length; i++) {
		u64 unknown = far.counters.unknown_key;

		dropped = far.counters.bad_mac + unknown;
		frame[i / 8] ^= (u8)(1u << i % 8);
		/*
		 * Reserved bits are ignored. A frame that says that it has no MAC is passed on
		 * as not proven, with its trailer.
		 */
		if (i / 8 >= 104 && i / 8 < 108)
			CHECK(unseal(length, &proven) == 100 && proven);
		else if (i / 8 == offsetof(struct vnet_frame, proof))
			CHECK(unseal(length, &proven) == length && !proven);
		else
			CHECK(!unseal(length, &proven) && !proven &&
			      far.counters.bad_mac + far.counters.unknown_key == dropped + 1);
		CHECK(stranger == (far.counters.unknown_key != unknown));
		frame[i / 8] ^= (u8)(1u << i % 8);
	}
	CHECK(unseal(length, &proven) == 100);
	for (u32 i = 0; i < length; i++)
		CHECK(!unseal(i, &proven) && !proven);
	CHECK(far.counters.no_mac);
	/* Returned to its sender; and from its receiver's own address. */
	CHECK(!link_unseal(&near, &far.own, frame, length, &proof, &stranger) && !stranger);
	CHECK(!link_unseal(&far, &far.own, frame, length, &proof, &stranger) && !stranger);
}

/* Other proofs: a CRC instead of the MAC, and secrets on this machine only. */
static void check_proofs(void)
{
	union link_address elsewhere = far.own;
	bool proven;

	elsewhere.in.sin_addr.s_addr = htonl(0x0a000001);
	for (u32 how = VNET_PROOF_SECRET; how <= VNET_PROOF_NONE; how++) {
		fill(100, (u8)how);
		((struct vnet_frame *)frame)->crc = 0;
		CHECK(link_seal(&near, &far.own, frame, 100) == 100);
		CHECK(nic_frame_crc_ok(frame, 100));
		CHECK(unseal(100, &proven) == 100 && !proven);
		((struct vnet_frame *)frame)->crc = 0;
		CHECK(link_seal(&near, &elsewhere, frame, 100) ==
		      (how == VNET_PROOF_SECRET ? 0 : 100));
		/* A frame from that address is not local, whatever it says. */
		CHECK(link_unseal(&far, &elsewhere, frame, 100, &proof, &stranger) == 100);
		CHECK(!proof.given && !proof.local && !stranger);
	}
}

static void check_keys(void)
{
	u32 length = seal(100);
	bool proven;

	keys.n = 0;
	add_key("another key of the test");
	link_keys_set(&far, &keys);
	CHECK(!unseal(length, &proven) && far.counters.unknown_key && stranger);
	add_key("a key of the test");
	link_keys_set(&far, &keys);
	CHECK(unseal(length, &proven) == 100 && proven);
	/* Without given keys, the different key of the runtime directory applies. */
	keys.n = 0;
	link_keys_set(&far, &keys);
	CHECK(!unseal(length, &proven) && !proven && stranger);
}

/* Loopback peers without a given key have the common key; other peers have none. */
static void check_common(void)
{
	union link_address address = far.own;
	bool proven;
	u32 length;

	keys.n = 0;
	link_keys_set(&near, &keys);
	link_keys_set(&far, &keys);
	CHECK(!near.reachable && link_has_key(&near, &far.own));
	length = seal(100);
	CHECK(unseal(length, &proven) == 100 && proven && proof.key == keys.common.id);
	/* The common key of another user. */
	link_key_derive(&keys.common, "another runtime directory", 25);
	link_keys_set(&far, &keys);
	CHECK(!unseal(length, &proven) && stranger);
	common_key();
	/* A given key for other peers only. */
	add_key_of("of another", 32);
	keys.key[0].peers.address[12] = 10;
	link_keys_set(&near, &keys);
	link_keys_set(&far, &keys);
	CHECK(near.reachable);
	CHECK(unseal(seal(100), &proven) == 100 && proven && proof.key == keys.common.id);
	address.in.sin_addr.s_addr = htonl(0x0a000000);
	CHECK(link_has_key(&near, &address));
	address.in.sin_addr.s_addr = htonl(0x0a000001);
	CHECK(!link_has_key(&near, &address));
	fill(100, VNET_PROOF_MAC);
	CHECK(!link_seal(&near, &address, frame, 100));
	/* A given key for this peer hides the common key, at either end. */
	keys.n = 0;
	add_key("a key of the test");
	link_keys_set(&far, &keys);
	CHECK(!unseal(seal(100), &proven) && stranger);
	link_keys_set(&near, &keys);
	CHECK(unseal(seal(100), &proven) == 100 && proof.key == keys.key[0].id);
	address = (union link_address){ .in6 = { .sin6_family = AF_INET6 } };
	keys.n = 0;
	link_keys_set(&near, &keys);
	CHECK(!link_has_key(&near, &address));
	address.in6.sin6_addr = in6addr_loopback;
	CHECK(link_has_key(&near, &address));
}

struct side {
	struct host host;
	struct nic nic;
};

static void make_side(struct side *side, struct link_memory *link)
{
	memset(side, 0, sizeof(*side));
	side->host.link.memory = link;
	side->nic.host = &side->host;
}

#define TEXT 32u

static bool secret_of(struct side *side, const union link_address *peer, u32 key, const u8 *text,
		      u8 secret[VNET_WIRE_SECRET_SIZE])
{
	return plat_secret(&side->nic, peer ? &peer->nic : NULL, key, text, TEXT, secret);
}

/* Both ends derive the same secret, and other inputs give other secrets. */
static void check_secrets(void)
{
	u8 text[TEXT], back[TEXT], one[16], two[16];
	union link_address elsewhere = far.own;
	struct side here, there;

	make_side(&here, &near);
	make_side(&there, &far);
	keys.n = 0;
	link_keys_set(&near, &keys);
	link_keys_set(&far, &keys);
	randombytes_buf(text, sizeof(text));
	memcpy(back, text + 16, 16);
	memcpy(back + 16, text, 16);
	CHECK(secret_of(&here, &far.own, 0, text, one));
	CHECK(secret_of(&there, &near.own, keys.common.id, text, two) && !memcmp(one, two, 16));
	CHECK(secret_of(&there, &near.own, 0, text, two) && !memcmp(one, two, 16));
	/* The other direction, and each changed bit. */
	CHECK(secret_of(&here, &far.own, 0, back, two) && memcmp(one, two, 16) != 0);
	for (u32 i = 0; i < 8 * sizeof(text); i++) {
		text[i / 8] ^= (u8)(1u << i % 8);
		CHECK(secret_of(&here, &far.own, 0, text, two) && memcmp(one, two, 16) != 0);
		text[i / 8] ^= (u8)(1u << i % 8);
	}
	/* An unknown key, a key that was given before, and both keys during a change. */
	CHECK(!secret_of(&here, &far.own, keys.common.id + 1, text, two));
	add_key("a key of the test");
	link_keys_set(&near, &keys);
	CHECK(!secret_of(&here, &far.own, keys.common.id, text, two));
	CHECK(secret_of(&here, &far.own, 0, text, two) && memcmp(one, two, 16) != 0);
	memcpy(one, two, 16);
	add_key("another key of the test");
	link_keys_set(&near, &keys);
	CHECK(secret_of(&here, &far.own, 0, text, two) && !memcmp(one, two, 16));
	CHECK(secret_of(&here, &far.own, keys.key[1].id, text, two) && memcmp(one, two, 16) != 0);
	/* Not for other machines, even with a key. */
	elsewhere.in.sin_addr.s_addr = htonl(0x0a000001);
	CHECK(link_has_key(&near, &elsewhere) && !secret_of(&here, &elsewhere, 0, text, two) &&
	      !secret_of(&here, &elsewhere, keys.key[0].id, text, two));
	/* A link's own secret differs from others', and does not depend on keys. */
	CHECK(secret_of(&here, NULL, 0, text, one) && secret_of(&there, NULL, 0, text, two));
	CHECK(memcmp(one, two, 16) != 0);
	CHECK(secret_of(&here, NULL, 0, text, two) && !memcmp(one, two, 16));
	link_keys_set(&near, &(struct link_keys){ .common = keys.common });
	CHECK(secret_of(&here, NULL, 0, text, two) && !memcmp(one, two, 16));
	CHECK(secret_of(&here, NULL, 0, back, two) && memcmp(one, two, 16) != 0);
}

/* Uses the keys for far, with near as the peer; near seals with "a key of the test". */
static bool is_taken(void)
{
	bool proven = false;
	u32 length;

	link_keys_set(&far, &keys);
	keys.n = 0;
	add_key("a key of the test");
	link_keys_set(&near, &keys);
	length = seal(100);
	keys.n = 0;
	return unseal(length, &proven) == 100 && proven;
}

static void check_groups(void)
{
	keys.n = 0;
	/* 127.0.0.1 is in 127.0.0.0/31, and not in 127.0.0.0/32. */
	add_key_of("a key of the test", 31);
	CHECK(is_taken());
	add_key_of("a key of the test", 32);
	CHECK(!is_taken());
	/* Only the narrowest network counts, in any position of the list. */
	add_key("a key of the test");
	add_key_of("another key of the test", 24);
	CHECK(!is_taken());
	add_key_of("a key of the test", 24);
	add_key("another key of the test");
	add_key_of("another key of the test", 16);
	CHECK(is_taken());
	/* All keys of one network are accepted. */
	add_key_of("another key of the test", 24);
	add_key_of("a key of the test", 24);
	CHECK(is_taken());
	add_key_of("another key of the test", 24);
	add_key_of("a key of the test", 32);
	CHECK(!is_taken());
}

/* A sender with another key is another sender, even with the same salt and numbers. */
static void check_senders(void)
{
	struct nic_proof first;
	bool proven;

	for (u32 i = 0; i < 2; i++) {
		keys.n = 0;
		add_key(i ? "another key of the test" : "a key of the test");
		link_keys_set(&near, &keys);
		link_keys_set(&far, &keys);
		/* The place in which senders are looked up. */
		memset(near.keys[near.keys_in_use].salt, 0x5a, 16);
		(void)crypto_core_hchacha20(near.keys[near.keys_in_use].key[0].subkey,
					    near.keys[near.keys_in_use].salt, keys.key[0].bytes,
					    NULL);
		near.sealed = 100;
		CHECK(unseal(seal(100), &proven) == 100 && proven && proof.number == 100);
		CHECK(proof.key == keys.key[0].id);
		if (!i)
			first = proof;
	}
	CHECK(proof.sender[0] != first.sender[0] && proof.sender[1] != first.sender[1]);
	CHECK(unseal(seal(100), &proven) == 100 && proof.number == 101);
	CHECK(memcmp(proof.sender, first.sender, sizeof(first.sender)) != 0);
}

/* Nodes are in one key group if the same keys apply to them. */
static void check_mates(void)
{
	struct host host = { .link.memory = &near };
	struct nic nic = { .host = &host };
	union link_address other = near.own;

	/* 127.0.0.2, which is far's address, and 127.0.0.5. */
	other.in.sin_addr.s_addr = htonl(0x7f000005);
	keys.n = 0;
	link_keys_set(&near, &keys);
	CHECK(plat_same_key_group(&nic, &far.own.nic, &other.nic));
	add_key_of("a key of the test", 24);
	add_key_of("another key of the test", 24);
	link_keys_set(&near, &keys);
	CHECK(plat_same_key_group(&nic, &far.own.nic, &other.nic));
	/* Other loopback peers have the common key. */
	CHECK(!plat_same_key_group(&nic, &far.own.nic, NULL));
	keys.key[0].peers.bits = keys.key[1].peers.bits = 96 + 8;
	link_keys_set(&near, &keys);
	CHECK(plat_same_key_group(&nic, &far.own.nic, &other.nic));
	CHECK(plat_same_key_group(&nic, &far.own.nic, NULL));
	/* 127.0.0.0/30 has its own key. */
	add_key_of("of a narrower network", 30);
	link_keys_set(&near, &keys);
	CHECK(!plat_same_key_group(&nic, &far.own.nic, &other.nic));
	CHECK(plat_same_key_group(&nic, &far.own.nic, &near.own.nic));
	CHECK(!plat_same_key_group(&nic, &far.own.nic, NULL));
	/* The same secrets for two networks. */
	keys.n = 0;
	add_key_of("a key of the test", 30);
	add_key_of("another key of the test", 30);
	add_key("a key of the test");
	add_key("another key of the test");
	link_keys_set(&near, &keys);
	CHECK(plat_same_key_group(&nic, &far.own.nic, &other.nic));
	CHECK(plat_same_key_group(&nic, &far.own.nic, NULL));
	/* Two peers without a given key have the common key, and so has an unknown one. */
	keys.n = 0;
	add_key_of("of this node", 32);
	add_key_of("of few", 31);
	link_keys_set(&near, &keys);
	CHECK(plat_same_key_group(&nic, &far.own.nic, &other.nic));
	CHECK(!plat_same_key_group(&nic, &near.own.nic, &other.nic));
	CHECK(!plat_same_key_group(&nic, &far.own.nic, NULL));
	/* But not if they are on other machines. */
	far.own.in.sin_addr.s_addr = htonl(0x0a000002);
	other.in.sin_addr.s_addr = htonl(0x0a000005);
	CHECK(!plat_same_key_group(&nic, &far.own.nic, &other.nic));
	/* One given key for peers outside of the loopback network: two groups. */
	keys.n = 0;
	add_key_of("a key of the test", 8);
	keys.key[0].peers.address[12] = 10;
	link_keys_set(&near, &keys);
	CHECK(plat_same_key_group(&nic, &far.own.nic, &other.nic));
	CHECK(!plat_same_key_group(&nic, &far.own.nic, NULL));
	far.own.in.sin_addr.s_addr = htonl(0x7f000002);
	CHECK(!plat_same_key_group(&nic, &far.own.nic, NULL));
	/* A key for a part of the loopback network, and for all of it. */
	keys.n = 0;
	add_key_of("a key of the test", 9);
	link_keys_set(&near, &keys);
	CHECK(!plat_same_key_group(&nic, &far.own.nic, NULL));
	add_key_of("a key of the test", 8);
	link_keys_set(&near, &keys);
	CHECK(plat_same_key_group(&nic, &far.own.nic, NULL));
}

/* The first key of the narrowest network seals frames; without a key nothing is sent. */
static void check_sending(void)
{
	struct link_keys other = { .n = 0 };
	bool proven = false;

	keys.n = 0;
	add_key_of("of a network", 8);
	add_key("of all");
	add_key_of("of a narrower network", 30);
	add_key_of("of it, too", 30);
	link_keys_set(&near, &keys);
	other.n = 1;
	other.key[0] = keys.key[2];
	other.key[0].peers.bits = 0;
	link_keys_set(&far, &other);
	CHECK(unseal(seal(100), &proven) == 100 && proven);
	CHECK(link_has_key(&near, &far.own));
	keys.n = 0;
	/* None of these is for 127.0.0.2, so it has the common key. */
	add_key_of("of another", 32);
	link_keys_set(&near, &keys);
	link_keys_set(&far, &(struct link_keys){ .common = keys.common });
	CHECK(unseal(seal(100), &proven) == 100 && link_has_key(&near, &far.own));
	CHECK(proof.key == keys.common.id);
}

int main(void)
{
	CHECK(sodium_init() >= 0);
	set_up();
	check_lengths();
	check_nonces();
	check_spoilt();
	check_proofs();
	check_keys();
	check_common();
	check_secrets();
	check_groups();
	check_senders();
	check_mates();
	check_sending();
	return 0;
}
