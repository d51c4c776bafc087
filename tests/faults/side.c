// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#define _GNU_SOURCE
#include "side.h"

#include <poll.h>
#include <sys/mman.h>
#include <unistd.h>

#include "qp.h"

/* ------------------------------------------------------------------ making */

struct ibv_context *open_device(void)
{
	return MADE(open_test_device(NULL));
}

static void settle_wish(struct wish *w, const struct wish *wish)
{
	if (wish)
		*w = *wish;
	w->type = w->type ? w->type : IBV_QPT_RC;
	w->length = w->length ? w->length : 65536;
	w->depth = w->depth ? w->depth : 64;
	w->sge = w->sge ? w->sge : 4;
	w->timeout = w->timeout ? w->timeout : 14;
	w->retry_cnt = w->retry_cnt ? w->retry_cnt : 7;
	if (!w->rnr_retry && !w->no_rnr_retry)
		w->rnr_retry = 7;
	w->min_rnr_timer = w->min_rnr_timer ? w->min_rnr_timer : 1;
}

static void open_buffer(struct side *s)
{
	int flags = MAP_PRIVATE | MAP_ANONYMOUS;

	s->length = s->wish.length;
	s->file = -1;
	if (s->wish.file) {
		flags = MAP_SHARED;
		s->file = memfd_create("side", MFD_CLOEXEC);
		CHECK(s->file >= 0);
		CHECK_EQ(ftruncate(s->file, (off_t)s->length), 0);
	}
	s->buffer = mmap(NULL, s->length, PROT_READ | PROT_WRITE, flags, s->file, 0);
	CHECK(s->buffer != MAP_FAILED);
	s->mr = MADE(ibv_reg_mr(s->pd, s->buffer, s->length,
				SIDE_ACCESS | (s->wish.on_demand ? IBV_ACCESS_ON_DEMAND : 0)));
}

static void open_queues(struct side *s)
{
	const struct wish *w = &s->wish;
	struct ibv_srq_init_attr srq_attr = { .attr = { .max_wr = w->depth, .max_sge = w->sge } };
	struct ibv_qp_init_attr attr = {
		.qp_type = w->type,
		.sq_sig_all = w->sig_all,
		.cap = {
			.max_send_wr = w->depth,
			.max_recv_wr = w->srq ? 0 : w->depth,
			.max_send_sge = w->sge,
			.max_recv_sge = w->srq ? 0 : w->sge,
			.max_inline_data = w->max_inline,
		},
	};

	if (w->events) {
		s->channel = MADE(ibv_create_comp_channel(s->context));
	}
	s->cq = MADE(ibv_create_cq(s->context, (int)w->depth * 2, s, s->channel, 0));
	if (w->srq) {
		s->srq = MADE(ibv_create_srq(s->pd, &srq_attr));
	}
	attr.send_cq = s->cq;
	attr.recv_cq = s->cq;
	attr.srq = s->srq;
	s->qp = MADE(ibv_create_qp(s->pd, &attr));
	side_to_init(s);
}

uint64_t device_counter(const struct ibv_context *context, const char *name)
{
	unsigned long long count;
	char path[256];
	FILE *file;

	snprintf(path, sizeof(path), "/sys/class/infiniband/%s/ports/1/hw_counters/%s",
		 ibv_get_device_name(context->device), name);
	file = MADE(fopen(path, "re"));
	CHECK_EQ(fscanf(file, "%llu", &count), 1);
	fclose(file);
	return count;
}

void side_open(struct side *s, const struct wish *wish)
{
	memset(s, 0, sizeof(*s));
	settle_wish(&s->wish, wish);
	s->context = s->wish.context ? s->wish.context : open_device();
	s->pd = MADE(ibv_alloc_pd(s->context));
	open_buffer(s);
	open_queues(s);
}

void side_close(struct side *s)
{
	if (s->qp)
		CHECK_EQ(ibv_destroy_qp(s->qp), 0);
	if (s->srq)
		CHECK_EQ(ibv_destroy_srq(s->srq), 0);
	if (s->cq)
		CHECK_EQ(ibv_destroy_cq(s->cq), 0);
	if (s->channel)
		CHECK_EQ(ibv_destroy_comp_channel(s->channel), 0);
	if (s->mr)
		CHECK_EQ(ibv_dereg_mr(s->mr), 0);
	if (s->pd)
		CHECK_EQ(ibv_dealloc_pd(s->pd), 0);
	if (!s->wish.context)
		CHECK_EQ(ibv_close_device(s->context), 0);
	if (s->buffer)
		munmap(s->buffer, s->length);
	if (s->file >= 0)
		close(s->file);
	memset(s, 0, sizeof(*s));
}

