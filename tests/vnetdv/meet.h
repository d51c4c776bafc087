/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Helpers for tests with two processes, which execute the same steps and synchronize by a socket.
 */
#ifndef MEET_H
#define MEET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

#include <infiniband/vnetdv.h>

#define HERE 128
/* The GID that contains the node's address. */
#define GID_INDEX 1
#define QKEY 0x1234u
#define GRH 40u

/* Name of the current step, for error messages. */
extern char here[HERE];

#define CHECK(what)                                                                                \
	do {                                                                                       \
		if (!(what)) {                                                                     \
			fprintf(stderr, "%s:%d: %s (%s)\n", __FILE__, __LINE__, #what, here);      \
			exit(1);                                                                   \
		}                                                                                  \
	} while (0)

struct address {
	uint32_t qpn, rkey;
	uint64_t addr;
	union ibv_gid gid;
};

/* What each of the two processes has. The tests themselves make the objects from `mr` on. */
struct side {
	struct ibv_context *ctx;
	struct vnetdv_ops dv;
	struct ibv_pd *pd;
	uint8_t *buffer;
	/* The socket to the other process, and which of the two this one is. */
	int sock;
	bool sends;

	struct ibv_mr *mr;
	struct ibv_cq *cq;
	struct ibv_qp *qp;
	struct address peer;
};

/*
 * Meets the other process as the command line says (receive|send SOCKET [DEVICE]), opens the
 * device, whose vnetdv_context must have `flag`, and allocates the PD and the buffer.
 */
void side_start(struct side *s, int argc, char **argv, uint64_t flag, size_t length);
/* Frees what side_start() made, and prints "ok". */
void side_end(struct side *s);
/* The sides exchange the addresses of their queue pairs, GIDs and buffers. Returns the own one. */
struct address side_exchange(struct side *s);
/* Waits until the other process calls it as well. */
void meet(int sock);

struct ibv_wc wait_for(struct ibv_cq *cq);

/* Opens the device of this name, or the first one if there is no name. */
struct ibv_context *open_named(const char *name);

#endif
