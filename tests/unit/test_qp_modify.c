// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The queue pair state machine: every transition and attribute of every type. It is compared
 * with tables that were written independently from the specification.
 */
#include <string.h>

#include "world.h"

#define STATES 7

/* InfiniBand vol 1, table 91, without alternate paths. */
static const struct rule {
	u8 type;
	u8 from;
	u8 to;
	u32 required;
	u32 optional;
} rules[] = {
	{ NIC_QPT_RC, NIC_QPS_RESET, NIC_QPS_INIT, M_PKEY | M_PORT | M_ACCESS, 0 },
	{ NIC_QPT_RC, NIC_QPS_INIT, NIC_QPS_INIT, 0, M_PKEY | M_PORT | M_ACCESS },
	{ NIC_QPT_RC, NIC_QPS_INIT, NIC_QPS_RTR,
	  M_AV | M_MTU | M_DEST_QPN | M_RQ_PSN | M_DEST_RD_ATOMIC | M_MIN_RNR,
	  M_ALT_PATH | M_ACCESS | M_PKEY },
	{ NIC_QPT_RC, NIC_QPS_RTR, NIC_QPS_RTS,
	  M_TIMEOUT | M_RETRY_CNT | M_RNR_RETRY | M_SQ_PSN | M_RD_ATOMIC,
	  M_CUR_STATE | M_ALT_PATH | M_ACCESS | M_MIN_RNR | M_MIG },
	{ NIC_QPT_RC, NIC_QPS_RTS, NIC_QPS_RTS, 0,
	  M_CUR_STATE | M_ACCESS | M_ALT_PATH | M_MIG | M_MIN_RNR },
	{ NIC_QPT_RC, NIC_QPS_RTS, NIC_QPS_SQD, 0, M_SQD_NOTIFY },
	{ NIC_QPT_RC, NIC_QPS_SQD, NIC_QPS_RTS, 0,
	  M_CUR_STATE | M_ALT_PATH | M_ACCESS | M_MIN_RNR | M_MIG },
	{ NIC_QPT_RC, NIC_QPS_SQD, NIC_QPS_SQD, 0,
	  M_PORT | M_AV | M_TIMEOUT | M_RETRY_CNT | M_RNR_RETRY | M_RD_ATOMIC | M_DEST_RD_ATOMIC |
		  M_ALT_PATH | M_ACCESS | M_PKEY | M_MIN_RNR | M_MIG },

	{ NIC_QPT_UC, NIC_QPS_RESET, NIC_QPS_INIT, M_PKEY | M_PORT | M_ACCESS, 0 },
	{ NIC_QPT_UC, NIC_QPS_INIT, NIC_QPS_INIT, 0, M_PKEY | M_PORT | M_ACCESS },
	{ NIC_QPT_UC, NIC_QPS_INIT, NIC_QPS_RTR, M_AV | M_MTU | M_DEST_QPN | M_RQ_PSN,
	  M_ALT_PATH | M_ACCESS | M_PKEY },
	{ NIC_QPT_UC, NIC_QPS_RTR, NIC_QPS_RTS, M_SQ_PSN,
	  M_CUR_STATE | M_ALT_PATH | M_ACCESS | M_MIG },
	{ NIC_QPT_UC, NIC_QPS_RTS, NIC_QPS_RTS, 0, M_CUR_STATE | M_ACCESS | M_ALT_PATH | M_MIG },
	{ NIC_QPT_UC, NIC_QPS_RTS, NIC_QPS_SQD, 0, M_SQD_NOTIFY },
	{ NIC_QPT_UC, NIC_QPS_SQD, NIC_QPS_RTS, 0, M_CUR_STATE | M_ALT_PATH | M_ACCESS | M_MIG },
	{ NIC_QPT_UC, NIC_QPS_SQD, NIC_QPS_SQD, 0, M_AV | M_ALT_PATH | M_ACCESS | M_PKEY | M_MIG },
	{ NIC_QPT_UC, NIC_QPS_SQE, NIC_QPS_RTS, 0, M_CUR_STATE | M_ACCESS },

	{ NIC_QPT_UD, NIC_QPS_RESET, NIC_QPS_INIT, M_PKEY | M_PORT | M_QKEY, 0 },
	{ NIC_QPT_UD, NIC_QPS_INIT, NIC_QPS_INIT, 0, M_PKEY | M_PORT | M_QKEY },
	{ NIC_QPT_UD, NIC_QPS_INIT, NIC_QPS_RTR, 0, M_PKEY | M_QKEY },
	{ NIC_QPT_UD, NIC_QPS_RTR, NIC_QPS_RTS, M_SQ_PSN, M_CUR_STATE | M_QKEY },
	{ NIC_QPT_UD, NIC_QPS_RTS, NIC_QPS_RTS, 0, M_CUR_STATE | M_QKEY },
	{ NIC_QPT_UD, NIC_QPS_RTS, NIC_QPS_SQD, 0, M_SQD_NOTIFY },
	{ NIC_QPT_UD, NIC_QPS_SQD, NIC_QPS_RTS, 0, M_CUR_STATE | M_QKEY },
	{ NIC_QPT_UD, NIC_QPS_SQD, NIC_QPS_SQD, 0, M_PKEY | M_QKEY },
	{ NIC_QPT_UD, NIC_QPS_SQE, NIC_QPS_RTS, 0, M_CUR_STATE | M_QKEY },
};

