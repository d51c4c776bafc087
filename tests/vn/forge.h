/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Frames of a hostile peer to side 1, in one buffer. The peer is side 0: it has the key and the
 * row's secret.
 */
#ifndef VN_FORGE_H
#define VN_FORGE_H

#include "vn/vn.h"
#include "streams.h"

/* The channel of forged packets. The preceding traffic did not use it. */
#define CHANNEL 40

/* The frame, and what it can have after its header. */
extern u64 space[VNET_WIRE_MAX_FRAME / sizeof(u64) + 1];
extern struct vnet_frame *const head;
extern struct vnet_frame_op *const op;
extern struct vnet_frame_ack *const ack;

struct nic_row *row_of(u32 i);
struct nic_endpoint *endpoint_of(const struct end *e);

/* Makes the next packet in sequence of side 0's queue pair, with `length` bytes of data. */
void make(u8 opcode, u32 length);

/* Delivers the frame to side 1: from side 0, or `length` bytes of it from an address. */
void arrives(void);
void arrives_from(u8 address, u32 length);

/* Returns the code of the acknowledgement of the last frame, which is then in `space`. */
u8 answer(void);

/* The data of a packet was written to the beginning of side 1's memory. */
bool is_written(void);

/* The connected queue pairs still transfer messages. */
void still_works(void);

#endif
