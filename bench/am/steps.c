// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "steps.h"

#include <stdio.h>

void steps_print(const char *side, const struct am_cost *table, double round_trips)
{
	for (int i = 0; i < AM_COST_STEPS; i++)
		printf("step\t%s\t%s\t%s\t%.3f\t%.2f\t%.3f\t%.2f\t%llu\n", side,
		       am_cost_group_name(am_cost_group_of((enum am_cost_step)i)),
		       am_cost_step_name((enum am_cost_step)i),
		       (double)table[i].calls / round_trips, table[i].ns / round_trips,
		       (double)table[i].empty / round_trips, table[i].empty_ns / round_trips,
		       (unsigned long long)table[i].interrupted);
}
