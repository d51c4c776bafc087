/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Assignment and look-up of LIDs of InfiniBand ports. */
#ifndef VNETD_LID_H
#define VNETD_LID_H

#include "address/address.h"
#include "vnetd.h"

struct daemon;
struct nic_device;

enum {
	/* LID of the subnet manager, which no node has. */
	LID_SUBNET_MANAGER = NIC_LID_FIRST,
	LID_FIRST_NODE,
};

/* A port as path records describe it. */
struct lid_port {
	u16 lid;
	/* Zero: unknown. */
	u8 gid[16];
};

/* Assigns a LID to a NIC, after link_open(). Returns 0, -errno or failed(). */
int lid_claim(struct nic_device *made);
/* Finds the port with this GID, also of an IP address. Returns false if it has no LID. */
bool lid_find(struct daemon *daemon, const u8 *gid, struct lid_port *port);

#endif /* VNETD_LID_H */
