/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Split-C: one program on many processors (processes), each of which can read and
 * write the memory of all by global pointers. splitc(7) tells of all, and
 * doc/splitc.md which construct of the language is which call.
 *
 *	splitc_init();
 *	splitc_global(int) p = splitc_toglobal((MYPROC + 1) % PROCS, &x);
 *	int y = splitc_read(p);		waits for the value
 *	splitc_get(&y, p);		does not: y is there after splitc_sync()
 *	splitc_put(p, 7);		likewise: p's int is 7 after splitc_sync()
 *	splitc_store(p, 7);		only p's processor learns of it: splitc_store_sync(4)
 *	splitc_exit(0);
 *
 * A compiler calls the functions that stand here. For people there are macros that
 * find the function by the type of the pointer (splitc_forms.h), and those that make and
 * move pointers (splitc_pointer.h). In C++ there are the functions alone.
 *
 * No function returns an error: what cannot be done (memory that is not there, a
 * processor that has died) ends all processes, with one message. One thread of a
 * process uses the library.
 */
#ifndef SPLITC_H
#define SPLITC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "splitc_pointer.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- beginning and end ---- */

/*
 * Joins the job. First of all calls, and called once by each process. Settings are
 * taken from SPLITC_SETTINGS (splitc(7)).
 */
void splitc_init(void);

/* Which processor this is, 0 to PROCS - 1, and how many there are. Before splitc_init(): 0 and 1. */
#define MYPROC splitc_my_proc
#define PROCS splitc_procs

/*
 * Ends this process with @status. 0: all others must do the same, and all wait for
 * the last one; otherwise all are ended at once.
 */
void splitc_exit(int status) __attribute__((noreturn));

/* Ends all processes, with status 1 and one line: "processor N: " and what @format makes. */
void splitc_error(const char *format, ...) __attribute__((noreturn, format(printf, 1, 2)));

/* The mapping in use: "messages" or "direct". */
const char *splitc_mapping_name(void);

/*
 * Does what others ask for, and returns. All calls that wait do so, too; a long
 * computation should call it now and then, for others' sake, and at once after stores that
 * others wait for.
 */
void splitc_poll(void);

/* ---- one value: read and write wait, get and put do not, store tells its target ---- */

char splitc_read_char(splitc_gptr from);
short splitc_read_short(splitc_gptr from);
int splitc_read_int(splitc_gptr from);
long splitc_read_long(splitc_gptr from);
float splitc_read_float(splitc_gptr from);
double splitc_read_double(splitc_gptr from);

/* Returns when @value is in the memory of @to's processor. */
void splitc_write_char(splitc_gptr to, char value);
void splitc_write_short(splitc_gptr to, short value);
void splitc_write_int(splitc_gptr to, int value);
void splitc_write_long(splitc_gptr to, long value);
void splitc_write_float(splitc_gptr to, float value);
void splitc_write_double(splitc_gptr to, double value);

/* @to is not to be touched until splitc_sync(). */
void splitc_get_char(char *to, splitc_gptr from);
void splitc_get_short(short *to, splitc_gptr from);
void splitc_get_int(int *to, splitc_gptr from);
void splitc_get_long(long *to, splitc_gptr from);
void splitc_get_float(float *to, splitc_gptr from);
void splitc_get_double(double *to, splitc_gptr from);

void splitc_put_char(splitc_gptr to, char value);
void splitc_put_short(splitc_gptr to, short value);
void splitc_put_int(splitc_gptr to, int value);
void splitc_put_long(splitc_gptr to, long value);
void splitc_put_float(splitc_gptr to, float value);
void splitc_put_double(splitc_gptr to, double value);

/*
 * A small one may be held back, to share a message with others. It leaves at the latest
 * at the beginning of this processor's next call that reads, gets, writes, puts, waits or
 * polls, atomic operations and procedures included: all but stores.
 */
void splitc_store_char(splitc_gptr to, char value);
void splitc_store_short(splitc_gptr to, short value);
void splitc_store_int(splitc_gptr to, int value);
void splitc_store_long(splitc_gptr to, long value);
void splitc_store_float(splitc_gptr to, float value);
void splitc_store_double(splitc_gptr to, double value);

/* ---- any number of bytes, at any addresses ---- */

void splitc_bulk_read(void *to, splitc_gptr from, size_t n);
void splitc_bulk_write(splitc_gptr to, const void *from, size_t n);
/* Neither @to nor @from is to be touched until splitc_sync(). */
void splitc_bulk_get(void *to, splitc_gptr from, size_t n);
void splitc_bulk_put(splitc_gptr to, const void *from, size_t n);
/* @from may be used again when it returns. */
void splitc_bulk_store(splitc_gptr to, const void *from, size_t n);

/* ---- when they are complete ---- */

/* Returns when all gets and puts of this processor are complete. */
void splitc_sync(void);
/* Whether they are. */
bool splitc_is_sync(void);

