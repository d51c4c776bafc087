/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* The table of steps that the marks of am_cost.h time, as the reports read it. */
#ifndef VNET_BENCH_STEPS_H
#define VNET_BENCH_STEPS_H

#include "am_cost.h"

#define STEPS_LIMIT_NS 5000 /* a step that lasts longer was interrupted */

/* A line for each step, all but interruptions per round trip. */
void steps_print(const char *side, const struct am_cost *table, double round_trips);

#endif