struct address side_address(const struct side *s)
{
	struct address a = {
		.qpn = s->qp->qp_num,
		.rkey = s->mr->rkey,
		.addr = (uintptr_t)s->buffer,
	};

	CHECK_EQ(ibv_query_gid(s->context, 1, s->wish.gid_index, &a.gid), 0);
	return a;
}

/* -------------------------------------------------------------- connecting */

static struct ibv_qp_attr attr_to(const struct side *s, const struct address *peer)
{
	struct ibv_qp_attr attr = qp_attr_to(peer->qpn, &peer->gid, s->wish.gid_index);

	attr.path_mtu = IBV_MTU_4096;
	attr.qkey = SIDE_QKEY;
	attr.qp_access_flags = SIDE_ACCESS;
	attr.max_dest_rd_atomic = 16;
	attr.max_rd_atomic = 16;
	attr.min_rnr_timer = s->wish.min_rnr_timer;
	attr.timeout = s->wish.timeout;
	attr.retry_cnt = s->wish.retry_cnt;
	attr.rnr_retry = s->wish.rnr_retry;
	return attr;
}

static int try_to(struct side *s, enum ibv_qp_state state)
{
	struct ibv_qp_attr attr = attr_to(s, &s->peer);

	return qp_to(s->qp, state, &attr);
}

static int try_rtr(struct side *s, const struct address *peer)
{
	s->peer = *peer;
	return try_to(s, IBV_QPS_RTR);
}

void side_to_init(struct side *s)
{
	CHECK_EQ(try_to(s, IBV_QPS_INIT), 0);
}

void side_to_rtr(struct side *s, const struct address *peer)
{
	CHECK_EQ(try_rtr(s, peer), 0);
}

void side_to_rts(struct side *s)
{
	CHECK_EQ(try_to(s, IBV_QPS_RTS), 0);
}

void side_to_reset(struct side *s)
{
	CHECK_EQ(try_to(s, IBV_QPS_RESET), 0);
}

bool side_try_anew(struct side *s, const struct address *peer)
{
	return !try_to(s, IBV_QPS_RESET) && !try_to(s, IBV_QPS_INIT) && !try_rtr(s, peer) &&
	       !try_to(s, IBV_QPS_RTS);
}

void side_connect(struct side *s, const struct address *peer)
{
	side_to_rtr(s, peer);
	side_to_rts(s);
}

void side_meet(struct side *s, int sock)
{
	struct address mine = side_address(s), theirs;

	tell(sock, &mine, sizeof(mine));
	hear(sock, &theirs, sizeof(theirs));
	side_connect(s, &theirs);
	meet(sock);
}

void pair_open(struct side s[2], const struct wish *wish)
{
	struct address a[2];

	for (int i = 0; i < 2; i++) {
		side_open(&s[i], wish);
		a[i] = side_address(&s[i]);
	}
	for (int i = 0; i < 2; i++)
		side_connect(&s[i], &a[1 - i]);
}

void pair_close(struct side s[2])
{
	side_close(&s[0]);
	side_close(&s[1]);
}

void pair_send(struct side s[2], size_t length)
{
	side_receive(&s[1], 1, 0, length);
	side_post(&s[0], IBV_WR_SEND, 2, 0, length);
	(void)side_expect(&s[0], 2, IBV_WC_SUCCESS);
	(void)side_expect(&s[1], 1, IBV_WC_SUCCESS);
}

void side_destroy_qp(struct side *s)
{
	CHECK_EQ(ibv_destroy_qp(s->qp), 0);
	s->qp = NULL;
}

void side_destroy_cq(struct side *s)
{
	CHECK_EQ(ibv_destroy_cq(s->cq), 0);
	s->cq = NULL;
}

void side_destroy_srq(struct side *s)
{
	CHECK_EQ(ibv_destroy_srq(s->srq), 0);
	s->srq = NULL;
}

struct ibv_qp *make_rc_qp(struct ibv_pd *pd, struct ibv_cq *cq, uint32_t receives)
{
	return ibv_create_qp(pd, &(struct ibv_qp_init_attr){
					 .qp_type = IBV_QPT_RC,
					 .send_cq = cq,
					 .recv_cq = cq,
					 .cap = { 4, receives, 1, 1, 0 },
				 });
}

void qp_to_error(struct ibv_qp *qp)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_ERR };

	CHECK_EQ(ibv_modify_qp(qp, &attr, IBV_QP_STATE), 0);
}

enum ibv_qp_state side_state(const struct side *s)
{
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr;

	CHECK_EQ(ibv_query_qp(s->qp, &attr, IBV_QP_STATE, &init), 0);
	return attr.qp_state;
}

/* ----------------------------------------------------------------- posting */

