// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include <sodium.h>
#include <stddef.h>
#include <string.h>

#include "judge.h"

#define LONGEST_DATAGRAM 65536
/* Limit of accepted frame numbers that are stored. */
#define MOST_COME 4096
/* As documented: numbers per block, and the number of blocks in the window. */
#define BLOCK 16u
#define BLOCKS 512u

struct group {
	u32 secret;
	/* Prefix of the peers' addresses. */
	u8 address[16];
	u32 bits;
};

struct come {
	u32 secret;
	u8 salt[VNET_WIRE_SALT_SIZE];
	u64 number;
};

#define MAPPED(...)                                                                                \
	{                                                                                          \
		0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, __VA_ARGS__                              \
	}

static const char *const secrets[JUDGE_SECRETS] = { "the first secret of the test",
						    "the second secret of the test",
						    "the third secret of the test",
						    "the runtime directory's" };

/* Sets of given keys: none, one, two for all peers, for networks, and for few peers only. */
static const struct {
	u32 n;
	struct group group[4];
} sets[JUDGE_SETS] = {
	{ 0, { { 0 } } },
	{ 1, { { .secret = 0 } } },
	{ 2, { { .secret = 0 }, { .secret = 1 } } },
	{ 3,
	  { { .secret = 1, .address = MAPPED(127, 0, 0, 0), .bits = 120 },
	    { .secret = 0, .address = MAPPED(127, 0, 0, 0), .bits = 104 },
	    { .secret = 2, .address = { 0xfd }, .bits = 8 } } },
	{ 4,
	  { { .secret = 0 },
	    { .secret = 1, .address = MAPPED(127, 0, 1, 2), .bits = 127 },
	    { .secret = 2, .address = MAPPED(127, 0, 1, 2), .bits = 127 },
	    { .secret = 1, .address = { 0xfd }, .bits = 16 } } },
	{ 2,
	  { { .secret = 2, .address = MAPPED(10, 0, 0, 0), .bits = 104 },
	    { .secret = 2, .address = { [15] = 1 }, .bits = 128 } } },
};

static union link_address own_address;
static u32 set_in_use;
static struct come come[MOST_COME];
static u32 ncome;
static u64 last_sent;

/* ------------------------------------------------------------------------- keys */

/* The key, then its number. */
static void derive(u32 secret, u8 key[64])
{
	static const char purpose[] = "vnet link key 2";
	u8 text[128];
	size_t n = strlen(secrets[secret]);

	memcpy(text, purpose, sizeof(purpose));
	memcpy(text + sizeof(purpose), secrets[secret], n);
	crypto_generichash(key, 64, text, sizeof(purpose) + n, NULL, 0);
}

static u32 key_number(u32 secret)
{
	u8 key[64];
	__le32 number;

	derive(secret, key);
	memcpy(&number, key + 32, sizeof(number));
	return le32toh(number);
}

static void address_bytes(const union link_address *address, u8 bytes[16])
{
	static const u8 mapped[12] = { [10] = 0xff, [11] = 0xff };

	if (address->any.sa_family == AF_INET6) {
		memcpy(bytes, &address->in6.sin6_addr, 16);
		return;
	}
	memcpy(bytes, mapped, 12);
	memcpy(bytes + 12, &address->in.sin_addr, 4);
}

static bool is_member(const struct group *group, const union link_address *peer)
{
	u8 bytes[16];

	address_bytes(peer, bytes);
	for (u32 bit = 0; bit < group->bits; bit++)
		if ((bytes[bit / 8] ^ group->address[bit / 8]) >> (7 - bit % 8) & 1)
			return false;
	return true;
}

/* Prefix length of the narrowest network with the peer; -1: none. */
static int bits_of(const union link_address *peer)
{
	int best = -1;

	for (u32 i = 0; i < sets[set_in_use].n; i++) {
		const struct group *group = &sets[set_in_use].group[i];

		if (is_member(group, peer) && (int)group->bits > best)
			best = (int)group->bits;
	}
	return best;
}

/* By address bytes, like the scopes of keys: includes IPv4-mapped IPv6 addresses. */
static bool is_loopback(const union link_address *address)
{
	static const u8 loopback6[16] = { [15] = 1 };
	static const u8 mapped[12] = { [10] = 0xff, [11] = 0xff };
	u8 bytes[16];

	address_bytes(address, bytes);
	return !memcmp(bytes, loopback6, 16) || (!memcmp(bytes, mapped, 12) && bytes[12] == 127);
}

u32 judge_secret_of(const union link_address *peer)
{
	int bits = bits_of(peer);

	for (u32 i = 0; i < sets[set_in_use].n; i++)
		if (is_member(&sets[set_in_use].group[i], peer) &&
		    (int)sets[set_in_use].group[i].bits == bits)
			return sets[set_in_use].group[i].secret;
	return is_loopback(peer) ? JUDGE_COMMON : JUDGE_SECRETS;
}

