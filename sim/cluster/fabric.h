/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The fabric: switches and links with latency, finite buffers, and drops or back-pressure.
 *
 *   ideal     a wire between each pair of nodes; only the sender's NIC limits the rate
 *   ethernet  store and forward, output queues, tail drop
 *   myrinet   cut-through, source routes, input buffers, back-pressure: FIFO, no loss
 *   atm       cells of 53 bytes, output queues, tail drop of cells. A frame with a lost
 *             cell is dropped at its destination
 *
 * Up to cost.star_ports nodes are on one switch, more are connected by a fat tree of three
 * levels. Routes are computed, not stored, so memory is proportional to nodes and links.
 */
#ifndef SIM_FABRIC_H
#define SIM_FABRIC_H

#include "base/cost.h"

enum fabric_kind {
	FABRIC_IDEAL,
	FABRIC_ETHERNET,
	FABRIC_MYRINET,
	FABRIC_ATM,
	FABRIC_KINDS,
};

struct frame {
	struct frame *next;
	/* Links in the list of all frames. */
	struct frame *after, *before;
	u64 number;
	u32 src;
	u32 dst;
	u32 length;
	/* Bytes on the wire. */
	u32 wire;
	/* Number of the path, if there are several. */
	u32 path;
	/* Some of its cells were lost. */
	bool ruined;
	/* Time from which the NIC can process it. */
	u64 ready;
	u8 data[] __attribute__((aligned(8)));
};

struct fabric_config {
	enum fabric_kind kind;
	u32 nodes;
	/* Each frame takes a random path, so frames may be reordered. */
	bool spray;
	/* Probability of the loss of a cell. */
	double cell_loss;
	const struct cost *cost;
	u64 seed;
};

const char *fabric_name(enum fabric_kind kind);
/* Returns FABRIC_KINDS if there is none with this name. */
enum fabric_kind fabric_named(const char *name);

void fabric_setup(const struct fabric_config *config);
void fabric_reset(void);

struct frame *frame_new(u32 src, u32 dst, const void *data, u32 length);
void frame_free(struct frame *frame);
/* Number of frames that exist. */
u64 frames_alive(void);

/* Send a frame, which leaves the NIC at time `at`. On arrival, node_arrive() is called. */
void fabric_send(struct frame *frame, u64 at);
/* The NIC has removed the frame from its receive buffer. */
void fabric_taken(const struct frame *frame);

/* Number of frames that switches and NICs dropped for lack of buffers. */
u64 fabric_dropped(void);
void fabric_drop(struct frame *frame, u32 where);

#endif /* SIM_FABRIC_H */
