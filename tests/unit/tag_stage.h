/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Helpers for tests of tag matching: process 0 sends to an SRQ with tags of process 1. Tagged
 * buffers have 1000 bytes each.
 */
#ifndef TAG_STAGE_H
#define TAG_STAGE_H

#include "tags/tags.h"
#include "stage.h"

#define TAGS 8
#define ALL (~0ull)
/* Offsets in the memory of process 0 (source of messages and of rendezvous data) and process 1. */
#define FROM 0x1000u
#define DATA 0x20000u
#define TO 0x40000u

#define WHOLE (VNET_WC_TM_MATCH | VNET_WC_TM_DATA_VALID)

#define TAG_TEST(name) cmocka_unit_test_setup_teardown(name, tag_start, world_teardown)

enum { NO_TAG, RNDV, FIN, EAGER };

/* The ring of tag operations, the number of posted operations, and the last handle. */
struct tags {
	struct ring ops;
	u32 prod, handle;
};

extern struct tags tags;

int tag_start(void **state);
struct nic_srq *srq_frame(void);
/* The list of tags in NIC memory. */
struct nic_tm *tag_list(void);

/* Write an operation to the ring; ring the doorbell; do both. */
void put_op(const struct vnet_tm_op *op);
void ring_tags(void);
void post_op(const struct vnet_tm_op *op);
/* Posts an operation, and returns its completion, which must have this status. */
struct wc operate(struct vnet_tm_op op, u32 status);
/* An operation that adds buffer `number`, at TO + 1000 * number. */
struct vnet_tm_op tag_buffer(u32 number, u64 tag, u64 mask);
/* Adds a tag by the doorbell of its process. Returns its handle. */
u32 add_tag(u32 number, u64 tag, u64 mask);
/* Leaves an operation in the ring for a sender to execute. Returns its handle. */
u32 leave_tag(u32 number, u64 tag);
/* Reports that the program has seen this many unexpected messages. */
struct wc synchronise(u32 seen);

/* Writes a message at FROM: headers, then `length` bytes of a pattern. */
void write_message(u8 opcode, u64 tag, u32 length);
/* Writes the announcement of `length` bytes at DATA. */
void write_rendezvous(u64 tag, u32 length);
/* Sends the message at FROM, and does not wait for the completion. */
void post_message(u32 length);
/* Writes and sends a message, and polls the sender's completion. */
void send_tagged(u8 opcode, u64 tag, u32 length);

/* Posts an ordinary receive. */
void post_plain(u32 number);
struct wc expect_match(u32 number, u32 flags);

#endif
