// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include <stdlib.h>
#include <string.h>

#include "protection/protection.h"
#include "stage.h"

struct stage s;

void set_stage(u8 type, bool with_srq)
{
	struct qp_options o = { .sq_entries = 16, .rq_entries = 8 };

	memset(&s, 0, sizeof(s));
	assert_int_equal(nic_channel_create(&w.agent, STAGE_CHANNEL, 1), NIC_OK);
	s.ca = make_cq(&w.p[0], 16, 0);
	s.cb = make_cq_channel(&w.p[1], 16, STAGE_CHANNEL, STAGE_HANDLE);
	s.a = make_qp_with(&w.p[0], type, s.ca, s.ca, &o);
	if (with_srq)
		o.srq = s.srq = make_srq(&w.p[1], 8);
	s.b = make_qp_with(&w.p[1], type, s.cb, s.cb, &o);
	connect(s.a, s.b);
	s.cb->ring.hdr->arm = VNET_CQ_ARM_NEXT;
	s.armed = true;
}

/* Posts a receive with one SGE or two. (With one, the CQE can carry the payload.) */
void expect_message(u32 length, u32 pieces, u32 seed)
{
	u32 i = s.receives++;
	struct receive *r = &s.receive[i];
	struct sge to[2] = {
		sge(&w.p[1], STAGE_TO + i * 1024, pieces == 2 ? 10 : 1024),
		sge(&w.p[1], STAGE_TO + i * 1024 + 10, 1014),
	};

	*r = (struct receive){ 100 + i, STAGE_TO + i * 1024, length, seed };
	if (s.srq)
		post_srq_recv(s.srq, r->wr_id, to, pieces);
	else
		post_recv(s.b, r->wr_id, to, pieces);
}

void queue_send(u8 opcode, u32 length, u32 seed)
{
	struct vnet_send_wqe wqe = wr(opcode, seed);
	struct sge from = sge(&w.p[0], STAGE_FROM + seed * 1024, length);

	fill(&w.p[0], STAGE_FROM + seed * 1024, length, seed);
	if (s.a->type == NIC_QPT_UD) {
		aim_datagram(&wqe, s.b);
	} else if (opcode != VNET_WR_SEND) {
		wqe.rdma.remote_addr = at(&w.p[1], STAGE_TO + (s.receives - 1) * 1024);
		wqe.rdma.rkey = w.p[1].key;
	}
	post_send(s.a, &wqe, &from, 1);
}

static void doorbell(void)
{
	ring_send(s.a);
}

/* --------------------------------------------------------------- invariants */

void check_cq(const struct cq *cq)
{
	const struct nic_cq *c = &w.agent.cq[cq->cqn - 1];
	const struct vnet_cqe *cqes = (const struct vnet_cqe *)cq->ring.slots;
	u32 i;

	assert_int_equal(c->prod, cq->ring.hdr->prod);
	for (i = cq->cons; i != c->prod; i++)
		assert_int_equal(cqes[i & c->mask].seq, i + 1);
	assert_int_not_equal(cqes[i & c->mask].seq, i + 1);
}

void check_rq(const struct nic_rq *rq, const struct ring *ring)
{
	assert_int_equal(rq->cons, ring->hdr->cons);
	assert_in_range(ring->hdr->prod - rq->cons, 0, ring->mask + 1);
}

/* Every consumed receive has one completion, in order, with its data. */
void check_receives(void)
{
	const struct ring *ring = s.srq ? &s.srq->ring : &s.b->rq;
	u32 header = s.a->type == NIC_QPT_UD ? VNET_GRH_SIZE : 0;
	struct wc wc;

	while (poll(s.cb, &wc)) {
		const struct receive *r = &s.receive[s.completed];

		if (wc.wr_id == STAGE_ANSWER) {
			s.answers++;
			continue;
		}
		assert_true(s.completed < s.receives);
		assert_int_equal(wc.wr_id, r->wr_id);
		s.completed++;
		if (wc.status == VNET_WC_LOC_LEN_ERR || wc.status == VNET_WC_WR_FLUSH_ERR)
			continue;
		assert_int_equal(wc.status, VNET_WC_SUCCESS);
		assert_int_equal(wc.byte_len, r->length + header);
		assert_true(filled(&w.p[1], r->offset + header, r->length, r->seed));
	}
	assert_int_equal(s.completed, ring->hdr->cons);
}

