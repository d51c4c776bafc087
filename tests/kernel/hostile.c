// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Tests a hostile client of the driver. It writes random bytes to all that it can map (rings,
 * their headers, the doorbell page), rings doorbells of its own queues and of others, and posts
 * random messages, tags and Ethernet frames. Two bystanders exchange data and check it, and no
 * unregistered memory is written.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <endian.h>
#include <infiniband/tm_types.h>
#include <rdma/ib_user_verbs.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "vnet-abi.h"
#include "../faults/bystanders.h"

#define MAX_MAPS 64
#define SIDES 3
/* The side whose SRQ matches tags, and the number of different tags. */
#define MATCHES 2
#define TAGS 4
/* The part of a buffer in which messages begin. */
#define HEADERS 8192
#define OPERATIONS 3000
/* The provider may loop endlessly on invalid rings, so SIGALRM ends the process. */
#define HOSTILE_SECONDS 10

static struct bystanders bystanders;

/* Objects for Ethernet frames: a raw packet queue pair, and one for RSS with its work queues. */
struct frames {
	struct ibv_qp *raw, *spread;
	struct ibv_wq *wq[2];
	struct ibv_flow *flow[2];
};

struct hostile {
	/* The process's sides. The first is connected to one of the others. */
	struct guarded g[SIDES];
	/* Mappings of device memory. */
	struct map {
		uint8_t *at;
		size_t length;
	} map[MAX_MAPS];
	unsigned int maps;
	int doorbell;
	struct frames frames;
};

static bool toss(unsigned int one_in)
{
	return !random_below(one_in);
}

/* ----------------------------------------------------------------- mappings */

static void find_maps(struct hostile *h)
{
	FILE *file = MADE(fopen("/proc/self/maps", "re"));
	unsigned long from, to;
	char line[512];

	while (fgets(line, sizeof(line), file) && h->maps < MAX_MAPS) {
		if (!strstr(line, "[vnet-memory]") || sscanf(line, "%lx-%lx", &from, &to) != 2)
			continue;
		h->map[h->maps].at = (uint8_t *)from;
		h->map[h->maps++].length = to - from;
	}
	fclose(file);
	CHECK(h->maps >= 6);
}

static void find_doorbell(struct hostile *h)
{
	DIR *dir = opendir("/proc/self/fd");
	struct dirent *entry;
	char target[128];
	ssize_t n;

	CHECK(dir);
	h->doorbell = -1;
	while ((entry = readdir(dir))) {
		n = readlinkat(dirfd(dir), entry->d_name, target, sizeof(target) - 1);
		if (n < 0)
			continue;
		target[n] = '\0';
		if (strstr(target, "[vnet-doorbell]"))
			h->doorbell = atoi(entry->d_name);
	}
	closedir(dir);
	CHECK(h->doorbell >= 0);
}

/* ------------------------------------------------------- hostile operations */

static struct side *any_side(struct hostile *h)
{
	return &h->g[random_below(SIDES)].s;
}

static uint32_t any_frames_number(const struct frames *frames)
{
	switch (random_below(3)) {
	case 0:
		return frames->raw->qp_num;
	case 1:
		return frames->spread->qp_num;
	default:
		return frames->wq[toss(2)]->wq_num;
	}
}

static uint32_t any_number(struct hostile *h)
{
	switch (random_below(5)) {
	case 0:
		/* An existing number, with other bits in the index or above it. */
		return any_side(h)->qp->qp_num ^ random_below(16) << (toss(2) ? 0 : 13);
	case 1:
		return random_below(64);
	case 2:
		return (uint32_t)random_number();
	case 3:
		return any_frames_number(&h->frames);
	default:
		return any_side(h)->qp->qp_num;
	}
}

static uint32_t any_handle(struct hostile *h)
{
	if (toss(3))
		return any_number(h);
	if (toss(3))
		return toss(2) ? h->frames.raw->handle : h->frames.spread->handle;
	return any_side(h)->qp->handle;
}

static void scribble(struct hostile *h)
{
	const struct map *map = &h->map[random_below(h->maps)];
	/* Mostly in headers and the first slots. */
	size_t within = toss(2) ? 256 : toss(2) ? 4096 : map->length;
	size_t n = 1 + random_below(32), at = random_below((uint32_t)within);

	if (at + n <= map->length)
		random_bytes(map->at + at, n);
}

