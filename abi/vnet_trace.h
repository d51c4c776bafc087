/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Interface between `vnet trace` and the provider in the traced programs. It consists of
 * environment variables, a file of counters, and a hook.
 *
 * All traced processes map the file of counters, so the counts are complete however a process ends.
 */
#ifndef VNET_TRACE_H
#define VNET_TRACE_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Tracing is enabled if this variable is set and not empty. Its value is a list of words, separated
 * by commas:
 *
 *   text, json       format of a line (default: text)
 *   colour           with colours
 *   warnings         only warnings
 *   summary          no lines, only counters
 *   epoch=NS         CLOCK_MONOTONIC of time 0 (default: the first context is opened)
 *   pid=PID          lines of this process do not name it
 *
 * Unknown words are ignored.
 */
#define VNET_TRACE_ENV "VNET_TRACE"
/* File that lines are appended to; without it they go to the stderr of the process' start. */
#define VNET_TRACE_FILE_ENV "VNET_TRACE_FILE"
/* File of struct vnet_trace_counters. */
#define VNET_TRACE_COUNTERS_ENV "VNET_TRACE_COUNTERS"

enum vnet_trace_rows {
	/* One row per opcode of a send request, then VNET_TRACE_RECV and tag operations. */
	VNET_TRACE_OPERATIONS = 20,
	VNET_TRACE_WARNINGS = 28,
	VNET_TRACE_NAME = 32,
};

/* The traced processes write the names, so the program that prints need not know them. */
struct vnet_trace_row {
	char name[VNET_TRACE_NAME];
	/* Operations: number posted. Warnings: number of occurrences. */
	uint64_t count;
	/* Operations only: number completed, number failed, bytes. */
	uint64_t completed;
	uint64_t failed;
	uint64_t bytes;
};

struct vnet_trace_counters {
	struct vnet_trace_row operation[VNET_TRACE_OPERATIONS];
	struct vnet_trace_row warning[VNET_TRACE_WARNINGS];
};

/*
 * A preloaded library exports a variable under this name. The provider stores a function there,
 * which the library calls before the caller sleeps until descriptor fd is readable; alone: it waits
 * for nothing else. libibverbs tells providers of events, but not of waits for them.
 */
#define VNET_TRACE_WAIT_HOOK vnet_trace_wait_hook
#define VNET_TRACE_WAIT_HOOK_NAME "vnet_trace_wait_hook"
typedef void (*vnet_trace_wait_fn)(int fd, int alone);

#ifdef __cplusplus
}
#endif

#endif /* VNET_TRACE_H */
