// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Tests of the daemon's RDMA netlink: correct and malformed requests. Also tests clients that do
 * not read their answers.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <linux/netlink.h>
#include <poll.h>
#include <rdma/rdma_netlink.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "client.h"

#define PORT 4711u
#define SEQ 99u
#define NLDEV(command) RDMA_NL_GET_TYPE(RDMA_NL_NLDEV, RDMA_NLDEV_CMD_##command)

/* Connection for requests. Answers come by the netlink socket. */
static int control;

struct socket {
	int fd;
	uint32_t id;
};

/* ---------------------------------------------------------------- the protocol */

static struct socket open_socket(uint32_t type, int error)
{
	struct vnet_msg_open open = {
		.msg = { .type = VNET_MSG_SOCKET, .length = sizeof(open) },
		.version = VNET_PROTO_VERSION,
		.minor = type,
	};
	struct vnet_msg_opened opened;
	struct socket s = { .fd = vnetd_connect() };

	expect(s.fd >= 0);
	expect(exchange(s.fd, &open, sizeof(open), &opened, sizeof(opened), NULL, NULL) ==
	       sizeof(opened));
	expect((int)opened.error == error);
	expect(error || (opened.kind == VNET_FILE_NETLINK && opened.number == type));
	s.id = opened.file_id;
	return s;
}

struct call {
	struct vnet_msg_netlink head;
	char bytes[VNET_MSG_MAX - sizeof(struct vnet_msg_netlink)];
};

/* Returns the bytes accepted, or -errno. */
static int send_bytes(struct socket s, const void *bytes, size_t length)
{
	static struct call call;
	struct vnet_msg_result result;
	int error;

	call.head = (struct vnet_msg_netlink){
		.msg = { .type = VNET_MSG_NETLINK,
			 .length = (uint32_t)(sizeof(call.head) + length) },
		.file_id = s.id,
		.op = VNET_NETLINK_SEND,
		.argument = PORT,
	};
	memcpy(call.bytes, bytes, length);
	error = request(control, &call, call.head.msg.length, &result, NULL);
	return error ? -error : result.value;
}

static int ask(struct socket s, uint32_t op, uint32_t argument, uint32_t value, int *answer)
{
	struct vnet_msg_netlink call = {
		.msg = { .type = VNET_MSG_NETLINK, .length = sizeof(call) },
		.file_id = s.id,
		.op = op,
		.argument = argument,
		.value = value,
	};
	struct vnet_msg_result result;
	int error = request(control, &call, sizeof(call), &result, NULL);

	if (answer)
		*answer = result.value;
	return error;
}

/* ------------------------------------------------------------------- messages */

struct message {
	struct nlmsghdr header;
	char bytes[1024];
};

static struct message make(uint16_t type, uint16_t flags)
{
	return (struct message){ .header = { .nlmsg_len = NLMSG_HDRLEN,
					     .nlmsg_type = type,
					     .nlmsg_flags = NLM_F_REQUEST | flags,
					     .nlmsg_seq = SEQ } };
}

static void add(struct message *m, uint16_t type, const void *data, uint16_t length)
{
	struct nlattr attr = { .nla_len = (uint16_t)(NLA_HDRLEN + length), .nla_type = type };
	char *at = (char *)m + m->header.nlmsg_len;

	memcpy(at, &attr, sizeof(attr));
	memcpy(at + NLA_HDRLEN, data, length);
	m->header.nlmsg_len += (uint32_t)NLA_ALIGN(attr.nla_len);
}

static void add_u32(struct message *m, uint16_t type, uint32_t value)
{
	add(m, type, &value, sizeof(value));
}

static struct message make_for(uint16_t type, uint16_t flags, uint32_t device)
{
	struct message m = make(type, flags);

	add_u32(&m, RDMA_NLDEV_ATTR_DEV_INDEX, device);
	return m;
}

static void post(struct socket s, const struct message *m)
{
	expect(send_bytes(s, m, m->header.nlmsg_len) == (int)m->header.nlmsg_len);
}