/* The rule of a transition; returns false if the transition does not exist. */
static bool find_rule(u8 type, u8 from, u8 to, u32 *required, u32 *optional)
{
	*required = *optional = 0;
	if (to == NIC_QPS_RESET || (to == NIC_QPS_ERR && from != NIC_QPS_RESET))
		return true;
	for (u32 i = 0; i < sizeof(rules) / sizeof(rules[0]); i++) {
		if (rules[i].type != type || rules[i].from != from || rules[i].to != to)
			continue;
		*required = rules[i].required;
		*optional = rules[i].optional;
		return true;
	}
	return false;
}

/* By the shortest path. SQE is set directly; other tests reach it by errors. */
static void put_into(struct qp *qp, u8 state)
{
	assert_int_equal(to_state(qp, NIC_QPS_RESET, 0), NIC_OK);
	if (state == NIC_QPS_RESET)
		return;
	assert_int_equal(to_state(qp, NIC_QPS_INIT, 0), NIC_OK);
	if (state == NIC_QPS_INIT)
		return;
	if (state == NIC_QPS_ERR) {
		assert_int_equal(to_state(qp, NIC_QPS_ERR, 0), NIC_OK);
		return;
	}
	assert_int_equal(to_state(qp, NIC_QPS_RTR, qp->qpn), NIC_OK);
	if (state == NIC_QPS_RTR)
		return;
	assert_int_equal(to_state(qp, NIC_QPS_RTS, qp->qpn), NIC_OK);
	if (state == NIC_QPS_SQD)
		assert_int_equal(to_state(qp, NIC_QPS_SQD, 0), NIC_OK);
	if (state == NIC_QPS_SQE)
		frame(qp)->state = NIC_QPS_SQE;
}

/* One attempt from a fresh start; a refused one must change nothing. */
static void try(struct qp *qp, u8 from, u8 to, u32 mask, bool good)
{
	struct nic_qp_attr before, after, attr = good_attr(qp->qpn);
	u8 state, draining;
	enum nic_result result;

	put_into(qp, from);
	nic_qp_query(&w.agent, qp->qpn, &before, &state, &draining);
	result = nic_qp_modify(&w.agent, qp->qpn, &attr, mask, from, to);
	if (result != (good ? NIC_OK : NIC_EINVAL))
		fail_msg("type %u, %u -> %u with mask %x: %u", qp->type, from, to, mask, result);
	nic_qp_query(&w.agent, qp->qpn, &after, &state, &draining);
	if (good) {
		assert_int_equal(state, mask & M_STATE ? to : from);
		return;
	}
	assert_int_equal(state, from);
	assert_memory_equal(&before, &after, sizeof(before));
}