static u32 drained;

static void drain(void *arg)
{
	tp.readable[STAGE_CHANNEL] = false;
	drained++;
}

/* The channel has an event if the CQ got a completion since it was armed. */
void check_events(void)
{
	u64 handle;
	u32 n = 0;

	if (s.armed && s.completed) {
		assert_true(tp.readable[STAGE_CHANNEL]);
		while (nic_channel_take(&w.p[1].nic, STAGE_CHANNEL, &handle, drain, NULL) ==
		       NIC_OK) {
			assert_int_equal(handle, STAGE_HANDLE);
			n++;
		}
		assert_true(n >= 1 && n <= 2);
		s.armed = false;
	}
	assert_int_equal(w.agent.channel[STAGE_CHANNEL].head, NIC_NONE);
	assert_int_equal(tp.readable[STAGE_CHANNEL], false);
	assert_int_equal(w.agent.cq[s.cb->cqn - 1].ev_pending, 0);
}

/* --------------------------------------------------------------- scenarios */

static void small_sends(void)
{
	set_stage(NIC_QPT_RC, false);
	for (u32 i = 0; i < 3; i++) {
		expect_message(50, 1, i);
		queue_send(VNET_WR_SEND, 50, i);
	}
}

static void scattered_sends(void)
{
	set_stage(NIC_QPT_RC, false);
	for (u32 i = 0; i < 2; i++) {
		expect_message(500, 2, i);
		queue_send(VNET_WR_SEND, 500, i);
	}
}

static void unreliable_sends(void)
{
	set_stage(NIC_QPT_UC, false);
	for (u32 i = 0; i < 2; i++) {
		expect_message(60, 1, i);
		queue_send(VNET_WR_SEND, 60, i);
	}
}

static void datagrams(void)
{
	set_stage(NIC_QPT_UD, false);
	for (u32 i = 0; i < 2; i++) {
		expect_message(30 + i * 100, 2, i);
		queue_send(VNET_WR_SEND, 30 + i * 100, i);
	}
}

static void shared_receives(void)
{
	set_stage(NIC_QPT_RC, true);
	assert_int_equal(nic_srq_set_limit(&w.agent, s.srq->srqn, 4), NIC_OK);
	for (u32 i = 0; i < 5; i++)
		expect_message(40, 1, i);
	for (u32 i = 0; i < 3; i++)
		queue_send(VNET_WR_SEND, 40, i);
}

static void writes_with_immediate(void)
{
	set_stage(NIC_QPT_RC, false);
	for (u32 i = 0; i < 2; i++) {
		expect_message(300, 1, i);
		queue_send(VNET_WR_RDMA_WRITE_IMM, 300, i);
	}
}

/* b fails: completion, state change and flush. */
static void too_long(void)
{
	set_stage(NIC_QPT_RC, false);
	expect_message(200, 1, 0);
	queue_send(VNET_WR_SEND, 200, 0);
	expect_message(0, 1, 0);
	queue_send(VNET_WR_SEND, 1025, 1);
	expect_message(0, 1, 0);
}

static void refused_write(void)
{
	struct vnet_send_wqe wqe = wr(VNET_WR_RDMA_WRITE, 1);
	struct sge from = sge(&w.p[0], STAGE_FROM, 8);

	set_stage(NIC_QPT_RC, false);
	wqe.rdma.rkey = 77;
	post_send(s.a, &wqe, &from, 1);
	expect_message(0, 1, 0);
}

static void receiver_overruns(void)
{
	struct nic_cq *cq;

	set_stage(NIC_QPT_RC, false);
	cq = &w.agent.cq[s.cb->cqn - 1];
	/* The CQ has room for one more entry. */
	cq->prod = cq->cons_seen = s.cb->cons = 0;
	cq->mask = s.cb->ring.mask = 0;
	for (u32 i = 0; i < 3; i++) {
		expect_message(50, 1, i);
		queue_send(VNET_WR_SEND, 50, i);
	}
}

static void check_atomic(void)
{
	const u64 *word = (const u64 *)(const void *)mem(&w.p[1], STAGE_TO);

	assert_true(*word == 10 || *word == 15);
}

