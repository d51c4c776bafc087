/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Client processes for the servers of their files: clients, open files, calls, and access to the
 * memory of clients. connections.h has the connections of clients. Functions that return int
 * return 0 or -errno unless their comment says otherwise.
 *
 * Calls loop and process. control.c passes messages, closed files and dead clients on to the
 * servers (control.h).
 */
#ifndef VNETD_CLIENTS_H
#define VNETD_CLIENTS_H

#include "loop/loop.h"
#include "vnetd.h"

struct daemon;
struct device;
struct uv_block;
struct client_map;

#define NO_PAGE (~0ull)

/* A call waits, until `deadline` at the latest, for grace periods of all NICs (nic_grace_begin()). */
struct client_map_wait {
	bool active;
	/* Of the call. */
	u64 start, length;
	u64 deadline;
	u32 ticket[VNET_MAX_NICS];
};

/* A client process: an address space, and an owner of locks. */
struct client {
	struct daemon *daemon;
	/* Space id, and owner id for lock words. */
	u32 space;
	u32 owner;
	u64 cookie;
	pid_t pid;
	/* Its /proc/self/mem; -1 after its death. */
	int mem_fd;
	/* Its /proc/self/pagemap, maps and status; -1: not accessible. */
	int pagemap_fd;
	int maps_fd;
	int status_fd;
	/* Its memory file, and which of its pages are there (memory.c); NULL: none. */
	struct client_map *map;
	/* Page number that the current call found resident; NO_PAGE: none. */
	u64 present_page;
	/*
	 * When the current call was first tried (plat_clock()), and the socket of its connection.
	 */
	u64 call_since;
	int call_sock;
	bool dead;
	/* References by control connections and by objects. */
	u32 refs;
	/* uverbs: rings that are freed after the client's death. */
	struct uv_block *mapped;
	char command[64];
	struct client *next;
};

/* An open device file, a completion channel, an async event file, or a NETLINK_RDMA socket. */
struct file {
	struct daemon *daemon;
	u32 id;
	enum vnet_file_kind kind;
	/* NULL for NETLINK and RDMA_CM. */
	struct device *device;
	/*
	 * The daemon's end of the socket. UVERBS, RDMA_CM, NETLINK and UMAD: the accepted
	 * connection, on which UMAD delivers datagrams. CHANNEL and ASYNC: one end of a socket pair
	 * whose other end the program holds; a byte in it makes the program's end readable. A
	 * hang-up closes the file.
	 */
	int sock;
	/* The last descriptor is closed; freeing the objects may be parked. */
	bool closing;
	/*
	 * CHANNEL: index and generation in the NIC, set by its creator. NETLINK: the socket's type.
	 */
	u32 number;
	u32 generation;
	/* Private data of uverbs/ (context, channel or async state), netlink/, cm/, or mad/. */
	void *priv;
	struct file *next;
};

/* A call that is being executed. */
struct call {
	struct client *client;
	struct file *file;
	u64 user_addr;
	/* RDMA_CM: id of the file whose descriptor the command names; 0: none. */
	u32 other_file;
	/*
	 * Attached descriptors that the command names: numbers in the process, and in the daemon.
	 */
	const s32 *fd_number;
	const int *fd_attached;
	u32 nfds;
	/* Data of the write() or ioctl(), in the daemon's memory. */
	const u8 *data;
	u32 length;
	/* The result; zeroed before each attempt. */
	struct vnet_msg_result result;
	/* Descriptors to attach (result.nfds), closed after sending. */
	int fd[VNET_RESULT_FDS];
	/* ASYNC_READ: the record that follows the result. */
	u8 record[64];
	u32 record_length;
};

/* ------------------------------------------------------------------ file.c */

/* Creates a CHANNEL or ASYNC file; *peer_fd is the program's end. Returns NULL and errno. */
struct file *file_create(struct daemon *daemon, struct device *device, enum vnet_file_kind kind,
			 void *priv, int *peer_fd);
