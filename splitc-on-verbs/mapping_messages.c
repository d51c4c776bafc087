// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The messages mapping (paper 003, items 21 to 24; F99 to F102).
 *
 * Each operation is a request to the processor that has the memory, which copies the data.
 * It uses no RDMA: the authors had no RDMA reads, and could not detect the completion of
 * writes.
 */
#include "splitc_mapping.h"

static uint32_t piece(size_t n)
{
	return n < SC_FRAGMENT ? (uint32_t)n : SC_FRAGMENT;
}

void sc_messages_get(void *to, splitc_gptr from, size_t n, uint32_t *pending)
{
	uint8_t *at = to;

	for (uint32_t length; n; n -= length, at += length, from += length) {
		length = piece(n);
		++*pending;
		sc_request(&(struct sc_request){ .proc = splitc_gptr_proc(from),
						 .op = SC_GET,
						 .length = length,
						 .address = splitc_gptr_address(from),
						 .to = at,
						 .wanted = length,
						 .pending = pending });
	}
}

void sc_messages_put(splitc_gptr to, const void *from, size_t n, bool keep, uint32_t *pending)
{
	const uint8_t *at = from;

	for (uint32_t length; n; n -= length, at += length, to += length) {
		length = piece(n);
		++*pending;
		sc_request(&(struct sc_request){ .proc = splitc_gptr_proc(to),
						 .op = SC_PUT,
						 .length = length,
						 .address = splitc_gptr_address(to),
						 .data = at,
						 .nbytes = length,
						 .pending = pending,
						 .keep = keep });
	}
}

void sc_messages_store(splitc_gptr to, const void *from, size_t n)
{
	const uint8_t *at = from;

	if (sc_is_small_store(n)) {
		sc_store_small(&sc.peers[splitc_gptr_proc(to)], splitc_gptr_address(to), from,
			       (uint32_t)n);
		return;
	}
	for (uint32_t length; n; n -= length, at += length, to += length) {
		length = piece(n);
		sc_request(&(struct sc_request){ .proc = splitc_gptr_proc(to),
						 .op = SC_STORE,
						 .what = (uint16_t)(sc.epoch & 1),
						 .length = length,
						 .address = splitc_gptr_address(to),
						 .data = at,
						 .nbytes = length });
	}
}

int64_t sc_messages_atomic(splitc_gptr at, size_t size, enum sc_atomic_op op, int64_t a, int64_t b)
{
	struct sc_atomic what = { .a = a, .b = b };
	int64_t old = 0;

	if (splitc_gptr_proc(at) == splitc_my_proc)
		return sc_modify(splitc_gptr_address(at), size, op, a, b, splitc_my_proc);
	sc_call(&(struct sc_request){ .proc = splitc_gptr_proc(at),
				      .op = SC_ATOMIC,
				      .what = (uint16_t)op,
				      .length = (uint32_t)size,
				      .address = splitc_gptr_address(at),
				      .data = &what,
				      .nbytes = sizeof(what),
				      .to = &old,
				      .wanted = sizeof(old) });
	return old;
}

static uint64_t stored(void)
{
	return sc.stored[sc.epoch & 1];
}

static void push(int proc)
{
	(void)proc;
}

static void barrier_tell(int proc, unsigned int round, uint64_t number)
{
	sc_request(&(struct sc_request){
		.proc = proc, .op = SC_BARRIER, .what = (uint16_t)round, .address = number });
}

const struct sc_mapping sc_mapping_messages = {
	.name = "messages",
	.get = sc_messages_get,
	.put = sc_messages_put,
	.store = sc_messages_store,
	.atomic = sc_messages_atomic,
	.push = push,
	.flush_stores = sc_flush_oneways,
	.stored = stored,
	.barrier_tell = barrier_tell,
};