/* Receives a datagram that must be available, and returns its first message. */
static const struct nlmsghdr *receive(struct socket s)
{
	static char bytes[VNET_MSG_MAX] __attribute__((aligned(8)));
	const struct nlmsghdr *header = (const void *)bytes;
	ssize_t n = recv(s.fd, bytes, sizeof(bytes), MSG_DONTWAIT);

	expect(n >= (ssize_t)sizeof(*header) && header->nlmsg_len == (uint32_t)n);
	expect(header->nlmsg_seq == SEQ && header->nlmsg_pid == PORT);
	return header;
}

static bool nothing_comes(struct socket s)
{
	char byte;

	return recv(s.fd, &byte, 1, MSG_DONTWAIT) < 0 && errno == EAGAIN;
}

static const struct nlattr *find(const struct nlmsghdr *header, uint16_t type)
{
	const char *at = (const char *)header + NLMSG_HDRLEN;
	const char *end = (const char *)header + header->nlmsg_len;

	while (at < end) {
		const struct nlattr *attr = (const void *)at;

		expect(attr->nla_len >= NLA_HDRLEN && attr->nla_len <= end - at);
		if ((attr->nla_type & NLA_TYPE_MASK) == type)
			return attr;
		at += NLA_ALIGN(attr->nla_len);
	}
	return NULL;
}

static const void *payload(const struct nlmsghdr *header, uint16_t type, size_t length)
{
	const struct nlattr *attr = find(header, type);

	expect(attr && attr->nla_len == NLA_HDRLEN + length);
	return (const char *)attr + NLA_HDRLEN;
}

static uint32_t get_u32(const struct nlmsghdr *header, uint16_t type)
{
	return *(const uint32_t *)payload(header, type, sizeof(uint32_t));
}

static uint64_t get_u64(const struct nlmsghdr *header, uint16_t type)
{
	uint64_t value;

	memcpy(&value, payload(header, type, sizeof(value)), sizeof(value));
	return value;
}

/* Sends the request, and expects this error with the request in it. */
static void expect_error(struct socket s, const struct message *m, int error)
{
	const struct nlmsghdr *header;
	const struct nlmsgerr *answer;

	post(s, m);
	header = receive(s);
	answer = (const void *)(header + 1);
	expect(header->nlmsg_type == NLMSG_ERROR);
	if (answer->error != error)
		fail("error %d, not %d, for a message of type %#x", answer->error, error,
		     m->header.nlmsg_type);
	expect(!memcmp(&answer->msg, &m->header, sizeof(answer->msg)));
	if (error) {
		expect(header->nlmsg_len == NLMSG_HDRLEN + sizeof(int) + m->header.nlmsg_len);
		expect(!memcmp(&answer->msg, m, m->header.nlmsg_len));
	}
	expect(nothing_comes(s));
}

static void expect_done(struct socket s, int error)
{
	const struct nlmsghdr *header = receive(s);

	expect(header->nlmsg_type == NLMSG_DONE && (header->nlmsg_flags & NLM_F_MULTI));
	expect(header->nlmsg_len == NLMSG_HDRLEN + sizeof(int));
	expect(*(const int *)(header + 1) == error);
	expect(nothing_comes(s));
}

/* ------------------------------------------------------------ correct requests */

static void check_device(const struct nlmsghdr *header, uint32_t index, const char *name)
{
	expect(header->nlmsg_type == NLDEV(GET));
	expect(get_u32(header, RDMA_NLDEV_ATTR_DEV_INDEX) == index);
	expect(!strcmp(payload(header, RDMA_NLDEV_ATTR_DEV_NAME, strlen(name) + 1), name));
	expect(get_u32(header, RDMA_NLDEV_ATTR_PORT_INDEX) == 1);
	expect(*(const uint8_t *)payload(header, RDMA_NLDEV_ATTR_DEV_NODE_TYPE, 1) == 1);
	expect(get_u64(header, RDMA_NLDEV_ATTR_NODE_GUID) != 0);
	/* IBV_DEVICE_FLUSH_GLOBAL and IBV_DEVICE_ATOMIC_WRITE. */
	expect(get_u64(header, RDMA_NLDEV_ATTR_CAP_FLAGS) & 1ull << 38);
	expect(get_u64(header, RDMA_NLDEV_ATTR_CAP_FLAGS) & 1ull << 40);
	expect(!strcmp(payload(header, RDMA_NLDEV_ATTR_DEV_PROTOCOL, 5), "roce"));
}

