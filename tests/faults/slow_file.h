/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * A file whose pages arrive when the test releases them: a FUSE server of one file. The server
 * is a separate process, which holds back read requests while it is told to.
 *
 * A page fault on such a page sleeps in the kernel, in the process that touches it, and no
 * signal ends it. It ends when the server answers, or when the server is gone: then the kernel
 * aborts the connection, and the access fails. So the server never outlives the process that
 * started it, nor SLOW_FILE_LIFE.
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
	/* Content of the file, in shared memory; writes to the file go there, too. */
	uint8_t *content;
	struct slow_control *control;
	pid_t server;
	/* Wakes the server. */
	int wake;
};

/*
 * Mounts the file in a new mount namespace of this process and its later children. For an
 * ordinary user, also in a new user namespace, so the process must not have threads yet.
 * Returns NULL, or the reason to skip the test.
 */
const char *slow_file_start(struct slow_file *f, size_t length);
/* Kills the server: processes that wait for a page get an error. */
void slow_file_stop(struct slow_file *f);

/* Maps the file for reading and writing, MAP_SHARED or MAP_PRIVATE. Pages come one by one. */
uint8_t *slow_file_map(const struct slow_file *f, int flags);

/* From now on, the server holds back read requests. */
void slow_file_hold(struct slow_file *f);
/* Answers the oldest request that is held back. */
void slow_file_release_one(struct slow_file *f);
/* Answers all requests that are held back, and later ones at once. */
void slow_file_release(struct slow_file *f);
/* Waits until at least `count` requests are held back, so a process waits for a page. */
void slow_file_await_kept(const struct slow_file *f, uint32_t count);

#endif /* SLOW_FILE_H */
