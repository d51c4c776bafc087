// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The DMA engine: copies between two lists of pieces (plat_copy()). It walks both lists at once,
 * and moves the bytes between two borders of pieces, or as many such spans as one call can take.
 */
#include <errno.h>

#include "transfer.h"

/* Position in a list of pieces; piece[0] has bytes left unless n == 0. */
struct cursor {
	const struct nic_piece *piece;
	u32 n;
	u64 done;
};

static void cursor_settle(struct cursor *c)
{
	while (c->n && c->done == c->piece->length) {
		c->piece++;
		c->n--;
		c->done = 0;
	}
}

static void cursor_init(struct cursor *c, const struct nic_piece *piece, u32 n)
{
	*c = (struct cursor){ .piece = piece, .n = n };
	cursor_settle(c);
}

static u64 cursor_addr(const struct cursor *c)
{
	return c->piece->addr + c->done;
}

static u64 cursor_room(const struct cursor *c)
{
	return c->piece->length - c->done;
}

/* Advance by at most cursor_room(). */
static void cursor_step(struct cursor *c, u64 length)
{
	c->done += length;
	cursor_settle(c);
}

static void cursor_advance(struct cursor *c, u64 length)
{
	while (length) {
		u64 step = cursor_room(c) < length ? cursor_room(c) : length;

		cursor_step(c, step);
		length -= step;
	}
}

struct copy {
	struct nic *nic;
	struct host *host;
	struct cursor dst, src;
	u64 left;
};

static bool is_near(const struct nic *nic, const struct nic_piece *piece)
{
	return piece->space == NIC_SPACE_POINTER || piece->space == nic->space;
}

/* Flags among TRANSFER_CHECKS of the piece's region. */
static u8 checks_pages(const struct nic *nic, const struct nic_piece *piece)
{
	return piece->mr < nic->max_mr ? nic_load(&nic->mr[piece->mr].flags) & TRANSFER_CHECKS : 0;
}

static u64 smaller(u64 a, u64 b)
{
	return a < b ? a : b;
}

/* Number of bytes up to the next border of either side. */
static u64 copy_span(const struct copy *c)
{
	return smaller(smaller(cursor_room(&c->dst), cursor_room(&c->src)), c->left);
}

static void copy_advance(struct copy *c, u64 length)
{
	cursor_advance(&c->dst, length);
	cursor_advance(&c->src, length);
	c->left -= length;
}

static enum nic_copy_result to_result(enum transfer_fault fault, bool write)
{
	switch (fault) {
	case TRANSFER_NEAR_FAULT:
		return write ? NIC_COPY_SRC_FAULT : NIC_COPY_DST_FAULT;
	case TRANSFER_FAR_FAULT:
		return write ? NIC_COPY_DST_FAULT : NIC_COPY_SRC_FAULT;
	case TRANSFER_FAR_LATER:
		return write ? NIC_COPY_DST_LATER : NIC_COPY_SRC_LATER;
	case TRANSFER_FAR_GONE:
		break;
	}
	return write ? NIC_COPY_DST_GONE : NIC_COPY_SRC_GONE;
}

/* Copy a span with both sides in this process. */
static enum nic_copy_result copy_near(struct copy *c)
{
	u64 length = copy_span(c);
	enum nic_copy_result result;

	/*
	 * Release: this span may contain the tail, so everything before it must be visible first.
	 */
	__atomic_thread_fence(__ATOMIC_RELEASE);
	result = host_guarded_copy((void *)cursor_addr(&c->dst), (const void *)cursor_addr(&c->src),
				   length);
	if (result == NIC_COPY_OK)
		copy_advance(c, length);
	return result;
}

/* Copy spans with one side in this process and the other in one other process. */
static enum nic_copy_result copy_far(struct copy *c, bool write)
{
	struct cursor near = write ? c->src : c->dst;
	struct cursor far = write ? c->dst : c->src;
	u64 left = smaller(c->left, TRANSFER_MAX);
	enum transfer_fault fault;
	struct transfer t;
	size_t moved;

	transfer_init(&t, far.piece->space, write);
	while (left && near.n && far.n && !transfer_full(&t) && is_near(c->nic, near.piece) &&
	       far.piece->space == t.space) {
		u64 span = smaller(smaller(cursor_room(&near), cursor_room(&far)), left);

		t.check_pages |= checks_pages(c->nic, far.piece);
		transfer_add(&t, cursor_addr(&near), cursor_addr(&far), span);
		cursor_step(&near, span);
		cursor_step(&far, span);
		left -= span;
	}
	t.last = t.length == c->left;
	moved = transfer_run(c->host, &t, &fault);
	if (!moved)
		return to_result(fault, write);
	copy_advance(c, moved);
	return NIC_COPY_OK;
}

/* Copy a buffer to or from a single place; *moved is the number of bytes moved. */
static enum nic_copy_result copy_buffer(struct copy *c, bool write, u8 *buffer, u64 length,
					u64 *moved)
{
	const struct cursor *far = write ? &c->dst : &c->src;
	enum transfer_fault fault;
	struct transfer t;

	for (*moved = 0; *moved < length;) {
		size_t n;

		transfer_init(&t, far->piece->space, write);
		t.check_pages = checks_pages(c->nic, far->piece);
		transfer_add(&t, (u64)buffer + *moved, cursor_addr(far) + *moved, length - *moved);
		t.last = write && length == c->left;
		n = transfer_run(c->host, &t, &fault);
		if (!n)
			return to_result(fault, write);
		*moved += n;
	}
	return NIC_COPY_OK;
}

