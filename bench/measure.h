/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Clock and statistics shared by the benchmark programs. */
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

/* How often an operation is run between two readings of the clock. */
#define BENCH_BATCH 64u

struct timing {
	double median_ns; /* of the batches' means: blind to interruptions */
	double average_ns; /* of everything: what a bandwidth is made of */
};

/*
 * Time @op(@ctx), run at least @iters times after a warm-up of a tenth of that.
 * @op returns 0, or an errno, which ends the measurement and is returned.
 */
int time_op(int (*op)(void *ctx), void *ctx, unsigned long iters, struct timing *t);

/* The value below which @percent of the @n samples lie; sorts @samples. */
double percentile(uint64_t *samples, size_t n, double percent);

double average(const uint64_t *samples, size_t n);

#endif
