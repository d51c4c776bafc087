/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Generic forms of the calls of splitc.h: macros that select the function by the pointer's
 * type.
 *
 * splitc.h includes this file.
 */
#ifndef SPLITC_FORMS_H
#define SPLITC_FORMS_H

#include "splitc.h"

#ifndef __cplusplus

/*
 * Objects of 1, 2, 4 or 8 bytes are transferred as integers, whatever their type; others,
 * such as structs, in bulk. @n is a constant at each call.
 */
static inline __attribute__((always_inline)) void splitc_read_n(void *to, splitc_gptr from,
								size_t n)
{
	switch (n) {
	case sizeof(char):
		*(char *)to = splitc_read_char(from);
		break;
	case sizeof(short): {
		short value = splitc_read_short(from);

		__builtin_memcpy(to, &value, sizeof(value));
		break;
	}
	case sizeof(int): {
		int value = splitc_read_int(from);

		__builtin_memcpy(to, &value, sizeof(value));
		break;
	}
	case sizeof(long): {
		long value = splitc_read_long(from);

		__builtin_memcpy(to, &value, sizeof(value));
		break;
	}
	default:
		splitc_bulk_read(to, from, n);
	}
}

static inline __attribute__((always_inline)) void splitc_get_n(void *to, splitc_gptr from, size_t n)
{
	switch (n) {
	case sizeof(char):
		splitc_get_char((char *)to, from);
		break;
	case sizeof(short):
		splitc_get_short((short *)to, from);
		break;
	case sizeof(int):
		splitc_get_int((int *)to, from);
		break;
	case sizeof(long):
		splitc_get_long((long *)to, from);
		break;
	default:
		splitc_bulk_get(to, from, n);
	}
}

#define SPLITC_SEND_N(name, bulk)                                                                  \
	static inline __attribute__((always_inline)) void splitc_##name##_n(                       \
		splitc_gptr to, const void *from, size_t n)                                        \
	{                                                                                          \
		union {                                                                            \
			char c;                                                                    \
			short s;                                                                   \
			int i;                                                                     \
			long l;                                                                    \
		} value;                                                                           \
                                                                                                   \
		switch (n) {                                                                       \
		case sizeof(char):                                                                 \
			__builtin_memcpy(&value.c, from, sizeof(value.c));                         \
			splitc_##name##_char(to, value.c);                                         \
			break;                                                                     \
		case sizeof(short):                                                                \
			__builtin_memcpy(&value.s, from, sizeof(value.s));                         \
			splitc_##name##_short(to, value.s);                                        \
			break;                                                                     \
		case sizeof(int):                                                                  \
			__builtin_memcpy(&value.i, from, sizeof(value.i));                         \
			splitc_##name##_int(to, value.i);                                          \
			break;                                                                     \
		case sizeof(long):                                                                 \
			__builtin_memcpy(&value.l, from, sizeof(value.l));                         \
			splitc_##name##_long(to, value.l);                                         \
			break;                                                                     \
		default:                                                                           \
			bulk;                                                                      \
		}                                                                                  \
	}

SPLITC_SEND_N(write, splitc_bulk_write(to, from, n))
SPLITC_SEND_N(store, splitc_bulk_store(to, from, n))
/* @value of put is a temporary: in bulk, wait until the write is complete. */
SPLITC_SEND_N(put, splitc_bulk_write(to, from, n))
#undef SPLITC_SEND_N

/* A unique variable name, so that uses of a macro can be nested in its own arguments. */
#define SPLITC_NAME2(counter) splitc_value_##counter
#define SPLITC_NAME(counter) SPLITC_NAME2(counter)

/*
 * ---- generic forms ----
 *
 * @p is a global or spread pointer to any type but an array, @value can be assigned to that
 * type, and @to is a local pointer.
 */
#define SPLITC_READ(p, v)                                                                          \
	__extension__({                                                                            \
		SPLITC_ELEMENT(p) v;                                                               \
		splitc_read_n((void *)(uintptr_t)&v, SPLITC_BITS(p), sizeof(v));                   \
		v;                                                                                 \
	})
#define splitc_read(p) SPLITC_READ(p, SPLITC_NAME(__COUNTER__))