static void try_all_masks(struct qp *qp, u8 from, u8 to)
{
	u32 required, optional;
	bool exists = find_rule(qp->type, from, to, &required, &optional);

	try(qp, from, to, M_STATE | required, exists);
	if (!exists)
		return;
	for (u32 bit = M_CUR_STATE; bit <= M_RATE << 1; bit <<= 1) {
		if (required & bit)
			try(qp, from, to, M_STATE | (required & ~bit), false);
		else if ((optional & bit) && bit != M_ALT_PATH)
			try(qp, from, to, M_STATE | required | bit, true);
		else
			try(qp, from, to, M_STATE | required | bit, false);
	}
	/* All optional attributes at once. */
	try(qp, from, to, M_STATE | required | (optional & ~M_ALT_PATH), true);
}

static void all_transitions(u8 type)
{
	struct cq *cq = make_cq(&w.p[0], 64, 0);
	struct qp *qp = make_qp(&w.p[0], type, cq, cq);

	for (u8 from = 0; from < STATES; from++) {
		for (u8 to = 0; to < STATES + 2; to++)
			try_all_masks(qp, from, to);
	}
}

static void transitions_rc(void **state)
{
	all_transitions(NIC_QPT_RC);
}

static void transitions_uc(void **state)
{
	all_transitions(NIC_QPT_UC);
}

static void transitions_ud(void **state)
{
	all_transitions(NIC_QPT_UD);
}

/* Without IBV_QP_STATE, the rule for a transition to the same state applies. */
static void without_state(void **state)
{
	struct cq *cq = make_cq(&w.p[0], 64, 0);
	struct qp *qp = make_qp(&w.p[0], NIC_QPT_RC, cq, cq);
	struct nic_qp_attr attr = good_attr(0);

	put_into(qp, NIC_QPS_RTS);
	attr.min_rnr_timer = 3;
	assert_int_equal(modify(qp, &attr, M_MIN_RNR, NIC_QPS_RESET), NIC_OK);
	assert_int_equal(state_of(qp), NIC_QPS_RTS);
	assert_int_equal(frame(qp)->attr.min_rnr_timer, 3);
	assert_int_equal(modify(qp, &attr, M_TIMEOUT, NIC_QPS_RESET), NIC_EINVAL);
	assert_int_equal(modify(qp, &attr, 0, NIC_QPS_RESET), NIC_OK);
	assert_int_equal(state_of(qp), NIC_QPS_RTS);
}

static void current_state_must_match(void **state)
{
	struct cq *cq = make_cq(&w.p[0], 64, 0);
	struct qp *qp = make_qp(&w.p[0], NIC_QPT_UD, cq, cq);
	struct nic_qp_attr attr = good_attr(0);

	for (u8 cur = 0; cur < STATES + 1; cur++) {
		put_into(qp, NIC_QPS_SQE);
		assert_int_equal(nic_qp_modify(&w.agent, qp->qpn, &attr, M_STATE | M_CUR_STATE, cur,
					       NIC_QPS_RTS),
				 cur == NIC_QPS_SQE ? NIC_OK : NIC_EINVAL);
	}
	/* M_CUR_STATE is refused where the state cannot be in doubt, even with the right value. */
	put_into(qp, NIC_QPS_INIT);
	assert_int_equal(nic_qp_modify(&w.agent, qp->qpn, &attr, M_STATE | M_CUR_STATE,
				       NIC_QPS_INIT, NIC_QPS_INIT),
			 NIC_EINVAL);
}

/* ------------------------------------------------------------------ values */

struct value {
	u8 from;
	u8 to;
	u32 bit;
	size_t offset;
	size_t size;
	u64 good[3];
	u64 bad[3];
};

#define FIELD(f) offsetof(struct nic_qp_attr, f), sizeof(((struct nic_qp_attr *)0)->f)
/* Lists are filled up with their first value. */
#define V3(a, b, c)                                                                                \
	{                                                                                          \
		a, b, c                                                                            \
	}

