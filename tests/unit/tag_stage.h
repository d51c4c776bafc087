/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * A stage for tests of tag matching: process 1 receives by a queue that matches tags,
 * process 0 sends to it. Tagged buffers have 1000 bytes each.
 */
#ifndef TAG_STAGE_H
#define TAG_STAGE_H

#include "tags/tags.h"
#include "stage.h"

#define TAGS 8
#define ALL (~0ull)
/* Of process 0, whence messages come, and of process 1. */
#define FROM 0x1000u
#define DATA 0x20000u
#define TO 0x40000u

#define WHOLE (VNET_WC_TM_MATCH | VNET_WC_TM_DATA_VALID)

#define TAG_TEST(name) cmocka_unit_test_setup_teardown(name, tag_start, world_teardown)

enum { NO_TAG, RNDV, FIN, EAGER };

/* The ring of operations, how many were put there, and the last one's handle. */
struct tags {
	struct ring ops;
	u32 prod, handle;
};

extern struct tags tags;

int tag_start(void **state);
struct nic_srq *srq_frame(void);
/* The list of tags in NIC memory. */
struct nic_tm *tag_list(void);

/* An operation into the ring, and nobody is told; the telling; both. */
void put_op(const struct vnet_tm_op *op);
void ring_tags(void);
void post_op(const struct vnet_tm_op *op);
/* ... and its completion, with this status. */
struct wc operate(struct vnet_tm_op op, u32 status);
/* To add buffer `number`, at TO + 1000 times that. */
struct vnet_tm_op tag_buffer(u32 number, u64 tag, u64 mask);
/* Carried out by its process; its handle. */
u32 add_tag(u32 number, u64 tag, u64 mask);
/* Left in the ring for who delivers; its handle. */
u32 leave_tag(u32 number, u64 tag);
/* So many unexpected messages are known of. */
struct wc synchronise(u32 seen);

/* Headers, then so many bytes of a pattern, at FROM. */
void write_message(u8 opcode, u64 tag, u32 length);
/* An announcement of so many bytes at DATA. */
void write_rendezvous(u64 tag, u32 length);
/* What is written is sent; not awaited. */
void post_message(u32 length);
/* Written, sent, and taken. */
void send_tagged(u8 opcode, u64 tag, u32 length);

/* An ordinary receive of the queue. */
void post_plain(u32 number);
struct wc expect_match(u32 number, u32 flags);

#endif
