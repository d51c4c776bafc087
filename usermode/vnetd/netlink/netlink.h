/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The NETLINK_RDMA server for other rooms. inside.h has what the files of this room have in common.
 *
 * Calls clients, link and uverbs.
 */
#ifndef VNETD_NETLINK_H
#define VNETD_NETLINK_H

#include "clients/clients.h"

struct vnet_msg_netlink;

/* Initialises and frees the NETLINK_RDMA part of a file; type is SOCK_RAW or SOCK_DGRAM. */
int netlink_open(struct file *file, u32 type);
void netlink_close(struct file *file);
/* Executes a VNET_MSG_NETLINK request; *value is returned to the program. */
int netlink_call(struct file *file, const struct vnet_msg_netlink *call, u32 *value);
/* Sends queued answers when the socket has room again. */
void netlink_room(struct file *file);

#endif /* VNETD_NETLINK_H */
