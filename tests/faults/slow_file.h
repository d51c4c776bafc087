/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * A file whose pages come when the test says so: a FUSE server of one file, in a
 * process of its own, which keeps read requests back while it is told to.
 *
 * A page fault on such a page sleeps in the kernel, in whichever process touches it,
 * and no signal ends it. It ends when the server answers, or when the server is gone:
 * then the kernel aborts the connection, and the access fails. So the server never
 * outlives the process that started it, nor SLOW_FILE_LIFE.
 */
#ifndef SLOW_FILE_H
#define SLOW_FILE_H

#include "check.h"

#define SLOW_PAGE 4096u
/* Seconds after which the server ends by itself. */
#define SLOW_FILE_LIFE 170

struct slow_control;

struct slow_file {
	/* The file; to be mapped with slow_file_map(). */
	int fd;
	size_t length;
	/* What the server answers with, and what is written back to it; shared memory. */
	uint8_t *content;
	struct slow_control *control;
	pid_t server;
	/* Wakes the server. */
	int wake;
};

/*
 * Mounts the file in a mount namespace that this process and its children to come have for
 * themselves (as an ordinary user in a user namespace, too: the process may have no threads
 * yet). NULL, or why it is not to be had: a reason to skip the test.
 */
const char *slow_file_start(struct slow_file *f, size_t length);
/* The server ends: whoever waits for a page gets an error, no matter who it is. */
void slow_file_stop(struct slow_file *f);

/* MAP_SHARED or MAP_PRIVATE, for reading and writing; pages come one by one. */
uint8_t *slow_file_map(const struct slow_file *f, int flags);

/* From now on, read requests are kept back. */
void slow_file_hold(struct slow_file *f);
/* Answers the request that has been kept back longest. */
void slow_file_release_one(struct slow_file *f);
/* Answers all, and those to come at once. */
void slow_file_release(struct slow_file *f);
/* Waits until so many requests are kept back: somebody waits for a page. */
void slow_file_await_kept(const struct slow_file *f, uint32_t count);

#endif /* SLOW_FILE_H */
