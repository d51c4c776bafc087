// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Multicast groups on one NIC: each attached queue pair receives each datagram once. */
#include <string.h>

#include "objects/objects.h"
#include "world.h"

static const u8 v6[16] = { 0xff, 0x12, [15] = 7 };
static const u8 v4[16] = { [10] = 0xff, 0xff, 239, 1, 2, 3 };

static struct qp *make_member(u32 i)
{
	struct qp *qp;

	if (!w.cq[i])
		w.cq[i] = make_cq(&w.p[i], 256, 0);
	qp = make_qp(&w.p[i], NIC_QPT_UD, w.cq[i], w.cq[i]);
	bring_up(qp, 0);
	return qp;
}

static struct vnet_send_wqe datagram(const u8 *gid, u64 wr_id)
{
	struct vnet_send_wqe wqe = wr(VNET_WR_SEND, wr_id);

	memcpy(wqe.ud.dgid, gid, 16);
	wqe.ud.remote_qpn = 0xffffff;
	wqe.ud.remote_qkey = TEST_QKEY;
	wqe.ud.sgid_index = gid[0] == 0xff ? 0 : 1;
	return wqe;
}

static void arguments(void **state)
{
	static const u8 unicast[16] = { 0xfe, 0x80 }, v4_unicast[16] = { [10] = 0xff, 0xff, 10 };
	struct qp *qp = make_member(0);
	struct pair rc = make_pair(NIC_QPT_RC);

	assert_int_equal(nic_mcast_attach(&w.agent, qp->qpn, unicast), NIC_EINVAL);
	assert_int_equal(nic_mcast_attach(&w.agent, qp->qpn, v4_unicast), NIC_EINVAL);
	assert_int_equal(nic_mcast_attach(&w.agent, qp->qpn + 1, v6), NIC_EINVAL);
	assert_int_equal(nic_mcast_attach(&w.agent, 0, v6), NIC_EINVAL);
	assert_int_equal(nic_mcast_attach(&w.agent, rc.a->qpn, v6), NIC_EINVAL);
	assert_int_equal(nic_mcast_detach(&w.agent, qp->qpn, v6), NIC_EINVAL);
	assert_int_equal(nic_mcast_detach(&w.agent, 0, v6), NIC_EINVAL);
	assert_int_equal(nic_mcast_attach(&w.agent, qp->qpn, v6), NIC_OK);
	assert_int_equal(nic_mcast_attach(&w.agent, qp->qpn, v6), NIC_EINUSE);
	assert_int_equal(nic_mcast_attach(&w.agent, qp->qpn, v4), NIC_OK);
	assert_int_equal(nic_mcast_detach(&w.agent, qp->qpn, v6), NIC_OK);
	assert_int_equal(nic_mcast_detach(&w.agent, qp->qpn, v6), NIC_EINVAL);
}

/* Attaches the maximum number of members; a detached one makes room. */
static void exhaustion(void **state)
{
	struct qp *qp = make_member(0);
	u8 gid[16];

	memcpy(gid, v6, sizeof(gid));
	for (u32 i = 0; i < NIC_MAX_MEMBERS; i++) {
		gid[14] = (u8)i;
		assert_int_equal(nic_mcast_attach(&w.agent, qp->qpn, gid), NIC_OK);
	}
	gid[13] = 1;
	assert_int_equal(nic_mcast_attach(&w.agent, qp->qpn, gid), NIC_ENOMEM);
	gid[13] = 0, gid[14] = 9;
	assert_int_equal(nic_mcast_detach(&w.agent, qp->qpn, gid), NIC_OK);
	gid[13] = 1;
	assert_int_equal(nic_mcast_attach(&w.agent, qp->qpn, gid), NIC_OK);
	assert_int_equal(nic_qp_destroy(&w.agent, qp->qpn), NIC_OK);
	for (u32 i = 0; i < NIC_MAX_MEMBERS; i++)
		assert_int_equal(w.agent.hdr->member[i].qpn, 0);
}

static void to_all(const u8 *gid)
{
	struct qp *qp[4];
	struct vnet_send_wqe wqe = datagram(gid, 50);
	struct sge data = sge(&w.p[0], 100000, 100);

	for (u32 i = 0; i < 4; i++) {
		/* The sender is a member, too. */
		qp[i] = make_member(i % 3);
		post_one(qp[i], i);
		assert_int_equal(nic_mcast_attach(&w.agent, qp[i]->qpn, gid), NIC_OK);
	}
	fill(&w.p[0], 100000, 100, 3);
	send_one(qp[3], &wqe, &data);
	for (u32 i = 0; i < 4; i++) {
		struct wc wc = expect_next(w.cq[i % 3], i, VNET_WC_SUCCESS);

		assert_int_equal(wc.qp_num, qp[i]->qpn);
		assert_int_equal(wc.src_qp, qp[3]->qpn);
		assert_int_equal(wc.byte_len, 140);
		assert_true(wc.flags & VNET_WC_GRH);
		assert_int_equal(!(wc.flags & VNET_WC_GRH_IPV4), gid == v6);
		assert_true(filled(qp[i]->p, i * 256 + VNET_GRH_SIZE, 100, 3));
		assert_memory_equal(mem(qp[i]->p, i * 256 + (gid == v6 ? 24 : 36)),
				    gid == v6 ? gid : gid + 12, gid == v6 ? 16 : 4);
	}
	expect(w.cq[0], 50, VNET_WC_SUCCESS);
	expect_none(w.cq[1]);
	expect_none(w.cq[2]);
}

