/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * A session: this process as the daemon knows it. One address space, its NICs
 * with their memory mapped here, and the control connections. A process has
 * one at a time; a forked child starts without one, and when a daemon has died
 * the next use of the device makes another with the next daemon. Sessions are
 * never freed: contexts and descriptors of the program may name them.
 */
#ifndef SESSION_H
#define SESSION_H

#include <stdbool.h>
#include <sys/types.h>

#include "../platform/link.h"
#include "../vnet_proto.h"
#include "sys.h"

struct session;

/* A NIC as this process sees it; a context's gate_cookie is its address. */
struct client_nic {
	struct nic nic;
	/*
	 * Not this process' any more: it was forked since. Whoever uses an old
	 * context in the child must not act as the parent.
	 */
	bool foreign;
	/* Clock of the last flush after the daemon's death; 0: none. */
	u64 flushed_at;
	struct session *session;
	struct host host;
	u8 *memory;
	u64 size;
	/* Memory of the link (NULL: there is none), and its socket. */
	struct link_memory *link;
	int link_fd;
};

/* A device file: the file in the daemon's tree that stands for it. */
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

/* A control connection; see control.c. */
struct connection {
	/* 0: nothing here; 1: free to use; 2: in use. */
	u32 state;
	int fd;
};

struct session {
	pid_t pid;
	u32 space;
	u32 owner;
	u64 cookie;
	/* The daemon's process. */
	pid_t agent;
	/* Memory of NIC 0: which daemon this is, once and for all. */
	struct identity agent_id;
	u32 nnics;
	struct client_nic *nic[VNET_MAX_NICS];
	u32 nnodes;
	/* Of each NIC, for verbs and for datagrams, and the connection manager's. */
	struct device_node node[2 * VNET_MAX_NICS + 1];
	struct connection connection[SESSION_CONNECTIONS];
	/*
	 * The first control connection: hangs up when the daemon dies, and others are made by
	 * it (VNET_MSG_CONNECT). It carries no requests. -1: none.
	 */
	int door_fd;
	/* The folders sys and dev of the daemon's tree, whoever may come there by name. */
	int tree_fd[TREE_FOLDERS];
	/* Its end has been acted on (session_ended). */
	bool ended;
	/* Of ids of rdma_cm, and what became of each since the end; see will.c. NULL: none. */
	const struct vnet_cm_wills *wills;
	u8 *wills_done;
	/* Whatever this process registered lies in [~regions_not_low, regions_high). */
	u64 regions_not_low;
	u64 regions_high;
};

/* The session of this process, or NULL; never starts anything. */
struct session *session_current(void);
/* The same, made if need be. NULL: *error (may be NULL) is a negative errno. */
struct session *session_get(int *error);

/* Is there any? One load. */
bool session_exists(void);
/*
 * Is this a child of vfork(), which runs in its parent's memory with descriptors
 * of its own? Then nothing that we remember may change.
 */
bool session_borrowed(void);
/* Is its daemon alive, and the device well? A few loads. */
bool session_alive(struct session *session);
/*
 * Its daemon is dead: flush what this process has, and wake those who sleep on
 * completion channels, here and in its peers. A channel would not hang up by
 * itself while some peer keeps the daemon's end of it to wake its owner.
 */
void session_ended(struct session *session);
/* Both with the same daemon, so that its file ids mean the same? */
bool session_same_agent(const struct session *a, const struct session *b);
/* Device of this file in the tree; NULL if it is none. */
const struct device_node *session_node(const struct stat *st);
/* By its number. */
const struct device_node *session_node_of(u32 minor);
/* A folder of its daemon's tree, held; -1. Also in a child of vfork(). */
int session_tree(enum tree_folder folder);
/*
 * The program wants this number of ours: what can be had anew is closed. The
 * rest is moved, and we are told of it.
 */
void session_vacate(int fd);
void session_fd_moved(int from, int to);

#endif /* SESSION_H */
