// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#define _GNU_SOURCE
#include "check.h"

#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "qp.h"

#define HALF (PAIR_BUFFER / 2)

struct ibv_context *open_first(void)
{
	struct ibv_context *context = open_test_device(NULL);

	EXPECT(context);
	return context;
}

void expect_alive(struct ibv_context *context)
{
	struct ibv_device_attr attr;
	struct ibv_pd *pd;

	EXPECT(ibv_query_device(context, &attr) == 0);
	pd = ibv_alloc_pd(context);
	EXPECT(pd);
	EXPECT(ibv_dealloc_pd(pd) == 0);
}

static void connect_qp(struct ibv_qp *qp, unsigned int to)
{
	struct ibv_qp_attr attr;
	struct ibv_port_attr port;
	union ibv_gid gid;

	EXPECT(!ibv_query_port(qp->context, 1, &port));
	EXPECT(!ibv_query_gid(qp->context, 1, 0, &gid));
	attr = qp_attr_to(to, &gid, 0);
	/* For an InfiniBand port. */
	attr.ah_attr.dlid = port.lid;
	EXPECT(!qp_to_rts(qp, &attr));
}

void pair_make_small(struct pair *pair, int entries)
{
	struct ibv_qp_init_attr init = {
		.qp_type = IBV_QPT_RC,
		.sq_sig_all = 1,
		.cap = { .max_send_wr = 16,
			 .max_recv_wr = 16,
			 .max_send_sge = 1,
			 .max_recv_sge = 1 },
	};

	memset(pair, 0, sizeof(*pair));
	pair->context = open_first();
	EXPECT((pair->pd = ibv_alloc_pd(pair->context)));
	EXPECT((pair->channel = ibv_create_comp_channel(pair->context)));
	EXPECT((pair->cq = ibv_create_cq(pair->context, entries, pair, pair->channel, 0)));
	init.send_cq = pair->cq;
	init.recv_cq = pair->cq;
	for (int i = 0; i < 2; i++)
		EXPECT((pair->qp[i] = ibv_create_qp(pair->pd, &init)));
	for (int i = 0; i < 2; i++)
		connect_qp(pair->qp[i], pair->qp[1 - i]->qp_num);
	EXPECT(!posix_memalign((void **)&pair->buffer, 4096, PAIR_BUFFER));
	memset(pair->buffer, 0, PAIR_BUFFER);
	pair->mr = ibv_reg_mr(pair->pd, pair->buffer, PAIR_BUFFER,
			      IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE);
	EXPECT(pair->mr);
}

void pair_make(struct pair *pair)
{
	pair_make_small(pair, 64);
}

void pair_join(struct pair *pair, int sock)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_RESET };
	unsigned int number = pair->qp[0]->qp_num;
	char byte;

	EXPECT(write(sock, &number, sizeof(number)) == sizeof(number));
	EXPECT(read(sock, &number, sizeof(number)) == sizeof(number));
	EXPECT(!ibv_modify_qp(pair->qp[0], &attr, IBV_QP_STATE));
	connect_qp(pair->qp[0], number);
	/* Neither process continues before both queue pairs are connected. */
	EXPECT(write(sock, "r", 1) == 1);
	EXPECT(read(sock, &byte, 1) == 1);
}

void pair_end(struct pair *pair)
{
	for (int i = 0; i < 2; i++)
		EXPECT(!ibv_destroy_qp(pair->qp[i]));
	if (pair->cq)
		EXPECT(!ibv_destroy_cq(pair->cq));
	EXPECT(!ibv_dereg_mr(pair->mr));
	EXPECT(!ibv_destroy_comp_channel(pair->channel));
	EXPECT(!ibv_dealloc_pd(pair->pd));
	EXPECT(!ibv_close_device(pair->context));
	free(pair->buffer);
}

