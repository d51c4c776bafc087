// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include <string.h>

#include "peer.h"
#include "world.h"

#define MOST_HEARD 1024

/* A set of cookies or nonces. */
struct heard {
	u32 n;
	u8 what[MOST_HEARD][16];
};

static struct peer {
	/* From the latest WELCOME: the cookie, or the row and the NIC's key share. */
	u8 cookie[VNET_WIRE_COOKIE_SIZE];
	u32 row;
	u8 share[VNET_WIRE_NONCE_SIZE];
	/* From the latest HELLO. */
	u8 nonce[VNET_WIRE_NONCE_SIZE];
	u32 calling_row;
	struct heard cookies, nonces;
} peer[WORLD_ADDRESSES];

void peers_begin(void)
{
	for (u32 i = 0; i < WORLD_ADDRESSES; i++) {
		memset(&peer[i], 0, offsetof(struct peer, cookies));
		peer[i].row = peer[i].calling_row = ~0u;
		peer[i].cookies.n = peer[i].nonces.n = 0;
	}
}

static bool has_heard(const struct heard *heard, const u8 *what)
{
	for (u32 i = 0; i < heard->n; i++)
		if (!memcmp(heard->what[i], what, 16))
			return true;
	return false;
}

static void remember(struct heard *heard, const u8 *what)
{
	if (has_heard(heard, what))
		return;
	CHECK(heard->n < MOST_HEARD);
	memcpy(heard->what[heard->n++], what, 16);
}

void peer_heard(u32 who, const u8 *bytes, u32 length)
{
	const struct vnet_frame *frame = (const void *)bytes;
	const struct vnet_frame_hello *hello = (const void *)(frame + 1);
	struct peer *p = &peer[who];

	if (length < sizeof(*frame) + sizeof(*hello))
		return;
	if (frame->kind == VNET_FRAME_HELLO) {
		memcpy(p->nonce, hello->nonce, sizeof(p->nonce));
		p->calling_row = le32toh(frame->src_row);
		remember(&p->nonces, hello->nonce);
	} else if (frame->kind == VNET_FRAME_WELCOME && frame->src_row == htole32(~0u)) {
		memcpy(p->cookie, hello->cookie, sizeof(p->cookie));
		remember(&p->cookies, hello->cookie);
	} else if (frame->kind == VNET_FRAME_WELCOME) {
		p->row = le32toh(frame->src_row);
		memcpy(p->share, hello->share, sizeof(p->share));
	}
}

/* Each peer has one row and one key share. */
static void own_share(u32 who, u8 share[VNET_WIRE_NONCE_SIZE])
{
	memset(share, 0x30 + (int)who, VNET_WIRE_NONCE_SIZE);
}

static void complete_hello(u32 who, struct vnet_frame *frame)
{
	struct vnet_frame_hello *hello = (void *)(frame + 1);
	const struct peer *p = &peer[who];

	own_share(who, hello->share);
	hello->flags = htole32(VNET_HELLO_LOCAL);
	if (frame->kind == VNET_FRAME_HELLO) {
		memset(hello->nonce, 0x60 + (int)who, sizeof(hello->nonce));
		memcpy(hello->cookie, p->cookie, sizeof(hello->cookie));
		frame->dst_row = htole32(p->row);
		return;
	}
	memcpy(hello->nonce, p->nonce, sizeof(hello->nonce));
	frame->dst_row = htole32(p->calling_row);
	if (frame->kind == VNET_FRAME_REFUSE)
		hello->flags = htole32(VNET_REFUSAL_KEY);
}

void peer_complete(u32 who, struct vnet_frame *frame)
{
	const struct peer *p = &peer[who];
	u8 share[VNET_WIRE_NONCE_SIZE];

	frame->src_row = htole32(0x70000 + who);
	if (frame->kind != VNET_FRAME_DATA && frame->kind != VNET_FRAME_ACK) {
		complete_hello(who, frame);
		return;
	}
	frame->dst_row = htole32(p->row);
	own_share(who, share);
	if (frame->proof == VNET_PROOF_SECRET)
		judge_secret(judge_secret_of(&world_address[who]), share, p->share, frame->secret);
}

bool peer_has_cookie(u32 who, const u8 *cookie)
{
	return has_heard(&peer[who].cookies, cookie);
}

bool peer_was_called(u32 who, const u8 *nonce)
{
	return has_heard(&peer[who].nonces, nonce);
}

u32 peer_row(u32 who)
{
	return peer[who].row;
}
