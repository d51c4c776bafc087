// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "bandwidth.h"

#include <stdint.h>
#include <stdio.h>

#include "measure.h"

#define LEAST 16 /* minimum and maximum number of messages in a stream */
#define MOST 5000
#define STREAMS 11

static int stream(bandwidth_send_fn send, bandwidth_drain_fn drain, void *arg, size_t size,
		  unsigned long n, uint64_t *time)
{
	uint64_t start = now_ns();
	int err = 0;

	for (unsigned long i = 0; i < n && !err; i++)
		err = send(arg, size);
	if (!err)
		err = drain(arg);
	*time = now_ns() - start;
	return err;
}

static int measure_size(bandwidth_send_fn send, bandwidth_drain_fn drain, void *arg, size_t size,
			unsigned long bytes, double *ns)
{
	uint64_t time[STREAMS];
	unsigned long n = bytes / size;
	int err;

	n = n < LEAST ? LEAST : n > MOST ? MOST : n;
	err = stream(send, drain, arg, size, n / 10, &time[0]);
	for (int i = 0; i < STREAMS && !err; i++)
		err = stream(send, drain, arg, size, n, &time[i]);
	if (!err)
		*ns = percentile(time, STREAMS, 50) / (double)n;
	return err;
}

int bandwidth_measure(const char *name, bandwidth_send_fn send, bandwidth_drain_fn drain, void *arg,
		      size_t max, unsigned long bytes)
{
	double ns;

	for (size_t size = 4; size <= max; size *= 2) {
		int err = measure_size(send, drain, arg, size, bytes, &ns);

		if (err)
			return err;
		printf("%s %zu %.1f %.1f\n", name, size, ns, (double)size * 1e9 / 1048576 / ns);
	}
	return 0;
}
