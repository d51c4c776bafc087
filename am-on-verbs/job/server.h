/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The PMIx server of one job on one machine: tells its processes who they are
 * and carries what they exchange. PMIx calls it in a thread of its own; what
 * the launcher must know of it is asked for here, when a descriptor says so.
 */
#ifndef SERVER_H
#define SERVER_H

#include <stdbool.h>

/* How a process stands to the job. */
enum member {
	MEMBER_STRANGER, /* has not joined */
	MEMBER_JOINED,
	MEMBER_LEFT,
};

struct server_abort {
	int rank;
	int status;
	char message[1024];
};

/*
 * Start it, for a job of @size processes; its files are below @directory.
 * NULL, or what went wrong.
 */
const char *server_open(const char *directory, int size);

/* Readable when a process has joined or called for an abort, until looked at. */
int server_fd(void);

/* Takes what made server_fd() readable. */
void server_look(void);

enum member server_member(int rank);
bool server_somebody_joined(void);

/* The first call for an abort; false: there was none. */
bool server_aborted(struct server_abort *abort);

/* The environment of rank @rank: @base with PMIx's in addition; free with server_free(). */
char **server_environment(int rank, char **base);
void server_free(char **environment);

/* Tell the other processes that one died. Waits for nobody. */
void server_tell_death(int rank);

/* End it, when all processes are gone. Not after a death: who dies may hold locks of PMIx's. */
void server_close(void);

#endif
