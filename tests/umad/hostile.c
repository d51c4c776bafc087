// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Writes random bytes, and datagrams with random fields, to umad files, and does not read all
 * responses. The daemon must survive, and must answer correct requests afterwards.
 */
#include <arpa/inet.h>
#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "datagram.h"

#define TURNS 60000
#define FILES 4

static __u64 state = 88172645463325252ull;

static __u32 any(__u32 below)
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return (__u32)(state >> 16) % below;
}

static __u8 any_class(void)
{
	static const __u8 classes[] = {
		CLASS_SUBNET, CLASS_PERFORMANCE, CLASS_VENDOR, CLASS_DIRECTED, 0, 7
	};

	return any(8) ? classes[any(sizeof(classes))] : (__u8)any(256);
}

static void strike(int fd)
{
	struct {
		struct datagram d;
		__u8 more[40];
	} room = { .more = { 0 } };
	struct datagram d;

	datagram_make(&d, (int)(any(8) ? any(4) : any(64)), any_class(),
		      (__u8)(any(3) ? GET : any(256)), (__u16)(any(4) ? COUNTERS : any(64)));
	d.hdr.timeout_ms = any(4) ? any(3) : any(UINT32_MAX);
	d.hdr.retries = any(4) ? any(3) : any(UINT32_MAX);
	if (!any(4))
		d.hdr.lid = htons((__u16)any(65536));
	for (__u32 i = any(3) ? 0 : any(16); i; i--)
		d.mad[any(MAD_SIZE)] = (__u8)any(256);
	room.d = d;
	(void)!write(fd, &room, any(16) ? sizeof(d) : any(sizeof(room)));
	/* Writes to the daemon's socket directly, without the preload library. */
	if (!any(64))
		(void)!send(fd, &d, any(sizeof(d)), MSG_DONTWAIT | MSG_NOSIGNAL);
}

static void ask_anything(int fd)
{
	struct ib_user_mad_reg_req req = {
		.qpn = (__u8)any(3),
		.mgmt_class = any_class(),
		.mgmt_class_version = (__u8)any(3),
		.rmpp_version = (__u8)any(3),
	};
	__u32 id = any(40);

	/* The words of the mask are not aligned. */
	memset(req.method_mask, (int)any(256), sizeof(req.method_mask));
	if (any(2))
		(void)ioctl(fd, IB_USER_MAD_REGISTER_AGENT, &req);
	else
		(void)ioctl(fd, IB_USER_MAD_UNREGISTER_AGENT, &id);
}

static void be_hostile(void)
{
	int fd[FILES] = { -1, -1, -1, -1 };
	struct datagram d;

	for (int i = 0; i < TURNS; i++) {
		__u32 which = any(FILES);

		if (fd[which] < 0 || !any(500)) {
			close(fd[which]);
			fd[which] = open(UMAD_FILE, O_RDWR | O_CLOEXEC | O_NONBLOCK);
			EXPECT(fd[which] >= 0);
		}
		if (!any(4))
			ask_anything(fd[which]);
		strike(fd[which]);
		if (!any(3))
			(void)!read(fd[which], &d, any(sizeof(d) + 1));
	}
	for (int i = 0; i < FILES; i++)
		close(fd[i]);
}

int main(void)
{
	int fd, agent;
	pid_t before;
	struct datagram d;

	own_lid();
	before = daemon_pid();
	be_hostile();
	EXPECT(daemon_pid() == before);
	fd = umad_open(0);
	agent = umad_register(fd, CLASS_SUBNET, 0);
	datagram_make(&d, agent, CLASS_SUBNET, GET, PORT_INFO);
	EXPECT(!datagram_ask(fd, &d) && get16(&d, 64 + 16) == own_lid());
	return 0;
}
