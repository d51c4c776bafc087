/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The connection manager without the daemon: one node with a link. The test plays the programs
 * and the other nodes, whose datagrams arrive on queue pair 1 as the NIC delivers them. The
 * test controls the clock, and nothing is random.
 */
#ifndef NODE_H
#define NODE_H

#include "../uverbs/kernel.h"

#include "../../usermode/vnetd/cm/inside.h"

#define NODE_FILES 3
/* An address that is not mapped. */
#define NODE_NOWHERE 64ull

struct node {
	struct daemon daemon;
	u64 now;
	/* Open rdma_cm files; sock 0: closed. */
	struct file file[NODE_FILES];
	/* Index in the send queue of queue pair 1 up to which messages were read. */
	u32 seen;
	/* Which of the next calls of getrandom() fails; 0: none. */
	u32 random_calls;
};

extern struct node node;
/* All memory of programs that the daemon may access. */
extern u8 node_memory[4096];

/* GIDs of the node itself and of two others. */
extern const u8 node_own[16], node_peer[16], node_stranger[16];

/* Starts a node in its initial state. The previous one must have ended. */
void node_start(void);
/* Closes files, lets connections end, and checks that nothing is left. */
void node_end(void);

/* The same, as setup and teardown of a test. */
int node_begin(void **state);
int node_finish(void **state);
#define NODE_TEST(name) cmocka_unit_test_setup_teardown(name, node_begin, node_finish)

void node_open(u32 which);
void node_close(u32 which);
/* Writes a command with `in` bytes. Returns 0 or -errno. */
int node_command(u32 which, u32 command, const void *body, u32 in, u32 out);
/* Advances the clock by ns. */
void node_run(u64 ns);

/* A datagram from a queue pair of another node. */
struct node_datagram {
	const u8 *sgid, *dgid;
	u32 from;
	u32 length;
	const void *bytes;
};

void node_arrive(const struct node_datagram *datagram);
/* A valid message of the connection manager arrives from node_peer. */
void node_hear(const struct mad *mad);
/* The next message that left through queue pair 1; false if there is none. */
bool node_said(struct mad *mad);

/* Checks that IDs, events and connections are consistent. */
void node_check(void);

/* -- commands of programs; return -errno on failure */

/* These return handles. */
int node_create(u32 which, u16 ps, u64 uid);
int node_bind(u32 which, u16 ps, u16 port);
int node_listen(u32 which, u16 ps, u16 port, u32 backlog);
/* An ID with a route to the node with this GID. */
int node_resolve(u32 which, u16 ps, const u8 *gid, u16 port);
/* An ID that has requested a connection from the node with this GID. */
int node_connect(u32 which, u16 ps, const u8 *gid, u16 port);
int node_accept(u32 which, u32 id, u64 uid);
int node_destroy(u32 which, u32 id);
/* Reads the next event. */
int node_event(u32 which, struct rdma_ucm_event_resp *event);
/* A command with nothing but an ID. */
int node_simple(u32 which, u32 command, u32 id);

/* -- messages of other nodes */

/* A connection request (REQ) for a port. */
void node_req(struct mad *mad, u16 port, u32 local_id, u32 qpn);
/* A SIDR_REQ for a port. */
void node_sidr_req(struct mad *mad, u16 port, u32 id);
/* Any other message about a connection. */
void node_about(struct mad *mad, enum cm_attribute attribute, u32 local_id, u32 remote_id);

/* -- expectations */

/* Reads the next event of this file, which must be of this type. */
struct rdma_ucm_event_resp expect_event(u32 which, u32 type);
void expect_no_event(u32 which);
/* Takes the next message that left, which must be of this kind. */
struct mad expect_said(enum cm_attribute attribute);
void expect_silence(void);

#endif /* NODE_H */
