// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Ethernet frames on one NIC: parsing, selection of flows, RSS, and rate limits. */
#include <string.h>

#include "ether/ether.h"
#include "world.h"

#define FRAME 50000u
#define LENGTH 100u
#define CHANNEL 2

static struct qp *make_raw(u32 i)
{
	const struct nic_qp_attr attr = { .port = 1 };
	struct qp *qp;

	if (!w.cq[i])
		w.cq[i] = make_cq(&w.p[i], 256, 0);
	qp = make_qp(&w.p[i], NIC_QPT_RAW_PACKET, w.cq[i], w.cq[i]);
	assert_int_equal(modify(qp, &attr, M_STATE | M_PORT, NIC_QPS_INIT), NIC_OK);
	assert_int_equal(modify(qp, &attr, M_STATE, NIC_QPS_RTR), NIC_OK);
	assert_int_equal(modify(qp, &attr, M_STATE, NIC_QPS_RTS), NIC_OK);
	return qp;
}

/* With its own CQ. */
static struct qp *make_raw_alone(u32 i)
{
	w.cq[i] = NULL;
	return make_raw(i);
}

/* Makes an IPv4 UDP frame to the MAC address with this last byte, and to this port. */
static void make_frame(u8 mac, u8 first, u16 port)
{
	static const u8 head[] = {
		0,    2, 3,    4, 5,   0,   0x24, 0x8a, 7,    0xa5, 0x28, 0xc8,
		0x08, 0, 0x45, 0, 0,   86,  0,    0,    0x40, 0,    64,   17,
		0,    0, 66,   9, 149, 187, 161,  142,  100,  80,   0x0a, 0xea,
	};
	u8 *bytes = mem(&w.p[0], FRAME);

	memset(bytes, 0x11, LENGTH);
	memcpy(bytes, head, sizeof(head));
	bytes[0] = first;
	bytes[5] = mac;
	bytes[36] = (u8)(port >> 8);
	bytes[37] = (u8)port;
}

static void send_frame(struct qp *qp, u32 length)
{
	struct vnet_send_wqe wqe = wr(VNET_WR_SEND, 77);
	struct sge from = sge(qp->p, FRAME, length);

	wqe.flags = VNET_WR_SIGNALED;
	send_one(qp, &wqe, &from);
}

/* Creates a flow for the MAC address with this last byte; 0: for all frames. */
static void make_flow(u32 index, const struct qp *qp, u8 type, u16 priority, u8 mac, u8 flags)
{
	struct nic_flow flow = {
		.type = type, .flags = flags, .priority = priority, .qpn = qp->qpn, .counter = index
	};

	flow.value.dst_mac[5] = mac;
	flow.mask.dst_mac[5] = mac ? 0xff : 0;
	assert_int_equal(nic_flow_create(&w.agent, index, &flow), NIC_OK);
}

static void to_a_tagged_flow(void **state)
{
	struct nic_flow flow = { .type = NIC_FLOW_NORMAL, .counter = NIC_NONE, .tag = 0xabcdef };
	struct qp *from = make_raw(0), *to = make_raw(1);
	struct wc wc;

	flow.qpn = to->qpn;
	assert_int_equal(nic_flow_create(&w.agent, 0, &flow), NIC_OK);
	/* A second flow at the same index. */
	for (int i = 0; i < 2; i++) {
		make_frame(9, 0, 1766);
		post_one(to, 1);
		send_frame(from, LENGTH);
		expect(w.cq[0], 77, VNET_WC_SUCCESS);
		wc = expect(w.cq[1], 1, VNET_WC_SUCCESS);
		assert_int_equal(wc.imm, flow.tag);
		assert_int_equal(wc.flags, flow.tag ? VNET_WC_FLOW_TAG : 0);
		assert_int_equal(nic_flow_destroy(&w.agent, 0), NIC_OK);
		flow.tag = 0;
		assert_int_equal(nic_flow_create(&w.agent, 0, &flow), NIC_OK);
	}
}

static u64 counted(u32 index)
{
	struct nic_flow_counter count;

	assert_int_equal(nic_flow_counter_read(&w.agent, index, &count), NIC_OK);
	assert_int_equal(count.bytes, count.packets * LENGTH);
	return count.packets;
}

