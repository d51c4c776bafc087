// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include <string.h>
#include <time.h>

#include "test_platform.h"

struct tp tp;

void *tp_memory(u32 space, u64 addr, u64 length)
{
	struct tp_space *s;

	if (space >= TP_MAX_SPACES)
		return NULL;
	s = &tp.space[space];
	if (!s->memory || addr < s->start || addr - s->start > s->size ||
	    length > s->size - (addr - s->start))
		return NULL;
	return s->memory + (addr - s->start);
}

void tp_allow(u32 space, u64 addr, u64 length, u32 rights)
{
	for (u32 i = 0; i < TP_MAX_REGIONS; i++) {
		if (tp.region[i].rights)
			continue;
		tp.region[i] = (struct tp_region){ space, addr, length, rights };
		return;
	}
}

static bool tp_allowed(u32 space, u64 addr, u64 length, u32 right)
{
	for (u32 i = 0; i < TP_MAX_REGIONS; i++) {
		const struct tp_region *r = &tp.region[i];

		if ((r->rights & right) && r->space == space && addr >= r->addr &&
		    addr - r->addr <= r->length && length <= r->length - (addr - r->addr))
			return true;
	}
	return false;
}

static bool tp_overlaps(u64 addr, u64 length, u64 bad, u64 bad_len)
{
	return bad_len && addr < bad + bad_len && bad < addr + length;
}

/* Returns a pointer to a range of a piece, or NULL and sets *result if it cannot be accessed. */
static u8 *tp_piece(const struct nic_piece *piece, u64 offset, u64 length, bool write,
		    enum nic_copy_result *result)
{
	u64 addr = piece->addr + offset;
	const struct tp_space *s;
	bool allowed;
	u8 *memory;

	if (piece->space == NIC_SPACE_POINTER && piece->addr)
		return (u8 *)(unsigned long)addr;
	memory = tp_memory(piece->space, addr, length);
	allowed = tp.check_regions ?
			  tp_allowed(piece->space, addr, length, write ? TP_WRITE : TP_READ) :
			  memory != NULL;
	if (!memory || !allowed) {
		tp.violated = tp.violated || !allowed;
		*result = write ? NIC_COPY_DST_FAULT : NIC_COPY_SRC_FAULT;
		return NULL;
	}
	s = &tp.space[piece->space];
	if (s->gone) {
		*result = write ? NIC_COPY_DST_GONE : NIC_COPY_SRC_GONE;
		return NULL;
	}
	if (tp_overlaps(addr, length, s->absent, s->absent_len)) {
		*result = write ? NIC_COPY_DST_LATER : NIC_COPY_SRC_LATER;
		return NULL;
	}
	if (write ? tp_overlaps(addr, length, s->no_write, s->no_write_len) :
		    tp_overlaps(addr, length, s->no_read, s->no_read_len)) {
		*result = write ? NIC_COPY_DST_FAULT : NIC_COPY_SRC_FAULT;
		return NULL;
	}
	return memory;
}

static u32 tp_below(u32 n)
{
	tp.random = tp.random * 1664525u + 1013904223u;
	return (u32)(((u64)(tp.random >> 8) * n) >> 24);
}

/* Decides at random whether a page of these pieces is missing. */
static bool tp_misses(const struct nic_piece *pieces, u32 n)
{
	if (!tp.pages_miss)
		return false;
	for (u32 i = 0; i < n; i++) {
		if (pieces[i].space != NIC_SPACE_POINTER && !tp_below(tp.pages_miss)) {
			tp.missed++;
			return true;
		}
	}
	return false;
}

enum nic_copy_result plat_copy(struct nic *nic, const struct nic_piece *dst, u32 ndst,
			       const struct nic_piece *src, u32 nsrc, u64 length)
{
	u64 at_dst = 0, at_src = 0, left = 0;
	enum nic_copy_result result = NIC_COPY_OK;
	bool no_src = tp_misses(src, nsrc), no_dst = !no_src && tp_misses(dst, ndst);

	nic_fetch_add(&tp.copies, 1);
	/* A prefix of a long copy may be moved although a page is missing. */
	if (no_src || no_dst)
		left = length <= 4096 ? length : length - length / (1 + tp_below(3));
	while (length > left) {
		u64 n = length - left;
		u8 *to, *from;

		if (!ndst || !nsrc) {
			/* The caller promises that both lists are long enough. */
			tp.violated = true;
			return NIC_COPY_DST_FAULT;
		}
		if (n > dst->length - at_dst)
			n = dst->length - at_dst;
		if (n > src->length - at_src)
			n = src->length - at_src;
		if (n) {
			from = tp_piece(src, at_src, n, false, &result);
			if (!from)
				return result;
			to = tp_piece(dst, at_dst, n, true, &result);
			if (!to)
				return result;
			memmove(to, from, n);
		}
		length -= n;
		at_dst += n;
		at_src += n;
		if (at_dst == dst->length) {
			dst++;
			ndst--;
			at_dst = 0;
		}
		if (at_src == src->length) {
			src++;
			nsrc--;
			at_src = 0;
		}
	}
	if (no_src)
		return NIC_COPY_SRC_LATER;
	return no_dst ? NIC_COPY_DST_LATER : NIC_COPY_OK;
}

