// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Copies of the firmware between pages, and its requests for on-demand pages: plat_copy() and
 * plat_fetch(). They work in any context.
 */
#include <linux/mm.h>
#include <linux/sched.h>

#include "memory.h"
#include "odp.h"

#ifdef CONFIG_HIGHMEM
#error "vnet_ib reads pages by their kernel addresses: it needs a 64-bit kernel"
#endif

/* Bytes after which a copy yields, if the caller may sleep. */
#define VNET_COPY_CHUNK (1u << 20)
/* Softirqs are enabled for copies longer than this. Frames are shorter. */
#define VNET_COPY_SHORT (64u << 10)
/* Softirqs are also enabled after this many bytes of shorter copies, plus a surcharge for each. */
#define VNET_COPY_MANY (1u << 20)
#define VNET_COPY_COST 512u
/* The last bytes of a copy, which become visible after all others. */
#define VNET_TAIL 8

/* ------------------------------------------------------------------ copies */

/* A position in a list of pieces. */
struct vnet_cursor {
	struct vnet_dev *dev;
	const struct nic_piece *piece;
	/* Bytes of the current piece that are done. */
	u64 done;
	bool write;
	/*
	 * `checked`: on-demand pages were found present since vnet_copies_lock(). `absent`: the
	 * cursor has met one that is not.
	 */
	bool checked, absent;
};

/* Contiguous bytes from an address in a page list, up to `want`. */
static u64 vnet_run_length(const struct vnet_mr *mr, u64 addr, u64 want)
{
	u64 i = addr >> PAGE_SHIFT;
	u64 have = PAGE_SIZE - offset_in_page(addr);

	while (have < want && i + 1 < mr->npages && mr->pages[i + 1] == mr->pages[i] + 1) {
		have += PAGE_SIZE;
		i++;
	}
	return min(have, want);
}

/* Address of a position in a region without a page list: a dma-buf, or on-demand memory. */
static void *vnet_cursor_off_list(struct vnet_cursor *at, const struct vnet_mr *mr, u64 addr,
				  u64 *have)
{
	void *memory;

	if (mr->dmabuf)
		return mr->map.vaddr + addr;
	memory = vnet_odp_at(mr->odp, addr, at->write, at->checked, have);
	at->absent = !memory;
	return memory;
}

static const struct vnet_mr *vnet_piece_mr(const struct vnet_dev *dev,
					   const struct nic_piece *piece)
{
	return piece->mr < VNET_MAX_MR ? READ_ONCE(dev->mr[piece->mr]) : NULL;
}

/*
 * Address of the cursor and the contiguous bytes there, or NULL. The firmware has checked that
 * the piece is in the region. The region's pages exist until all operations that may have found
 * it have ended.
 */
static void *vnet_cursor_at(struct vnet_cursor *at, u64 want, u64 *have)
{
	const struct nic_piece *piece = at->piece;
	u64 addr = piece->addr + at->done;
	const struct vnet_mr *mr;

	*have = min(want, piece->length - at->done);
	if (piece->space == NIC_SPACE_POINTER)
		return (void *)(uintptr_t)addr;
	mr = vnet_piece_mr(at->dev, piece);
	if (mr && unlikely(!mr->pages))
		return vnet_cursor_off_list(at, mr, addr, have);
	if (unlikely(!mr || addr >> PAGE_SHIFT >= mr->npages))
		return NULL;
	*have = vnet_run_length(mr, addr, *have);
	return page_address(mr->pages[addr >> PAGE_SHIFT]) + offset_in_page(addr);
}

static void vnet_cursor_move(struct vnet_cursor *at, u64 bytes)
{
	at->done += bytes;
	if (at->done == at->piece->length) {
		at->piece++;
		at->done = 0;
	}
}

