/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * One copy between this process ("near") and one other process ("far"). Near memory is memory that
 * this thread may touch directly.
 */
#ifndef TRANSFER_H
#define TRANSFER_H

#include <sys/uio.h>

#include "host.h"

enum transfer_limits {
	/* Enough for the largest work request, one more for the tail, and some spare. */
	TRANSFER_PIECES = VNET_MAX_SGE + 8,
	/* The kernel moves at most 2 GiB less one page in a call. */
	TRANSFER_MAX = 1 << 30,
};

#define TRANSFER_CHECKS ((u8)(NIC_MR_CHECK_PAGES | NIC_MR_ON_DEMAND | NIC_MR_FILE))

struct transfer {
	u32 space;
	/* Direction: from near to far. */
	bool write;
	/*
	 * Flags of the regions of the far pieces: page permissions must be obeyed
	 * (NIC_MR_CHECK_PAGES) or should be (NIC_MR_ON_DEMAND); copy only while all pages are
	 * present (NIC_MR_FILE).
	 */
	u8 check_pages;
	/* This transfer ends the whole copy, so its last bytes must be stored last. */
	bool last;
	size_t length;
	u32 nnear, nfar;
	/* Entry 0 is reserved for the token. */
	struct iovec near[TRANSFER_PIECES];
	struct iovec far[TRANSFER_PIECES];
};

enum transfer_fault {
	TRANSFER_NEAR_FAULT,
	TRANSFER_FAR_FAULT,
	TRANSFER_FAR_GONE,
	/* Pages of a file are absent. A process that may wait for them must bring them. */
	TRANSFER_FAR_LATER,
};

void transfer_init(struct transfer *t, u32 space, bool write);
static inline bool transfer_full(const struct transfer *t)
{
	/* One near entry is reserved for the tail. */
	return t->nnear == TRANSFER_PIECES - 1 || t->nfar == TRANSFER_PIECES;
}
/* Append the next bytes; length is not 0. */
void transfer_add(struct transfer *t, u64 near, u64 far, size_t length);

/*
 * Try once. Returns the number of bytes moved, from the beginning; the caller tries again for the
 * rest. 0: none can be moved, and *fault says why.
 */
size_t transfer_run(struct host *host, struct transfer *t, enum transfer_fault *fault);

/*
 * Copy at most eight bytes, which are one tail, by one system call. Returns false if not all were
 * moved; transfer_run() then finds the reason.
 */
bool transfer_word(struct host *host, u32 space, bool write, void *near, u64 far, size_t length);

/*
 * Are all pages of a range of another process in memory? Also true if that is unknown, and for a
 * process that has ended: a copy then finds out.
 */
bool transfer_is_present(struct host *host, u32 space, u64 addr, u64 length);

/*
 * Length of the tail of `length` bytes that end before `end`: the bytes in the last aligned word.
 */
static inline size_t transfer_tail(u64 end, size_t length)
{
	size_t tail = ((end - 1) & 7) + 1;

	return tail < length ? tail : length;
}

#endif /* TRANSFER_H */
