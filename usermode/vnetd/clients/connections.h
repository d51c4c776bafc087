/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Connections of client processes, the guardian, and what control.c and listen.c do with clients
 * and files. Functions that return int return 0 or -errno unless their comment says otherwise.
 */
#ifndef VNETD_CONNECTIONS_H
#define VNETD_CONNECTIONS_H

#include "clients.h"

/* ------------------------------------------------------------------ conn.c */

struct conn {
	struct daemon *daemon;
	struct source source;
	struct parked parked;
	pid_t pid;
	/* The client; NULL before HELLO. */
	struct client *client;
	/* Deadline for the first message; NEVER once it has arrived. */
	u64 greet_by;
	/* Descriptors attached to the current or the parked message; -1: taken by a handler. */
	int attached[VNET_MSG_FDS];
	u32 nattached;
	/* When the current call was first tried (plat_clock()). */
	u64 call_since;
	/* Message of the parked call. */
	struct vnet_msg *message;
	/* File whose count of parked calls includes this one. */
	struct file *file;
	struct conn *prev, *next;
};

/* Takes ownership of fd, an accepted connection of the daemon's own user. */
void conn_new(struct daemon *daemon, int fd, pid_t pid);
void conn_close(struct conn *conn);
/* Closes connections that sent no first message in time. Returns the time of the next call. */
u64 conn_run(struct daemon *daemon, u64 now);
/* Closes all connections of a dead client. */
void conn_close_client(struct daemon *daemon, struct client *client);
/*
 * Sends a message with descriptors, without waiting. If the peer has closed the connection or does
 * not read its replies, closes the connection and returns false.
 */
bool conn_send(struct conn *conn, const void *message, u32 length, const int *fds, u32 nfds);
/* The same for a socket without a struct conn; closes nothing. */
bool socket_send(int sock, const void *message, u32 length, const int *fds, u32 nfds);
/* Frees the connection without closing its socket, which is returned: it becomes a file. */
int conn_release(struct conn *conn);

/* ---------------------------------------------------------------- client.c */

/*
 * Files of a process' folder in /proc, opened by the process itself; -1 if not passed. The daemon
 * cannot always open them by PID: access fails if the process has changed its user, or is in
 * another PID or user namespace.
 */
struct client_files {
	int fd[4];
	/* Number of descriptors that were attached, of any kind. */
	u32 given;
};

/* Moves those of the n descriptors that are such files into `files`; they become -1 in `fd`. */
void client_files_take(struct client_files *files, int *fd, u32 n, pid_t pid);
/* Creates a client; always takes the files. Returns NULL on failure, with an errno in *error. */
struct client *client_new(struct daemon *daemon, pid_t pid, struct client_files *files,
			  const char *command, int *error);
/* Destroys a client that did not receive its WELCOME. Its process may send HELLO again. */
void client_gave_up(struct client *client);
/* Count control connections of a client. A close also probes whether its space has ended. */
void client_conn_added(struct client *client);
void client_conn_closed(struct client *client);
/* Ends a client's space before exec() (CALL_PARK: peers still copy), or takes that back. */
enum call_outcome client_leave(struct client *client);
void client_stay(struct client *client);
u32 client_conns(const struct client *client);
/* Whether the client has sent LEAVE: its space is not valid at present. */
bool client_left(const struct client *client);
/* Probes clients without a pidfd or a connection. Returns the time of the next call. */
u64 client_run(struct daemon *daemon, u64 now);

/* ---------------------------------------------------------------- memory.c */

/* Frees the memory file of a dead client. */
void client_map_free(struct client *client);

/* ------------------------------------------------------------------ file.c */

/*
 * Makes a file of an accepted FILE or NETLINK connection; takes sock if it succeeds. cookie:
 * SO_COOKIE of the program's end, or 0. Returns NULL on failure, and the caller closes sock.
 */
struct file *file_accept(struct daemon *daemon, struct device *device, enum vnet_file_kind kind,
			 int sock, u64 cookie);
/* Returns the file that has `fd` as the program's end of its socket, or NULL. */
struct file *file_by_descriptor(struct daemon *daemon, int fd);
/* Returns the file that received this nonce (VNET_MSG_ADOPT), or NULL. */
struct file *file_by_nonce(struct daemon *daemon, u64 nonce);
/* Counts parked calls on a file, which delay its closing. */
void file_call_begin(struct file *file);
void file_call_end(struct file *file);

/* Sends channels to the guardian that it does not have yet. Returns true when it has all. */
bool files_guard(struct daemon *daemon);

/* -------------------------------------------------------------- guardian.c */

int guardian_start(struct daemon *daemon);
/*
 * Has the guardian shut down this socket when the daemon dies. Returns false if the guardian's
 * socket is full; files_guard() is called when there is room.
 */
bool guardian_keep(struct daemon *daemon, int fd);
void guardian_forget(struct daemon *daemon, int fd);

#endif /* VNETD_CONNECTIONS_H */
