// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The kernel's platform for the firmware: copies between pages, time, and who is
 * woken. All of it works in atomic context.
 */
#include <linux/ktime.h>
#include <linux/mm.h>
#include <linux/random.h>
#include <linux/sched.h>
#include <linux/sched/signal.h>

#include "vnet_ib.h"

#ifdef CONFIG_HIGHMEM
#error "vnet_ib reads pages by their kernel addresses: it needs a 64-bit kernel"
#endif

/* After so many bytes others get their turn, where that is possible. */
#define VNET_COPY_CHUNK (1u << 20)
/* Softirqs do not wait for longer copies than this; frames are never so long. */
#define VNET_COPY_SHORT (64u << 10)
/* Nor for more bytes of shorter ones, of which there may be thousands; each is worth some. */
#define VNET_COPY_MANY (1u << 20)
#define VNET_COPY_COST 512u
/* The end of a copy becomes visible last. */
#define VNET_TAIL 8

DEFINE_PER_CPU(u32, vnet_copied);

/* ------------------------------------------------------------------ copies */

/* A place in a list of pieces. */
struct vnet_cursor {
	struct vnet_dev *dev;
	const struct nic_piece *piece;
	/* How much of the piece is done. */
	u64 done;
	bool write;
	/* What is paged on demand was found to be there; or, in the end, was not. */
	bool checked, absent;
};

/* How far memory is contiguous from a page of a region, up to `want` bytes. */
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

/* The same of a region that has no list of pages. */
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
 * Where the cursor is, and how many bytes from there; NULL: nowhere. The
 * firmware has checked the piece against the region, and a region's pages stay
 * until every operation that could have looked it up is over.
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

/* Up to eight bytes, by one store where they are aligned. */
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
	/* Pairs with whatever a program has between polling the end and reading. */
	smp_wmb();
	vnet_copy_tail(dst + body, src + body, n - body);
}

/* Others have their turn: whoever wants to take pages back, too. */
static void vnet_copy_pause(int *copies) __must_hold(&vnet_copies)
{
	vnet_copies_unlock(*copies);
	cond_resched();
	*copies = vnet_copies_lock();
}

/* copies: as vnet_copies_lock() has it, where that is held; or NULL. */
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
			/* Lock words of the firmware are held: nobody spins on them for long. */
			if (copies)
				vnet_copy_pause(copies);
			else
				cond_resched();
			chunk = 0;
		}
	}
	return NIC_COPY_OK;
}

/* Is all of it there that is paged on demand? */
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

/* There are regions that are paged on demand: whatever this is about. */
static enum nic_copy_result vnet_copy_on_demand(const struct vnet_view *view,
						const struct nic_piece *dst, u32 ndst,
						const struct nic_piece *src, u32 nsrc, u64 length,
						bool may_pause)
{
	bool pauses = may_pause && length >= VNET_COPY_CHUNK;
	enum nic_copy_result result;
	int idx = vnet_copies_lock();

	/* What pauses may find that pages have gone meanwhile. */
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
 * A long copy, or one of very many: all requests of a queue are carried out by whoever
 * rings. Those of frames, whose data is in the device's own memory, are neither: locks
 * are held then that everybody needs who talks to that node.
 */
static bool vnet_is_much(const struct nic_piece *dst, u32 ndst, const struct nic_piece *src,
			 u32 nsrc, u64 length)
{
	if (length > VNET_COPY_SHORT)
		return true;
	if (vnet_is_own(dst, ndst) || vnet_is_own(src, nsrc))
		return false;
	return this_cpu_add_return(vnet_copied, length + VNET_COPY_COST) > VNET_COPY_MANY;
}

/*
 * When a task copies much, softirqs and other tasks have their turn. One of them that
 * receives a frame for just the queue pair whose request this is finds its lock held,
 * and refuses the frame: it comes again.
 */
enum nic_copy_result plat_copy(struct nic *nic, const struct nic_piece *dst, u32 ndst,
			       const struct nic_piece *src, u32 nsrc, u64 length)
{
	const struct vnet_view *view = nic->host;
	enum nic_copy_result result;

	if (!view->may_sleep || likely(!vnet_is_much(dst, ndst, src, nsrc, length)))
		return vnet_copy_any(view, dst, ndst, src, nsrc, length, false);
	vnet_leave();
	cond_resched();
	result = vnet_copy_any(view, dst, ndst, src, nsrc, length, true);
	vnet_enter();
	return result;
}

/* All that these pieces lack is asked for: 0, -EAGAIN or -EFAULT. */
static int vnet_ask_pieces(const struct vnet_dev *dev, const struct nic_piece *piece, u32 n,
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
		err = vnet_odp_ask(mr->odp, piece->addr, here, write, since);
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
	from = vnet_ask_pieces(view->dev, src, nsrc, length, false, since);
	if (from == -EFAULT)
		return NIC_COPY_SRC_FAULT;
	to = vnet_ask_pieces(view->dev, dst, ndst, length, true, since);
	if (to == -EFAULT)
		return NIC_COPY_DST_FAULT;
	if (from)
		return NIC_COPY_SRC_LATER;
	return to ? NIC_COPY_DST_LATER : NIC_COPY_OK;
}

/* --------------------------------------------------------------- the rest */

/*
 * Rings are named by their addresses: no process can write NIC memory, where
 * the names are.
 */
void *plat_queue(struct nic *nic, u64 offset, u64 length)
{
	return (void *)(uintptr_t)offset;
}

u64 plat_clock(void)
{
	return ktime_get_ns();
}

bool plat_random(struct nic *nic, void *bytes, u32 length)
{
	/* vnet_link_make() has waited until the kernel's generator is seeded. */
	get_random_bytes(bytes, length);
	return true;
}

void plat_kick(struct nic *nic)
{
	const struct vnet_view *view = nic->host;
	struct vnet_dev *dev = view->dev;
	struct task_struct *task = READ_ONCE(dev->processor);

	atomic_set(&dev->kicked, 1);
	if (task)
		wake_up_process(task);
}

/* Each CQ has a channel of its own: its consumer is told when this is left. */
void plat_channel_ready(struct nic *nic, u32 channel, bool first)
{
	const struct vnet_view *view = nic->host;

	/* Who is told takes all events there are. */
	if (first)
		vnet_cq_ready(view->dev, channel);
}

void plat_relax(void)
{
	cpu_relax();
}

/* false: the task is being killed, or it may not sleep: the NIC processor goes on. */
bool plat_turn(struct nic *nic)
{
	const struct vnet_view *view = nic->host;

	if (!view->may_sleep)
		return false;
	vnet_leave();
	cond_resched();
	vnet_enter();
	return !fatal_signal_pending(current);
}
