/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Replay protection of a link: each frame with a MAC is accepted once. A frame is identified by its
 * sender and its number. The sender's name is derived from the key and the sender's salt, so nobody
 * can use the name of a sender with another key. The state is in memory that all receivers of the
 * link share.
 */
#ifndef NIC_REPLAY_H
#define NIC_REPLAY_H

#include "nic.h"

/* Senders that are remembered. A sender gets a new name with each incarnation and each key. */
#define NIC_REPLAY_SENDERS 256u
/* A frame is accepted if it was overtaken by fewer frames of its sender, to any destination. */
#define NIC_REPLAY_NUMBERS 8192u
/* Frame numbers per word. */
#define NIC_REPLAY_BLOCK 16u
#define NIC_REPLAY_WORDS (NIC_REPLAY_NUMBERS / NIC_REPLAY_BLOCK)
/* Limit of keys in use. */
#define NIC_REPLAY_KEYS 32u

struct nic_replay_sender {
	u64 name[2];
	/* Coarse time when it was last heard; 0: unused; NIC_REPLAY_FILLING: being filled. */
	u64 used;
	/* Number of its key; 0: that key is not in use any more. */
	u32 key;
	u32 rsvd;
};

struct nic_replay {
	/* Protects the assignment of places to senders. */
	nic_lock_t lock;
	u32 rsvd;
	struct nic_replay_sender sender[NIC_REPLAY_SENDERS];
	/*
	 * Word i stands for the present block of those with block % NIC_REPLAY_WORDS == i: the
	 * block's number, and a bit for each of its frame numbers that has arrived. It never
	 * returns to an earlier block.
	 */
	u64 word[NIC_REPLAY_SENDERS][NIC_REPLAY_WORDS];
};

/*
 * Accept a frame once. false: drop it, because it was accepted before, or is so old that this is
 * not known, or no place is available now (the sender will retransmit).
 */
bool nic_replay_accept(struct nic *nic, struct nic_replay *replay, const struct nic_proof *proof);
/* Set the keys that are in use, at most NIC_REPLAY_KEYS. Senders of others are replaced first. */
void nic_replay_set_keys(struct nic_replay *replay, const u32 *keys, u32 n);
/* Release the lock of a dead owner. */
void nic_replay_recover(struct nic_replay *replay, u32 owner);

#endif /* NIC_REPLAY_H */
