// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Invalid frames from a peer that has the key and the row's secret. Each is refused or dropped,
 * and changes nothing.
 */
#include "forge.h"

#define ELSEWHERE 2

static struct vnet_frame_hello *const hello =
	(struct vnet_frame_hello *)((struct vnet_frame *)space + 1);
static u8 kept[VNET_WIRE_MAX_FRAME];

/* The frame is dropped, and increments this counter. */
static void is_dropped(const u64 *count)
{
	u64 before = *count;

	arrives();
	CHECK(*count == before + 1 && !is_written());
}

/* ---------------------------------------------------------------------- headers */

/* A header whose incarnation or row number does not match. */
static void test_heads(void)
{
	memset(side[1].data, 0, 64);
	make(VNET_WR_RDMA_WRITE, 64);
	head->src_incarnation = nic_to_le64(nic_le64(head->src_incarnation) - 1);
	is_dropped(&counters(1)->bad_incarnation);
	make(VNET_WR_RDMA_WRITE, 64);
	head->dst_incarnation = nic_to_le64(nic_le64(head->dst_incarnation) - 1);
	is_dropped(&counters(1)->bad_incarnation);
	make(VNET_WR_RDMA_WRITE, 64);
	head->src_row = nic_to_le32(nic_le32(head->src_row) ^ 1u << NIC_ROW_ID_SHIFT);
	is_dropped(&counters(1)->bad_row);
	make(VNET_WR_RDMA_WRITE, 64);
	head->dst_row = nic_to_le32(nic_le32(head->dst_row) ^ 1u << NIC_ROW_ID_SHIFT);
	is_dropped(&counters(1)->bad_row);
	make(VNET_WR_RDMA_WRITE, 64);
	arrives();
	CHECK(is_written());
}

/* --------------------------------------------------------------------- lengths */

/* Each length field exceeds its limit by one byte. */
static void test_lengths(void)
{
	begin_connected(41, NIC_QPT_RC);
	memset(side[1].data, 0, 64);
	/* A packet that ends one byte after its message. */
	make(VNET_WR_RDMA_WRITE, 64);
	op->msg_len = nic_to_le32(63);
	op->flags = VNET_OP_FIRST;
	is_dropped(&counters(1)->bad_field);
	/* A read of one byte more than its message has. */
	make(VNET_WR_RDMA_READ, 0);
	op->msg_len = nic_to_le32(64);
	op->read_len = nic_to_le32(65);
	op->flags = VNET_OP_FIRST;
	is_dropped(&counters(1)->bad_field);
	/* One byte more, and one less, than the frame has by its payload length. */
	for (u32 i = 0; i < 2; i++) {
		u64 before = counters(1)->bad_length;

		make(VNET_WR_RDMA_WRITE, 64);
		arrives_from(0, (u32)(sizeof(*head) + sizeof(*op)) + (i ? 63 : 65));
		CHECK(counters(1)->bad_length == before + 1 && !is_written());
	}
	/* More acknowledgements than a frame can have. */
	memset(space, 0, sizeof(*head) + 65 * sizeof(*ack));
	sign_for(1, head);
	head->kind = VNET_FRAME_ACK;
	head->nacks = VNET_WIRE_ACKS + 1;
	for (u32 i = 0; i <= VNET_WIRE_ACKS; i++)
		ack[i].seq = nic_to_le32(0x12345678);
	{
		u64 before = counters(1)->bad_field;

		arrives_from(0, (u32)(sizeof(*head) + 65 * sizeof(*ack)));
		CHECK(counters(1)->bad_field == before + 1);
	}
	/* Read data without an acknowledgement, and with a NACK. */
	for (u32 i = 0; i < 2; i++) {
		u64 before = counters(1)->bad_field;

		memset(space, 0, sizeof(*head) + sizeof(*ack) + 64);
		sign_for(1, head);
		head->kind = VNET_FRAME_ACK;
		head->nacks = (u8)i;
		head->payload_len = nic_to_le16(64);
		ack->code = VNET_NACK_BUSY;
		ack->seq = nic_to_le32(row_of(1)->tx[0].seq);
		arrives_from(0, (u32)(sizeof(*head) + i * sizeof(*ack) + 64));
		CHECK(counters(1)->bad_field == before + 1);
	}
	/* A frame that is longer than the maximum. */
	{
		static u64 long_frame[VNET_WIRE_MAX_FRAME / 8 + 2];
		struct vnet_frame *longest = (struct vnet_frame *)long_frame;
		u64 before = counters(1)->bad_length;
		u32 length = VNET_WIRE_MAX_FRAME + 8;

		make(VNET_WR_RDMA_WRITE, 0);
		memcpy(long_frame, space, sizeof(*head) + sizeof(*op));
		longest->payload_len = nic_to_le16((u16)(length - sizeof(*head) - sizeof(*op)));
		((struct vnet_frame_op *)(longest + 1))->msg_len =
			nic_to_le32(length - (u32)(sizeof(*head) + sizeof(*op)));
		longest->crc = 0;
		nic_frame_set_crc(long_frame, length);
		deliver_from(1, 0, long_frame, length);
		CHECK(counters(1)->bad_length == before + 1);
	}
	still_works();
	world_free();

	/* A datagram that is longer than the MTU. */
	begin_connected(41, NIC_QPT_UD);
	memset(side[1].data, 0, 64);
	end_recv(connected[1], 1, 0, 8192);
	make(VNET_WR_SEND, VNET_GRH_SIZE + NIC_MTU + 1);
	op->read_len = nic_to_le32(0x1234);
	op->rkey = 0;
	is_dropped(&counters(1)->bad_field);
	/* A datagram with an invalid service level. */
	make(VNET_WR_SEND, VNET_GRH_SIZE + 8);
	op->read_len = nic_to_le32(0x1234);
	op->sl = nic_to_le32(16);
	is_dropped(&counters(1)->bad_field);
	world_free();
}

