/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Return values of functions that the program calls: -1 and errno, as in libc. Inside the library
 * an error is a negative errno value. errno belongs to the program and changes only when a call
 * that the program made fails.
 */
#ifndef RESULT_H
#define RESULT_H

#include <errno.h>

#include "layout/types.h"

/*
 * Attributes of functions that interpose on the C library's. Programs may pass invalid arguments
 * (such as NULL where libc declares nonnull): they reach the system, which returns the error.
 */
#define INTERPOSED                                                                                 \
	__attribute__((visibility("default"), noinline, no_sanitize("nonnull-attribute")))

static inline long libc_result(long value)
{
	if (likely(value >= 0))
		return value;
	errno = (int)-value;
	return -1;
}

#endif /* RESULT_H */
