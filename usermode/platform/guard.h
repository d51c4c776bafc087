/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The part of a guarded copy that is written in assembler: guard_<machine>.S.
 */
#ifndef GUARD_H
#define GUARD_H

#include "layout/types.h"

/* In two registers: how it ended, and (after a fault) at which address. */
struct guard_result {
	u64 faulted;
	u64 address;
};

/*
 * Copies; the tail, which is the bytes in the last aligned word of eight, last.
 * A fault anywhere between _begin and _end, where the stack is as at the entry,
 * continues at _fixup, which returns to the caller: the handler has filled in
 * the result.
 */
struct guard_result guard_copy_raw(void *dst, const void *src, size_t length);

extern const char guard_copy_begin[], guard_copy_end[], guard_copy_fixup[];

#ifdef __x86_64__
/*
 * From so many bytes on, a string instruction moves them; set once, by what
 * the processor says of itself. Until then vector moves do it all.
 */
extern u64 guard_rep_from;

/* Return from a signal handler, as the system wants it supplied. */
void guard_restore_rt(void);
#endif

#endif /* GUARD_H */
