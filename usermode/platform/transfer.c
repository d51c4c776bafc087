// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Copies between this process and another one, by one of two ways.
 *
 * The memory descriptor (/proc/self/mem, opened by the other process): it is bound to the address
 * space. It takes one far range at a time, each near piece costs a page walk of its own, and it
 * ignores page permissions. It is the cheapest way for a few bytes.
 *
 * process_vm_readv() and process_vm_writev(): they are cheaper from the second near piece on, and
 * the tail must be a piece of its own. They obey page permissions. seccomp or Yama may refuse them.
 * They use the PID, so every call begins with the token.
 *
 * Both copy piece by piece, each near piece with instructions of its own. So the order of stores is
 * kept where the processor keeps it between instructions.
 */
#include "presence.h"
#include "raw.h"
#include "space.h"
#include "token.h"
#include "transfer.h"

#ifdef __x86_64__
#define PIECES_STAY_IN_ORDER 1
#else
#define PIECES_STAY_IN_ORDER 0
#endif

/* -------------------------------------------------------------------- pieces */

void transfer_init(struct transfer *t, u32 space, bool write)
{
	t->space = space;
	t->write = write;
	t->check_pages = 0;
	t->last = false;
	t->length = 0;
	t->nnear = 1;
	t->nfar = 1;
}

static void append(struct iovec *iov, u32 *n, u64 addr, size_t length)
{
	struct iovec *prev = &iov[*n - 1];

	if (*n > 1 && (u64)prev->iov_base + prev->iov_len == addr) {
		prev->iov_len += length;
		return;
	}
	iov[*n] = (struct iovec){ .iov_base = (void *)addr, .iov_len = length };
	(*n)++;
}

void transfer_add(struct transfer *t, u64 near, u64 far, size_t length)
{
	append(t->near, &t->nnear, near, length);
	append(t->far, &t->nfar, far, length);
	t->length += length;
}

/* End address of the last piece. */
static u64 end_of(const struct iovec *iov, u32 n)
{
	return (u64)iov[n - 1].iov_base + iov[n - 1].iov_len;
}

/*
 * Make the tail a near piece of its own; where the order of pieces is not kept, leave it to the
 * next transfer.
 */
static void split_tail(struct transfer *t)
{
	struct iovec *body = &t->near[t->nnear - 1];
	const struct iovec *dst = t->write ? &t->far[t->nfar - 1] : body;
	u64 end = t->write ? end_of(t->far, t->nfar) : end_of(t->near, t->nnear);
	size_t tail = transfer_tail(end, dst->iov_len);

	if (body->iov_len <= tail)
		return;
	body->iov_len -= tail;
	if (PIECES_STAY_IN_ORDER) {
		t->near[t->nnear].iov_base = (u8 *)body->iov_base + body->iov_len;
		t->near[t->nnear].iov_len = tail;
		t->nnear++;
	} else {
		t->far[t->nfar - 1].iov_len -= tail;
		t->length -= tail;
	}
}

/* ------------------------------------------------------------- process_vm_*() */

/*
 * Call process_vm_*() with the token in front. Returns -errno if nothing was moved, possibly
 * because of the token; otherwise the number of bytes moved without the token.
 */
static long call_process_vm(const struct space *space, bool write, struct iovec *near, u32 nnear,
			    struct iovec *far, u32 nfar)
{
	u8 byte = 0;
	long ret;

	near[0] = (struct iovec){ .iov_base = &byte, .iov_len = sizeof(byte) };
	far[0] = (struct iovec){ .iov_base = (void *)token_byte(space->token),
				 .iov_len = sizeof(byte) };
	do {
		ret = raw_process_vm(write, space->pid, near, nnear, far, nfar);
	} while (ret == -EINTR);
	near[0] = (struct iovec){ .iov_len = 0 };
	if (ret < 0)
		return ret;
	return ret == 0 ? -EFAULT : ret - 1;
}

/*
 * The first bytes could not be moved: find out which side faulted. The kernel counts far bytes by
 * page, and near bytes by the unit of its copy loop.
 */
static enum transfer_fault blame(const struct space *space, const struct transfer *t)
{
	struct iovec near[2], far[2];
	size_t length = t->near[1].iov_len;
	u8 bytes[64];

	if (t->write) {
		if (length > sizeof(bytes))
			length = sizeof(bytes);
		return host_guarded_copy(bytes, t->near[1].iov_base, length) == NIC_COPY_OK ?
			       TRANSFER_FAR_FAULT :
			       TRANSFER_NEAR_FAULT;
	}
	near[1] = (struct iovec){ .iov_base = bytes, .iov_len = 1 };
	far[1] = (struct iovec){ .iov_base = t->far[1].iov_base, .iov_len = 1 };
	return call_process_vm(space, false, near, 2, far, 2) == 1 ? TRANSFER_NEAR_FAULT :
								     TRANSFER_FAR_FAULT;
}

/* Like transfer_run(), or -1 if process_vm_*() do not work for this space. */
static long run_process_vm(struct space *space, struct transfer *t, enum transfer_fault *fault)
{
	long ret = call_process_vm(space, t->write, t->near, t->nnear, t->far, t->nfar);

	if (ret > 0)
		return ret;
	if (ret == 0) {
		*fault = blame(space, t);
		return 0;
	}
	if (ret == -EPERM || ret == -ENOSYS || ret == -EACCES)
		space_disable_vm(space);
	return -1;
}

