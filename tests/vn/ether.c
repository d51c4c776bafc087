// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Ethernet frames between two NICs: each queue pair with a matching flow gets each frame once.
 * This includes the sender's NIC, and links that lose, duplicate and reorder frames. A receiver
 * that is not ready delays the sender for a limited time, and invalid frames are dropped.
 */
#include "objects/objects.h"
#include "vn/vn.h"
#include "receivers.h"

#define SLOT 16384u
#define LENGTH 100u
#define STREAM 400u

/* The MAC address of the far port, and the GID that is derived from it. */
static const u8 mac[6] = { 2, 0, 0, 1, 2, 3 };
static const u8 mac_gid[16] = { 0xfe, 0x80, [8] = 0, [11] = 0xff, 0xfe, 1, 2, 3 };

/* The far NIC has two GIDs; one is derived from its MAC address. */
static void make_world(u32 seed)
{
	receivers_make(seed, NIC_QPT_RAW_PACKET);
	memcpy(side[1].nic.hdr->gid[1], mac_gid, 16);
}

static void meet(void)
{
	nic_peer_call(&side[0].nic, side[1].nic.hdr->gid[0]);
	pass(20 * MS);
	CHECK(side[0].nic.hdr->row_high == 1 && side[0].nic.row[0].state == NIC_ROW_UP);
}

/* A flow for this Ethernet type; 0: for all types. Its counter has the flow's number. */
static void flow_for(struct end *e, u32 index, u8 kind, u16 type)
{
	struct nic_flow flow = {
		.type = kind, .qpn = e->qpn, .counter = index, .tag = 0x500 + index
	};

	flow.value.ether_type[0] = (u8)(type >> 8);
	flow.value.ether_type[1] = (u8)type;
	memset(flow.mask.ether_type, type ? 0xff : 0, 2);
	nic_flow_counter_reset(&e->side->nic, index);
	CHECK(nic_flow_create(&e->side->nic, index, &flow) == NIC_OK);
}

static u64 packets(u32 i, u32 counter)
{
	struct nic_flow_counter count;

	CHECK(nic_flow_counter_read(&side[i].nic, counter, &count) == NIC_OK);
	return count.packets;
}

/* Makes a frame to the far port. */
static void make_frame(u8 *frame, u32 length, u16 type, u8 content)
{
	memset(frame, content, length);
	memcpy(frame, mac, 6);
	frame[12] = (u8)(type >> 8);
	frame[13] = (u8)type;
}

static void post(u64 wr_id, u32 length)
{
	struct vnet_send_wqe w = request(VNET_WR_SEND, wr_id);

	end_send(sender, &w, 0, length);
}

static void send_it(u64 wr_id, u32 length)
{
	post(wr_id, length);
	(void)end_expect(sender, wr_id, VNET_WC_SUCCESS);
}

static void send_one(u64 wr_id)
{
	make_frame(side[0].data, LENGTH, 0x88b5, (u8)wr_id);
	send_it(wr_id, LENGTH);
}

static void expect(struct end *e, u32 slot)
{
	end_recv(e, slot, HALF + slot * SLOT, SLOT);
}

static void has_long(struct end *e, u32 slot, u32 flow, u32 length)
{
	struct vnet_cqe cqe = end_wait(e);

	CHECK(cqe.status == VNET_WC_SUCCESS && cqe.wr_id == slot && cqe.src_qp == sender->qpn);
	CHECK(cqe.qp_num == e->qpn && cqe.byte_len == length);
	CHECK(cqe.imm == 0x500 + flow && cqe.flags == VNET_WC_FLOW_TAG);
	CHECK(!memcmp(e->side->data + HALF + slot * SLOT, side[0].data, length));
}

static void has(struct end *e, u32 slot, u32 flow)
{
	has_long(e, slot, flow, LENGTH);
}

/* ---------------------------------------------------------------- receivers */

