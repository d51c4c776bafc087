/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Global and spread pointers: 64 bits, of which 16 are the processor and 48 the address
 * there.
 *
 * The null pointer is 0.
 *
 * C must not allow a program to dereference these types, because the memory may be on
 * another processor. So a global pointer to T is, to C, a pointer to a function that is
 * never called. Then *p is not a value, p + 1 not a pointer, and there is no implicit
 * conversion to or from T *. But == and != compare, !p tests for null, p = 0 sets it to
 * null, and typeof finds T. Pointers to different T are different types; splitc_cast()
 * converts.
 *
 * splitc.h includes this file.
 */
#ifndef SPLITC_POINTER_H
#define SPLITC_POINTER_H

#include <stddef.h>
#include <stdint.h>

/* The parameter type of functions: a global or spread pointer to any type. */
typedef uint64_t splitc_gptr;

#define SPLITC_ADDRESS_BITS 48
#define SPLITC_MAX_PROCS 65536

static inline splitc_gptr splitc_gptr_make(int proc, uint64_t address)
{
	return (uint64_t)(unsigned int)proc << SPLITC_ADDRESS_BITS | address;
}

static inline int splitc_gptr_proc(splitc_gptr p)
{
	return (int)(p >> SPLITC_ADDRESS_BITS);
}

static inline uint64_t splitc_gptr_address(splitc_gptr p)
{
	return p & (((uint64_t)1 << SPLITC_ADDRESS_BITS) - 1);
}

#ifdef __cplusplus
extern "C" {
#endif
/* The variables behind MYPROC and PROCS. */
extern int splitc_my_proc, splitc_procs;
#ifdef __cplusplus
}
#endif

/*
 * The element @n positions further in a spread array of elements of @size bytes.
 * Consecutive elements are on consecutive processors; after the last processor follows the
 * next row on the first one. @n may be negative.
 */
static inline splitc_gptr splitc_spread_step(splitc_gptr p, ptrdiff_t n, size_t size)
{
	ptrdiff_t procs = splitc_procs, proc = splitc_gptr_proc(p) + n, rows = proc / procs;

	proc %= procs;
	if (proc < 0) {
		proc += procs;
		rows--;
	}
	return splitc_gptr_make((int)proc, splitc_gptr_address(p) + (uint64_t)rows * size);
}

/* The number of elements from @q to @p in the same array. */
static inline ptrdiff_t splitc_spread_distance(splitc_gptr p, splitc_gptr q, size_t size)
{
	int64_t bytes = (int64_t)(splitc_gptr_address(p) - splitc_gptr_address(q));

	return (ptrdiff_t)(bytes / (int64_t)size) * splitc_procs + splitc_gptr_proc(p) -
	       splitc_gptr_proc(q);
}

/*
 * Negative, 0 or positive. The order is that of elements of a spread array, and, for
 * pointers to the same processor, that of addresses.
 */
static inline int splitc_gptr_compare(splitc_gptr p, splitc_gptr q)
{
	if (splitc_gptr_address(p) != splitc_gptr_address(q))
		return splitc_gptr_address(p) < splitc_gptr_address(q) ? -1 : 1;
	return splitc_gptr_proc(p) - splitc_gptr_proc(q);
}

/* The number of elements on this processor, of the first @n elements of a spread array. */
static inline size_t splitc_my_elements(size_t n)
{
	size_t procs = (size_t)splitc_procs, me = (size_t)splitc_my_proc;

	return n / procs + (me < n % procs);
}

#ifndef __cplusplus

struct splitc_is_global;
struct splitc_is_spread;
struct splitc_is_pointer; /* either of these */

/*
 * Pointer types. In Split-C: T *global p, T *spread p. T may be an array type:
 * splitc_spread(double[16]) points to blocks of 16.
 */
#define splitc_global(T) __typeof__(__typeof__(T) *(*)(struct splitc_is_global *))
#define splitc_spread(T) __typeof__(__typeof__(T) *(*)(struct splitc_is_spread *))

