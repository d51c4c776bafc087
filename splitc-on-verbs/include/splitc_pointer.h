/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Global and spread pointers of Split-C: 64 bits, of which 16 are the processor, and
 * 48 the address there. Null is 0.
 *
 * Their types must be none that C lets one look through: what is there is elsewhere.
 * So a global pointer to T is to C a pointer to a function that is never called. *p
 * is no value then, p + 1 no pointer, and a T * neither becomes one nor comes of one
 * by itself. But == and != compare, !p asks for null, p = 0 sets it to null, and typeof
 * finds T. Those of another T are other types; splitc_cast() converts.
 *
 * Included by splitc.h.
 */
#ifndef SPLITC_POINTER_H
#define SPLITC_POINTER_H

#include <stddef.h>
#include <stdint.h>

/* What functions take: a global or a spread pointer to anything. */
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
/* Which processor this is, and how many there are: MYPROC and PROCS. */
extern int splitc_my_proc, splitc_procs;
#ifdef __cplusplus
}
#endif

/*
 * The element @n further of a spread array whose elements have @size bytes: elements
 * follow each other from processor to processor, and after the last processor at the
 * first one's next place. @n may be negative.
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

/* How many elements @p is further than @q of the same array. */
static inline ptrdiff_t splitc_spread_distance(splitc_gptr p, splitc_gptr q, size_t size)
{
	int64_t bytes = (int64_t)(splitc_gptr_address(p) - splitc_gptr_address(q));

	return (ptrdiff_t)(bytes / (int64_t)size) * splitc_procs + splitc_gptr_proc(p) -
	       splitc_gptr_proc(q);
}

/*
 * Negative, 0 or positive: the order of a spread array, and, of one processor's
 * pointers, that of addresses.
 */
static inline int splitc_gptr_compare(splitc_gptr p, splitc_gptr q)
{
	if (splitc_gptr_address(p) != splitc_gptr_address(q))
		return splitc_gptr_address(p) < splitc_gptr_address(q) ? -1 : 1;
	return splitc_gptr_proc(p) - splitc_gptr_proc(q);
}

/* How many of the @n first elements of a spread array this processor has. */
static inline size_t splitc_my_elements(size_t n)
{
	size_t procs = (size_t)splitc_procs, me = (size_t)splitc_my_proc;

	return n / procs + (me < n % procs);
}

#ifndef __cplusplus

struct splitc_is_global;
struct splitc_is_spread;
struct splitc_is_pointer; /* either */

/*
 * The types. In Split-C: T *global p, T *spread p. T may be a type of array, too:
 * splitc_spread(double[16]) is one to blocks of 16.
 */
#define splitc_global(T) __typeof__(__typeof__(T) *(*)(struct splitc_is_global *))
#define splitc_spread(T) __typeof__(__typeof__(T) *(*)(struct splitc_is_spread *))

/* What @p, of either kind, points to: a type. */
#define SPLITC_ELEMENT(p) __typeof__(*(p)((void *)0))

#define SPLITC_BITS(p) ((splitc_gptr)(uintptr_t)(p))

/* A global pointer to @local at @proc, its processor, its address there. */
#define splitc_toglobal(proc, local)                                                               \
	((splitc_global(__typeof__(*(local))))(uintptr_t)splitc_global_of((proc), (local)))
#define splitc_toproc(p) splitc_gptr_proc(SPLITC_BITS(p))
#define splitc_tolocal(p) ((SPLITC_ELEMENT(p) *)(uintptr_t)splitc_gptr_address(SPLITC_BITS(p)))

/* Global pointers: the processor stays. splitc_diff() is for two of the same processor. */
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
/* A global pointer to a T, of the same bits as @p, which is any pointer of these kinds. */
#define splitc_cast(T, p) ((splitc_global(T))(uintptr_t)SPLITC_BITS(p))

/* Spread pointers. */
#define splitc_spread_add(p, n)                                                                    \
	((__typeof__(p))(uintptr_t)splitc_spread_step(SPLITC_BITS(p), (ptrdiff_t)(n),              \
						      sizeof(SPLITC_ELEMENT(p))))
#define splitc_spread_diff(p, q)                                                                   \
	splitc_spread_distance(SPLITC_BITS(p), SPLITC_BITS(q), sizeof(SPLITC_ELEMENT(p)))
/* Element @i of the array that begins at @p, as a global pointer. */
#define splitc_spread_global(p, i)                                                                 \
	((splitc_global(SPLITC_ELEMENT(p)))(uintptr_t)splitc_spread_step(                          \
		SPLITC_BITS(p), (ptrdiff_t)(i), sizeof(SPLITC_ELEMENT(p))))
/* The address of the array's first element at this processor. @p is that of element 0. */
#define splitc_spread_mine(p) splitc_tolocal(p)
/* A spread pointer to T of the bits of @p. */
#define splitc_spread_cast(T, p) ((splitc_spread(T))(uintptr_t)SPLITC_BITS(p))
/* Of all processors together: @count elements of type T. splitc_spread_free() frees them. */
#define splitc_spread_malloc(T, count)                                                             \
	((splitc_spread(T))(uintptr_t)splitc_all_spread_malloc((count), sizeof(T)))
#define splitc_spread_free(p) splitc_all_spread_free(SPLITC_BITS(p))

#define splitc_compare(p, q) splitc_gptr_compare(SPLITC_BITS(p), SPLITC_BITS(q))

#endif
#endif
