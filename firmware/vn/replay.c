// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Replay protection: drops frames that have arrived before. A thread that takes a frame marks its
 * number by one compare-and-exchange, so no thread waits for another, and a death leaves nothing
 * half done. Only an entry for a new sender is made under a lock.
 */
#include "vn/replay.h"
#include "layout/lock.h"

/* Values of nic_replay_sender.used; times are >= NIC_REPLAY_FIRST. */
#define NIC_REPLAY_FILLING 1u
#define NIC_REPLAY_FIRST 2u
/*
 * Low bits of the clock that are ignored when the sender heard least recently is chosen: about 1
 * ms.
 */
#define NIC_REPLAY_COARSE 20u

/* Largest block number that fits into a word beside the bits. */
#define NIC_REPLAY_LAST_BLOCK (~0ull >> NIC_REPLAY_BLOCK)

static bool nic_replay_mark(u64 *word, u64 number)
{
	u64 block = number / NIC_REPLAY_BLOCK, bit = 1ull << (number % NIC_REPLAY_BLOCK);
	u64 old = nic_load(word), now;

	if (block > NIC_REPLAY_LAST_BLOCK)
		return false;
	do {
		u64 has = old >> NIC_REPLAY_BLOCK;

		if (has > block || (has == block && old & bit))
			return false;
		now = (has == block ? old : block << NIC_REPLAY_BLOCK) | bit;
	} while (!__atomic_compare_exchange_n(word, &old, now, false, __ATOMIC_SEQ_CST,
					      __ATOMIC_RELAXED));
	return true;
}

static bool nic_replay_matches(const struct nic_replay_sender *sender,
			       const struct nic_proof *proof)
{
	/* Acquire: pairs with the release in nic_replay_fill(). */
	return nic_load_acquire(&sender->used) >= NIC_REPLAY_FIRST &&
	       nic_load(&sender->name[0]) == proof->sender[0] &&
	       nic_load(&sender->name[1]) == proof->sender[1];
}

/*
 * Find a sender's place. The search begins at a place that follows from the name, and ends at one
 * that was never used, because no place becomes free again. *unused: that place, or NIC_NONE.
 */
static u32 nic_replay_find(const struct nic_replay *replay, const struct nic_proof *proof,
			   u32 *unused)
{
	u32 i;

	*unused = NIC_NONE;
	for (i = 0; i < NIC_REPLAY_SENDERS; i++) {
		u32 at = (u32)(proof->sender[0] + i) % NIC_REPLAY_SENDERS;

		if (nic_replay_matches(&replay->sender[at], proof))
			return at;
		if (!nic_load(&replay->sender[at].used)) {
			*unused = at;
			break;
		}
	}
	return NIC_NONE;
}

/* -------------------------------------------------------------------- new senders */

/* Number of places that the senders of each key have. */
struct nic_replay_shares {
	u32 n;
	u32 key[NIC_REPLAY_KEYS];
	u32 places[NIC_REPLAY_KEYS];
};

/*
 * Key of a sender; 0: its place is given away first. The caller holds the lock, so a process that
 * was filling the place has died.
 */
static u32 nic_replay_key(const struct nic_replay_sender *sender)
{
	return nic_load(&sender->used) < NIC_REPLAY_FIRST ? 0 : nic_load(&sender->key);
}

static u32 nic_replay_share(const struct nic_replay_shares *shares, u32 key)
{
	u32 i;

	for (i = 0; i < shares->n && shares->key[i] != key; i++)
		;
	return i;
}

static void nic_replay_count(const struct nic_replay *replay, struct nic_replay_shares *shares)
{
	u32 i;

	shares->n = 0;
	for (i = 0; i < NIC_REPLAY_SENDERS; i++) {
		u32 key = nic_replay_key(&replay->sender[i]);
		u32 at = nic_replay_share(shares, key);

		if (at == NIC_REPLAY_KEYS)
			continue;
		if (at == shares->n) {
			shares->key[at] = key;
			shares->places[at] = 0;
			shares->n++;
		}
		shares->places[at]++;
	}
}

/*
 * Key whose senders must give up a place: one that is not in use any more (0), else the one with
 * the most places.
 */
static u32 nic_replay_victim_key(const struct nic_replay *replay)
{
	struct nic_replay_shares shares;
	u32 i, most = 0;

	nic_replay_count(replay, &shares);
	for (i = 0; i < shares.n; i++) {
		if (!shares.key[i])
			return 0;
		if (shares.places[i] > shares.places[most])
			most = i;
	}
	return shares.key[most];
}

