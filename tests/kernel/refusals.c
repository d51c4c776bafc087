// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Tests what the driver refuses before it calls the firmware. Unknown doorbells, doorbells for
 * completion queues of others, mappings of a wrong length or kind, and contexts with another
 * interface version.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <fcntl.h>
#include <infiniband/verbs.h>
#include <limits.h>
#include <poll.h>
#include <rdma/ib_user_verbs.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "../faults/check.h"
#include "vnet-abi.h"
#include "vnet_hw.h"

#define PAGE 4096ul

static struct ibv_context *open_first(void)
{
	struct ibv_device **list = ibv_get_device_list(NULL);
	struct ibv_context *context;

	CHECK(list && list[0]);
	context = MADE(ibv_open_device(list[0]));
	ibv_free_device_list(list);
	return context;
}

/* ---------------------------------------------------------------------- doorbells */

static int find_doorbell(void)
{
	DIR *dir = opendir("/proc/self/fd");
	struct dirent *entry;
	char target[128];
	int fd = -1;
	ssize_t n;

	CHECK(dir);
	while ((entry = readdir(dir))) {
		n = readlinkat(dirfd(dir), entry->d_name, target, sizeof(target) - 1);
		if (n < 0)
			continue;
		target[n] = '\0';
		if (strstr(target, "[vnet-doorbell]"))
			fd = atoi(entry->d_name);
	}
	closedir(dir);
	CHECK(fd >= 0);
	return fd;
}

static void doorbells(void)
{
	static const unsigned long commands[] = { 0, 0x75ff, 0x7606, 0x7fff, ~0u };
	int fd = find_doorbell();

	for (unsigned int i = 0; i < sizeof(commands) / sizeof(commands[0]); i++) {
		errno = 0;
		CHECK_EQ(ioctl(fd, commands[i], 1), -1);
		CHECK_EQ(errno, ENOTTY);
	}
	CHECK_EQ(ioctl(fd, VNET_DOORBELL_SEND, 0xffffff), 0);
}

/* A completion queue that is armed while it has an unpolled entry: its doorbell makes an event. */
struct owing {
	struct ibv_comp_channel *channel;
	struct ibv_cq *cq;
	struct ibv_pd *pd;
	struct ibv_qp *qp;
};

/* The ring of the context's only completion queue, which is the mapping with this length. */
static struct vnet_ring *find_ring(size_t length)
{
	unsigned long from, to;
	FILE *file = MADE(fopen("/proc/self/maps", "re"));
	struct vnet_ring *ring = NULL;
	char line[512];

	while (fgets(line, sizeof(line), file)) {
		if (strstr(line, "[vnet-memory]") && sscanf(line, "%lx-%lx", &from, &to) == 2 &&
		    to - from == length)
			ring = (struct vnet_ring *)from;
	}
	fclose(file);
	CHECK(ring);
	return ring;
}

/* The entry is of a receive that is flushed. The ring is armed without a doorbell. */
static void owing_open(struct owing *o, struct ibv_context *context)
{
	struct ibv_qp_init_attr init = { .qp_type = IBV_QPT_RC, .cap = { 1, 1, 1, 1, 0 } };
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_INIT, .port_num = 1 };
	struct ibv_recv_wr wr = { .num_sge = 0 }, *bad;
	const struct vnet_cqe *entry;
	struct vnet_ring *ring;
	uint32_t seq;

	o->channel = MADE(ibv_create_comp_channel(context));
	o->cq = MADE(ibv_create_cq(context, 256, NULL, o->channel, 0));
	o->pd = MADE(ibv_alloc_pd(context));
	init.send_cq = o->cq;
	init.recv_cq = o->cq;
	o->qp = MADE(ibv_create_qp(o->pd, &init));
	CHECK_EQ(ibv_modify_qp(o->qp, &attr,
			       IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT |
				       IBV_QP_ACCESS_FLAGS),
		 0);
	CHECK_EQ(ibv_post_recv(o->qp, &wr, &bad), 0);
	ring = find_ring(256 * sizeof(*entry) + PAGE);
	entry = (const struct vnet_cqe *)(ring + 1);
	seq = entry->seq;
	attr.qp_state = IBV_QPS_ERR;
	CHECK_EQ(ibv_modify_qp(o->qp, &attr, IBV_QP_STATE), 0);
	/* The NIC processor may flush the queue pair later. */
	while (__atomic_load_n(&entry->seq, __ATOMIC_ACQUIRE) == seq)
		;
	/*
	 * It looks at `arm` after it has stored the entry. The destruction of a region waits for
	 * operations that began before.
	 */
	CHECK_EQ(ibv_dereg_mr(MADE(ibv_reg_mr(o->pd, &seq, sizeof(seq), 0))), 0);
	__atomic_store_n(&ring->arm, VNET_CQ_ARM_NEXT, __ATOMIC_SEQ_CST);
}

static void owing_close(struct owing *o)
{
	CHECK_EQ(ibv_destroy_qp(o->qp), 0);
	CHECK_EQ(ibv_dealloc_pd(o->pd), 0);
	CHECK_EQ(ibv_destroy_cq(o->cq), 0);
	CHECK_EQ(ibv_destroy_comp_channel(o->channel), 0);
}

static void ring_all_cqs(int doorbell)
{
	for (unsigned int cqn = 0; cqn < 8192; cqn++)
		CHECK_EQ(ioctl(doorbell, VNET_DOORBELL_CQ, cqn), 0);
}

