/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * System calls that write to the program's memory, and pages that are being moved.
 *
 * While pages are write-protected by userfaultfd, a write by the kernel fails with EFAULT. So calls
 * that the library sees (read(), recv(), ...) wait until the pages have been moved; and pages are
 * moved only if no other thread is in a call that may write to them, as far as /proc tells.
 */
#ifndef QUIET_H
#define QUIET_H

#include <stdbool.h>

#include "layout/types.h"

/* Regions are mapped in this process; otherwise the calls below do nothing. */
extern bool quiet_wanted;

/* For use by the functions below. */
u32 quiet_enter(void);
void quiet_leave(u32 outer);

/*
 * Around a system call that may write to the program's memory. The result of the first is for the
 * second, because a signal handler may make such a call within another.
 */
static inline u32 quiet_call_begin(void)
{
	return unlikely(quiet_wanted) ? quiet_enter() : 0;
}

static inline void quiet_call_end(u32 outer)
{
	if (unlikely(quiet_wanted))
		quiet_leave(outer);
}

/*
 * Have new calls wait. Returns false if, in each of so many looks at intervals of 100 us, another
 * thread is in a system call that may write to [start, end). quiet_end() must follow in any case.
 */
bool quiet_begin(u64 start, u64 end, u32 looks);
void quiet_end(void);

/* Called in a forked child. */
void quiet_forked(void);

/* Number of threads of this process, including those of the kernel; 0: unknown. */
u32 quiet_threads(void);

/*
 * Another process runs in this address space (clone() with CLONE_VM). /proc does not show its calls.
 * Never cleared, except in a forked child.
 */
extern bool quiet_is_shared;

#endif /* QUIET_H */
