/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Helpers for tests of rdma_cm: two ends in one process, each with an event channel. */
#ifndef PEERS_H
#define PEERS_H

#include <netinet/in.h>
#include <rdma/rdma_cma.h>

#include "check.h"

struct peers {
	struct rdma_event_channel *server_channel, *client_channel;
	struct rdma_cm_id *listener, *server, *client;
};

struct sockaddr_in peers_loopback(u_int16_t port);
struct rdma_cm_id *peers_id(struct rdma_event_channel *channel, enum rdma_port_space ps);
/* Creates an id, and resolves an address and the route to it. */
struct rdma_cm_id *peers_route_to(struct rdma_event_channel *channel, enum rdma_port_space ps,
				  struct sockaddr *address);
/* Creates the channels, and a listener with this backlog on a port of its own. */
void peers_listen(struct peers *peers, enum rdma_port_space ps, int backlog);
/* Creates a client, and resolves the listener's address and route. */
void peers_resolve(struct peers *peers, enum rdma_port_space ps);
void peers_end(struct peers *peers);

#define PEERS_SERVER_QPN 9999
/* The queue pair number that the client sent last. */
extern u_int32_t peers_qpn;

/* Connect and accept with a number that belongs to no queue pair of the test. */
int peers_connect(struct rdma_cm_id *id, const void *data, u_int8_t length);
int peers_accept(struct rdma_cm_id *id, const void *data, u_int8_t length);
/* Returns the next event, which must be of this type, without acknowledging it. */
struct rdma_cm_event *peers_event(struct rdma_event_channel *channel, enum rdma_cm_event_type type);
/* Acknowledges CONNECT_REQUEST, and returns the new id. */
struct rdma_cm_id *peers_requested(struct rdma_event_channel *channel);
/* Acknowledges the next event, and returns its status. */
int peers_heard(struct rdma_event_channel *channel, enum rdma_cm_event_type type);

/* Connects a new client to the listener. */
void peers_join(struct peers *peers);

#endif /* PEERS_H */
