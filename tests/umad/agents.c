// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Tests of umad files: agents, requests, responses, timeouts and refused calls. Also tests the
 * responses of the port itself.
 */
#include <arpa/inet.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "datagram.h"

#define REFUSED(call, why)                                                                         \
	do {                                                                                       \
		errno = 0;                                                                         \
		EXPECT((call) == -1 && errno == (why));                                            \
	} while (0)

static void expect_text(const char *path, const char *text)
{
	char line[64];
	FILE *file = fopen(path, "r");

	EXPECT(file && fgets(line, sizeof(line), file));
	line[strcspn(line, "\n")] = '\0';
	EXPECT(!strcmp(line, text));
	fclose(file);
}

static void names(void)
{
	struct stat st, opened;
	int fd;

	expect_text("/sys/class/infiniband_mad/abi_version", "5");
	expect_text("/sys/class/infiniband_mad/umad0/ibdev", "vnet0");
	expect_text("/sys/class/infiniband_mad/umad0/port", "1");
	expect_text("/sys/class/infiniband_mad/umad0/dev", "231:0");
	EXPECT(!stat(UMAD_FILE, &st) && S_ISCHR(st.st_mode) && st.st_rdev == makedev(231, 0));
	fd = umad_open(0);
	EXPECT(!fstat(fd, &opened) && opened.st_rdev == st.st_rdev && opened.st_ino == st.st_ino);
	close(fd);
}

static void registering(void)
{
	struct ib_user_mad_reg_req req = { .qpn = 2, .mgmt_class_version = 1 };
	struct ib_user_mad_reg_req2 second = { .qpn = 1, .flags = 1 };
	int fd = umad_open(0), other = umad_open(0);
	__u32 id;

	REFUSED(ioctl(fd, IB_USER_MAD_REGISTER_AGENT, &req), EINVAL);
	req.qpn = 1;
	req.mgmt_class = CLASS_SUBNET;
	REFUSED(ioctl(fd, IB_USER_MAD_REGISTER_AGENT, &req), EINVAL);
	req.qpn = 0;
	req.mgmt_class_version = 8;
	REFUSED(ioctl(fd, IB_USER_MAD_REGISTER_AGENT, &req), EINVAL);
	REFUSED(ioctl(fd, IB_USER_MAD_REGISTER_AGENT, NULL), EFAULT);
	REFUSED(ioctl(fd, IB_USER_MAD_REGISTER_AGENT2, &second), EINVAL);
	EXPECT(!second.flags);
	REFUSED(ioctl(fd, _IO(RDMA_IOCTL_MAGIC, 9), NULL), ENOTTY);
	second = (struct ib_user_mad_reg_req2){ .qpn = 1, .oui = 1u << 24 };
	REFUSED(ioctl(fd, IB_USER_MAD_REGISTER_AGENT2, &second), EINVAL);
	second = (struct ib_user_mad_reg_req2){ .qpn = 1, .mgmt_class = CLASS_VENDOR };
	REFUSED(ioctl(fd, IB_USER_MAD_REGISTER_AGENT2, &second), EINVAL);
	/* The methods of the connection manager. */
	REFUSED(umad_register(fd, 0x07, 1u << 3), EINVAL);

	EXPECT(umad_register(fd, CLASS_VENDOR, 1u << GET) == 0);
	REFUSED(ioctl(fd, IB_USER_MAD_ENABLE_PKEY, NULL), EINVAL);
	REFUSED(umad_register(other, CLASS_VENDOR, 1u << GET | 1u << SET), EINVAL);
	EXPECT(umad_register(other, CLASS_VENDOR, 1u << SET) == 0);
	/* The same method of another vendor's class. */
	second = (struct ib_user_mad_reg_req2){
		.qpn = 1,
		.mgmt_class = CLASS_VENDOR,
		.mgmt_class_version = 1,
		.method_mask = { 1u << GET },
		.oui = OUI + 1,
	};
	EXPECT(!ioctl(other, IB_USER_MAD_REGISTER_AGENT2, &second) && second.id == 1);
	id = 1;
	REFUSED(ioctl(fd, IB_USER_MAD_UNREGISTER_AGENT, &id), EINVAL);
	id = 1000;
	REFUSED(ioctl(fd, IB_USER_MAD_UNREGISTER_AGENT, &id), EINVAL);
	id = 0;
	EXPECT(!ioctl(fd, IB_USER_MAD_UNREGISTER_AGENT, &id));
	REFUSED(ioctl(fd, IB_USER_MAD_UNREGISTER_AGENT, &id), EINVAL);
	/* Closing the file makes its methods available again. */
	close(other);
	EXPECT(umad_register(fd, CLASS_VENDOR, 1u << GET | 1u << SET) == 0);
	for (int i = 1; i < 32; i++) {
		second = (struct ib_user_mad_reg_req2){ .qpn = 1 };
		EXPECT(!ioctl(fd, IB_USER_MAD_REGISTER_AGENT2, &second) && (int)second.id == i);
	}
	REFUSED(umad_register(fd, 0, 0), ENOMEM);
	close(fd);
}

