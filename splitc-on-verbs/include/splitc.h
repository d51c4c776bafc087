/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Split-C: one program on many processors (processes) with a global address space.
 *
 * Each processor can read and write the memory of all processors by global pointers.
 * splitc(7) is the manual; doc/splitc.md lists which construct of the language is which
 * call.
 *
 *	splitc_init();
 *	splitc_global(int) p = splitc_toglobal((MYPROC + 1) % PROCS, &x);
 *	int y = splitc_read(p);		waits for the value
 *	splitc_get(&y, p);		does not wait: y is valid after splitc_sync()
 *	splitc_put(p, 7);		likewise: p's int is 7 after splitc_sync()
 *	splitc_store(p, 7);		completion is known at p's processor: splitc_store_sync(4)
 *	splitc_exit(0);
 *
 * A compiler calls the functions below. For programmers there are macros that select the
 * function by the type of the pointer (splitc_forms.h), and macros that make and move
 * pointers (splitc_pointer.h). C++ programs can use the functions only.
 *
 * No function returns an error. An operation that cannot be done (there is no such memory,
 * a processor has died) ends all processes, with one message. Only one thread of a process
 * may use the library.
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

/* ---- start and exit ---- */

/*
 * Joins the job. Each process calls it once, before all other functions. Reads its settings
 * from SPLITC_SETTINGS (splitc(7)).
 */
void splitc_init(void);

/*
 * Number of this processor, 0 to PROCS - 1, and number of processors. 0 and 1 before
 * splitc_init().
 */
#define MYPROC splitc_my_proc
#define PROCS splitc_procs

/*
 * Ends this process with @status. With 0, all other processes must do the same, and each
 * waits for the last one. Otherwise, all processes are ended at once.
 */
void splitc_exit(int status) __attribute__((noreturn));

/*
 * Ends all processes with status 1, and prints one line: "processor N: " and the text of
 * @format.
 */
void splitc_error(const char *format, ...) __attribute__((noreturn, format(printf, 1, 2)));

/* Name of the mapping in use: "messages" or "direct". */
const char *splitc_mapping_name(void);

/*
 * Serves requests of other processors, without waiting for any. All calls that wait also
 * serve requests. A program should call it during long computations, and right after stores
 * for which other processors wait.
 */
void splitc_poll(void);

/* ---- one value: read and write wait, get and put do not, store informs its target ---- */

char splitc_read_char(splitc_gptr from);
short splitc_read_short(splitc_gptr from);
int splitc_read_int(splitc_gptr from);
long splitc_read_long(splitc_gptr from);
float splitc_read_float(splitc_gptr from);
double splitc_read_double(splitc_gptr from);

/* Return when @value is in the memory of @to's processor. */
void splitc_write_char(splitc_gptr to, char value);
void splitc_write_short(splitc_gptr to, short value);
void splitc_write_int(splitc_gptr to, int value);
void splitc_write_long(splitc_gptr to, long value);
void splitc_write_float(splitc_gptr to, float value);
void splitc_write_double(splitc_gptr to, double value);

/* @to must not be accessed until splitc_sync(). */
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
 * A small store may be held back, to share a message with others. It is sent, at the
 * latest, at the beginning of this processor's next call that reads, gets, writes, puts,
 * waits or polls, including atomic operations and procedures: any call but a store.
 */
void splitc_store_char(splitc_gptr to, char value);
void splitc_store_short(splitc_gptr to, short value);
void splitc_store_int(splitc_gptr to, int value);
void splitc_store_long(splitc_gptr to, long value);
void splitc_store_float(splitc_gptr to, float value);
void splitc_store_double(splitc_gptr to, double value);

/* ---- any number of bytes, at any address ---- */

void splitc_bulk_read(void *to, splitc_gptr from, size_t n);
void splitc_bulk_write(splitc_gptr to, const void *from, size_t n);
/* Neither @to nor @from may be accessed until splitc_sync(). */
void splitc_bulk_get(void *to, splitc_gptr from, size_t n);
void splitc_bulk_put(splitc_gptr to, const void *from, size_t n);
/* @from may be reused when it returns. */
void splitc_bulk_store(splitc_gptr to, const void *from, size_t n);

/* ---- completion ---- */

/* Returns when all gets and puts of this processor are complete. */
void splitc_sync(void);
/* Returns whether all gets and puts of this processor are complete. */
bool splitc_is_sync(void);

/*
 * Returns when @n bytes have been stored into this processor's memory, in addition to those
 * that earlier calls have waited for.
 */
void splitc_store_sync(size_t n);
/*
 * A collective operation: returns when all stores of all processors before it are complete.
 * Stored bytes for which no splitc_store_sync() has waited are no longer counted.
 */
