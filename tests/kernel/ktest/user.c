// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Connects a process's queue pair to one of vnet_ktest.ko, and exchanges data with it. Messages
 * in both directions, and writes and reads of each side's memory by the other.
 *
 *   ktest_user DEVICE ROUNDS
 *
 * Prints "it flows" after the first eight rounds.
 */
#include <errno.h>
#include <fcntl.h>
#include <infiniband/verbs.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#include "qp.h"
#include "vnet_ktest.h"

#define TIME_LIMIT 20
#define SIZE 65536u
#define ACCESS                                                                                     \
	(IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ |               \
	 IBV_ACCESS_REMOTE_ATOMIC)

#define CHECK(cond)                                                                                \
	do {                                                                                       \
		if (!(cond))                                                                       \
			die(__LINE__, #cond);                                                      \
	} while (0)

static const char *device_name;
static struct ibv_context *context;
static struct ibv_pd *pd;
static struct ibv_comp_channel *channel;
static struct ibv_cq *cq;
static struct ibv_qp *qp;
static struct ibv_mr *mr;
static uint8_t *buffer;
static struct vnet_ktest_end kernel_end;
static int ktest;

__attribute__((noreturn)) static void die(int line, const char *what)
{
	fprintf(stderr, "ktest_user:%d: not so: %s (%s)\n", line, what, strerror(errno));
	exit(1);
}

/* ------------------------------------------------------------------- set up */

static void open_queues(void)
{
	struct ibv_qp_init_attr init = {
		.qp_type = IBV_QPT_RC,
		.sq_sig_all = 1,
		.cap = { VNET_KTEST_DEPTH, VNET_KTEST_DEPTH, 1, 1, 0 },
	};

	pd = ibv_alloc_pd(context);
	CHECK(pd);
	buffer = aligned_alloc(4096, SIZE);
	CHECK(buffer);
	memset(buffer, 0, SIZE);
	mr = ibv_reg_mr(pd, buffer, SIZE, ACCESS);
	CHECK(mr);
	channel = ibv_create_comp_channel(context);
	CHECK(channel);
	cq = ibv_create_cq(context, 2 * VNET_KTEST_DEPTH, NULL, channel, 0);
	CHECK(cq);
	init.send_cq = cq;
	init.recv_cq = cq;
	qp = ibv_create_qp(pd, &init);
	CHECK(qp);
}

/* Index of the RoCE v2 GID with an IPv4 address. */
static int gid_index(union ibv_gid *gid)
{
	static const uint8_t ipv4[12] = { [10] = 0xff, [11] = 0xff };
	struct ibv_gid_entry entry;

	for (uint32_t i = 0; i < 16; i++) {
		if (ibv_query_gid_ex(context, 1, i, &entry, 0) ||
		    entry.gid_type != IBV_GID_TYPE_ROCE_V2 || memcmp(entry.gid.raw, ipv4, 12) != 0)
			continue;
		*gid = entry.gid;
		return (int)i;
	}
	return -1;
}

static void to_rts(int index)
{
	union ibv_gid gid;
	struct ibv_qp_attr attr;

	memcpy(gid.raw, kernel_end.gid, 16);
	attr = qp_attr_to(kernel_end.qpn, &gid, (uint8_t)index);
	attr.max_dest_rd_atomic = 4;
	attr.max_rd_atomic = 4;
	CHECK(!qp_to_rts(qp, &attr));
}

static void connect_queues(void)
{
	struct vnet_ktest_connect connect = { 0 };
	union ibv_gid gid;
	int index = gid_index(&gid);

	CHECK(index >= 0);
	snprintf(connect.device, sizeof(connect.device), "%s", device_name);
	memcpy(connect.end.gid, gid.raw, 16);
	connect.end.qpn = qp->qp_num;
	connect.end.rkey = mr->rkey;
	connect.end.addr = (uintptr_t)buffer;
	connect.end.length = SIZE;
	ktest = open(VNET_KTEST_DEVICE, O_RDWR | O_CLOEXEC);
	CHECK(ktest >= 0);
	CHECK(!ioctl(ktest, VNET_KTEST_CONNECT, &connect));
	kernel_end = connect.end;
	to_rts(index);
}

/* ----------------------------------------------------------------- requests */

static struct ibv_sge piece(uint32_t offset, uint32_t length)
{
	return (struct ibv_sge){ (uintptr_t)buffer + offset, length, mr->lkey };
}

static void receive(uint32_t offset)
{
	struct ibv_sge sge = piece(offset, VNET_KTEST_MESSAGE);
	struct ibv_recv_wr wr = { .sg_list = &sge, .num_sge = 1 }, *bad;

	CHECK(!ibv_post_recv(qp, &wr, &bad));
}

static void post(enum ibv_wr_opcode opcode, uint32_t offset, uint32_t length)
{
	struct ibv_sge sge = piece(offset, length);
	struct ibv_send_wr wr = { .sg_list = &sge, .num_sge = 1, .opcode = opcode }, *bad;

	wr.wr.rdma.remote_addr = kernel_end.addr;
	wr.wr.rdma.rkey = kernel_end.rkey;
	CHECK(!ibv_post_send(qp, &wr, &bad));
}

/* Waits for a completion by events. */
static void sleep_for_completion(struct ibv_wc *wc)
{
	struct ibv_cq *from;
	void *of;

	CHECK(!ibv_req_notify_cq(cq, 0));
	if (ibv_poll_cq(cq, 1, wc) == 1)
		return;
	do {
		CHECK(!ibv_get_cq_event(channel, &from, &of));
		ibv_ack_cq_events(from, 1);
		CHECK(!ibv_req_notify_cq(cq, 0));
	} while (ibv_poll_cq(cq, 1, wc) != 1);
}

static struct ibv_wc wait_for(bool sleeps)
{
	time_t until = time(NULL) + TIME_LIMIT;
	struct ibv_wc wc;

	if (sleeps) {
		sleep_for_completion(&wc);
	} else {
		while (!ibv_poll_cq(cq, 1, &wc))
			CHECK(time(NULL) < until);
	}
	if (wc.status)
		fprintf(stderr, "ktest_user: %s\n", ibv_wc_status_str(wc.status));
	CHECK(!wc.status);
	return wc;
}

/* -------------------------------------------------------------------- tests */

static uint8_t byte_of(uint32_t i, uint32_t mark)
{
	return (uint8_t)(i * 13 + mark);
}

static void message(uint32_t length, uint32_t mark, bool sleeps)
{
	uint32_t back_at = SIZE / 2;
	struct ibv_wc wc;

	for (uint32_t i = 0; i < length; i++)
		buffer[i] = byte_of(i, mark);
	receive(back_at);
	post(IBV_WR_SEND, 0, length);
	for (int i = 0; i < 2; i++) {
		wc = wait_for(sleeps);
		CHECK(!(wc.opcode & IBV_WC_RECV) || wc.byte_len == length);
	}
	for (uint32_t i = 0; i < length; i++)
		CHECK((buffer[back_at + i] ^ byte_of(i, mark)) == 0xff);
}

/* The process writes and reads the kernel's memory. */
static void kernel_memory(uint32_t mark)
{
	uint32_t length = SIZE / 2;

	for (uint32_t i = 0; i < length; i++)
		buffer[i] = byte_of(i, mark);
	post(IBV_WR_RDMA_WRITE, 0, length);
	(void)wait_for(false);
	memset(buffer, 0, SIZE);
	post(IBV_WR_RDMA_READ, length, length);
	(void)wait_for(false);
	for (uint32_t i = 0; i < length; i++)
		CHECK(buffer[length + i] == byte_of(i, mark));
}

/* The kernel reads and writes the process's memory. */
static void own_memory(uint32_t mark)
{
	for (uint32_t i = 0; i < SIZE; i++)
		buffer[i] = byte_of(i, mark);
	CHECK(!ioctl(ktest, VNET_KTEST_READ));
	memset(buffer, 0, SIZE);
	CHECK(!ioctl(ktest, VNET_KTEST_WRITE));
	for (uint32_t i = 0; i < SIZE; i++)
		CHECK(buffer[i] == byte_of(i, mark));
}

static void close_all(void)
{
	CHECK(!close(ktest));
	CHECK(!ibv_destroy_qp(qp));
	CHECK(!ibv_destroy_cq(cq));
	CHECK(!ibv_destroy_comp_channel(channel));
	CHECK(!ibv_dereg_mr(mr));
	CHECK(!ibv_dealloc_pd(pd));
	CHECK(!ibv_close_device(context));
	free(buffer);
}

int main(int argc, char **argv)
{
	static const uint32_t lengths[] = { 1, 64, 1000, VNET_KTEST_MESSAGE };
	uint32_t rounds = argc == 3 ? (uint32_t)strtoul(argv[2], NULL, 10) : 0;

	if (!rounds) {
		fprintf(stderr, "usage: ktest_user DEVICE ROUNDS\n");
		return 2;
	}
	device_name = argv[1];
	context = open_test_device(device_name);
	CHECK(context);
	open_queues();
	connect_queues();
	for (uint32_t i = 0; i < rounds; i++) {
		message(lengths[i % 4], i, i % 8 >= 4);
		if (i == 7) {
			printf("%s: it flows\n", device_name);
			fflush(stdout);
		}
	}
	kernel_memory(5);
	own_memory(6);
	close_all();
	printf("%s: %u messages to the kernel and back\n", device_name, rounds);
	return 0;
}
