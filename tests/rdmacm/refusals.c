// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Tests of commands that the rdma_cm file refuses, and with which errno. Covers malformed commands,
 * wrong states, addresses and limits.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <rdma/rdma_cma.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "abi.h"
#include "check.h"

#define CM_FILE "/dev/infiniband/rdma_cm"

/* The call must fail with this errno. */
struct command {
	struct rdma_ucm_cmd_hdr hdr;
	u_int8_t body[600];
};

static ssize_t give(int fd, u_int32_t cmd, const void *body, u_int16_t length, u_int16_t out)
{
	struct command command = { .hdr = { .cmd = cmd, .in = length, .out = out } };

	memcpy(command.body, body, length);
	return write(fd, &command, sizeof(command.hdr) + length);
}

static u_int32_t create(int fd, u_int16_t ps)
{
	struct rdma_ucm_create_id_resp resp = { .id = ~0u };
	struct rdma_ucm_create_id cmd = {
		.uid = 1,
		.response = (uintptr_t)&resp,
		.ps = ps,
	};

	EXPECT(give(fd, RDMA_USER_CM_CMD_CREATE_ID, &cmd, sizeof(cmd), sizeof(resp)) ==
	       sizeof(struct rdma_ucm_cmd_hdr) + sizeof(cmd));
	EXPECT(resp.id != ~0u);
	return resp.id;
}

/* The library puts the file above the numbers that programs use, if the limit permits. */
static void its_number(int fd)
{
	struct rlimit old, few;
	int other;

	EXPECT(fd >= 256);
	EXPECT(!getrlimit(RLIMIT_NOFILE, &old));
	few = (struct rlimit){ .rlim_cur = 100, .rlim_max = old.rlim_max };
	EXPECT(!setrlimit(RLIMIT_NOFILE, &few));
	other = open(CM_FILE, O_RDWR | O_CLOEXEC);
	EXPECT(other >= 0 && other < 100);
	EXPECT(!close(other));
	EXPECT(!setrlimit(RLIMIT_NOFILE, &old));
}

static void the_file(int fd)
{
	struct stat st;

	EXPECT(!fstat(fd, &st));
	EXPECT(S_ISCHR(st.st_mode) && major(st.st_rdev) == 10);
	EXPECT(read(fd, &st, sizeof(st)) < 0);
}

static void headers(int fd)
{
	struct command command = { .hdr = { .cmd = 99 } };
	const void *volatile nowhere = (const void *)4096;

	REFUSES(write(fd, &command, 4), EINVAL);
	REFUSES(write(fd, &command, 8), EINVAL);
	REFUSES(write(fd, nowhere, 8), EFAULT);
	command.hdr.cmd = RDMA_USER_CM_CMD_GET_OPTION;
	REFUSES(write(fd, &command, 8), ENOSYS);
	/* The header announces more bytes than are written. */
	command.hdr.cmd = RDMA_USER_CM_CMD_CREATE_ID;
	command.hdr.in = 100;
	REFUSES(write(fd, &command, 8), EINVAL);
	/* The response buffer is too small. */
	REFUSES(give(fd, RDMA_USER_CM_CMD_CREATE_ID, command.body, 24, 0), ENOSPC);
	REFUSES(give(fd, RDMA_USER_CM_CMD_GET_EVENT, command.body, 8, 8), ENOSPC);
	REFUSES(give(fd, RDMA_USER_CM_CMD_QUERY_ROUTE, command.body, 16, 8), ENOSPC);
	/* The address of the response is invalid. */
	command.body[17] = RDMA_PS_TCP >> 8;
	command.body[16] = RDMA_PS_TCP & 0xff;
	REFUSES(give(fd, RDMA_USER_CM_CMD_CREATE_ID, command.body, 24, 4), EFAULT);
}

static void port_spaces(int fd)
{
	struct rdma_ucm_create_id_resp resp;
	struct rdma_ucm_create_id cmd = { .response = (uintptr_t)&resp };

	REFUSES(give(fd, RDMA_USER_CM_CMD_CREATE_ID, &cmd, sizeof(cmd), sizeof(resp)), EINVAL);
	(void)create(fd, RDMA_PS_TCP);
	(void)create(fd, RDMA_PS_UDP);
	(void)create(fd, RDMA_PS_IB);
	(void)create(fd, RDMA_PS_IPOIB);
}