/* A read of more than the agreed payload is refused, a read of exactly that length is not. */
static void test_reads(void)
{
	for (u32 i = 0; i < 2; i++) {
		begin_connected(41, NIC_QPT_RC);
		row_of(1)->payload = 2048;
		make(VNET_WR_RDMA_READ, 0);
		op->msg_len = op->read_len = nic_to_le32(2048 + i);
		arrives();
		CHECK(answer() == (i ? VNET_RETURN_ERROR : VNET_ACK_DONE));
		CHECK(nic_le16(head->payload_len) == (i ? 0 : 2048));
		world_free();
	}
}

/* ----------------------------------------------------------------------- HELLO */

static void make_call(u64 life, u64 its_life, const u8 *cookie)
{
	memset(space, 0, sizeof(*head) + sizeof(*hello));
	head->magic = VNET_WIRE_MAGIC;
	head->version = VNET_WIRE_VERSION;
	head->kind = VNET_FRAME_HELLO;
	head->src_incarnation = nic_to_le64(life);
	head->dst_incarnation = nic_to_le64(its_life);
	head->src_row = nic_to_le32(5);
	head->dst_row = nic_to_le32(NIC_NONE);
	memcpy(hello->src_gid, side[0].nic.hdr->gid[0], 16);
	hello->src_gid[13] = 3;
	memcpy(hello->dst_gid, side[1].nic.hdr->gid[0], 16);
	if (cookie)
		memcpy(hello->cookie, cookie, sizeof(hello->cookie));
	memset(hello->nonce, 0x77, sizeof(hello->nonce));
	hello->payload = nic_to_le32(1024);
	hello->window = nic_to_le32(65536);
}

#define HELLO_LENGTH ((u32)(sizeof(*head) + sizeof(*hello)))

/* HELLO without an incarnation, for another NIC's GID, or with an invalid payload limit. */
static void test_calls(void)
{
	u8 cookie[VNET_WIRE_COOKIE_SIZE];
	u64 its_life, before;
	u32 high;

	high = side[1].nic.hdr->row_high;
	/* Incarnation 0, with a valid cookie. */
	make_call(0, 0, NULL);
	arrives_from(ELSEWHERE, HELLO_LENGTH);
	CHECK(last_frame(ELSEWHERE, space) == HELLO_LENGTH);
	memcpy(cookie, hello->cookie, sizeof(cookie));
	its_life = nic_le64(head->src_incarnation);
	before = counters(1)->bad_incarnation;
	make_call(0, its_life, cookie);
	arrives_from(ELSEWHERE, HELLO_LENGTH);
	CHECK(counters(1)->bad_incarnation == before + 1);
	CHECK(side[1].nic.row[high].state != NIC_ROW_UP);
	/* A GID that is not side 1's. */
	before = counters(1)->drop_address;
	make_call(5000, 0, NULL);
	hello->dst_gid[12] ^= 1;
	arrives_from(ELSEWHERE, HELLO_LENGTH);
	CHECK(counters(1)->drop_address == before + 1);
	/* A payload limit below the minimum. */
	before = counters(1)->bad_field;
	make_call(5000, 0, NULL);
	hello->payload = nic_to_le32(VNET_WIRE_MIN_PAYLOAD - 1);
	arrives_from(ELSEWHERE, HELLO_LENGTH);
	CHECK(counters(1)->bad_field == before + 1);
}

