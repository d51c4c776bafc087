/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Helpers for tests of Split-C. The first check that fails ends the run.
 */
#ifndef SPLITC_TEST_CHECK_H
#define SPLITC_TEST_CHECK_H

#include <splitc.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CHECK(condition)                                                                           \
	do {                                                                                       \
		if (!(condition))                                                                  \
			splitc_error("%s:%d: not so: %s", __FILE_NAME__, __LINE__, #condition);    \
	} while (0)

#define IS(expression, wanted)                                                                     \
	do {                                                                                       \
		long is_got = (long)(expression), is_wanted = (long)(wanted);                      \
		if (is_got != is_wanted)                                                           \
			splitc_error("%s:%d: %s is %ld instead of %ld", __FILE_NAME__, __LINE__,   \
				     #expression, is_got, is_wanted);                              \
	} while (0)

/* The processors to which this one sends, and from which it receives. */
#define NEXT ((MYPROC + 1) % PROCS)
#define BEFORE ((MYPROC + PROCS - 1) % PROCS)

/* Fills or checks a buffer with bytes that depend on @seed and position. */
static inline uint8_t byte_at(uint32_t seed, size_t i)
{
	uint32_t x = (seed + 1) * 0x9e3779b1u + (uint32_t)i * 0x85ebca6bu;

	return (uint8_t)(x >> 24 ^ x >> 11);
}

static inline void fill(void *bytes, size_t n, uint32_t seed)
{
	for (size_t i = 0; i < n; i++)
		((uint8_t *)bytes)[i] = byte_at(seed, i);
}

static inline bool filled(const void *bytes, size_t n, uint32_t seed)
{
	for (size_t i = 0; i < n; i++) {
		if (((const uint8_t *)bytes)[i] != byte_at(seed, i))
			return false;
	}
	return true;
}

/* Messages sent by this node's port, including RDMA; 0 if there is no such counter. */
static inline unsigned long messages_sent(void)
{
	FILE *file = fopen("/sys/class/infiniband/vnet0/ports/1/counters/port_xmit_packets", "re");
	unsigned long n = 0;

	if (!file)
		return 0;
	CHECK(fscanf(file, "%lu", &n) == 1);
	fclose(file);
	return n;
}

/* Returns @soak if VNET_SOAK is set, otherwise @slice. */
static inline int how_many(int slice, int soak)
{
	const char *wanted = getenv("VNET_SOAK");

	return wanted && !strcmp(wanted, "1") ? soak : slice;
}

#endif
