/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * What is at the addresses around the link: who writes down what it is sent, so that it can
 * say what a peer would, and so that it is known what it can have learnt.
 */
#ifndef PEER_H
#define PEER_H

#include "judge.h"

/* Nobody has been sent anything yet. */
void peers_begin(void);
/* The link has sent this to the address with this number. */
void peer_heard(u32 who, const u8 *frame, u32 length);
/* A frame with its kind, life and body: what a peer with a memory would have said. */
void peer_complete(u32 who, struct vnet_frame *frame);
/* Has this address been sent this cookie, or (of a HELLO) this nonce? */
bool peer_has_cookie(u32 who, const u8 *cookie);
bool peer_was_called(u32 who, const u8 *nonce);
/* What the row that its last WELCOME named is: NIC_NONE: there was none. */
u32 peer_row(u32 who);

#endif /* PEER_H */