/* A HELLO with the identity and numbers of a known peer, but without a cookie. */
static void make_peers_call(void)
{
	const struct nic_row *row = row_of(1);

	make_call(row->incarnation, side[1].nic.hdr->incarnation, NULL);
	head->src_row = nic_to_le32(row->peer_row);
	head->dst_row = nic_to_le32(row->id);
	memcpy(hello->src_gid, side[0].nic.hdr->gid[0], 16);
	memcpy(hello->share, row->peer_share, sizeof(hello->share));
	hello->flags = nic_to_le32(VNET_HELLO_LOCAL);
}

static void test_known(void)
{
	u8 share[VNET_WIRE_NONCE_SIZE];
	u32 payload;

	faults.lose = 1000;
	memcpy(share, row_of(1)->peer_share, sizeof(share));
	payload = row_of(1)->payload;
	/* Another key share would invalidate the secret that both have derived. */
	make_peers_call();
	hello->share[0] ^= 1;
	arrives_from(0, HELLO_LENGTH);
	CHECK(!memcmp(row_of(1)->peer_share, share, sizeof(share)));
	CHECK(row_of(1)->payload == payload);
	/* A HELLO from another address does not change the payload limit. */
	make_peers_call();
	arrives_from(ELSEWHERE, HELLO_LENGTH);
	CHECK(row_of(1)->payload == payload);
	/* A HELLO from the peer's address does. */
	make_peers_call();
	arrives_from(0, HELLO_LENGTH);
	CHECK(row_of(1)->payload == 1024);
	faults.lose = 0;
	still_works();
}

/* nic_peer_call() fills at most half of the rows, and a known peer needs no new row. */
static void test_meet(void)
{
	u8 gid[16];

	memcpy(gid, side[0].nic.hdr->gid[0], sizeof(gid));
	for (u32 i = 0; i < 4; i++) {
		gid[13] = (u8)i;
		nic_peer_call(&side[1].nic, gid);
		CHECK(side[1].nic.hdr->row_high == (i ? 2 : 1));
	}
}

/* A REFUSE from a peer that has answered before is ignored, even while the row is CALLING. */
static void test_refused(void)
{
	nic_row_renew(&side[1].nic, row_of(1));
	CHECK(row_of(1)->state == NIC_ROW_CALLING && row_of(1)->incarnation);
	memset(row_of(1)->nonce, 0x55, sizeof(row_of(1)->nonce));
	row_of(1)->calls = 1;
	make_call(row_of(1)->incarnation, side[1].nic.hdr->incarnation, NULL);
	head->kind = VNET_FRAME_REFUSE;
	head->proof = VNET_PROOF_NONE;
	head->dst_row = nic_to_le32(row_of(1)->id);
	memcpy(hello->src_gid, side[0].nic.hdr->gid[0], 16);
	memcpy(hello->nonce, row_of(1)->nonce, sizeof(hello->nonce));
	hello->flags = nic_to_le32(VNET_REFUSAL_KEY);
	refused = 0;
	arrives_from(0, HELLO_LENGTH);
	CHECK(!refused && !row_of(1)->refused);
	still_works();
}

/* --------------------------------------------------------------------- windows */

/* A middle packet of a write, `distance` packets ahead of the expected PSN. */
static void make_early(u32 distance)
{
	make(VNET_WR_RDMA_WRITE, 64);
	op->flags = 0;
	op->psn = nic_to_le32(endpoint_of(connected[1])->expected + distance);
	op->offset = nic_to_le32(64 * (distance + 1));
	op->msg_len = nic_to_le32(64 * 200);
}

/* The window is one less than the bits: the last bit may be stale after a death. */
static void test_window(void)
{
	u32 expected;

	memset(side[1].data, 0, 64);
	make_early(NIC_WINDOW - 1);
	arrives();
	CHECK(answer() == VNET_NACK_EARLY && !is_written());
	make_early(NIC_WINDOW - 2);
	arrives();
	CHECK(answer() == VNET_ACK_DONE && is_written());
	/* A repetition is acknowledged, and not written again. */
	memset(side[1].data, 0, 64);
	make_early(NIC_WINDOW - 2);
	arrives();
	CHECK(answer() == VNET_ACK_DONE && !is_written());
	/* A packet of a message that begins after the missing packet is refused. */
	expected = endpoint_of(connected[1])->expected;
	make_early(5);
	op->offset = nic_to_le32(64 * 4);
	arrives();
	CHECK(answer() == VNET_NACK_EARLY && !is_written());
	CHECK(endpoint_of(connected[1])->expected == expected);
}

