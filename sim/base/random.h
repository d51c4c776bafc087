/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Random numbers that are reproducible from a seed: xoshiro256**, seeded by splitmix64. By D.
 * Blackman and S. Vigna. Each part of the simulator has a stream of its own, so its numbers do
 * not depend on the numbers that other parts draw.
 */
#ifndef SIM_RANDOM_H
#define SIM_RANDOM_H

#include "layout/types.h"

struct random {
	u64 s[4];
};

/* A bijective mix of one word. */
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

/* A number in [0, n). n must not be 0. */
static inline u32 random_below(struct random *r, u32 n)
{
	return (u32)(((random_next(r) >> 32) * n) >> 32);
}

/* A number in [low, high]. */
static inline u64 random_between(struct random *r, u64 low, u64 high)
{
	return low + random_next(r) % (high - low + 1);
}

static inline bool random_chance(struct random *r, double p)
{
	return p > 0 && (double)(random_next(r) >> 11) * 0x1p-53 < p;
}

#endif /* SIM_RANDOM_H */