/* Copy up to eight bytes, by one store if they are aligned. */
static void vnet_copy_tail(void *dst, const void *src, u64 n)
{
	uintptr_t both = (uintptr_t)dst | (uintptr_t)src;

	if (n == 8 && !(both & 7))
		WRITE_ONCE(*(u64 *)dst, READ_ONCE(*(const u64 *)src));
	else if (n == 4 && !(both & 3))
		WRITE_ONCE(*(u32 *)dst, READ_ONCE(*(const u32 *)src));
	else
		memcpy(dst, src, n);
}

static void vnet_copy_last(void *dst, const void *src, u64 n)
{
	u64 body = n > VNET_TAIL ? n - VNET_TAIL : 0;

	memcpy(dst, src, body);
	/*
	 * Pairs with the barrier of a program between polling the last bytes and reading the
	 * others.
	 */
	smp_wmb();
	vnet_copy_tail(dst + body, src + body, n - body);
}

/* Yield, and let notifiers invalidate pages. */
static void vnet_copy_pause(int *copies) __must_hold(&vnet_copies)
{
	vnet_copies_unlock(*copies);
	cond_resched();
	*copies = vnet_copies_lock();
}

/*
 * Copy `length` bytes. copies: the index of vnet_copies_lock() if that is held, else NULL.
 * may_pause: the caller may sleep.
 */
static enum nic_copy_result vnet_copy(const struct vnet_view *view, const struct nic_piece *dst,
				      const struct nic_piece *src, u64 length, bool may_pause,
				      int *copies, bool checked)
{
	struct vnet_cursor to = {
		.dev = view->dev, .piece = dst, .write = true, .checked = checked
	};
	struct vnet_cursor from = { .dev = view->dev, .piece = src, .checked = checked };
	u64 n, chunk = 0;
	void *d, *s;

	while (length) {
		s = vnet_cursor_at(&from, length, &n);
		if (unlikely(!s))
			return from.absent ? NIC_COPY_SRC_LATER : NIC_COPY_SRC_FAULT;
		d = vnet_cursor_at(&to, min_t(u64, n, VNET_COPY_CHUNK), &n);
		if (unlikely(!d))
			return to.absent ? NIC_COPY_DST_LATER : NIC_COPY_DST_FAULT;
		length -= n;
		if (length)
			memcpy(d, s, n);
		else
			vnet_copy_last(d, s, n);
		vnet_cursor_move(&from, n);
		vnet_cursor_move(&to, n);
		chunk += n;
		if (chunk >= VNET_COPY_CHUNK && may_pause) {
			/* Locks of the firmware are held, but others spin for a short time only. */
			if (copies)
				vnet_copy_pause(copies);
			else
				cond_resched();
			chunk = 0;
		}
	}
	return NIC_COPY_OK;
}

/* Whether the on-demand pages of all pieces are present. */
static bool vnet_pieces_are_there(const struct vnet_dev *dev, const struct nic_piece *piece, u32 n,
				  u64 length, bool write)
{
	const struct vnet_mr *mr;
	u64 here;

	for (; length && n; piece++, n--, length -= here) {
		here = min(length, piece->length);
		if (!here || piece->space == NIC_SPACE_POINTER)
			continue;
		mr = vnet_piece_mr(dev, piece);
		if (mr && mr->odp && !vnet_odp_is_there(mr->odp, piece->addr, here, write))
			return false;
	}
	return true;
}

/* Copy while any region of the device is paged on demand. */
static enum nic_copy_result vnet_copy_on_demand(const struct vnet_view *view,
						const struct nic_piece *dst, u32 ndst,
						const struct nic_piece *src, u32 nsrc, u64 length,
						bool may_pause)
{
	bool pauses = may_pause && length >= VNET_COPY_CHUNK;
	enum nic_copy_result result;
	int idx = vnet_copies_lock();

	/* During a pause, pages may be invalidated, so each look-up checks again. */
	if (!vnet_pieces_are_there(view->dev, src, nsrc, length, false))
		result = NIC_COPY_SRC_LATER;
	else if (!vnet_pieces_are_there(view->dev, dst, ndst, length, true))
		result = NIC_COPY_DST_LATER;
	else
		result = vnet_copy(view, dst, src, length, may_pause, &idx, !pauses);
	vnet_copies_unlock(idx);
	return result;
}