static void to_its_flow(void **state)
{
	struct qp *from = make_raw(0), *to = make_raw(1);
	struct wc wc;

	make_frame(9, 0, 1766);
	post_one(to, 1);
	send_frame(from, LENGTH);
	expect(w.cq[0], 77, VNET_WC_SUCCESS);
	expect_none(w.cq[1]);
	assert_int_equal(w.agent.hdr->counters.drop_no_flow, 1);

	make_flow(0, to, NIC_FLOW_NORMAL, 0, 9, 0);
	send_frame(from, LENGTH);
	expect(w.cq[0], 77, VNET_WC_SUCCESS);
	wc = expect(w.cq[1], 1, VNET_WC_SUCCESS);
	assert_int_equal(wc.byte_len, LENGTH);
	assert_int_equal(wc.flags, 0);
	assert_int_equal(wc.src_qp, from->qpn);
	assert_memory_equal(mem(&w.p[1], 256), mem(&w.p[0], FRAME), LENGTH);
	assert_int_equal(counted(0), 1);

	make_frame(8, 0, 1766);
	send_frame(from, LENGTH);
	expect(w.cq[0], 77, VNET_WC_SUCCESS);
	assert_int_equal(w.agent.hdr->counters.drop_no_flow, 2);
	assert_int_equal(nic_flow_destroy(&w.agent, 0), NIC_OK);
	assert_int_equal(w.agent.hdr->flow[0].qpn, 0);
}

static void lengths(void **state)
{
	static const struct {
		u32 length;
		u32 status;
	} cases[] = {
		{ 0, VNET_WC_LOC_LEN_ERR },
		{ 13, VNET_WC_LOC_LEN_ERR },
		{ 14, VNET_WC_SUCCESS },
		{ NIC_MAX_ETHER, VNET_WC_SUCCESS },
		{ NIC_MAX_ETHER + 1, VNET_WC_LOC_LEN_ERR },
	};
	struct vnet_send_wqe wqe = wr(VNET_WR_RDMA_WRITE, 5);
	struct qp *qp;

	make_frame(1, 0, 1);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		qp = make_raw(0);
		send_frame(qp, cases[i].length);
		expect(w.cq[0], 77, cases[i].status);
	}
	qp = make_raw(0);
	send_one(qp, &wqe, NULL);
	expect(w.cq[0], 5, VNET_WC_LOC_QP_OP_ERR);
}

/* Whether this queue pair received a frame. Posts the receive again. */
static bool got(struct qp *qp, u64 wr_id)
{
	struct wc wc;

	if (!poll(qp->rcq, &wc))
		return false;
	assert_int_equal(wc.wr_id, wr_id);
	assert_int_equal(wc.status, VNET_WC_SUCCESS);
	post_one(qp, wr_id);
	return true;
}

static void send_quietly(struct qp *qp)
{
	struct vnet_send_wqe wqe = wr(VNET_WR_SEND, 78);
	struct sge from = sge(qp->p, FRAME, LENGTH);

	wqe.flags = 0;
	send_one(qp, &wqe, &from);
}

static void who_comes_first(void **state)
{
	struct qp *from = make_raw(0), *first = make_raw(1), *second = make_raw_alone(1);

	post_one(first, 1);
	post_one(second, 2);
	make_frame(9, 0, 1766);
	make_flow(0, second, NIC_FLOW_NORMAL, 5, 9, 0);
	make_flow(1, first, NIC_FLOW_NORMAL, 2, 0, 0);
	send_quietly(from);
	assert_true(got(first, 1) && !got(second, 2));
	/* Flows of the same priority both receive the frame. */
	make_flow(2, second, NIC_FLOW_NORMAL, 2, 9, 0);
	send_quietly(from);
	assert_true(got(first, 1) && got(second, 2));
	nic_flow_destroy(&w.agent, 2);
	/* A flow that does not trap leaves the frame to later flows, too. */
	nic_flow_destroy(&w.agent, 1);
	make_flow(1, first, NIC_FLOW_NORMAL, 2, 0, NIC_FLOW_DONT_TRAP);
	send_quietly(from);
	assert_true(got(first, 1) && got(second, 2));
	/* A drop flow traps the frame. */
	make_flow(3, first, NIC_FLOW_NORMAL, 0, 9, NIC_FLOW_DROP);
	send_quietly(from);
	assert_true(!got(first, 1) && !got(second, 2));
	assert_int_equal(counted(3), 1);
}

