// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Tests of NETLINK_RDMA sockets with all functions that programs use. Programs must see a netlink
 * socket, with netlink addresses of the kernel and of their own.
 */
#define _GNU_SOURCE
#include "check.h"

#include <fcntl.h>
#include <linux/netlink.h>
#include <poll.h>
#include <rdma/rdma_netlink.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#define GET RDMA_NL_GET_TYPE(RDMA_NL_NLDEV, RDMA_NLDEV_CMD_GET)
/* Large enough for any answer. */
#define ROOM 8192

static struct nlmsghdr dump = {
	.nlmsg_len = NLMSG_HDRLEN,
	.nlmsg_type = GET,
	.nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP,
	.nlmsg_seq = 1,
};

static int make(int flags)
{
	int fd = socket(AF_NETLINK, SOCK_RAW | flags, NETLINK_RDMA);

	EXPECT(fd >= 0);
	return fd;
}

static bool has_device(const char *bytes, ssize_t n)
{
	const struct nlmsghdr *header = (const void *)bytes;

	return n > NLMSG_HDRLEN && header->nlmsg_type == GET &&
	       memmem(bytes, (size_t)n, "vnet0", 6);
}

/* Expects the answer to a dump: the device, and the end of the dump. */
static void expect_answer(int fd)
{
	char bytes[ROOM] __attribute__((aligned(8)));
	const struct nlmsghdr *header = (const void *)bytes;
	ssize_t n = recv(fd, bytes, sizeof(bytes), MSG_DONTWAIT);

	EXPECT(has_device(bytes, n));
	EXPECT(recv(fd, bytes, sizeof(bytes), MSG_DONTWAIT) == NLMSG_HDRLEN + sizeof(int));
	EXPECT(header->nlmsg_type == NLMSG_DONE);
	REFUSES(recv(fd, bytes, sizeof(bytes), MSG_DONTWAIT), EAGAIN);
}

/* ------------------------------------------------------------------ the socket */

static void kinds(void)
{
	int fd, value;
	socklen_t length = sizeof(value);
	struct stat st;

	REFUSES(socket(AF_NETLINK, SOCK_STREAM, NETLINK_RDMA), ESOCKTNOSUPPORT);
	fd = socket(AF_NETLINK, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, NETLINK_RDMA);
	EXPECT(fd >= 0 && fcntl(fd, F_GETFD) == FD_CLOEXEC && (fcntl(fd, F_GETFL) & O_NONBLOCK));
	EXPECT(!getsockopt(fd, SOL_SOCKET, SO_TYPE, &value, &length) && value == SOCK_DGRAM);
	EXPECT(!close(fd));
	fd = make(0);
	EXPECT(fcntl(fd, F_GETFD) == 0 && !(fcntl(fd, F_GETFL) & O_NONBLOCK));
	EXPECT(!getsockopt(fd, SOL_SOCKET, SO_TYPE, &value, &length) && value == SOCK_RAW);
	EXPECT(!getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &value, &length) && value == AF_NETLINK);
	EXPECT(!getsockopt(fd, SOL_SOCKET, SO_PROTOCOL, &value, &length) && value == NETLINK_RDMA);
	EXPECT(length == sizeof(value));
	EXPECT(!fstat(fd, &st) && S_ISSOCK(st.st_mode));
	EXPECT(!close(fd));
	/* Sockets of other netlink families are the system's. */
	fd = socket(AF_NETLINK, SOCK_RAW, NETLINK_ROUTE);
	EXPECT(fd >= 0);
	EXPECT(!getsockopt(fd, SOL_SOCKET, SO_PROTOCOL, &value, &length) && value == NETLINK_ROUTE);
	close(fd);
}

static unsigned int name_of(int fd)
{
	struct sockaddr_nl nl = { .nl_family = 1, .nl_groups = 9 };
	socklen_t length = sizeof(nl);

	EXPECT(!getsockname(fd, (struct sockaddr *)&nl, &length));
	EXPECT(length == sizeof(nl) && nl.nl_family == AF_NETLINK && !nl.nl_groups);
	return nl.nl_pid;
}