static void atomic(void)
{
	struct vnet_send_wqe wqe = wr(VNET_WR_ATOMIC_FETCH_ADD, 1);
	struct sge to = sge(&w.p[0], STAGE_FROM, 8);
	u64 ten = 10;

	set_stage(NIC_QPT_RC, false);
	memcpy(mem(&w.p[1], STAGE_TO), &ten, 8);
	wqe.rdma.remote_addr = at(&w.p[1], STAGE_TO);
	wqe.rdma.rkey = w.p[1].key;
	wqe.rdma.compare_add = 5;
	post_send(s.a, &wqe, &to, 1);
}

/* Both queues of a, in the error state. */
static void own_flush(void)
{
	set_stage(NIC_QPT_RC, false);
	for (u32 i = 0; i < 3; i++) {
		queue_send(VNET_WR_SEND, 10, i);
		post_recv(s.a, i, NULL, 0);
	}
	assert_int_equal(to_state(s.a, NIC_QPS_ERR, 0), NIC_OK);
}

static void post_bind(struct qp *qp, u32 old_tag, u32 new_tag)
{
	struct process *p = qp->p;
	struct vnet_send_wqe wqe = wr(VNET_WR_BIND_MW, 1);

	wqe.bind = (struct vnet_wqe_bind){
		.addr = at(p, STAGE_TO),
		.length = 100,
		.old_rkey = s.window + old_tag,
		.new_rkey = s.window + new_tag,
		.lkey = p->key,
		.access = NIC_ACCESS_REMOTE_WRITE,
	};
	post_send(qp, &wqe, NULL, 0);
}

/* Bind and rebind a window of type 1. */
static void windows_1(void)
{
	set_stage(NIC_QPT_RC, false);
	s.window = alloc_mw(&w.p[0], NIC_MR_WINDOW_1);
	post_bind(s.a, 0, 1);
	post_bind(s.a, 1, 2);
}

static void windows_2(void)
{
	struct vnet_send_wqe inv = wr(VNET_WR_LOCAL_INV, 2);

	set_stage(NIC_QPT_RC, false);
	s.window = alloc_mw(&w.p[0], NIC_MR_WINDOW_2);
	post_bind(s.a, 0, 1);
	inv.imm = s.window + 1;
	post_send(s.a, &inv, NULL, 0);
	post_bind(s.a, 1, 2);
}

/* The daemon frees windows first, by the keys that it knows. */
static void check_window(void)
{
	assert_int_equal(nic_mr_destroy(&w.agent, s.window), NIC_OK);
}

/* The process that dies invalidates a window of b. */
static void remote_invalidate(void)
{
	struct vnet_send_wqe inv = wr(VNET_WR_SEND_INV, 2);

	set_stage(NIC_QPT_RC, false);
	s.window = alloc_mw(&w.p[1], NIC_MR_WINDOW_2);
	s.armed = false;
	s.cb->ring.hdr->arm = 0;
	post_bind(s.b, 0, 1);
	ring_send(s.b);
	expect(s.cb, 1, VNET_WC_SUCCESS);
	inv.imm = s.window + 1;
	expect_message(0, 1, 0);
	post_send(s.a, &inv, NULL, 0);
}

static void check_remote_window(void)
{
	struct nic_qp *b = frame(s.b);

	/*
	 * Even if a process died during the invalidation, the key can be invalidated, and the
	 * region freed.
	 */
	assert_int_equal(nic_invalidate_key(&w.p[1].nic, b, b, s.window + 1), VNET_WC_SUCCESS);
	assert_int_equal(nic_mr_destroy(&w.agent, s.window), NIC_OK);
	assert_int_equal(nic_mr_destroy(&w.agent, w.p[1].key), NIC_OK);
	w.p[1].key = reg_mr(&w.p[1], 0, SPACE_BYTES, ALL_ACCESS);
}

/* No receive is posted, so the sender retries. */
static void waits(void)
{
	set_stage(NIC_QPT_RC, false);
	queue_send(VNET_WR_SEND, 50, 0);
	ring_send(s.a);
	expect_message(50, 1, 0);
}

static void idle_of_a(void)
{
	idle(&w.p[0]);
}

