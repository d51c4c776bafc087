/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* The end of a trace: how much of what, and how often each warning. */
#ifndef TRACE_SUMMARY_H
#define TRACE_SUMMARY_H

#include <stdbool.h>
#include <stdio.h>

#include "vnet_trace.h"

/* Of what programs may have scribbled over. */
void summary_print(FILE *to, const struct vnet_trace_counters *counters, bool json);

#endif /* TRACE_SUMMARY_H */
