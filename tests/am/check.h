/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * What the tests of Active Messages share. A program that ends is one whose
 * claims all held: the first that does not ends the process, and its job.
 */
#ifndef AM_TEST_CHECK_H
#define AM_TEST_CHECK_H

#include <am_spmd.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

void check_failed(const char *file, int line, const char *what, long got, long wanted)
	__attribute__((noreturn));

#define CHECK(condition)                                                                           \
	do {                                                                                       \
		if (!(condition))                                                                  \
			check_failed(__FILE__, __LINE__, #condition, 0, 0);                        \
	} while (0)

#define IS(expression, wanted)                                                                     \
	do {                                                                                       \
		long is_got = (long)(expression), is_wanted = (long)(wanted);                      \
		if (is_got != is_wanted)                                                           \
			check_failed(__FILE__, __LINE__, #expression, is_got, is_wanted);          \
	} while (0)

#define OK(call) IS(call, AM_OK)

/* The job's endpoint, and the one that this process sends to: the next rank. */
extern eb_t eb;
extern ep_t ep;
extern int rank, size, peer;

void job_begin(int type);
/* As many as VNET_SOAK wants: @slice, or @soak. */
int how_many(int slice, int soak);

#define POLL_UNTIL(condition)                                                                      \
	do {                                                                                       \
		while (!(condition))                                                               \
			OK(AM_Poll(eb));                                                           \
	} while (0)

/* Bytes that differ with @seed and place. */
void fill(void *bytes, size_t n, uint32_t seed);
bool filled(const void *bytes, size_t n, uint32_t seed);

/*
 * The error handler that keeps the last message that came back, and counts them
 * by status.
 */
extern struct came_back {
	int count, by_status[EREPLYREJECTED + 1];
	int status;
	op_t opcode;
	struct am_arguments arguments;
	uint8_t data[AM_MaxMedium()];
} came_back;
void keep_returned(int status, op_t opcode, void *argblock);

/* Of the calling thread, and waiting until another one sleeps in poll() or *@flag. */
int thread_id(void);
bool asleep(int thread);

#endif
