/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The PMIx server of one job on one machine.
 *
 * It gives the processes their ranks, and transfers what they exchange. PMIx calls it in a
 * thread of its own. The launcher polls server_fd(), and then queries the server's state by
 * the functions below.
 */
#ifndef SERVER_H
#define SERVER_H

#include <stdbool.h>

/* State of a process. */
enum member {
	MEMBER_STRANGER, /* has not joined the job */
	MEMBER_JOINED,
	MEMBER_LEFT,
};

struct server_abort {
	int rank;
	int status;
	char message[1024];
};

/*
 * Starts the server for a job of @size processes, with its files in @directory. Returns
 * NULL, or an error message.
 */
const char *server_open(const char *directory, int size);

/* Readable when a process has joined, left or aborted the job, until server_look(). */
int server_fd(void);

/* Clears the event of server_fd(). */
void server_look(void);

enum member server_member(int rank);
bool server_somebody_joined(void);

/* Returns the first abort in *@abort. False: no process has aborted the job. */
bool server_aborted(struct server_abort *abort);

/*
 * Returns the environment of rank @rank: @base and PMIx's variables. To be freed by
 * server_free().
 */
char **server_environment(int rank, char **base);
void server_free(char **environment);

/* Tells the other processes that one has failed. Does not wait. */
void server_tell_death(int rank);

/*
 * Ends the server after all processes have ended. Must not be called if a process has
 * failed: it may have held a lock of PMIx.
 */
void server_close(void);

#endif
