/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * One sender and several receivers, for tests of multicast datagrams and of Ethernet frames.
 */
#ifndef VN_RECEIVERS_H
#define VN_RECEIVERS_H

#include "world.h"

/* The sender and a receiver on side 0, and three receivers on side 1. */
extern struct end *sender, *near, *far[3];

/* A queue pair of this type in RTS, without a peer. */
struct end *receiver_make(struct side *s, u8 type);

/* Makes a world with these queue pairs. Side 1 has two GIDs; the caller sets the second one. */
void receivers_make(u32 seed, u8 type);

#endif
