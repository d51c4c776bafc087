/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Helpers for tests of the preload library: expectations, and connected pairs of queue pairs. */
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

/* The call returns -1, and sets errno to this error. */
#define REFUSES(call, error)                                                                       \
	do {                                                                                       \
		errno = 0;                                                                         \
		EXPECT((call) == -1);                                                              \
		EXPECT(errno == (error));                                                          \
	} while (0)

/* Functions that access memory in a way that a sanitizer would report. */
#define DELIBERATE __attribute__((no_sanitize("undefined"), no_sanitize("address")))

/* Two RC queue pairs of one process, connected to each other. */
struct pair {
	struct ibv_context *context;
	struct ibv_pd *pd;
	struct ibv_comp_channel *channel;
	/* The CQ of both queue pairs, with events to the channel. */
	struct ibv_cq *cq;
	struct ibv_qp *qp[2];
	struct ibv_mr *mr;
	char *buffer;
};

#define PAIR_BUFFER 8192

/* Opens the first device. */
struct ibv_context *open_first(void);
/* Expects that the device carries out a command. */
void expect_alive(struct ibv_context *context);
void pair_make(struct pair *pair);
/* The same with a completion queue of this size. */
void pair_make_small(struct pair *pair, int entries);
void pair_end(struct pair *pair);
/*
 * Connects the first queue pair to the first one of another process, which calls this at the other
 * end of the socket.
 */
void pair_join(struct pair *pair, int sock);
/* Sends `length` bytes from the first half of the buffer to the second. */
void pair_post(struct pair *pair, unsigned int length);
/* Waits for the next completion, and returns its status. */
enum ibv_wc_status pair_poll(struct pair *pair);
/* Sends one message, and expects both completions. */
void expect_traffic(struct pair *pair);

/* Returns the process ID of the daemon. */
pid_t daemon_pid(void);
/* Waits for a child, which must exit with this status. */
void expect_exit(pid_t pid, int status);
/* Send and receive n descriptors (at most 2) with one byte of data. */
void send_fds(int sock, const int *fds, unsigned int n);
void receive_fds(int sock, int *fds, unsigned int n);
/* Waits until the condition holds; fails after ten seconds or more. */
#define AWAIT(condition)                                                                           \
	do {                                                                                       \
		int await_turn = 0;                                                                \
		while (!(condition) && ++await_turn < 10000)                                       \
			usleep(1000);                                                              \
		EXPECT(condition);                                                                 \
	} while (0)

#endif /* CHECK_H */