static void port_answers(void)
{
	int fd = umad_open(0), agent = umad_register(fd, CLASS_SUBNET, 0);
	int directed = umad_register(fd, CLASS_DIRECTED, 0);
	struct datagram d;

	datagram_make(&d, agent, CLASS_SUBNET, GET, PORT_INFO);
	EXPECT(!datagram_ask(fd, &d) && get16(&d, 64 + 16) == own_lid());
	EXPECT(d.mad[64 + 32] % 16 == 4 && d.mad[64 + 29] == 2);
	datagram_make(&d, directed, CLASS_DIRECTED, GET, NODE_INFO);
	EXPECT(!datagram_ask(fd, &d) && d.mad[64 + 2] == 1 && d.mad[64 + 3] == 1);
	EXPECT(get16(&d, 4) & 0x8000);
	datagram_make(&d, agent, CLASS_SUBNET, GET, 0x99);
	EXPECT(datagram_ask(fd, &d) == 0x0c);
	datagram_make(&d, agent, CLASS_SUBNET, SET, PORT_INFO);
	EXPECT(datagram_ask(fd, &d) == 0x0c);
	datagram_make(&d, agent, CLASS_SUBNET, 0x12, PORT_INFO);
	EXPECT(datagram_ask(fd, &d) == 0x08);
	datagram_make(&d, agent, CLASS_SUBNET, GET, PORT_INFO);
	d.mad[2] = 2;
	EXPECT(datagram_ask(fd, &d) == 0x04);
	datagram_make(&d, agent, CLASS_SUBNET, GET, PORT_INFO);
	d.mad[23] = 2;
	EXPECT(datagram_ask(fd, &d) == 0x1c);
	close(fd);
}

static __u64 packets_sent(int fd, int agent)
{
	struct datagram d;

	datagram_make(&d, agent, CLASS_PERFORMANCE, GET, COUNTERS_EXTENDED);
	EXPECT(!datagram_ask(fd, &d));
	return get64(&d, 64 + 24);
}

