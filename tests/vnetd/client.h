/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Client of vnetd for tests: speaks the preload library's protocol, correctly or not. Functions end
 * the program with a message if what the test relies on does not work.
 */
#ifndef VNETD_TEST_CLIENT_H
#define VNETD_TEST_CLIENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "../../usermode/vnet_proto.h"

/* Fails the test unless the condition holds. */
#define expect(condition)                                                                          \
	do {                                                                                       \
		if (!(condition))                                                                  \
			fail("%s:%d: not so: %s", __FILE__, __LINE__, #condition);                 \
	} while (0)

void __attribute__((noreturn, format(printf, 1, 2))) fail(const char *format, ...);
void __attribute__((noreturn, format(printf, 1, 2))) skip(const char *format, ...);

/* Runs vnetd with these further arguments, waits for it, and returns its exit status. */
int vnetd_run(char *const more[]);
/* The same with default arguments and no idle exit; must succeed. */
void vnetd_start(void);
/* Returns the process ID of the daemon, as its socket tells it; 0 if nothing answers. */
pid_t vnetd_pid(void);
/* Ends the daemon with this signal, and waits until it is gone. */
void vnetd_kill(int signal);
/* Expects that the daemon accepts a new client. */
void vnetd_serves(void);

/* Returns a socket to the daemon; -1 with errno. */
int vnetd_connect(void);

struct welcome {
	struct vnet_msg_welcome msg;
	uint32_t nfds;
	int fd[2 * VNET_MAX_NICS];
};

/*
 * Sends HELLO. With space 0, it attaches mem_fd (-1: /proc/self/mem, -2: no descriptor). Returns
 * welcome.msg.error, or -errno if there was no answer.
 */
int hello(int sock, uint32_t space, uint64_t cookie, int mem_fd, struct welcome *welcome);
/* Returns a connection, with the space of this process in *welcome. */
int client_enter(struct welcome *welcome);
/* Opens a device file. Returns its socket; id and error are in *opened. */
int client_open(uint32_t minor, struct vnet_msg_opened *opened);

/*
 * Sends a request and receives its reply, with at most *nfds descriptors. Returns bytes or -errno.
 */
ssize_t exchange(int sock, const void *request, size_t length, void *reply, size_t size, int *fds,
		 uint32_t *nfds);
/* A request whose reply is struct vnet_msg_result. Returns its error, or -errno. */
int request(int sock, const void *message, size_t length, struct vnet_msg_result *result, int *fd);
/* A request that consists of a type only. */
int request_plain(int sock, uint32_t type, int *fd);

bool send_message(int sock, const void *message, size_t length, const int *fds, uint32_t nfds);
/* Waits up to a few seconds for a hang-up. Discards what is received before. */
bool hung_up(int sock);

/* Waits some seconds for a condition. Returns its last value. */
bool wait_until(bool (*condition)(void *arg), void *arg);

double now(void);

#endif /* VNETD_TEST_CLIENT_H */
