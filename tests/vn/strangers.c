// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Frames that a valid peer does not send: damaged, forged, of an earlier incarnation,
 * duplicated, or late. Also how acknowledgements are collected into frames.
 */
#include "vn/vn.h"
#include "streams.h"

/* -------------------------------------------------------------- invalid frames */

static u64 dropped(const struct nic_counters *c)
{
	return c->bad_length + c->bad_version + c->bad_crc + c->bad_field + c->bad_incarnation +
	       c->bad_row + c->bad_gid + c->bad_proof;
}

static void reseal(u8 *bytes, u32 length)
{
	struct vnet_frame *frame = (struct vnet_frame *)bytes;

	frame->crc = 0;
	frame->crc = plat_crc32c(0, bytes, length);
}

#define WHOLE (VNET_OP_FIRST | VNET_OP_LAST)
/* A valid flush operand. */
#define PLACED ((u64)VNET_FLUSH_GLOBAL)

/* Operations that no NIC sends. */
static const struct vnet_frame_op nonsense[] = {
	/* 64-bit immediate data announced for an operation without immediate data. */
	{ .qp_type = NIC_QPT_RC, .opcode = VNET_WR_SEND, .flags = WHOLE | VNET_OP_IMM64 },
	/* Unknown flags. */
	{ .qp_type = NIC_QPT_RC, .opcode = VNET_WR_SEND, .flags = WHOLE | 1 << 6 },
	{ .qp_type = NIC_QPT_RC, .opcode = VNET_WR_SEND, .flags = WHOLE | 1 << 7 },
	/* GRH flags on a connected queue pair. */
	{ .qp_type = NIC_QPT_RC, .opcode = VNET_WR_SEND, .flags = WHOLE | VNET_OP_GRH_IPV4 },
	{ .qp_type = NIC_QPT_RC, .opcode = VNET_WR_SEND, .flags = WHOLE | VNET_OP_NO_GRH },
	/* Queue pair types that send no requests, and unknown types. */
	{ .qp_type = NIC_QPT_XRC_TGT, .opcode = VNET_WR_SEND, .flags = WHOLE },
	{ .qp_type = NIC_QPT_RAW_PACKET, .opcode = VNET_WR_SEND, .flags = WHOLE },
	{ .qp_type = 0, .opcode = VNET_WR_SEND, .flags = WHOLE },
	{ .qp_type = 200, .opcode = VNET_WR_SEND, .flags = WHOLE },
	/* Opcodes that are not on the wire, or not of this type. */
	{ .qp_type = NIC_QPT_RC, .opcode = VNET_WR_LOCAL_INV, .flags = WHOLE },
	{ .qp_type = NIC_QPT_RC, .opcode = 255, .flags = WHOLE },
	{ .qp_type = NIC_QPT_UC, .opcode = VNET_WR_RDMA_READ, .flags = WHOLE },
	{ .qp_type = NIC_QPT_UC, .opcode = VNET_WR_ATOMIC_WRITE },
	{ .qp_type = NIC_QPT_UC, .opcode = VNET_WR_FLUSH, .flags = WHOLE, .swap = PLACED },
	{ .qp_type = NIC_QPT_UD, .opcode = VNET_WR_RDMA_WRITE, .flags = WHOLE },
	/* Flushes without a type, with an unknown type or level, or with data. */
	{ .qp_type = NIC_QPT_RC, .opcode = VNET_WR_FLUSH, .flags = WHOLE },
	{ .qp_type = NIC_QPT_RC, .opcode = VNET_WR_FLUSH, .flags = WHOLE, .swap = PLACED | 4 },
	{ .qp_type = NIC_QPT_RC, .opcode = VNET_WR_FLUSH, .flags = WHOLE, .swap = PLACED | 2 << 8 },
	{ .qp_type = NIC_QPT_RC,
	  .opcode = VNET_WR_FLUSH,
	  .flags = WHOLE,
	  .swap = PLACED | 1 << 16 },
	{ .qp_type = NIC_QPT_RC, .opcode = VNET_WR_FLUSH, .swap = PLACED },
	{ .qp_type = NIC_QPT_RC,
	  .opcode = VNET_WR_FLUSH,
	  .flags = VNET_OP_FIRST,
	  .swap = PLACED,
	  .msg_len = 8 },
	/* First or later packets of operations that have one packet only. */
	{ .qp_type = NIC_QPT_RC, .opcode = VNET_WR_ATOMIC_FETCH_ADD, .flags = VNET_OP_FIRST },
	{ .qp_type = NIC_QPT_RC, .opcode = VNET_WR_ATOMIC_FETCH_ADD, .offset = 8 },
	{ .qp_type = NIC_QPT_RC, .opcode = VNET_WR_ATOMIC_CMP_SWP, .msg_len = 8 },
	/* A packet whose flags contradict its offset or length. */
	{ .qp_type = NIC_QPT_RC, .opcode = VNET_WR_SEND, .flags = VNET_OP_LAST },
	{ .qp_type = NIC_QPT_RC, .opcode = VNET_WR_SEND, .flags = WHOLE, .msg_len = 8 },
	/* An unknown channel. */
	{ .qp_type = NIC_QPT_RC,
	  .opcode = VNET_WR_SEND,
	  .flags = WHOLE,
	  .channel = VNET_WIRE_CHANNELS },
};

