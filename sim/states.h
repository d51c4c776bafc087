/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Which states of the firmware's machines were reached, for who wants to know. */
#ifndef SIM_STATES_H
#define SIM_STATES_H

#include "node.h"

#define STATES_MACHINES 10
#define STATES_NAMES 9

/* How often each was seen. Of several processes' schedules the sum is what they reached. */
struct states {
	u64 seen[STATES_MACHINES][STATES_NAMES];
};

/* Look, after each step of a node, from now on. */
void states_watch(void);
void states_look(const struct node *node);
/* An answer went over the wire, of enum vnet_ack_code. */
void states_answer(u32 code);
/* What this process has seen. */
const struct states *states_seen(void);
/* How many were not reached. */
u32 states_print(const struct states *states);

#endif /* SIM_STATES_H */
