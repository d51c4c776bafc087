/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Fault injection on frames, independently for each frame, from a seed. */
#ifndef SIM_FAULT_H
#define SIM_FAULT_H

#include "cluster/fabric.h"

struct node;

struct fault_config {
	/* Probability of each fault for a frame. */
	double loss, duplicate, reorder, corrupt, truncate, delay, forge;
	/* Maximum delay in ns. */
	u64 delay_ns;
	/* Delay the second copy of duplicated frames, too. */
	bool delay_copies;
};

struct fault_counts {
	u64 lost, duplicated, reordered, corrupted, truncated, delayed, forged, cut;
};

void fault_setup(const struct fault_config *config, u64 seed);
/* End all faults. */
void fault_stop(void);
const struct fault_counts *fault_counts(void);
/* Whether frames are delayed. Delayed frames may arrive after fault_stop(). */
bool fault_delays(void);
/* Inject faults into a frame that leaves its NIC at time `at`, and pass it to the fabric. */
void fault_send(struct frame *frame, u64 at);
/* Called before the firmware processes a frame. */
void fault_arrived(struct node *node, struct frame *frame);

#endif /* SIM_FAULT_H */
