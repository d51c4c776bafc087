/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The link's socket, emulated by the test. The test supplies datagrams and their sources, and
 * nothing leaves the process.
 */
#ifndef SOCKET_H
#define SOCKET_H

#include "../../usermode/platform/link.h"

/* Maximum number of datagrams in transit. */
#define SOCKET_DATAGRAMS 16u
/* Maximum length of a datagram. */
#define SOCKET_ROOM 65507u

struct datagram {
	union link_address from;
	u32 length;
	/* The kernel reports a segment length (any value) for coalesced frames. */
	bool joined;
	int segment;
	u8 bytes[SOCKET_ROOM];
};

/*
 * socket_next() returns a datagram to fill in, or NULL if too many are in transit.
 * socket_arrive() puts it in transit.
 */
struct datagram *socket_next(void);
void socket_arrive(void);
/* Drops all datagrams in transit. */
void socket_clear(void);
/* The descriptor for host_link_open(). */
int socket_descriptor(void);

/* Callbacks: the link has received a datagram, sent a frame, or has a frame for the firmware. */
void on_arrival(const struct datagram *datagram);
void on_departure(const union link_address *to, const u8 *frame, u32 length);
void on_frame(struct nic *nic, const struct nic_address *from, u8 *frame, u32 length,
	      const struct nic_proof *proof);

#endif /* SOCKET_H */
