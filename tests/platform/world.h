/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The user-mode platform without firmware and vnetd. There are NIC memory, and processes that
 * have registered in its client table.
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
/* The region whose pages are checked. */
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
 * Runs each case in its own process. Returns 1 if a case fails, 77 if all were skipped,
 * otherwise 0. Arguments: names of cases to run.
 */
int run_cases(const struct test_case *cases, size_t n, int argc, char **argv);
/* Skips the rest of this case. */
void skip(const char *reason) __attribute__((noreturn));

/* ---------------------------------------------------------------- the world */

extern struct nic nic;
extern struct host host;
/* The agent's ends of channels. */
extern int world_channel[WORLD_CHANNELS];
/* How often a descriptor was requested. */
extern int world_asked;

/* Makes NIC memory, with this process in slot 1 of its table. */
void world_init(void);
/* From now on, the system refuses process_vm_*() to this process. */
void refuse_process_vm(void);
/* Number of open descriptors of this process. */
u32 open_descriptors(void);

/* ----------------------------------------------------------- other processes */

struct target {
	pid_t pid;
	u32 slot;
	u32 space;
	/* For bytes in both directions. */
	int sock;
};

/* Starts a child that registers itself, runs act(), and exits. */
void target_start(struct target *t, u32 slot, u32 generation, void (*act)(struct target *self));
/* Send a byte to the other side; wait for a byte from it. */
void target_tell(const struct target *t, char what);
char target_hear(const struct target *t);
/* Waits for its successful end, and removes it from the table. */
void target_end(struct target *t);
/* The same for a process that does not end by itself: kills it. */
void target_kill(struct target *t);
/* Kills it; it stays in the table until target_notice(). */
void target_kill_unnoticed(struct target *t);
void target_notice(struct target *t);

/* Waits until it is told to end. */
void idle_target(struct target *self);

/* -------------------------------------------------------------------- memory */

/* Memory that is shared with children that are started later, at the same address. */
u8 *shared_memory(size_t length);
/* `length` bytes that end (or begin) at a page without access. */
u8 *fenced_memory(size_t length, bool fence_after);
void fill(u8 *p, size_t length, u8 seed);
bool is_filled(const u8 *p, size_t length, u8 seed);
bool is_all(const u8 *p, size_t length, u8 value);

/* To be called in a loop that waits for another thread, which may need this processor. */
void wait_a_bit(u32 turns);

/* From 0 to n - 1. */
u32 random_below(u32 n);

/* Copies one piece to one piece; copy_in() gives both this region. */
enum nic_copy_result copy(u32 dst_space, const void *dst, u32 src_space, const void *src,
			  u64 length);
enum nic_copy_result copy_in(u32 mr, u32 dst_space, const void *dst, u32 src_space, const void *src,
			     u64 length);

#endif /* WORLD_H */
