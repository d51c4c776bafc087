/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Peers of the link, with records of the frames that the link sent to them. With these a peer
 * completes its own frames, and the test knows which values the peer can know.
 */
#ifndef PEER_H
#define PEER_H

#include "judge.h"

/* Clears all records. */
void peers_begin(void);
/* Records a frame that the link sent to the address with this number. */
void peer_heard(u32 who, const u8 *frame, u32 length);
/* Completes a frame that has its kind, incarnation and body with the values that the peer knows. */
void peer_complete(u32 who, struct vnet_frame *frame);
/* Whether this address was sent this cookie, or (in a HELLO) this nonce. */
bool peer_has_cookie(u32 who, const u8 *cookie);
bool peer_was_called(u32 who, const u8 *nonce);
/* The row in the latest WELCOME with a row; NIC_NONE: none. */
u32 peer_row(u32 who);

#endif /* PEER_H */
