/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Prints the summary of a trace: operations and warnings with their counts. */
#ifndef TRACE_SUMMARY_H
#define TRACE_SUMMARY_H

#include <stdbool.h>
#include <stdio.h>

#include "vnet_trace.h"

/* The counters are untrusted: the traced program can write into them. */
void summary_print(FILE *to, const struct vnet_trace_counters *counters, bool json);

#endif /* TRACE_SUMMARY_H */
