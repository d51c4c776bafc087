// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The DMA engine: copies between two lists of pieces (plat_copy()). It walks both lists at once,
 * and moves the bytes between two borders of pieces, or as many such spans as one call can take.
 */
#include <errno.h>

#include "range.h"
#include "space.h"
#include "transfer.h"
#include "window.h"

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
		u64 step = smaller(cursor_room(c), length);

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

/* Add to this process' counter in the client table. */
static void count_bytes(const struct nic *nic, u64 *counter, u64 length)
{
	if (host_has_one_thread(nic->host))
		nic_store(counter, nic_load(counter) + length);
	else
		(void)__atomic_fetch_add(counter, length, __ATOMIC_RELAXED);
}

static struct host_client *own_entry(const struct nic *nic)
{
	const struct host *host = nic->host;

	return &host->client[host_space_slot(nic->space)];
}

/* ------------------------------------------------------------------- reach */

/*
 * The next bytes of one side: where this thread can touch them (near), or where they are in another
 * process. `length`: so many of them are to be moved in the same way.
 */
struct reach {
	bool near;
	u64 addr;
	u64 length;
	/* If near: entry is NULL unless it is another process' memory. */
	struct window window;
};

/* The region's range that is in the memory file, whole pages; false: none. */
static bool mapped_range(const struct nic *nic, const struct nic_piece *piece, u64 *start, u64 *end)
{
	const struct nic_mr *mr;

	if (piece->mr >= nic->max_mr)
		return false;
	mr = &nic->mr[piece->mr];
	if ((nic_load(&mr->flags) & (NIC_MR_MAPPED | TRANSFER_CHECKS)) != NIC_MR_MAPPED)
		return false;
	*start = page_ceiling(nic_load(&mr->addr));
	*end = page_floor(nic_load(&mr->addr) + nic_load(&mr->length));
	return true;
}

static void reach_window(struct nic *nic, u32 space, u64 addr, struct reach *r)
{
	struct host *host = nic->host;

	r->length = smaller(r->length, HOST_WINDOW_SIZE - (addr & (HOST_WINDOW_SIZE - 1)));
	if (!window_open(host, space, addr, &r->window))
		return;
	/* A write to the memory of a process that has ended must not look like a success. */
	if (unlikely(!space_is_alive(host, space))) {
		window_close(host, &r->window);
		return;
	}
	r->near = true;
	r->addr = (u64)r->window.at;
}

/* Where the piece's bytes from `done` on are. reach_end() follows. */
static inline void reach_begin(struct nic *nic, const struct nic_piece *piece, u64 done,
			       struct reach *r)
{
	u64 addr = piece->addr + done, start, end;

	r->addr = addr;
	r->length = piece->length - done;
	r->near = is_near(nic, piece);
	r->window.entry = NULL;
	if (r->near || !mapped_range(nic, piece, &start, &end))
		return;
	if (addr < start)
		r->length = smaller(r->length, start - addr);
	if (addr < start || addr >= end)
		return;
	r->length = smaller(r->length, end - addr);
	reach_window(nic, piece->space, addr, r);
}

static inline void reach_end(const struct nic *nic, const struct reach *r, u64 moved)
{
	if (!r->near || !r->window.entry)
		return;
	window_close(nic->host, &r->window);
	count_bytes(nic, &own_entry(nic)->bytes_mapped, moved);
}

