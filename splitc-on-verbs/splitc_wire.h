/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Messages of Split-C as they cross the network: requests with a header of 16 bytes,
 * answers with one of 8. Little-endian, as verbs' hosts of today are.
 *
 * There is no handler to be found, no tag and no argument: 24 bytes less than what the
 * same would be as an active message (its header, and words for an address, a length,
 * and where the answer goes).
 */
#ifndef SPLITC_WIRE_H
#define SPLITC_WIRE_H

#include <assert.h>
#include <stdint.h>

#define SC_FRAGMENT 4096 /* bytes of memory that one message brings */

enum sc_op {
	/* Requests, each of which is answered. */
	SC_GET,
	SC_PUT,
	SC_ATOMIC, /* data: struct sc_atomic */
	SC_RPC, /* address: the function; what: bytes of the result; data: the arguments */
	SC_FLUSH, /* is answered when all before has been done */
	SC_LOOKUP, /* what: whether to write; the answer: struct sc_lookup */
	SC_REVOKE, /* keys of that memory are good no longer */
	/* Without an answer: acknowledged several at a time. */
	SC_STORE, /* what: the epoch; behind the data: more stores, see sc_place */
	SC_COLLECT, /* address: number of the collective operation */
	SC_BARRIER, /* address: number of the barrier; what: round */
	/* Answers; also acknowledge. */
	SC_REPLY,
	SC_ACK,
	SC_NUM_OPS,
};

#define SC_FIRST_ONEWAY SC_STORE
#define SC_FIRST_ANSWER SC_REPLY

struct sc_message {
	uint8_t op; /* enum sc_op */
	uint8_t slot; /* the sender's */
	uint16_t what;
	uint32_t length;
	uint64_t address;
	uint8_t data[];
};

struct sc_answer {
	uint8_t op;
	uint8_t slot; /* the receiver's: which request it answers */
	uint16_t acknowledged; /* messages without an answer that have come since the last one */
	uint32_t length; /* of data */
	uint8_t data[];
};

static_assert(sizeof(struct sc_message) == 16 && sizeof(struct sc_answer) == 8,
	      "headers have no holes");

/*
 * A message of several stores: behind the data of each, the next one's place, on 8 bytes,
 * and its data.
 */
typedef uint64_t sc_place; /* address; in the upper 16 bits, the length */
#define SC_PLACE_BITS 48

static inline uint32_t sc_place_at(uint32_t end)
{
	return (end + 7) & ~7u;
}

#define SC_BUFFER (SC_FRAGMENT + 64) /* bytes of a buffer, cache lines */

enum sc_atomic_op {
	SC_FETCH_ADD,
	SC_EXCHANGE,
	SC_COMPARE_SWAP, /* a: expected */
	SC_FETCH_AND,
	SC_FETCH_OR,
	SC_FETCH_XOR,
	SC_ATOMIC_CALL,
	SC_NUM_ATOMICS
};

/* message.what is the operation, message.length the size of what it is done on. */
struct sc_atomic {
	int64_t a, b;
	uint64_t function; /* of SC_ATOMIC_CALL */
};

enum sc_lookup_result {
	SC_MEMORY_KEY, /* by RDMA, with the key */
	SC_MEMORY_ASK, /* by messages */
	SC_MEMORY_NONE, /* there is none */
	SC_MEMORY_CONSTANT /* it may not be written */
};

struct sc_lookup {
	uint64_t begin, end;
	uint32_t rkey;
	uint8_t result; /* enum sc_lookup_result */
	uint8_t writable;
	uint8_t unused[2];
};

#endif
