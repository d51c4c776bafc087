// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Writes random bytes and commands with random arguments to the rdma_cm file. The daemon must
 * survive, and a connection must be possible afterwards.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <time.h>
#include <unistd.h>

#include "abi.h"
#include "peers.h"

#define CM_FILE "/dev/infiniband/rdma_cm"
#define SECONDS 4
#define FILES 4

static u_int64_t state = 88172645463325252ull;

static u_int32_t any(u_int32_t below)
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return (u_int32_t)(state >> 16) % below;
}

static u_int8_t response[1024];

/* Puts pointers and small numbers where a command may have them. */
static void spice(u_int8_t *body, size_t length)
{
	static const u_int16_t spaces[] = { RDMA_PS_TCP, RDMA_PS_UDP, RDMA_PS_IB };
	u_int64_t where = any(8) ? (uintptr_t)response : any(64);
	u_int32_t id;

	for (size_t at = 0; at + 4 <= length; at += 4) {
		id = any(12);
		if (!any(3))
			memcpy(body + at, &id, sizeof(id));
	}
	for (size_t at = 0; at + 8 <= length && at < 16; at += 8)
		if (any(4))
			memcpy(body + at, &where, sizeof(where));
	if (length >= 18)
		memcpy(body + 16, &spaces[any(3)], 2);
}

/* Puts a valid address where a command may have one. */
static void place_address(u_int8_t *body, size_t length)
{
	struct sockaddr_in in = { .sin_family = AF_INET, .sin_port = (u_int16_t)any(16) };
	static const size_t places[] = { 0, 8, 16, 28, 136, 144 };
	size_t at = places[any(6)];

	in.sin_addr.s_addr = any(2) ? 0x0100007f : 0;
	in.sin_port = (u_int16_t)(in.sin_port << 8 | 0x80);
	if (at + sizeof(in) <= length)
		memcpy(body + at, &in, sizeof(in));
}

static void strike(int fd)
{
	struct {
		struct rdma_ucm_cmd_hdr hdr;
		u_int8_t body[400];
	} command;
	size_t length = any(8) ? 4 + 4 * any(90) : any(400);

	for (size_t i = 0; i < sizeof(command.body); i++)
		command.body[i] = any(3) ? 0 : (u_int8_t)any(256);
	command.hdr.cmd = any(24);
	command.hdr.in = (u_int16_t)(any(16) ? length : any(65536));
	command.hdr.out = (u_int16_t)(any(8) ? sizeof(response) : any(400));
	spice(command.body, length);
	if (any(2))
		place_address(command.body, length);
	(void)!write(fd, &command, sizeof(command.hdr) + length);
}

static void be_hostile(int *fd)
{
	time_t end = time(NULL) + SECONDS;
	u_int32_t which;

	while (time(NULL) < end) {
		for (int i = 0; i < 200; i++)
			strike(fd[any(FILES)]);
		which = any(FILES);
		if (!any(8)) {
			close(fd[which]);
			fd[which] = open(CM_FILE, O_RDWR | O_CLOEXEC | O_NONBLOCK);
			EXPECT(fd[which] >= 0);
		}
	}
}

int main(void)
{
	struct peers peers;
	int fd[FILES];
	pid_t before;

	for (int i = 0; i < FILES; i++)
		EXPECT((fd[i] = open(CM_FILE, O_RDWR | O_CLOEXEC | O_NONBLOCK)) >= 0);
	before = daemon_pid();
	be_hostile(fd);
	for (int i = 0; i < FILES; i++)
		close(fd[i]);
	EXPECT(daemon_pid() == before);
	peers_listen(&peers, RDMA_PS_TCP, 4);
	peers_resolve(&peers, RDMA_PS_TCP);
	EXPECT(!peers_connect(peers.client, NULL, 0));
	EXPECT(!peers_heard(peers.server_channel, RDMA_CM_EVENT_CONNECT_REQUEST));
	return 0;
}