static void what_is_left_over(void **state)
{
	struct qp *from = make_raw(0), *first = make_raw(1), *second = make_raw_alone(1);

	post_one(first, 1);
	post_one(second, 2);
	make_flow(0, first, NIC_FLOW_MC_DEFAULT, 0, 0, 0);
	make_frame(9, 0, 1766);
	send_quietly(from);
	assert_true(!got(first, 1) && !got(second, 2));
	make_frame(9, 1, 1766);
	send_quietly(from);
	assert_true(got(first, 1));
	make_flow(1, second, NIC_FLOW_ALL_DEFAULT, 0, 0, 0);
	make_frame(9, 0, 1766);
	send_quietly(from);
	assert_true(!got(first, 1) && got(second, 2));
	/*
	 * A frame with a normal flow does not match default flows. A sniffer receives it as
	 * well, once.
	 */
	make_flow(2, from, NIC_FLOW_NORMAL, 0, 9, 0);
	make_flow(3, second, NIC_FLOW_SNIFFER, 0, 0, 0);
	make_flow(4, second, NIC_FLOW_SNIFFER, 0, 0, 0);
	post_one(from, 3);
	send_quietly(from);
	assert_true(!got(first, 1) && got(second, 2) && got(from, 3));
	assert_false(got(second, 2));
}

/*
 * The completion event of one receiver waits for a lock: the other receivers get the frame
 * later.
 */
static void event_deferred(void **state)
{
	struct qp *from, *first, *second;

	from = make_raw(0);
	assert_int_equal(nic_channel_create(&w.agent, CHANNEL, 1), NIC_OK);
	w.cq[1] = make_cq_channel(&w.p[1], 64, CHANNEL, 99);
	first = make_raw(1);
	second = make_raw_alone(1);
	post_one(first, 1);
	post_one(second, 2);
	make_flow(0, first, NIC_FLOW_NORMAL, 0, 0, 0);
	make_flow(1, second, NIC_FLOW_NORMAL, 0, 0, 0);
	make_frame(9, 0, 1766);
	first->rcq->ring.hdr->arm = VNET_CQ_ARM_NEXT;
	w.agent.channel[CHANNEL].lock = 7;
	send_frame(from, LENGTH);
	assert_true(got(first, 1) && !got(second, 2));
	expect_none(w.cq[0]);
	w.agent.channel[CHANNEL].lock = 0;
	run_for(2 * MS);
	assert_true(!got(first, 1) && got(second, 2));
	expect(w.cq[0], 77, VNET_WC_SUCCESS);
	assert_true(counted(0) == 1 && counted(1) == 1);
}

/* One receiver is locked: the frame waits for it, and nobody receives it twice. */
static void none_twice(void **state)
{
	struct qp *from = make_raw(0), *to[3];

	make_frame(9, 0, 1766);
	for (u32 i = 0; i < 3; i++) {
		to[i] = make_raw_alone(1);
		post_one(to[i], i);
		post_one(to[i], i);
		make_flow(i, to[i], NIC_FLOW_NORMAL, 0, 0, 0);
	}
	frame(to[1])->rq.lock = w.p[2].nic.self;
	send_frame(from, LENGTH);
	assert_true(got(to[0], 0) && !got(to[1], 1) && !got(to[2], 2));
	expect_none(w.cq[0]);
	frame(to[1])->rq.lock = 0;
	run_for(5 * MS);
	expect(w.cq[0], 77, VNET_WC_SUCCESS);
	assert_true(!got(to[0], 0) && got(to[1], 1) && got(to[2], 2));
	for (u32 i = 0; i < 3; i++)
		assert_true(!got(to[i], i) && counted(i) == 1);
}

