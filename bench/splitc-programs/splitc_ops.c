// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Measures the time of each Split-C operation, for each C type, from one sender.
 *
 *	op NAME TYPE ns
 *
 * Reads and writes are measured from call to return. A stream of gets or puts ends when the
 * last one is complete, a stream of stores when the last one has been sent. For 32 bytes, a
 * read is measured, and half of a round trip of two stores: the time until the other processor
 * has seen a store.
 */
#include <stdio.h>
#include <stdlib.h>

#include "measure.h"
#include "side.h"

#define STREAMS 41
#define STREAM 500 /* maximum number of operations */
#define FEW_BYTES 32
#define ROUND_TRIPS 8 /* between two readings of the clock; both processors take part */

static char *mine;
static splitc_gptr theirs;

/* Destination of reads and gets. */
static union {
	char char_;
	short short_;
	int int_;
	long long_;
	float float_;
	double double_;
} value;

#define OPERATIONS(type)                                                                           \
	static int read_##type(void *arg)                                                          \
	{                                                                                          \
		(void)arg;                                                                         \
		value.type##_ = splitc_read_##type(theirs);                                        \
		return 0;                                                                          \
	}                                                                                          \
	static int write_##type(void *arg)                                                         \
	{                                                                                          \
		(void)arg;                                                                         \
		splitc_write_##type(theirs, 1);                                                    \
		return 0;                                                                          \
	}                                                                                          \
	static int get_##type(void *arg)                                                           \
	{                                                                                          \
		(void)arg;                                                                         \
		splitc_get_##type(&value.type##_, theirs);                                         \
		return 0;                                                                          \
	}                                                                                          \
	static int put_##type(void *arg)                                                           \
	{                                                                                          \
		(void)arg;                                                                         \
		splitc_put_##type(theirs, 1);                                                      \
		return 0;                                                                          \
	}                                                                                          \
	static int store_##type(void *arg)                                                         \
	{                                                                                          \
		(void)arg;                                                                         \
		splitc_store_##type(theirs, 1);                                                    \
		return 0;                                                                          \
	}
OPERATIONS(char)
OPERATIONS(short)
OPERATIONS(int)
OPERATIONS(long)
OPERATIONS(float)
OPERATIONS(double)

enum kind { SYNCHRONOUS, SPLIT_PHASE, ONE_WAY };

#define ROW(type)                                                                                  \
	{ "read", #type, SYNCHRONOUS, read_##type },                                               \
		{ "write", #type, SYNCHRONOUS, write_##type },                                     \
		{ "get", #type, SPLIT_PHASE, get_##type },                                         \
		{ "put", #type, SPLIT_PHASE, put_##type },                                         \
	{                                                                                          \
		"store", #type, ONE_WAY, store_##type                                              \
	}
static const struct operation {
	const char *name, *type;
	enum kind kind;
	int (*run)(void *arg);
} operations[] = { ROW(char), ROW(short), ROW(int), ROW(long), ROW(float), ROW(double) };

static double time_synchronous(const struct operation *o, unsigned long iters)
{
	struct timing t;

	if (time_op(o->run, NULL, iters, &t))
		splitc_error("no memory");
	return t.median_ns;
}

static uint64_t stream(const struct operation *o, unsigned long n)
{
	uint64_t start = now_ns(), time;

	for (unsigned long i = 0; i < n; i++)
		o->run(NULL);
	if (o->kind == SPLIT_PHASE)
		splitc_sync();
	else
		splitc_poll(); /* sends stores that were delayed */
	time = now_ns() - start;
	/* A read after the stores ensures that they have arrived. */
	if (o->kind == ONE_WAY)
		splitc_read_char(theirs);
	return time;
}

static double time_stream(const struct operation *o, unsigned long iters)
{
	unsigned long n = iters < STREAM ? iters : STREAM;
	uint64_t time[STREAMS];

	stream(o, n);
	for (int i = 0; i < STREAMS; i++)
		time[i] = stream(o, n);
	return percentile(time, STREAMS, 50) / (double)n;
}

static int read_few(void *arg)
{
	(void)arg;
	splitc_bulk_read(mine, theirs, FEW_BYTES);
	return 0;
}

static void measure(unsigned long iters)
{
	static const struct operation few = { "read", "32", SYNCHRONOUS, read_few };

	for (size_t i = 0; i < sizeof(operations) / sizeof(operations[0]); i++) {
		const struct operation *o = &operations[i];
		double ns = o->kind == SYNCHRONOUS ? time_synchronous(o, iters) :
						     time_stream(o, iters);

		printf("op %s %s %.1f\n", o->name, o->type, ns);
	}
	printf("op %s %s %.1f\n", few.name, few.type, time_synchronous(&few, iters));
}

/* A store in each direction. */
static void there_and_back(void)
{
	if (MYPROC == 0)
		splitc_bulk_store(theirs, mine, FEW_BYTES);
	splitc_store_sync(FEW_BYTES);
	if (MYPROC == 1)
		splitc_bulk_store(theirs, mine, FEW_BYTES);
}

/* Collective. */
static void measure_one_way(unsigned long iters)
{
	unsigned long n = iters / ROUND_TRIPS + 1;
	uint64_t *time = calloc(n, sizeof(*time));

	if (!time)
		splitc_error("no memory");
	splitc_all_store_sync();
	for (unsigned long i = 0; i < n; i++) {
		uint64_t start = now_ns();

		for (int k = 0; k < ROUND_TRIPS; k++)
			there_and_back();
		time[i] = now_ns() - start;
	}
	splitc_on_one printf("op one-way 32 %.1f\n", percentile(time, n, 50) / ROUND_TRIPS / 2);
	free(time);
}

int main(int argc, char **argv)
{
	static const struct bench_program prog = {
		.purpose =
			"What each operation of Split-C takes a single sender, of two processors:\n"
			"vnet run -n 2 splitc_ops",
		.takes = BENCH_ITERS | BENCH_CPUS,
	};
	struct bench_options opt = { .iters = 20000, .cpu = { -1, -1 } };

	side_open(argc, argv, &prog, &opt);
	mine = side_memory(4096, &theirs);
	splitc_on_one measure(opt.iters);
	measure_one_way(opt.iters);
	splitc_all_store_sync();
	splitc_exit(0);
}
