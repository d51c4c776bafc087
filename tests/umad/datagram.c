// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "datagram.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <sys/ioctl.h>
#include <unistd.h>

__u16 get16(const struct datagram *d, int at)
{
	return (__u16)(d->mad[at] << 8 | d->mad[at + 1]);
}

__u32 get32(const struct datagram *d, int at)
{
	return (__u32)get16(d, at) << 16 | get16(d, at + 2);
}

__u64 get64(const struct datagram *d, int at)
{
	return (__u64)get32(d, at) << 32 | get32(d, at + 4);
}

__u16 own_lid(void)
{
	static __u16 lid;
	struct ibv_context *context;
	struct ibv_port_attr port;

	if (lid)
		return lid;
	context = open_first();
	EXPECT(!ibv_query_port(context, 1, &port));
	lid = port.lid;
	ibv_close_device(context);
	return lid;
}

int umad_open(int flags)
{
	int fd = open(UMAD_FILE, O_RDWR | O_CLOEXEC | flags);

	EXPECT(fd >= 0);
	EXPECT(!ioctl(fd, IB_USER_MAD_ENABLE_PKEY, NULL));
	return fd;
}

int umad_register(int fd, __u8 class, __u32 methods)
{
	struct ib_user_mad_reg_req req = {
		.qpn = class != CLASS_SUBNET && class != CLASS_DIRECTED,
		.mgmt_class = class,
		.mgmt_class_version = 1,
		.method_mask = { methods },
		.oui = { OUI >> 16, OUI >> 8 & 0xff, OUI & 0xff },
	};

	return ioctl(fd, IB_USER_MAD_REGISTER_AGENT, &req) ? -1 : (int)req.id;
}

void datagram_make(struct datagram *d, int agent, __u8 class, __u8 method, __u16 attribute)
{
	static __u32 transaction;

	memset(d, 0, sizeof(*d));
	d->hdr.id = (__u32)agent;
	d->hdr.timeout_ms = 10000;
	d->hdr.lid = htons(class == CLASS_DIRECTED ? 0xffff : own_lid());
	d->hdr.qpn = htonl(class != CLASS_SUBNET && class != CLASS_DIRECTED);
	d->mad[0] = 1;
	d->mad[1] = class;
	d->mad[2] = 1;
	d->mad[3] = method;
	d->mad[15] = (__u8)++transaction;
	d->mad[16] = (__u8)(attribute >> 8);
	d->mad[17] = (__u8)attribute;
	if (class == CLASS_VENDOR) {
		d->mad[37] = OUI >> 16;
		d->mad[38] = OUI >> 8 & 0xff;
		d->mad[39] = OUI & 0xff;
	}
	/* PortSelect of the counters. */
	d->mad[65] = class == CLASS_PERFORMANCE;
}

void datagram_send(int fd, const struct datagram *d)
{
	EXPECT(write(fd, d, sizeof(*d)) == sizeof(*d));
}

void datagram_read(int fd, struct datagram *d)
{
	EXPECT(read(fd, d, sizeof(*d)) == sizeof(*d));
}

__u16 datagram_ask(int fd, struct datagram *d)
{
	__u8 transaction = d->mad[15], class = d->mad[1];

	datagram_send(fd, d);
	datagram_read(fd, d);
	EXPECT(!d->hdr.status && ntohs(d->hdr.lid) == own_lid());
	EXPECT(d->mad[1] == class && d->mad[3] & RESPONSE && d->mad[15] == transaction);
	return get16(d, 4) & 0x7fff;
}