/* Makes the frame with the i-th operation. */
static void nonsense_of(u32 i, u8 *bytes)
{
	struct vnet_frame *frame = (struct vnet_frame *)bytes;
	struct vnet_frame_op *op = (struct vnet_frame_op *)(frame + 1);

	frame->version = VNET_WIRE_VERSION;
	frame->kind = VNET_FRAME_DATA;
	frame->nacks = 0;
	frame->payload_len = 0;
	*op = nonsense[i];
	op->src_qpn = 1;
	op->dst_qpn = connected[1]->qpn;
	reseal(bytes, sizeof(*frame) + sizeof(*op));
}

static void test_strangers(void)
{
	static u8 frame[VNET_WIRE_MAX_FRAME] __attribute__((aligned(8)));
	static u8 copy[VNET_WIRE_MAX_FRAME] __attribute__((aligned(8)));
	struct nic_counters *c;
	u64 before;
	u32 length;

	world_make(9, &config);
	connect_two(NIC_QPT_RC, false);
	stream_sends(connected[0], connected[1], 20, 4, false);
	c = &side[1].nic.hdr->counters;
	length = last_frame(1, frame);
	/* Truncated at each length, and with each single bit inverted. */
	for (u32 i = 0; i < length; i++) {
		before = dropped(c);
		inject(1, frame, i);
		CHECK(dropped(c) == before + 1);
	}
	for (u32 i = 0; i < 8 * length; i++) {
		memcpy(copy, frame, length);
		copy[i / 8] ^= (u8)(1u << i % 8);
		before = dropped(c);
		inject(1, copy, length);
		CHECK(dropped(c) == before + 1);
	}
	/* A frame of an older version, and frames with invalid operations. */
	memcpy(copy, frame, length);
	((struct vnet_frame *)copy)->version = VNET_WIRE_VERSION - 1;
	reseal(copy, length);
	before = c->bad_version;
	inject(1, copy, length);
	CHECK(c->bad_version == before + 1);
	for (u32 i = 0; i < sizeof(nonsense) / sizeof(nonsense[0]); i++) {
		nonsense_of(i, copy);
		before = c->bad_field;
		inject(1, copy, sizeof(struct vnet_frame) + sizeof(struct vnet_frame_op));
		CHECK(c->bad_field == before + 1);
	}
	CHECK(side[1].nic.hdr->row_high == 1);
	stream_sends(connected[0], connected[1], 20, 4, false);
	world_free();
}

/* ---------------------------------------------------------------- incarnations */

/*
 * Side `waiting` processes a frame while the other side begins a new incarnation. It learns of
 * that between its first look-up of the frame's sender and its acquisition of the row's lock.
 */
static u32 waiting;

static void begin_new_life(void)
{
	struct nic *other = &side[!waiting].nic;

	side[waiting].nic.row[0].lock = 0;
	nic_link_renew(other, nic_load(&other->hdr->incarnation) + 1000);
	/* The HELLO tells its peer of the new incarnation. */
	nic_row_activate(other, &other->row[0]);
	while (side[waiting].nic.row[0].incarnation != other->hdr->incarnation)
		pass(1000000);
}