static void test_all(void)
{
	flow_for(near, 0, NIC_FLOW_NORMAL, 0x88b5);
	flow_for(far[0], 0, NIC_FLOW_NORMAL, 0x88b5);
	flow_for(far[1], 1, NIC_FLOW_SNIFFER, 0);
	flow_for(far[1], 2, NIC_FLOW_NORMAL, 0x88b5);
	flow_for(far[2], 3, NIC_FLOW_NORMAL, 0x88b6);
	expect(near, 9);
	for (u32 i = 0; i < 3; i++) {
		expect(far[i], i);
		expect(far[i], i);
	}
	send_one(5);
	has(near, 9, 0);
	has(far[0], 0, 0);
	has(far[1], 1, 1);
	for (u32 i = 0; i < 3; i++)
		end_has_nothing(far[i]);
	CHECK(packets(0, 0) == 1 && packets(1, 0) == 1 && packets(1, 1) == 1 && !packets(1, 2));
	CHECK(!side[0].nic.hdr->counters.drop_no_flow && !side[1].nic.hdr->counters.drop_no_flow);
	/* The far NIC does not forward the frame or send it back. */
	CHECK(side[1].nic.hdr->row_high == 1 && !side[1].nic.row[0].tx[0].seq);
}

/* The longest frame, one longer than the agreed payload, and the shortest one. */
static void test_lengths(void)
{
	static const u32 lengths[] = { NIC_MAX_ETHER, 1501, NIC_ETHER_HEADER };
	struct vnet_cqe cqe;

	make_world(2);
	side[0].nic.hdr->settings.payload = 1024;
	meet();
	flow_for(far[0], 0, NIC_FLOW_NORMAL, 0x88b5);
	for (u32 i = 0; i < 3; i++) {
		expect(far[0], i);
		make_frame(side[0].data, lengths[i], 0x88b5, (u8)i);
		send_it(i, lengths[i]);
		has_long(far[0], i, 0, lengths[i]);
	}
	post(4, NIC_MAX_ETHER + 1);
	cqe = end_wait(sender);
	CHECK(cqe.status == VNET_WC_LOC_LEN_ERR);
	end_reset(sender);
	end_to_rts(sender);
	post(5, NIC_ETHER_HEADER - 1);
	cqe = end_wait(sender);
	CHECK(cqe.status == VNET_WC_LOC_LEN_ERR);
	end_has_nothing(far[0]);
	world_free();
}

/* A flow with RSS: one of its work queues receives the frame. */
static void test_spread(void)
{
	struct nic_rss rss = { .log_size = 1, .fields = NIC_RSS_SRC_IPV4 };
	struct nic_flow flow = { .qpn = 0x777777, .counter = 4, .tag = 0x504 };
	struct nic *there = &side[1].nic;
	struct end *wq[2];

	for (u32 i = 0; i < 2; i++) {
		wq[i] = end_make(&side[1], NIC_QPT_WQ, false);
		end_state(wq[i], NIC_QPS_RTR, NULL);
		expect(wq[i], i);
		rss.wqn[i] = wq[i]->qpn;
	}
	flow.rss = side[1].queue_at;
	side[1].queue_at += 4096;
	CHECK(nic_rss_create(there, flow.rss, &rss) == NIC_OK);
	CHECK(nic_flow_create(there, 0, &flow) == NIC_OK);
	send_one(5);
	/* The frame is not IPv4, so its hash is 0. */
	has(wq[0], 0, 4);
	end_has_nothing(wq[1]);
	CHECK(packets(1, 4) == 1);
}

/* A NIC without a matching flow counts a drop only for frames that are addressed to it. */
static void test_no_flow(void)
{
	make_world(4);
	make_frame(side[0].data, LENGTH, 0x88b5, 5);
	send_it(1, LENGTH);
	CHECK(side[0].nic.hdr->counters.drop_no_flow == 1);
	meet();
	send_it(1, LENGTH);
	CHECK(side[0].nic.hdr->counters.drop_no_flow == 1 &&
	      side[1].nic.hdr->counters.drop_no_flow == 1);
	side[0].data[5]++;
	send_it(2, LENGTH);
	CHECK(side[0].nic.hdr->counters.drop_no_flow == 1 &&
	      side[1].nic.hdr->counters.drop_no_flow == 1);
	side[0].data[0] |= 1;
	send_it(3, LENGTH);
	CHECK(side[0].nic.hdr->counters.drop_no_flow == 1 &&
	      side[1].nic.hdr->counters.drop_no_flow == 2);
	world_free();
}

/* ------------------------------------------------------------------- refused */