/* --------------------------------------------------------------- reused numbers */

/* The SRQ of a partly received message is replaced by one with its number: the rest is refused. */
static void test_reused(void)
{
	struct nic_srq_params p = {
		.entries = 256, .stride_shift = 6, .max_sge = 2, .pdn = 1, .xrcdn = 3
	};
	struct vnet_cqe cqe;
	struct end *e;

	world_make(42, &config);
	connect_extended();
	e = connected[1];
	stream_sends(connected[0], e, 4, 1, false);
	end_recv(e, 77, 0, 4096);
	make(VNET_WR_SEND, 1024);
	op->floor = nic_to_le32(e->srqn);
	op->msg_len = nic_to_le32(2048);
	op->flags = VNET_OP_FIRST;
	arrives();
	CHECK(answer() == VNET_ACK_DONE && endpoint_of(e)->receive.open);
	CHECK(nic_srq_destroy(&side[1].nic, e->srqn) == NIC_OK);
	p.ring = e->rq.offset;
	p.cqn = e->cqn;
	CHECK(nic_srq_create(&side[1].nic, e->srqn, &p) == NIC_OK);
	memset(side[1].data, 0, 4096);
	make(VNET_WR_SEND, 1024);
	op->floor = nic_to_le32(e->srqn);
	op->msg_len = nic_to_le32(2048);
	op->offset = nic_to_le32(1024);
	op->flags = VNET_OP_LAST;
	arrives();
	CHECK(answer() == VNET_RETURN_ERROR && !side[1].data[1024]);
	CHECK(!end_poll(e, &cqe));
	world_free();
}

/* ----------------------------------------------------------------------- permissions */

/* A packet that the queue pair does not permit or support is refused, and has no effect. */
static void is_refused(u64 status)
{
	arrives();
	CHECK(answer() == VNET_RETURN_ERROR && nic_le64(ack->result) == status);
	CHECK(!is_written() && end_qp(connected[1])->state == NIC_QPS_ERR);
	world_free();
}

static void test_rights(void)
{
	const struct nic_qp *qp;
	u32 access;

	/* A queue pair without remote write permission, and one without responder resources. */
	begin_connected(41, NIC_QPT_RC);
	memset(side[1].data, 0, 64);
	end_qp(connected[1])->attr.access = NIC_ACCESS_REMOTE_READ;
	make(VNET_WR_RDMA_WRITE, 64);
	is_refused(VNET_WC_REM_INV_REQ_ERR);
	begin_connected(41, NIC_QPT_RC);
	end_qp(connected[1])->attr.max_dest_rd_atomic = 0;
	make(VNET_WR_RDMA_READ, 0);
	op->msg_len = op->read_len = nic_to_le32(8);
	is_refused(VNET_WC_REM_INV_REQ_ERR);
	/* An atomic operation on a misaligned address. */
	begin_connected(41, NIC_QPT_RC);
	make(VNET_WR_ATOMIC_FETCH_ADD, 0);
	op->flags = 0;
	op->remote_addr = nic_to_le64((u64)(unsigned long)side[1].data + 4);
	op->compare_add = nic_to_le64(~0ull);
	is_refused(VNET_WC_REM_INV_REQ_ERR);
	/* An atomic operation without permission. */
	begin_connected(41, NIC_QPT_RC);
	access = NIC_ACCESS_REMOTE_READ | NIC_ACCESS_REMOTE_WRITE;
	end_qp(connected[1])->attr.access = (u8)access;
	make(VNET_WR_ATOMIC_FETCH_ADD, 0);
	op->flags = 0;
	op->compare_add = nic_to_le64(0xee);
	is_refused(VNET_WC_REM_INV_REQ_ERR);

	/* Another transport type, or a queue pair in the error state, gets RETURN_NO_QP. */
	begin_connected(41, NIC_QPT_RC);
	memset(side[1].data, 0, 64);
	qp = end_qp(connected[1]);
	make(VNET_WR_RDMA_WRITE, 64);
	op->qp_type = NIC_QPT_UC;
	arrives();
	CHECK(answer() == VNET_RETURN_NO_QP && !is_written() && qp->state == NIC_QPS_RTS);
	end_state(connected[1], NIC_QPS_ERR, NULL);
	make(VNET_WR_RDMA_WRITE, 64);
	arrives();
	CHECK(answer() == VNET_RETURN_NO_QP && !is_written());
	world_free();
}