static void counters(void)
{
	int fd = umad_open(0), agent = umad_register(fd, CLASS_PERFORMANCE, 0);
	struct datagram d;
	struct pair pair;
	__u64 before;

	pair_make(&pair);
	before = packets_sent(fd, agent);
	expect_traffic(&pair);
	EXPECT(packets_sent(fd, agent) == before + 1);
	datagram_make(&d, agent, CLASS_PERFORMANCE, GET, COUNTERS);
	EXPECT(!datagram_ask(fd, &d) && get32(&d, 64 + 32) == before + 1);
	/* Resets one counter only, also as sysfs shows it. */
	datagram_make(&d, agent, CLASS_PERFORMANCE, SET, COUNTERS);
	d.mad[66] = 1 << 6;
	EXPECT(!datagram_ask(fd, &d) && !get32(&d, 64 + 32) && get32(&d, 64 + 24));
	EXPECT(!packets_sent(fd, agent));
	expect_text("/sys/class/infiniband/vnet0/ports/1/counters/port_xmit_packets", "0");
	expect_traffic(&pair);
	EXPECT(packets_sent(fd, agent) == 1);
	datagram_make(&d, agent, CLASS_PERFORMANCE, GET, COUNTERS);
	d.mad[65] = 2;
	EXPECT(datagram_ask(fd, &d) == 0x1c);
	pair_end(&pair);
	close(fd);
}

/* Another program answers requests of a class. */
static void answered_by_others(void)
{
	int fd = umad_open(0), server = umad_open(0);
	int agent = umad_register(fd, CLASS_VENDOR, 0);
	int answers = umad_register(server, CLASS_VENDOR, 1u << GET);
	struct datagram d, asked;

	datagram_make(&d, agent, CLASS_VENDOR, GET, 1);
	d.mad[100] = 42;
	datagram_send(fd, &d);
	datagram_read(server, &asked);
	EXPECT((int)asked.hdr.id == answers && !asked.hdr.status && asked.mad[100] == 42);
	EXPECT(ntohl(asked.hdr.qpn) == 1 && ntohs(asked.hdr.lid) == own_lid());
	asked.mad[3] |= RESPONSE;
	asked.mad[100] = 43;
	asked.hdr.timeout_ms = 0;
	datagram_send(server, &asked);
	datagram_read(fd, &d);
	EXPECT((int)d.hdr.id == agent && !d.hdr.status && d.mad[100] == 43);
	/*
	 * The port itself answers what it supports, even if a program has registered for that
	 * class. Other requests go to the program.
	 */
	answers = umad_register(server, CLASS_SUBNET, 1u << GET);
	agent = umad_register(fd, CLASS_SUBNET, 0);
	datagram_make(&d, agent, CLASS_SUBNET, GET, PORT_INFO);
	EXPECT(!datagram_ask(fd, &d));
	datagram_make(&d, agent, CLASS_SUBNET, GET, SUBNET_MANAGER_INFO);
	datagram_send(fd, &d);
	datagram_read(server, &d);
	EXPECT((int)d.hdr.id == answers && get16(&d, 16) == SUBNET_MANAGER_INFO);
	agent = 0;
	/* A response without a request is dropped. */
	datagram_send(server, &asked);
	/* No agent is registered for this method, so the request times out. */
	datagram_make(&d, agent, CLASS_VENDOR, SET, 1);
	d.hdr.timeout_ms = 1;
	datagram_send(fd, &d);
	EXPECT(read(fd, &d, sizeof(d)) == sizeof(d.hdr) + 24 && d.hdr.status == ETIMEDOUT);
	close(server);
	close(fd);
}

static void unanswered(void)
{
	int fd = umad_open(0), agent = umad_register(fd, CLASS_PERFORMANCE, 0);
	struct datagram d, back;

	datagram_make(&d, agent, CLASS_PERFORMANCE, GET, COUNTERS);
	d.hdr.lid = htons((__u16)(own_lid() == 2 ? 3 : 2));
	d.hdr.timeout_ms = 5;
	d.hdr.retries = 3;
	datagram_send(fd, &d);
	EXPECT(read(fd, &back, sizeof(back)) == sizeof(back.hdr) + 24);
	EXPECT(back.hdr.status == ETIMEDOUT && (int)back.hdr.id == agent);
	EXPECT(back.mad[15] == d.mad[15] && back.mad[3] == GET);
	/* Unregistering the agent, or closing the file, with an outstanding request. */
	d.hdr.timeout_ms = 60000;
	datagram_send(fd, &d);
	REFUSED(write(fd, &d, sizeof(d)), EINVAL);
	EXPECT(!ioctl(fd, IB_USER_MAD_UNREGISTER_AGENT, &agent));
	agent = umad_register(fd, CLASS_PERFORMANCE, 0);
	datagram_send(fd, &d);
	close(fd);
}

