// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Synchronizes two test processes by a socket, and opens devices. */
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "meet.h"
#include "qp.h"

char here[HERE] = "start";

void exchange(int sock, const void *mine, void *theirs, size_t length)
{
	CHECK(send(sock, mine, length, MSG_NOSIGNAL) == (ssize_t)length);
	CHECK(recv(sock, theirs, length, MSG_WAITALL) == (ssize_t)length);
}

void meet(int sock)
{
	char mine = 1, theirs;

	exchange(sock, &mine, &theirs, 1);
}

int meeting_place(const char *path, bool listens)
{
	struct sockaddr_un at = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM, 0), peer;

	CHECK(fd >= 0 && strlen(path) < sizeof(at.sun_path));
	memcpy(at.sun_path, path, strlen(path));
	if (!listens) {
		CHECK(!connect(fd, (struct sockaddr *)&at, sizeof(at)));
		return fd;
	}
	CHECK(!bind(fd, (struct sockaddr *)&at, sizeof(at)) && !listen(fd, 1));
	peer = accept(fd, NULL, NULL);
	CHECK(peer >= 0);
	close(fd);
	return peer;
}

struct ibv_context *open_named(const char *name)
{
	struct ibv_context *ctx = open_test_device(name);

	CHECK(ctx);
	return ctx;
}
