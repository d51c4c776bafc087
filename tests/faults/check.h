/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Helpers of all fault tests: checks, seeded random numbers, and helper processes. A failed
 * check prints a message and ends the process.
 */
#ifndef CHECK_H
#define CHECK_H

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>

/* Time limit, in seconds, of each wait for something that must happen. */
#define TIME_LIMIT 30

#define CHECK(cond)                                                                                \
	((cond) ? (void)0 : die(__FILE__, __LINE__, "not so: %s (errno %d)", #cond, errno))

/* Compares two integers, and prints both if they differ. */
#define CHECK_EQ(is, want) check_equal(__FILE__, __LINE__, #is, (int64_t)(is), (int64_t)(want))

/* The pointer that a call returned; NULL fails the test. */
#define MADE(call) check_made(__FILE__, __LINE__, #call, call)

#define FAIL(...) die(__FILE__, __LINE__, __VA_ARGS__)

void die(const char *file, int line, const char *format, ...)
	__attribute__((noreturn, format(printf, 3, 4)));
void check_equal(const char *file, int line, const char *what, int64_t is, int64_t want);
void *check_made(const char *file, int line, const char *what, void *made);
/* Prints a line of progress, behind the role of this process. */
void note(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* Sets the prefix of all lines that this process prints, for example "server". */
void set_role(const char *name);

/* Number of rounds: `soak` if VNET_SOAK=1, otherwise `slice`. */
unsigned int rounds(unsigned int slice, unsigned int soak);

/* Seeds the random numbers, and prints the seed; VNET_TEST_SEED repeats a run. */
void seed_random(void);
/* Seeds those of a helper process with its own seed, without printing. */
void continue_random(uint64_t seed);
uint64_t random_number(void);
/* 0 .. limit - 1 */
uint32_t random_below(uint32_t limit);
void random_bytes(void *dst, size_t length);

uint64_t now_ns(void);
/* Whether more than `ns` nanoseconds have passed since `since`. */
bool is_past(uint64_t since, uint64_t ns);

/* A child process of the test, and a socket to it. */
struct helper {
	pid_t pid;
	int sock;
};

/*
 * Forks a child that runs `body`, and exits with status 0 when `body` returns. To be called
 * before the device is opened, so that each process opens its own.
 */
void helper_start(struct helper *h, const char *role, void (*body)(int sock, void *arg), void *arg);
/* Waits until the child exits, and checks that its status is 0. */
void helper_join(struct helper *h);
/* Kills the child, and checks that SIGKILL ended it. */
void helper_kill(struct helper *h);
/* Send and receive a message of fixed size. hear() fails after TIME_LIMIT seconds. */
void tell(int sock, const void *message, size_t length);
void hear(int sock, void *message, size_t length);
/* Barrier of the two processes that share the socket. */
void meet(int sock);

/* Whether the device is that of the driver: tests/kernel/faults runs this test in a guest. */
bool in_kernel(void);

/*
 * Applies a jq filter to the output of "vnet status --json", or of the command in VNET_STATUS.
 * Returns the result in static memory.
 */
const char *ask_status(const char *question);
/* Repeats ask_status() until the result is `answer`. */
void await_status(const char *question, const char *answer);

#endif /* CHECK_H */