/* A single receiver without a receive delays the sender once, up to a limit. */
static void test_receives(void)
{
	u64 since;

	flow_for(far[0], 0, NIC_FLOW_NORMAL, 0x88b5);
	expect(far[0], 0);
	send_one(5);
	has(far[0], 0, 0);
	make_frame(side[0].data, LENGTH, 0x88b5, 6);
	post(6, LENGTH);
	pass(20 * MS);
	expect(far[0], 1);
	has(far[0], 1, 0);
	CHECK(end_wait(sender).wr_id == 6 && !side[1].nic.hdr->counters.drop_no_receive);
	since = now_ns;
	send_one(7);
	CHECK(now_ns - since > 40 * MS && now_ns - since < 100 * MS);
	CHECK(side[1].nic.hdr->counters.drop_no_receive == 1);
	since = now_ns;
	send_one(8);
	CHECK(now_ns - since < 10 * MS && side[1].nic.hdr->counters.drop_no_receive == 2);
	CHECK(packets(1, 0) == 4);
	expect(far[0], 2);
	send_one(9);
	has(far[0], 2, 0);
	/* A frame for several receivers does not wait. */
	flow_for(far[1], 1, NIC_FLOW_NORMAL, 0x88b5);
	expect(far[1], 3);
	since = now_ns;
	send_one(10);
	CHECK(now_ns - since < 10 * MS);
	has(far[1], 3, 1);
}

/* A locked receiver delays the frame, up to a limit; nobody receives the frame twice. */
static void test_busy(void)
{
	struct nic_qp *qp;

	for (u32 i = 0; i < 3; i++) {
		flow_for(far[i], i, NIC_FLOW_NORMAL, 0x88b5);
		expect(far[i], i);
		expect(far[i], i);
	}
	qp = end_qp(far[1]);
	qp->sq_lock = 99;
	make_frame(side[0].data, LENGTH, 0x88b5, 5);
	post(5, LENGTH);
	pass(20 * MS);
	has(far[0], 0, 0);
	end_has_nothing(far[1]);
	end_has_nothing(far[2]);
	qp->sq_lock = 0;
	has(far[1], 1, 1);
	has(far[2], 2, 2);
	CHECK(end_wait(sender).wr_id == 5);
	qp->sq_lock = 99;
	send_one(6);
	qp->sq_lock = 0;
	has(far[0], 0, 0);
	has(far[2], 2, 2);
	end_has_nothing(far[1]);
}

/* A queue pair in RESET receives nothing. */
static void test_not_ready(void)
{
	flow_for(far[0], 0, NIC_FLOW_NORMAL, 0x88b5);
	flow_for(far[1], 1, NIC_FLOW_NORMAL, 0x88b5);
	expect(far[1], 1);
	end_reset(far[0]);
	send_one(5);
	has(far[1], 1, 1);
	end_has_nothing(far[0]);
}

/* A silent peer: requests complete soon, and frames arrive again when the peer answers. */
static void test_silent(void)
{
	u64 since;

	flow_for(far[0], 0, NIC_FLOW_NORMAL, 0x88b5);
	since = now_ns;
	faults.lose = 1000;
	send_one(5);
	CHECK(now_ns - since < 1500 * MS);
	for (u64 i = 0; i < NIC_MAX_GIVEUPS; i++)
		send_one(6);
	since = now_ns;
	send_one(7);
	CHECK(now_ns - since < MS);
	faults.lose = 0;
	for (u64 i = 0; i < 20; i++) {
		send_one(8);
		pass(100 * MS);
	}
	expect(far[0], 0);
	send_one(9);
	has(far[0], 0, 0);
}

/* ------------------------------------------------------------------ bad links */

