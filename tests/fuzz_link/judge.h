/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * An independent implementation of the link's rules for frames, from the documentation and
 * libsodium. It also makes MACs for peers.
 */
#ifndef JUDGE_H
#define JUDGE_H

#include <stdio.h>
#include <stdlib.h>

#include "../../usermode/platform/link.h"

#define CHECK(what)                                                                                \
	do {                                                                                       \
		if (!(what)) {                                                                     \
			fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #what);                 \
			abort();                                                                   \
		}                                                                                  \
	} while (0)

#define TRAILER ((u32)sizeof(struct vnet_wire_trailer))
/* The given secrets, and that of the runtime directory (JUDGE_COMMON). */
#define JUDGE_SECRETS 4u
#define JUDGE_COMMON 3u
#define JUDGE_SETS 6u

enum verdict {
	TAKEN,
	STRANGER,
	OVERSIZE,
	NO_MAC,
	UNKNOWN_KEY,
	BAD_MAC,
	REPLAYED,
	VERDICTS,
};

/* Parameters of a MAC, for a frame between these addresses. */
struct seal {
	u32 secret;
	u8 salt[VNET_WIRE_SALT_SIZE];
	u64 number;
	const union link_address *from;
	const union link_address *to;
};

/* Forgets all frames. The link's own address is `own`. */
void judge_begin(const union link_address *own);
/* Uses this set of keys (below JUDGE_SETS) from now on, and returns it for the link. */
void judge_use_keys(u32 set, struct link_keys *keys);
/* Whether keys are given in addition to that of the runtime directory. */
bool judge_has_keys(void);
/* The secret that this peer uses; JUDGE_SECRETS: none. */
u32 judge_secret_of(const union link_address *peer);
/* Whether the address is in the loopback network of its own address family. */
bool judge_is_local(const union link_address *address);
/* The secret of frames in one direction. `secret` JUDGE_SECRETS gives zeros. */
void judge_secret(u32 secret, const u8 *share, const u8 *other, u8 *made);
bool judge_is_secret(const u8 *share, const u8 *other, const u8 *claimed);
/* Appends a trailer. */
void judge_seal(const struct seal *seal, u8 *frame, u32 length);

bool judge_is_stranger(const union link_address *from);
/*
 * The verdict on an arriving frame with its trailer. If it is TAKEN, *length becomes the
 * frame's own length, and *proven tells whether it has a MAC.
 */
enum verdict judge_frame(const union link_address *from, const u8 *frame, u32 *length,
			 bool *proven);
/* Whether a frame under an unknown key must be answered with REFUSE. */
bool judge_is_call(const u8 *frame, u32 length);
/*
 * Checks a departing frame: it must have a MAC with the right key and a fresh nonce, or a CRC
 * if it needs no MAC.
 */
void judge_sent(const union link_address *to, const u8 *frame, u32 length);

#endif /* JUDGE_H */