/* Delivers a frame of the earlier incarnation. */
static void inject_late(u32 to, u8 *bytes, u32 length)
{
	struct nic_counters *c = &side[to].nic.hdr->counters;
	u64 before = c->bad_incarnation;

	reseal(bytes, length);
	waiting = to;
	side[to].nic.row[0].lock = side[to].nic.self + 1;
	on_relax = begin_new_life;
	inject(to, bytes, length);
	CHECK(!on_relax && c->bad_incarnation > before);
}

/* An acknowledgement of an earlier incarnation does not acknowledge a packet to the new one. */
static void late_answer(void)
{
	static u8 bytes[VNET_WIRE_MAX_FRAME] __attribute__((aligned(8)));
	struct vnet_frame *frame = (struct vnet_frame *)bytes;
	struct vnet_send_wqe w = request(VNET_WR_SEND, 1);
	struct vnet_cqe cqe;
	u32 length;

	world_make(11, &config);
	connect_two(NIC_QPT_RC, false);
	stream_sends(connected[0], connected[1], 1, 1, false);
	length = last_frame(0, bytes);
	CHECK(frame->kind == VNET_FRAME_ACK && frame->nacks == 1);
	((struct vnet_frame_ack *)(frame + 1))->seq = nic_to_le32(1);
	faults.lose = 1000;
	end_send(connected[0], &w, 0, 100);
	CHECK(side[0].nic.row[0].busy == 1);
	faults.lose = 0;
	inject_late(0, bytes, length);
	CHECK(side[0].nic.row[0].busy == 1 && !end_poll(connected[0], &cqe));
	world_free();
}

/* Packets of an earlier incarnation do not advance the new one's sequence numbers. */
static void late_packet(void)
{
	static u8 bytes[VNET_WIRE_MAX_FRAME] __attribute__((aligned(8)));
	struct vnet_frame *frame = (struct vnet_frame *)bytes;
	struct vnet_frame_op *op = (struct vnet_frame_op *)(frame + 1);
	u32 length;

	world_make(12, &config);
	connect_two(NIC_QPT_UD, false);
	datagrams(connected[0], connected[1], 1);
	length = last_frame(1, bytes);
	CHECK(frame->kind == VNET_FRAME_DATA && !frame->nacks);
	op->seq = nic_to_le32(nic_le32(op->seq) + 1000);
	inject_late(1, bytes, length);
	CHECK(!side[1].nic.row[0].rx[op->channel].seq);
	datagrams(connected[0], connected[1], 1);
	world_free();
}

static void test_lives(void)
{
	late_answer();
	late_packet();
}

/* ----------------------------------------------------------------- repetitions */

/* Delivers a frame to side 1; the link may have more frames. */
static void arrive(u8 *bytes, u32 length)
{
	reseal(bytes, length);
	deliver_from(1, 0, bytes, length);
}

/*
 * A packet and its repetition arrive before the acknowledgement is sent: the acknowledgement
 * has the timestamp of the first, so the sender learns that nothing was lost. A later
 * repetition is acknowledged with its own timestamp.
 */
static void test_again(void)
{
	static u8 bytes[VNET_WIRE_MAX_FRAME] __attribute__((aligned(8)));
	struct vnet_frame_op *op = (struct vnet_frame_op *)(bytes + sizeof(struct vnet_frame));
	struct vnet_send_wqe w = request(VNET_WR_SEND, 1);
	struct nic_rx *rx;
	u32 length, sent;

	world_make(13, &config);
	connect_two(NIC_QPT_RC, false);
	stream_sends(connected[0], connected[1], 1, 1, false);
	end_recv(connected[1], 2, HALF, 100);
	faults.lose = 1000;
	end_send(connected[0], &w, 0, 100);
	length = last_frame(1, bytes);
	rx = &side[1].nic.row[0].rx[op->channel];
	sent = nic_le32(op->timestamp);
	arrive(bytes, length);
	CHECK(side[1].nic.row[0].owed && rx->timestamp == sent);
	op->timestamp = nic_to_le32(sent + 1000);
	arrive(bytes, length);
	CHECK(side[1].nic.hdr->counters.duplicates == 1 && rx->timestamp == sent);
	nic_receive_end(&side[1].nic);
	CHECK(!side[1].nic.row[0].owed);
	arrive(bytes, length);
	CHECK(side[1].nic.row[0].owed && rx->timestamp == sent + 1000);
	nic_receive_end(&side[1].nic);
	faults.lose = 0;
	CHECK(end_wait(connected[0]).status == VNET_WC_SUCCESS);
	world_free();
}

