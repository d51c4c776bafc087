/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The format of Split-C messages on the network.
 *
 * Requests have a header of 16 bytes, answers one of 8. Fields are little-endian, because
 * hosts of verbs devices are.
 *
 * There is no handler, no tag and no argument. That saves 24 bytes compared with an active
 * message (its header, and words for the address, the length, and the destination of the
 * answer).
 */
#ifndef SPLITC_WIRE_H
#define SPLITC_WIRE_H

#include <assert.h>
#include <stdint.h>

#define SC_FRAGMENT 4096 /* maximum bytes of data in a message */

enum sc_op {
	/* Requests; each has an answer. */
	SC_GET,
	SC_PUT,
	SC_ATOMIC, /* data: struct sc_atomic */
	SC_RPC, /* address: the function; what: bytes of the result; data: the arguments */
	SC_FLUSH, /* answered when all messages before it have been handled */
	SC_LOOKUP, /* what: whether to write; the answer's data: struct sc_lookup */
	SC_REVOKE, /* keys to that memory become invalid */
	/* One-way messages; several share an acknowledgement. */
	SC_STORE, /* what: epoch; more stores may follow the data, see sc_place */
	SC_COLLECT, /* address: number of the collective operation */
	SC_BARRIER, /* address: barrier number; what: round */
	/* Answers, which also acknowledge one-way messages. */
	SC_REPLY,
	SC_ACK,
	SC_NUM_OPS,
};

#define SC_FIRST_ONEWAY SC_STORE
#define SC_FIRST_ANSWER SC_REPLY

struct sc_message {
	uint8_t op; /* enum sc_op */
	uint8_t slot; /* of the sender */
	uint16_t what;
	uint32_t length;
	uint64_t address;
	uint8_t data[];
};

struct sc_answer {
	uint8_t op;
	uint8_t slot; /* of the receiver: the request that is answered */
	uint16_t acknowledged; /* number of one-way messages handled since the last answer */
	uint32_t length; /* of the data */
	uint8_t data[];
};

static_assert(sizeof(struct sc_message) == 16 && sizeof(struct sc_answer) == 8,
	      "headers have no holes");

/*
 * In a message with several stores, the data of each store are followed by the place of the
 * next one, 8-byte aligned, and its data.
 */
typedef uint64_t sc_place; /* address, and the length in the upper 16 bits */
#define SC_PLACE_BITS 48

static inline uint32_t sc_place_at(uint32_t end)
{
	return (end + 7) & ~7u;
}

#define SC_BUFFER (SC_FRAGMENT + 64) /* size of a buffer, a multiple of the cache line size */

enum sc_atomic_op {
	SC_FETCH_ADD,
	SC_EXCHANGE,
	SC_COMPARE_SWAP, /* a: expected value */
	SC_FETCH_AND,
	SC_FETCH_OR,
	SC_FETCH_XOR,
	SC_ATOMIC_CALL,
	SC_NUM_ATOMICS
};

/* Data of SC_ATOMIC. message.what is the operation, message.length the size of the operand. */
struct sc_atomic {
	int64_t a, b;
	uint64_t function; /* for SC_ATOMIC_CALL */
};

enum sc_lookup_result {
	SC_MEMORY_KEY, /* accessible by RDMA with the key */
	SC_MEMORY_ASK, /* accessible by messages only */
	SC_MEMORY_NONE, /* there is no such memory */
	SC_MEMORY_CONSTANT /* the memory is read-only */
};

struct sc_lookup {
	uint64_t begin, end;
	uint32_t rkey;
	uint8_t result; /* enum sc_lookup_result */
	uint8_t writable;
	uint8_t unused[2];
};

#endif
