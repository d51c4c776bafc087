/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * NETLINK_RDMA, between its files: messages as they are written, requests as
 * they were read, sockets. Functions that answer int give 0 or a negative errno
 * value, which the kernel would give in that place.
 */
#ifndef NETLINK_H
#define NETLINK_H

#include <linux/netlink.h>
#include <rdma/rdma_netlink.h>

#include "daemon.h"

/*
 * What a datagram holds: the kernel fills a page, less what it needs itself,
 * and programs have room for that.
 */
#define NETLINK_ROOM 3776

/* -------------------------------------------------------- netlink_message.c */

/* A datagram in the making. */
struct netlink_message {
	/* Where the message that was begun last starts. */
	u32 start;
	u32 length;
	/* Something found no room, and is not in it. */
	bool full;
	u8 bytes[NETLINK_ROOM] __attribute__((aligned(8)));
};

void netlink_begin(struct netlink_message *message, u32 type, u32 flags, u32 seq, u32 port);
void netlink_end(struct netlink_message *message);
/* Forget what was written since, and that it found no room. */
void netlink_cut(struct netlink_message *message, u32 length);

void netlink_put(struct netlink_message *message, u32 type, const void *data, u32 length);
void netlink_put_u8(struct netlink_message *message, u32 type, u8 value);
void netlink_put_u32(struct netlink_message *message, u32 type, u32 value);
void netlink_put_u64(struct netlink_message *message, u32 type, u64 value);
void netlink_put_string(struct netlink_message *message, u32 type, const char *text);
/* Attributes until the end are inside of this one. */
u32 netlink_nest(struct netlink_message *message, u32 type);
void netlink_nest_end(struct netlink_message *message, u32 nest);

/* -------------------------------------------------------- netlink_request.c */

struct netlink;

/* A request that is in hand, and what answers it. */
struct netlink_request {
	struct daemon *daemon;
	struct netlink *netlink;
	const struct nlmsghdr *header;
	/* enum rdma_nldev_command */
	u32 command;
	bool dump;
	/* By type; those that are there are long enough. */
	const struct nlattr *attr[RDMA_NLDEV_ATTR_MAX];
	struct netlink_message answer;
};

/* Carry out what is in a datagram; answers are queued. */
void netlink_receive(struct daemon *daemon, struct netlink *netlink, const u8 *data, u32 length);

bool netlink_has(const struct netlink_request *request, u32 type);
u32 netlink_get_u32(const struct netlink_request *request, u32 type);
/* The device that is asked for; NULL: none, or there is no such. */
struct device *netlink_device(const struct netlink_request *request);
/* The port, 0 if none is asked for: -EINVAL where there is no such. */
int netlink_port(const struct netlink_request *request, u32 *port);

/*
 * Begin a message of the answer, with what names the device; and put it on its
 * way. -EMSGSIZE: it had no room.
 */
void netlink_answer(struct netlink_request *request, u32 command, const struct device *device);
int netlink_answer_end(struct netlink_request *request);

/* --------------------------------------------------------- netlink_device.c */

int netlink_get(struct netlink_request *request);
int netlink_port_get(struct netlink_request *request);
int netlink_sys_get(struct netlink_request *request);
int netlink_chardev_get(struct netlink_request *request);
int netlink_stat_get(struct netlink_request *request);
int netlink_stat_status(struct netlink_request *request);

/* -------------------------------------------------------- netlink_objects.c */

int netlink_summary(struct netlink_request *request);
/* Objects of the kind that the command names. */
int netlink_objects(struct netlink_request *request);
/* Memory regions, with what is counted for each (nothing is). */
int netlink_stat_regions(struct netlink_request *request);

/* ---------------------------------------------------------------- netlink.c */

/* Port id, and an option of SOL_NETLINK that is on. */
u32 netlink_port_id(const struct netlink *netlink);
bool netlink_option(const struct netlink *netlink, u32 option);
/* Nothing that was answered waits for the program. */
bool netlink_idle(const struct netlink *netlink);
/* The program does not read, and has enough to read. */
bool netlink_crowded(const struct netlink *netlink);
/* Queue a datagram, a copy. No memory: the answer is lost, as it may be. */
void netlink_send(struct netlink *netlink, const void *data, u32 length);

#endif /* NETLINK_H */