static void names(void)
{
	struct sockaddr_nl nl = { .nl_family = AF_NETLINK, .nl_pid = 12345 };
	struct sockaddr_storage large;
	socklen_t length;
	int fd = make(0), other = make(0), i;

	EXPECT(name_of(fd) == 0);
	EXPECT(!bind(fd, (struct sockaddr *)&nl, sizeof(nl)) && name_of(fd) == 12345);
	REFUSES(bind(other, (struct sockaddr *)&nl, sizeof(nl)), EADDRINUSE);
	nl.nl_pid = 0;
	REFUSES(bind(fd, (struct sockaddr *)&nl, sizeof(nl)), EINVAL);
	/* The first socket of a process gets its process ID as port ID. */
	EXPECT(!bind(other, (struct sockaddr *)&nl, sizeof(nl)));
	EXPECT(name_of(other) == (unsigned int)getpid());
	close(fd);
	fd = make(0);
	EXPECT(!connect(fd, (struct sockaddr *)&nl, sizeof(nl)));
	EXPECT(name_of(fd) && name_of(fd) != name_of(other));
	EXPECT(!connect(fd, (struct sockaddr *)&nl, sizeof(nl)));
	length = sizeof(large);
	EXPECT(!getpeername(fd, (struct sockaddr *)&large, &length) && length == sizeof(nl));
	EXPECT(((struct sockaddr_nl *)&large)->nl_pid == 0);
	/* The address is truncated to the buffer. */
	memset(&large, 0x55, sizeof(large));
	length = 2;
	EXPECT(!getsockname(fd, (struct sockaddr *)&large, &length) && length == sizeof(nl));
	EXPECT(large.ss_family == AF_NETLINK && ((char *)&large)[2] == 0x55);

	REFUSES(bind(fd, (struct sockaddr *)&nl, 11), EINVAL);
	nl.nl_groups = 1;
	REFUSES(bind(fd, (struct sockaddr *)&nl, sizeof(nl)), EPERM);
	nl = (struct sockaddr_nl){ .nl_family = AF_UNIX };
	REFUSES(bind(fd, (struct sockaddr *)&nl, sizeof(nl)), EINVAL);
	i = -1;
	memcpy(&length, &i, sizeof(length));
	REFUSES(getsockname(fd, (struct sockaddr *)&large, &length), EINVAL);
	close(fd);
	close(other);
}

static void options(void)
{
	int fd = make(0), value = 1;
	socklen_t length = sizeof(value);

	EXPECT(!setsockopt(fd, SOL_NETLINK, NETLINK_CAP_ACK, &value, sizeof(value)));
	EXPECT(!setsockopt(fd, SOL_NETLINK, NETLINK_EXT_ACK, &value, sizeof(value)));
	value = 0;
	EXPECT(!getsockopt(fd, SOL_NETLINK, NETLINK_EXT_ACK, &value, &length) && value == 1);
	value = 0;
	EXPECT(!setsockopt(fd, SOL_NETLINK, NETLINK_EXT_ACK, &value, sizeof(value)));
	value = 1;
	EXPECT(!getsockopt(fd, SOL_NETLINK, NETLINK_EXT_ACK, &value, &length) && value == 0);
	REFUSES(setsockopt(fd, SOL_NETLINK, 99, &value, sizeof(value)), ENOPROTOOPT);
	REFUSES(setsockopt(fd, SOL_NETLINK, NETLINK_CAP_ACK, &value, 3), EINVAL);
	REFUSES(setsockopt(fd, SOL_NETLINK, NETLINK_ADD_MEMBERSHIP, &value, sizeof(value)), EPERM);
	value = 65536;
	EXPECT(!setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &value, sizeof(value)));
	EXPECT(!setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &value, sizeof(value)));
	close(fd);
}

/* ------------------------------------------------------- sending and receiving */

