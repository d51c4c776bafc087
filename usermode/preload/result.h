/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * How a function that the program called gives its answer. Inside the library
 * an error is a negative errno value; errno belongs to the program and changes
 * only when a call of its fails.
 */
#ifndef RESULT_H
#define RESULT_H

#include <errno.h>

#include "layout/types.h"

/*
 * Functions that stand in front of the C library's. A program may call them as
 * wrongly as it likes: the system says so then, not we.
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