static void no_wrong_flows(void **state)
{
	struct nic_flow flow = { .counter = NIC_NONE };
	struct pair rc = make_pair(NIC_QPT_RC);
	struct qp *qp = make_raw(0);

	assert_int_equal(nic_flow_create(&w.agent, 0, &flow), NIC_EINVAL);
	flow.qpn = rc.a->qpn;
	assert_int_equal(nic_flow_create(&w.agent, 0, &flow), NIC_EINVAL);
	flow.qpn = qp->qpn;
	assert_int_equal(nic_flow_create(&w.agent, NIC_MAX_FLOWS, &flow), NIC_EINVAL);
	flow.type = NIC_FLOW_SNIFFER + 1;
	assert_int_equal(nic_flow_create(&w.agent, 0, &flow), NIC_EINVAL);
	flow.type = NIC_FLOW_NORMAL;
	flow.flags = 4;
	assert_int_equal(nic_flow_create(&w.agent, 0, &flow), NIC_EINVAL);
	flow.flags = 0;
	flow.counter = NIC_MAX_FLOW_COUNTERS;
	assert_int_equal(nic_flow_create(&w.agent, 0, &flow), NIC_EINVAL);
	flow.counter = NIC_NONE;
	flow.rss = 1ull << 50;
	assert_int_equal(nic_flow_create(&w.agent, 0, &flow), NIC_EINVAL);
	flow.rss = 0;
	for (u32 i = 0; i < NIC_MAX_FLOWS; i++)
		assert_int_equal(nic_flow_create(&w.agent, i, &flow), NIC_OK);
	assert_int_equal(nic_flow_create(&w.agent, 7, &flow), NIC_EINUSE);
	assert_int_equal(nic_qp_destroy(&w.agent, qp->qpn), NIC_OK);
	for (u32 i = 0; i < NIC_MAX_FLOWS; i++)
		assert_int_equal(w.agent.hdr->flow[i].qpn, 0);
}

/* ------------------------------------------------------------------------ RSS */

/* The commonly used key and results for verification of the Toeplitz hash. */
static void toeplitz(void **state)
{
	static const u8 secret[NIC_RSS_KEY] = {
		0x6d, 0x5a, 0x56, 0xda, 0x25, 0x5b, 0x0e, 0xc2, 0x41, 0x67, 0x25, 0x3d, 0x43, 0xa3,
		0x8f, 0xb0, 0xd0, 0xca, 0x2b, 0xcb, 0xae, 0x7b, 0x30, 0xb4, 0x77, 0xcb, 0x2d, 0xa3,
		0x80, 0x30, 0xf2, 0x0c, 0x6a, 0x42, 0xb7, 0x3b, 0xbe, 0xac, 0x01, 0xfa,
	};
	struct nic_frame_key key = { .src_ip = { 66, 9, 149, 187 },
				     .dst_ip = { 161, 142, 100, 80 },
				     .src_port = { 2794 >> 8, 2794 & 255 },
				     .dst_port = { 1766 >> 8, 1766 & 255 },
				     .layers = NIC_LAYER_IPV4 | NIC_LAYER_TCP };
	struct nic_rss rss = { .fields = NIC_RSS_SRC_IPV4 | NIC_RSS_DST_IPV4, .log_size = 7 };

	memcpy(rss.key, secret, sizeof(secret));
	for (u32 i = 0; i < 128; i++)
		rss.wqn[i] = i;
	assert_int_equal(nic_rss_wqn(&rss, &key), 0x323e8fc2u & 127);
	rss.fields |= NIC_RSS_SRC_PORT_TCP | NIC_RSS_DST_PORT_TCP;
	assert_int_equal(nic_rss_wqn(&rss, &key), 0x51ccc178u & 127);
	/* Fields that a frame does not have do not count. */
	key.layers = NIC_LAYER_IPV4 | NIC_LAYER_UDP;
	assert_int_equal(nic_rss_wqn(&rss, &key), 0x323e8fc2u & 127);
	key.layers = NIC_LAYER_IPV6;
	assert_int_equal(nic_rss_wqn(&rss, &key), 0);
}

