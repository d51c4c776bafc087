/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The fabric: switches and links between the nodes, which take time, have finite
 * buffers, and lose or stall as their kind does.
 *
 *   ideal     every pair has a wire of its own; only a NIC's own end is shared
 *   ethernet  store and forward, output queues, tail drop
 *   myrinet   cut through, source routes, input buffers, links that stall: FIFO
 *             and no loss
 *   atm       cells of 53 bytes, output queues, tail drop of cells: a frame that
 *             lost one is lost
 *
 * Up to cost.star_ports nodes are on one switch; more have a fat tree of three
 * levels. Routes are computed, not stored: memory grows with nodes and links.
 */
#ifndef SIM_FABRIC_H
#define SIM_FABRIC_H

#include "cost.h"

enum fabric_kind {
	FABRIC_IDEAL,
	FABRIC_ETHERNET,
	FABRIC_MYRINET,
	FABRIC_ATM,
	FABRIC_KINDS,
};

struct frame {
	struct frame *next;
	/* In the list of all. */
	struct frame *after, *before;
	u64 number;
	u32 src;
	u32 dst;
	u32 length;
	/* Bytes that links carry for it. */
	u32 wire;
	/* Which of several paths. */
	u32 path;
	/* Cells of it are missing. */
	bool ruined;
	/* When the NIC can have it. */
	u64 ready;
	u8 data[] __attribute__((aligned(8)));
};

struct fabric_config {
	enum fabric_kind kind;
	u32 nodes;
	/* Each frame takes a path at random, and may overtake others. */
	bool spray;
	/* A cell is lost by itself. */
	double cell_loss;
	const struct cost *cost;
	u64 seed;
};

const char *fabric_name(enum fabric_kind kind);
/* FABRIC_KINDS: there is none of this name. */
enum fabric_kind fabric_named(const char *name);

void fabric_setup(const struct fabric_config *config);
void fabric_reset(void);

struct frame *frame_new(u32 src, u32 dst, const void *data, u32 length);
void frame_free(struct frame *frame);
/* Frames that exist. */
u64 frames_alive(void);

/* It leaves its source's NIC at `at`. Comes out at node_arrive(). */
void fabric_send(struct frame *frame, u64 at);
/* The NIC has taken it from its receive buffer. */
void fabric_taken(const struct frame *frame);

/* Frames that switches and NICs dropped for want of room. */
u64 fabric_dropped(void);
void fabric_drop(struct frame *frame, u32 where);

#endif /* SIM_FABRIC_H */
