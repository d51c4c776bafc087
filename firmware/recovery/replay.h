/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Frames that prove who sent them (a MAC under a key) are taken once each: by what follows
 * from that key and the salt that their sender has made for itself, so that nobody speaks
 * for a sender of another key, and by the number that it has given the frame. Of a link, in
 * memory that all who receive by it share.
 */
#ifndef NIC_REPLAY_H
#define NIC_REPLAY_H

#include "nic.h"

/* Senders that are remembered; one has a new name in each life, and with each key. */
#define NIC_REPLAY_SENDERS 256u
/* A frame may be overtaken by so many of its sender, to whomever, and is taken all the same. */
#define NIC_REPLAY_NUMBERS 8192u
/* Numbers that a word tells of. */
#define NIC_REPLAY_BLOCK 16u
#define NIC_REPLAY_WORDS (NIC_REPLAY_NUMBERS / NIC_REPLAY_BLOCK)
/* The most keys that are in use at a time. */
#define NIC_REPLAY_KEYS 32u

struct nic_replay_sender {
	u64 name[2];
	/* About when it was last heard; 0: nobody's; NIC_REPLAY_FILLING: not yet somebody's. */
	u64 used;
	/* 0: one that is in use no more. */
	u32 key;
	u32 rsvd;
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
bool nic_replay_take(struct nic *nic, struct nic_replay *replay, const struct nic_proof *proof);
/* These are the keys in use, NIC_REPLAY_KEYS at most: senders by others make room first. */
void nic_replay_keep(struct nic_replay *replay, const u32 *keys, u32 n);
/* Who may have been at it has died. */
void nic_replay_recover(struct nic_replay *replay, u32 owner);

#endif /* NIC_REPLAY_H */