static void spread(void **state)
{
	struct nic_flow flow = { .counter = NIC_NONE, .qpn = 0x777777 };
	struct nic_rss rss = { .fields = NIC_RSS_DST_PORT_UDP, .log_size = 1 };
	const struct nic_qp_attr attr = { .port = 0 };
	struct qp *from = make_raw(0), *to[2];
	u32 frames[2] = { 0, 0 };

	w.cq[1] = make_cq(&w.p[1], 256, 0);
	for (u32 i = 0; i < 2; i++) {
		to[i] = make_qp(&w.p[1], NIC_QPT_WQ, w.cq[1], w.cq[1]);
		rss.wqn[i] = to[i]->qpn;
		/* The work queue is not ready: its frames are lost. */
		assert_int_equal(modify(to[i], &attr, M_STATE, NIC_QPS_RTS), NIC_EINVAL);
	}
	for (u32 i = 0; i < NIC_RSS_KEY; i++)
		rss.key[i] = (u8)(i * 37 + 1);
	flow.rss = queue_alloc(sizeof(rss));
	assert_int_equal(nic_rss_create(&w.agent, flow.rss, &rss), NIC_OK);
	assert_int_equal(nic_flow_create(&w.agent, 0, &flow), NIC_OK);
	make_frame(9, 0, 1);
	send_quietly(from);
	expect_none(w.cq[1]);
	for (u32 i = 0; i < 2; i++)
		assert_int_equal(modify(to[i], &attr, M_STATE, NIC_QPS_RTR), NIC_OK);
	for (u16 port = 0; port < 32; port++) {
		struct wc wc;

		post_one(to[0], 1);
		post_one(to[1], 2);
		make_frame(9, 0, port);
		send_quietly(from);
		assert_true(poll(w.cq[1], &wc));
		assert_int_equal(wc.status, VNET_WC_SUCCESS);
		assert_int_equal(wc.qp_num, to[wc.wr_id - 1]->qpn);
		frames[wc.wr_id - 1]++;
		assert_int_equal(modify(to[0], &attr, M_STATE, NIC_QPS_RESET), NIC_OK);
		assert_int_equal(modify(to[1], &attr, M_STATE, NIC_QPS_RESET), NIC_OK);
		to[0]->rq_prod = to[0]->rq.hdr->prod;
		to[1]->rq_prod = to[1]->rq.hdr->prod;
		assert_int_equal(modify(to[0], &attr, M_STATE, NIC_QPS_RTR), NIC_OK);
		assert_int_equal(modify(to[1], &attr, M_STATE, NIC_QPS_RTR), NIC_OK);
	}
	assert_true(frames[0] > 4 && frames[1] > 4);
	rss.log_size = 8;
	assert_int_equal(nic_rss_create(&w.agent, flow.rss, &rss), NIC_EINVAL);
	rss.log_size = 1;
	rss.fields = 1 << 8;
	assert_int_equal(nic_rss_create(&w.agent, flow.rss, &rss), NIC_EINVAL);
	/* Receives of a work queue in the error state are flushed. */
	post_one(to[0], 1);
	assert_int_equal(modify(to[0], &attr, M_STATE, NIC_QPS_ERR), NIC_OK);
	run_for(5 * MS);
	expect(w.cq[1], 1, VNET_WC_WR_FLUSH_ERR);
}

/* A burst passes, then the rate limit applies. */
static void rate_limit(void **state)
{
	struct nic_qp_attr attr = { .rate_limit = 800 };
	struct qp *from = make_raw(0);
	struct wc wc;
	u32 sent = 0;

	assert_int_equal(modify(from, &attr, M_RATE, NIC_QPS_RTS), NIC_OK);
	make_frame(9, 0, 1);
	/* At this rate, 100 bytes take one millisecond. */
	for (u32 i = 0; i < 10; i++)
		send_frame(from, LENGTH);
	while (poll(w.cq[0], &wc))
		sent++;
	assert_in_range(sent, 1, 3);
	run_for(4 * MS);
	while (poll(w.cq[0], &wc))
		sent++;
	assert_in_range(sent, 4, 8);
	run_for(20 * MS);
	while (poll(w.cq[0], &wc))
		sent++;
	assert_int_equal(sent, 10);
}

/* Ports are parsed in the first fragment of a datagram, and not in later ones. */
static void fragments(void **state)
{
	const u8 *bytes = mem(&w.p[0], FRAME);
	struct nic_frame_key key;

	make_frame(9, 0, 1766);
	nic_frame_parse_key(bytes, LENGTH, &key);
	assert_true(key.layers & NIC_LAYER_UDP);
	((u8 *)(uintptr_t)bytes)[20] = 0x20;
	nic_frame_parse_key(bytes, LENGTH, &key);
	assert_true(key.layers & NIC_LAYER_UDP);
	((u8 *)(uintptr_t)bytes)[21] = 1;
	nic_frame_parse_key(bytes, LENGTH, &key);
	assert_true(key.layers & NIC_LAYER_IPV4);
	assert_false(key.layers & NIC_LAYER_UDP);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(to_its_flow),       TEST(to_a_tagged_flow),
		TEST(lengths),           TEST(who_comes_first),
		TEST(what_is_left_over), TEST(no_wrong_flows),
		TEST(toeplitz),          TEST(spread),
		TEST(rate_limit),        TEST(event_deferred),
		TEST(none_twice),        TEST(fragments),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