/*
 * All places are used: replace the sender of the giving key that was heard least recently. So a
 * peer that invents senders replaces its own ones, once they have as many places as those of other
 * keys.
 */
static u32 nic_replay_victim(const struct nic_replay *replay)
{
	u32 giver = nic_replay_victim_key(replay), i, room = 0;
	u64 oldest = ~0ull;

	for (i = 0; i < NIC_REPLAY_SENDERS; i++) {
		u64 used = nic_load(&replay->sender[i].used);

		if (used < oldest && nic_replay_key(&replay->sender[i]) == giver) {
			oldest = used;
			room = i;
		}
	}
	return room;
}

/* The caller holds the lock. */
static void nic_replay_fill(struct nic_replay *replay, u32 at, const struct nic_proof *proof,
			    u64 now)
{
	struct nic_replay_sender *sender = &replay->sender[at];
	u32 i;

	nic_xchg(&sender->used, NIC_REPLAY_FILLING);
	/* A thread that still sees the former name after this sees NIC_REPLAY_FILLING, too. */
	nic_barrier();
	for (i = 0; i < NIC_REPLAY_WORDS; i++)
		nic_store(&replay->word[at][i], 0);
	nic_store(&sender->name[0], proof->sender[0]);
	nic_store(&sender->name[1], proof->sender[1]);
	nic_store(&sender->key, proof->key);
	nic_store_release(&sender->used, now);
}

static u32 nic_replay_add(struct nic *nic, struct nic_replay *replay, const struct nic_proof *proof,
			  u64 now)
{
	u32 at, unused;

	if (!nic_lock(nic, &replay->lock))
		return NIC_NONE;
	at = nic_replay_find(replay, proof, &unused);
	if (at == NIC_NONE) {
		at = unused != NIC_NONE ? unused : nic_replay_victim(replay);
		nic_replay_fill(replay, at, proof, now);
	}
	nic_unlock(&replay->lock);
	return at;
}

void nic_replay_set_keys(struct nic_replay *replay, const u32 *keys, u32 n)
{
	u32 i, k;

	for (i = 0; i < NIC_REPLAY_SENDERS; i++) {
		u32 key = nic_load(&replay->sender[i].key);

		for (k = 0; k < n && keys[k] != key; k++)
			;
		/* Fails if the place is just being given to another sender. */
		if (k == n)
			(void)__atomic_compare_exchange_n(&replay->sender[i].key, &key, 0, false,
							  __ATOMIC_RELAXED, __ATOMIC_RELAXED);
	}
}

/* ------------------------------------------------------------------------ frames */

static void nic_replay_refresh(struct nic_replay_sender *sender, const struct nic_proof *proof,
			       u64 now)
{
	u64 used = nic_load(&sender->used);
	u32 none = 0;

	/* The key was not in use, and is again. */
	if (unlikely(!nic_load(&sender->key)))
		(void)__atomic_compare_exchange_n(&sender->key, &none, proof->key, false,
						  __ATOMIC_RELAXED, __ATOMIC_RELAXED);
	/* Fails if the place is just being given to another sender. */
	if (used >= NIC_REPLAY_FIRST && used != now)
		(void)__atomic_compare_exchange_n(&sender->used, &used, now, false,
						  __ATOMIC_RELAXED, __ATOMIC_RELAXED);
}

bool nic_replay_accept(struct nic *nic, struct nic_replay *replay, const struct nic_proof *proof)
{
	u32 unused, at = nic_replay_find(replay, proof, &unused);
	u64 now = (plat_clock() >> NIC_REPLAY_COARSE) + NIC_REPLAY_FIRST;

	if (unlikely(at == NIC_NONE))
		at = nic_replay_add(nic, replay, proof, now);
	if (at == NIC_NONE)
		return false;
	if (!nic_replay_mark(&replay->word[at][proof->number / NIC_REPLAY_BLOCK % NIC_REPLAY_WORDS],
			     proof->number))
		return false;
	/* If the place was given away meanwhile, nothing is known of the sender. */
	if (!nic_replay_matches(&replay->sender[at], proof))
		return false;
	/* Replayed frames do not count as signs of life of the sender. */
	nic_replay_refresh(&replay->sender[at], proof, now);
	return true;
}

void nic_replay_recover(struct nic_replay *replay, u32 owner)
{
	if (nic_load(&replay->lock) == owner)
		nic_unlock(&replay->lock);
}
