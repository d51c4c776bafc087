/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Converts between IP addresses, as rdma_cm uses, and GIDs, as endpoint names contain. */
#ifndef AM_ADDRESS_H
#define AM_ADDRESS_H

#include <netinet/in.h>
#include <sys/socket.h>

#include "device/am_device.h"

/*
 * The IP address of this process: the setting "address", or from the port's GID. Port 0. 0
 * or EINVAL.
 */
int am_address_own(const struct am_device *device, struct sockaddr_storage *address);
/* Copies @address, with port 0. */
void am_address_of(const struct sockaddr *address, struct sockaddr_storage *copy);
/* @port is in network byte order. A link-local address gets the scope of @from, our own address. */
void am_address_of_gid(const uint8_t *gid, in_port_t port, const struct sockaddr_storage *from,
		       struct sockaddr_storage *to);
void am_address_to_gid(const struct sockaddr *address, uint8_t *gid);

#endif
