/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Clock and statistics of the benchmark programs. */
#ifndef VNET_BENCH_MEASURE_H
#define VNET_BENCH_MEASURE_H

#include <stddef.h>
#include <stdint.h>
#include <time.h>

static inline uint64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

/* Number of calls between two readings of the clock. */
#define BENCH_BATCH 64u

struct timing {
	double median_ns; /* median of the batches' means; not affected by interruptions */
	double average_ns; /* mean of all calls; for bandwidth */
};

/*
 * Measures the time of @op(@ctx), which is called at least @iters times, after a tenth as
 * many calls for warm-up. @op returns 0, or an errno value, which ends the measurement and
 * is returned.
 */
int time_op(int (*op)(void *ctx), void *ctx, unsigned long iters, struct timing *t);

/* Returns the value below which @percent of the @n samples lie. Sorts @samples. */
double percentile(uint64_t *samples, size_t n, double percent);

double average(const uint64_t *samples, size_t n);

#endif
