/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Helpers for tests of Active Messages. The first check that fails ends the process, and with it
 * its job.
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

/*
 * The job's bundle and endpoint, this process' rank, and the rank that it sends to, which is the
 * next one.
 */
extern eb_t eb;
extern ep_t ep;
extern int rank, size, peer;

void job_begin(int type);
/* Returns @soak if VNET_SOAK is set, otherwise @slice. */
int how_many(int slice, int soak);

#define POLL_UNTIL(condition)                                                                      \
	do {                                                                                       \
		while (!(condition))                                                               \
			OK(AM_Poll(eb));                                                           \
	} while (0)

/* Fills or checks a buffer with bytes that depend on @seed and position. */
void fill(void *bytes, size_t n, uint32_t seed);
bool filled(const void *bytes, size_t n, uint32_t seed);

/*
 * keep_returned() is an error handler that keeps the last returned message, and counts messages by
 * status.
 */
extern struct came_back {
	int count, by_status[EREPLYREJECTED + 1];
	int status;
	op_t opcode;
	struct am_arguments arguments;
	uint8_t data[AM_MaxMedium()];
} came_back;
void keep_returned(int status, op_t opcode, void *argblock);

/*
 * thread_id() returns the calling thread's ID; asleep() tells whether a thread sleeps in poll(),
 * blocked() whether it waits for a lock.
 */
int thread_id(void);
bool asleep(int thread);
bool blocked(int thread);

#endif