/* Copy a span with both sides in other processes, through a buffer. */
static enum nic_copy_result copy_through(struct copy *c, u8 *buffer, size_t size)
{
	u64 length = smaller(copy_span(c), size);
	enum nic_copy_result result;
	u64 moved;

	/*
	 * If not all could be read, write what was read. The next step meets the fault again and
	 * reports the right side.
	 */
	result = copy_buffer(c, false, buffer, length, &moved);
	if (!moved)
		return result;
	result = copy_buffer(c, true, buffer, moved, &length);
	copy_advance(c, length);
	return result;
}

static enum nic_copy_result copy_bounce(struct copy *c)
{
	struct host *host = c->host;
	enum nic_copy_result result;
	u8 small[1024];

	/* In vnetd, which has one thread, the large buffer is always free. */
	if (!host->bounce || __atomic_exchange_n(&host->bounce_busy, 1, __ATOMIC_ACQUIRE))
		return copy_through(c, small, sizeof(small));
	result = copy_through(c, host->bounce, HOST_BOUNCE_SIZE);
	nic_store_release(&host->bounce_busy, 0);
	return result;
}

static enum nic_copy_result copy_step(struct copy *c)
{
	bool dst_near, src_near;

	if (!c->dst.n)
		return NIC_COPY_DST_FAULT;
	if (!c->src.n)
		return NIC_COPY_SRC_FAULT;
	dst_near = is_near(c->nic, c->dst.piece);
	src_near = is_near(c->nic, c->src.piece);
	if (dst_near && src_near)
		return copy_near(c);
	if (dst_near || src_near)
		return copy_far(c, src_near);
	return copy_bounce(c);
}

/*
 * Fast path for the most frequent cases: one piece on each side, and both in this process or few
 * bytes.
 */
static bool copy_at_once(struct nic *nic, const struct nic_piece *dst, const struct nic_piece *src,
			 u64 length, enum nic_copy_result *result)
{
	bool write = is_near(nic, src);
	const struct nic_piece *near = write ? src : dst;
	const struct nic_piece *far = write ? dst : src;

	*result = NIC_COPY_OK;
	if (is_near(nic, far)) {
		*result = host_guarded_copy((void *)dst->addr, (const void *)src->addr, length);
		return true;
	}
	/* At most one tail, which needs no order with a body. */
	if (length == 0 || (dst->addr & 7) + length > 8)
		return false;
	return is_near(nic, near) && !checks_pages(nic, far) &&
	       transfer_word(nic->host, far->space, write, (void *)near->addr, far->addr, length);
}

enum nic_copy_result plat_copy(struct nic *nic, const struct nic_piece *dst, u32 ndst,
			       const struct nic_piece *src, u32 nsrc, u64 length)
{
	enum nic_copy_result result = NIC_COPY_OK;
	struct copy c = { .nic = nic, .host = nic->host, .left = length };

	if (likely(ndst == 1 && nsrc == 1) && copy_at_once(nic, dst, src, length, &result))
		return result;
	cursor_init(&c.dst, dst, ndst);
	cursor_init(&c.src, src, nsrc);
	while (c.left && result == NIC_COPY_OK)
		result = copy_step(&c);
	return result;
}

/* ------------------------------------------------------------- bringing pages */

/*
 * Bring absent pages of files into memory, for pieces of other processes. For its own absent pages
 * a process waits during the copy, as in any other access to its memory.
 */
static enum nic_copy_result fetch_side(struct nic *nic, const struct nic_piece *piece, u32 n,
				       u64 length, u64 since, bool write)
{
	const struct host *host = nic->host;

	for (u32 i = 0; i < n && length; i++) {
		u64 span = smaller(piece[i].length, length);
		int err;

		length -= span;
		if (is_near(nic, &piece[i]) || !(checks_pages(nic, &piece[i]) & NIC_MR_FILE) ||
		    transfer_is_present(nic->host, piece[i].space, piece[i].addr, span))
			continue;
		/*
		 * Only vnetd brings pages; it executes the queue pair again as the NIC processor.
		 */
		err = host->bring ? host->bring(host, &piece[i], span, since) : -EAGAIN;
		if (err == -EAGAIN)
			return write ? NIC_COPY_DST_LATER : NIC_COPY_SRC_LATER;
		if (err)
			return write ? NIC_COPY_DST_FAULT : NIC_COPY_SRC_FAULT;
	}
	return NIC_COPY_OK;
}

enum nic_copy_result plat_fetch(struct nic *nic, const struct nic_piece *dst, u32 ndst,
				const struct nic_piece *src, u32 nsrc, u64 length, u64 since)
{
	enum nic_copy_result result = fetch_side(nic, dst, ndst, length, since, true);

	return result == NIC_COPY_OK ? fetch_side(nic, src, nsrc, length, since, false) : result;
}