/* The secret of the peer's keys that has this number. */
static u32 accepted_secret(const union link_address *peer, u32 number)
{
	int bits = bits_of(peer);

	for (u32 i = 0; i < sets[set_in_use].n; i++) {
		const struct group *group = &sets[set_in_use].group[i];

		if (is_member(group, peer) && (int)group->bits == bits &&
		    key_number(group->secret) == number)
			return group->secret;
	}
	if (bits < 0 && is_loopback(peer) && key_number(JUDGE_COMMON) == number)
		return JUDGE_COMMON;
	return JUDGE_SECRETS;
}

void judge_use_keys(u32 set, struct link_keys *keys)
{
	set_in_use = set;
	memset(keys, 0, sizeof(*keys));
	link_key_derive(&keys->common, secrets[JUDGE_COMMON], strlen(secrets[JUDGE_COMMON]));
	for (u32 i = 0; i < sets[set].n; i++) {
		const struct group *group = &sets[set].group[i];
		struct link_key *key = &keys->key[keys->n++];

		link_key_derive(key, secrets[group->secret], strlen(secrets[group->secret]));
		memcpy(key->peers.address, group->address, sizeof(key->peers.address));
		key->peers.bits = group->bits;
	}
}

bool judge_has_keys(void)
{
	return sets[set_in_use].n != 0;
}

/* ---------------------------------------------------------------------- secrets */

void judge_secret(u32 secret, const u8 *share, const u8 *other, u8 *made)
{
	static const u8 purpose[16] = "vnet link secret";
	u8 key[64], first[32], second[32], third[32];

	memset(made, 0, VNET_WIRE_SECRET_SIZE);
	if (secret == JUDGE_SECRETS)
		return;
	derive(secret, key);
	crypto_core_hchacha20(first, purpose, key, NULL);
	crypto_core_hchacha20(second, share, first, NULL);
	crypto_core_hchacha20(third, other, second, NULL);
	memcpy(made, third, VNET_WIRE_SECRET_SIZE);
}

bool judge_is_secret(const u8 *share, const u8 *other, const u8 *claimed)
{
	u8 made[VNET_WIRE_SECRET_SIZE];

	for (u32 i = 0; i < JUDGE_SECRETS; i++) {
		judge_secret(i, share, other, made);
		if (!memcmp(made, claimed, sizeof(made)))
			return true;
	}
	return false;
}

/* ------------------------------------------------------------------------- MACs */

static __be16 port_of(const union link_address *address)
{
	return address->any.sa_family == AF_INET6 ? address->in6.sin6_port : address->in.sin_port;
}

/* Makes the additional data of a MAC, and returns its length. */
static u32 mac_data(const union link_address *from, const union link_address *to, const u8 *frame,
		    u32 length, u8 *data)
{
	__be16 ports[2] = { port_of(from), port_of(to) };
	__le32 frame_length = htole32(length);

	memset(data, 0, 48);
	address_bytes(from, data);
	address_bytes(to, data + 16);
	memcpy(data + 32, ports, 4);
	memcpy(data + 36, &frame_length, 4);
	memcpy(data + 48, frame, length);
	return 48 + length;
}

/* The whole AEAD construction in one call, with an empty text. */
static void make_mac(const struct seal *seal, const u8 *frame, u32 length, u8 *mac)
{
	static u8 data[48 + LONGEST_DATAGRAM];
	u8 key[64], nonce[24], none[1] = { 0 };
	__le64 number = htole64(seal->number);
	u32 n = mac_data(seal->from, seal->to, frame, length, data);

	derive(seal->secret, key);
	memcpy(nonce, seal->salt, 16);
	memcpy(nonce + 16, &number, 8);
	crypto_aead_xchacha20poly1305_ietf_encrypt_detached(none, mac, NULL, none, 0, data, n, NULL,
							    nonce, key);
}

void judge_seal(const struct seal *seal, u8 *frame, u32 length)
{
	struct vnet_wire_trailer trailer = { .key_id = htole32(key_number(seal->secret)),
					     .number = htole64(seal->number) };

	memcpy(trailer.salt, seal->salt, sizeof(trailer.salt));
	make_mac(seal, frame, length, trailer.mac);
	memcpy(frame + length, &trailer, sizeof(trailer));
}

static bool mac_is_right(const struct seal *seal, const struct vnet_wire_trailer *trailer,
			 const u8 *frame, u32 length)
{
	u8 mac[VNET_WIRE_MAC_SIZE];

	make_mac(seal, frame, length, mac);
	return !memcmp(mac, trailer->mac, sizeof(mac));
}

/* ------------------------------------------------------------ arriving frames */

void judge_begin(const union link_address *own)
{
	own_address = *own;
	ncome = 0;
	last_sent = 0;
}

bool judge_is_local(const union link_address *address)
{
	static const u8 loopback6[16] = { [15] = 1 };
	u8 bytes[16];

	address_bytes(address, bytes);
	if (address->any.sa_family == AF_INET6)
		return !memcmp(bytes, loopback6, sizeof(bytes));
	return bytes[12] == 127 || address->in.sin_addr.s_addr == 0;
}

bool judge_is_stranger(const union link_address *from)
{
	return !judge_has_keys() && !judge_is_local(from);
}