/* --------------------------------------------------------- latest transmission */

/* Posts a request, and returns the frame instead of delivering it. */
static u32 keep_request(struct end *e, u8 *bytes)
{
	struct vnet_send_wqe w = request(VNET_WR_SEND, 1);

	end_send(e, &w, 0, 100);
	return last_frame(1, bytes);
}

/* Delivers the frame with the timestamp of its latest transmission. */
static void arrive_again(u8 *bytes, u32 length)
{
	struct vnet_frame_op *op = (struct vnet_frame_op *)(bytes + sizeof(struct vnet_frame));

	op->timestamp = nic_to_le32(side[0].nic.row[0].tx[op->channel].timestamp);
	arrive(bytes, length);
	nic_receive_end(&side[1].nic);
}

/*
 * A packet was refused as too early, retransmitted, and accepted; only then does its sender get
 * the refusal. If the sender believed it, the channel would be given to another packet with the
 * same sequence bit. That packet would count as a repetition, and be lost.
 */
static void test_latest(void)
{
	static u8 first[VNET_WIRE_MAX_FRAME] __attribute__((aligned(8)));
	static u8 second[VNET_WIRE_MAX_FRAME] __attribute__((aligned(8)));
	static u8 refusal[VNET_WIRE_MAX_FRAME] __attribute__((aligned(8)));
	const struct vnet_frame_ack *ack = (void *)(refusal + sizeof(struct vnet_frame));
	struct vnet_send_wqe w = request(VNET_WR_SEND, 1);
	const struct nic_row *row;
	struct end *a, *b;
	u32 first_length, second_length, refusal_length;

	world_make(17, &config);
	row = &side[0].nic.row[0];
	for (u32 i = 0; i < 2; i++)
		side[i].nic.hdr->settings.sequence_bits = 1;
	connect_two(NIC_QPT_RC, false);
	a = connected[0];
	b = connected[1];
	stream_sends(a, b, 20, 4, false);
	pass(10000000);
	CHECK(!row->busy);
	for (u32 i = 0; i < 2; i++)
		end_recv(b, 2 + i, HALF, 100);
	faults.lose = 1000;
	first_length = keep_request(a, first);
	second_length = keep_request(a, second);
	arrive(second, second_length);
	nic_receive_end(&side[1].nic);
	refusal_length = last_frame(0, refusal);
	CHECK(ack->code == VNET_NACK_EARLY && ack->channel == 1);
	while (row->tx[1].timestamp == nic_le32(ack->timestamp))
		pass(1000000);
	arrive_again(first, first_length);
	arrive_again(second, second_length);
	for (u32 i = 0; i < 2; i++)
		CHECK(end_wait(b).status == VNET_WC_SUCCESS);
	CHECK(row->busy == 3);
	inject(0, refusal, refusal_length);
	faults.lose = 0;

	/* A packet of another connection would get that channel. */
	connect_two(NIC_QPT_RC, false);
	end_recv(connected[1], 2, HALF, 100);
	end_send(connected[0], &w, 0, 100);
	CHECK(end_wait(connected[0]).status == VNET_WC_SUCCESS);
	CHECK(end_wait(connected[1]).status == VNET_WC_SUCCESS);
	for (u32 i = 0; i < 2; i++)
		CHECK(end_wait(a).status == VNET_WC_SUCCESS);
	world_free();
}

/* ------------------------------------------------- collected acknowledgements */

/* Side 0 sends n packets. They arrive at side 1 one by one, with a pause after every second one. */
static void arrive_some(u32 n)
{
	static u8 bytes[VNET_WIRE_MAX_FRAME] __attribute__((aligned(8)));
	struct vnet_send_wqe w = request(VNET_WR_SEND, 1);
	u32 length;

	for (u32 i = 0; i < n; i++) {
		end_recv(connected[1], 2, HALF, 100);
		faults.lose = 1000;
		end_send(connected[0], &w, 0, 100);
		faults.lose = 0;
		length = last_frame(1, bytes);
		arrive(bytes, length);
		if (i % 2)
			nic_receive_end(&side[1].nic);
	}
}

