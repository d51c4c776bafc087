/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Helpers for tests of management datagrams by umad files. */
#ifndef DATAGRAM_H
#define DATAGRAM_H

#include <rdma/ib_user_mad.h>
#include <rdma/rdma_user_ioctl.h>

#include "check.h"

#define UMAD_FILE "/dev/infiniband/umad0"
#define MAD_SIZE 256
/* The vendor (OUI) of CLASS_VENDOR. */
#define OUI 0x123456

enum { CLASS_SUBNET = 0x01, CLASS_PERFORMANCE = 0x04, CLASS_VENDOR = 0x32, CLASS_DIRECTED = 0x81 };
enum { GET = 0x01, SET = 0x02, RESPONSE = 0x80 };
enum {
	NODE_INFO = 0x11,
	PORT_INFO = 0x15,
	SUBNET_MANAGER_INFO = 0x20,
	COUNTERS = 0x12,
	COUNTERS_EXTENDED = 0x1d
};

/* A datagram as write() and read() have it after P_Key indices were enabled. */
struct datagram {
	struct ib_user_mad_hdr hdr;
	__u8 mad[MAD_SIZE];
};

/* Opens the file, and enables P_Key indices. */
int umad_open(int flags);
/* Registers an agent that answers requests with these methods (a bit mask). Returns its id or -1. */
int umad_register(int fd, __u8 class, __u32 methods);
/* Makes a request to this port. */
void datagram_make(struct datagram *d, int agent, __u8 class, __u8 method, __u16 attribute);
void datagram_send(int fd, const struct datagram *d);
/* Reads the next datagram. */
void datagram_read(int fd, struct datagram *d);
/* Sends the request, and replaces it by the response. Returns the status of the response. */
__u16 datagram_ask(int fd, struct datagram *d);

__u16 get16(const struct datagram *d, int at);
__u32 get32(const struct datagram *d, int at);
__u64 get64(const struct datagram *d, int at);
/* Returns the LID of this port. */
__u16 own_lid(void);

#endif
