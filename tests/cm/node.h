/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The connection manager without the daemon around it: one node with a link, whose
 * programs are the test itself, and other nodes, whose datagrams come to queue pair
 * 1 as the NIC delivers them. The clock stands still unless told, and nothing is
 * random.
 */
#ifndef NODE_H
#define NODE_H

#include "../uverbs/kernel.h"

#include "../../usermode/vnetd/cm/cm.h"

#define NODE_FILES 3
/* An address that no program has. */
#define NODE_NOWHERE 64ull

struct node {
	struct daemon daemon;
	u64 now;
	/* Opened rdma_cm files; sock 0: it is closed. */
	struct file file[NODE_FILES];
	/* Of the send queue of queue pair 1, what was looked at. */
	u32 seen;
	/* The call of getrandom() that fails, counted from the next; 0: none. */
	u32 random_calls;
};

extern struct node node;
/* All that programs let the daemon read and write. */
extern u8 node_memory[4096];

/* As GIDs: the node's own address, and those of two others. */
extern const u8 node_own[16], node_peer[16], node_stranger[16];

/* The node as it is at first, once the last one has ended. */
void node_start(void);
/* Files are closed, connections end by themselves, and then nothing is left. */
void node_end(void);

/* The same, as set-up and tear-down of a test. */
int node_begin(void **state);
int node_finish(void **state);

void node_open(u32 which);
void node_close(u32 which);
/* A write() of a command with `in` bytes: 0 or -errno. */
int node_command(u32 which, u32 command, const void *body, u32 in, u32 out);
/* So much time passes. */
void node_run(u64 ns);

/* A datagram, from a queue pair of another node. */
struct node_datagram {
	const u8 *sgid, *dgid;
	u32 from;
	u32 length;
	const void *bytes;
};

void node_arrive(const struct node_datagram *datagram);
/* A message of the connection manager as it should be, from node_peer. */
void node_hear(const struct mad *mad);
/* The next message that left by queue pair 1 since the last call. */
bool node_said(struct mad *mad);

/* What every id, event and connection says of the others is true. */
void node_check(void);

/* -- what programs do: -errno, or as it says */

/* Handles. */
int node_create(u32 which, u16 ps, u64 uid);
int node_bind(u32 which, u16 ps, u16 port);
int node_listen(u32 which, u16 ps, u16 port, u32 backlog);
/* An id that has a route to the node that has this GID. */
int node_resolve(u32 which, u16 ps, const u8 *gid, u16 port);
/* An id that has asked the node that has this GID for a connection. */
int node_connect(u32 which, u16 ps, const u8 *gid, u16 port);
int node_accept(u32 which, u32 id, u64 uid);
int node_destroy(u32 which, u32 id);
/* The next event. */
int node_event(u32 which, struct rdma_ucm_event_resp *event);
/* A command that has nothing but an id. */
int node_simple(u32 which, u32 command, u32 id);

/* -- what other nodes say */

/* A request for a connection to a port. */
void node_req(struct mad *mad, u16 port, u32 local_id, u32 qpn);
/* The question which queue pair serves a port. */
void node_sidr_req(struct mad *mad, u16 port, u32 id);
/* Any other message about a connection. */
void node_about(struct mad *mad, enum cm_attribute attribute, u32 local_id, u32 remote_id);

/* -- what a test expects */

/* The next event of this file. */
struct rdma_ucm_event_resp expect_event(u32 which, u32 type);
void expect_no_event(u32 which);
/* The next message that left: node_said(). */
struct mad expect_said(enum cm_attribute attribute);
void expect_silence(void);

#endif /* NODE_H */