/* Returns the number of frames with the acknowledgements of n packets; `kept` of them stay owed. */
static u32 answered(u32 unit, u32 n, u32 kept)
{
	const struct nic_row *row = &side[1].nic.row[0];
	u64 frames = side[1].nic.hdr->counters.frames_sent;

	side[1].nic.hdr->settings.ack_unit = unit;
	arrive_some(n);
	frames = side[1].nic.hdr->counters.frames_sent - frames;
	CHECK(row->nowed == kept);
	/* They are sent when ack_delay has passed. */
	pass(65000);
	CHECK(!row->owed);
	for (u32 i = 0; i < n; i++) {
		CHECK(end_wait(connected[0]).status == VNET_WC_SUCCESS);
		CHECK(end_wait(connected[1]).status == VNET_WC_SUCCESS);
	}
	return (u32)frames;
}

/* One frame of acknowledgements per `ack_unit` packets, for an agent and for a process. */
static void test_collected(void)
{
	struct nic *nic = &side[1].nic;
	u64 next;

	world_make(15, &config);
	connect_two(NIC_QPT_RC, false);
	stream_sends(connected[0], connected[1], 100, 16, false);
	for (nic->space = NIC_SPACE_POINTER; nic->space < 2; nic->space++) {
		CHECK(answered(1, 12, 0) == 12);
		CHECK(answered(3, 12, 0) == 4);
		CHECK(answered(5, 12, 2) == 2);
		/* A process keeps acknowledgements back, because it may soon send data. */
		CHECK(answered(0, 12, nic->space ? 12 : 0) == (nic->space ? 0 : 6));
	}
	/* nic_run() tells an agent how long it may keep acknowledgements back. */
	nic->space = NIC_SPACE_POINTER;
	nic->hdr->settings.ack_unit = 5;
	arrive_some(1);
	CHECK(nic_receive_end(nic) && nic->row[0].nowed == 1);
	CHECK(nic_run(nic, 64, &next) && next > now_ns && next <= now_ns + 51000);
	world_free();
}

/* -------------------------------------------------- acknowledgement before reply */

static void expect_opcode(struct end *e, u8 opcode)
{
	struct vnet_cqe cqe;

	CHECK(end_poll(e, &cqe));
	CHECK(cqe.status == VNET_WC_SUCCESS && cqe.opcode == opcode);
}

/* A request whose receiver has not sent its acknowledgement yet, and the reply to it. */
static void ask_and_reply(u8 *reply, u32 *reply_length, u8 *ack, u32 *ack_length)
{
	static u8 bytes[VNET_WIRE_MAX_FRAME] __attribute__((aligned(8)));
	struct vnet_send_wqe w = request(VNET_WR_SEND, 1);
	u32 length;

	for (u32 i = 0; i < 2; i++)
		end_recv(connected[i], 2, HALF, 100);
	faults.lose = 1000;
	length = keep_request(connected[0], bytes);
	side[1].nic.space++;
	inject(1, bytes, length);
	*ack_length = last_frame(0, ack);
	side[1].nic.space--;
	end_send(connected[1], &w, 0, 100);
	*reply_length = last_frame(0, reply);
	faults.lose = 0;
}

/*
 * The requester's send completes before the reply is delivered, even if the acknowledgement of
 * the process that received the request is still on its way, and even if the queue pair was
 * locked when the acknowledgement arrived.
 */
