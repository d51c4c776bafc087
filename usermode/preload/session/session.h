/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * A session: the registration of this process with one daemon.
 *
 * A session is one address space, its NICs with their memory mapped here, and the control
 * connections. A process has one session at a time. A forked child starts without one. When the
 * daemon dies, the next use of the device makes a new session with the next daemon. Sessions are
 * never freed, because contexts and descriptors of the program may refer to them.
 */
#ifndef SESSION_H
#define SESSION_H

#include <stdbool.h>
#include <sys/types.h>

#include "base/sys.h"
#include "../../platform/link.h"
#include "../../vnet_proto.h"

struct session;

/* A NIC as mapped in this process; its address is the gate_cookie of contexts. */
struct client_nic {
	struct nic nic;
	/*
	 * True in a forked child: the NIC belongs to the parent. A context that the child has
	 * inherited must not act for the parent.
	 */
	bool foreign;
	/* Time of the last flush after the daemon's death; 0: none. */
	u64 flushed_at;
	struct session *session;
	struct host host;
	u8 *memory;
	u64 size;
	/* Shared memory of the link, NULL if there is no link, and its socket. */
	struct link_memory *link;
	int link_fd;
};

/* A device file, identified by the file in the daemon's tree that represents it. */
struct device_node {
	struct identity id;
	u32 minor;
};

#define SESSION_CONNECTIONS 32

enum tree_folder {
	TREE_SYS,
	TREE_DEV,
	TREE_FOLDERS,
};

/* A connection of the pool of control connections (control.c). */
struct connection {
	/* enum connection_state (control.c): 0: empty, 1: idle, 2: busy. */
	u32 state;
	int fd;
};

struct session {
	pid_t pid;
	u32 space;
	u32 owner;
	u64 cookie;
	/* PID of the daemon. */
	pid_t agent;
	/* Identity of NIC 0's memory file, which identifies the daemon for its whole life. */
	struct identity agent_id;
	u32 nnics;
	struct client_nic *nic[VNET_MAX_NICS];
	u32 nnodes;
	/* The uverbs and umad device of each NIC, and rdma_cm. */
	struct device_node node[2 * VNET_MAX_NICS + 1];
	struct connection connection[SESSION_CONNECTIONS];
	/*
	 * The first control connection. It hangs up when the daemon dies, and further connections
	 * are made through it (VNET_MSG_CONNECT). It carries no requests. -1: none.
	 */
	int door_fd;
	/*
	 * O_PATH descriptors of the folders sys and dev of the daemon's tree. They stay valid when
	 * the path is no longer accessible.
	 */
	int tree_fd[TREE_FOLDERS];
	/* This process' memory file (devices/mapped.c); -1: none yet. */
	int memory_fd;
	/*
	 * The session with the daemon before, or NULL. Its descriptors stay open until this one is
	 * replaced, too.
	 */
	struct session *before;
	/* session_ended() has run. */
	bool ended;
	/*
	 * State of rdma_cm ids that the daemon has published, and what happened to each after the
	 * daemon's death (orphaned_ids.c). NULL: none.
	 */
	const struct vnet_cm_orphans *orphans;
	u8 *wills_done;
	/* All memory that this process has registered lies in [~regions_not_low, regions_high). */
	u64 regions_not_low;
	u64 regions_high;
};

/* Returns the session of this process, or NULL. Makes none. */
struct session *session_current(void);
/*
 * Returns the session of this process, and makes one if necessary. On NULL, *error (error may be
 * NULL) is a negative errno.
 */
struct session *session_get(int *error);

/* Does any session exist? One load. */
bool session_exists(void);
/*
 * Is the caller a child of vfork()? It runs in its parent's memory, but with its own descriptors,
 * so the library's state must not change.
 */
bool session_in_vfork_child(void);
/* Is the daemon alive, and the device not fatal? A few loads. */
bool session_alive(struct session *session);
/*
 * The daemon is dead: flush this process' queue pairs, and wake threads that sleep on completion
 * channels, here and in peers. A channel does not hang up by itself while a peer holds the daemon's
 * end of it, which peers use to wake the channel's owner.
 */
void session_ended(struct session *session);
/* Do both sessions have the same daemon, so that file ids are comparable? */
bool session_same_agent(const struct session *a, const struct session *b);
/* The device whose file in the tree this is, or NULL. */
const struct device_node *session_node(const struct stat *st);
/* The device with this number, or NULL. */
const struct device_node *session_node_of(u32 minor);
/* Descriptor of a folder of the daemon's tree, or -1. Also works in a child of vfork(). */
int session_tree(enum tree_folder folder);
/*
 * session_vacate(): the program needs descriptor number `fd`: descriptors that can be obtained
 * again are closed. The others are moved, which session_fd_moved() records.
 */
void session_vacate(int fd);
void session_fd_moved(int from, int to);

#endif /* SESSION_H */
