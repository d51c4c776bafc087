// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Read, write, get, put and store of values and of bulk data.
 *
 * Operations on this processor's own memory are done here, all others by the mapping.
 */
#include <string.h>

#include "splitc_mapping.h"

static inline bool mine(splitc_gptr p)
{
	return splitc_gptr_proc(p) == splitc_my_proc;
}

static void bad_pointer(splitc_gptr p, const char *what, size_t n) __attribute__((noreturn, cold));

static void bad_pointer(splitc_gptr p, const char *what, size_t n)
{
	if (!sc.ready)
		sc_fail("splitc_init() has not been called");
	sc_fail("%s of %zu bytes at 0x%llx of processor %d, by processor %d: there is no such processor",
		what, n, (unsigned long long)splitc_gptr_address(p), splitc_gptr_proc(p),
		splitc_my_proc);
}

/* Checks that there is such a processor. */
static inline void check(splitc_gptr p, const char *what, size_t n)
{
	if (__builtin_expect(!sc.ready || splitc_gptr_proc(p) >= splitc_procs, 0))
		bad_pointer(p, what, n);
}

void splitc_bulk_get(void *to, splitc_gptr from, size_t n)
{
	check(from, "read", n);
	sc_enter();
	if (!n)
		return;
	if (mine(from))
		sc_copy_out(to, splitc_gptr_address(from), n, splitc_my_proc);
	else
		sc.mapping->get(to, from, n, &sc.outstanding);
}

void splitc_bulk_read(void *to, splitc_gptr from, size_t n)
{
	uint32_t pending = 0;

	check(from, "read", n);
	sc_enter();
	if (!n)
		return;
	if (mine(from)) {
		sc_copy_out(to, splitc_gptr_address(from), n, splitc_my_proc);
		return;
	}
	sc.mapping->get(to, from, n, &pending);
	sc.mapping->push(splitc_gptr_proc(from));
	sc_wait_until(!pending);
}

static void put(splitc_gptr to, const void *from, size_t n, bool keep)
{
	check(to, "write", n);
	sc_enter();
	if (!n)
		return;
	if (mine(to))
		sc_copy_in(splitc_gptr_address(to), from, n, splitc_my_proc, "write");
	else
		sc.mapping->put(to, from, n, keep, &sc.outstanding);
}

void splitc_bulk_put(splitc_gptr to, const void *from, size_t n)
{
	put(to, from, n, true);
}

void splitc_bulk_write(splitc_gptr to, const void *from, size_t n)
{
	uint32_t pending = 0;

	check(to, "write", n);
	sc_enter();
	if (!n)
		return;
	if (mine(to)) {
		sc_copy_in(splitc_gptr_address(to), from, n, splitc_my_proc, "write");
		return;
	}
	sc.mapping->put(to, from, n, true, &pending);
	sc.mapping->push(splitc_gptr_proc(to));
	sc_wait_until(!pending);
}

void splitc_bulk_store(splitc_gptr to, const void *from, size_t n)
{
	check(to, "store", n);
	sc_enter_store();
	if (!n)
		return;
	if (!mine(to)) {
		sc.mapping->store(to, from, n);
		return;
	}
	sc_copy_in(splitc_gptr_address(to), from, n, splitc_my_proc, "store");
	sc.stored[sc.epoch & 1] += n;
}

#define VALUES(name, type)                                                                         \
	type splitc_read_##name(splitc_gptr from)                                                  \
	{                                                                                          \
		type value;                                                                        \
                                                                                                   \
		splitc_bulk_read(&value, from, sizeof(value));                                     \
		return value;                                                                      \
	}                                                                                          \
	void splitc_write_##name(splitc_gptr to, type value)                                       \
	{                                                                                          \
		splitc_bulk_write(to, &value, sizeof(value));                                      \
	}                                                                                          \
	void splitc_get_##name(type *to, splitc_gptr from)                                         \
	{                                                                                          \
		splitc_bulk_get(to, from, sizeof(*to));                                            \
	}                                                                                          \
	void splitc_put_##name(splitc_gptr to, type value)                                         \
	{                                                                                          \
		put(to, &value, sizeof(value), false);                                             \
	}                                                                                          \
	void splitc_store_##name(splitc_gptr to, type value)                                       \
	{                                                                                          \
		splitc_bulk_store(to, &value, sizeof(value));                                      \
	}

VALUES(char, char)
VALUES(short, short)
VALUES(int, int)
VALUES(long, long)
VALUES(float, float)
VALUES(double, double)