#define SPLITC_SEND(name, p, value, v)                                                             \
	__extension__({                                                                            \
		SPLITC_ELEMENT(p) v = (value);                                                     \
		splitc_##name##_n(SPLITC_BITS(p), &v, sizeof(v));                                  \
	})
#define splitc_write(p, value) SPLITC_SEND(write, p, value, SPLITC_NAME(__COUNTER__))
#define splitc_put(p, value) SPLITC_SEND(put, p, value, SPLITC_NAME(__COUNTER__))
#define splitc_store(p, value) SPLITC_SEND(store, p, value, SPLITC_NAME(__COUNTER__))

#define SPLITC_GET(to, p, v)                                                                       \
	__extension__({                                                                            \
		SPLITC_ELEMENT(p) *v = (to);                                                       \
		splitc_get_n(v, SPLITC_BITS(p), sizeof(*v));                                       \
	})
#define splitc_get(to, p) SPLITC_GET(to, p, SPLITC_NAME(__COUNTER__))

/* Bulk transfers of @n elements of the type to which @p points. */
#define splitc_read_bulk(to, p, n)                                                                 \
	splitc_bulk_read((to), SPLITC_BITS(p), (n) * sizeof(SPLITC_ELEMENT(p)))
#define splitc_get_bulk(to, p, n)                                                                  \
	splitc_bulk_get((to), SPLITC_BITS(p), (n) * sizeof(SPLITC_ELEMENT(p)))
#define splitc_write_bulk(p, from, n)                                                              \
	splitc_bulk_write(SPLITC_BITS(p), (from), (n) * sizeof(SPLITC_ELEMENT(p)))
#define splitc_put_bulk(p, from, n)                                                                \
	splitc_bulk_put(SPLITC_BITS(p), (from), (n) * sizeof(SPLITC_ELEMENT(p)))
#define splitc_store_bulk(p, from, n)                                                              \
	splitc_bulk_store(SPLITC_BITS(p), (from), (n) * sizeof(SPLITC_ELEMENT(p)))

