/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* What a test of the preload library expects, and what it needs of a device. */
#ifndef CHECK_H
#define CHECK_H

#include <errno.h>
#include <infiniband/verbs.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>

#define EXPECT(condition)                                                                          \
	do {                                                                                       \
		if (!(condition)) {                                                                \
			fprintf(stderr, "%s:%d: not so: %s (errno: %s)\n", __FILE__, __LINE__,     \
				#condition, strerror(errno));                                      \
			exit(1);                                                                   \
		}                                                                                  \
	} while (0)

/* For what a sanitizer would rightly complain of. */
#define DELIBERATE __attribute__((no_sanitize("undefined"), no_sanitize("address")))

/* Two RC queue pairs of one process, connected to each other. */
struct pair {
	struct ibv_context *context;
	struct ibv_pd *pd;
	struct ibv_comp_channel *channel;
	/* Completions of both; events go to the channel. */
	struct ibv_cq *cq;
	struct ibv_qp *qp[2];
	struct ibv_mr *mr;
	char *buffer;
};

#define PAIR_BUFFER 8192

/* The first device, opened. */
struct ibv_context *open_first(void);
/* Does it still answer? */
void expect_alive(struct ibv_context *context);
void pair_make(struct pair *pair);
/* The same with a completion queue of this size. */
void pair_make_small(struct pair *pair, int entries);
void pair_end(struct pair *pair);
/* Connect the first queue pair to another process' first, over this socket. */
void pair_join(struct pair *pair, int sock);
/* Send `length` bytes from the buffer's first half to its second. */
void pair_post(struct pair *pair, unsigned int length);
/* The next completion's status; waits. */
enum ibv_wc_status pair_poll(struct pair *pair);
/* One message across, with both completions. */
void expect_traffic(struct pair *pair);

/* The daemon's process, and its socket's path. */
pid_t daemon_pid(void);
/* Wait for a child that must end with this status. */
void expect_exit(pid_t pid, int status);
/* Wait until a condition holds; fails after some seconds. */
#define AWAIT(condition)                                                                           \
	do {                                                                                       \
		int await_turn = 0;                                                                \
		while (!(condition) && ++await_turn < 10000)                                       \
			usleep(1000);                                                              \
		EXPECT(condition);                                                                 \
	} while (0)

#endif /* CHECK_H */