static const struct value values[] = {
	{ 0, 1, M_PORT, FIELD(port), V3(1, 1, 1), V3(0, 2, 255) },
	{ 0, 1, M_PKEY, FIELD(pkey_index), V3(0, 0, 0), V3(1, 0x100, 0xffff) },
	{ 0, 1, M_ACCESS, FIELD(access), V3(0, 0x30f, 0x10000f), V3(0x400, 0x40000000, ~0u) },
	{ 1, 2, M_MTU, FIELD(path_mtu), V3(1, 3, 5), V3(0, 6, 255) },
	{ 1, 2, M_DEST_QPN, FIELD(dest_qpn), V3(0, 77, 0xffffff), V3(0x1000000, ~0u, ~0u) },
	{ 1, 2, M_DEST_RD_ATOMIC, FIELD(max_dest_rd_atomic), V3(0, 1, 16), V3(17, 128, 255) },
	{ 1, 2, M_MIN_RNR, FIELD(min_rnr_timer), V3(0, 12, 31), V3(32, 64, 255) },
	{ 1, 2, M_AV, FIELD(sgid_index), V3(0, 1, 1), V3(2, 16, 255) },
	{ 1, 2, M_AV, FIELD(is_global), V3(1, 1, 1), V3(0, 0, 0) },
	{ 1, 2, M_AV, FIELD(sl), V3(0, 7, 15), V3(16, 128, 255) },
	{ 2, 3, M_TIMEOUT, FIELD(timeout), V3(0, 14, 31), V3(32, 64, 255) },
	{ 2, 3, M_RETRY_CNT, FIELD(retry_cnt), V3(0, 3, 7), V3(8, 64, 255) },
	{ 2, 3, M_RNR_RETRY, FIELD(rnr_retry), V3(0, 3, 7), V3(8, 64, 255) },
	{ 2, 3, M_RD_ATOMIC, FIELD(max_rd_atomic), V3(0, 1, 16), V3(17, 128, 255) },
	{ 2, 3, M_MIG, FIELD(path_mig_state), V3(0, 0, 0), V3(1, 2, 3) },
};

static void try_value(struct qp *qp, const struct value *v, u64 value, enum nic_result result)
{
	struct nic_qp_attr attr = good_attr(qp->qpn);
	u32 mask = M_STATE | needed(NIC_QPT_RC, v->to) | v->bit;

	put_into(qp, v->from);
	memcpy((u8 *)&attr + v->offset, &value, v->size);
	if (modify(qp, &attr, mask, v->to) != result)
		fail_msg("attribute %x = %llu: not %u", v->bit, (unsigned long long)value, result);
	assert_int_equal(state_of(qp), result == NIC_OK ? v->to : v->from);
	if (result == NIC_OK)
		assert_memory_equal((u8 *)&frame(qp)->attr + v->offset, &value, v->size);
}

static void each_value_is_checked(void **state)
{
	struct cq *cq = make_cq(&w.p[0], 64, 0);
	struct qp *qp = make_qp(&w.p[0], NIC_QPT_RC, cq, cq);

	for (u32 i = 0; i < sizeof(values) / sizeof(values[0]); i++) {
		for (u32 j = 0; j < 3; j++) {
			try_value(qp, &values[i], values[i].good[j], NIC_OK);
			try_value(qp, &values[i], values[i].bad[j], NIC_EINVAL);
		}
	}
}

/*
 * Values that are wider than their field in a packet are accepted, like adapters do, and
 * truncated.
 */
static void values_are_cut(void **state)
{
	struct cq *cq = make_cq(&w.p[0], 64, 0);
	struct qp *qp = make_qp(&w.p[0], NIC_QPT_RC, cq, cq);
	struct nic_qp_attr attr = good_attr(0);

	attr.flow_label = ~0u;
	attr.rq_psn = ~0u;
	assert_int_equal(modify(qp, &attr, M_STATE | needed(NIC_QPT_RC, NIC_QPS_INIT),
				NIC_QPS_INIT),
			 NIC_OK);
	assert_int_equal(modify(qp, &attr, M_STATE | needed(NIC_QPT_RC, NIC_QPS_RTR), NIC_QPS_RTR),
			 NIC_OK);
	assert_int_equal(frame(qp)->attr.flow_label, 0xfffff);
	assert_int_equal(frame(qp)->attr.rq_psn, 0xffffff);
}