static void test_told_first(void)
{
	static u8 reply[VNET_WIRE_MAX_FRAME] __attribute__((aligned(8)));
	static u8 ack[VNET_WIRE_MAX_FRAME] __attribute__((aligned(8)));
	u32 reply_length, ack_length, busy;
	struct nic_qp *qp;

	world_make(18, &config);
	side[1].nic.hdr->settings.ack_unit = 1;
	connect_two(NIC_QPT_RC, false);
	stream_sends(connected[0], connected[1], 20, 4, false);
	pass(10000000);

	ask_and_reply(reply, &reply_length, ack, &ack_length);
	inject(0, reply, reply_length);
	expect_opcode(connected[0], VNET_WC_SEND);
	expect_opcode(connected[0], VNET_WC_RECV);
	pass(10000000);
	expect_opcode(connected[1], VNET_WC_RECV);
	expect_opcode(connected[1], VNET_WC_SEND);

	ask_and_reply(reply, &reply_length, ack, &ack_length);
	qp = nic_find_qp(&side[0].nic, connected[0]->qpn);
	busy = side[0].nic.self + 1;
	qp->sq_lock = busy;
	inject(0, ack, ack_length);
	CHECK(qp->sq_lock == busy);
	qp->sq_lock = 0;
	inject(0, reply, reply_length);
	expect_opcode(connected[0], VNET_WC_SEND);
	expect_opcode(connected[0], VNET_WC_RECV);
	world_free();
}

/* Frames that were captured, in both directions. */
static struct {
	u32 to, length;
	u8 bytes[VNET_WIRE_MAX_FRAME] __attribute__((aligned(8)));
} kept[64];
static u32 nkept;

static void keep_frame(u32 to, const void *frame, u32 length)
{
	CHECK(nkept < sizeof(kept) / sizeof(kept[0]));
	kept[nkept].to = to;
	kept[nkept].length = length;
	memcpy(kept[nkept++].bytes, frame, length);
}

/* Delivers the captured frames from the i-th on. */
static void arrive_kept(u32 i, u32 to)
{
	u32 n = nkept;

	for (; i < n; i++) {
		if (kept[i].to == to)
			deliver_from(to, 0, kept[i].bytes, kept[i].length);
	}
	nic_receive_end(&side[to].nic);
}

/*
 * The same for n requests of several packets each, and a reply. They are received by the
 * process itself, which has not sent acknowledgements yet; or, with `other`, by another
 * process, whose acknowledgements are still on their way.
 */
static void all_told_first(u32 n, u32 length, u32 reply, bool other)
{
	struct vnet_send_wqe w = request(VNET_WR_SEND, 1);
	u32 sent;

	world_make(19, &config);
	connect_two(NIC_QPT_RC, false);
	stream_sends(connected[0], connected[1], 100, 10, false);
	pass(10000000);
	end_recv(connected[0], 2, HALF, reply);
	for (u32 i = 0; i < n; i++)
		end_recv(connected[1], 2, HALF, length);
	faults.lose = 1000;
	nkept = 0;
	on_frame = keep_frame;
	for (u32 i = 0; i < n; i++)
		end_send(connected[0], &w, 0, length);
	/* A process may keep acknowledgements back. */
	side[1].nic.space = 5;
	nic_find_qp(&side[1].nic, connected[1]->qpn)->space = 5;
	arrive_kept(0, 1);
	if (other)
		nic_acks_send(&side[1].nic, side[1].nic.row);
	sent = nkept;
	end_send(connected[1], &w, 0, reply);
	on_frame = NULL;
	faults.lose = 0;
	arrive_kept(sent, 0);
	for (u32 i = 0; i < n; i++)
		expect_opcode(connected[0], VNET_WC_SEND);
	expect_opcode(connected[0], VNET_WC_RECV);
	side[1].nic.space = 0;
	world_free();
}

static void test_all_told_first(void)
{
	all_told_first(1, 40000, 100, true);
	all_told_first(3, 100, 100, true);
	/* No frame has room for all acknowledgements beside so much data. */
	all_told_first(1, 100000, 16384, false);
	all_told_first(6, 100, 16384, false);
}

int main(int argc, char **argv)
{
	static const struct vn_test tests[] = {
		{ "strangers", test_strangers, OWN_WORLD },
		{ "lives", test_lives, OWN_WORLD },
		{ "again", test_again, OWN_WORLD },
		{ "latest", test_latest, OWN_WORLD },
		{ "collected", test_collected, OWN_WORLD },
		{ "told", test_told_first, OWN_WORLD },
		{ "all-told", test_all_told_first, OWN_WORLD },
	};

	return run_named(argc, argv, tests, sizeof(tests) / sizeof(tests[0]));
}