/* Finds a file by id; NULL if there is none, or it is closing. */
struct file *file_find(struct daemon *daemon, u32 id);
/*
 * Closes the daemon's end and frees the file, if file_create() made it and its descriptor was not
 * passed on. After uverbs_file_close(), the core calls this itself.
 */
void file_destroy(struct file *file);

/* Switches on or off the calls of netlink_room() when the socket has room. */
void file_want_room(struct file *file, bool want);

/*
 * Signals an unread event of a file (ASYNC, RDMA_CM). first: no other is unread, so a byte makes
 * the program's end readable. Otherwise raises an edge for edge-triggered waiters.
 */
void file_tell(struct file *file, bool first);

/* ---------------------------------------------------------------- client.c */

/* Finds a client by space id; NULL if it is gone. */
struct client *client_find(struct daemon *daemon, u32 space);
/* Whether the shared client table has the values that the daemon wrote. */
bool client_table_sane(struct daemon *daemon);
/* Returns a new descriptor of the space's memory, or -errno. */
int client_memory(struct client *client);
/*
 * Returns a new descriptor of the client's memory file, which is created if `make`, or -errno
 * (-ENOENT: there is none).
 */
int client_memory_file(struct client *client, bool make);
/* Whether the range contains whole pages, and all of them are in the client's memory file. */
bool client_maps(const struct client *client, u64 start, u64 length);
/* Whether the client is moving pages of this range into its memory file. */
bool client_moves(const struct client *client, u64 start, u64 length);
/*
 * The client begins to move the whole pages of a range into its memory file, has moved them, or
 * has not, for the reason `why` (enum vnet_unmapped). Returns 0 or -errno.
 */
int client_map_begin(struct client *client, u64 start, u64 length);
int client_map_done(struct client *client, u64 start, u64 length);
int client_map_refused(struct client *client, u64 start, u64 length, u32 why);
/*
 * Pages of this range are in the memory file no longer. Returns the state of the wait for peers
 * that may still use them; NULL: there is no memory file, and no wait.
 */
struct client_map_wait *client_map_gone(struct client *client, u64 start, u64 length);
/* Why the pages of a region are not in the memory file: enum vnet_unmapped. */
u32 client_why_unmapped(const struct client *client, u64 start, u64 length);
/* A reference keeps the structure and its slot, not the process: see `dead`. */
struct client *client_get(struct client *client);
void client_put(struct client *client);

/* --------------------------------------------------------------- usermem.c */

/* The call must be parked, and its handler called again. */
#define UV_PARK 1

/*
 * Copy from and to the memory of a client. Return 0, -EFAULT, or UV_PARK while
 * pages are being brought: the call must be parked. Nothing is written if the caller no longer
 * waits (-EFAULT).
 */
int user_read(struct client *client, void *dst, u64 addr, size_t length);
int user_write(struct client *client, u64 addr, const void *src, size_t length);
/* Makes the pages of a range resident: 0, UV_PARK while they are brought, or -EFAULT. */
int user_bring(struct client *client, u64 addr, u64 length);
/* Whether the caller at the other end of this connection still waits for the answer. */
bool user_waits(int sock);

/* ----------------------------------------------------------------- pager.c */

/* Pagers of all clients. */
struct pagers {
	struct pager *running;
	u32 nrunning;
	/* Ring of the most recent pagers that ended without bringing their pages. */
	u32 failures;
	struct pager_failure {
		u32 space;
		u64 start, end;
		u64 since;
	} failure[16];
};

/*
 * Makes pages of a client resident, by a separate process so that the daemon does not block.
 * Returns 0 if they are resident; -EAGAIN if they are not after wait_ms, in which case the NIC
 * processors are woken when they are; -EFAULT if an attempt that began at `since` (plat_clock())
 * or later failed.
 */
int pager_bring(struct client *client, u64 addr, u64 length, u64 since, int wait_ms);
/* Ends the client's pagers. */
void pager_client_dead(const struct client *client);

#endif /* VNETD_CLIENTS_H */
