/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* A NIC with a user-mode link, its peers, and the checks of both. */
#ifndef WORLD_H
#define WORLD_H

#include "judge.h"
#include "socket.h"

/* Number of addresses that frames come from. */
#define WORLD_ADDRESSES 6u
#define WORLD_INCARNATION 1000u

extern struct nic nic;
extern struct link_memory *link_memory;
extern union link_address world_own, world_address[WORLD_ADDRESSES];
extern u64 now_ns;
/* Number of frames that the link has sent, and the last one. */
extern u64 world_sent;
extern u8 world_last[2048];
extern u32 world_last_length;

void world_begin(bool ipv6, u32 keys);
void world_end(void);
void world_keys(u32 set);
/* Faults of arriving frames: of all, or of those from `peer`. */
void world_faults(const struct link_faults *faults, const union link_address *peer);
void gid_of(const union link_address *address, u8 gid[16]);
/* The link polls its socket: datagrams in transit arrive, and are judged. */
void world_look(void);
/* Delivers all datagrams in transit, and all held frames. */
void world_settle(void);
/* Number of frames that the firmware has received. */
u64 world_taken(void);
/* Number of frames that it has dropped. */
u64 world_dropped(void);

#endif /* WORLD_H */
