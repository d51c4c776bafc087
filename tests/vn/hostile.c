// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Invalid frames from a peer that has the key and the row's secret. Each is refused or dropped,
 * and changes nothing. Also races with a program that rewrites posted requests.
 */
#include <setjmp.h>

#include "requester/requester.h"
#include "vn/replay.h"
#include "vn/handshake.h"
#include "streams.h"

#define ELSEWHERE 2
/* A channel that the preceding traffic did not use. */
#define CHANNEL 40

static u64 space[VNET_WIRE_MAX_FRAME / sizeof(u64) + 1];
static struct vnet_frame *const head = (struct vnet_frame *)space;
static struct vnet_frame_op *const op = (struct vnet_frame_op *)(head + 1);
static struct vnet_frame_ack *const ack = (struct vnet_frame_ack *)(head + 1);
static struct vnet_frame_hello *const hello = (struct vnet_frame_hello *)(head + 1);
static u8 kept[VNET_WIRE_MAX_FRAME];

static struct nic_row *row_of(u32 i)
{
	return &side[i].nic.row[0];
}

static struct nic_endpoint *endpoint_of(const struct end *e)
{
	struct nic *nic = &e->side->nic;
	u32 i;

	for (i = 0; i < nic->max_frame && nic->frame[i].qpn != e->qpn; i++)
		;
	CHECK(i < nic->max_frame);
	return &nic->frame[i];
}

/* Makes the next packet in sequence of side 0's queue pair, with `length` bytes of data. */
static void make(u8 opcode, u32 length)
{
	memset(space, 0, sizeof(*head) + sizeof(*op));
	sign_for(1, head);
	head->kind = VNET_FRAME_DATA;
	head->payload_len = nic_to_le16((u16)length);
	op->seq = nic_to_le32(row_of(1)->rx[CHANNEL].seq + 1);
	op->channel = CHANNEL;
	op->opcode = opcode;
	op->flags = VNET_OP_FIRST | VNET_OP_LAST;
	op->qp_type = connected[0]->type;
	op->src_qpn = nic_to_le32(connected[0]->qpn);
	op->dst_qpn = nic_to_le32(connected[1]->qpn);
	op->msg_len = nic_to_le32(length);
	op->remote_addr = nic_to_le64((u64)(unsigned long)side[1].data);
	op->rkey = nic_to_le32(side[1].key);
	if (connected[0]->type != NIC_QPT_UD)
		op->psn = nic_to_le32(endpoint_of(connected[1])->expected);
	memset(op + 1, 0xee, length);
}

static void arrives_from(u8 address, u32 length)
{
	head->crc = 0;
	nic_frame_set_crc(space, length);
	deliver_from(1, address, space, length);
	nic_receive_end(&side[1].nic);
}

static void arrives(void)
{
	arrives_from(0, (u32)(sizeof(*head) + sizeof(*op)) + nic_le16(head->payload_len));
}

static bool is_written(void)
{
	return side[1].data[0] == 0xee;
}

/* The frame is dropped, and increments this counter. */
static void is_dropped(const u64 *count)
{
	u64 before = *count;

	arrives();
	CHECK(*count == before + 1 && !is_written());
}

/* Returns the code of the acknowledgement of the last frame, which is then in `space`. */
static u8 answer(void)
{
	(void)last_frame(0, space);
	CHECK(head->kind == VNET_FRAME_ACK && head->nacks == 1 && ack->channel == CHANNEL);
	return ack->code;
}