static void test_stream(u32 seed)
{
	static u8 got[3][STREAM];
	struct end *all[3];
	u32 k, posted = 0, done = 0;
	struct vnet_cqe cqe;

	memset(got, 0, sizeof(got));
	make_world(seed);
	meet();
	all[0] = far[0], all[1] = far[1], all[2] = near;
	for (u32 i = 0; i < 3; i++)
		flow_for(all[i], i, NIC_FLOW_NORMAL, 0x88b5);
	faults = (struct link_faults){ .lose = 50, .twice = 100, .reorder = 200, .spoil = 20 };
	while (done < STREAM) {
		while (posted < STREAM && posted - done < 60) {
			u8 *frame = side[0].data + posted % 64 * 256;
			struct vnet_send_wqe w = request(VNET_WR_SEND, posted);

			make_frame(frame, LENGTH, 0x88b5, 0);
			memcpy(frame + 14, &posted, sizeof(posted));
			for (u32 i = 0; i < 3; i++)
				end_recv(all[i], posted % 128,
					 HALF + (i * 128 + posted % 128) * 256, 256);
			end_send(sender, &w, posted % 64 * 256, LENGTH);
			posted++;
		}
		(void)end_expect(sender, done, VNET_WC_SUCCESS);
		done++;
		for (u32 i = 0; i < 3; i++) {
			while (end_poll(all[i], &cqe)) {
				CHECK(cqe.status == VNET_WC_SUCCESS);
				memcpy(&k,
				       all[i]->side->data + HALF + (i * 128 + cqe.wr_id) * 256 + 14,
				       sizeof(k));
				CHECK(k < STREAM && !got[i][k]++);
			}
		}
	}
	pass(100 * MS);
	for (u32 i = 0; i < 3; i++) {
		CHECK(!end_poll(all[i], &cqe));
		for (k = 0; k < STREAM; k++)
			CHECK(got[i][k]);
	}
	world_free();
}

/* --------------------------------------------------------------- rate limit */

/* A frame counts once for the rate limit, even if it is tried several times. */
static void test_pace(void)
{
	struct nic_qp *qp;
	u64 since;

	flow_for(near, 0, NIC_FLOW_NORMAL, 0x88b5);
	flow_for(far[0], 0, NIC_FLOW_NORMAL, 0x88b5);
	qp = end_qp(sender);
	qp->attr.rate_limit = 800;
	for (u32 i = 0; i < 10; i++) {
		expect(near, i);
		expect(far[0], i);
		make_frame(side[0].data, LENGTH, 0x88b5, 7);
		post(i, LENGTH);
	}
	/* At this rate, 100 bytes take one millisecond. */
	since = now_ns;
	for (u32 i = 0; i < 10; i++) {
		CHECK(end_wait(sender).wr_id == i);
		has(near, i, 0);
		has(far[0], i, 0);
	}
	CHECK(now_ns - since > 7 * MS && now_ns - since < 16 * MS);
}

/* At a transition to SQD, a frame that waits for the rate limit is still sent to all receivers. */
static void test_drained(void)
{
	const struct nic_qp_attr none = { .rate_limit = 0 };
	struct nic_qp *qp;

	flow_for(near, 0, NIC_FLOW_NORMAL, 0x88b5);
	flow_for(far[0], 0, NIC_FLOW_NORMAL, 0x88b5);
	qp = end_qp(sender);
	qp->attr.rate_limit = 80;
	for (u32 i = 0; i < 3; i++) {
		expect(near, i);
		expect(far[0], i);
		make_frame(side[0].data, LENGTH, 0x88b5, 7);
		post(i, LENGTH);
	}
	CHECK(end_wait(sender).wr_id == 0);
	has(near, 0, 0);
	has(far[0], 0, 0);
	CHECK(nic_load(&qp->wait));
	CHECK(nic_qp_modify(&side[0].nic, sender->qpn, &none, 1, 0, NIC_QPS_SQD) == NIC_OK);
	CHECK(end_wait(sender).wr_id == 1);
	has(near, 1, 0);
	has(far[0], 1, 0);
	/* The next request does not begin. */
	pass(200 * MS);
	end_has_nothing(far[0]);
	CHECK(qp->sq_cons == 2);
}

/* Incomplete requests are reported as under way to the destruction of the queue pair. */
static void test_under_way(void)
{
	make_world(10);
	make_frame(side[0].data, LENGTH, 0x88b5, 5);
	CHECK(!nic_mcast_is_pending(&side[0].nic, sender->qpn));
	meet();
	faults.lose = 1000;
	post(5, LENGTH);
	CHECK(nic_mcast_is_pending(&side[0].nic, sender->qpn));
	faults.lose = 0;
	CHECK(end_wait(sender).wr_id == 5);
	CHECK(!nic_mcast_is_pending(&side[0].nic, sender->qpn));
	world_free();
}

/* --------------------------------------------------------------------- death */

