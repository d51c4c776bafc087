/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * What passes between vnet trace and the provider in the programs that it traces:
 * a variable of the environment, a file of counters, and a hook.
 *
 * The counters are a file that every traced process maps, so that they are right
 * to the last request whatever end a process meets.
 */
#ifndef VNET_TRACE_H
#define VNET_TRACE_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Tracing is on where this variable is set and not empty. Its value is a list with
 * commas between:
 *
 *   text, json       how a line looks (text)
 *   colour           with colours
 *   warnings         no lines but warnings
 *   summary          no lines: counters alone
 *   epoch=NS         CLOCK_MONOTONIC where times begin (the first context's opening)
 *   pid=PID          the process whose lines do not name it
 *
 * Unknown words are ignored.
 */
#define VNET_TRACE_ENV "VNET_TRACE"
/* Where lines are appended; without it they go to what is stderr at the beginning. */
#define VNET_TRACE_FILE_ENV "VNET_TRACE_FILE"
/* A file of struct vnet_trace_counters. */
#define VNET_TRACE_COUNTERS_ENV "VNET_TRACE_COUNTERS"

enum vnet_trace_rows {
	/* By opcode of a send request, then VNET_TRACE_RECV and operations on tags. */
	VNET_TRACE_OPERATIONS = 20,
	VNET_TRACE_WARNINGS = 28,
	VNET_TRACE_NAME = 32,
};

/* The traced processes write the names, too: who prints need not know them. */
struct vnet_trace_row {
	char name[VNET_TRACE_NAME];
	/* Operations: posted. Warnings: how often it was the case. */
	uint64_t count;
	/* Operations alone: completed, failed, and bytes of them. */
	uint64_t completed;
	uint64_t failed;
	uint64_t bytes;
};

struct vnet_trace_counters {
	struct vnet_trace_row operation[VNET_TRACE_OPERATIONS];
	struct vnet_trace_row warning[VNET_TRACE_WARNINGS];
};

/*
 * What a preloaded library exports under this name, so that the provider can put
 * there whom to tell that the caller is about to sleep: until a descriptor is
 * readable, `alone` meaning until nothing else. libibverbs tells providers of events,
 * not of the wait for them.
 */
#define VNET_TRACE_WAIT_HOOK vnet_trace_wait_hook
#define VNET_TRACE_WAIT_HOOK_NAME "vnet_trace_wait_hook"
typedef void (*vnet_trace_wait_fn)(int fd, int alone);

#ifdef __cplusplus
}
#endif

#endif /* VNET_TRACE_H */
