// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * NETLINK_RDMA sockets: port ids, options, and the queue of answers. The program reads from the
 * other end of the file's socket. Answers that do not fit there are kept until the program has
 * read.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "daemon.h"
#include "inside.h"

/* Port ids that are not requested by number are above this, as in the kernel. */
#define FIRST_OWN_PORT 0x80000000u
/* If more bytes are unread, further requests are dropped. */
#define MOST_UNREAD (256u << 10)

struct answer {
	struct answer *next;
	u32 length;
	u8 bytes[];
};

struct netlink {
	struct file *file;
	/* 0: none yet. */
	u32 port;
	/* A bit for each option that is on. */
	u32 options;
	/* Answers that did not fit into the socket, oldest first. */
	struct answer *head;
	struct answer **tail;
	u32 unread;
};

u32 netlink_port_id(const struct netlink *netlink)
{
	return netlink->port;
}

bool netlink_option(const struct netlink *netlink, u32 option)
{
	return netlink->options & 1u << option;
}

bool netlink_idle(const struct netlink *netlink)
{
	return !netlink->head;
}

bool netlink_is_full(const struct netlink *netlink)
{
	return netlink->unread > MOST_UNREAD;
}

/* ---------------------------------------------------------------- sending */

/* Sends a datagram. Returns false if the socket is full; other errors count as sent. */
static bool pass_on(const struct netlink *netlink, const void *data, u32 length)
{
	return send(netlink->file->sock, data, length, MSG_DONTWAIT | MSG_NOSIGNAL) >= 0 ||
	       (errno != EAGAIN && errno != ENOBUFS && errno != ENOMEM);
}

static void keep(struct netlink *netlink, const void *data, u32 length)
{
	struct answer *answer = malloc(sizeof(*answer) + length);

	if (!answer) {
		log_line("no memory for an answer of RDMA netlink");
		return;
	}
	answer->next = NULL;
	answer->length = length;
	memcpy(answer->bytes, data, length);
	*netlink->tail = answer;
	netlink->tail = &answer->next;
	netlink->unread += length;
}

void netlink_send(struct netlink *netlink, const void *data, u32 length)
{
	bool was_idle = netlink_idle(netlink);

	if (was_idle && pass_on(netlink, data, length))
		return;
	keep(netlink, data, length);
	if (was_idle)
		file_want_room(netlink->file, true);
}

static void drop_first(struct netlink *netlink)
{
	struct answer *answer = netlink->head;

	netlink->head = answer->next;
	if (!netlink->head)
		netlink->tail = &netlink->head;
	netlink->unread -= answer->length;
	free(answer);
}

void netlink_room(struct file *file)
{
	struct netlink *netlink = file->priv;

	while (netlink->head && pass_on(netlink, netlink->head->bytes, netlink->head->length))
		drop_first(netlink);
	if (!netlink->head)
		file_want_room(file, false);
}

/* ------------------------------------------------------------------ ports */

static bool port_taken(struct daemon *daemon, u32 port)
{
	const struct file *file;

	for (u32 i = 0; i < FILE_BUCKETS; i++)
		for (file = daemon->files[i]; file; file = file->next)
			if (file->kind == VNET_FILE_NETLINK && file->priv &&
			    ((const struct netlink *)file->priv)->port == port)
				return true;
	return false;
}

/* Assigns a free port id: `wish`, if it is set and free. */
static void choose_port(struct daemon *daemon, struct netlink *netlink, u32 wish)
{
	u32 port = wish;

	for (u32 next = FIRST_OWN_PORT; !port || port_taken(daemon, port); next++)
		port = next;
	netlink->port = port;
}

static int bind_port(struct daemon *daemon, struct netlink *netlink, u32 port, bool no_other)
{
	if (netlink->port)
		return no_other && port == netlink->port ? 0 : -EINVAL;
	if (!no_other)
		choose_port(daemon, netlink, port);
	else if (port_taken(daemon, port))
		return -EADDRINUSE;
	else
		netlink->port = port;
	return 0;
}

/* ---------------------------------------------------------------- options */

/* Boolean options of SOL_NETLINK. Some have no effect here; their value is stored. */
static bool is_switch(u32 option)
{
	switch (option) {
	case NETLINK_PKTINFO:
	case NETLINK_BROADCAST_ERROR:
	case NETLINK_NO_ENOBUFS:
	case NETLINK_CAP_ACK:
	case NETLINK_EXT_ACK:
	case NETLINK_GET_STRICT_CHK:
		return true;
	default:
		return false;
	}
}

static int set_option(struct netlink *netlink, u32 option, bool on)
{
	/* There are no multicast groups, and an unprivileged user may join none. */
	if (option == NETLINK_ADD_MEMBERSHIP || option == NETLINK_DROP_MEMBERSHIP)
		return -EPERM;
	if (!is_switch(option))
		return -ENOPROTOOPT;
	netlink->options &= ~(1u << option);
	netlink->options |= (u32)on << option;
	return 0;
}

/* --------------------------------------------------------------- requests */

static int take_datagram(struct daemon *daemon, struct netlink *netlink, u32 wish, const u8 *data,
			 u32 length)
{
	if (!length)
		return -ENODATA;
	if (netlink_is_full(netlink))
		return -ENOBUFS;
	if (!netlink->port)
		choose_port(daemon, netlink, wish);
	netlink_receive(daemon, netlink, data, length);
	return (int)length;
}

int netlink_call(struct file *file, const struct vnet_msg_netlink *call, u32 *value)
{
	struct netlink *netlink = file->priv;
	int ret = 0;

	*value = 0;
	switch (call->op) {
	case VNET_NETLINK_SEND:
		ret = take_datagram(file->daemon, netlink, call->argument, (const u8 *)(call + 1),
				    call->msg.length - (u32)sizeof(*call));
		*value = ret > 0 ? (u32)ret : 0;
		return ret < 0 ? ret : 0;
	case VNET_NETLINK_BIND:
		return bind_port(file->daemon, netlink, call->argument, call->value);
	case VNET_NETLINK_NAME:
		*value = netlink->port;
		return 0;
	case VNET_NETLINK_GET_OPTION:
		*value = is_switch(call->argument) && netlink_option(netlink, call->argument);
		return is_switch(call->argument) ? 0 : -ENOPROTOOPT;
	case VNET_NETLINK_SET_OPTION:
		return set_option(netlink, call->argument, call->value);
	default:
		return -EINVAL;
	}
}

/* ------------------------------------------------------------------- life */

int netlink_open(struct file *file, u32 type)
{
	struct netlink *netlink;

	if (type != SOCK_RAW && type != SOCK_DGRAM)
		return -ESOCKTNOSUPPORT;
	netlink = calloc(1, sizeof(*netlink));
	if (!netlink)
		return -ENOMEM;
	netlink->file = file;
	netlink->tail = &netlink->head;
	file->number = type;
	file->priv = netlink;
	return 0;
}

void netlink_close(struct file *file)
{
	struct netlink *netlink = file->priv;

	if (!netlink)
		return;
	while (netlink->head)
		drop_first(netlink);
	free(netlink);
	file->priv = NULL;
}
