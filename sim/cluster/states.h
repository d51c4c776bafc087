/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Records which states of the firmware's state machines have been reached. */
#ifndef SIM_STATES_H
#define SIM_STATES_H

#include "cluster/node.h"

#define STATES_MACHINES 10
#define STATES_NAMES 9

/* How often each state was seen. Sums over jobs can be added. */
struct states {
	u64 seen[STATES_MACHINES][STATES_NAMES];
};

/* Enable recording. */
void states_watch(void);
/* Record the states of a NIC, after each step of its node. */
void states_look(const struct node *node);
/* Record an acknowledgement (enum vnet_ack_code) that a node sends. */
void states_answer(u32 code);
/* The states seen by this process of vnet-sim. */
const struct states *states_seen(void);
/* Print the states, and return the number of those that were not reached. */
u32 states_print(const struct states *states);

#endif /* SIM_STATES_H */