static void reading_and_writing(void)
{
	int fd = umad_open(O_NONBLOCK), agent = umad_register(fd, CLASS_SUBNET, 0);
	struct pollfd readable = { .fd = fd, .events = POLLIN };
	struct {
		struct datagram d;
		__u8 more;
	} room = { .more = 0 };
	struct datagram d;

	REFUSED(read(fd, &d, sizeof(d)), EAGAIN);
	REFUSED(read(fd, &d, sizeof(struct ib_user_mad_hdr_old) - 1), EINVAL);
	EXPECT(!poll(&readable, 1, 0));
	datagram_make(&d, agent, CLASS_SUBNET, GET, PORT_INFO);
	REFUSED(write(fd, &d, sizeof(d.hdr) + 35), EINVAL);
	room.d = d;
	REFUSED(write(fd, &room, sizeof(d) + 1), EINVAL);
	d.hdr.id = 31;
	REFUSED(write(fd, &d, sizeof(d)), EINVAL);
	d.hdr.id = 32;
	REFUSED(write(fd, &d, sizeof(d)), EINVAL);
	d.hdr.id = (__u32)agent;
	datagram_send(fd, &d);
	EXPECT(poll(&readable, 1, 10000) == 1 && readable.revents & POLLIN);
	/* A read into a buffer that is too small does not lose the datagram. */
	REFUSED(read(fd, &d, sizeof(d) - 1), EINVAL);
	datagram_read(fd, &d);
	EXPECT(d.hdr.length == sizeof(d) && get16(&d, 64 + 16) == own_lid());
	close(fd);
}

static int register_second(int fd, __u8 class)
{
	struct ib_user_mad_reg_req2 req = { .mgmt_class = class, .mgmt_class_version = 1 };

	EXPECT(!ioctl(fd, IB_USER_MAD_REGISTER_AGENT2, &req));
	return (int)req.id;
}

/* An agent registered by REGISTER_AGENT2 enables headers with a P_Key index. */
static void new_headers(void)
{
	int fd = open(UMAD_FILE, O_RDWR | O_CLOEXEC), agent = register_second(fd, CLASS_SUBNET);
	struct datagram d;

	datagram_make(&d, agent, CLASS_SUBNET, GET, PORT_INFO);
	EXPECT(!datagram_ask(fd, &d) && d.hdr.length == sizeof(d));
	close(fd);
}

/* Old headers have no P_Key index. */
static void old_headers(void)
{
	struct {
		struct ib_user_mad_hdr_old hdr;
		__u8 mad[MAD_SIZE];
	} old = { .hdr.timeout_ms = 10000 };
	int fd = open(UMAD_FILE, O_RDWR | O_CLOEXEC), agent;
	struct datagram d;

	EXPECT(fd >= 0);
	agent = umad_register(fd, CLASS_SUBNET, 0);
	EXPECT(agent == 0);
	datagram_make(&d, agent, CLASS_SUBNET, GET, PORT_INFO);
	memcpy(&old.hdr, &d.hdr, sizeof(old.hdr));
	memcpy(old.mad, d.mad, sizeof(old.mad));
	EXPECT(write(fd, &old, sizeof(old)) == sizeof(old));
	EXPECT(read(fd, &old, sizeof(old)) == sizeof(old));
	EXPECT(!old.hdr.status && old.mad[3] == (GET | RESPONSE));
	EXPECT(old.hdr.length == sizeof(old));
	close(fd);
}

int main(void)
{
	names();
	registering();
	port_answers();
	counters();
	answered_by_others();
	unanswered();
	reading_and_writing();
	new_headers();
	old_headers();
	return 0;
}
