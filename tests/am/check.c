// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Helpers for tests of Active Messages. */
#include "check.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

eb_t eb;
ep_t ep;
int rank, size = 1, peer;
struct came_back came_back;

void check_failed(const char *file, int line, const char *what, long got, long wanted)
{
	const char *name = strrchr(file, '/');

	fprintf(stderr, "%s:%d: rank %d: not so: %s", name ? name + 1 : file, line, rank, what);
	if (got != wanted)
		fprintf(stderr, " is %ld instead of %ld", got, wanted);
	fprintf(stderr, "\n");
	fflush(stdout);
	_exit(99);
}

void job_begin(int type)
{
	OK(AM_SPMDStartup(type, &eb, &ep));
	rank = AM_SPMDMyProc();
	size = AM_SPMDNumProcs();
	peer = (rank + 1) % size;
}

int how_many(int slice, int soak)
{
	const char *wanted = getenv("VNET_SOAK");

	return wanted && !strcmp(wanted, "1") ? soak : slice;
}

static uint8_t byte_at(uint32_t seed, size_t i)
{
	uint32_t x = (seed + 1) * 0x9e3779b1u + (uint32_t)i * 0x85ebca6bu;

	return (uint8_t)(x >> 24 ^ x >> 11);
}

void fill(void *bytes, size_t n, uint32_t seed)
{
	uint8_t *b = bytes;

	for (size_t i = 0; i < n; i++)
		b[i] = byte_at(seed, i);
}

bool filled(const void *bytes, size_t n, uint32_t seed)
{
	const uint8_t *b = bytes;

	for (size_t i = 0; i < n; i++) {
		if (b[i] != byte_at(seed, i))
			return false;
	}
	return true;
}

void keep_returned(int status, op_t opcode, void *argblock)
{
	const struct am_arguments *a = argblock;

	CHECK(status > 0 && status <= EREPLYREJECTED);
	came_back.count++;
	came_back.by_status[status]++;
	came_back.status = status;
	came_back.opcode = opcode;
	came_back.arguments = *a;
	if (a->source && a->nbytes <= sizeof(came_back.data))
		memcpy(came_back.data, a->source, a->nbytes);
}

int thread_id(void)
{
	return (int)syscall(SYS_gettid);
}

/*
 * The number of the system call that the thread is in, or -1. /proc/.../syscall contains the number
 * and arguments, or "running".
 */
static long call_of(int thread)
{
	char path[64], text[32] = "";
	int fd;

	snprintf(path, sizeof(path), "/proc/self/task/%d/syscall", thread);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -1;
	if (read(fd, text, sizeof(text) - 1) < 0)
		text[0] = '\0';
	close(fd);
	return text[0] >= '0' && text[0] <= '9' ? strtol(text, NULL, 10) : -1;
}

bool asleep(int thread)
{
	long number = call_of(thread);

	return number == SYS_poll || number == SYS_ppoll;
}

bool blocked(int thread)
{
	return call_of(thread) == SYS_futex;
}