/* An attribute that is not in the mask is neither checked nor set. */
static void values_outside_the_mask(void **state)
{
	struct cq *cq = make_cq(&w.p[0], 64, 0);
	struct qp *qp = make_qp(&w.p[0], NIC_QPT_RC, cq, cq);
	struct nic_qp_attr attr = good_attr(0);

	attr.timeout = 77;
	attr.dest_qpn = ~0u;
	attr.qkey = 5;
	assert_int_equal(modify(qp, &attr, M_STATE | needed(NIC_QPT_RC, NIC_QPS_INIT),
				NIC_QPS_INIT),
			 NIC_OK);
	assert_int_equal(frame(qp)->attr.timeout, 0);
	assert_int_equal(frame(qp)->attr.dest_qpn, 0);
	assert_int_equal(frame(qp)->attr.qkey, 0);
}

static void gid_must_be_there(void **state)
{
	struct cq *cq = make_cq(&w.p[0], 64, 0);
	struct qp *qp = make_qp(&w.p[0], NIC_QPT_UC, cq, cq);
	struct nic_qp_attr attr = good_attr(0);
	u32 mask = M_STATE | needed(NIC_QPT_UC, NIC_QPS_RTR);

	put_into(qp, NIC_QPS_INIT);
	/* In range, but removed. */
	memset(w.agent.hdr->gid[1], 0, 16);
	assert_int_equal(modify(qp, &attr, mask, NIC_QPS_RTR), NIC_EINVAL);
	attr.sgid_index = 0;
	memset(attr.dgid, 0, sizeof(attr.dgid));
	assert_int_equal(modify(qp, &attr, mask, NIC_QPS_RTR), NIC_EINVAL);
	attr.dgid[0] = 0xfe;
	/* A corrupted header does not lead to accesses outside of it. */
	w.agent.hdr->ngids = ~0u;
	attr.sgid_index = 200;
	assert_int_equal(modify(qp, &attr, mask, NIC_QPS_RTR), NIC_EINVAL);
	attr.sgid_index = 0;
	assert_int_equal(modify(qp, &attr, mask, NIC_QPS_RTR), NIC_OK);
}

/* ----------------------------------------------------------------- effects */

static void busy_changes_nothing(void **state)
{
	struct srq *srq = make_srq(&w.p[0], 16);
	struct qp_options with_srq = { .srq = srq };
	struct cq *cq = make_cq(&w.p[0], 64, 0);
	struct qp *qp = make_qp_with(&w.p[0], NIC_QPT_RC, cq, cq, &with_srq);
	nic_lock_t *lock[] = { &frame(qp)->sq_lock, &frame(qp)->rq.lock,
			       &w.agent.srq[srq->srqn - 1].rq.lock };

	for (u32 i = 0; i < 3; i++) {
		*lock[i] = 7;
		assert_int_equal(to_state(qp, NIC_QPS_INIT, 0), NIC_BUSY);
		assert_int_equal(nic_qp_lock_owner(&w.agent, qp->qpn), 7);
		*lock[i] = 0;
		assert_int_equal(state_of(qp), NIC_QPS_RESET);
	}
	assert_int_equal(nic_qp_lock_owner(&w.agent, qp->qpn), 0);
	assert_int_equal(to_state(qp, NIC_QPS_INIT, 0), NIC_OK);
}

static void reset_empties_both_queues(void **state)
{
	struct cq *cq = make_cq(&w.p[0], 64, 0);
	struct qp *qp = make_qp(&w.p[0], NIC_QPT_RC, cq, cq);
	struct vnet_send_wqe wqe = wr(VNET_WR_RDMA_WRITE, 1);
	struct sge none = sge(&w.p[0], 0, 8);

	wqe.rdma.rkey = w.p[0].key;
	wqe.rdma.remote_addr = at(&w.p[0], 4096);
	bring_up(qp, qp->qpn);
	post_recv(qp, 5, &none, 1);
	post_send(qp, &wqe, &none, 1);
	ring_send(qp);
	post_send(qp, &wqe, &none, 1); /* not executed */
	expect(cq, 1, VNET_WC_SUCCESS);
	assert_int_equal(to_state(qp, NIC_QPS_RESET, 0), NIC_OK);
	/* Indices are not reset. */
	assert_int_equal(qp->sq.hdr->prod, 2);
	assert_int_equal(qp->sq.hdr->cons, 2);
	assert_int_equal(qp->rq.hdr->prod, 1);
	assert_int_equal(qp->rq.hdr->cons, 1);
	bring_up(qp, qp->qpn);
	run_for(10 * MS);
	expect_none(cq);
	wqe.wr_id = 9;
	send_one(qp, &wqe, &none);
	expect(cq, 9, VNET_WC_SUCCESS);
}

