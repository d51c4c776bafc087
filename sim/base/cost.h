/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Costs of operations in the simulator, read from a file of "key = value" lines.
 * sim/costs.default lists all keys, with units and sources.
 */
#ifndef SIM_COST_H
#define SIM_COST_H

#include "layout/types.h"

struct cost {
	/* Host processor, in ns. */
	double post, post_recv, poll, poll_empty, doorbell, event;
	/*
	 * NIC, in ns: fetch of a WQE; each frame sent and received; each acknowledgement frame
	 * sent and received; one round of the NIC processor.
	 */
	double wqe_fetch, frame_tx, frame_rx, ack_tx, ack_rx, nic_run;
	/* DMA of the NIC: ns for each transfer, bytes per us. */
	double dma, dma_rate;
	/*
	 * Link: bytes per us; ns of propagation; ns in a switch; bytes of framing for each
	 * frame.
	 */
	double link_rate, wire, hop, overhead;
	/* Additional latency of RoCE, in ns. */
	double roce;
	/*
	 * Buffers in bytes: output queue of a switch that drops; input buffer of a link with
	 * back-pressure; receive buffer of a NIC.
	 */
	double switch_buffer, link_slack, nic_buffer;
	/* Maximum number of nodes on a single switch. More nodes are connected by a fat tree. */
	double star_ports;
	/* Oversubscription of the tree above its edge switches. */
	double taper;
};

/* The defaults, as in sim/costs.default. */
void cost_default(struct cost *cost);
/* Returns false if line number *line is invalid or, with *line 0, the file cannot be read. */
bool cost_read(struct cost *cost, const char *path, u32 *line);
/* Set one cost. Returns false if key or value is invalid. */
bool cost_set(struct cost *cost, const char *key, double value);

#endif /* SIM_COST_H */