/* The type to which @p, of either kind, points. */
#define SPLITC_ELEMENT(p) __typeof__(*(p)((void *)0))

#define SPLITC_BITS(p) ((splitc_gptr)(uintptr_t)(p))

/* A global pointer to @local at @proc; the processor of a pointer; its local address. */
#define splitc_toglobal(proc, local)                                                               \
	((splitc_global(__typeof__(*(local))))(uintptr_t)splitc_global_of((proc), (local)))
#define splitc_toproc(p) splitc_gptr_proc(SPLITC_BITS(p))
#define splitc_tolocal(p) ((SPLITC_ELEMENT(p) *)(uintptr_t)splitc_gptr_address(SPLITC_BITS(p)))

/*
 * Arithmetic on global pointers: the processor stays the same, in splitc_diff() for both
 * pointers.
 */
#define splitc_add(p, n)                                                                           \
	((__typeof__(p))(uintptr_t)(SPLITC_BITS(p) +                                               \
				    (uint64_t)((ptrdiff_t)(n) *                                    \
					       (ptrdiff_t)sizeof(SPLITC_ELEMENT(p)))))
#define splitc_diff(p, q)                                                                          \
	((ptrdiff_t)(SPLITC_BITS(p) - SPLITC_BITS(q)) / (ptrdiff_t)sizeof(SPLITC_ELEMENT(p)))
/* A global pointer to a member of the struct that @p points to. */
#define splitc_member(p, member)                                                                   \
	((splitc_global(__typeof__(((SPLITC_ELEMENT(p) *)0)->member)))(                            \
		uintptr_t)(SPLITC_BITS(p) + offsetof(SPLITC_ELEMENT(p), member)))
/* A global pointer to element @i of the array that @p points to. */
#define splitc_index(p, i)                                                                         \
	((splitc_global(__typeof__((*(SPLITC_ELEMENT(p) *)0)[0])))(                                \
		uintptr_t)(SPLITC_BITS(p) +                                                        \
			   (uint64_t)((ptrdiff_t)(i) *                                             \
				      (ptrdiff_t)sizeof((*(SPLITC_ELEMENT(p) *)0)[0]))))
/* A global pointer to T with the bits of @p, which is a global or spread pointer. */
#define splitc_cast(T, p) ((splitc_global(T))(uintptr_t)SPLITC_BITS(p))

/* Arithmetic on spread pointers. */
#define splitc_spread_add(p, n)                                                                    \
	((__typeof__(p))(uintptr_t)splitc_spread_step(SPLITC_BITS(p), (ptrdiff_t)(n),              \
						      sizeof(SPLITC_ELEMENT(p))))
#define splitc_spread_diff(p, q)                                                                   \
	splitc_spread_distance(SPLITC_BITS(p), SPLITC_BITS(q), sizeof(SPLITC_ELEMENT(p)))
/* A global pointer to element @i of the spread array that begins at @p. */
#define splitc_spread_global(p, i)                                                                 \
	((splitc_global(SPLITC_ELEMENT(p)))(uintptr_t)splitc_spread_step(                          \
		SPLITC_BITS(p), (ptrdiff_t)(i), sizeof(SPLITC_ELEMENT(p))))
/* The local address of this processor's first element of the array. @p points to element 0. */
#define splitc_spread_mine(p) splitc_tolocal(p)
/* A spread pointer to T with the bits of @p. */
#define splitc_spread_cast(T, p) ((splitc_spread(T))(uintptr_t)SPLITC_BITS(p))
/*
 * A collective operation: allocates @count elements of type T, to be freed by
 * splitc_spread_free().
 */
#define splitc_spread_malloc(T, count)                                                             \
	((splitc_spread(T))(uintptr_t)splitc_all_spread_malloc((count), sizeof(T)))
#define splitc_spread_free(p) splitc_all_spread_free(SPLITC_BITS(p))

#define splitc_compare(p, q) splitc_gptr_compare(SPLITC_BITS(p), SPLITC_BITS(q))

#endif
#endif