/* Whether the number was accepted before, or is behind its sender's window. */
static bool is_repeated(const struct seal *seal)
{
	u64 block = seal->number / BLOCK;

	for (u32 i = 0; i < ncome; i++) {
		u64 other = come[i].number / BLOCK;

		if (come[i].secret != seal->secret ||
		    memcmp(come[i].salt, seal->salt, sizeof(seal->salt)) != 0)
			continue;
		if (come[i].number == seal->number ||
		    (other > block && other % BLOCKS == block % BLOCKS))
			return true;
	}
	return block >> 48;
}

static void remember(const struct seal *seal)
{
	struct come *now = &come[ncome++];

	CHECK(ncome < MOST_COME);
	now->secret = seal->secret;
	now->number = seal->number;
	memcpy(now->salt, seal->salt, sizeof(now->salt));
}

static u8 proof_of(const u8 *frame)
{
	return frame[offsetof(struct vnet_frame, proof)];
}

enum verdict judge_frame(const union link_address *from, const u8 *frame, u32 *length, bool *proven)
{
	struct seal seal = { .from = from, .to = &own_address };
	struct vnet_wire_trailer trailer;

	*proven = false;
	if (*length > VNET_WIRE_MAX_FRAME + TRAILER)
		return OVERSIZE;
	/* Other proofs are checked by the firmware. */
	if (*length >= sizeof(struct vnet_frame) && proof_of(frame) != VNET_PROOF_MAC)
		return TAKEN;
	if (*length < sizeof(struct vnet_frame) + TRAILER)
		return NO_MAC;
	memcpy(&trailer, frame + *length - TRAILER, sizeof(trailer));
	seal.secret = accepted_secret(from, le32toh(trailer.key_id));
	if (seal.secret == JUDGE_SECRETS)
		return UNKNOWN_KEY;
	memcpy(seal.salt, trailer.salt, sizeof(seal.salt));
	seal.number = le64toh(trailer.number);
	if (!mac_is_right(&seal, &trailer, frame, *length - TRAILER))
		return BAD_MAC;
	if (is_repeated(&seal))
		return REPLAYED;
	remember(&seal);
	*length -= TRAILER;
	*proven = true;
	return TAKEN;
}

bool judge_is_call(const u8 *frame, u32 length)
{
	struct vnet_frame head;
	struct vnet_frame_hello hello;
	u8 own[16];

	if (length < sizeof(head) + sizeof(hello))
		return false;
	memcpy(&head, frame, sizeof(head));
	memcpy(&hello, frame + sizeof(head), sizeof(hello));
	address_bytes(&own_address, own);
	return le16toh(head.magic) == VNET_WIRE_MAGIC && head.version == VNET_WIRE_VERSION &&
	       head.kind == VNET_FRAME_HELLO && !head.nacks && !memcmp(hello.dst_gid, own, 16);
}

/* ----------------------------------------------------------- departing frames */

static void judge_sum(const u8 *frame, u32 length)
{
	static u64 space[LONGEST_DATAGRAM / 8];
	struct vnet_frame *copy = (void *)space;
	__le32 sum;

	memcpy(copy, frame, length);
	sum = copy->crc;
	copy->crc = 0;
	CHECK(le32toh(sum) == plat_crc32c(0, copy, length));
}

/* A CRC instead of a MAC is allowed for these kinds only, and a secret on this machine only. */
static void judge_plain(const union link_address *to, const struct vnet_frame *frame, u32 length)
{
	judge_sum((const u8 *)frame, length);
	if (frame->kind == VNET_FRAME_REFUSE) {
		CHECK(frame->proof == VNET_PROOF_NONE &&
		      length == sizeof(*frame) + sizeof(struct vnet_frame_hello));
		return;
	}
	CHECK(frame->kind == VNET_FRAME_DATA || frame->kind == VNET_FRAME_ACK);
	CHECK(frame->proof == VNET_PROOF_SECRET && judge_is_local(to));
}

void judge_sent(const union link_address *to, const u8 *frame, u32 length)
{
	struct seal seal = { .from = &own_address, .to = to };
	struct vnet_wire_trailer trailer;

	CHECK(!judge_is_stranger(to) && length >= sizeof(struct vnet_frame));
	if (proof_of(frame) != VNET_PROOF_MAC) {
		judge_plain(to, (const void *)frame, length);
		return;
	}
	CHECK(length >= sizeof(struct vnet_frame) + TRAILER);
	memcpy(&trailer, frame + length - TRAILER, sizeof(trailer));
	seal.secret = judge_secret_of(to);
	CHECK(seal.secret < JUDGE_SECRETS && le32toh(trailer.key_id) == key_number(seal.secret));
	memcpy(seal.salt, trailer.salt, sizeof(seal.salt));
	seal.number = le64toh(trailer.number);
	CHECK(mac_is_right(&seal, &trailer, frame, length - TRAILER));
	/* Numbers begin with 0 and increase, with whatever key. */
	CHECK(seal.number + 1 > last_sent);
	last_sent = seal.number + 1;
}
