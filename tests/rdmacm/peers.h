/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Two ends in one process, each with an event channel, that connect by librdmacm. */
#ifndef PEERS_H
#define PEERS_H

#include <rdma/rdma_cma.h>

#include "check.h"

struct peers {
	struct rdma_event_channel *server_channel, *client_channel;
	struct rdma_cm_id *listener, *server, *client;
};

/* A listener with this backlog on a port of its own, and channels. */
void peers_listen(struct peers *peers, enum rdma_port_space ps, int backlog);
/* A client that has a route to it. */
void peers_resolve(struct peers *peers, enum rdma_port_space ps);
void peers_end(struct peers *peers);

#define PEERS_SERVER_QPN 9999
/* The number that the client named last. */
extern u_int32_t peers_qpn;

/* With a queue pair that stays as it is. */
int peers_connect(struct rdma_cm_id *id, const void *data, u_int8_t length);
int peers_accept(struct rdma_cm_id *id, const void *data, u_int8_t length);
/* The next event must be that one; it is not acknowledged. */
struct rdma_cm_event *peers_event(struct rdma_event_channel *channel, enum rdma_cm_event_type type);
/* The same, acknowledged: its status. */
int peers_heard(struct rdma_event_channel *channel, enum rdma_cm_event_type type);

/* To the listener: a client and its server, connected. */
void peers_join(struct peers *peers);

#endif /* PEERS_H */