/* A process that shares the channel (after fork) dies while it reads an event. */
static void two_events(void)
{
	set_stage(NIC_QPT_RC, false);
	for (u32 i = 0; i < 2; i++) {
		s.cb->ring.hdr->arm = VNET_CQ_ARM_NEXT;
		expect_message(10, 1, i);
		queue_send(VNET_WR_SEND, 10, i);
		ring_send(s.a);
	}
}

static void take_one(void)
{
	u64 handle;

	nic_channel_take(&w.p[0].nic, STAGE_CHANNEL, &handle, drain, NULL);
}

static void examine_channel(void)
{
	u64 handle;
	u32 left = 0;

	assert_locks_free(0);
	while (nic_channel_take(&w.p[1].nic, STAGE_CHANNEL, &handle, drain, NULL) == NIC_OK) {
		assert_int_equal(handle, STAGE_HANDLE);
		left++;
	}
	/* There were two events, and the dead process read at most one. */
	assert_in_range(left, 1, 2);
	assert_int_equal(w.agent.channel[STAGE_CHANNEL].head, NIC_NONE);
	assert_int_equal(w.agent.channel[STAGE_CHANNEL].tail, NIC_NONE);
}

const struct scenario scenarios[] = {
	{ .what = "small sends", .prepare = small_sends, .act = doorbell },
	{ .what = "scattered sends", .prepare = scattered_sends, .act = doorbell },
	{ .what = "unreliable sends", .prepare = unreliable_sends, .act = doorbell },
	{ .what = "datagrams", .prepare = datagrams, .act = doorbell },
	{ .what = "shared receives", .prepare = shared_receives, .act = doorbell },
	{ .what = "writes with immediate", .prepare = writes_with_immediate, .act = doorbell },
	{ .what = "too long", .prepare = too_long, .act = doorbell },
	{ .what = "refused write", .prepare = refused_write, .act = doorbell },
	{ .what = "receiver overruns",
	  .prepare = receiver_overruns,
	  .act = doorbell,
	  .receiver_is_lost = true },
	{ .what = "atomic", .prepare = atomic, .act = doorbell, .check = check_atomic },
	{ .what = "own flush", .prepare = own_flush, .act = doorbell },
	{ .what = "windows of type 1",
	  .prepare = windows_1,
	  .act = doorbell,
	  .check = check_window },
	{ .what = "windows of type 2",
	  .prepare = windows_2,
	  .act = doorbell,
	  .check = check_window },
	{ .what = "remote invalidate",
	  .prepare = remote_invalidate,
	  .act = doorbell,
	  .check = check_remote_window },
	{ .what = "reading a channel",
	  .prepare = two_events,
	  .act = take_one,
	  .examine = examine_channel },
	{ .what = "tried again", .prepare = waits, .act = idle_of_a },
};

const u32 scenario_count = sizeof(scenarios) / sizeof(scenarios[0]);

/* -------------------------------------------------------- save and restore */

static struct {
	void *memory;
	u64 memory_size;
	u8 target[16384];
	struct tp tp;
	struct world w;
	struct stage s;
	struct cq ca, cb;
	struct qp a, b;
	struct srq srq;
	u32 mark;
} saved;

void put_aside(void)
{
	if (saved.memory_size != tp.memory_size) {
		free(saved.memory);
		saved.memory = malloc(tp.memory_size);
		assert_non_null(saved.memory);
		saved.memory_size = tp.memory_size;
	}
	memcpy(saved.memory, tp.memory, tp.memory_size);
	memcpy(saved.target, mem(&w.p[1], STAGE_TO), sizeof(saved.target));
	saved.tp = tp;
	saved.w = w;
	saved.s = s;
	saved.ca = *s.ca;
	saved.cb = *s.cb;
	saved.a = *s.a;
	saved.b = *s.b;
	if (s.srq)
		saved.srq = *s.srq;
	saved.mark = world_mark();
}

void put_back(void)
{
	tp = saved.tp;
	w = saved.w;
	s = saved.s;
	*s.ca = saved.ca;
	*s.cb = saved.cb;
	*s.a = saved.a;
	*s.b = saved.b;
	if (s.srq)
		*s.srq = saved.srq;
	memcpy(tp.memory, saved.memory, tp.memory_size);
	memcpy(mem(&w.p[1], STAGE_TO), saved.target, sizeof(saved.target));
	world_release(saved.mark);
}