static void still_works(void)
{
	stream_sends(connected[0], connected[1], 20, 4, false);
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

/* ------------------------------------------------------------ rewritten requests */

static void *slot_of(const struct end *e, u32 index)
{
	return e->sq.slots + ((u64)(index & e->sq.mask) << e->sq.shift);
}

static void set_opcode(const struct end *e, u32 index, u8 opcode)
{
	((struct vnet_send_wqe *)slot_of(e, index))->opcode = opcode;
}

static void set_length(const struct end *e, u32 index, u32 length)
{
	struct vnet_sge *sge = (struct vnet_sge *)((u8 *)slot_of(e, index) + VNET_WQE_HDR_SIZE);

	sge->length = length;
}

/* The program rewrites a request before its retransmission: the request fails. */
static void test_again(void)
{
	for (u32 i = 0; i < 2; i++) {
		struct vnet_send_wqe w = request(VNET_WR_RDMA_WRITE, 9);

		begin_connected(41, NIC_QPT_RC);
		memset(side[1].data, 0, 4096);
		aim(&w, &side[1], 0);
		memset(side[0].data, 0xee, 1000);
		faults.lose = 1000;
		end_send(connected[0], &w, 0, 1000);
		CHECK(row_of(0)->busy);
		faults.lose = 0;
		if (i)
			set_length(connected[0], connected[0]->sq_prod - 1, 100);
		else
			set_opcode(connected[0], connected[0]->sq_prod - 1, VNET_WR_SEND);
		CHECK(end_wait(connected[0]).status == VNET_WC_LOC_QP_OP_ERR);
		CHECK(!is_written());
		world_free();
	}
}

static u32 rewrite;

/* Called when the read's data is on its way to side 0. */
static void on_data(u32 to, const void *frame, u32 length)
{
	const struct vnet_frame *f = frame;

	if (to != 0 || f->kind != VNET_FRAME_ACK || !f->payload_len)
		return;
	if (rewrite)
		set_length(connected[0], connected[0]->sq_prod - 1, 100);
	else
		set_opcode(connected[0], connected[0]->sq_prod - 1, VNET_WR_RDMA_WRITE);
}

/* The program rewrites a read before its data arrives: the data is not written anywhere. */
static void test_read_data(void)
{
	for (rewrite = 0; rewrite < 2; rewrite++) {
		struct vnet_send_wqe w = request(VNET_WR_RDMA_READ, 9);

		begin_connected(41, NIC_QPT_RC);
		memset(side[1].data, 0xee, 1000);
		memset(side[0].data, 0, 1000);
		aim(&w, &side[1], 0);
		on_frame = on_data;
		end_send(connected[0], &w, 0, 1000);
		CHECK(end_wait(connected[0]).status == VNET_WC_LOC_PROT_ERR);
		on_frame = NULL;
		CHECK(!side[0].data[0] && !side[0].data[999]);
		world_free();
	}
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

/* ------------------------------------------------------------------------- death */

static jmp_buf death;
static int dies_at;

static void die(int step)
{
	if (step == dies_at)
		longjmp(death, 1);
}

/*
 * The process that delivers a datagram dies after the delivery and before the acknowledgement:
 * the retransmitted datagram is not delivered again.
 */
static void test_datagram_death(void)
{
	volatile u32 before;
	struct vnet_cqe cqe;

	end_recv(connected[1], 1, 0, 4096);
	end_recv(connected[1], 2, 4096, 4096);
	make(VNET_WR_SEND, VNET_GRH_SIZE + 8);
	op->read_len = nic_to_le32(0x1234);
	op->rkey = 0;
	memcpy(kept, space, sizeof(*head) + sizeof(*op) + VNET_GRH_SIZE + 8);
	before = connected[1]->rq.hdr->cons;
	dies_at = 16;
	on_step = die;
	if (!setjmp(death)) {
		arrives();
		CHECK(!"it has not come there");
	}
	on_step = NULL;
	nic_recover(&side[1].nic, side[1].nic.self, NIC_SPACE_POINTER);
	CHECK(connected[1]->rq.hdr->cons == before + 1 && end_poll(connected[1], &cqe));
	memcpy(space, kept, sizeof(*head) + sizeof(*op) + VNET_GRH_SIZE + 8);
	arrives();
	pass(MS);
	memcpy(space, kept, sizeof(*head) + sizeof(*op) + VNET_GRH_SIZE + 8);
	arrives();
	pass(MS);
	CHECK(connected[1]->rq.hdr->cons == before + 1 && !end_poll(connected[1], &cqe));
}

/* The row is renewed while its packet is executed: the new incarnation gets no acknowledgement. */
static void begin_anew(int step)
{
	if (step != 16)
		return;
	on_step = NULL;
	nic_row_renew(&side[1].nic, row_of(1));
	row_of(1)->incarnation += 1000;
}

static void test_new_life(void)
{
	struct vnet_cqe cqe;

	end_recv(connected[1], 1, 0, 4096);
	make(VNET_WR_SEND, 64);
	on_step = begin_anew;
	arrives();
	CHECK(!on_step && end_poll(connected[1], &cqe));
	CHECK(!row_of(1)->owed && !row_of(1)->rx[CHANNEL].seq && !row_of(1)->rx[CHANNEL].busy);
}

/* A packet that another process is executing is not executed a second time. */
static void test_twice(void)
{
	memset(side[1].data, 0, 64);
	row_of(1)->rx[CHANNEL].busy = side[1].nic.self + 1;
	make(VNET_WR_RDMA_WRITE, 64);
	arrives();
	CHECK(!is_written() && counters(1)->duplicates);
	row_of(1)->rx[CHANNEL].busy = 0;
	make(VNET_WR_RDMA_WRITE, 64);
	arrives();
	CHECK(is_written());
}

/* ----------------------------------------------------------------------- permissions */

/* A packet that the queue pair does not permit or support is refused, and has no effect. */
static void is_refused(u8 opcode, u64 status)
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
	is_refused(VNET_WR_RDMA_WRITE, VNET_WC_REM_INV_REQ_ERR);
	begin_connected(41, NIC_QPT_RC);
	end_qp(connected[1])->attr.max_dest_rd_atomic = 0;
	make(VNET_WR_RDMA_READ, 0);
	op->msg_len = op->read_len = nic_to_le32(8);
	is_refused(VNET_WR_RDMA_READ, VNET_WC_REM_INV_REQ_ERR);
	/* An atomic operation on a misaligned address. */
	begin_connected(41, NIC_QPT_RC);
	make(VNET_WR_ATOMIC_FETCH_ADD, 0);
	op->flags = 0;
	op->remote_addr = nic_to_le64((u64)(unsigned long)side[1].data + 4);
	op->compare_add = nic_to_le64(~0ull);
	is_refused(VNET_WR_ATOMIC_FETCH_ADD, VNET_WC_REM_INV_REQ_ERR);
	/* An atomic operation without permission. */
	begin_connected(41, NIC_QPT_RC);
	access = NIC_ACCESS_REMOTE_READ | NIC_ACCESS_REMOTE_WRITE;
	end_qp(connected[1])->attr.access = (u8)access;
	make(VNET_WR_ATOMIC_FETCH_ADD, 0);
	op->flags = 0;
	op->compare_add = nic_to_le64(0xee);
	is_refused(VNET_WR_ATOMIC_FETCH_ADD, VNET_WC_REM_INV_REQ_ERR);

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

/* -------------------------------------------------------------------------- requester */

/* A producer index that is further ahead than the ring has slots. */
static void test_index(void)
{
	connected[0]->sq.hdr->prod += 100000;
	nic_send_doorbell(&side[0].nic, connected[0]->qpn);
	CHECK(end_qp(connected[0])->state == NIC_QPS_ERR);
	CHECK(!row_of(0)->busy);
}

/* An operation that the transport type does not support is not transmitted. */
static void test_transport(void)
{
	struct vnet_send_wqe w = request(VNET_WR_RDMA_READ, 5);

	world_make(44, &config);
	connect_two(NIC_QPT_UC, false);
	stream_sends(connected[0], connected[1], 4, 1, false);
	aim(&w, &side[1], 0);
	end_qp(connected[0])->attr.max_rd_atomic = 8;
	end_send(connected[0], &w, 0, 64);
	CHECK(!row_of(0)->busy);
	CHECK(end_wait(connected[0]).status == VNET_WC_LOC_QP_OP_ERR);
	world_free();
}

/* The requester limits outstanding atomics to NIC_RESULTS, and packets to NIC_WINDOW. */
static void test_under_way(void)
{
	struct vnet_send_wqe w;

	begin_connected(41, NIC_QPT_RC);
	faults.lose = 1000;
	for (u32 i = 0; i < 2 * NIC_RESULTS; i++) {
		w = request(VNET_WR_ATOMIC_FETCH_ADD, i);
		aim(&w, &side[1], 0);
		w.rdma.compare_add = 1;
		end_send(connected[0], &w, HALF, 8);
	}
	CHECK(endpoint_of(connected[0])->next - endpoint_of(connected[0])->una == NIC_RESULTS);
	world_free();
	begin_connected(41, NIC_QPT_RC);
	side[0].nic.hdr->settings.adaptive = 0;
	side[0].nic.hdr->settings.channels = VNET_WIRE_CHANNELS;
	row_of(0)->window = ~0u;
	faults.lose = 1000;
	for (u32 i = 0; i < 2 * NIC_WINDOW; i++) {
		w = request(VNET_WR_SEND, i);
		end_send(connected[0], &w, 0, 64);
	}
	CHECK(endpoint_of(connected[0])->next - endpoint_of(connected[0])->una <= NIC_WINDOW);
	world_free();
}

/* The program shortens a request of which more bytes were already transmitted. */
static void test_half_sent(void)
{
	struct vnet_send_wqe w = request(VNET_WR_RDMA_WRITE, 9);

	aim(&w, &side[1], 0);
	side[0].nic.hdr->settings.adaptive = 1;
	row_of(0)->credit = 2 << 8;
	end_send(connected[0], &w, 0, 1000000);
	CHECK(endpoint_of(connected[0])->cut);
	/* All transmitted packets arrive. */
	set_length(connected[0], connected[0]->sq_prod - 1, 100);
	CHECK(end_wait(connected[0]).status == VNET_WC_LOC_QP_OP_ERR);
}

/* ------------------------------------------------------------------- acknowledgements */

/* An acknowledgement from side 1 for the packet on side 0's channel 0. */
static void make_answer(u8 code, u64 result)
{
	memset(space, 0, sizeof(*head) + sizeof(*ack));
	sign_for(0, head);
	head->kind = VNET_FRAME_ACK;
	head->nacks = 1;
	ack->seq = nic_to_le32(row_of(0)->tx[0].seq);
	ack->timestamp = nic_to_le32(row_of(0)->tx[0].timestamp);
	ack->code = code;
	ack->result = nic_to_le64(result);
}

static void answers(void)
{
	u32 length = sizeof(*head) + sizeof(*ack);

	head->crc = 0;
	nic_frame_set_crc(space, length);
	deliver_from(0, 1, space, length);
	nic_receive_end(&side[0].nic);
}

static void send_lost(void)
{
	struct vnet_send_wqe w = request(VNET_WR_SEND, 3);

	faults.lose = 1000;
	end_send(connected[0], &w, 0, 64);
	CHECK(row_of(0)->busy == 1);
}

/* Invalid values in acknowledgements are replaced by valid ones. */
static void test_answers(void)
{
	static const u64 statuses[] = { VNET_WC_SUCCESS, VNET_WC_STATUS_MAX, 0x100000000ull };
	struct vnet_cqe cqe;
	u32 i;

	/* RETURN_ERROR with an invalid completion status. */
	for (i = 0; i < 3; i++) {
		begin_connected(41, NIC_QPT_RC);
		send_lost();
		make_answer(VNET_RETURN_ERROR, statuses[i]);
		answers();
		CHECK(end_wait(connected[0]).status == VNET_WC_REM_OP_ERR);
		world_free();
	}
	/* An RNR NACK with a wait above the maximum. */
	begin_connected(41, NIC_QPT_RC);
	send_lost();
	make_answer(VNET_NACK_RNR, ~0ull >> 1);
	answers();
	CHECK(row_of(0)->tx[0].due <= now_ns + 700 * MS);
	/* RNR retries are limited by rnr_retry. */
	end_qp(connected[0])->attr.rnr_retry = 2;
	for (i = 0; i < 10 && !end_poll(connected[0], &cqe); i++) {
		pass(i ? 10 * MS : 700 * MS);
		make_answer(VNET_NACK_RNR, MS);
		answers();
	}
	CHECK(i < 10 && cqe.status == VNET_WC_RNR_RETRY_EXC_ERR);
	world_free();
}

/* The second acknowledgement of a packet that was sent on two channels completes nothing. */
static void test_late_answer(void)
{
	struct nic_endpoint *ep;
	struct nic_tx *tx;
	struct vnet_cqe cqe;

	send_lost();
	ep = endpoint_of(connected[0]);
	tx = &row_of(0)->tx[0];
	/* As if another channel had carried the packet, and it were retired. */
	tx->psn--;
	make_answer(VNET_ACK_DONE, 0);
	answers();
	CHECK(!end_poll(connected[0], &cqe) && !ep->done && ep->una != ep->next);
}

/* ---------------------------------------------------------------------- local checks */

/* One SGE more than the queue's limit, in a slot that has room for it. */
static void test_sges(void)
{
	struct vnet_send_wqe w = request(VNET_WR_SEND, 3);
	struct vnet_sge *sge;

	begin_connected(41, NIC_QPT_RC);
	end_recv(connected[1], 1, 0, 64);
	sge = (struct vnet_sge *)(connected[1]->rq.slots +
				  ((u64)((connected[1]->rq_prod - 1) & connected[1]->rq.mask)
				   << connected[1]->rq.shift) +
				  VNET_RECV_HDR_SIZE);
	sge[1] = sge[2] = sge[0];
	((struct vnet_recv_wqe *)sge - 1)->num_sge = 3;
	end_send(connected[0], &w, 0, 64);
	CHECK(end_wait(connected[1]).status == VNET_WC_LOC_QP_OP_ERR);
	world_free();

	begin_connected(41, NIC_QPT_RC);
	end_recv(connected[1], 1, 0, 4096);
	connected[0]->sq.hdr->prod++;
	sge = (struct vnet_sge *)((u8 *)slot_of(connected[0], connected[0]->sq_prod) +
				  VNET_WQE_HDR_SIZE);
	w.num_sge = 3;
	memcpy(slot_of(connected[0], connected[0]->sq_prod), &w, sizeof(w));
	for (u32 i = 0; i < 3; i++)
		sge[i] = (struct vnet_sge){ .addr = (u64)(unsigned long)side[0].data,
					    .length = 8,
					    .lkey = side[0].key };
	nic_send_doorbell(&side[0].nic, connected[0]->qpn);
	CHECK(end_wait(connected[0]).status == VNET_WC_LOC_QP_OP_ERR);
	world_free();
}

/* LOCAL_INV of an unbound memory window of another protection domain fails. */
static void test_others_window(void)
{
	struct vnet_send_wqe w = request(VNET_WR_LOCAL_INV, 3);
	const u32 key = 8u << NIC_KEY_TAG_BITS;

	CHECK(nic_mr_create(&side[0].nic, &(struct nic_mr_params){ .key = key,
								   .kind = NIC_MR_WINDOW_2,
								   .pdn = 2 }) == NIC_OK);
	w.imm = key;
	end_send(connected[0], &w, 0, 0);
	CHECK(end_wait(connected[0]).status == VNET_WC_MW_BIND_ERR);
}

static u32 first_psn;

/* Loses every transmission of side 0's packet `first_psn`. */
static void lose_first(u32 to, const void *frame, u32 length)
{
	const struct vnet_frame *f = frame;
	const struct vnet_frame_op *o;

	o = (const struct vnet_frame_op *)((const struct vnet_frame_ack *)(f + 1) + f->nacks);
	faults.lose =
		to == 1 && f->kind == VNET_FRAME_DATA && nic_le32(o->psn) == first_psn ? 1000 : 0;
}

/* Acknowledged packets behind a lost one do not extend the window. */
static void test_wide(void)
{
	struct vnet_send_wqe w = request(VNET_WR_RDMA_WRITE, 3);
	const struct nic_endpoint *ep;

	ep = endpoint_of(connected[0]);
	side[0].nic.hdr->settings.adaptive = 0;
	row_of(0)->payload = 1024;
	row_of(0)->window = ~0u;
	first_psn = ep->next;
	aim(&w, &side[1], 0);
	on_frame = lose_first;
	end_send(connected[0], &w, 0, 300 * 1024);
	for (u32 i = 0; i < 1000; i++) {
		pass(20000);
		CHECK(ep->una == first_psn && ep->next - ep->una <= NIC_WINDOW);
	}
	CHECK(ep->next - ep->una == NIC_WINDOW);
	on_frame = NULL;
	faults.lose = 0;
	CHECK(end_wait(connected[0]).status == VNET_WC_SUCCESS);
}

/* One frame refuses two requests: the first completes with its status, the second is flushed. */
static void test_first_failure(void)
{
	struct vnet_send_wqe w = request(VNET_WR_SEND, 3);
	u32 length = sizeof(*head) + 2 * sizeof(*ack);

	faults.lose = 1000;
	end_send(connected[0], &w, 0, 64);
	w.wr_id = 4;
	end_send(connected[0], &w, 0, 64);
	CHECK(row_of(0)->busy == 3);
	make_answer(VNET_RETURN_ERROR, VNET_WC_REM_ACCESS_ERR);
	head->nacks = 2;
	ack[1] = ack[0];
	ack[1].channel = 1;
	ack[1].result = nic_to_le64(VNET_WC_REM_OP_ERR);
	for (u32 i = 0; i < 2; i++) {
		ack[i].seq = nic_to_le32(row_of(0)->tx[i].seq);
		ack[i].timestamp = nic_to_le32(row_of(0)->tx[i].timestamp);
	}
	head->crc = 0;
	nic_frame_set_crc(space, length);
	deliver_from(0, 1, space, length);
	(void)end_expect(connected[0], 3, VNET_WC_REM_ACCESS_ERR);
	CHECK(end_wait(connected[0]).status == VNET_WC_WR_FLUSH_ERR);
}

static struct nic_endpoint raced;
static u32 other_psn;

/* Another thread records a failure in between. */
static void fail_other(int step)
{
	on_step = NULL;
	nic_vn_fail(&raced, other_psn, VNET_WC_REM_ACCESS_ERR);
}

/* Two threads, with different locks, record failures: the earlier packet counts, with its status. */
static void test_failures_race(void)
{
	for (u32 i = 0; i < 2; i++) {
		raced.failed = 0;
		other_psn = i ? 9 : 7;
		on_step = fail_other;
		nic_vn_fail(&raced, 8, VNET_WC_LOC_PROT_ERR);
		CHECK(!on_step);
		CHECK(raced.failed == (i ? nic_failure(8, VNET_WC_LOC_PROT_ERR) :
					   nic_failure(7, VNET_WC_REM_ACCESS_ERR)));
	}
}

/* A channel does not retransmit a packet that is already retired. */
static void test_retired(void)
{
	u64 again;

	send_lost();
	row_of(0)->tx[0].psn--;
	again = counters(0)->retransmitted;
	pass(100 * MS);
	CHECK(!row_of(0)->busy && counters(0)->retransmitted == again);
}

/* Returned datagrams complete with a status that is valid for them. */
static void test_returned(void)
{
	static const u64 statuses[] = { 0x100, VNET_WC_SUCCESS, VNET_WC_WR_FLUSH_ERR,
					VNET_WC_RNR_RETRY_EXC_ERR };
	struct vnet_send_wqe w = request(VNET_WR_SEND, 3);

	for (u32 i = 0; i < 4; i++) {
		ends_return = true;
		begin_connected(41, NIC_QPT_UD);
		ends_return = false;
		aim_datagram(&w, connected[1]);
		faults.lose = 1000;
		end_send(connected[0], &w, 0, 64);
		CHECK(row_of(0)->busy == 1);
		make_answer(VNET_RETURN_DROPPED, statuses[i]);
		answers();
		CHECK(end_wait(connected[0]).status ==
		      (i == 3 ? VNET_WC_RNR_RETRY_EXC_ERR : VNET_WC_REM_OP_ERR));
		world_free();
	}
}

/* ---------------------------------------------------------- death of executors */

static void dies(void (*doing)(void), u32 who)
{
	on_step = die;
	if (!setjmp(death)) {
		doing();
		CHECK(!"it has not come there");
	}
	on_step = NULL;
	on_copy = NULL;
	nic_recover(&side[who].nic, side[who].nic.self, NIC_SPACE_POINTER);
}

static void atomic_arrives(void)
{
	memcpy(space, kept, sizeof(*head) + sizeof(*op));
	arrives();
}

/* The second copy writes the word, so a process that dies there has not written it. */
static u32 copies_left;

static void die_in_copy(void)
{
	if (!copies_left--)
		longjmp(death, 1);
}

/*
 * The executor of an atomic operation dies before or after it writes the word: in both cases,
 * the retransmission leads to exactly one execution.
 */
static void test_atomic_death(void)
{
	u64 word;

	for (u32 i = 0; i < 2; i++) {
		begin_connected(41, NIC_QPT_RC);
		memset(side[1].data, 0, 64);
		make(VNET_WR_ATOMIC_FETCH_ADD, 0);
		op->flags = 0;
		op->compare_add = nic_to_le64(5);
		memcpy(kept, space, sizeof(*head) + sizeof(*op));
		dies_at = i ? 7 : -1;
		copies_left = 1;
		on_copy = i ? NULL : die_in_copy;
		dies(atomic_arrives, 1);
		memcpy(&word, side[1].data, sizeof(word));
		CHECK(word == (i ? 5 : 0));
		pass(MS);
		atomic_arrives();
		memcpy(&word, side[1].data, sizeof(word));
		CHECK(word == 5 && answer() == VNET_ACK_RESULT && !ack->result);
		world_free();
	}
}

static void passes(void)
{
	pass(100 * MS);
}

/* A process that retires a request dies half-way: the request completes exactly once. */
static void test_retire_death(void)
{
	static const int steps[] = { 21, 22, 23 };
	struct vnet_send_wqe w = request(VNET_WR_RDMA_WRITE, 9);
	struct vnet_cqe cqe;

	for (u32 i = 0; i < 3; i++) {
		begin_connected(41, NIC_QPT_RC);
		aim(&w, &side[1], 0);
		end_send(connected[0], &w, 0, 64);
		dies_at = steps[i];
		dies(passes, 0);
		(void)end_expect(connected[0], 9, VNET_WC_SUCCESS);
		pass(100 * MS);
		CHECK(!end_poll(connected[0], &cqe));
		still_works();
		world_free();
	}
}

/* Requests left to the holder of the send queue's lock are executed after the holder's death. */
static void test_left(void)
{
	struct vnet_send_wqe w = request(VNET_WR_RDMA_WRITE, 9);

	aim(&w, &side[1], 0);
	end_qp(connected[0])->sq_lock = 7;
	end_send(connected[0], &w, 0, 64);
	CHECK(!row_of(0)->busy);
	nic_recover(&side[0].nic, 7, 7);
	CHECK(end_wait(connected[0]).status == VNET_WC_SUCCESS);
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

/* Key operations are executed by the queue pair's own process or the agent only. */
static void test_own_keys(void)
{
	struct nic *nic = &side[0].nic;
	struct vnet_send_wqe w = request(VNET_WR_LOCAL_INV, 3);
	const u32 key = 8u << NIC_KEY_TAG_BITS;
	struct vnet_cqe cqe;

	CHECK(nic_mr_create(nic, &(struct nic_mr_params){ .key = key,
							  .kind = NIC_MR_WINDOW_2,
							  .pdn = 1 }) == NIC_OK);
	w.imm = key;
	memcpy(slot_of(connected[0], connected[0]->sq_prod), &w, sizeof(w));
	connected[0]->sq.hdr->prod++;
	end_qp(connected[0])->space = 5;
	nic->space = 6;
	(void)nic_qp_run(nic, end_qp(connected[0]), 16);
	CHECK(!end_poll(connected[0], &cqe));
	nic->space = NIC_SPACE_POINTER;
	CHECK(end_wait(connected[0]).status == VNET_WC_SUCCESS);
}

/* The outstanding bytes do not exceed the window that the peer announced. */
static void test_bytes(void)
{
	struct vnet_send_wqe w = request(VNET_WR_SEND, 3);

	side[0].nic.hdr->settings.adaptive = 0;
	row_of(0)->window = 4096;
	faults.lose = 1000;
	for (u32 i = 0; i < 10; i++)
		end_send(connected[0], &w, 0, 1500);
	CHECK(row_of(0)->unacked == 2 && row_of(0)->unacked_bytes == 3000);
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
		{ "window", test_window, NIC_QPT_RC },
		{ "again", test_again, OWN_WORLD },
		{ "read-data", test_read_data, OWN_WORLD },
		{ "reused", test_reused, OWN_WORLD },
		{ "datagram-death", test_datagram_death, NIC_QPT_UD },
		{ "new-life", test_new_life, NIC_QPT_RC },
		{ "twice", test_twice, NIC_QPT_RC },
		{ "rights", test_rights, OWN_WORLD },
		{ "results", test_results, NIC_QPT_RC },
		{ "lacking", test_lacking, OWN_WORLD },
		{ "datagram-again", test_datagram_again, NIC_QPT_UD },
		{ "index", test_index, NIC_QPT_RC },
		{ "transport", test_transport, OWN_WORLD },
		{ "under-way", test_under_way, OWN_WORLD },
		{ "half-sent", test_half_sent, NIC_QPT_RC },
		{ "answers", test_answers, OWN_WORLD },
		{ "late-answer", test_late_answer, NIC_QPT_RC },
		{ "sges", test_sges, OWN_WORLD },
		{ "others-window", test_others_window, NIC_QPT_RC },
		{ "wide", test_wide, NIC_QPT_RC },
		{ "first-failure", test_first_failure, NIC_QPT_RC },
		{ "failures-race", test_failures_race, OWN_WORLD },
		{ "retired", test_retired, NIC_QPT_RC },
		{ "returned", test_returned, OWN_WORLD },
		{ "atomic-death", test_atomic_death, OWN_WORLD },
		{ "retire-death", test_retire_death, OWN_WORLD },
		{ "left", test_left, NIC_QPT_RC },
		{ "refused", test_refused, NIC_QPT_RC },
		{ "own-keys", test_own_keys, NIC_QPT_RC },
		{ "bytes", test_bytes, NIC_QPT_RC },
	};

	if (argc == 2 && !strcmp(argv[1], "--list")) {
		for (u32 i = 0; i < sizeof(tests) / sizeof(tests[0]); i++)
			puts(tests[i].name);
		return 0;
	}
	return run_named(argc, argv, tests, sizeof(tests) / sizeof(tests[0]));
}
