/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * A client of vnetd for tests: says what the preload library would say, and
 * what it never would. Ends the program with a message where something that
 * the test takes for granted does not work.
 */
#ifndef VNETD_TEST_CLIENT_H
#define VNETD_TEST_CLIENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "../../usermode/vnet_proto.h"

/* A test's expectation. */
#define expect(condition)                                                                          \
	do {                                                                                       \
		if (!(condition))                                                                  \
			fail("%s:%d: not so: %s", __FILE__, __LINE__, #condition);                 \
	} while (0)

void __attribute__((noreturn, format(printf, 1, 2))) fail(const char *format, ...);
void __attribute__((noreturn, format(printf, 1, 2))) skip(const char *format, ...);

/* Run vnetd with these further arguments; its exit status. Waits for it. */
int vnetd_run(char *const more[]);
/* The same with defaults and no idle exit; must succeed. */
void vnetd_start(void);
/* Process id of the daemon, as its socket tells it; 0: nobody answers. */
pid_t vnetd_pid(void);
/* End it, and wait until it is gone. */
void vnetd_kill(int signal);
/* Everything is served still: a new client comes in. */
void vnetd_serves(void);

/* A socket to the daemon; -1 with errno. */
int vnetd_connect(void);

struct welcome {
	struct vnet_msg_welcome msg;
	uint32_t nfds;
	int fd[2 * VNET_MAX_NICS];
};

/*
 * HELLO on a socket; space 0 attaches mem_fd (-1: /proc/self/mem, -2: nothing).
 * Answers welcome.msg.error, or -errno where no answer came.
 */
int hello(int sock, uint32_t space, uint64_t cookie, int mem_fd, struct welcome *welcome);
/* Connection and space of this process. */
int client_enter(struct welcome *welcome);
/* An opened device file: its socket; id and error in *opened. */
int client_open(uint32_t minor, struct vnet_msg_opened *opened);

/* One request, and its reply with at most `room` descriptors: bytes or -errno. */
ssize_t exchange(int sock, const void *request, size_t length, void *reply, size_t size, int *fds,
		 uint32_t *nfds);
/* A request that is answered by struct vnet_msg_result: its error, or -errno. */
int request(int sock, const void *message, size_t length, struct vnet_msg_result *result, int *fd);
/* A message of this type and no more. */
int request_plain(int sock, uint32_t type, int *fd);

bool send_message(int sock, const void *message, size_t length, const int *fds, uint32_t nfds);
/* Does the other end hang up, within a few seconds? Reads what comes before. */
bool hung_up(int sock);

/* Try a condition until it holds, for some seconds. */
bool wait_until(bool (*condition)(void *arg), void *arg);

double now(void);

#endif /* VNETD_TEST_CLIENT_H */
