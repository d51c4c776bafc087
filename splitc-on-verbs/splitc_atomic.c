// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Atomic operations on other processors' memory, and procedures that run there. */
#include <string.h>

#include "splitc_mapping.h"

static int64_t atomic(splitc_gptr at, size_t size, enum sc_atomic_op op, int64_t a, int64_t b)
{
	uint64_t address = splitc_gptr_address(at);

	if (!sc.ready)
		sc_fail("splitc_init() has not been called");
	if (splitc_gptr_proc(at) >= splitc_procs || address % size)
		sc_fail("atomic operation of %zu bytes at 0x%llx of processor %d, by processor %d: %s",
			size, (unsigned long long)address, splitc_gptr_proc(at), splitc_my_proc,
			address % size ? "that is not aligned" : "there is no such processor");
	sc_enter();
	return sc.mapping->atomic(at, size, op, a, b);
}

#define ATOMIC(name, op)                                                                           \
	int splitc_##name##_int(splitc_gptr at, int value)                                         \
	{                                                                                          \
		return (int)atomic(at, sizeof(int), op, value, 0);                                 \
	}                                                                                          \
	long splitc_##name##_long(splitc_gptr at, long value)                                      \
	{                                                                                          \
		return atomic(at, sizeof(long), op, value, 0);                                     \
	}

ATOMIC(fetch_and_add, SC_FETCH_ADD)
ATOMIC(exchange, SC_EXCHANGE)
ATOMIC(fetch_and_and, SC_FETCH_AND)
ATOMIC(fetch_and_or, SC_FETCH_OR)
ATOMIC(fetch_and_xor, SC_FETCH_XOR)

int splitc_cmp_and_swap_int(splitc_gptr at, int expected, int value)
{
	return (int)atomic(at, sizeof(int), SC_COMPARE_SWAP, expected, value);
}

long splitc_cmp_and_swap_long(splitc_gptr at, long expected, long value)
{
	return atomic(at, sizeof(long), SC_COMPARE_SWAP, expected, value);
}

/* Address of @function at @proc. */
static uint64_t function_at(int proc, uintptr_t function)
{
	if (proc < 0 || proc >= splitc_procs)
		sc_fail("a procedure for processor %d, which does not exist", proc);
	if (function < sc.image_begin || function >= sc.image_end)
		sc_fail("a procedure that is none of the program's own");
	return function - sc.image + sc.peers[proc].image;
}

/* Receives results of splitc_atomic_put(), which are not used. */
static int64_t nobody_looks;

static void call(splitc_atomic_fn function, splitc_gptr at, long a, long b, int64_t *result,
		 uint32_t *pending)
{
	int proc = splitc_gptr_proc(at);
	struct sc_atomic what = { .a = a,
				  .b = b,
				  .function = function_at(proc, (uintptr_t)function) };
	struct sc_request request = { .proc = proc,
				      .op = SC_ATOMIC,
				      .what = SC_ATOMIC_CALL,
				      .address = splitc_gptr_address(at),
				      .data = &what,
				      .nbytes = sizeof(what),
				      .to = result,
				      .wanted = sizeof(*result),
				      .pending = pending };

	sc_enter();
	if (proc == splitc_my_proc) {
		*result = sc_run_atomic(what.function, request.address, a, b, splitc_my_proc);
		return;
	}
	++*pending;
	sc_request(&request);
}

long splitc_atomic(splitc_atomic_fn function, splitc_gptr at, long a, long b)
{
	uint32_t pending = 0;
	int64_t result = 0;

	call(function, at, a, b, &result, &pending);
	sc_wait_until(!pending);
	return result;
}

void splitc_atomic_put(splitc_atomic_fn function, splitc_gptr at, long a, long b)
{
	call(function, at, a, b, &nobody_looks, &sc.outstanding);
}

void splitc_rpc(int proc, splitc_rpc_fn function, const void *args, size_t args_size, void *result,
		size_t result_size)
{
	uint64_t there = function_at(proc, (uintptr_t)function);

	if (args_size > SPLITC_RPC_MAX || result_size > SPLITC_RPC_MAX)
		sc_fail("a procedure call has at most %d bytes of arguments and of results",
			SPLITC_RPC_MAX);
	sc_enter();
	if (proc == splitc_my_proc) {
		sc_run_rpc(there, args, args_size, result, result_size, splitc_my_proc);
		return;
	}
	sc_call(&(struct sc_request){ .proc = proc,
				      .op = SC_RPC,
				      .what = (uint16_t)result_size,
				      .length = (uint32_t)args_size,
				      .address = there,
				      .data = args,
				      .nbytes = (uint32_t)args_size,
				      .to = result,
				      .wanted = (uint32_t)result_size });
}