void splitc_all_store_sync(void);

/*
 * A collective operation: returns when all processors have called it. Completes no get, put
 * or store.
 */
void splitc_barrier(void);

/* ---- memory ---- */

/*
 * Makes a global pointer to @local of processor @proc. Addresses of the program's own
 * static data and functions are translated if they differ between processors; all other
 * addresses are used unchanged at @proc. NULL gives the null pointer.
 */
splitc_gptr splitc_global_of(int proc, const void *local);

/*
 * A collective operation, with the same arguments on all processors. Allocates @count
 * elements of @size bytes at the same addresses everywhere: element i is on processor i %
 * PROCS, and element 0 on processor 0. All bytes are zero. Ends the program if there is no
 * memory.
 */
splitc_gptr splitc_all_spread_malloc(size_t count, size_t size);
/* A collective operation: waits for all processors, then frees. @spread may be null. */
void splitc_all_spread_free(splitc_gptr spread);

/* ---- atomic operations on aligned ints and longs; they return the previous value ---- */

int splitc_fetch_and_add_int(splitc_gptr at, int value);
long splitc_fetch_and_add_long(splitc_gptr at, long value);
int splitc_exchange_int(splitc_gptr at, int value);
long splitc_exchange_long(splitc_gptr at, long value);
/* Stores @value if the previous value was @expected. */
int splitc_cmp_and_swap_int(splitc_gptr at, int expected, int value);
long splitc_cmp_and_swap_long(splitc_gptr at, long expected, long value);
int splitc_fetch_and_and_int(splitc_gptr at, int value);
long splitc_fetch_and_and_long(splitc_gptr at, long value);
int splitc_fetch_and_or_int(splitc_gptr at, int value);
long splitc_fetch_and_or_long(splitc_gptr at, long value);
int splitc_fetch_and_xor_int(splitc_gptr at, int value);
long splitc_fetch_and_xor_long(splitc_gptr at, long value);

/* ---- procedures that run on another processor ---- */

/*
 * The target processor runs the procedure when it is in a call that waits or polls; it does
 * nothing else of the library meanwhile. The procedure must not call the library, except
 * for MYPROC and splitc_error(). It must be a function of the program itself, not of a
 * shared object.
 */

/* @local: the address part of @at. */
typedef long (*splitc_atomic_fn)(void *local, long a, long b);
/* Returns the result of @function. */
long splitc_atomic(splitc_atomic_fn function, splitc_gptr at, long a, long b);
/* Does not wait: @function has run after splitc_sync(). */
void splitc_atomic_put(splitc_atomic_fn function, splitc_gptr at, long a, long b);

#define SPLITC_RPC_MAX 4096 /* maximum bytes of arguments, and of results */
/* @result has room for @result_size bytes, which are zero. @from: the calling processor. */
typedef void (*splitc_rpc_fn)(int from, const void *args, size_t args_size, void *result,
			      size_t result_size);
void splitc_rpc(int proc, splitc_rpc_fn function, const void *args, size_t args_size, void *result,
		size_t result_size);

/* ---- collective operations: all processors call them, in the same order ---- */

enum splitc_type {
	SPLITC_INT,
	SPLITC_UINT,
	SPLITC_LONG,
	SPLITC_ULONG,
	SPLITC_FLOAT,
	SPLITC_DOUBLE,
	SPLITC_NUM_TYPES
};

/* The last three are for integers only. */
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
 * Combine the @count values at @values of all processors, element by element. reduce_to_one
 * replaces the values of processor 0, and reduce_to_all those of all processors, by the
 * result. The scan replaces the values of each processor by the result of its own and all
 * lower processors' values. The order of combination is the same in each run with the same
 * number of processors.
 */
void splitc_all_reduce_to_one(enum splitc_type type, enum splitc_op op, void *values, size_t count);
void splitc_all_reduce_to_all(enum splitc_type type, enum splitc_op op, void *values, size_t count);
void splitc_all_scan(enum splitc_type type, enum splitc_op op, void *values, size_t count);

/* Copies @n bytes at @values of processor @root to all others. */
void splitc_all_bcast_bulk(int root, void *values, size_t n);
/* Gathers @n bytes at @mine from each processor, in the order of processors, at @all. */
void splitc_all_gather(const void *mine, void *all, size_t n);

/* ---- clocks ---- */

double splitc_get_seconds(void);
/* Nanoseconds. */
uint64_t splitc_get_ticks(void);

#ifdef __cplusplus
}
#else
#include "splitc_forms.h"
#endif

#endif
