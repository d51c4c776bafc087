// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * A process of a job, for tests. It does what its arguments say, and exits with 0 if all checks
 * succeed.
 */
#include <errno.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "job.h"

#define CHECK(condition)                                                                           \
	do {                                                                                       \
		if (!(condition)) {                                                                \
			fprintf(stderr, "member: line %d: not so: %s\n", __LINE__, #condition);    \
			exit(99);                                                                  \
		}                                                                                  \
	} while (0)

static struct job *job;
static int rank, size;

/* Bytes that depend on rank, time and position. */
static uint8_t pattern(int whose, int time, size_t i)
{
	return (uint8_t)(whose * 31 + time * 7 + (int)i);
}

static void exchange_once(int time, size_t len)
{
	uint8_t *mine = malloc(len + 1), *all = malloc((size_t)size * len + 1);

	CHECK(mine && all);
	for (size_t i = 0; i < len; i++)
		mine[i] = pattern(rank, time, i);
	memset(all, 0xee, (size_t)size * len + 1);
	CHECK(job_exchange(job, mine, len, all) == 0);
	for (int r = 0; r < size; r++)
		for (size_t i = 0; i < len; i++)
			CHECK(all[(size_t)r * len + i] == pattern(r, time, i));
	CHECK(all[(size_t)size * len] == 0xee);
	free(mine);
	free(all);
}

/* exchange SIZE TIMES: exchanges data in a job of SIZE processes */
static void exchange(char **args)
{
	int times = atoi(args[1]);

	CHECK(size == atoi(args[0]));
	CHECK(rank >= 0 && rank < size);
	CHECK(job_local_size(job) == size);
	for (int time = 0; time < times; time++)
		exchange_once(time, (size_t)(time * 5 % 97));
	exchange_once(times, 10000);
	CHECK(job_failed(job) == -1);
}

/* lengths: rank 0 gives another length than the others */
static void lengths(char **args)
{
	char mine[16] = "", *all = malloc((size_t)size * sizeof(mine));

	CHECK(all);
	CHECK(job_exchange(job, mine, rank ? 16 : 8, all) == EPROTO);
	CHECK(job_barrier(job) == 0);
	free(all);
}

static const char *mark(const char *directory, int round, int who)
{
	static char path[256];

	snprintf(path, sizeof(path), "%s/%d.%d", directory, round, who);
	return path;
}

/* barrier DIRECTORY: no process leaves the barrier before all have entered it */
static void barrier(char **args)
{
	struct stat st;

	for (int round = 0; round < 10; round++) {
		CHECK(!mkdir(mark(args[0], round, rank), 0700));
		/* Another process is late in each round. */
		if (round % size == rank)
			for (int i = 0; i < 100; i++)
				sched_yield();
		CHECK(job_barrier(job) == 0);
		for (int who = 0; who < size; who++)
			CHECK(!stat(mark(args[0], round, who), &st));
	}
}

static void wait_for_end(void)
{
	for (;;)
		pause();
}

/* Waits for a process that has ended: in a barrier, unless the launcher cannot handle that. */
static void wait_in_vain(void)
{
	if (!getenv("JOB_IDLE"))
		job_barrier(job);
	wait_for_end();
}

/* wait DIRECTORY: makes a mark in DIRECTORY, and waits */
static void wait_there(char **args)
{
	CHECK(job_barrier(job) == 0);
	CHECK(!mkdir(mark(args[0], getpid(), rank), 0700));
	wait_for_end();
}

/* die RANK SIGNAL: the rank kills itself while the others wait for it */
static void die(char **args)
{
	CHECK(job_barrier(job) == 0);
	if (rank == atoi(args[0]))
		raise(atoi(args[1]));
	wait_in_vain();
}

/* stubborn RANK: the rank kills itself, and the others ignore SIGTERM */
static void stubborn(char **args)
{
	signal(SIGTERM, SIG_IGN);
	CHECK(job_barrier(job) == 0);
	if (rank == atoi(args[0]))
		raise(SIGKILL);
	wait_for_end();
}

/* watch RANK: the rank kills itself, and the others are told */
static void watch(char **args)
{
	struct pollfd fd = { job_failed_fd(job), POLLIN, 0 };

	signal(SIGTERM, SIG_IGN);
	CHECK(job_failed(job) == -1 && poll(&fd, 1, 0) == 0);
	CHECK(job_barrier(job) == 0);
	if (rank == atoi(args[0]))
		raise(SIGKILL);
	CHECK(poll(&fd, 1, -1) == 1);
	CHECK(job_failed(job) == atoi(args[0]));
	printf("rank %d knows that rank %d is dead\n", rank, job_failed(job));
}

/* exit RANK STATUS: the rank exits without leaving the job, while the others wait for it */
static void leave(char **args)
{
	CHECK(job_barrier(job) == 0);
	if (rank == atoi(args[0]))
		_exit(atoi(args[1]));
	wait_in_vain();
}

/* abort RANK STATUS MESSAGE: the rank ends the job */
static void abort_job(char **args)
{
	CHECK(job_barrier(job) == 0);
	if (rank == atoi(args[0]))
		job_abort(job, atoi(args[1]), args[2]);
	wait_in_vain();
}

/* early: rank 0 leaves the job without waiting for the others */
static void early(char **args)
{
	if (rank == 0)
		exit(job_close(job));
}

static const struct {
	const char *name;
	int nargs;
	void (*run)(char **args);
} deeds[] = {
	{ "exchange", 2, exchange }, { "lengths", 0, lengths }, { "barrier", 1, barrier },
	{ "wait", 1, wait_there },   { "die", 2, die },         { "stubborn", 1, stubborn },
	{ "watch", 1, watch },       { "exit", 2, leave },      { "abort", 3, abort_job },
	{ "early", 0, early },
};

int main(int argc, char **argv)
{
	struct job *other;

	CHECK(argc > 1);
	CHECK(job_open(&job) == 0);
	CHECK(job_open(&other) == EALREADY);
	rank = job_rank(job);
	size = job_size(job);
	for (size_t i = 0; i < sizeof(deeds) / sizeof(deeds[0]); i++)
		if (!strcmp(argv[1], deeds[i].name)) {
			CHECK(argc == 2 + deeds[i].nargs);
			deeds[i].run(argv + 2);
			CHECK(job_close(job) == 0);
			return 0;
		}
	CHECK(!"a deed");
}
