/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Measures the time per message of a stream, by message size. */
#ifndef VNET_BENCH_BANDWIDTH_H
#define VNET_BENCH_BANDWIDTH_H

#include <stddef.h>

#define BANDWIDTH_MAX (1u << 20)

/*
 * Sends a message of @size bytes, waiting for room if necessary. Returns 0, or an error, which
 * ends the measurement.
 */
typedef int (*bandwidth_send_fn)(void *arg, size_t size);
/* Waits until no message is outstanding. */
typedef int (*bandwidth_drain_fn)(void *arg);

/*
 * Prints "NAME SIZE ns_per_message MiB_per_second" for sizes from 4 bytes to @max. Each is
 * the median of several streams of about @bytes, but at least 16 messages.
 */
int bandwidth_measure(const char *name, bandwidth_send_fn send, bandwidth_drain_fn drain, void *arg,
		      size_t max, unsigned long bytes);

#endif
