/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Helpers for tests with two processes, which execute the same steps and synchronize by a socket.
 */
#ifndef MEET_H
#define MEET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

#include <infiniband/verbs.h>

#define HERE 128

/* Name of the current step, for error messages. */
extern char here[HERE];

#define CHECK(what)                                                                                \
	do {                                                                                       \
		if (!(what)) {                                                                     \
			fprintf(stderr, "%s:%d: %s (%s)\n", __FILE__, __LINE__, #what, here);      \
			exit(1);                                                                   \
		}                                                                                  \
	} while (0)

/* Returns a connected socket: one process listens at this path, the other one connects. */
int meeting_place(const char *path, bool listens);
/* Sends `mine` to the peer, and receives the peer's as `theirs`. */
void exchange(int sock, const void *mine, void *theirs, size_t length);
void meet(int sock);

/* Opens the device of this name, or the first one if there is no name. */
struct ibv_context *open_named(const char *name);

#endif