static bool tp_fetch(const struct nic_piece *piece, u64 since, bool *lost)
{
	struct tp_space *s = &tp.space[piece->space % TP_MAX_SPACES];

	if (piece->space == NIC_SPACE_POINTER || piece->space >= TP_MAX_SPACES)
		return true;
	if (!tp_overlaps(piece->addr, piece->length, s->absent, s->absent_len))
		return true;
	s->fetches++;
	s->fetched_since = since;
	*lost = *lost || (s->lost_at && s->lost_at >= since);
	return false;
}

/* The test decides when absent pages become resident, or are lost. */
enum nic_copy_result plat_fetch(struct nic *nic, const struct nic_piece *dst, u32 ndst,
				const struct nic_piece *src, u32 nsrc, u64 length, u64 since)
{
	bool lost = false;

	for (u32 i = 0; i < ndst; i++) {
		if (!tp_fetch(&dst[i], since, &lost))
			return lost ? NIC_COPY_DST_FAULT : NIC_COPY_DST_LATER;
	}
	for (u32 i = 0; i < nsrc; i++) {
		if (!tp_fetch(&src[i], since, &lost))
			return lost ? NIC_COPY_SRC_FAULT : NIC_COPY_SRC_LATER;
	}
	if (tp_misses(src, nsrc))
		return NIC_COPY_SRC_LATER;
	return tp_misses(dst, ndst) ? NIC_COPY_DST_LATER : NIC_COPY_OK;
}

void *plat_queue(struct nic *nic, u64 offset, u64 length)
{
	if (offset < tp.off_queue || offset - tp.off_queue > tp.queue_bytes ||
	    length > tp.queue_bytes - (offset - tp.off_queue) || offset % sizeof(u64))
		return NULL;
	return (u8 *)tp.memory + offset;
}

/* The same in every run, so that a test can be repeated (SplitMix64). */
bool plat_random(struct nic *nic, void *bytes, u32 length)
{
	static u64 counter;
	u64 word = 0;
	u8 *at = bytes;

	for (u32 i = 0; i < length; i++) {
		if (i % sizeof(word) == 0) {
			word = counter += 0x9e3779b97f4a7c15ull;
			word = (word ^ word >> 30) * 0xbf58476d1ce4e5b9ull;
			word = (word ^ word >> 27) * 0x94d049bb133111ebull;
			word ^= word >> 31;
		}
		at[i] = (u8)(word >> i % sizeof(word) * 8);
	}
	return !tp.no_random;
}

u64 plat_clock(void)
{
	void (*f)(void) = tp.on_clock;
	struct timespec now;

	if (f) {
		tp.on_clock = NULL;
		f();
	}
	if (!tp.real_time)
		return tp.clock;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return (u64)now.tv_sec * 1000000000 + (u64)now.tv_nsec;
}

void plat_kick(struct nic *nic)
{
	nic_fetch_add(&tp.kicks, 1);
}

void plat_channel_ready(struct nic *nic, u32 channel, bool first)
{
	if (tp.unready && nic->space != NIC_SPACE_POINTER) {
		nic_channel_later(nic, channel);
		return;
	}
	if (channel >= TP_MAX_CHANNELS)
		return;
	nic_store_release(&tp.readable[channel], true);
	nic_fetch_add(first ? &tp.readied[channel] : &tp.edges[channel], 1);
}

void plat_relax(void)
{
	if (tp.on_relax)
		tp.on_relax();
}

bool plat_yield(struct nic *nic)
{
	nic_fetch_add(&tp.turns, 1);
	return !tp.leaves;
}

/* There is no link. */
void *plat_frame(struct nic *nic)
{
	return NULL;
}

void plat_send(struct nic *nic, const struct nic_address *to, u32 length)
{
}

void plat_flush(struct nic *nic)
{
}

bool plat_resolve(struct nic *nic, const u8 *gid, struct nic_address *to)
{
	memset(to, 0, sizeof(*to));
	return tp.resolves;
}

bool plat_secret(struct nic *nic, const struct nic_address *peer, u32 key, const void *text,
		 u32 length, u8 secret[VNET_WIRE_SECRET_SIZE])
{
	memset(secret, 0, VNET_WIRE_SECRET_SIZE);
	return false;
}

void plat_report_refused(struct nic *nic, const u8 *gid, u32 why)
{
}

void plat_report_unknown(struct nic *nic, const u8 *gid)
{
}

bool plat_same_key_group(struct nic *nic, const struct nic_address *a, const struct nic_address *b)
{
	return true;
}

u32 plat_crc32c(u32 crc, const void *data, u64 length)
{
	return crc;
}

void plat_step(int step)
{
	if (tp.on_step)
		tp.on_step(step);
}