static void devices(struct socket s)
{
	struct message m = make(NLDEV(GET), NLM_F_DUMP);
	const struct nlmsghdr *header;

	post(s, &m);
	header = receive(s);
	expect(header->nlmsg_flags & NLM_F_MULTI);
	check_device(header, 0, "vnet0");
	check_device(receive(s), 1, "other");
	expect_done(s, 0);

	m = make_for(NLDEV(GET), 0, 1);
	post(s, &m);
	header = receive(s);
	expect(!(header->nlmsg_flags & NLM_F_MULTI));
	check_device(header, 1, "other");
	expect(nothing_comes(s));
	m = make_for(NLDEV(GET), 0, 2);
	expect_error(s, &m, -EINVAL);
	m = make(NLDEV(GET), 0);
	expect_error(s, &m, -EINVAL);
}

static void ports(struct socket s)
{
	struct message m = make_for(NLDEV(PORT_GET), NLM_F_DUMP, 0);
	const struct nlmsghdr *header;

	post(s, &m);
	header = receive(s);
	expect(header->nlmsg_type == NLDEV(PORT_GET));
	expect(*(const uint8_t *)payload(header, RDMA_NLDEV_ATTR_PORT_STATE, 1) == 4);
	expect_done(s, 0);

	m = make_for(NLDEV(PORT_GET), 0, 0);
	expect_error(s, &m, -EINVAL);
	add_u32(&m, RDMA_NLDEV_ATTR_PORT_INDEX, 1);
	post(s, &m);
	expect(get_u32(receive(s), RDMA_NLDEV_ATTR_PORT_INDEX) == 1);
	/* The later of two attributes of one type counts. */
	add_u32(&m, RDMA_NLDEV_ATTR_PORT_INDEX, 2);
	expect_error(s, &m, -EINVAL);
	m = make(NLDEV(PORT_GET), NLM_F_DUMP);
	post(s, &m);
	expect_done(s, -EINVAL);
}

static void device_files(struct socket s)
{
	struct message m = make_for(NLDEV(GET_CHARDEV), 0, 1);
	const struct nlmsghdr *header;

	expect_error(s, &m, -EINVAL);
	add(&m, RDMA_NLDEV_ATTR_CHARDEV_TYPE, "uverbs", 7);
	post(s, &m);
	header = receive(s);
	expect(!strncmp(payload(header, RDMA_NLDEV_ATTR_CHARDEV_NAME, 8), "uverbs", 6));
	expect(get_u64(header, RDMA_NLDEV_ATTR_CHARDEV_ABI) == 1);

	m = make_for(NLDEV(GET_CHARDEV), 0, 1);
	add(&m, RDMA_NLDEV_ATTR_CHARDEV_TYPE, "umad", 5);
	expect_error(s, &m, -EOPNOTSUPP);
	m = make(NLDEV(GET_CHARDEV), 0);
	add(&m, RDMA_NLDEV_ATTR_CHARDEV_TYPE, "rdma_cm", 8);
	post(s, &m);
	header = receive(s);
	expect(!strcmp(payload(header, RDMA_NLDEV_ATTR_CHARDEV_NAME, 8), "rdma_cm"));
	expect(get_u64(header, RDMA_NLDEV_ATTR_CHARDEV_ABI) == VNET_RDMA_CM_ABI_VERSION);
	m = make(NLDEV(GET_CHARDEV), 0);
	add(&m, RDMA_NLDEV_ATTR_CHARDEV_TYPE, "issm", 5);
	expect_error(s, &m, -EOPNOTSUPP);
	/* A string without its terminating zero. */
	m = make_for(NLDEV(GET_CHARDEV), 0, 1);
	add(&m, RDMA_NLDEV_ATTR_CHARDEV_TYPE, "uverbs", 6);
	expect_error(s, &m, -EINVAL);
	m = make_for(NLDEV(GET_CHARDEV), NLM_F_DUMP, 1);
	expect_error(s, &m, -EINVAL);
}

