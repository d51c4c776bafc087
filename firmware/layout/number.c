// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Allocation of unpredictable QP numbers, SRQ numbers and memory keys. A number contains a random
 * index of the object's table, and random bits beside it, so it cannot be predicted from others.
 * Hosts call this when they create an object. A look-up is one mask and one comparison.
 */
#include "layout/lock.h"

/* ------------------------------------------------------------ free indices */

void nic_pool_init(struct nic_pool *pool, u32 *fifo, u32 first, u32 count)
{
	u32 i;

	*pool = (struct nic_pool){ .fifo = fifo, .places = count, .free = count - first };
	for (i = first; i < count; i++)
		fifo[i - first] = i;
}

static u32 *nic_pool_place(const struct nic_pool *pool, u32 i)
{
	return &pool->fifo[(pool->head + i) % pool->places];
}

u32 nic_pool_take(struct nic_pool *pool)
{
	u32 index;

	if (!pool->free)
		return NIC_NONE;
	index = *nic_pool_place(pool, 0);
	pool->head = (pool->head + 1) % pool->places;
	pool->free--;
	if (pool->used > pool->free)
		pool->used = pool->free;
	return index;
}

/* Exchange the index in this place with the oldest one. */
static void nic_pool_prefer(struct nic_pool *pool, u32 place)
{
	u32 *first = nic_pool_place(pool, 0), *chosen = nic_pool_place(pool, place);
	u32 index = *chosen;

	*chosen = *first;
	*first = index;
}

/* Random in [0, n), n > 0. Probabilities of two values differ by at most 1 / 2^32. */
static bool nic_random_below(struct nic *nic, u32 n, u32 *value)
{
	u32 word;

	if (!plat_random(nic, &word, sizeof(word)))
		return false;
	*value = (u32)((u64)word * n >> 32);
	return true;
}

enum nic_result nic_pool_draw(struct nic *nic, struct nic_pool *pool, u32 *index)
{
	u32 young = pool->used < pool->free / 2 ? pool->used : pool->free / 2, place;

	if (!pool->free)
		return NIC_ENOMEM;
	if (!nic_random_below(nic, pool->free - young, &place))
		return NIC_EAGAIN;
	nic_pool_prefer(pool, place);
	*index = nic_pool_take(pool);
	return NIC_OK;
}

bool nic_pool_claim(struct nic_pool *pool, u32 index)
{
	u32 i;

	for (i = 0; i < pool->free; i++) {
		if (*nic_pool_place(pool, i) != index)
			continue;
		nic_pool_prefer(pool, i);
		nic_pool_take(pool);
		return true;
	}
	return false;
}

void nic_pool_put(struct nic_pool *pool, u32 index)
{
	*nic_pool_place(pool, pool->free++) = index;
	pool->used++;
}

/* ---------------------------------------------------------------- numbers */

/* n is a power of two. */
static u32 nic_log2(u32 n)
{
	return (u32)__builtin_ctz(n);
}

/*
 * The bits above the index: one of n values, and not `last`. All others are equally
 * likely, except the successor of `last`, which is twice as likely.
 */
static bool nic_draw_above(struct nic *nic, u32 n, u32 last, u32 *above)
{
	if (!nic_random_below(nic, n, above))
		return false;
	if (*above == last)
		*above = (*above + 1) % n;
	return true;
}

/*
 * A number of 24 bits. The lowest and the highest value of the bits above the index are
 * not used, so the number is not 0 or 1 (management QPs), and not 0xffffff (multicast).
 * An SRQ number is one more than this, and still has 24 bits.
 */
static enum nic_result nic_draw_number(struct nic *nic, u32 entries, u32 index, u32 last,
				       u32 *number)
{
	u32 bits = nic_log2(entries), above;

	if (!nic_draw_above(nic, (1u << (NIC_QPN_BITS - bits)) - 2, (last >> bits) - 1, &above))
		return NIC_EAGAIN;
	*number = (above + 1) << bits | index;
	return NIC_OK;
}

enum nic_result nic_qpn_draw(struct nic *nic, u32 index, u32 last, u32 *qpn)
{
	return nic_draw_number(nic, nic->max_qp, index, last, qpn);
}

enum nic_result nic_srqn_draw(struct nic *nic, u32 index, u32 last, u32 *srqn)
{
	enum nic_result result = nic_draw_number(nic, nic->max_srq, index, last - 1, srqn);

	if (result == NIC_OK)
		*srqn += 1;
	return result;
}

enum nic_result nic_key_draw(struct nic *nic, u32 index, u32 last, u32 *key)
{
	u32 shift = NIC_KEY_TAG_BITS + nic_log2(nic->max_mr), above, tag;

	if (!nic_draw_above(nic, NIC_KEY_CLAIMED >> shift, last ? last >> shift : NIC_NONE,
			    &above) ||
	    !nic_random_below(nic, (1u << NIC_KEY_TAG_BITS) - 1, &tag))
		return NIC_EAGAIN;
	*key = above << shift | index << NIC_KEY_TAG_BITS | (tag + 1);
	return NIC_OK;
}
