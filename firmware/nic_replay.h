/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Frames that prove who sent them (a MAC under a key) are taken once each: by the salt that
 * their sender has made for itself, and the number that it has given the frame. Of a link,
 * in memory that all who receive by it share.
 */
#ifndef NIC_REPLAY_H
#define NIC_REPLAY_H

#include "nic.h"

/* Salts that are remembered; a sender has a new one in each life, and with each key. */
#define NIC_REPLAY_SENDERS 256u
/* A frame may be overtaken by so many of its sender, to whomever, and is taken all the same. */
#define NIC_REPLAY_NUMBERS 8192u
/* Numbers that a word tells of. */
#define NIC_REPLAY_BLOCK 16u
#define NIC_REPLAY_WORDS (NIC_REPLAY_NUMBERS / NIC_REPLAY_BLOCK)

struct nic_replay_sender {
	u64 salt[2];
	/* About when it was last heard; 0: nobody's; NIC_REPLAY_FILLING: not yet somebody's. */
	u64 used;
};

struct nic_replay {
	/* Of who makes room for a sender. */
	nic_lock_t lock;
	u32 rsvd;
	struct nic_replay_sender sender[NIC_REPLAY_SENDERS];
	/*
	 * Word i is about a block of numbers, of which i is the remainder: which block, then a
	 * bit for each of its numbers that has come. It never goes back to an earlier block.
	 */
	u64 word[NIC_REPLAY_SENDERS][NIC_REPLAY_WORDS];
};

/*
 * Has this frame come for the first time? false: it is to be dropped, because it has come
 * before, is too late for that to be known, or (it comes again) there is no room just now.
 */
bool nic_replay_take(struct nic *nic, struct nic_replay *replay, const u8 salt[16], u64 number);
/* Who may have been at it has died. */
void nic_replay_recover(struct nic_replay *replay, u32 owner);

#endif /* NIC_REPLAY_H */
