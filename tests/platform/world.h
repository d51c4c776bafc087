/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The user-mode platform without firmware and without vnetd: a piece of NIC
 * memory, and processes that have announced themselves in its client table.
 */
#ifndef WORLD_H
#define WORLD_H

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/types.h>

#include "../../usermode/platform/host.h"

#define WORLD_CLIENTS 64
#define WORLD_CHANNELS 16
#define WORLD_MRS 16
/* Region whose pages are to be checked; the others are not. */
#define CHECKED_MR 3
#define WORLD_QUEUE 65536
#define PAGE 4096u

#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))

#define CHECK(what)                                                                                \
	do {                                                                                       \
		if (!(what)) {                                                                     \
			fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__, #what);         \
			_exit(1);                                                                  \
		}                                                                                  \
	} while (0)

#define CHECK_EQUAL(a, b)                                                                          \
	do {                                                                                       \
		long long check_a = (long long)(a), check_b = (long long)(b);                      \
		if (check_a != check_b) {                                                          \
			fprintf(stderr, "%s:%d: %s is %lld, not %lld\n", __FILE__, __LINE__, #a,   \
				check_a, check_b);                                                 \
			_exit(1);                                                                  \
		}                                                                                  \
	} while (0)

struct test_case {
	const char *name;
	void (*run)(void);
};

/*
 * Each case in a process of its own. Status 1 if one of them does not end well,
 * else 77 if all of them were skipped. Arguments: names of cases to run.
 */
int run_cases(const struct test_case *cases, size_t n, int argc, char **argv);
/* Leave out the rest of this case. */
void skip(const char *reason) __attribute__((noreturn));

/* ---------------------------------------------------------------- the world */

extern struct nic nic;
extern struct host host;
/* Agent's ends of channels. */
extern int world_channel[WORLD_CHANNELS];
/* How often a descriptor was asked for. */
extern int world_asked;

/* NIC memory, and this process in slot 1 of its table. */
void world_init(void);
/* The system refuses process_vm_*() to this process from now on. */
void refuse_process_vm(void);
/* How many descriptors this process has. */
u32 open_descriptors(void);

/* ----------------------------------------------------------- other processes */

struct target {
	pid_t pid;
	u32 slot;
	u32 space;
	/* Bytes in both directions. */
	int sock;
};

/* A child that announces itself, runs act(), and ends. */
void target_start(struct target *t, u32 slot, u32 generation, void (*act)(struct target *self));
/* Tell the other side; await what it tells. */
void target_tell(const struct target *t, char what);
char target_hear(const struct target *t);
/* Await its end, which must be a good one, and remove it from the table. */
void target_end(struct target *t);
/* The same for one that does not end by itself. */
void target_kill(struct target *t);
/* Kill it, but let the table say for a while that it lives. */
void target_kill_unnoticed(struct target *t);
void target_notice(struct target *t);

/* Does nothing until it is told to end. */
void idle_target(struct target *self);

/* -------------------------------------------------------------------- memory */

/* Shared with children that are started later, at the same address. */
u8 *shared_memory(size_t length);
/* `length` bytes whose end (or beginning) borders on a page without access. */
u8 *fenced_memory(size_t length, bool fence_after);
void fill(u8 *p, size_t length, u8 seed);
bool is_filled(const u8 *p, size_t length, u8 seed);
bool is_all(const u8 *p, size_t length, u8 value);

/* In a loop that waits for another thread, which may need this processor. */
void wait_a_bit(u32 turns);

/* At least 0, less than n. */
u32 random_below(u32 n);

/* One piece to one piece; and both in this region. */
enum nic_copy_result copy(u32 dst_space, const void *dst, u32 src_space, const void *src,
			  u64 length);
enum nic_copy_result copy_in(u32 mr, u32 dst_space, const void *dst, u32 src_space, const void *src,
			     u64 length);

#endif /* WORLD_H */