void pair_post(struct pair *pair, unsigned int length)
{
	struct ibv_sge from = { .addr = (uintptr_t)pair->buffer,
				.length = length,
				.lkey = pair->mr->lkey };
	struct ibv_sge to = { .addr = (uintptr_t)pair->buffer + HALF,
			      .length = HALF,
			      .lkey = pair->mr->lkey };
	struct ibv_recv_wr recv = { .sg_list = &to, .num_sge = 1 }, *bad_recv;
	struct ibv_send_wr send = { .sg_list = &from,
				    .num_sge = 1,
				    .opcode = IBV_WR_SEND,
				    .send_flags = IBV_SEND_SIGNALED },
			   *bad_send;

	EXPECT(!ibv_post_recv(pair->qp[1], &recv, &bad_recv));
	EXPECT(!ibv_post_send(pair->qp[0], &send, &bad_send));
}

enum ibv_wc_status pair_poll(struct pair *pair)
{
	struct ibv_wc wc;
	int n;

	do
		n = ibv_poll_cq(pair->cq, 1, &wc);
	while (n == 0);
	EXPECT(n == 1);
	return wc.status;
}

void expect_traffic(struct pair *pair)
{
	static char last;

	memset(pair->buffer, __atomic_add_fetch(&last, 1, __ATOMIC_RELAXED), 100);
	pair_post(pair, 100);
	EXPECT(pair_poll(pair) == IBV_WC_SUCCESS);
	EXPECT(pair_poll(pair) == IBV_WC_SUCCESS);
	EXPECT(!memcmp(pair->buffer, pair->buffer + HALF, 100));
}

pid_t daemon_pid(void)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	struct ucred peer;
	socklen_t length = sizeof(peer);
	int sock = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);

	snprintf(address.sun_path, sizeof(address.sun_path), "%s/default/vnetd.sock",
		 getenv("VNET_RUNTIME_DIR"));
	if (connect(sock, (struct sockaddr *)&address, sizeof(address)) ||
	    getsockopt(sock, SOL_SOCKET, SO_PEERCRED, &peer, &length))
		peer.pid = -1;
	close(sock);
	return peer.pid;
}

void expect_exit(pid_t pid, int status)
{
	int got;

	EXPECT(waitpid(pid, &got, 0) == pid);
	if (WIFSIGNALED(got))
		fprintf(stderr, "process %d died of signal %d\n", pid, WTERMSIG(got));
	EXPECT(WIFEXITED(got) && WEXITSTATUS(got) == status);
}

union control {
	char space[CMSG_SPACE(2 * sizeof(int))];
	struct cmsghdr header;
};

void send_fds(int sock, const int *fds, unsigned int n)
{
	union control control = { .header = { .cmsg_len = CMSG_LEN(n * sizeof(int)),
					      .cmsg_level = SOL_SOCKET,
					      .cmsg_type = SCM_RIGHTS } };
	struct iovec iov = { .iov_base = (char[]){ "x" }, .iov_len = 1 };
	struct msghdr msg = { .msg_iov = &iov,
			      .msg_iovlen = 1,
			      .msg_control = &control,
			      .msg_controllen = CMSG_SPACE(n * sizeof(int)) };

	memcpy(CMSG_DATA(&control.header), fds, n * sizeof(int));
	EXPECT(sendmsg(sock, &msg, 0) == 1);
}

void receive_fds(int sock, int *fds, unsigned int n)
{
	union control control;
	char byte;
	struct iovec iov = { .iov_base = &byte, .iov_len = 1 };
	struct msghdr msg = { .msg_iov = &iov,
			      .msg_iovlen = 1,
			      .msg_control = &control,
			      .msg_controllen = sizeof(control) };

	EXPECT(recvmsg(sock, &msg, 0) == 1);
	EXPECT(CMSG_FIRSTHDR(&msg) && CMSG_FIRSTHDR(&msg)->cmsg_len == CMSG_LEN(n * sizeof(int)));
	memcpy(fds, CMSG_DATA(CMSG_FIRSTHDR(&msg)), n * sizeof(int));
}
