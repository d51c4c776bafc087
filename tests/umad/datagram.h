/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Umad files and what goes through them, as the kernel's header describes both. */
#ifndef DATAGRAM_H
#define DATAGRAM_H

#include <rdma/ib_user_mad.h>
#include <rdma/rdma_user_ioctl.h>

#include "check.h"

#define UMAD_FILE "/dev/infiniband/umad0"
#define MAD_SIZE 256
/* Whose class CLASS_VENDOR is here. */
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

/* With its header in front, as write() and read() have it once pkeys are enabled. */
struct datagram {
	struct ib_user_mad_hdr hdr;
	__u8 mad[MAD_SIZE];
};

/* Opened, with pkeys enabled. */
int umad_open(int flags);
/* An agent's number, or -1 and errno; methods: those of requests that it answers. */
int umad_register(int fd, __u8 class, __u32 methods);
/* A request to this port. */
void datagram_make(struct datagram *d, int agent, __u8 class, __u8 method, __u16 attribute);
void datagram_send(int fd, const struct datagram *d);
/* The next one that comes. */
void datagram_read(int fd, struct datagram *d);
/* The same, sent and answered: its status. */
__u16 datagram_ask(int fd, struct datagram *d);

__u16 get16(const struct datagram *d, int at);
__u32 get32(const struct datagram *d, int at);
__u64 get64(const struct datagram *d, int at);
/* This port's. */
__u16 own_lid(void);

#endif