static enum nic_copy_result vnet_copy_any(const struct vnet_view *view, const struct nic_piece *dst,
					  u32 ndst, const struct nic_piece *src, u32 nsrc,
					  u64 length, bool may_pause)
{
	if (unlikely(atomic_read(&view->dev->on_demand)))
		return vnet_copy_on_demand(view, dst, ndst, src, nsrc, length, may_pause);
	return vnet_copy(view, dst, src, length, may_pause, NULL, false);
}

static bool vnet_is_own(const struct nic_piece *pieces, u32 n)
{
	return !n || pieces[n - 1].space == NIC_SPACE_POINTER;
}

/*
 * Whether a task must enable softirqs for this copy: a long one, or after many short ones, as a
 * doorbell may execute a whole queue of requests. Short copies to or from the device's own
 * memory are not counted: they are those of frames, with locks held that all traffic with that
 * node needs.
 */
static bool vnet_is_long_copy(const struct nic_piece *dst, u32 ndst, const struct nic_piece *src,
			      u32 nsrc, u64 length)
{
	if (length > VNET_COPY_SHORT)
		return true;
	if (vnet_is_own(dst, ndst) || vnet_is_own(src, nsrc))
		return false;
	return this_cpu_add_return(vnet_copied, length + VNET_COPY_COST) > VNET_COPY_MANY;
}

/*
 * For long copies, a task enables softirqs and yields. A receiver that gets a frame for this
 * queue pair meanwhile finds its lock held and refuses the frame, which is sent again.
 */
enum nic_copy_result plat_copy(struct nic *nic, const struct nic_piece *dst, u32 ndst,
			       const struct nic_piece *src, u32 nsrc, u64 length)
{
	const struct vnet_view *view = nic->host;
	enum nic_copy_result result;

	if (!view->may_sleep || likely(!vnet_is_long_copy(dst, ndst, src, nsrc, length)))
		return vnet_copy_any(view, dst, ndst, src, nsrc, length, false);
	vnet_leave();
	cond_resched();
	result = vnet_copy_any(view, dst, ndst, src, nsrc, length, true);
	vnet_enter();
	return result;
}

/* ---------------------------------------------------------------- requests */

/* Request the missing pages of all pieces. Returns 0 if there are none, -EAGAIN or -EFAULT. */
static int vnet_request_pieces(const struct vnet_dev *dev, const struct nic_piece *piece, u32 n,
			       u64 length, bool write, u64 since)
{
	const struct vnet_mr *mr;
	int err, result = 0;
	u64 here;

	for (; length && n; piece++, n--, length -= here) {
		here = min(length, piece->length);
		if (!here || piece->space == NIC_SPACE_POINTER)
			continue;
		mr = vnet_piece_mr(dev, piece);
		if (!mr || !mr->odp)
			continue;
		err = vnet_odp_request(mr->odp, piece->addr, here, write, since);
		if (err == -EFAULT)
			return err;
		result = err ? err : result;
	}
	return result;
}

enum nic_copy_result plat_fetch(struct nic *nic, const struct nic_piece *dst, u32 ndst,
				const struct nic_piece *src, u32 nsrc, u64 length, u64 since)
{
	const struct vnet_view *view = nic->host;
	int to, from;

	if (likely(!atomic_read(&view->dev->on_demand)))
		return NIC_COPY_OK;
	from = vnet_request_pieces(view->dev, src, nsrc, length, false, since);
	if (from == -EFAULT)
		return NIC_COPY_SRC_FAULT;
	to = vnet_request_pieces(view->dev, dst, ndst, length, true, since);
	if (to == -EFAULT)
		return NIC_COPY_DST_FAULT;
	if (from)
		return NIC_COPY_SRC_LATER;
	return to ? NIC_COPY_DST_LATER : NIC_COPY_OK;
}
