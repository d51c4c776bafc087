/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The process of the daemon: its options, runtime directory, start and log, and JSON
 * strings. Functions that return
 * int return 0 or -errno unless their comment says otherwise.
 */
#ifndef VNETD_PROCESS_H
#define VNETD_PROCESS_H

#include <stdbool.h>

#include "vnetd.h"

struct daemon;

/* --------------------------------------------------------------- options.c */

#define MAX_NODE_NAME 64
#define DEFAULT_NODE "default"

struct options {
	const char *runtime_dir;
	const char *node;
	/* Comma-separated names. */
	const char *devices;
	bool foreground;
	/* Receives a line when the daemon can be reached, or the reason why not; -1: none. */
	int ready_fd;
	/* Nanoseconds; 0: never. */
	u64 idle_exit;
	/* The link's addresses, key files, peers (comma-separated), faults, settings; or NULL. */
	const char *listen;
	const char *key;
	const char *peers;
	const char *faults;
	const char *settings;
	u32 port;
	/* Link layer of the ports is InfiniBand; else Ethernet. */
	bool infiniband;
};

/* Exits for --help, --version and invalid arguments. */
void options_parse(struct options *options, int argc, char **argv);

/* ------------------------------------------------------------------ main.c */

/* Stores a message for the starting process in daemon->problem. Returns -error. */
int failed(struct daemon *daemon, int error, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/* ---------------------------------------------------------------- rundir.c */

/*
 * rundir_open() creates or checks <runtime directory>/<node>/. rundir_lock() takes the node's
 * lock; -EWOULDBLOCK: another daemon holds it.
 */
int rundir_open(struct daemon *daemon);
int rundir_lock(struct daemon *daemon);
/*
 * Takes the lock of another node, which has no daemon. Until the descriptor is closed, none starts
 * there. Returns the descriptor, or -errno: the node has a daemon, or `dir_fd` is no node.
 */
int rundir_lock_ended(int dir_fd);
/* Whether a daemon listens on the node's socket. */
bool rundir_answers(const struct daemon *daemon);

/* ------------------------------------------------------------- daemonise.c */

/*
 * Forks, unless in the foreground. The parent waits for ready_tell() or ready_fail(), and exits
 * with status 0 or 1.
 */
int daemonise(struct daemon *daemon);
/* Reports to the starting processes that the daemon can be reached. */
void ready_tell(struct daemon *daemon);
/* Reports daemon->problem to the starting processes. */
void ready_fail(struct daemon *daemon);
/* Closes all inherited descriptors but stdio and `keep`. Call before opening any. */
void close_inherited(int keep);
/* Closes descriptors first to last, open or not. */
void close_all_between(unsigned int first, unsigned int last);
void raise_descriptor_limit(void);

/* ------------------------------------------------------------------- log.c */

/* Writes a line to the log, rate-limited. */
void log_line(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* Redirects the log from stderr to <dir>/vnetd.log. */
int log_open(int dir_fd);

/* ------------------------------------------------------------------ json.c */

/* Writes a JSON string with its quotes. Bytes that are not UTF-8 become '?'. */
void json_string(FILE *out, const char *text);
/* ------------------------------------------------------------ agent_life.c */

/* Sets the agent_life words. The kernel sets FUTEX_OWNER_DIED in them when the daemon ends. */
int agent_life_init(struct daemon *daemon);
/* Returns NULL, or a message if an agent_life word was overwritten. */
const char *agent_life_damage(struct daemon *daemon);

#endif /* VNETD_PROCESS_H */