/* Atomic operations on an int, a long, or an unsigned one of these. */
#define SPLITC_ATOMIC(name, p)                                                                     \
	_Generic((SPLITC_ELEMENT(p) *)0,                                                           \
		int *: splitc_##name##_int,                                                        \
		unsigned int *: splitc_##name##_int,                                               \
		long *: splitc_##name##_long,                                                      \
		unsigned long *: splitc_##name##_long)
#define splitc_fetch_and_add(p, value)                                                             \
	((SPLITC_ELEMENT(p))SPLITC_ATOMIC(fetch_and_add, p)(SPLITC_BITS(p), (value)))
#define splitc_exchange(p, value)                                                                  \
	((SPLITC_ELEMENT(p))SPLITC_ATOMIC(exchange, p)(SPLITC_BITS(p), (value)))
#define splitc_cmp_and_swap(p, expected, value)                                                    \
	((SPLITC_ELEMENT(p))SPLITC_ATOMIC(cmp_and_swap, p)(SPLITC_BITS(p), (expected), (value)))
#define splitc_fetch_and_and(p, value)                                                             \
	((SPLITC_ELEMENT(p))SPLITC_ATOMIC(fetch_and_and, p)(SPLITC_BITS(p), (value)))
#define splitc_fetch_and_or(p, value)                                                              \
	((SPLITC_ELEMENT(p))SPLITC_ATOMIC(fetch_and_or, p)(SPLITC_BITS(p), (value)))
#define splitc_fetch_and_xor(p, value)                                                             \
	((SPLITC_ELEMENT(p))SPLITC_ATOMIC(fetch_and_xor, p)(SPLITC_BITS(p), (value)))
/*
 * Sets it to 1 and returns the previous value. A lock is acquired if 0 is returned, and
 * released by a write of 0.
 */
#define splitc_test_and_set(p) splitc_exchange(p, 1)

/* The enum splitc_type of @x, or of the elements of array @x. */
#define SPLITC_TYPE(x)                                                                             \
	_Generic((x), int                                                                          \
		 : SPLITC_INT, unsigned int                                                        \
		 : SPLITC_UINT, long                                                               \
		 : SPLITC_LONG, unsigned long                                                      \
		 : SPLITC_ULONG, float                                                             \
		 : SPLITC_FLOAT, double                                                            \
		 : SPLITC_DOUBLE)

/*
 * A collective operation on one value. splitc_all_reduce_to_one_*(): the result is valid on
 * processor 0 only.
 */
#define SPLITC_COMBINE(how, op, x, v)                                                              \
	__extension__({                                                                            \
		__typeof__(x) v = (x);                                                             \
		splitc_all_##how(SPLITC_TYPE(v), op, &v, 1);                                       \
		v;                                                                                 \
	})
#define SPLITC_ALL(how, op, x) SPLITC_COMBINE(how, op, x, SPLITC_NAME(__COUNTER__))
#define splitc_all_reduce_to_one_add(x) SPLITC_ALL(reduce_to_one, SPLITC_ADD, x)
#define splitc_all_reduce_to_one_mul(x) SPLITC_ALL(reduce_to_one, SPLITC_MUL, x)
#define splitc_all_reduce_to_one_min(x) SPLITC_ALL(reduce_to_one, SPLITC_MIN, x)
#define splitc_all_reduce_to_one_max(x) SPLITC_ALL(reduce_to_one, SPLITC_MAX, x)
#define splitc_all_reduce_to_one_and(x) SPLITC_ALL(reduce_to_one, SPLITC_AND, x)
#define splitc_all_reduce_to_one_or(x) SPLITC_ALL(reduce_to_one, SPLITC_OR, x)
#define splitc_all_reduce_to_one_xor(x) SPLITC_ALL(reduce_to_one, SPLITC_XOR, x)
#define splitc_all_reduce_to_all_add(x) SPLITC_ALL(reduce_to_all, SPLITC_ADD, x)
#define splitc_all_reduce_to_all_mul(x) SPLITC_ALL(reduce_to_all, SPLITC_MUL, x)
#define splitc_all_reduce_to_all_min(x) SPLITC_ALL(reduce_to_all, SPLITC_MIN, x)
#define splitc_all_reduce_to_all_max(x) SPLITC_ALL(reduce_to_all, SPLITC_MAX, x)
#define splitc_all_reduce_to_all_and(x) SPLITC_ALL(reduce_to_all, SPLITC_AND, x)
#define splitc_all_reduce_to_all_or(x) SPLITC_ALL(reduce_to_all, SPLITC_OR, x)
#define splitc_all_reduce_to_all_xor(x) SPLITC_ALL(reduce_to_all, SPLITC_XOR, x)
#define splitc_all_scan_add(x) SPLITC_ALL(scan, SPLITC_ADD, x)
#define splitc_all_scan_mul(x) SPLITC_ALL(scan, SPLITC_MUL, x)
#define splitc_all_scan_min(x) SPLITC_ALL(scan, SPLITC_MIN, x)
#define splitc_all_scan_max(x) SPLITC_ALL(scan, SPLITC_MAX, x)
#define splitc_all_scan_and(x) SPLITC_ALL(scan, SPLITC_AND, x)
#define splitc_all_scan_or(x) SPLITC_ALL(scan, SPLITC_OR, x)
#define splitc_all_scan_xor(x) SPLITC_ALL(scan, SPLITC_XOR, x)

/* The value of processor 0, of any type. */
#define SPLITC_BCAST(x, v)                                                                         \
	__extension__({                                                                            \
		__typeof__(x) v = (x);                                                             \
		splitc_all_bcast_bulk(0, &v, sizeof(v));                                           \
		v;                                                                                 \
	})
#define splitc_all_bcast(x) SPLITC_BCAST(x, SPLITC_NAME(__COUNTER__))

/* ---- control ---- */

/* The following statement runs on processor 0, or on @proc, only. */
#define splitc_on_one if (splitc_my_proc == 0)
#define splitc_on_proc(proc) if (splitc_my_proc == (proc))

/* Loops over the elements of a spread array [n], or [n][m], that are on this processor. */
#define splitc_for_my_1d(i, n) for (long i = splitc_my_proc; i < (long)(n); i += splitc_procs)
#define splitc_for_my_2d(i, j, n, m)                                                               \
	for (long i = splitc_my_proc / (long)(m), j = splitc_my_proc % (long)(m); i < (long)(n);   \
	     j += splitc_procs, i += j / (long)(m), j %= (long)(m))

#endif
#endif
