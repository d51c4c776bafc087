/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The layout of connection manager messages, field by field, as the specification prints it.
 * (InfiniBand architecture, volume 1, 12.6; 13.4.3 for the header; annex A11 for IP addresses
 * in private data.) This code is independent of the code under test: each field has a place in
 * bits, and all other bits are reserved.
 */
#ifndef LAYOUT_H
#define LAYOUT_H

#include "node.h"

/* Attribute IDs. */
enum layout_attribute {
	LAYOUT_REQ = 0x10,
	LAYOUT_MRA = 0x11,
	LAYOUT_REJ = 0x12,
	LAYOUT_REP = 0x13,
	LAYOUT_RTU = 0x14,
	LAYOUT_DREQ = 0x15,
	LAYOUT_DREP = 0x16,
	LAYOUT_SIDR_REQ = 0x17,
	LAYOUT_SIDR_REP = 0x18,
};

/* A message that is read or written, and the bits that were read or written so far. */
struct layout {
	enum layout_attribute attribute;
	u8 bytes[256];
	u8 done[256];
};

/* Begins a message. Bits that are not written, including reserved ones, are 1. */
void layout_begin(struct layout *layout, enum layout_attribute attribute, u64 tid);
void layout_set(struct layout *layout, const char *field, u64 value);
void layout_set_bytes(struct layout *layout, const char *field, const void *bytes);
/* The message arrives from node_peer. */
void layout_hear(const struct layout *layout);

/* Takes the next message that left the node, which must be of this kind, and checks its header. */
void layout_said(struct layout *layout, enum layout_attribute attribute);
u64 layout_get(struct layout *layout, const char *field);
void layout_expect(struct layout *layout, const char *field, u64 value);
/* Expects the field to contain these bytes, then zeros. */
void layout_expect_bytes(struct layout *layout, const char *field, const void *bytes, u32 length);
/* Expects zero in all fields whose names begin with this. */
void layout_expect_zero(struct layout *layout, const char *fields);
/* Checks that every field was read, and that all reserved bits are zero. */
void layout_end(const struct layout *layout);

#endif /* LAYOUT_H */