/*
 * The process that accepted a frame dies before it delivers the frame: the frame is delivered
 * once, and the sender is not blocked.
 */
static void test_death(void)
{
	struct nic *there = &side[1].nic;
	struct nic_qp *qp;

	flow_for(far[0], 0, NIC_FLOW_NORMAL, 0x88b5);
	expect(far[0], 0);
	expect(far[0], 1);
	send_one(5);
	has(far[0], 0, 0);
	qp = end_qp(far[0]);
	qp->sq_lock = 99;
	there->row[0].rx[0].busy = 99;
	make_frame(side[0].data, LENGTH, 0x88b5, 6);
	post(6, LENGTH);
	pass(5 * MS);
	nic_recover(there, 99, 99);
	CHECK(!qp->sq_lock && !there->row[0].rx[0].busy);
	CHECK(end_wait(sender).wr_id == 6);
	has(far[0], 1, 0);
	end_has_nothing(far[0]);
}

/* ------------------------------------------------------------ invalid frames */

static void lie(u8 type, u32 qpn, u8 flags, u32 payload)
{
	static u64 space[VNET_WIRE_MAX_FRAME / 8];
	struct vnet_frame *frame = (struct vnet_frame *)space;
	struct vnet_frame_op *op = (struct vnet_frame_op *)(frame + 1);
	u32 length = sizeof(*frame) + sizeof(*op) + payload;
	u64 before = side[1].nic.hdr->counters.bad_field;

	memset(space, 0, sizeof(space));
	last_frame(1, space);
	frame->kind = VNET_FRAME_DATA;
	frame->nacks = 0;
	frame->payload_len = nic_to_le16((u16)payload);
	memset(op, 0, sizeof(*op));
	op->seq = nic_to_le32(77);
	op->opcode = VNET_WR_SEND;
	op->flags = flags;
	op->qp_type = type;
	op->src_qpn = nic_to_le32(1);
	op->dst_qpn = nic_to_le32(qpn);
	op->msg_len = nic_to_le32(payload);
	make_frame((u8 *)(op + 1), payload > 14 ? payload : 14, 0x88b5, 3);
	frame->crc = 0;
	frame->crc = nic_to_le32(plat_crc32c(0, frame, length));
	inject(1, frame, length);
	CHECK(side[1].nic.hdr->counters.bad_field == before + 1);
	end_has_nothing(far[0]);
}

static void test_lies(void)
{
	const u8 whole = VNET_OP_FIRST | VNET_OP_LAST;
	const u8 raw = NIC_QPT_RAW_PACKET;

	flow_for(far[0], 0, NIC_FLOW_NORMAL, 0);
	expect(far[0], 0);
	expect(far[0], 1);
	send_one(5);
	has(far[0], 0, 0);
	lie(raw, NIC_GROUP_QPN, whole, 0);
	lie(raw, NIC_GROUP_QPN, whole, NIC_ETHER_HEADER - 1);
	lie(raw, NIC_GROUP_QPN, whole, NIC_MAX_ETHER + 1);
	lie(raw, far[0]->qpn, whole, LENGTH);
	lie(raw, NIC_GROUP_QPN, VNET_OP_FIRST, LENGTH);
	lie(raw, NIC_GROUP_QPN, whole | VNET_OP_GRH_IPV4, LENGTH);
	lie(raw, NIC_GROUP_QPN, whole | VNET_OP_NO_GRH, LENGTH);
	lie(raw, NIC_GROUP_QPN, whole | VNET_OP_IMM64, LENGTH);
	lie(NIC_QPT_WQ, NIC_GROUP_QPN, whole, LENGTH);
	send_one(6);
	has(far[0], 1, 0);
}

static void in_world(u32 seed, void (*test)(void))
{
	make_world(seed);
	meet();
	test();
	world_free();
}

int main(void)
{
	in_world(1, test_all);
	test_lengths();
	in_world(3, test_spread);
	test_no_flow();
	in_world(5, test_receives);
	in_world(6, test_busy);
	in_world(7, test_not_ready);
	in_world(8, test_silent);
	for (u32 seed = 1; seed <= 10; seed++)
		test_stream(seed);
	in_world(9, test_pace);
	in_world(17, test_drained);
	test_under_way();
	in_world(11, test_death);
	in_world(12, test_lies);
	return 0;
}