static void to_all_v6(void **state)
{
	to_all(v6);
}

static void to_all_v4(void **state)
{
	to_all(v4);
}

/* Members without a receive, with another Q_Key, in another state, or detached. */
static void who_does_not_take_it(void **state)
{
	struct qp *sender = make_member(0), *qp[5];
	struct vnet_send_wqe wqe = datagram(v6, 50);
	struct sge data = sge(&w.p[0], 100000, 100);

	for (u32 i = 0; i < 5; i++) {
		qp[i] = make_member(1);
		/*
		 * It had a receive before, so a datagram to it alone would wait for the next
		 * one.
		 */
		post_one(qp[i], i);
		assert_int_equal(nic_mcast_attach(&w.agent, qp[i]->qpn, v6), NIC_OK);
	}
	send_one(sender, &wqe, &data);
	expect(w.cq[0], 50, VNET_WC_SUCCESS);
	for (u32 i = 0; i < 5; i++)
		expect_next(w.cq[1], i, VNET_WC_SUCCESS);
	for (u32 i = 1; i < 5; i++)
		post_one(qp[i], i);
	frame(qp[1])->attr.qkey++;
	assert_int_equal(to_state(qp[2], NIC_QPS_RESET, 0), NIC_OK);
	assert_int_equal(nic_mcast_detach(&w.agent, qp[3]->qpn, v6), NIC_OK);
	send_one(sender, &wqe, &data);
	/* The datagram does not wait for the first member. */
	expect(w.cq[0], 50, VNET_WC_SUCCESS);
	expect(w.cq[1], 4, VNET_WC_SUCCESS);

	wqe.ud.remote_qpn = qp[4]->qpn;
	send_one(sender, &wqe, &data);
	expect(w.cq[0], 50, VNET_WC_SUCCESS);
	expect_none(w.cq[1]);
	wqe = datagram(v4, 51);
	send_one(sender, &wqe, &data);
	expect(w.cq[0], 51, VNET_WC_SUCCESS);
	expect_none(w.cq[1]);
}

/* A member is locked: the datagram waits for it, and nobody receives it twice. */
static void none_twice(void **state)
{
	struct qp *sender = make_member(0), *qp[3];
	struct vnet_send_wqe wqe = datagram(v6, 50);
	struct sge data = sge(&w.p[0], 100000, 100);

	for (u32 i = 0; i < 3; i++) {
		qp[i] = make_member(1);
		post_one(qp[i], i);
		post_one(qp[i], i + 10);
		assert_int_equal(nic_mcast_attach(&w.agent, qp[i]->qpn, v6), NIC_OK);
	}
	frame(qp[1])->rq.lock = w.p[2].nic.self;
	send_one(sender, &wqe, &data);
	expect(w.cq[1], 0, VNET_WC_SUCCESS);
	expect_none(w.cq[0]);
	frame(qp[1])->rq.lock = 0;
	run_for(5 * MS);
	expect(w.cq[0], 50, VNET_WC_SUCCESS);
	expect_next(w.cq[1], 1, VNET_WC_SUCCESS);
	expect(w.cq[1], 2, VNET_WC_SUCCESS);
}

/* The progress of a request is stored with the low bits of its number, which repeat. */
static void numbers_come_again(void **state)
{
	struct vnet_send_wqe wqe = datagram(v6, 50), single = datagram(v6, 50);
	struct sge data = sge(&w.p[0], 100000, 100);
	struct qp *qp[2] = { make_member(0), make_member(1) };

	assert_int_equal(nic_mcast_attach(&w.agent, qp[1]->qpn, v6), NIC_OK);
	post_one(qp[1], 1);
	send_one(qp[0], &wqe, &data);
	expect(w.cq[0], 50, VNET_WC_SUCCESS);
	expect(w.cq[1], 1, VNET_WC_SUCCESS);
	/* One group has no members; the other datagrams go to an unknown QPN. */
	wqe.ud.dgid[14] = 1;
	single.ud.remote_qpn = 0xfffffe;
	for (u32 i = 1; i < 1u << (NIC_MARK_BITS - 1); i++) {
		send_one(qp[0], i % 2 ? &single : &wqe, &data);
		expect(w.cq[0], 50, VNET_WC_SUCCESS);
	}
	wqe.ud.dgid[14] = 0;
	post_one(qp[1], 2);
	send_one(qp[0], &wqe, &data);
	expect(w.cq[0], 50, VNET_WC_SUCCESS);
	expect(w.cq[1], 2, VNET_WC_SUCCESS);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(arguments),          TEST(exhaustion),           TEST(to_all_v6),
		TEST(to_all_v4),          TEST(who_does_not_take_it), TEST(none_twice),
		TEST(numbers_come_again),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