struct ibv_sge side_sge(const struct side *s, size_t offset, size_t length)
{
	return (struct ibv_sge){
		.addr = (uintptr_t)s->buffer + offset,
		.length = (uint32_t)length,
		.lkey = s->mr->lkey,
	};
}

static void set_remote(const struct side *s, struct ibv_send_wr *wr, size_t offset)
{
	switch (wr->opcode) {
	case IBV_WR_ATOMIC_CMP_AND_SWP:
	case IBV_WR_ATOMIC_FETCH_AND_ADD:
		wr->wr.atomic.remote_addr = s->peer.addr + offset;
		wr->wr.atomic.rkey = s->peer.rkey;
		wr->wr.atomic.compare_add = 1;
		break;
	default:
		wr->wr.rdma.remote_addr = s->peer.addr + offset;
		wr->wr.rdma.rkey = s->peer.rkey;
		break;
	}
}

int side_try_post(struct side *s, enum ibv_wr_opcode opcode, uint64_t wr_id, size_t offset,
		  size_t length, unsigned int flags)
{
	struct ibv_sge sge = side_sge(s, offset, length);
	struct ibv_send_wr wr = {
		.wr_id = wr_id,
		.sg_list = &sge,
		.num_sge = 1,
		.opcode = opcode,
		.send_flags = flags,
	};
	struct ibv_send_wr *bad;

	set_remote(s, &wr, offset);
	return ibv_post_send(s->qp, &wr, &bad);
}

void side_post(struct side *s, enum ibv_wr_opcode opcode, uint64_t wr_id, size_t offset,
	       size_t length)
{
	CHECK_EQ(side_try_post(s, opcode, wr_id, offset, length, IBV_SEND_SIGNALED), 0);
}

void side_receive(struct side *s, uint64_t wr_id, size_t offset, size_t length)
{
	struct ibv_sge sge = side_sge(s, offset, length);
	struct ibv_recv_wr wr = { .wr_id = wr_id, .sg_list = &sge, .num_sge = 1 };
	struct ibv_recv_wr *bad;

	if (s->srq)
		CHECK_EQ(ibv_post_srq_recv(s->srq, &wr, &bad), 0);
	else
		CHECK_EQ(ibv_post_recv(s->qp, &wr, &bad), 0);
}

/* ----------------------------------------------------------------- polling */

struct ibv_wc cq_wait(struct ibv_cq *cq)
{
	uint64_t since = now_ns();
	struct ibv_wc wc;
	int n;

	for (;;) {
		n = ibv_poll_cq(cq, 1, &wc);
		if (n == 1)
			return wc;
		CHECK_EQ(n, 0);
		if (is_past(since, TIME_LIMIT * 1000000000ull))
			FAIL("no completion came in %d s", TIME_LIMIT);
	}
}

struct ibv_wc side_wait(struct side *s)
{
	return cq_wait(s->cq);
}

struct ibv_wc side_expect(struct side *s, uint64_t wr_id, enum ibv_wc_status status)
{
	struct ibv_wc wc = side_wait(s);

	if (wc.wr_id != wr_id || wc.status != status)
		FAIL("completion of request %llu with status %d (%s); not of %llu with %d",
		     (unsigned long long)wc.wr_id, (int)wc.status, ibv_wc_status_str(wc.status),
		     (unsigned long long)wr_id, (int)status);
	return wc;
}

void side_expect_silence(struct side *s, uint64_t ns)
{
	uint64_t since = now_ns();
	struct ibv_wc wc;

	do {
		if (ibv_poll_cq(s->cq, 1, &wc))
			FAIL("a completion of request %llu, status %d",
			     (unsigned long long)wc.wr_id, (int)wc.status);
	} while (!is_past(since, ns));
}

struct ibv_async_event side_event(struct side *s)
{
	struct pollfd pfd = { .fd = s->context->async_fd, .events = POLLIN };
	struct ibv_async_event event;

	CHECK_EQ(poll(&pfd, 1, TIME_LIMIT * 1000), 1);
	CHECK_EQ(ibv_get_async_event(s->context, &event), 0);
	ibv_ack_async_event(&event);
	return event;
}

/* -------------------------------------------------------------------- data */

static uint8_t byte_at(size_t i, uint32_t mark)
{
	return (uint8_t)((i * 131) ^ (i >> 8) ^ (mark * 29 + 7));
}

void fill(void *dst, size_t length, uint32_t mark)
{
	uint8_t *byte = dst;

	for (size_t i = 0; i < length; i++)
		byte[i] = byte_at(i, mark);
}

bool is_filled(const void *src, size_t length, uint32_t mark)
{
	const uint8_t *byte = src;

	for (size_t i = 0; i < length; i++)
		if (byte[i] != byte_at(i, mark))
			return false;
	return true;
}
