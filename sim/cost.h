/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * What things take, read from a file of "key = value" lines; sim/costs.default
 * names each, with its unit and where the figure comes from.
 */
#ifndef SIM_COST_H
#define SIM_COST_H

#include "layout/types.h"

struct cost {
	/* Host processor, ns. */
	double post, post_recv, poll, poll_empty, doorbell, event;
	/* NIC, ns: fetch of a WQE; each frame that it makes, takes, acknowledges. */
	double wqe_fetch, frame_tx, frame_rx, ack_tx, ack_rx, nic_run;
	/* NIC's reach to host memory: ns for each DMA, bytes per us. */
	double dma, dma_rate;
	/* Link: bytes per us, ns of flight, ns in a switch, bytes around a frame. */
	double link_rate, wire, hop, overhead;
	/* What RoCE adds to the flight, ns. */
	double roce;
	/*
	 * Buffers, bytes: of a switch's port that drops, of one that stalls, of a
	 * NIC's receive side.
	 */
	double switch_buffer, link_slack, nic_buffer;
	/* Nodes on a single switch at most; more of them have a fat tree. */
	double star_ports;
	/* How much thinner the tree is above its leaves. */
	double taper;
};

/* The defaults, as in sim/costs.default. */
void cost_default(struct cost *cost);
/* false: *line is wrong (0: the file cannot be read). */
bool cost_read(struct cost *cost, const char *path, u32 *line);
/* One "key=value". */
bool cost_set(struct cost *cost, const char *key, double value);

#endif /* SIM_COST_H */