/* Moves a ring index forward or back. */
static void move_index(struct hostile *h)
{
	uint32_t *index =
		(uint32_t *)(void *)h->map[random_below(h->maps)].at + 16 * random_below(4);

	__atomic_fetch_add(index, random_below(toss(4) ? 100000 : 5) - 1, __ATOMIC_SEQ_CST);
}

/* The call may fail, because the process's own index may be invalid. */
static void receive_anything(struct side *s)
{
	struct ibv_sge sge = side_sge(s, random_below(1000), random_below(64000));
	struct ibv_recv_wr wr = { .wr_id = random_number(), .sg_list = &sge, .num_sge = 1 };
	struct ibv_recv_wr *bad;

	if (s->srq)
		(void)ibv_post_srq_recv(s->srq, &wr, &bad);
	else
		(void)ibv_post_recv(s->qp, &wr, &bad);
}

static void tag_anything(struct side *s)
{
	static const enum ibv_ops_wr_opcode opcodes[] = { IBV_WR_TAG_ADD, IBV_WR_TAG_DEL,
							  IBV_WR_TAG_SYNC };
	struct ibv_sge sge = side_sge(s, random_below(1000), random_below(64000));
	struct ibv_ops_wr wr = { .wr_id = random_number(),
				 .opcode = opcodes[toss(3) ? random_below(3) : 0],
				 .flags = (int)random_below(4) };
	struct ibv_ops_wr *bad;

	wr.tm.unexpected_cnt = random_below(64);
	wr.tm.handle = random_below(64);
	if (wr.opcode == IBV_WR_TAG_ADD)
		wr.tm.add = (typeof(wr.tm.add)){ .recv_wr_id = random_number(),
						 .sg_list = &sge,
						 .num_sge = (int)random_below(2),
						 .tag = random_below(TAGS),
						 .mask = toss(4) ? random_number() : ~0ull };
	(void)ibv_post_srq_ops(s->srq, &wr, &bad);
}

/* Replaces a flow that matches all frames. */
static void flow_again(struct hostile *h)
{
	struct ibv_flow_attr attr = {
		.type = toss(2) ? IBV_FLOW_ATTR_SNIFFER : IBV_FLOW_ATTR_ALL_DEFAULT,
		.size = sizeof(attr),
		.port = 1,
	};
	unsigned int i = random_below(2);

	if (h->frames.flow[i])
		CHECK_EQ(ibv_destroy_flow(h->frames.flow[i]), 0);
	h->frames.flow[i] = MADE(ibv_create_flow(i ? h->frames.spread : h->frames.raw, &attr));
}

static void frame_anything(struct hostile *h)
{
	struct ibv_sge sge = side_sge(&h->g[0].s, random_below(1000),
				      toss(2) ? random_below(2000) : random_below(64000));
	struct ibv_recv_wr recv = { .wr_id = random_number(), .sg_list = &sge, .num_sge = 1 };
	struct ibv_send_wr send = { .sg_list = &sge, .num_sge = 1, .send_flags = random_below(16) };
	struct ibv_send_wr *bad_send;
	struct ibv_recv_wr *bad;

	if (toss(2))
		(void)ibv_post_wq_recv(h->frames.wq[toss(2)], &recv, &bad);
	else if (toss(3))
		(void)ibv_post_recv(h->frames.raw, &recv, &bad);
	else if (toss(8))
		flow_again(h);
	else
		(void)ibv_post_send(h->frames.raw, &send, &bad_send);
}

static void post_anything(struct hostile *h)
{
	static const enum ibv_wr_opcode opcodes[] = {
		IBV_WR_SEND,
		IBV_WR_SEND_WITH_IMM,
		IBV_WR_RDMA_WRITE,
		IBV_WR_RDMA_WRITE_WITH_IMM,
		IBV_WR_RDMA_READ,
		IBV_WR_ATOMIC_CMP_AND_SWP,
		IBV_WR_ATOMIC_FETCH_AND_ADD,
	};
	struct side *s = any_side(h);

	if (s == &h->g[MATCHES].s && !toss(4))
		tag_anything(s);
	else if (toss(3))
		receive_anything(s);
	else
		(void)side_try_post(s, opcodes[random_below(7)], random_number(),
				    8 * random_below(100), toss(2) ? 8 : random_below(60000),
				    (unsigned int)random_number() & 15);
}

static void ring(struct hostile *h)
{
	(void)ioctl(h->doorbell, VNET_DOORBELL_SEND + random_below(6), any_number(h));
}

