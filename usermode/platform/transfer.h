/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * One move of bytes between this process and one other: "near" is memory that
 * this thread may touch, "far" is the other's.
 */
#ifndef TRANSFER_H
#define TRANSFER_H

#include <sys/uio.h>

#include "host.h"

enum transfer_limits {
	/* The largest work requests, one more for a tail, some to spare. */
	TRANSFER_PIECES = VNET_MAX_SGE + 8,
	/* The system moves a page less than 2 GiB in a call. */
	TRANSFER_MAX = 1 << 30,
};

#define TRANSFER_CHECKS ((u8)(NIC_MR_CHECK_PAGES | NIC_MR_ON_DEMAND | NIC_MR_FILE))

struct transfer {
	u32 space;
	/* From near to far. */
	bool write;
	/*
	 * Some far piece must be reached with respect to its pages' rights
	 * (NIC_MR_CHECK_PAGES), or should be (NIC_MR_ON_DEMAND); or only while all of
	 * its pages are there (NIC_MR_FILE).
	 */
	u8 check_pages;
	/* It ends the whole copy: its last bytes are to be stored last. */
	bool last;
	size_t length;
	u32 nnear, nfar;
	/* Entry 0 is kept free for the token. */
	struct iovec near[TRANSFER_PIECES];
	struct iovec far[TRANSFER_PIECES];
};

enum transfer_fault {
	TRANSFER_NEAR_FAULT,
	TRANSFER_FAR_FAULT,
	TRANSFER_FAR_GONE,
	/* Pages of a file are not there: to be brought by somebody who may wait for them. */
	TRANSFER_FAR_LATER,
};

void transfer_init(struct transfer *t, u32 space, bool write);
static inline bool transfer_full(const struct transfer *t)
{
	/* One is left for the tail. */
	return t->nnear == TRANSFER_PIECES - 1 || t->nfar == TRANSFER_PIECES;
}
/* The next bytes, which are not none. */
void transfer_add(struct transfer *t, u64 near, u64 far, size_t length);

/*
 * Try once: how many bytes moved, counted from the beginning; what it leaves
 * is to be tried again. 0: none can be moved, see *fault.
 */
size_t transfer_run(struct host *host, struct transfer *t, enum transfer_fault *fault);

/*
 * Up to eight bytes that are one tail, by one system call; false: it did not
 * move them all, transfer_run() tells why.
 */
bool transfer_word(struct host *host, u32 space, bool write, void *near, u64 far, size_t length);

/*
 * Are all pages of a range of another process in memory? Also true where that cannot be
 * found out, and of a process that is gone: a copy will tell.
 */
bool transfer_is_present(struct host *host, u32 space, u64 addr, u64 length);

/* The tail of `length` bytes that end before `end`: those in the last aligned word. */
static inline size_t transfer_tail(u64 end, size_t length)
{
	size_t tail = ((end - 1) & 7) + 1;

	return tail < length ? tail : length;
}

#endif /* TRANSFER_H */