static void counters(struct socket s)
{
	struct message m = make_for(NLDEV(STAT_GET), 0, 0);

	expect_error(s, &m, -EINVAL);
	add_u32(&m, RDMA_NLDEV_ATTR_PORT_INDEX, 1);
	post(s, &m);
	expect(find(receive(s), RDMA_NLDEV_ATTR_STAT_HWCOUNTERS)->nla_len > 100);
	m.header.nlmsg_type = NLDEV(STAT_GET_STATUS);
	post(s, &m);
	expect(find(receive(s), RDMA_NLDEV_ATTR_STAT_HWCOUNTERS)->nla_len > 100);
	m = make_for(NLDEV(STAT_GET), NLM_F_DUMP, 0);
	post(s, &m);
	expect_done(s, -EINVAL);
	add_u32(&m, RDMA_NLDEV_ATTR_STAT_RES, RDMA_NLDEV_ATTR_RES_QP);
	post(s, &m);
	expect_done(s, 0);
	m = make_for(NLDEV(STAT_GET), 0, 0);
	add_u32(&m, RDMA_NLDEV_ATTR_STAT_RES, RDMA_NLDEV_ATTR_RES_CQ);
	expect_error(s, &m, -EINVAL);
}

/* There are no objects yet. */
static void objects(struct socket s)
{
	static const struct {
		uint16_t command, id;
		uint32_t port;
	} kinds[] = {
		{ NLDEV(RES_QP_GET), RDMA_NLDEV_ATTR_RES_LQPN, 1 },
		{ NLDEV(RES_CM_ID_GET), RDMA_NLDEV_ATTR_RES_CM_IDN, 1 },
		{ NLDEV(RES_CQ_GET), RDMA_NLDEV_ATTR_RES_CQN, 0 },
		{ NLDEV(RES_MR_GET), RDMA_NLDEV_ATTR_RES_MRN, 0 },
		{ NLDEV(RES_PD_GET), RDMA_NLDEV_ATTR_RES_PDN, 0 },
		{ NLDEV(RES_CTX_GET), RDMA_NLDEV_ATTR_RES_CTXN, 0 },
		{ NLDEV(RES_SRQ_GET), RDMA_NLDEV_ATTR_RES_SRQN, 0 },
	};
	struct message m;

	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		m = make_for(kinds[i].command, NLM_F_DUMP, 0);
		post(s, &m);
		expect_done(s, 0);
		add_u32(&m, RDMA_NLDEV_ATTR_PORT_INDEX, 3);
		post(s, &m);
		expect_done(s, -EINVAL);
		m = make_for(kinds[i].command, 0, 0);
		expect_error(s, &m, -EINVAL);
		add_u32(&m, kinds[i].id, 7);
		/* Queue pairs and rdma_cm ids belong to a port, and the others to the device. */
		if (kinds[i].port) {
			expect_error(s, &m, -EINVAL);
			add_u32(&m, RDMA_NLDEV_ATTR_PORT_INDEX, 1);
			expect_error(s, &m, -ENOENT);
		} else {
			expect_error(s, &m, -ENOENT);
			add_u32(&m, RDMA_NLDEV_ATTR_PORT_INDEX, 1);
			expect_error(s, &m, -EINVAL);
		}
	}
	m = make_for(NLDEV(RES_GET), 0, 0);
	post(s, &m);
	expect(find(receive(s), RDMA_NLDEV_ATTR_RES_SUMMARY));
	m = make(NLDEV(RES_GET), NLM_F_DUMP);
	post(s, &m);
	expect(get_u32(receive(s), RDMA_NLDEV_ATTR_DEV_INDEX) == 0);
	expect(get_u32(receive(s), RDMA_NLDEV_ATTR_DEV_INDEX) == 1);
	expect_done(s, 0);
}