/*
 * Returns when @n bytes have been stored into this processor's memory, beyond those
 * that earlier calls have waited for.
 */
void splitc_store_sync(size_t n);
/*
 * All processors call it; returns when all that any has stored before is in its
 * place. Bytes that nobody has waited for are forgotten.
 */
void splitc_all_store_sync(void);

/* All processors call it; returns when all have. Completes no get, put or store. */
void splitc_barrier(void);

/* ---- memory ---- */

/*
 * A global pointer to @local of processor @proc. Addresses of the program's own static
 * data and functions are translated if they differ between processors; all others are
 * taken as they are at @proc. NULL: the null pointer.
 */
splitc_gptr splitc_global_of(int proc, const void *local);

/*
 * All processors call it, with the same arguments: @count elements of @size bytes,
 * element i at processor i % PROCS, at the same addresses everywhere; element 0 is at
 * processor 0. All bytes are zero. Ends the program if there is no memory.
 */
splitc_gptr splitc_all_spread_malloc(size_t count, size_t size);
/* All processors call it; waits for all. Null is nothing to free. */
void splitc_all_spread_free(splitc_gptr spread);

/* ---- atomic operations; ints and longs, aligned; they return what was there before ---- */

int splitc_fetch_and_add_int(splitc_gptr at, int value);
long splitc_fetch_and_add_long(splitc_gptr at, long value);
int splitc_exchange_int(splitc_gptr at, int value);
long splitc_exchange_long(splitc_gptr at, long value);
/* @value is put there if @expected was there. */
int splitc_cmp_and_swap_int(splitc_gptr at, int expected, int value);
long splitc_cmp_and_swap_long(splitc_gptr at, long expected, long value);
int splitc_fetch_and_and_int(splitc_gptr at, int value);
long splitc_fetch_and_and_long(splitc_gptr at, long value);
int splitc_fetch_and_or_int(splitc_gptr at, int value);
long splitc_fetch_and_or_long(splitc_gptr at, long value);
int splitc_fetch_and_xor_int(splitc_gptr at, int value);
long splitc_fetch_and_xor_long(splitc_gptr at, long value);

/* ---- procedures that run elsewhere ---- */

/*
 * Such a procedure runs at the processor it is sent to, when that is in a call that
 * waits or polls; nothing else of the library happens there meanwhile. It may not call
 * the library, MYPROC and splitc_error() excepted. It is one of the program's own
 * functions, not of a shared object.
 */

/* @local: the address that was given as @at. */
typedef long (*splitc_atomic_fn)(void *local, long a, long b);
/* Returns what @function returned. */
long splitc_atomic(splitc_atomic_fn function, splitc_gptr at, long a, long b);
/* Does not wait: it has run after splitc_sync(). */
void splitc_atomic_put(splitc_atomic_fn function, splitc_gptr at, long a, long b);

#define SPLITC_RPC_MAX 4096 /* bytes of arguments, and of results */
/* @result has room for @result_size bytes, which are zero. @from: the caller. */
typedef void (*splitc_rpc_fn)(int from, const void *args, size_t args_size, void *result,
			      size_t result_size);
void splitc_rpc(int proc, splitc_rpc_fn function, const void *args, size_t args_size, void *result,
		size_t result_size);

/* ---- all processors together: each call is made by all, in the same order ---- */

enum splitc_type {
	SPLITC_INT,
	SPLITC_UINT,
	SPLITC_LONG,
	SPLITC_ULONG,
	SPLITC_FLOAT,
	SPLITC_DOUBLE,
	SPLITC_NUM_TYPES
};

/* The last three are for integers. */
enum splitc_op {
	SPLITC_ADD,
	SPLITC_MUL,
	SPLITC_MIN,
	SPLITC_MAX,
	SPLITC_AND,
	SPLITC_OR,
	SPLITC_XOR,
	SPLITC_NUM_OPS
};

/*
 * Everybody's @count values at @values are combined, place by place. The result
 * replaces those of processor 0, of all, or, by the scan, those of each processor by
 * the result of its own and all lower ones'. The order of combination is the same in
 * each run with as many processors.
 */
void splitc_all_reduce_to_one(enum splitc_type type, enum splitc_op op, void *values, size_t count);
void splitc_all_reduce_to_all(enum splitc_type type, enum splitc_op op, void *values, size_t count);
void splitc_all_scan(enum splitc_type type, enum splitc_op op, void *values, size_t count);

/* The @n bytes at @values of processor @root replace those of all others. */
void splitc_all_bcast_bulk(int root, void *values, size_t n);
/* Everybody's @n bytes at @mine, in the order of the processors, at @all. */
void splitc_all_gather(const void *mine, void *all, size_t n);

/* ---- clocks ---- */

double splitc_get_seconds(void);
/* ns */
uint64_t splitc_get_ticks(void);

#ifdef __cplusplus
}
#else
#include "splitc_forms.h"
#endif

#endif
