/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* A NIC with a link of user mode, the nodes around it, and what must hold of it. */
#ifndef WORLD_H
#define WORLD_H

#include "judge.h"
#include "socket.h"

/* Addresses that frames come from. */
#define WORLD_ADDRESSES 6u
#define WORLD_INCARNATION 1000u

extern struct nic nic;
extern struct link_memory *link_memory;
extern union link_address world_own, world_address[WORLD_ADDRESSES];
extern u64 now_ns;
/* Frames that the link has sent; the last of them. */
extern u64 world_sent;
extern u8 world_last[2048];
extern u32 world_last_length;

void world_begin(bool ipv6, u32 keys);
void world_end(void);
void world_keys(u32 set);
/* Frames that come meet with these: all, or those that come from @peer. */
void world_faults(const struct link_faults *faults, const union link_address *peer);
void gid_of(const union link_address *address, u8 gid[16]);
/* The link looks at its socket: what is on the way comes, and is judged. */
void world_look(void);
/* Until nothing is on the way any more, nor kept back. */
void world_settle(void);
/* How many frames the firmware had so far. */
u64 world_taken(void);
/* And how many of these it has dropped. */
u64 world_dropped(void);

#endif /* WORLD_H */
