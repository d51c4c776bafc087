/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* IP addresses, as rdma_cm has them, and GIDs, as names have them. */
#ifndef AM_ADDRESS_H
#define AM_ADDRESS_H

#include <netinet/in.h>
#include <sys/socket.h>

#include "am_device.h"

/* The setting, or what the port's GID is; port 0. 0 or EINVAL. */
int am_address_own(const struct am_device *device, struct sockaddr_storage *address);
/* @address with port 0. */
void am_address_of(const struct sockaddr *address, struct sockaddr_storage *copy);
/* @port in network order. A link-local one is on the link that @from, our own, is on. */
void am_address_of_gid(const uint8_t *gid, in_port_t port, const struct sockaddr_storage *from,
		       struct sockaddr_storage *to);
void am_address_to_gid(const struct sockaddr *address, uint8_t *gid);

#endif