static void what_is_not_there(struct socket s)
{
	static const uint16_t not_supported[] = {
		NLDEV(SET),     NLDEV(NEWLINK),  NLDEV(DELLINK),
		NLDEV(SYS_SET), NLDEV(STAT_SET), NLDEV(STAT_DEL)
	};
	static const uint16_t unknown[] = {
		NLDEV(UNSPEC),
		RDMA_NL_GET_TYPE(RDMA_NL_NLDEV, 8),
		RDMA_NL_GET_TYPE(RDMA_NL_NLDEV, 1023),
		RDMA_NL_GET_TYPE(RDMA_NL_LS, 1),
		RDMA_NL_GET_TYPE(RDMA_NL_IWCM, 1),
		RDMA_NL_GET_TYPE(63, 1),
		NLMSG_MIN_TYPE,
		NLDEV(RES_QP_GET_RAW),
		NLDEV(RES_CQ_GET_RAW),
		NLDEV(RES_MR_GET_RAW),
	};
	struct message m;

	for (size_t i = 0; i < sizeof(not_supported) / sizeof(not_supported[0]); i++) {
		m = make_for(not_supported[i], 0, 0);
		expect_error(s, &m, -EOPNOTSUPP);
		m = make_for(not_supported[i], NLM_F_DUMP, 0);
		expect_error(s, &m, -EINVAL);
	}
	for (size_t i = 0; i < sizeof(unknown) / sizeof(unknown[0]); i++) {
		m = make_for(unknown[i], 0, 0);
		expect_error(s, &m, -EINVAL);
	}
	m = make_for(NLDEV(RES_QP_GET_RAW), NLM_F_DUMP, 0);
	post(s, &m);
	expect_done(s, -EINVAL);
}

/* -------------------------------------------------------- acknowledgements, ids */

static void acknowledgements(struct socket s)
{
	struct message m = make(NLDEV(SYS_GET), NLM_F_ACK);
	const struct nlmsghdr *header;
	int value;

	post(s, &m);
	header = receive(s);
	expect(header->nlmsg_type == NLDEV(SYS_GET));
	header = receive(s);
	expect(header->nlmsg_type == NLMSG_ERROR && (header->nlmsg_flags & NLM_F_CAPPED));
	expect(((const struct nlmsgerr *)(header + 1))->error == 0);
	/* No acknowledgement for dumps, which end with NLMSG_DONE. */
	m = make(NLDEV(GET), NLM_F_DUMP | NLM_F_ACK);
	post(s, &m);
	receive(s);
	receive(s);
	expect_done(s, 0);
	/* Messages without NLM_F_REQUEST, and control messages, are acknowledged only. */
	m = make(NLDEV(GET), 0);
	m.header.nlmsg_flags = NLM_F_ACK;
	expect_error(s, &m, 0);
	m = make(NLMSG_NOOP, NLM_F_ACK);
	expect_error(s, &m, 0);
	m.header.nlmsg_flags = NLM_F_REQUEST;
	post(s, &m);
	expect(nothing_comes(s));

	expect(ask(s, VNET_NETLINK_SET_OPTION, NETLINK_CAP_ACK, 1, NULL) == 0);
	expect(ask(s, VNET_NETLINK_GET_OPTION, NETLINK_CAP_ACK, 0, &value) == 0 && value == 1);
	m = make(NLDEV(PORT_GET), 0);
	add_u32(&m, RDMA_NLDEV_ATTR_PORT_INDEX, 1);
	post(s, &m);
	header = receive(s);
	expect(header->nlmsg_len == NLMSG_HDRLEN + sizeof(struct nlmsgerr));
	expect(header->nlmsg_flags & NLM_F_CAPPED);
	expect(ask(s, VNET_NETLINK_SET_OPTION, NETLINK_CAP_ACK, 0, NULL) == 0);
	expect(ask(s, VNET_NETLINK_SET_OPTION, NETLINK_ADD_MEMBERSHIP, 1, NULL) == EPERM);
	for (uint32_t option = 13; option < 100; option += 29)
		expect(ask(s, VNET_NETLINK_SET_OPTION, option, 1, NULL) == ENOPROTOOPT);
	expect(ask(s, VNET_NETLINK_GET_OPTION, ~0u, 0, NULL) == ENOPROTOOPT);
	expect(ask(s, 0, 0, 0, NULL) == EINVAL && ask(s, ~0u, 0, 0, NULL) == EINVAL);
}