/* For each command that names an id: an id that does not exist, and one of another file. */
static void handles(int fd)
{
	static const struct {
		u_int32_t cmd;
		u_int16_t length, at;
	} commands[] = {
		{ RDMA_USER_CM_CMD_DESTROY_ID, 16, 8 },  { RDMA_USER_CM_CMD_RESOLVE_ROUTE, 8, 0 },
		{ RDMA_USER_CM_CMD_QUERY_ROUTE, 16, 8 }, { RDMA_USER_CM_CMD_LISTEN, 8, 0 },
		{ RDMA_USER_CM_CMD_DISCONNECT, 4, 0 },   { RDMA_USER_CM_CMD_INIT_QP_ATTR, 16, 8 },
		{ RDMA_USER_CM_CMD_NOTIFY, 8, 0 },       { RDMA_USER_CM_CMD_SET_OPTION, 24, 8 },
		{ RDMA_USER_CM_CMD_QUERY, 16, 8 },
	};
	int other = open(CM_FILE, O_RDWR | O_CLOEXEC);
	u_int32_t foreign = create(other, RDMA_PS_TCP), nobody = 60000;
	u_int8_t body[32];

	for (size_t i = 0; i < sizeof(commands) / sizeof(commands[0]); i++) {
		memset(body, 0, sizeof(body));
		memcpy(body + commands[i].at, &nobody, sizeof(nobody));
		REFUSES(give(fd, commands[i].cmd, body, commands[i].length, 600), ENOENT);
		memcpy(body + commands[i].at, &foreign, sizeof(foreign));
		REFUSES(give(fd, commands[i].cmd, body, commands[i].length, 600), EINVAL);
	}
	close(other);
}

static struct rdma_cm_id *new_id(struct rdma_event_channel *channel, enum rdma_port_space ps)
{
	struct rdma_cm_id *id;

	EXPECT(!rdma_create_id(channel, &id, NULL, ps));
	return id;
}

static struct sockaddr_in address(const char *text, u_int16_t port)
{
	struct sockaddr_in in = { .sin_family = AF_INET, .sin_port = htons(port) };

	EXPECT(inet_pton(AF_INET, text, &in.sin_addr) == 1);
	return in;
}

static int bind_to(struct rdma_cm_id *id, const char *text, u_int16_t port)
{
	struct sockaddr_in in = address(text, port);

	return rdma_bind_addr(id, (struct sockaddr *)&in);
}

static void binding(struct rdma_event_channel *channel)
{
	struct rdma_cm_id *a = new_id(channel, RDMA_PS_TCP), *b = new_id(channel, RDMA_PS_TCP),
			  *c = new_id(channel, RDMA_PS_UDP);
	int on = 1;
	u_int16_t port;

	/* An address that is reserved for documentation. */
	REFUSES(bind_to(a, "203.0.113.9", 0), EADDRNOTAVAIL);
	EXPECT(!bind_to(a, "127.0.0.1", 0));
	port = ntohs(rdma_get_src_port(a));
	EXPECT(port);
	EXPECT(a->verbs && a->port_num == 1);
	REFUSES(bind_to(a, "127.0.0.1", 0), EINVAL);
	REFUSES(bind_to(b, "127.0.0.1", port), EADDRINUSE);
	REFUSES(bind_to(b, "0.0.0.0", port), EADDRNOTAVAIL);
	/* Another port space. */
	EXPECT(!bind_to(c, "127.0.0.1", port));
	/* With REUSEADDR on both ids, they can share the port, but only one can listen. */
	EXPECT(!rdma_set_option(a, RDMA_OPTION_ID, RDMA_OPTION_ID_REUSEADDR, &on, sizeof(on)));
	EXPECT(!rdma_set_option(b, RDMA_OPTION_ID, RDMA_OPTION_ID_REUSEADDR, &on, sizeof(on)));
	EXPECT(!bind_to(b, "127.0.0.1", port));
	REFUSES(rdma_listen(b, 1), EADDRINUSE);
	EXPECT(!rdma_destroy_id(a));
	EXPECT(!rdma_listen(b, 1));
	REFUSES(rdma_listen(b, 1), EINVAL);
	EXPECT(!rdma_destroy_id(b));
	EXPECT(!rdma_destroy_id(c));
	/* The port is free when its last id is destroyed. */
	a = new_id(channel, RDMA_PS_TCP);
	EXPECT(!bind_to(a, "0.0.0.0", port));
	EXPECT(!a->verbs);
	EXPECT(!rdma_destroy_id(a));
}