static void ways_to_send(void)
{
	struct sockaddr_nl nl = { .nl_family = AF_NETLINK };
	struct iovec iov[2] = { { &dump, 5 }, { (char *)&dump + 5, sizeof(dump) - 5 } };
	struct msghdr msg = { .msg_iov = iov, .msg_iovlen = 2 };
	struct iovec many[80];
	char large[70000] = { 0 };
	int fd = make(0);

	EXPECT(send(fd, &dump, sizeof(dump), 0) == sizeof(dump));
	expect_answer(fd);
	EXPECT(write(fd, &dump, sizeof(dump)) == sizeof(dump));
	expect_answer(fd);
	EXPECT(writev(fd, iov, 2) == sizeof(dump));
	expect_answer(fd);
	EXPECT(sendmsg(fd, &msg, 0) == sizeof(dump));
	expect_answer(fd);
	msg.msg_name = &nl;
	msg.msg_namelen = sizeof(nl);
	EXPECT(sendmsg(fd, &msg, 0) == sizeof(dump));
	expect_answer(fd);
	EXPECT(sendto(fd, &dump, sizeof(dump), 0, (struct sockaddr *)&nl, sizeof(nl)) ==
	       sizeof(dump));
	expect_answer(fd);
	EXPECT(name_of(fd) != 0);

	msg.msg_namelen = 4;
	REFUSES(sendmsg(fd, &msg, 0), EINVAL);
	nl.nl_pid = 1;
	REFUSES(sendto(fd, &dump, sizeof(dump), 0, (struct sockaddr *)&nl, sizeof(nl)), EPERM);
	REFUSES(send(fd, &dump, sizeof(dump), MSG_OOB), EOPNOTSUPP);
	REFUSES(send(fd, &dump, 0, 0), ENODATA);
	REFUSES(send(fd, large, sizeof(large), 0), EMSGSIZE);
	EXPECT(send(fd, large, 60000, 0) == 60000);
	for (int i = 0; i < 80; i++)
		many[i] = (struct iovec){ large, 1 };
	REFUSES(writev(fd, many, 80), EMSGSIZE);
	REFUSES(recv(fd, large, 1, MSG_DONTWAIT), EAGAIN);
	close(fd);
}

static void DELIBERATE bad_addresses(void)
{
	socklen_t length = sizeof(struct sockaddr_nl);
	int fd = make(0);

	REFUSES(send(fd, (void *)8, 64, 0), EFAULT);
	REFUSES(bind(fd, (void *)8, 12), EFAULT);
	REFUSES(getsockname(fd, (void *)8, &length), EFAULT);
	EXPECT(send(fd, &dump, sizeof(dump), 0) == sizeof(dump));
	REFUSES(recv(fd, (void *)8, 64, 0), EFAULT);
	close(fd);
}

/* The sender's address is the kernel's: 12 bytes, port ID 0. */
static void expect_kernel(const struct sockaddr_nl *nl, socklen_t length)
{
	EXPECT(length == sizeof(*nl) && nl->nl_family == AF_NETLINK && !nl->nl_pid &&
	       !nl->nl_groups);
}

