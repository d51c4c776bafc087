/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Prints the table of steps measured by the marks of am_cost.h. */
#ifndef VNET_BENCH_STEPS_H
#define VNET_BENCH_STEPS_H

#include "cost/am_cost.h"

#define STEPS_LIMIT_NS 5000 /* steps that take longer were interrupted */

/* Prints a line per step. All values but the number of interruptions are per round trip. */
void steps_print(const char *side, const struct am_cost *table, double round_trips);

#endif
