// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Test of a program that starts as root and gives that up; the script "user" runs it.
 *
 * A device that was opened before continues with its daemon. One that is opened afterwards belongs
 * to the new user's daemon.
 */
#define _GNU_SOURCE
#include "check.h"

#include <fcntl.h>
#include <grp.h>
#include <limits.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define OTHER 65534

static void drop(void)
{
	EXPECT(!setgroups(0, NULL) && !setgid(OTHER) && !setuid(OTHER));
}

/* Uses device files, the device's folders, and all kinds of objects. */
static void use(struct pair *pair)
{
	char name[PATH_MAX];
	struct pair more;
	struct stat st;
	int fd;

	expect_traffic(pair);
	pair_make(&more);
	expect_traffic(&more);
	pair_end(&more);
	fd = open("/dev/infiniband/rdma_cm", O_RDWR | O_CLOEXEC);
	EXPECT(fd >= 0);
	close(fd);
	EXPECT(!stat("/sys/class/infiniband/vnet0/ports/1/gids/0", &st));
	EXPECT(realpath("/sys/class/infiniband", name) && !strcmp(name, "/sys/class/infiniband"));
}

static void check_before(void)
{
	struct pair pair;

	drop();
	pair_make(&pair);
	use(&pair);
	EXPECT(prctl(PR_GET_DUMPABLE) == 0);
	pair_end(&pair);
}

static void check_after(void)
{
	struct pair pair;

	pair_make(&pair);
	use(&pair);
	drop();
	use(&pair);
	EXPECT(prctl(PR_GET_DUMPABLE) == 0);
	pair_end(&pair);
}

/* Changes the effective user and back. Nothing may stay behind that root cannot use. */
static void check_effective(void)
{
	struct pair pair;

	EXPECT(!setegid(OTHER) && !seteuid(OTHER));
	pair_make(&pair);
	use(&pair);
	EXPECT(!seteuid(0) && !setegid(0));
	use(&pair);
	pair_end(&pair);
}

/* A child of a process that has given up root opens a device of its own. */
static void check_child(void)
{
	struct pair pair;
	pid_t pid;

	pair_make(&pair);
	drop();
	use(&pair);
	pid = fork();
	EXPECT(pid >= 0);
	if (!pid) {
		pair_make(&pair);
		use(&pair);
		EXPECT(prctl(PR_GET_DUMPABLE) == 0);
		_exit(0);
	}
	expect_exit(pid, 0);
	use(&pair);
	pair_end(&pair);
}

/* Two processes that have given up root. One wakes the other by its completion channel. */
static void check_two(void)
{
	struct pair pair;
	int sock[2];
	pid_t pid;

	EXPECT(!socketpair(AF_UNIX, SOCK_SEQPACKET, 0, sock));
	drop();
	pid = fork();
	EXPECT(pid >= 0);
	pair_make(&pair);
	pair_join(&pair, sock[!pid]);
	if (!pid) {
		struct ibv_sge sge = { (uintptr_t)pair.buffer, 64, pair.mr->lkey };
		struct ibv_send_wr wr = { .sg_list = &sge,
					  .num_sge = 1,
					  .opcode = IBV_WR_SEND,
					  .send_flags = IBV_SEND_SIGNALED },
				   *bad;

		EXPECT(read(sock[1], pair.buffer, 1) == 1);
		EXPECT(!ibv_post_send(pair.qp[0], &wr, &bad));
		EXPECT(pair_poll(&pair) == IBV_WC_SUCCESS);
		_exit(0);
	} else {
		struct ibv_sge sge = { (uintptr_t)pair.buffer, 64, pair.mr->lkey };
		struct ibv_recv_wr wr = { .sg_list = &sge, .num_sge = 1 }, *bad;
		struct ibv_cq *cq;
		void *context;

		EXPECT(!ibv_req_notify_cq(pair.cq, 0));
		EXPECT(!ibv_post_recv(pair.qp[0], &wr, &bad));
		EXPECT(write(sock[0], "", 1) == 1);
		EXPECT(!ibv_get_cq_event(pair.channel, &cq, &context));
		ibv_ack_cq_events(cq, 1);
		EXPECT(pair_poll(&pair) == IBV_WC_SUCCESS);
	}
	expect_exit(pid, 0);
	pair_end(&pair);
}

/* A program that has made itself undumpable gets no device, because its memory would be exposed. */
static void check_hidden(void)
{
	int n = -1;

	EXPECT(!prctl(PR_SET_DUMPABLE, 0, 0, 0, 0));
	drop();
	EXPECT(!ibv_get_device_list(&n) || !n);
	EXPECT(prctl(PR_GET_DUMPABLE) == 0);
}

static void check_plain(void)
{
	struct pair pair;

	pair_make(&pair);
	use(&pair);
	pair_end(&pair);
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		void (*run)(void);
	} check[] = {
		{ "before", check_before },
		{ "after", check_after },
		{ "effective", check_effective },
		{ "child", check_child },
		{ "two", check_two },
		{ "hidden", check_hidden },
		{ "plain", check_plain },
	};

	EXPECT(argc == 2);
	for (size_t i = 0; i < sizeof(check) / sizeof(check[0]); i++)
		if (!strcmp(check[i].name, argv[1])) {
			check[i].run();
			return 0;
		}
	return 2;
}
