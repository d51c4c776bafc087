/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* LIDs of NICs whose link layer is InfiniBand, and of those that they talk to. */
#ifndef VNETD_LID_H
#define VNETD_LID_H

#include "address/lid.h"
#include "link.h"

enum {
	/* The subnet manager's, who is at no node. */
	LID_SUBNET_MANAGER = NIC_LID_FIRST,
	LID_FIRST_NODE,
};

/* What a path record says of an end. */
struct lid_port {
	u16 lid;
	/* Zero: it is not known. */
	u8 gid[16];
};

/* Give a NIC that has its link a LID: 0, -errno or failed(). */
int lid_claim(struct nic_device *made);
/* The port that has this GID, an address's among them. false: it has no LID. */
bool lid_find(struct daemon *daemon, const u8 *gid, struct lid_port *port);

#endif /* VNETD_LID_H */