/* Only the doorbells of its own context make a completion queue's event. */
static void foreign_doorbells(void)
{
	int foreign = find_doorbell(), own;
	struct ibv_context *context = open_first();
	struct pollfd readable;
	struct ibv_cq *cq;
	struct owing o;
	void *unused;

	own = find_doorbell();
	CHECK(own != foreign);
	owing_open(&o, context);
	readable = (struct pollfd){ .fd = o.channel->fd, .events = POLLIN };
	ring_all_cqs(foreign);
	CHECK_EQ(poll(&readable, 1, 0), 0);
	ring_all_cqs(own);
	CHECK_EQ(poll(&readable, 1, 0), 1);
	CHECK_EQ(ibv_get_cq_event(o.channel, &cq, &unused), 0);
	ibv_ack_cq_events(cq, 1);
	owing_close(&o);
	CHECK_EQ(ibv_close_device(context), 0);
}

/* ----------------------------------------------------------------------- mappings */

static void cannot_map(int fd, size_t length, int flags, off_t offset)
{
	void *at;

	errno = 0;
	at = mmap(NULL, length, PROT_READ | PROT_WRITE, flags, fd, offset);
	CHECK(at == MAP_FAILED);
	CHECK_EQ(errno, EINVAL);
}

/* A process may map its own queue memory again, but only with the same length, and shared. */
static void mappings(struct ibv_context *context)
{
	unsigned long from = 0, to = 0, offset = 0;
	FILE *file = MADE(fopen("/proc/self/maps", "re"));
	char line[512];
	void *at;

	while (fgets(line, sizeof(line), file)) {
		if (strstr(line, "[vnet-memory]") &&
		    sscanf(line, "%lx-%lx %*s %lx", &from, &to, &offset) == 3 && to - from > PAGE)
			break;
		from = to = 0;
	}
	fclose(file);
	CHECK(to > from);
	at = mmap(NULL, to - from, PROT_READ | PROT_WRITE, MAP_SHARED, context->cmd_fd,
		  (off_t)offset);
	CHECK(at != MAP_FAILED);
	munmap(at, to - from);
	cannot_map(context->cmd_fd, to - from + PAGE, MAP_SHARED, (off_t)offset);
	cannot_map(context->cmd_fd, to - from, MAP_PRIVATE, (off_t)offset);
	cannot_map(context->cmd_fd, to - from, MAP_SHARED, (off_t)(1ul << 40));
}

/* ------------------------------------------------------------------------ regions */

/* The page list of the largest region, at any address, is one allocation of kvmalloc(). */
static void regions(struct ibv_context *context)
{
	struct ibv_pd *pd = MADE(ibv_alloc_pd(context));
	struct ibv_device_attr attr;
	static char byte;

	CHECK_EQ(ibv_query_device(context, &attr), 0);
	CHECK((attr.max_mr_size / PAGE + 1) * sizeof(void *) <= INT_MAX);
	errno = 0;
	CHECK(!ibv_reg_mr(pd, &byte, attr.max_mr_size + 1, 0));
	CHECK_EQ(errno, EINVAL);
	CHECK_EQ(ibv_dealloc_pd(pd), 0);
}

/* ----------------------------------------------------------------------- contexts */

/* Sends GET_CONTEXT with `length` bytes of driver data. Returns 0 or errno. */
static int get_context(const struct vnet_alloc_ucontext_req *req, size_t length, unsigned int tail)
{
	struct {
		struct ib_uverbs_cmd_hdr hdr;
		struct ib_uverbs_get_context cmd;
		uint8_t driver[sizeof(*req) + 64];
	} command = { .hdr.command = IB_USER_VERBS_CMD_GET_CONTEXT };
	struct {
		struct ib_uverbs_get_context_resp core;
		uint8_t driver[256];
	} resp;
	size_t size = sizeof(command.hdr) + sizeof(command.cmd) + length;
	int fd = open("/dev/infiniband/uverbs0", O_RDWR | O_CLOEXEC), error = 0;

	CHECK(fd >= 0);
	memcpy(command.driver, req, sizeof(*req));
	command.driver[sizeof(*req)] = (uint8_t)tail;
	command.cmd.response = (uintptr_t)&resp;
	command.hdr.in_words = (uint16_t)(size / 4);
	command.hdr.out_words = sizeof(resp) / 4;
	if (write(fd, &command, size) != (ssize_t)size)
		error = errno;
	close(fd);
	return error;
}

static void contexts(void)
{
	struct vnet_alloc_ucontext_req req = { .hw_version = VNET_HW_VERSION };

	CHECK_EQ(get_context(&req, sizeof(req), 0), 0);
	CHECK_EQ(get_context(&req, sizeof(req) - 4, 0), EINVAL);
	/* Longer driver data, whose tail is zero or not. */
	CHECK_EQ(get_context(&req, sizeof(req) + 8, 0), 0);
	CHECK_EQ(get_context(&req, sizeof(req) + 8, 1), EINVAL);
	req.hw_version++;
	CHECK_EQ(get_context(&req, sizeof(req), 0), EPROTONOSUPPORT);
	req.hw_version--;
	((uint8_t *)&req)[sizeof(req) - 1] = 1;
	CHECK_EQ(get_context(&req, sizeof(req), 0), EPROTONOSUPPORT);
}

int main(void)
{
	struct ibv_context *context = open_first();
	struct ibv_cq *cq = MADE(ibv_create_cq(context, 1000, NULL, NULL, 0));

	/* They come first, because contexts() leaves doorbell descriptors open. */
	doorbells();
	foreign_doorbells();
	mappings(context);
	regions(context);
	contexts();
	CHECK_EQ(ibv_destroy_cq(cq), 0);
	CHECK_EQ(ibv_close_device(context), 0);
	return 0;
}
