/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * What every fault test needs of its own: checks that end the program, seeds
 * that are printed, how many rounds to make, and processes that work together.
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

/* A wait for something that must come fails after so long, in seconds. */
#define PATIENCE 30

#define CHECK(cond)                                                                                \
	((cond) ? (void)0 : die(__FILE__, __LINE__, "not so: %s (errno %d)", #cond, errno))

/* Both sides as numbers, shown when they differ. */
#define CHECK_EQ(is, want) check_equal(__FILE__, __LINE__, #is, (int64_t)(is), (int64_t)(want))

#define FAIL(...) die(__FILE__, __LINE__, __VA_ARGS__)

void die(const char *file, int line, const char *format, ...)
	__attribute__((noreturn, format(printf, 3, 4)));
void check_equal(const char *file, int line, const char *what, int64_t is, int64_t want);
/* A line of progress, with the process' name for itself in front. */
void note(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* "server: " and the like, in front of every line of this process. */
void set_role(const char *name);

/* How many rounds to make: many with VNET_SOAK=1. */
unsigned int rounds(unsigned int slice, unsigned int soak);

/* Random numbers by a seed that is printed; VNET_TEST_SEED repeats a run. */
void seed_random(void);
/* In a helper, so that each has numbers of its own, and nothing is printed. */
void continue_random(uint64_t seed);
uint64_t random_number(void);
/* 0 .. limit - 1 */
uint32_t random_below(uint32_t limit);
void random_bytes(void *dst, size_t length);

uint64_t now_ns(void);
/* Whether `ns` have passed since. */
bool is_past(uint64_t since, uint64_t ns);

/* A process of the test's own, and a socket to it. */
struct helper {
	pid_t pid;
	int sock;
};

/*
 * Fork; before the device is opened, so that each process has it on its own.
 * The child runs `body` and ends with status 0 when it returns.
 */
void helper_start(struct helper *h, const char *role, void (*body)(int sock, void *arg), void *arg);
/* It ends by itself, with status 0. */
void helper_join(struct helper *h);
/* It is ended by SIGKILL. */
void helper_kill(struct helper *h);
/* Messages of a fixed size; hear() dies when none comes. */
void tell(int sock, const void *message, size_t length);
void hear(int sock, void *message, size_t length);
/* "I am there": both sides call it. */
void meet(int sock);

/* The device is the kernel's own: tests/kernel/faults runs us. */
bool in_kernel(void);

/*
 * The answer of jq to a question about "vnet status --json", or what the
 * command in VNET_STATUS prints instead; static memory.
 */
const char *ask_status(const char *question);
/* Ask until it answers so. */
void await_status(const char *question, const char *answer);

#endif /* CHECK_H */
