/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * What frames must come to, worked out from the documentation and libsodium's own
 * construction, and not as the link does it. It makes MACs as well, for peers.
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
#define JUDGE_SECRETS 3u
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

/* Who sealed a frame, as if between these two. */
struct seal {
	u32 secret;
	u8 salt[VNET_WIRE_SALT_SIZE];
	u64 number;
	const union link_address *from;
	const union link_address *to;
};

/* Nothing has come yet; frames are for this address. */
void judge_begin(const union link_address *own);
/* These keys count from now on: one of JUDGE_SETS; what the link is to be given for it. */
void judge_use_keys(u32 set, struct link_keys *keys);
bool judge_has_keys(void);
/* The secret with which this peer speaks; JUDGE_SECRETS: it has none. */
u32 judge_secret_of(const union link_address *peer);
/* Append a trailer. */
void judge_seal(const struct seal *seal, u8 *frame, u32 length);

bool judge_is_stranger(const union link_address *from);
/* One frame that came, with its trailer; *length is the frame's where it is taken. */
enum verdict judge_frame(const union link_address *from, const u8 *frame, u32 *length);
/* One frame that left: it must have a MAC by the right key, and a nonce of its own. */
void judge_sent(const union link_address *to, const u8 *frame, u32 length);

#endif /* JUDGE_H */