/* No peer writes after RESET, so RESET waits for a peer that is writing. */
static void reset_waits_for_the_peer(void **state)
{
	struct pair pair = make_pair(NIC_QPT_RC);

	post_recv(pair.b, 1, NULL, 0);
	frame(pair.a)->sq_lock = 5;
	assert_int_equal(to_state(pair.b, NIC_QPS_RESET, 0), NIC_BUSY);
	assert_int_equal(to_state(pair.b, NIC_QPS_RESET, 0), NIC_BUSY);
	frame(pair.a)->sq_lock = 0;
	assert_int_equal(to_state(pair.b, NIC_QPS_RESET, 0), NIC_OK);
	assert_int_equal(state_of(pair.b), NIC_QPS_RESET);
	assert_int_equal(pair.b->rq.hdr->cons, pair.b->rq.hdr->prod);
	assert_int_equal(frame(pair.b)->attr.dest_qpn, 0);
}

static void reset_forgets_a_wait(void **state)
{
	struct pair pair = make_pair(NIC_QPT_RC);
	struct vnet_send_wqe wqe = wr(VNET_WR_SEND, 1);
	struct sge data = sge(&w.p[0], 0, 100);

	send_one(pair.a, &wqe, &data); /* no receive: RNR */
	assert_int_equal(frame(pair.a)->wait, NIC_WAIT_RNR);
	assert_int_equal(to_state(pair.a, NIC_QPS_RESET, 0), NIC_OK);
	run_for(1000 * MS);
	expect_none(pair.a->scq);
	assert_int_equal(frame(pair.a)->wait, NIC_WAIT_NONE);
}

static void reset_of_an_srq_user_leaves_the_srq(void **state)
{
	struct srq *srq = make_srq(&w.p[0], 16);
	struct qp_options with_srq = { .srq = srq };
	struct cq *cq = make_cq(&w.p[0], 64, 0);
	struct qp *qp = make_qp_with(&w.p[0], NIC_QPT_RC, cq, cq, &with_srq);
	struct sge data = sge(&w.p[0], 0, 100);

	post_srq_recv(srq, 1, &data, 1);
	bring_up(qp, qp->qpn);
	assert_int_equal(to_state(qp, NIC_QPS_RESET, 0), NIC_OK);
	assert_int_equal(srq->ring.hdr->prod, 1);
	assert_int_equal(srq->ring.hdr->cons, 0);
	expect_none(cq);
}

static void unknown_qp(void **state)
{
	struct cq *cq = make_cq(&w.p[0], 64, 0);
	struct qp *qp = make_qp(&w.p[0], NIC_QPT_RC, cq, cq);
	struct nic_qp_attr attr = good_attr(0);
	u32 qpn = qp->qpn;

	assert_int_equal(nic_qp_modify(&w.agent, 0, &attr, M_STATE, 0, 0), NIC_EINVAL);
	assert_int_equal(nic_qp_modify(&w.agent, qpn + 1, &attr, M_STATE, 0, 0), NIC_EINVAL);
	/* Another generation of the same table entry. */
	assert_int_equal(nic_qp_modify(&w.agent, qpn + w.config.max_qp, &attr, M_STATE, 0, 0),
			 NIC_EINVAL);
	assert_int_equal(nic_qp_modify(&w.agent, qpn, &attr, M_STATE, 0, 0), NIC_OK);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(transitions_rc),
		TEST(transitions_uc),
		TEST(transitions_ud),
		TEST(without_state),
		TEST(current_state_must_match),
		TEST(each_value_is_checked),
		TEST(values_are_cut),
		TEST(values_outside_the_mask),
		TEST(gid_must_be_there),
		TEST(busy_changes_nothing),
		TEST(reset_empties_both_queues),
		TEST(reset_waits_for_the_peer),
		TEST(reset_forgets_a_wait),
		TEST(reset_of_an_srq_user_leaves_the_srq),
		TEST(unknown_qp),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
