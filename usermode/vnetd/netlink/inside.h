/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Internal interface of NETLINK_RDMA: sockets, requests, and messages. Functions that return int
 * return 0 or the negative errno value that the kernel would return.
 */
#ifndef NETLINK_INSIDE_H
#define NETLINK_INSIDE_H

#include <linux/netlink.h>
#include <rdma/rdma_netlink.h>

#include "netlink.h"

/* Limit of a datagram: a page, less the kernel's overhead, as programs expect. */
#define NETLINK_ROOM 3776

/* --------------------------------------------------------------- message.c */

/* A datagram that is being built. */
struct netlink_message {
	/* Offset of the current message. */
	u32 start;
	u32 length;
	/* Data that did not fit was left out. */
	bool full;
	u8 bytes[NETLINK_ROOM] __attribute__((aligned(8)));
};

void netlink_begin(struct netlink_message *message, u32 type, u32 flags, u32 seq, u32 port);
void netlink_end(struct netlink_message *message);
/* Truncates the datagram to `length`, and clears `full`. */
void netlink_cut(struct netlink_message *message, u32 length);

void netlink_put(struct netlink_message *message, u32 type, const void *data, u32 length);
void netlink_put_u8(struct netlink_message *message, u32 type, u8 value);
void netlink_put_u32(struct netlink_message *message, u32 type, u32 value);
void netlink_put_u64(struct netlink_message *message, u32 type, u64 value);
void netlink_put_string(struct netlink_message *message, u32 type, const char *text);
/* Attributes up to netlink_nest_end() are nested in this one. */
u32 netlink_nest(struct netlink_message *message, u32 type);
void netlink_nest_end(struct netlink_message *message, u32 nest);

/* --------------------------------------------------------------- request.c */

struct netlink;

/* The current request and its answer. */
struct netlink_request {
	struct daemon *daemon;
	struct netlink *netlink;
	const struct nlmsghdr *header;
	/* enum rdma_nldev_command */
	u32 command;
	bool dump;
	/* Attributes by type. Those present have been checked for their minimum length. */
	const struct nlattr *attr[RDMA_NLDEV_ATTR_MAX];
	struct netlink_message answer;
};

/* Executes the requests in a datagram; queues the answers. */
void netlink_receive(struct daemon *daemon, struct netlink *netlink, const u8 *data, u32 length);

bool netlink_has(const struct netlink_request *request, u32 type);
u32 netlink_get_u32(const struct netlink_request *request, u32 type);
/* Returns the device that the request names, or NULL. */
struct device *netlink_device(const struct netlink_request *request);
/* Stores the requested port, 0 if there is none. -EINVAL: there is no such port. */
int netlink_port(const struct netlink_request *request, u32 *port);

/*
 * netlink_answer() begins a message of the answer, with the device's index and name.
 * netlink_answer_end() queues it; -EMSGSIZE: it did not fit.
 */
void netlink_answer(struct netlink_request *request, u32 command, const struct device *device);
int netlink_answer_end(struct netlink_request *request);

/* ---------------------------------------------------------------- device.c */

int netlink_get(struct netlink_request *request);
int netlink_port_get(struct netlink_request *request);
int netlink_sys_get(struct netlink_request *request);
int netlink_chardev_get(struct netlink_request *request);
int netlink_stat_get(struct netlink_request *request);
int netlink_stat_status(struct netlink_request *request);

/* --------------------------------------------------------------- objects.c */

int netlink_summary(struct netlink_request *request);
/* Lists objects of the kind that the command names. */
int netlink_objects(struct netlink_request *request);
/* Lists memory regions with their counters, of which there are none. */
int netlink_stat_regions(struct netlink_request *request);

/* --------------------------------------------------------------- netlink.c */

/* The socket's port id; whether an option of SOL_NETLINK is on. */
u32 netlink_port_id(const struct netlink *netlink);
bool netlink_option(const struct netlink *netlink, u32 option);
/* Whether all answers have been passed to the socket. */
bool netlink_idle(const struct netlink *netlink);
/* Whether more than the limit is queued because the program does not read. */
bool netlink_is_full(const struct netlink *netlink);
/* Sends or queues a copy of a datagram. It is lost if there is no memory, as netlink permits. */
void netlink_send(struct netlink *netlink, const void *data, u32 length);

#endif /* NETLINK_INSIDE_H */
