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
/* Those that are given, and that of the runtime directory. */
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
/* Any beside that of the runtime directory? */
bool judge_has_keys(void);
/* The secret with which this peer speaks; JUDGE_SECRETS: it has none. */
u32 judge_secret_of(const union link_address *peer);
/* At this machine, and by the loopback network of its own language. */
bool judge_is_local(const union link_address *address);
/* What frames of one direction prove themselves by; JUDGE_SECRETS: zeros. */
void judge_secret(u32 secret, const u8 *share, const u8 *other, u8 *made);
bool judge_is_secret(const u8 *share, const u8 *other, const u8 *claimed);
/* Append a trailer. */
void judge_seal(const struct seal *seal, u8 *frame, u32 length);

bool judge_is_stranger(const union link_address *from);
/*
 * One frame that came, with its trailer; *length is the frame's where it is taken. *proven:
 * by a MAC.
 */
enum verdict judge_frame(const union link_address *from, const u8 *frame, u32 *length,
			 bool *proven);
/* Is a frame under a key that is not known to be answered with REFUSE? */
bool judge_is_call(const u8 *frame, u32 length);
/*
 * One frame that left: it must have a MAC by the right key, and a nonce of its own; or a
 * CRC, where it needs no MAC.
 */
void judge_sent(const union link_address *to, const u8 *frame, u32 length);

#endif /* JUDGE_H */