/* A repeated atomic operation whose result is no longer stored is refused. */
static void test_results(void)
{
	u32 expected, i;

	memset(side[1].data, 0, 64);
	for (i = 0; i <= NIC_RESULTS; i++) {
		make(VNET_WR_ATOMIC_FETCH_ADD, 0);
		op->flags = 0;
		op->compare_add = nic_to_le64(1);
		arrives();
		CHECK(answer() == VNET_ACK_RESULT && nic_le64(ack->result) == i);
	}
	expected = endpoint_of(connected[1])->expected;
	make(VNET_WR_ATOMIC_FETCH_ADD, 0);
	op->flags = 0;
	op->compare_add = nic_to_le64(1);
	op->psn = nic_to_le32(expected - 1);
	arrives();
	CHECK(answer() == VNET_ACK_RESULT && nic_le64(ack->result) == NIC_RESULTS);
	make(VNET_WR_ATOMIC_FETCH_ADD, 0);
	op->flags = 0;
	op->compare_add = nic_to_le64(1);
	op->psn = nic_to_le32(expected - 1 - NIC_RESULTS);
	arrives();
	CHECK(answer() == VNET_RETURN_ERROR);
	memcpy(&i, side[1].data, sizeof(i));
	CHECK(i == NIC_RESULTS + 1);
}

/* ------------------------------------------------------------ unreliable transports */

static void make_piece(u8 opcode, u32 psn, u32 offset, u32 length)
{
	make(opcode, 64);
	op->psn = nic_to_le32(psn);
	op->floor = nic_to_le32(psn);
	op->offset = nic_to_le32(offset);
	op->msg_len = nic_to_le32(length);
	op->flags = (u8)((offset ? 0 : VNET_OP_FIRST) | (offset + 64 == length ? VNET_OP_LAST : 0));
}

/* The second of three packets of a message is given up: the message does not complete a receive. */
static void test_lacking(void)
{
	static const u8 opcodes[] = { VNET_WR_SEND, VNET_WR_RDMA_WRITE_IMM };
	struct vnet_cqe cqe;
	u32 psn;

	for (u32 i = 0; i < 2; i++) {
		world_make(43, &config);
		connect_two(NIC_QPT_UC, false);
		stream_sends(connected[0], connected[1], 4, 1, false);
		end_recv(connected[1], 1, HALF, 4096);
		psn = endpoint_of(connected[1])->expected;
		make_piece(opcodes[i], psn, 0, 192);
		arrives();
		make_piece(opcodes[i], psn + 2, 128, 192);
		arrives();
		CHECK(!end_poll(connected[1], &cqe));
		/* The next message is complete, and takes the receive. */
		make_piece(opcodes[i], psn + 3, 0, 64);
		arrives();
		CHECK(end_poll(connected[1], &cqe) && cqe.status == VNET_WC_SUCCESS &&
		      cqe.wr_id == 1 && cqe.byte_len == 64);
		world_free();
	}
}

/* A datagram that was refused for lack of a receive is accepted when it is retransmitted. */
static void test_datagram_again(void)
{
	const u32 length = (u32)(sizeof(*head) + sizeof(*op)) + VNET_GRH_SIZE + 8;
	struct vnet_cqe cqe;

	make(VNET_WR_SEND, VNET_GRH_SIZE + 8);
	op->read_len = nic_to_le32(0x1234);
	op->rkey = 0;
	memcpy(kept, space, length);
	arrives();
	CHECK(answer() == VNET_NACK_RNR);
	end_recv(connected[1], 1, HALF, 4096);
	memcpy(space, kept, length);
	arrives();
	CHECK(answer() == VNET_ACK_DONE && end_poll(connected[1], &cqe));
	memcpy(space, kept, length);
	arrives();
	CHECK(!end_poll(connected[1], &cqe));
}

int main(int argc, char **argv)
{
	static const struct vn_test tests[] = {
		{ "heads", test_heads, NIC_QPT_RC },
		{ "lengths", test_lengths, OWN_WORLD },
		{ "reads", test_reads, OWN_WORLD },
		{ "calls", test_calls, NIC_QPT_RC },
		{ "known", test_known, NIC_QPT_RC },
		{ "meet", test_meet, NIC_QPT_RC },
		{ "refused", test_refused, NIC_QPT_RC },
		{ "window", test_window, NIC_QPT_RC },
		{ "reused", test_reused, OWN_WORLD },
		{ "rights", test_rights, OWN_WORLD },
		{ "results", test_results, NIC_QPT_RC },
		{ "lacking", test_lacking, OWN_WORLD },
		{ "datagram-again", test_datagram_again, NIC_QPT_UD },
	};

	return run_named(argc, argv, tests, sizeof(tests) / sizeof(tests[0]));
}