/* ---------------------------------------------------------- memory descriptor */

/* Use only the first far piece: cut the near ones to its length. */
static void cut_to_first(struct transfer *t)
{
	size_t room = t->far[1].iov_len;
	u32 n = 1;

	while (n < t->nnear && t->near[n].iov_len < room)
		room -= t->near[n++].iov_len;
	if (n == t->nnear)
		return;
	t->near[n].iov_len = room;
	t->nnear = n + 1;
}

static long call_mem(int mem, const struct transfer *t)
{
	const struct iovec *near = &t->near[1];
	u64 far = (u64)t->far[1].iov_base;
	u32 n = t->nnear - 1;

	if (n == 1)
		return t->write ? raw_pwrite(mem, near->iov_base, near->iov_len, far) :
				  raw_pread(mem, near->iov_base, near->iov_len, far);
	return t->write ? raw_pwritev(mem, near, n, far) : raw_preadv(mem, near, n, far);
}

static size_t run_mem(struct space *space, struct transfer *t, enum transfer_fault *fault)
{
	long ret;

	cut_to_first(t);
	do {
		ret = call_mem(space->mem, t);
	} while (ret == -EINTR);

	if (ret > 0)
		return (size_t)ret;
	*fault = TRANSFER_FAR_GONE;
	if (ret == -EFAULT)
		*fault = TRANSFER_NEAR_FAULT;
	else if (ret == -EIO || ret == -EINVAL)
		*fault = TRANSFER_FAR_FAULT;
	else if (ret == -EBADF)
		space->stolen = true;
	return 0;
}

/* Does the address space behind the descriptor still exist? */
static bool mem_is_alive(const struct space *space, u64 far)
{
	u8 byte;

	return raw_pread(space->mem, &byte, 1, far) != 0;
}

/* -------------------------------------------------------------------- choice */

/*
 * Unless the token was verified, the PID may be another process': then the page map is not read,
 * and the pages count as present. The pages of a process that has exited count as absent: its
 * address space may still exist, and a copy would wait for one of its pages.
 */
static bool far_is_present(const struct space *space, const struct transfer *t)
{
	int pagemap = space->token ? presence_open(space->pid) : -EACCES;
	bool present = true;

	if (pagemap < 0)
		return pagemap != -ENOENT && pagemap != -ESRCH;
	for (u32 i = 1; i < t->nfar && present; i++)
		present = presence_of(pagemap, (u64)t->far[i].iov_base, t->far[i].iov_len);
	raw_close(pagemap);
	return present;
}

bool transfer_is_present(struct host *host, u32 space_id, u64 addr, u64 length)
{
	struct transfer t;
	struct space space;
	bool present;

	if (!space_open(host, space_id, &space))
		return true;
	transfer_init(&t, space_id, false);
	append(t.far, &t.nfar, addr, length);
	present = far_is_present(&space, &t);
	space_close(&space);
	return present;
}

static size_t run_open(struct space *space, struct transfer *t, enum transfer_fault *fault)
{
	/*
	 * For one piece of at most eight bytes the descriptor is cheaper, and no tail has to be
	 * split off.
	 */
	bool word = t->nnear == 2 && t->nfar == 2 && t->length <= 8;
	long ret;

	if (space->token && (!word || t->check_pages & ~NIC_MR_FILE)) {
		ret = run_process_vm(space, t, fault);
		if (ret >= 0)
			return (size_t)ret;
	}
	if (t->check_pages & NIC_MR_CHECK_PAGES) {
		*fault = mem_is_alive(space, (u64)t->far[1].iov_base) ? TRANSFER_FAR_FAULT :
									TRANSFER_FAR_GONE;
		return 0;
	}
	return run_mem(space, t, fault);
}

/* Like run_open(), if the process is alive and all pages of the transfer are in memory. */
static size_t run_present(const struct host *host, struct space *space, struct transfer *t,
			  enum transfer_fault *fault)
{
	if (!space_is_alive(host, t->space))
		return 0;
	*fault = TRANSFER_FAR_LATER;
	return far_is_present(space, t) ? run_open(space, t, fault) : 0;
}

size_t transfer_run(struct host *host, struct transfer *t, enum transfer_fault *fault)
{
	struct space space;
	size_t moved = 0;

	if (t->last)
		split_tail(t);
	if (!PIECES_STAY_IN_ORDER)
		nic_barrier();
	*fault = TRANSFER_FAR_GONE;
	if (space_open(host, t->space, &space)) {
		if (likely(!(t->check_pages & NIC_MR_FILE)))
			moved = run_open(&space, t, fault);
		else
			moved = run_present(host, &space, t, fault);
		space_close(&space);
	}
	if (!moved && *fault == TRANSFER_FAR_GONE)
		space_forget(host, t->space, space.stolen);
	return moved;
}

bool transfer_word(struct host *host, u32 space_id, bool write, void *near, u64 far, size_t length)
{
	struct space space;
	long ret;

	if (!space_open(host, space_id, &space))
		return false;
	ret = write ? raw_pwrite(space.mem, near, length, far) :
		      raw_pread(space.mem, near, length, far);
	space_close(&space);
	return ret == (long)length;
}
