/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * A library that, like an allocator, holds its lock while it unmaps memory, and takes the lock for
 * a fork. Its constructor runs before those of libraries that it does not need.
 */
#ifndef ALLOCATOR_H
#define ALLOCATOR_H

#include <stddef.h>

void allocator_unmap(void *memory, size_t length);

#endif /* ALLOCATOR_H */