/* The generic write command that rings the doorbell. */
static void ring_by_write(struct hostile *h)
{
	struct {
		struct ib_uverbs_cmd_hdr hdr;
		struct ib_uverbs_post_send post;
	} command = {
		.hdr = {
			.command = IB_USER_VERBS_CMD_POST_SEND,
			.in_words = sizeof(command) / 4,
			.out_words = 1,
		},
		.post = {
			.response = (uintptr_t)&command,
			.qp_handle = any_handle(h),
			.wr_count = toss(8) ? (uint32_t)random_number() : 0,
			.sge_count = toss(8) ? (uint32_t)random_number() : 0,
			.wqe_size = toss(8) ? (uint32_t)random_number() :
					      sizeof(struct ib_uverbs_send_wr),
		},
	};

	if (toss(3))
		command.hdr.command = toss(2) ? IB_USER_VERBS_CMD_POST_RECV :
						IB_USER_VERBS_CMD_POST_SRQ_RECV;
	(void)!write(any_side(h)->context->cmd_fd, &command, sizeof(command));
}

static void connect_again(struct hostile *h)
{
	struct side *a = &h->g[0].s, *b = &h->g[1 + random_below(2)].s;
	struct address at_a = side_address(a), at_b = side_address(b);

	(void)side_try_anew(a, &at_b);
	(void)side_try_anew(b, &at_a);
}

static void do_harm(struct hostile *h)
{
	struct ibv_wc wc;

	switch (random_below(8)) {
	case 0:
		scribble(h);
		break;
	case 1:
		move_index(h);
		break;
	case 2:
		ring(h);
		break;
	case 3:
		ring_by_write(h);
		break;
	case 4:
		(void)ibv_poll_cq(any_side(h)->cq, 1, &wc);
		break;
	case 5:
		frame_anything(h);
		break;
	default:
		post_anything(h);
		break;
	}
}

/* ---------------------------------------------------------------- objects */

/* Writes random tag matching headers to where messages begin. */
static void write_headers(struct side *s)
{
	struct {
		struct ibv_tmh tmh;
		struct ibv_rvh rvh;
	} *h = (void *)s->buffer;

	for (size_t i = 0; i < HEADERS / sizeof(*h); i++) {
		random_bytes(&h[i], sizeof(h[i]));
		h[i].tmh.opcode = toss(2) ? IBV_TMH_EAGER : IBV_TMH_RNDV;
		h[i].tmh.tag = htobe64(random_below(TAGS));
		if (toss(4))
			continue;
		h[i].rvh.va = htobe64((uintptr_t)s->buffer + random_below(1000));
		h[i].rvh.rkey = htobe32(s->mr->rkey);
		h[i].rvh.len = htobe32(random_below(64000));
	}
}

/* Replaces the side's queues by a CQ, SRQ and queue pair that match tags. */
static void match_tags(struct side *s)
{
	struct ibv_cq_init_attr_ex cq = { .cqe = 256, .wc_flags = IBV_WC_EX_WITH_TM_INFO };
	struct ibv_srq_init_attr_ex srq = {
		.attr = { .max_wr = 64, .max_sge = 1 },
		.comp_mask = IBV_SRQ_INIT_ATTR_TYPE | IBV_SRQ_INIT_ATTR_PD | IBV_SRQ_INIT_ATTR_CQ |
			     IBV_SRQ_INIT_ATTR_TM,
		.srq_type = IBV_SRQT_TM,
		.pd = s->pd,
		.tm_cap = { .max_num_tags = 64, .max_ops = 16 },
	};
	struct ibv_qp_init_attr attr = { .qp_type = IBV_QPT_RC };

	CHECK_EQ(ibv_destroy_qp(s->qp), 0);
	CHECK_EQ(ibv_destroy_cq(s->cq), 0);
	s->cq = MADE(ibv_cq_ex_to_cq(ibv_create_cq_ex(s->context, &cq)));
	srq.cq = s->cq;
	s->srq = MADE(ibv_create_srq_ex(s->context, &srq));
	attr.srq = s->srq;
	attr.send_cq = s->cq;
	attr.recv_cq = s->cq;
	s->qp = MADE(ibv_create_qp(s->pd, &attr));
}

static struct ibv_wq *open_work_queue(struct side *s)
{
	struct ibv_wq_init_attr init = {
		.wq_type = IBV_WQT_RQ, .max_wr = 16, .max_sge = 1, .pd = s->pd, .cq = s->cq
	};
	struct ibv_wq_attr ready = { .attr_mask = IBV_WQ_ATTR_STATE, .wq_state = IBV_WQS_RDY };
	struct ibv_wq *wq = MADE(ibv_create_wq(s->context, &init));