/* Number of bytes at the cursor that only a system call can move; 0: others are next. */
static u64 far_length(const struct nic *nic, const struct cursor *far)
{
	u64 start, end, addr = cursor_addr(far);

	if (!mapped_range(nic, far->piece, &start, &end) || addr >= end)
		return cursor_room(far);
	return addr < start ? smaller(cursor_room(far), start - addr) : 0;
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

/* Copy a span that this thread reaches on both sides. */
static enum nic_copy_result copy_near(struct copy *c, const struct reach *dst,
				      const struct reach *src, u64 length)
{
	enum nic_copy_result result;

	/*
	 * Release: this span may contain the tail, so everything before it must be visible first.
	 */
	__atomic_thread_fence(__ATOMIC_RELEASE);
	result = host_guarded_copy((void *)dst->addr, (const void *)src->addr, length);
	if (result == NIC_COPY_OK)
		copy_advance(c, length);
	return result;
}

/*
 * Append further spans to a transfer: near ones in this process' own memory, and far ones of the
 * same process that no window shows.
 */
static void gather(const struct copy *c, struct transfer *t, struct cursor *near,
		   struct cursor *far, u64 left)
{
	while (left && near->n && far->n && !transfer_full(t) && is_near(c->nic, near->piece) &&
	       far->piece->space == t->space) {
		u64 span = smaller(smaller(cursor_room(near), far_length(c->nic, far)), left);

		if (!span)
			return;
		t->check_pages |= checks_pages(c->nic, far->piece);
		transfer_add(t, cursor_addr(near), cursor_addr(far), span);
		cursor_step(near, span);
		cursor_step(far, span);
		left -= span;
	}
}

/* Copy spans with one side within reach and the other in one other process. */
static enum nic_copy_result copy_far(struct copy *c, bool write, const struct reach *at, u64 length)
{
	struct cursor near = write ? c->src : c->dst;
	struct cursor far = write ? c->dst : c->src;
	enum transfer_fault fault;
	struct transfer t;
	size_t moved;

	length = smaller(length, TRANSFER_MAX);
	transfer_init(&t, far.piece->space, write);
	t.check_pages = checks_pages(c->nic, far.piece);
	transfer_add(&t, at->addr, cursor_addr(&far), length);
	cursor_step(&near, length);
	cursor_step(&far, length);
	gather(c, &t, &near, &far, smaller(c->left, TRANSFER_MAX) - length);
	t.last = t.length == c->left;
	moved = transfer_run(c->host, &t, &fault);
	if (!moved)
		return to_result(fault, write);
	count_bytes(c->nic, &own_entry(c->nic)->bytes_called, moved);
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
static enum nic_copy_result copy_through(struct copy *c, u64 length, u8 *buffer, size_t size)
{
	enum nic_copy_result result;
	u64 moved;

	/*
	 * If not all could be read, write what was read. The next step meets the fault again and
	 * reports the right side.
	 */
	result = copy_buffer(c, false, buffer, smaller(length, size), &moved);
	if (!moved)
		return result;
	result = copy_buffer(c, true, buffer, moved, &length);
	count_bytes(c->nic, &own_entry(c->nic)->bytes_called, length);
	copy_advance(c, length);
	return result;
}

static enum nic_copy_result copy_bounce(struct copy *c, u64 length)
{
	struct host *host = c->host;
	enum nic_copy_result result;
	u8 small[1024];

	/* In vnetd, which has one thread, the large buffer is always free. */
	if (!host->bounce || __atomic_exchange_n(&host->bounce_busy, 1, __ATOMIC_ACQUIRE))
		return copy_through(c, length, small, sizeof(small));
	result = copy_through(c, length, host->bounce, HOST_BOUNCE_SIZE);
	nic_store_release(&host->bounce_busy, 0);
	return result;
}

static enum nic_copy_result copy_span(struct copy *c, const struct reach *dst,
				      const struct reach *src)
{
	u64 length = smaller(smaller(dst->length, src->length), c->left);

	if (dst->near && src->near)
		return copy_near(c, dst, src, length);
	if (dst->near || src->near)
		return copy_far(c, src->near, src->near ? src : dst, length);
	return copy_bounce(c, length);
}

static enum nic_copy_result copy_step(struct copy *c)
{
	enum nic_copy_result result;
	struct reach dst, src;
	u64 before = c->left;

	if (!c->dst.n)
		return NIC_COPY_DST_FAULT;
	if (!c->src.n)
		return NIC_COPY_SRC_FAULT;
	reach_begin(c->nic, c->dst.piece, c->dst.done, &dst);
	reach_begin(c->nic, c->src.piece, c->src.done, &src);
	result = copy_span(c, &dst, &src);
	reach_end(c->nic, &src, before - c->left);
	reach_end(c->nic, &dst, before - c->left);
	return result;
}

/* Few bytes to or from another process that no window shows: one tail, by one system call. */
static bool copy_word(const struct nic *nic, const struct nic_piece *dst, const struct reach *to,
		      const struct nic_piece *src, const struct reach *from, u64 length)
{
	bool write = from->near;
	const struct nic_piece *far = write ? dst : src;

	/* At most one tail, which needs no order with a body. */
	if (length == 0 || (dst->addr & 7) + length > 8 || to->near == from->near ||
	    checks_pages(nic, far) ||
	    !transfer_word(nic->host, far->space, write, (void *)(write ? from->addr : to->addr),
			   far->addr, length))
		return false;
	count_bytes(nic, &own_entry(nic)->bytes_called, length);
	return true;
}

/*
 * Fast path for the most frequent cases: one piece on each side, and both within reach or few
 * bytes.
 */
static bool copy_at_once(struct nic *nic, const struct nic_piece *dst, const struct nic_piece *src,
			 u64 length, enum nic_copy_result *result)
{
	struct reach to, from;
	bool done = false;

	*result = NIC_COPY_OK;
	/* The payload of a completion entry: nothing needs to be reached. */
	if (likely(is_near(nic, dst) && is_near(nic, src) && dst->length >= length &&
		   src->length >= length)) {
		*result = host_guarded_copy((void *)dst->addr, (const void *)src->addr, length);
		return true;
	}
	reach_begin(nic, dst, 0, &to);
	reach_begin(nic, src, 0, &from);
	if (likely(to.length >= length && from.length >= length)) {
		done = to.near && from.near;
		if (done)
			*result =
				host_guarded_copy((void *)to.addr, (const void *)from.addr, length);
		else
			done = copy_word(nic, dst, &to, src, &from, length);
	}
	reach_end(nic, &from, done ? length : 0);
	reach_end(nic, &to, done ? length : 0);
	return done;
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
