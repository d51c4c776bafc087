// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Begins and synchronizes two test processes, which have a socket between them. */
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "meet.h"
#include "qp.h"

char here[HERE] = "start";

/* Sends `mine` to the peer, and receives the peer's as `theirs`. */
static void exchange(int sock, const void *mine, void *theirs, size_t length)
{
	CHECK(send(sock, mine, length, MSG_NOSIGNAL) == (ssize_t)length);
	CHECK(recv(sock, theirs, length, MSG_WAITALL) == (ssize_t)length);
}

void meet(int sock)
{
	char mine = 1, theirs;

	exchange(sock, &mine, &theirs, 1);
}

/* Returns a connected socket: one process listens at this path, the other one connects. */
static int meeting_place(const char *path, bool listens)
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

void side_start(struct side *s, int argc, char **argv, uint64_t flag, size_t length)
{
	struct vnetdv_context attr;

	if (argc < 3 || argc > 4 ||
	    (strcmp(argv[1], "receive") != 0 && strcmp(argv[1], "send") != 0)) {
		fprintf(stderr, "Usage: %s receive|send SOCKET [DEVICE]\n", argv[0]);
		exit(2);
	}
	s->sends = !strcmp(argv[1], "send");
	s->sock = meeting_place(argv[2], !s->sends);
	s->ctx = open_named(argv[3]);
	CHECK(!vnetdv_open(s->ctx, &s->dv));
	CHECK(!s->dv.query_context(s->ctx, &attr, sizeof(attr)));
	CHECK(attr.flags & flag);
	s->pd = ibv_alloc_pd(s->ctx);
	s->buffer = aligned_alloc(4096, length);
	CHECK(s->pd && s->buffer);
}

void side_end(struct side *s)
{
	CHECK(!ibv_dealloc_pd(s->pd) && !ibv_close_device(s->ctx));
	free(s->buffer);
	puts("ok");
}

struct address side_exchange(struct side *s)
{
	struct address mine = { .qpn = s->qp->qp_num,
				.rkey = s->mr->rkey,
				.addr = (uintptr_t)s->buffer };

	CHECK(!ibv_query_gid(s->ctx, 1, GID_INDEX, &mine.gid));
	exchange(s->sock, &mine, &s->peer, sizeof(mine));
	return mine;
}

struct ibv_wc wait_for(struct ibv_cq *cq)
{
	struct ibv_wc wc;
	int n;

	do {
		n = ibv_poll_cq(cq, 1, &wc);
	} while (!n);
	CHECK(n == 1);
	return wc;
}
