/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Time per message by size, of whatever sends a stream of them. */
#ifndef VNET_BENCH_BANDWIDTH_H
#define VNET_BENCH_BANDWIDTH_H

#include <stddef.h>

#define BANDWIDTH_MAX (1u << 20)

/* Sends a message of @size bytes, waiting for room if need be. 0, or an error that ends it. */
typedef int (*bandwidth_send_fn)(void *arg, size_t size);
/* Waits until nothing is outstanding. */
typedef int (*bandwidth_drain_fn)(void *arg);

/*
 * Prints "NAME SIZE ns_per_message MiB_per_second" for sizes from 4 bytes to
 * @max: medians over several streams of some @bytes, of at least 16 messages.
 */
int bandwidth_measure(const char *name, bandwidth_send_fn send, bandwidth_drain_fn drain, void *arg,
		      size_t max, unsigned long bytes);

#endif