static void ways_to_receive(void)
{
	char bytes[ROOM] __attribute__((aligned(8)));
	struct sockaddr_nl nl = { .nl_pid = 7 };
	struct iovec iov = { bytes, sizeof(bytes) };
	struct msghdr msg = {
		.msg_name = &nl, .msg_namelen = sizeof(nl), .msg_iov = &iov, .msg_iovlen = 1
	};
	struct iovec two[2] = { { bytes, 16 }, { bytes + 16, sizeof(bytes) - 16 } };
	socklen_t length = sizeof(nl);
	int fd = make(0);
	ssize_t n, whole;

	EXPECT(send(fd, &dump, sizeof(dump), 0) == sizeof(dump));
	/* Like libnl: a peek that returns the length of the next datagram. */
	iov.iov_len = 8;
	whole = recvmsg(fd, &msg, MSG_PEEK | MSG_TRUNC);
	EXPECT(whole > 40 && (msg.msg_flags & MSG_TRUNC));
	expect_kernel(&nl, msg.msg_namelen);
	iov.iov_len = sizeof(bytes);
	n = recvmsg(fd, &msg, 0);
	EXPECT(n == whole && has_device(bytes, n) && !msg.msg_flags);
	expect_kernel(&nl, msg.msg_namelen);
	nl.nl_pid = 7;
	EXPECT(recvfrom(fd, bytes, sizeof(bytes), 0, (struct sockaddr *)&nl, &length) == 20);
	expect_kernel(&nl, length);

	EXPECT(send(fd, &dump, sizeof(dump), 0) == sizeof(dump));
	EXPECT(read(fd, bytes, sizeof(bytes)) == whole && has_device(bytes, whole));
	EXPECT(readv(fd, two, 2) == 20);
	/* The rest of a datagram that was read with a short buffer is discarded. */
	EXPECT(send(fd, &dump, sizeof(dump), 0) == sizeof(dump));
	EXPECT(recvfrom(fd, bytes, 8, 0, NULL, NULL) == 8);
	EXPECT(recv(fd, bytes, sizeof(bytes), 0) == 20);
	REFUSES(recvfrom(fd, bytes, 8, MSG_DONTWAIT, NULL, NULL), EAGAIN);
	EXPECT(!fcntl(fd, F_SETFL, O_NONBLOCK));
	REFUSES(recvmsg(fd, &msg, 0), EAGAIN);
	close(fd);
}

static void waiting(void)
{
	int fd = make(0), epoll = epoll_create1(0);
	struct timeval none = { 0 };
	struct pollfd pfd = { .fd = fd, .events = POLLIN | POLLOUT };
	struct epoll_event event = { .events = EPOLLIN };
	fd_set set;

	FD_ZERO(&set);
	FD_SET(fd, &set);
	EXPECT(!epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event));
	EXPECT(poll(&pfd, 1, 0) == 1 && pfd.revents == POLLOUT);
	EXPECT(select(fd + 1, &set, NULL, NULL, &none) == 0);
	EXPECT(epoll_wait(epoll, &event, 1, 0) == 0);
	/* The answer is available when send() returns. */
	EXPECT(send(fd, &dump, sizeof(dump), 0) == sizeof(dump));
	FD_SET(fd, &set);
	EXPECT(poll(&pfd, 1, 0) == 1 && pfd.revents == (POLLIN | POLLOUT));
	EXPECT(select(fd + 1, &set, NULL, NULL, &none) == 1);
	EXPECT(epoll_wait(epoll, &event, 1, 0) == 1);
	expect_answer(fd);
	EXPECT(epoll_wait(epoll, &event, 1, 0) == 0);
	close(epoll);
	close(fd);
}

/* -------------------------------------------------------------------- copies */

static void use(int fd)
{
	EXPECT(send(fd, &dump, sizeof(dump), 0) == sizeof(dump));
	expect_answer(fd);
}

static void copies(void)
{
	int fd = make(0), copy = dup(fd), high = fcntl(fd, F_DUPFD, 100), sock[2];
	unsigned int name;
	pid_t pid;

	use(fd);
	name = name_of(fd);
	EXPECT(copy >= 0 && high >= 100);
	close(fd);
	use(copy);
	EXPECT(dup2(copy, fd) == fd);
	use(fd);
	use(high);
	EXPECT(name_of(high) == name && name_of(fd) == name);
	pid = fork();
	if (pid == 0) {
		EXPECT(name_of(copy) == name);
		use(copy);
		_exit(0);
	}
	expect_exit(pid, 0);
	use(copy);
	close(fd);
	close(high);

	/* Sends the descriptor to another process. */
	EXPECT(!socketpair(AF_UNIX, SOCK_STREAM, 0, sock));
	pid = fork();
	if (pid == 0) {
		int got;

		close(copy);
		receive_fds(sock[0], &got, 1);
		EXPECT(name_of(got) == name);
		use(got);
		_exit(0);
	}
	send_fds(sock[1], &copy, 1);
	expect_exit(pid, 0);
	close(sock[0]);
	close(sock[1]);
	close(copy);
	/* The library must not use the closed number. */
	REFUSES(getsockname(copy, (struct sockaddr *)&(struct sockaddr_un){ 0 },
			    &(socklen_t){ sizeof(struct sockaddr_un) }),
		EBADF);
}