	CHECK_EQ(ibv_modify_wq(wq, &ready), 0);
	return wq;
}

static struct ibv_qp *open_spread(struct side *s, struct ibv_wq **wq)
{
	struct ibv_rwq_ind_table_init_attr two = { .log_ind_tbl_size = 1, .ind_tbl = wq };
	uint8_t key[40] = { 0x55, 0xaa };
	struct ibv_qp_init_attr_ex init = {
		.qp_type = IBV_QPT_RAW_PACKET,
		.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_RX_HASH |
			     IBV_QP_INIT_ATTR_IND_TABLE,
		.pd = s->pd,
		.rwq_ind_tbl = ibv_create_rwq_ind_table(s->context, &two),
		.rx_hash_conf = { .rx_hash_function = IBV_RX_HASH_FUNC_TOEPLITZ,
				  .rx_hash_key_len = sizeof(key),
				  .rx_hash_key = key,
				  .rx_hash_fields_mask = IBV_RX_HASH_SRC_IPV4 },
	};
	struct ibv_qp *qp;

	CHECK(init.rwq_ind_tbl);
	qp = MADE(ibv_create_qp_ex(s->context, &init));
	return qp;
}

static void open_frames(struct hostile *h)
{
	struct side *s = &h->g[0].s;
	struct ibv_qp_init_attr init = { .qp_type = IBV_QPT_RAW_PACKET,
					 .send_cq = s->cq,
					 .recv_cq = s->cq,
					 .cap = { 16, 16, 1, 1, 0 } };
	struct ibv_qp_attr attr = { .port_num = 1 };
	int mask = IBV_QP_STATE | IBV_QP_PORT;

	h->frames.raw = MADE(ibv_create_qp(s->pd, &init));
	for (attr.qp_state = IBV_QPS_INIT; attr.qp_state <= IBV_QPS_RTS; attr.qp_state++) {
		CHECK_EQ(ibv_modify_qp(h->frames.raw, &attr, mask), 0);
		mask = IBV_QP_STATE;
	}
	for (int i = 0; i < 2; i++)
		h->frames.wq[i] = open_work_queue(s);
	h->frames.spread = open_spread(s, h->frames.wq);
	for (int i = 0; i < 8; i++)
		flow_again(h);
}

static void be_hostile(void)
{
	/* Low retry limits, so that failures come soon. */
	struct wish wish = { .timeout = 1, .retry_cnt = 1, .rnr_retry = 1, .max_inline = 256 };
	struct hostile h = { .maps = 0 };

	alarm(HOSTILE_SECONDS);
	for (int i = 0; i < SIDES; i++) {
		guarded_open(&h.g[i], &wish);
		write_headers(&h.g[i].s);
	}
	match_tags(&h.g[MATCHES].s);
	open_frames(&h);
	find_maps(&h);
	find_doorbell(&h);
	for (unsigned int i = 0; i < OPERATIONS; i++) {
		if (i % 32 == 0)
			connect_again(&h);
		do_harm(&h);
	}
	/* Memory around the process's own buffers must not be written either. */
	for (int i = 0; i < SIDES; i++)
		guarded_check(&h.g[i]);
}

/* ------------------------------------------------------------------- rounds */

/* Runs the hostile process. It may crash, which the return value tells, but must end in time. */
static bool run_hostile(void)
{
	uint64_t since = now_ns(), seed = random_number();
	int status;
	pid_t pid = fork();

	CHECK(pid >= 0);
	if (!pid) {
		set_role("hostile");
		continue_random(seed);
		be_hostile();
		_exit(0);
	}
	while (!waitpid(pid, &status, WNOHANG)) {
		bystanders_check(&bystanders);
		if (is_past(since, 3 * HOSTILE_SECONDS * 1000000000ull))
			FAIL("the hostile process (seed %#llx) hangs", (unsigned long long)seed);
	}
	bystanders_check(&bystanders);
	if (WIFEXITED(status) && WEXITSTATUS(status))
		FAIL("the hostile process (seed %#llx) found something", (unsigned long long)seed);
	return WIFSIGNALED(status);
}

int main(void)
{
	unsigned int crashed = 0, n = rounds(4, 250);

	seed_random();
	bystanders_start(&bystanders);
	for (unsigned int i = 0; i < n; i++)
		crashed += run_hostile();
	bystanders_stop(&bystanders);
	note("%u hostile processes, of which %u crashed", n, crashed);
	return 0;
}
