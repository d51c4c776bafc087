// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Frames that have come before. Who takes one marks its number by a single exchange, so
 * that nobody has to be waited for, and a death in between leaves nothing half done. Only
 * a sender that is new has to be made room for, under a lock.
 */
#include "nic_lock.h"
#include "nic_replay.h"

/* In nic_replay_sender.used; times are later than that. */
#define NIC_REPLAY_FILLING 1u
#define NIC_REPLAY_FIRST 2u
/* Bits of the clock that do not matter to who was heard least recently: about 1 ms. */
#define NIC_REPLAY_COARSE 20u

/* How many numbers there are room for in a word, beside the bits. */
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

static bool nic_replay_is(const struct nic_replay_sender *sender, const u64 salt[2])
{
	/* Acquire: pairs with the release in nic_replay_fill(). */
	return nic_load_acquire(&sender->used) >= NIC_REPLAY_FIRST &&
	       nic_load(&sender->salt[0]) == salt[0] && nic_load(&sender->salt[1]) == salt[1];
}

/*
 * Places are looked at from one on that the salt tells, up to one that was never used: none
 * becomes free again. room: the place for it, if it has none.
 */
static u32 nic_replay_find(const struct nic_replay *replay, const u64 salt[2], u32 *room)
{
	u64 oldest = ~0ull;
	u32 i;

	*room = 0;
	for (i = 0; i < NIC_REPLAY_SENDERS; i++) {
		u32 at = (u32)(salt[0] + i) % NIC_REPLAY_SENDERS;
		u64 used = nic_load(&replay->sender[at].used);

		if (nic_replay_is(&replay->sender[at], salt))
			return at;
		if (used < oldest) {
			oldest = used;
			*room = at;
		}
		if (!used)
			break;
	}
	return NIC_NONE;
}

static void nic_replay_heard(struct nic_replay_sender *sender, u64 now)
{
	u64 used = nic_load(&sender->used);

	/* Unless its place is just becoming another's. */
	if (used >= NIC_REPLAY_FIRST && used != now)
		(void)__atomic_compare_exchange_n(&sender->used, &used, now, false,
						  __ATOMIC_RELAXED, __ATOMIC_RELAXED);
}

/* The lock is held. */
static void nic_replay_fill(struct nic_replay *replay, u32 at, const u64 salt[2], u64 now)
{
	struct nic_replay_sender *sender = &replay->sender[at];
	u32 i;

	nic_xchg(&sender->used, NIC_REPLAY_FILLING);
	/* Who still sees the former salt afterwards sees this, too. */
	nic_barrier();
	for (i = 0; i < NIC_REPLAY_WORDS; i++)
		nic_store(&replay->word[at][i], 0);
	nic_store(&sender->salt[0], salt[0]);
	nic_store(&sender->salt[1], salt[1]);
	nic_store_release(&sender->used, now);
}

static u32 nic_replay_add(struct nic *nic, struct nic_replay *replay, const u64 salt[2], u64 now)
{
	u32 at, room;

	if (!nic_lock(nic, &replay->lock))
		return NIC_NONE;
	at = nic_replay_find(replay, salt, &room);
	if (at == NIC_NONE) {
		at = room;
		nic_replay_fill(replay, at, salt, now);
	}
	nic_unlock(&replay->lock);
	return at;
}

bool nic_replay_take(struct nic *nic, struct nic_replay *replay, const u8 salt[16], u64 number)
{
	u64 now = (plat_clock() >> NIC_REPLAY_COARSE) + NIC_REPLAY_FIRST;
	u64 words[2];
	u32 at, room;

	memcpy(words, salt, sizeof(words));
	at = nic_replay_find(replay, words, &room);
	if (unlikely(at == NIC_NONE))
		at = nic_replay_add(nic, replay, words, now);
	if (at == NIC_NONE)
		return false;
	if (!nic_replay_mark(&replay->word[at][number / NIC_REPLAY_BLOCK % NIC_REPLAY_WORDS],
			     number))
		return false;
	/* Its place may be another's meanwhile: then nothing is known of it. */
	if (!nic_replay_is(&replay->sender[at], words))
		return false;
	/* What was there before does not keep a place. */
	nic_replay_heard(&replay->sender[at], now);
	return true;
}

void nic_replay_recover(struct nic_replay *replay, u32 owner)
{
	if (nic_load(&replay->lock) == owner)
		nic_unlock(&replay->lock);
}
