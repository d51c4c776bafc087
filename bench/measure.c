// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "measure.h"

#include <errno.h>
#include <stdlib.h>

static int by_value(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a;
	uint64_t y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

double percentile(uint64_t *samples, size_t n, double percent)
{
	qsort(samples, n, sizeof(*samples), by_value);
	return (double)samples[(size_t)((double)(n - 1) * percent / 100.0)];
}

double average(const uint64_t *samples, size_t n)
{
	double sum = 0;

	for (size_t i = 0; i < n; i++)
		sum += (double)samples[i];
	return sum / (double)n;
}

/* Measures a batch of calls, because reading the clock costs as much as a small copy. */
static int time_batch(int (*op)(void *ctx), void *ctx, uint64_t *elapsed)
{
	uint64_t start = now_ns();

	for (unsigned int i = 0; i < BENCH_BATCH; i++) {
		int err = op(ctx);

		if (err)
			return err;
	}
	*elapsed = now_ns() - start;
	return 0;
}

int time_op(int (*op)(void *ctx), void *ctx, unsigned long iters, struct timing *t)
{
	size_t batches = iters / BENCH_BATCH + 1;
	size_t warmup = batches / 10 + 1;
	uint64_t *samples = calloc(batches, sizeof(*samples));
	int err = 0;

	if (!samples)
		return ENOMEM;

	for (size_t i = 0; i < warmup && !err; i++)
		err = time_batch(op, ctx, &samples[0]);
	for (size_t i = 0; i < batches && !err; i++)
		err = time_batch(op, ctx, &samples[i]);
	if (err)
		goto out;

	t->average_ns = average(samples, batches) / BENCH_BATCH;
	t->median_ns = percentile(samples, batches, 50) / BENCH_BATCH;
out:
	free(samples);
	return err;
}
