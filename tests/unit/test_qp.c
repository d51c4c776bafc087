// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Creation, query and destruction of queue pairs, and locks and peers that delay them. */
#include <string.h>

#include "world.h"

static struct nic_qp_params good_params(struct cq *cq)
{
	static const struct qp_options plain;
	struct nic_qp_params p = qp_params(&w.p[0], NIC_QPT_RC, cq, cq, &plain);

	p.sq_ring = ring_make(p.sq_entries, p.sq_stride_shift).offset;
	p.rq_ring = ring_make(p.rq_entries, p.rq_stride_shift).offset;
	return p;
}

static void refuse(const struct nic_qp_params *p, const char *what)
{
	if (nic_qp_create(&w.agent, p) != NIC_EINVAL)
		fail_msg("created: %s", what);
}

#define REFUSE(change)                                                                             \
	do {                                                                                       \
		p = good;                                                                          \
		change;                                                                            \
		refuse(&p, #change);                                                               \
	} while (0)

static void create_checks(void **state)
{
	struct cq *cq = make_cq(&w.p[0], 8, 0);
	struct srq *srq = make_srq(&w.p[0], 8);
	struct nic_qp_params good = good_params(cq), p;

	REFUSE(p.qpn = 0);
	REFUSE(p.qpn = 1u << 24);
	REFUSE(p.type = 0);
	REFUSE(p.type = 7);
	REFUSE(p.type = 34);
	REFUSE(p.send_cqn = 0);
	REFUSE(p.send_cqn = cq->cqn + 1);
	REFUSE(p.recv_cqn = 0);
	REFUSE(p.recv_cqn = 0xffffffffu);
	REFUSE(p.sq_entries = 0);
	REFUSE(p.sq_entries = 12);
	REFUSE(p.sq_entries = 0x80000000u);
	REFUSE(p.sq_ring = 0);
	REFUSE(p.sq_ring += 32);
	REFUSE(p.sq_ring = tp.off_queue + tp.queue_bytes - 4096);
	REFUSE(p.sq_stride_shift = 5);
	REFUSE(p.sq_stride_shift = 9; p.max_send_sge = 29);
	REFUSE(p.sq_stride_shift = 8);
	REFUSE(p.sq_stride_shift = 9; p.max_send_sge = 1; p.max_inline = 449);
	REFUSE(p.sq_stride_shift = 32);
	REFUSE(p.sq_stride_shift = 255);
	REFUSE(p.max_send_sge = 33; p.sq_stride_shift = 11);
	REFUSE(p.max_inline = 1025; p.sq_stride_shift = 12);
	REFUSE(p.rq_entries = 0);
	REFUSE(p.rq_entries = 5);
	REFUSE(p.rq_ring = 0);
	REFUSE(p.rq_stride_shift = 9);
	REFUSE(p.rq_stride_shift = 40);
	REFUSE(p.max_recv_sge = 33; p.rq_stride_shift = 11);
	REFUSE(p.srqn = srq->srqn);
	REFUSE(p.srqn = srq->srqn + 1; p.rq_entries = 0);
	REFUSE(p.type = NIC_QPT_UC; p.srqn = srq->srqn; p.rq_entries = 0);
	assert_int_equal(nic_qp_create(&w.agent, &good), NIC_OK);
	assert_int_equal(nic_qp_create(&w.agent, &good), NIC_EINUSE);
	p = good;
	p.qpn += w.config.max_qp;
	assert_int_equal(nic_qp_create(&w.agent, &p), NIC_EINUSE);
}

static void begins_in_reset(void **state)
{
	struct cq *cq = make_cq(&w.p[0], 8, 0);
	struct nic_qp_params p = good_params(cq);
	struct nic_qp_attr attr, zero = { 0 };
	u8 qp_state = 9, draining = 9;

	assert_int_equal(nic_qp_query(&w.agent, p.qpn, &attr, &qp_state, &draining), NIC_EINVAL);
	assert_int_equal(nic_qp_create(&w.agent, &p), NIC_OK);
	assert_int_equal(nic_qp_query(&w.agent, p.qpn, &attr, &qp_state, &draining), NIC_OK);
	assert_int_equal(qp_state, NIC_QPS_RESET);
	assert_int_equal(draining, 0);
	assert_memory_equal(&attr, &zero, sizeof(attr));
}

static void query_tells_what_was_set(void **state)
{
	struct pair pair = make_pair(NIC_QPT_RC);
	struct nic_qp_attr attr, want = good_attr(pair.b->qpn);
	u8 qp_state, draining;

	assert_int_equal(nic_qp_query(&w.agent, pair.a->qpn, &attr, &qp_state, &draining), NIC_OK);
	assert_int_equal(qp_state, NIC_QPS_RTS);
	want.qkey = 0; /* not an attribute of this type */
	assert_memory_equal(&attr, &want, sizeof(attr));
}

/* A table entry is used again: no state of its last QP is left. */
static void reuse_of_a_frame(void **state)
{
	struct pair pair = make_pair(NIC_QPT_RC);
	struct cq *cq = make_cq(&w.p[0], 8, 0);
	struct nic_qp_params p = good_params(cq);
	struct vnet_send_wqe wqe = wr(VNET_WR_SEND, 1);
	struct nic_qp fresh;
	struct nic_qp *f = frame(pair.a);
	u32 old = pair.a->qpn;

	send_one(pair.a, &wqe, NULL); /* waits: no receive */
	assert_int_equal(to_state(pair.a, NIC_QPS_ERR, 0), NIC_OK);
	assert_int_equal(nic_qp_destroy(&w.agent, old), NIC_OK);
	assert_int_equal(nic_qp_destroy(&w.agent, old), NIC_EINVAL);
	no_async();
	run_for(3 * MS);
	assert_int_equal(nic_qp_create(&w.agent, &p), NIC_OK);
	fresh = w.agent.qp[p.qpn];
	assert_int_equal(nic_qp_destroy(&w.agent, p.qpn), NIC_OK);
	p.qpn = old + w.config.max_qp;
	assert_int_equal(nic_qp_create(&w.agent, &p), NIC_OK);
	fresh.qpn = fresh.rq.num = p.qpn;
	assert_memory_equal(f, &fresh, sizeof(fresh));
	/* Doorbells for the old number do nothing. */
	nic_send_doorbell(&w.p[0].nic, old);
	nic_recv_doorbell(&w.p[0].nic, old, false);
	assert_memory_equal(f, &fresh, sizeof(fresh));
}

static void destroy_waits_for_who_is_inside(void **state)
{
	struct srq *srq = make_srq(&w.p[0], 8);
	struct qp_options with_srq = { .srq = srq };
	struct cq *cq = make_cq(&w.p[0], 8, 0);
	struct qp *qp = make_qp_with(&w.p[0], NIC_QPT_RC, cq, cq, &with_srq);
	nic_lock_t *lock[] = { &frame(qp)->sq_lock, &frame(qp)->rq.lock,
			       &w.agent.srq[srq->srqn - 1].rq.lock };

	for (u32 i = 0; i < 3; i++) {
		*lock[i] = 5;
		assert_int_equal(nic_qp_destroy(&w.agent, qp->qpn), NIC_BUSY);
		assert_int_equal(nic_qp_lock_owner(&w.agent, qp->qpn), 5);
		assert_locks_free(5);
		*lock[i] = 0;
	}
	assert_int_equal(frame(qp)->qpn, qp->qpn);
	assert_int_equal(nic_qp_destroy(&w.agent, qp->qpn), NIC_OK);
	assert_int_equal(nic_qp_lock_owner(&w.agent, qp->qpn), 0);
}

/* The peer is executing a write: destruction waits until it ends. */
static void destroy_waits_for_the_peer(void **state)
{
	struct pair pair = make_pair(NIC_QPT_RC);

	frame(pair.a)->sq_lock = 5;
	assert_int_equal(nic_qp_destroy(&w.agent, pair.b->qpn), NIC_BUSY);
	assert_int_equal(nic_qp_lock_owner(&w.agent, pair.b->qpn), 5);
	/* The QP is sealed: no new operation begins. */
	assert_int_equal(state_of(pair.b), NIC_QPS_RESET);
	assert_int_equal(nic_qp_destroy(&w.agent, pair.b->qpn), NIC_BUSY);
	frame(pair.a)->sq_lock = 0;
	assert_int_equal(nic_qp_destroy(&w.agent, pair.b->qpn), NIC_OK);
}

/* A QP that is not connected back does not delay destruction. */
static void destroy_does_not_wait_for_others(void **state)
{
	struct pair pair = make_pair(NIC_QPT_RC), other = make_pair(NIC_QPT_RC);
	struct pair ud = make_pair(NIC_QPT_UD);

	frame(other.a)->sq_lock = 5;
	frame(pair.b)->attr.dest_qpn = other.a->qpn;
	assert_int_equal(nic_qp_destroy(&w.agent, pair.b->qpn), NIC_OK);
	frame(other.a)->attr.dest_qpn = pair.a->qpn;
	assert_int_equal(nic_qp_destroy(&w.agent, pair.a->qpn), NIC_OK);
	frame(ud.a)->sq_lock = 5;
	frame(ud.b)->attr.dest_qpn = ud.a->qpn;
	frame(ud.a)->attr.dest_qpn = ud.b->qpn;
	assert_int_equal(nic_qp_destroy(&w.agent, ud.b->qpn), NIC_OK);
	frame(ud.a)->sq_lock = 0;
	frame(other.a)->sq_lock = 0;
}

static void create_waits_for_a_late_visitor(void **state)
{
	struct cq *cq = make_cq(&w.p[0], 8, 0);
	struct nic_qp_params p = good_params(cq);
	struct nic_qp *f = &w.agent.qp[p.qpn];

	f->sq_lock = 5;
	assert_int_equal(nic_qp_create(&w.agent, &p), NIC_BUSY);
	f->sq_lock = 0;
	f->rq.lock = 5;
	assert_int_equal(nic_qp_create(&w.agent, &p), NIC_BUSY);
	assert_int_equal(f->sq_lock, 0);
	f->rq.lock = 0;
	assert_int_equal(nic_qp_create(&w.agent, &p), NIC_OK);
}

static void all_frames(void **state)
{
	struct cq *cq = make_cq(&w.p[0], 8, 0);
	struct nic_qp_params p = good_params(cq);
	u32 i;

	/* Index 0 is used, too, from its second generation on. */
	for (i = 1; i <= w.config.max_qp; i++) {
		p.qpn = i;
		assert_int_equal(nic_qp_create(&w.agent, &p), NIC_OK);
	}
	for (i = 0; i < w.config.max_qp; i++)
		assert_int_equal(nic_qp_next(&w.agent, i), i);
	assert_int_equal(nic_qp_next(&w.agent, i), w.config.max_qp);
	for (i = 1; i <= w.config.max_qp; i++)
		assert_int_equal(nic_qp_destroy(&w.agent, i), NIC_OK);
}

/* A destroyed QP does not answer: its peer runs into its timeout. */
static void peer_of_a_destroyed_qp(void **state)
{
	struct pair pair = make_pair(NIC_QPT_RC);
	struct vnet_send_wqe wqe = wr(VNET_WR_SEND, 4);

	assert_int_equal(nic_qp_destroy(&w.agent, pair.b->qpn), NIC_OK);
	send_one(pair.a, &wqe, NULL);
	expect_none(pair.a->scq);
	run_for(4096ull * (1 << 14) * 5);
	expect(pair.a->scq, 4, VNET_WC_RETRY_EXC_ERR);
	assert_int_equal(state_of(pair.a), NIC_QPS_ERR);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(create_checks),
		TEST(begins_in_reset),
		TEST(query_tells_what_was_set),
		TEST(reuse_of_a_frame),
		TEST(destroy_waits_for_who_is_inside),
		TEST(destroy_waits_for_the_peer),
		TEST(destroy_does_not_wait_for_others),
		TEST(create_waits_for_a_late_visitor),
		TEST(all_frames),
		TEST(peer_of_a_destroyed_qp),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
