// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Tests device memory (ibv_alloc_dm()) shared between processes. Each operation uses it at both
 * ends, several processes do atomic operations on one word, and an owner is killed.
 */
#define _GNU_SOURCE
#include <signal.h>

#include "side.h"

#define LENGTH 16384u
#define ADDS 2000u
#define ADDERS 2
#define ACCESS (SIDE_ACCESS | IBV_ACCESS_ZERO_BASED)

struct device_memory {
	struct ibv_dm *dm;
	struct ibv_mr *mr;
};

static void dm_open(struct device_memory *m, struct side *s)
{
	struct ibv_alloc_dm_attr attr = { .length = LENGTH, .log_align_req = 3 };

	m->dm = MADE(ibv_alloc_dm(s->context, &attr));
	m->mr = MADE(ibv_reg_dm_mr(s->pd, m->dm, 0, LENGTH, ACCESS));
}

static void dm_close(struct device_memory *m)
{
	CHECK_EQ(ibv_dereg_mr(m->mr), 0);
	CHECK_EQ(ibv_free_dm(m->dm), 0);
}

static void dm_fill(struct device_memory *m, uint32_t length, uint32_t mark)
{
	static uint8_t bytes[LENGTH];

	fill(bytes, length, mark);
	CHECK_EQ(ibv_memcpy_to_dm(m->dm, 0, bytes, length), 0);
}

static bool dm_is_filled(struct device_memory *m, uint32_t length, uint32_t mark)
{
	static uint8_t bytes[LENGTH];

	CHECK_EQ(ibv_memcpy_from_dm(bytes, m->dm, 0, length), 0);
	return is_filled(bytes, length, mark);
}

/* Sends the rkey only: the region is zero-based. */
static void dm_tell(int sock, const struct device_memory *m)
{
	tell(sock, &m->mr->rkey, sizeof(m->mr->rkey));
}

/* Executes one request between the local and the peer's device memory. */
static void request(struct side *s, const struct device_memory *m, enum ibv_wr_opcode opcode,
		    uint32_t length, uint32_t rkey)
{
	struct ibv_sge sge = { .addr = 0, .length = length, .lkey = m->mr->lkey };
	struct ibv_send_wr wr = {
		.sg_list = &sge, .num_sge = 1, .opcode = opcode, .send_flags = IBV_SEND_SIGNALED
	};
	struct ibv_send_wr *bad;

	if (opcode == IBV_WR_ATOMIC_FETCH_AND_ADD) {
		wr.wr.atomic.rkey = rkey;
		wr.wr.atomic.compare_add = 1;
	} else {
		wr.wr.rdma.rkey = rkey;
	}
	CHECK_EQ(ibv_post_send(s->qp, &wr, &bad), 0);
	(void)side_expect(s, 0, IBV_WC_SUCCESS);
}

/* ----------------------------------------------------------------- the owner */

static void receive(struct side *s, const struct device_memory *m, uint32_t length)
{
	struct ibv_sge sge = { .addr = 0, .length = length, .lkey = m->mr->lkey };
	struct ibv_recv_wr wr = { .wr_id = 1, .sg_list = &sge, .num_sge = 1 };
	struct ibv_recv_wr *bad;

	CHECK_EQ(ibv_post_recv(s->qp, &wr, &bad), 0);
}

static const uint32_t lengths[] = { 8, 80, 81, LENGTH };

#define COUNT(_table) (sizeof(_table) / sizeof((_table)[0]))

/* Responder of requests(). */
static void owner(int sock, void *arg)
{
	struct device_memory m;
	struct side s;

	side_open(&s, NULL);
	dm_open(&m, &s);
	side_meet(&s, sock);
	dm_tell(sock, &m);
	for (uint32_t i = 0; i < COUNT(lengths); i++) {
		/* Also a message that is small enough for the CQE must arrive in device memory. */
		receive(&s, &m, lengths[i]);
		meet(sock);
		(void)side_expect(&s, 1, IBV_WC_SUCCESS);
		CHECK(dm_is_filled(&m, lengths[i] & ~3u, i));
		meet(sock);
		meet(sock);
		CHECK(dm_is_filled(&m, lengths[i] & ~3u, i + 100));
		dm_fill(&m, LENGTH, i + 200);
		meet(sock);
		meet(sock);
	}
	side_destroy_qp(&s);
	dm_close(&m);
	side_close(&s);
}

