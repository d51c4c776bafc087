/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The link's socket, which is the test's: datagrams come from whom it says, joined as it
 * says, and nothing leaves the process.
 */
#ifndef SOCKET_H
#define SOCKET_H

#include "../../usermode/platform/link.h"

/* What is on the way, at most. */
#define SOCKET_DATAGRAMS 16u
/* The longest that there is. */
#define SOCKET_ROOM 65507u

struct datagram {
	union link_address from;
	u32 length;
	/* The system says that it joined frames of this length, whatever that is. */
	bool joined;
	int segment;
	u8 bytes[SOCKET_ROOM];
};

/* One to fill in, which then is on the way; NULL: there are too many. */
struct datagram *socket_next(void);
void socket_arrive(void);
/* None is any more. */
void socket_clear(void);
/* The descriptor that host_link_open() wants. */
int socket_descriptor(void);

/* By the test: the link has been given a datagram; has sent a frame; has one for the firmware. */
void on_arrival(const struct datagram *datagram);
void on_departure(const union link_address *to, const u8 *frame, u32 length);
void on_frame(struct nic *nic, const struct nic_address *from, u8 *frame, u32 length,
	      const struct nic_proof *proof);

#endif /* SOCKET_H */
