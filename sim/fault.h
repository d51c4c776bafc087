/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* What goes wrong on the way: seeded, for each frame by itself. */
#ifndef SIM_FAULT_H
#define SIM_FAULT_H

#include "fabric.h"

struct node;

struct fault_config {
	/* Chances of each, for a frame. */
	double loss, duplicate, reorder, corrupt, truncate, delay, forge;
	/* How long the last one of these takes at most, ns. */
	u64 delay_ns;
	/* The second of two copies, too. */
	bool delay_copies;
};

struct fault_counts {
	u64 lost, duplicated, reordered, corrupted, truncated, delayed, forged, cut;
};

void fault_setup(const struct fault_config *config, u64 seed);
/* From now on nothing goes wrong any more. */
void fault_stop(void);
const struct fault_counts *fault_counts(void);
/* Some frames are late, perhaps until after the faults. */
bool fault_delays(void);
/* The NIC's frame, which would leave it at `at`. */
void fault_send(struct frame *frame, u64 at);
/* The last moment before the firmware sees it. */
void fault_arrived(struct node *node, struct frame *frame);

#endif /* SIM_FAULT_H */