static void requests(void)
{
	struct device_memory m;
	struct helper peer;
	struct side s;
	uint32_t rkey;

	helper_start(&peer, "owner", owner, NULL);
	side_open(&s, NULL);
	dm_open(&m, &s);
	side_meet(&s, peer.sock);
	hear(peer.sock, &rkey, sizeof(rkey));
	for (uint32_t i = 0; i < COUNT(lengths); i++) {
		dm_fill(&m, LENGTH, i);
		meet(peer.sock);
		request(&s, &m, IBV_WR_SEND, lengths[i], rkey);
		meet(peer.sock);
		dm_fill(&m, LENGTH, i + 100);
		request(&s, &m, IBV_WR_RDMA_WRITE, lengths[i], rkey);
		meet(peer.sock);
		meet(peer.sock);
		request(&s, &m, IBV_WR_RDMA_READ, lengths[i], rkey);
		CHECK(dm_is_filled(&m, lengths[i] & ~3u, i + 200));
		meet(peer.sock);
	}
	helper_join(&peer);
	side_destroy_qp(&s);
	dm_close(&m);
	side_close(&s);
}

/* -------------------------------------------------------------- one word, many */

static void adder(int sock, void *arg)
{
	struct device_memory m;
	struct side s;
	uint32_t rkey;

	side_open(&s, NULL);
	dm_open(&m, &s);
	side_meet(&s, sock);
	hear(sock, &rkey, sizeof(rkey));
	for (uint32_t i = 0; i < ADDS; i++)
		request(&s, &m, IBV_WR_ATOMIC_FETCH_AND_ADD, 8, rkey);
	meet(sock);
	/* The test kills this process while it waits here. */
	hear(sock, &rkey, sizeof(rkey));
}

/*
 * The sides are not closed, and mapped queues keep a context of the driver open. So the device
 * memory is freed explicitly.
 */
static void add_together(void)
{
	struct helper adders[ADDERS];
	struct ibv_mr *mr[ADDERS];
	struct side s[ADDERS];
	struct device_memory m;
	struct ibv_context *context;
	uint64_t sum;

	for (int i = 0; i < ADDERS; i++)
		helper_start(&adders[i], "adder", adder, NULL);
	context = open_device();
	for (int i = 0; i < ADDERS; i++)
		side_open(&s[i], &(struct wish){ .context = context });
	dm_open(&m, &s[0]);
	for (int i = 0; i < ADDERS; i++) {
		mr[i] = i ? ibv_reg_dm_mr(s[i].pd, m.dm, 0, LENGTH, ACCESS) : m.mr;
		CHECK(mr[i]);
		side_meet(&s[i], adders[i].sock);
		tell(adders[i].sock, &mr[i]->rkey, sizeof(mr[i]->rkey));
	}
	for (int i = 0; i < ADDERS; i++)
		meet(adders[i].sock);
	CHECK_EQ(ibv_memcpy_from_dm(&sum, m.dm, 0, sizeof(sum)), 0);
	CHECK_EQ(sum, ADDERS * ADDS);
	/* Their own device memory is freed with them. */
	for (int i = 0; i < ADDERS; i++)
		helper_kill(&adders[i]);
	for (int i = 1; i < ADDERS; i++)
		CHECK_EQ(ibv_dereg_mr(mr[i]), 0);
	dm_close(&m);
	CHECK_EQ(ibv_close_device(context), 0);
}

/* All device memory can be allocated again: that of dead processes was freed. */
static void all_is_back(void)
{
	struct ibv_device_attr_ex attr;
	struct ibv_alloc_dm_attr all = { 0 };
	struct ibv_context *context = open_device();
	uint64_t since = now_ns();
	struct ibv_dm *dm;

	CHECK_EQ(ibv_query_device_ex(context, NULL, &attr), 0);
	all.length = attr.max_dm_size;
	while (!(dm = ibv_alloc_dm(context, &all))) {
		CHECK_EQ(errno, ENOMEM);
		if (is_past(since, TIME_LIMIT * 1000000000ull))
			FAIL("device memory of the dead is not free");
	}
	CHECK_EQ(ibv_free_dm(dm), 0);
	CHECK_EQ(ibv_close_device(context), 0);
}

int main(void)
{
	requests();
	add_together();
	all_is_back();
	return 0;
}