static void port_ids(void)
{
	struct socket a = open_socket(SOCK_RAW, 0), b = open_socket(SOCK_DGRAM, 0);
	int name;

	expect(ask(a, VNET_NETLINK_NAME, 0, 0, &name) == 0 && name == 0);
	expect(ask(a, VNET_NETLINK_BIND, 77, 1, NULL) == 0);
	expect(ask(b, VNET_NETLINK_BIND, 77, 1, NULL) == EADDRINUSE);
	expect(ask(b, VNET_NETLINK_BIND, 77, 0, NULL) == 0);
	expect(ask(b, VNET_NETLINK_NAME, 0, 0, &name) == 0 && name && name != 77);
	expect(ask(a, VNET_NETLINK_BIND, 77, 1, NULL) == 0);
	expect(ask(a, VNET_NETLINK_BIND, 78, 1, NULL) == EINVAL);
	close(a.fd);
	close(b.fd);
	open_socket(SOCK_STREAM, ESOCKTNOSUPPORT);
	open_socket(~0u, ESOCKTNOSUPPORT);
	a.id = ~0u;
	expect(ask(a, VNET_NETLINK_NAME, 0, 0, NULL) == EBADF);
}

/* ----------------------------------------------------------- malformed requests */

static void lengths(struct socket s)
{
	struct message m = make_for(NLDEV(GET), NLM_F_ACK, 0);
	static const uint32_t bad[] = { 0, 1, 15, 25, 4096, 0x7fffffff, 0xfffffff0, 0xffffffff };

	/* Messages whose length is less than a header, or more than was sent, are ignored. */
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		uint32_t length = m.header.nlmsg_len;

		m.header.nlmsg_len = bad[i];
		expect(send_bytes(s, &m, length) == (int)length);
		expect(nothing_comes(s));
		m.header.nlmsg_len = length;
	}
	for (size_t i = 1; i < NLMSG_HDRLEN; i++)
		expect(send_bytes(s, &m, i) == (int)i);
	expect(nothing_comes(s));
	expect(send_bytes(s, &m, 0) == -ENODATA);
}

static void attributes(struct socket s)
{
	struct message m;
	struct nlattr *attr = (struct nlattr *)(void *)m.bytes;
	static const uint16_t bad[] = { 0, 1, 3, 9, 0x7fff, 0xffff };

	/* An attribute with a wrong length counts as missing. */
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		m = make_for(NLDEV(GET), 0, 0);
		attr->nla_len = bad[i];
		expect_error(s, &m, -EINVAL);
	}
	/* An attribute that is too short for its type. */
	for (size_t i = 0; i < 4; i++) {
		m = make(NLDEV(GET), 0);
		add(&m, RDMA_NLDEV_ATTR_DEV_INDEX, "\0\0\0\0", (uint16_t)i);
		expect_error(s, &m, -EINVAL);
	}
	/* Unknown types and trailing bytes are ignored. */
	m = make(NLDEV(GET), 0);
	add_u32(&m, 0, 1);
	add_u32(&m, RDMA_NLDEV_ATTR_MAX, 1);
	add_u32(&m, (uint16_t)NLA_TYPE_MASK, 1);
	add(&m, RDMA_NLDEV_ATTR_RES_QP | NLA_F_NESTED, "\xff\xff\x01\x00", 4);
	add_u32(&m, RDMA_NLDEV_ATTR_DEV_INDEX | (uint16_t)NLA_F_NESTED, 1);
	memset((char *)&m + m.header.nlmsg_len, 0xff, 3);
	m.header.nlmsg_len += 3;
	post(s, &m);
	check_device(receive(s), 1, "other");
	m = make_for(NLDEV(GET), 0, ~0u);
	expect_error(s, &m, -EINVAL);
}

static void several_in_one(struct socket s)
{
	struct message m = make_for(NLDEV(GET), 0, 0);
	uint32_t length = m.header.nlmsg_len;
	char bytes[4 * sizeof(m)];
	struct nlmsghdr *third = (void *)(bytes + 2 * length);

	for (int i = 0; i < 3; i++)
		memcpy(bytes + i * (int)length, &m, length);
	third->nlmsg_len++;
	expect(send_bytes(s, bytes, 3 * length) == (int)(3 * length));
	check_device(receive(s), 0, "vnet0");
	check_device(receive(s), 0, "vnet0");
	expect(nothing_comes(s));
}

/* -------------------------------------------------------------- hostile clients */