/* --------------------------------------------------------- contents of answers */

static unsigned int count(unsigned short command)
{
	struct {
		struct nlmsghdr header;
		struct nlattr attr;
		unsigned int device;
	} request = {
		.header = { .nlmsg_len = sizeof(request),
			    .nlmsg_type = (unsigned short)RDMA_NL_GET_TYPE(RDMA_NL_NLDEV, command),
			    .nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP },
		.attr = { .nla_len = NLA_HDRLEN + 4, .nla_type = RDMA_NLDEV_ATTR_DEV_INDEX },
	};
	char bytes[ROOM] __attribute__((aligned(8)));
	const struct nlmsghdr *header = (const void *)bytes;
	unsigned int entries = 0;
	int fd = make(0);

	EXPECT(send(fd, &request, sizeof(request), 0) == sizeof(request));
	for (;;) {
		ssize_t n = recv(fd, bytes, sizeof(bytes), 0);
		const struct nlattr *attr, *end = (const void *)(bytes + n);

		EXPECT(n > NLMSG_HDRLEN && n <= 4096);
		if (header->nlmsg_type == NLMSG_DONE)
			break;
		/* Behind the header and the device's number and name, there is the table. */
		attr = (const void *)(bytes + NLMSG_HDRLEN + 8 + NLA_HDRLEN + 8);
		EXPECT((const char *)attr + attr->nla_len == (const char *)end);
		for (attr++; attr < end; entries++)
			attr = (const void *)((const char *)attr + NLA_ALIGN(attr->nla_len));
	}
	close(fd);
	return entries;
}

/* More objects than fit into one datagram, and into the socket buffer. */
static void many_objects(void)
{
	enum { MANY = 6000 };
	struct ibv_context *context = open_first();
	static struct ibv_pd *pd[MANY];

	EXPECT(count(RDMA_NLDEV_CMD_RES_PD_GET) == 0 && count(RDMA_NLDEV_CMD_RES_CTX_GET) == 1);
	for (int i = 0; i < MANY; i++)
		EXPECT((pd[i] = ibv_alloc_pd(context)));
	EXPECT(count(RDMA_NLDEV_CMD_RES_PD_GET) == MANY);
	for (int i = 0; i < MANY; i++)
		EXPECT(!ibv_dealloc_pd(pd[i]));
	EXPECT(count(RDMA_NLDEV_CMD_RES_PD_GET) == 0);
	ibv_close_device(context);
}

static void every_kind(void)
{
	struct ibv_srq_init_attr attr = { .attr = { .max_wr = 1, .max_sge = 1 } };
	struct pair pair;
	struct ibv_srq *srq;

	pair_make(&pair);
	EXPECT((srq = ibv_create_srq(pair.pd, &attr)));
	EXPECT(count(RDMA_NLDEV_CMD_RES_QP_GET) == 2 && count(RDMA_NLDEV_CMD_RES_CQ_GET) == 1 &&
	       count(RDMA_NLDEV_CMD_RES_MR_GET) == 1 && count(RDMA_NLDEV_CMD_RES_PD_GET) == 1 &&
	       count(RDMA_NLDEV_CMD_RES_CTX_GET) == 1 && count(RDMA_NLDEV_CMD_RES_SRQ_GET) == 1 &&
	       count(RDMA_NLDEV_CMD_RES_CM_ID_GET) == 0);
	EXPECT(!ibv_destroy_srq(srq));
	pair_end(&pair);
}

int main(void)
{
	kinds();
	names();
	options();
	ways_to_send();
	bad_addresses();
	ways_to_receive();
	waiting();
	copies();
	many_objects();
	every_kind();
	return 0;
}