static void options(struct rdma_event_channel *channel)
{
	struct rdma_cm_id *id = new_id(channel, RDMA_PS_TCP), *ud = new_id(channel, RDMA_PS_UDP);
	u_int8_t byte = 40;
	int on = 1;

	EXPECT(!rdma_set_option(id, RDMA_OPTION_ID, RDMA_OPTION_ID_TOS, &byte, 1));
	REFUSES(rdma_set_option(id, RDMA_OPTION_ID, RDMA_OPTION_ID_TOS, &on, sizeof(on)), EINVAL);
	REFUSES(rdma_set_option(id, RDMA_OPTION_ID, RDMA_OPTION_ID_AFONLY, &byte, 1), EINVAL);
	EXPECT(!rdma_set_option(id, RDMA_OPTION_ID, RDMA_OPTION_ID_AFONLY, &on, sizeof(on)));
	REFUSES(rdma_set_option(id, RDMA_OPTION_ID, RDMA_OPTION_ID_ACK_TIMEOUT, &byte, 1), EINVAL);
	byte = 18;
	EXPECT(!rdma_set_option(id, RDMA_OPTION_ID, RDMA_OPTION_ID_ACK_TIMEOUT, &byte, 1));
	REFUSES(rdma_set_option(ud, RDMA_OPTION_ID, RDMA_OPTION_ID_ACK_TIMEOUT, &byte, 1), EINVAL);
	REFUSES(rdma_set_option(id, RDMA_OPTION_ID, 77, &byte, 1), ENOSYS);
	REFUSES(rdma_set_option(id, RDMA_OPTION_IB, RDMA_OPTION_IB_PATH, &on, sizeof(on)), EINVAL);
	REFUSES(rdma_set_option(id, 9, 0, &on, sizeof(on)), ENOSYS);
	REFUSES(rdma_set_option(id, RDMA_OPTION_ID, RDMA_OPTION_ID_TOS, (void *)4096, 1), EFAULT);
	EXPECT(!rdma_destroy_id(id));
	EXPECT(!rdma_destroy_id(ud));
}

/* In the initial state: not resolved, bound or connected. */
static void states(int fd)
{
	u_int32_t id = create(fd, RDMA_PS_TCP);
	struct rdma_ucm_connect connect = { .conn_param = { .valid = 1 }, .id = id };
	struct rdma_ucm_accept accept = { .conn_param = { .valid = 1 }, .id = id };
	struct rdma_ucm_reject reject = { .id = id };
	struct rdma_ucm_notify notify = { .id = id, .event = IBV_EVENT_COMM_EST };
	struct sockaddr_in in = { .sin_family = AF_INET };
	struct rdma_ucm_bind bind = { .id = id, .addr_size = sizeof(in) };

	REFUSES(give(fd, RDMA_USER_CM_CMD_RESOLVE_ROUTE, (u_int32_t[]){ id, 1 }, 8, 0), EINVAL);
	REFUSES(give(fd, RDMA_USER_CM_CMD_CONNECT, &connect, sizeof(connect), 0), EINVAL);
	REFUSES(give(fd, RDMA_USER_CM_CMD_ACCEPT, &accept, sizeof(accept), 0), EINVAL);
	REFUSES(give(fd, RDMA_USER_CM_CMD_REJECT, &reject, sizeof(reject), 0), EINVAL);
	reject.reason = 7;
	REFUSES(give(fd, RDMA_USER_CM_CMD_REJECT, &reject, sizeof(reject), 0), EINVAL);
	REFUSES(give(fd, RDMA_USER_CM_CMD_DISCONNECT, &id, sizeof(id), 0), EINVAL);
	REFUSES(give(fd, RDMA_USER_CM_CMD_NOTIFY, &notify, sizeof(notify), 0), EINVAL);
	/* Addresses of a wrong size. */
	memcpy(&bind.addr, &in, sizeof(in));
	bind.addr_size = 4;
	REFUSES(give(fd, RDMA_USER_CM_CMD_BIND, &bind, sizeof(bind), 0), EINVAL);
	bind.addr_size = sizeof(in);
	bind.reserved = 1;
	REFUSES(give(fd, RDMA_USER_CM_CMD_BIND, &bind, sizeof(bind), 0), EINVAL);
	bind.reserved = 0;
	bind.addr.ss_family = AF_UNIX;
	REFUSES(give(fd, RDMA_USER_CM_CMD_BIND, &bind, sizeof(bind), 0), EINVAL);
}

int main(void)
{
	struct rdma_event_channel *channel = rdma_create_event_channel();
	int fd = open(CM_FILE, O_RDWR | O_CLOEXEC);

	EXPECT(channel && fd >= 0);
	the_file(fd);
	its_number(fd);
	headers(fd);
	port_spaces(fd);
	handles(fd);
	states(fd);
	binding(channel);
	options(channel);
	close(fd);
	rdma_destroy_event_channel(channel);
	return 0;
}