static bool can_be_read(struct socket s)
{
	struct pollfd poll_fd = { .fd = s.fd, .events = POLLIN };

	return poll(&poll_fd, 1, 0) == 1;
}

/*
 * Reads until nothing comes any more. The daemon sends answers that it has kept before it executes
 * the next request.
 */
static void read_all(struct socket s, int *errors, int *ends)
{
	for (int quiet = 0; quiet < 3;) {
		const struct nlmsghdr *header;

		if (!can_be_read(s)) {
			expect(ask(s, VNET_NETLINK_NAME, 0, 0, NULL) == 0);
			quiet++;
			continue;
		}
		quiet = 0;
		header = receive(s);
		*ends += header->nlmsg_type == NLMSG_DONE;
		if (header->nlmsg_type != NLMSG_ERROR)
			continue;
		(*errors)++;
		expect(((const struct nlmsgerr *)(header + 1))->error == -EBUSY);
	}
}

/* A client that sends requests and does not read gets ENOBUFS, and others are served. */
static void who_does_not_read(void)
{
	struct socket s = open_socket(SOCK_RAW, 0);
	static char bytes[60000];
	struct message m = make(NLDEV(GET), NLM_F_DUMP);
	uint32_t length = m.header.nlmsg_len;
	int ret = 0, errors = 0, ends = 0;

	for (size_t at = 0; at + length <= sizeof(bytes); at += length)
		memcpy(bytes + at, &m, length);
	for (int i = 0; i < 1000 && ret >= 0; i++)
		ret = send_bytes(s, bytes, sizeof(bytes) / length * length);
	expect(ret == -ENOBUFS);
	vnetd_serves();
	/* Answers that the daemon has kept arrive complete when the client reads. */
	read_all(s, &errors, &ends);
	expect(errors && ends);
	expect(send_bytes(s, &m, length) == (int)length);
	receive(s);
	receive(s);
	expect_done(s, 0);
	/* The daemon frees the answers that it has kept for a socket that is closed. */
	for (ret = 0; ret >= 0;)
		ret = send_bytes(s, bytes, sizeof(bytes) / length * length);
	close(s.fd);
	vnetd_serves();
}

static void random_requests(int rounds)
{
	struct socket s = open_socket(SOCK_RAW, 0);
	unsigned int seed = (unsigned int)(now() * 1e6);
	struct message m;

	printf("seed %u\n", seed);
	srand(seed);
	for (int i = 0; i < rounds; i++) {
		size_t length = (size_t)rand() % sizeof(m.bytes);

		m = make((uint16_t)RDMA_NL_GET_TYPE(RDMA_NL_NLDEV, rand() % 28),
			 rand() % 2 ? NLM_F_DUMP : 0);
		if (rand() % 2)
			add_u32(&m, RDMA_NLDEV_ATTR_DEV_INDEX, (uint32_t)rand() % 3);
		if (rand() % 2)
			add_u32(&m, RDMA_NLDEV_ATTR_PORT_INDEX, (uint32_t)rand() % 3);
		while (m.header.nlmsg_len < length)
			((char *)&m)[m.header.nlmsg_len++] =
				(char)(rand() % 4 ? rand() % 16 : rand());
		if (rand() % 16 == 0)
			m.header.nlmsg_len = (uint32_t)rand();
		expect(send_bytes(s, &m, sizeof(m)) == sizeof(m));
		while (!nothing_comes(s))
			;
	}
	close(s.fd);
	vnetd_serves();
}

int main(void)
{
	char idle[] = "--idle-exit=0", two[] = "--devices=vnet0,other";
	char *more[] = { idle, two, NULL };
	const char *soak = getenv("VNET_SOAK");
	struct welcome welcome;
	struct socket s;

	expect(vnetd_run(more) == 0);
	control = client_enter(&welcome);
	port_ids();
	s = open_socket(SOCK_RAW, 0);
	devices(s);
	ports(s);
	device_files(s);
	counters(s);
	objects(s);
	what_is_not_there(s);
	acknowledgements(s);
	lengths(s);
	attributes(s);
	several_in_one(s);
	close(s.fd);
	who_does_not_read();
	random_requests(soak && *soak == '1' ? 1000000 : 20000);
	vnetd_kill(SIGTERM);
	return 0;
}
