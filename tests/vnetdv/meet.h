/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Two processes that go through the same steps, and meet at a socket before each. */
#ifndef MEET_H
#define MEET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

#include <infiniband/verbs.h>

#define HERE 128

/* What is being tried, for complaints. */
extern char here[HERE];

#define CHECK(what)                                                                                \
	do {                                                                                       \
		if (!(what)) {                                                                     \
			fprintf(stderr, "%s:%d: %s (%s)\n", __FILE__, __LINE__, #what, here);      \
			exit(1);                                                                   \
		}                                                                                  \
	} while (0)

/* The socket at this path, of who listens and who comes. */
int meeting_place(const char *path, bool listens);
/* What each has for the other. */
void exchange(int sock, const void *mine, void *theirs, size_t length);
void meet(int sock);

/* The device of this name; the first without one. */
struct ibv_context *open_named(const char *name);

#endif
