/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Numbers that are random and the same for the same seed: xoshiro256** (D.
 * Blackman, S. Vigna), seeded by splitmix64. Each user has a stream of its own, so
 * that what one draws does not change what another one gets.
 */
#ifndef SIM_RANDOM_H
#define SIM_RANDOM_H

#include "layout/types.h"

struct random {
	u64 s[4];
};

/* One word from one word; different for each. */
static inline u64 random_mix(u64 x)
{
	x += 0x9e3779b97f4a7c15ull;
	x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ull;
	x = (x ^ (x >> 27)) * 0x94d049bb133111ebull;
	return x ^ (x >> 31);
}

static inline void random_seed(struct random *r, u64 seed, u64 stream)
{
	u64 x = random_mix(seed) ^ (stream * 0xd1342543de82ef95ull);
	u32 i;

	for (i = 0; i < 4; i++)
		r->s[i] = random_mix(x + i);
}

static inline u64 random_next(struct random *r)
{
	u64 *s = r->s;
	u64 five = s[1] * 5;
	u64 result = (five << 7 | five >> 57) * 9;
	u64 t = s[1] << 17;

	s[2] ^= s[0];
	s[3] ^= s[1];
	s[1] ^= s[2];
	s[0] ^= s[3];
	s[2] ^= t;
	s[3] = s[3] << 45 | s[3] >> 19;
	return result;
}

/* Of 0 ... n - 1; n is not 0. */
static inline u32 random_below(struct random *r, u32 n)
{
	return (u32)(((random_next(r) >> 32) * n) >> 32);
}

/* Of low ... high, both included. */
static inline u64 random_between(struct random *r, u64 low, u64 high)
{
	return low + random_next(r) % (high - low + 1);
}

static inline bool random_chance(struct random *r, double p)
{
	return p > 0 && (double)(random_next(r) >> 11) * 0x1p-53 < p;
}

#endif /* SIM_RANDOM_H */
