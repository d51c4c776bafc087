// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "two.h"

#include <errno.h>
#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_SWAPPED 256

void two_fail(struct two *two, const char *format, ...)
{
	char message[256];
	va_list args;

	va_start(args, format);
	vsnprintf(message, sizeof(message), format, args);
	va_end(args);
	job_abort(two->job, 1, message);
}

static void pin(struct two *two, int cpu)
{
	cpu_set_t set;

	if (cpu < 0)
		return;
	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	if (sched_setaffinity(0, sizeof(set), &set))
		two_fail(two, "cannot run on CPU %d: %s", cpu, strerror(errno));
}

void two_open(struct two *two, int argc, char **argv, const struct bench_program *prog,
	      struct bench_options *opt)
{
	int err;

	two->job = NULL;
	bench_parse(argc, argv, prog, opt);
	err = job_open(&two->job);
	if (err)
		two_fail(two, "cannot join the job: %s", strerror(err));
	if (job_size(two->job) != 2)
		two_fail(two, "wants two processes: vnet run -n 2 %s", argv[0]);
	two->client = job_rank(two->job) == 0;
	pin(two, opt->cpu[two->client ? 0 : 1]);
}

void two_swap(struct two *two, const void *mine, void *theirs, size_t size)
{
	char all[2 * MAX_SWAPPED];
	int err = size > MAX_SWAPPED ? EINVAL : job_exchange(two->job, mine, size, all);

	if (err)
		two_fail(two, "exchanging addresses: %s", strerror(err));
	memcpy(theirs, all + (two->client ? size : 0), size);
}

void two_meet(struct two *two)
{
	int err = job_barrier(two->job);

	if (err)
		two_fail(two, "the other process: %s", strerror(err));
}

void two_close(struct two *two)
{
	int err;

	two_meet(two);
	err = job_close(two->job);
	if (err)
		fprintf(stderr, "leaving the job: %s\n", strerror(err));
}
