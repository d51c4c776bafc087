/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Guarded copy: the part in assembler (guard_<machine>.S).
 */
#ifndef GUARD_H
#define GUARD_H

#include "layout/types.h"

/* Returned in two registers: whether the copy faulted, and then at which address. */
struct guard_result {
	u64 faulted;
	u64 address;
};

/*
 * Copy, and store the tail last: the bytes in the last aligned word of eight bytes. After a fault
 * between _begin and _end, where the stack is as on entry, the signal handler fills in the result
 * and continues at _fixup, which returns to the caller.
 */
struct guard_result guard_copy_raw(void *dst, const void *src, size_t length);

extern const char guard_copy_begin[], guard_copy_end[], guard_copy_fixup[];

#ifdef __x86_64__
/*
 * A string instruction moves copies of at least this length. Set once according to the processor's
 * features; until then, vector moves are used for all lengths.
 */
extern u64 guard_rep_from;

/* Returns from a signal handler; the kernel requires sigaction() to supply it. */
void guard_restore_rt(void);
#endif

#endif /* GUARD_H */
