// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Buffer pools of simulated processes, and the byte patterns of messages and buffers. */
#include <stdlib.h>
#include <string.h>

#include "oracle/buffer.h"
#include "base/trace.h"

static const struct {
	u32 size;
	u32 count;
} classes[BUFFER_CLASSES] = {
	{ 64, 2048 }, { 512, 1024 }, { 4160, 768 }, { 16384, 512 }, { 131072, 256 },
};

/* -------------------------------------------------------------------- bytes */

/*
 * Word i of a pattern is a random initial value plus i times an odd constant. Two patterns differ
 * as random bytes do, and each word costs only one addition.
 */
#define BYTES_STEP 0x9e3779b97f4a7c15ull

static u64 word_of(u64 id, u64 i)
{
	return random_mix(id * BYTES_STEP) + i * BYTES_STEP;
}

static u8 byte_of(u64 id, u64 i)
{
	return (u8)(word_of(id, i / 8) >> i % 8 * 8);
}

void bytes_fill(u8 *to, u32 length, u64 id, u64 from)
{
	u32 i = 0;
	u64 word;

	for (; i < length && (from + i) % 8; i++)
		to[i] = byte_of(id, from + i);
	word = word_of(id, (from + i) / 8);
	for (; i + 8 <= length; i += 8, word += BYTES_STEP)
		memcpy(to + i, &word, 8);
	for (; i < length; i++)
		to[i] = byte_of(id, from + i);
}

bool bytes_are(const u8 *at_memory, u32 length, u64 id, u64 from)
{
	u64 word, here, wrong = 0;
	u32 i = 0;

	for (; i < length && (from + i) % 8; i++)
		wrong |= at_memory[i] ^ byte_of(id, from + i);
	word = word_of(id, (from + i) / 8);
	for (; i + 8 <= length; i += 8, word += BYTES_STEP) {
		memcpy(&here, at_memory + i, 8);
		wrong |= here ^ word;
	}
	for (; i < length; i++)
		wrong |= at_memory[i] ^ byte_of(id, from + i);
	return !wrong;
}

bool bytes_either(const u8 *at_memory, u32 length, u64 id, u64 other)
{
	u32 i;

	for (i = 0; i < length; i++) {
		if (at_memory[i] != byte_of(id, i) && at_memory[i] != byte_of(other, i))
			return false;
	}
	return true;
}

u8 *buffer_memory(const struct buffer *buffer)
{
	return mem(buffer->process, buffer->offset);
}

u64 buffer_address(const struct buffer *buffer)
{
	return address_at(buffer->process, buffer->offset);
}

u64 buffer_id(const struct buffer *buffer)
{
	return 1ull << 63 | buffer_address(buffer);
}

/* --------------------------------------------------------------------- pools */

u64 pool_setup(struct pool *pool, struct process *p, u64 offset)
{
	u64 begin = offset;
	u32 i;

	memset(pool->free, 0, sizeof(pool->free));
	memset(pool->used, 0, sizeof(pool->used));
	pool->process = p;
	pool->life = p->node->life;
	for (i = 0; i < BUFFER_CLASSES; i++) {
		u64 bytes = (u64)(classes[i].size + BUFFER_GAP) * classes[i].count;

		pool->base[i] = offset;
		pool->room[i] = bytes;
		pool->key[i] = reg_mr(p, offset, bytes, ALL_ACCESS);
		if (!pool->key[i])
			violated("node %u: no region for buffers", p->node->index);
		/* Leave an unregistered page between regions. */
		offset += (bytes + 8191) & ~4095ull;
	}
	return offset - begin;
}

/* Make room for one more entry. The old array is freed with the simulation's other memory. */
static void pool_grow(struct pool *pool)
{
	struct buffer **all;

	if (pool->n < pool->space)
		return;
	pool->space = pool->space ? pool->space * 2 : 64;
	all = sim_alloc(pool->space * sizeof(struct buffer *));
	if (pool->n)
		memcpy(all, pool->all, pool->n * sizeof(struct buffer *));
	pool->all = all;
}

static struct buffer *buffer_new(struct pool *pool, u32 class)
{
	u32 stride = classes[class].size + BUFFER_GAP;
	struct buffer *buffer;

	if (pool->used[class] + stride > pool->room[class])
		return NULL;
	pool_grow(pool);
	buffer = sim_alloc(sizeof(*buffer));
	*buffer = (struct buffer){
		.process = pool->process,
		.life = pool->life,
		.offset = pool->base[class] + pool->used[class],
		.size = classes[class].size,
		.class = class,
		.key = pool->key[class],
	};
	pool->used[class] += stride;
	pool->all[pool->n++] = buffer;
	bytes_fill(buffer_memory(buffer), stride, buffer_id(buffer), 0);
	return buffer;
}

static struct buffer *buffer_of_class(struct pool *pool, u32 class)
{
	struct buffer *buffer = pool->free[class];

	if (!buffer)
		return buffer_new(pool, class);
	pool->free[class] = buffer->next;
	/* Detects a late write of the request that used the buffer before. */
	buffer_check(buffer);
	return buffer;
}

struct buffer *buffer_get(struct pool *pool, u32 length)
{
	struct buffer *buffer = NULL;
	u32 class;

	/* Try larger classes if the smallest one that fits is empty. */
	for (class = 0; class < BUFFER_CLASSES && !buffer; class ++) {
		if (classes[class].size >= length)
			buffer = buffer_of_class(pool, class);
	}
	if (buffer)
		buffer->state = BUFFER_USED;
	return buffer;
}

void buffer_put(struct pool *pool, struct buffer *buffer)
{
	buffer_check(buffer);
	if (buffer->life != pool->life)
		return;
	bytes_fill(buffer_memory(buffer), buffer->size, buffer_id(buffer), 0);
	buffer->state = BUFFER_FREE;
	buffer->next = pool->free[buffer->class];
	pool->free[buffer->class] = buffer;
}

void buffer_taint(struct buffer *buffer, u64 id, u32 length)
{
	buffer->state = BUFFER_TAINTED;
	buffer->taint = id;
	buffer->taint_length = length;
}

bool buffer_is_own(const struct buffer *buffer)
{
	return bytes_are(buffer_memory(buffer), buffer->size, buffer_id(buffer), 0);
}

bool buffer_check(const struct buffer *buffer)
{
	const u8 *memory = buffer_memory(buffer);
	u64 own = buffer_id(buffer);
	u32 rest = buffer->state == BUFFER_FREE ? 0 : buffer->size;

	if (buffer->state == BUFFER_TAINTED && buffer->taint) {
		rest = buffer->taint_length;
		if (!bytes_either(memory, rest, own, buffer->taint)) {
			violated("node %u: buffer at %#llx has bytes that no operation wrote",
				 buffer->process->node->index,
				 (unsigned long long)buffer_address(buffer));
			return false;
		}
	}
	if (bytes_are(memory + rest, buffer->size + BUFFER_GAP - rest, own, rest))
		return true;
	violated("node %u: memory at %#llx was written outside of all buffers%s",
		 buffer->process->node->index, (unsigned long long)buffer_address(buffer),
		 buffer->state == BUFFER_FREE ? " (any more)" : "");
	return false;
}

void pool_check(const struct pool *pool)
{
	u32 i;

	for (i = 0; i < pool->n; i++)
		buffer_check(pool->all[i]);
}
