// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Acknowledgements and packets that are invalid or late. An acknowledgement is accepted only if
 * its code is one that the request can have. A dropped frame is counted, and changes nothing.
 */
#include "vn/vn.h"
#include "world.h"

#define LENGTH 256u
#define PLACE 4096u
#define CODE(n) (1ull << (n))
#define NOT_NOW (CODE(VNET_NACK_ABSENT) | CODE(VNET_NACK_BUSY) | CODE(VNET_NACK_EARLY))
#define NEVER (CODE(VNET_RETURN_NO_QP) | CODE(VNET_RETURN_ERROR))

/* Every kind of request, and the acknowledgement codes that it can have. */
static const struct kind {
	u8 type, opcode;
	/* CODE(n) of each code n, which is at most 63. */
	u64 codes;
} kinds[] = {
	{ NIC_QPT_RC, VNET_WR_SEND, CODE(VNET_ACK_DONE) | NOT_NOW | CODE(VNET_NACK_RNR) | NEVER },
	{ NIC_QPT_RC, VNET_WR_SEND_IMM,
	  CODE(VNET_ACK_DONE) | NOT_NOW | CODE(VNET_NACK_RNR) | NEVER },
	{ NIC_QPT_RC, VNET_WR_SEND_INV,
	  CODE(VNET_ACK_DONE) | NOT_NOW | CODE(VNET_NACK_RNR) | NEVER },
	{ NIC_QPT_RC, VNET_WR_RDMA_WRITE, CODE(VNET_ACK_DONE) | NOT_NOW | NEVER },
	{ NIC_QPT_RC, VNET_WR_RDMA_WRITE_IMM,
	  CODE(VNET_ACK_DONE) | NOT_NOW | CODE(VNET_NACK_RNR) | NEVER },
	{ NIC_QPT_RC, VNET_WR_RDMA_READ, CODE(VNET_ACK_DONE) | NOT_NOW | NEVER },
	{ NIC_QPT_RC, VNET_WR_ATOMIC_CMP_SWP, CODE(VNET_ACK_RESULT) | NOT_NOW | NEVER },
	{ NIC_QPT_RC, VNET_WR_ATOMIC_FETCH_ADD, CODE(VNET_ACK_RESULT) | NOT_NOW | NEVER },
	{ NIC_QPT_RC, VNET_WR_ATOMIC_WRITE, CODE(VNET_ACK_RESULT) | NOT_NOW | NEVER },
	{ NIC_QPT_RC, VNET_WR_FLUSH, CODE(VNET_ACK_DONE) | NOT_NOW | NEVER },
	{ NIC_QPT_UC, VNET_WR_SEND,
	  CODE(VNET_ACK_DONE) | NOT_NOW | CODE(VNET_NACK_RNR) | NEVER | CODE(VNET_RETURN_DROPPED) },
	{ NIC_QPT_UC, VNET_WR_RDMA_WRITE,
	  CODE(VNET_ACK_DONE) | NOT_NOW | NEVER | CODE(VNET_RETURN_DROPPED) },
	{ NIC_QPT_UD, VNET_WR_SEND,
	  CODE(VNET_ACK_DONE) | CODE(VNET_NACK_ABSENT) | CODE(VNET_NACK_BUSY) |
		  CODE(VNET_NACK_RNR) | CODE(VNET_RETURN_DROPPED) },
};

static struct end *a, *b;
static u8 bytes[VNET_WIRE_MAX_FRAME] __attribute__((aligned(8)));
static struct vnet_frame *const head = (struct vnet_frame *)bytes;
static struct vnet_frame_ack *const ack = (struct vnet_frame_ack *)(bytes + sizeof(*head));

static bool has(const struct kind *kind, u32 code)
{
	return code < 64 && kind->codes & CODE(code);
}

/* All state that an acknowledgement to `a` could change. */
struct sight {
	struct nic_row row;
	struct nic_endpoint ep;
	struct nic_qp qp;
	u8 place[PLACE];
};

static struct sight look(void)
{
	static struct sight s;

	memset(&s, 0, sizeof(s));
	s.row = side[0].nic.row[0];
	s.qp = *end_qp(a);
	s.ep = side[0].nic.frame[s.qp.frame];
	memcpy(s.place, a->side->data, PLACE);
	return s;
}

/* Posts a request of this kind from a to b. From now on, all frames are lost. */
static struct nic_tx *post(const struct kind *kind)
{
	struct vnet_send_wqe w = request(VNET_WR_SEND, 7);
	u32 length = kind->codes & CODE(VNET_ACK_RESULT) ? 8 : LENGTH;
	struct nic_row *row;

	world_make(1, &world_small);
	row = &side[0].nic.row[0];
	pair_make(&a, &b, kind->type);
	if (kind->type == NIC_QPT_UD)
		aim_datagram(&w, b);
	/* Completes the handshake of the two NICs. */
	end_recv(b, 1, PLACE, PLACE);
	end_send(a, &w, 0, LENGTH);
	CHECK(end_wait(a).status == VNET_WC_SUCCESS);
	pass(20000000);
	CHECK(row->state == NIC_ROW_UP && !row->busy);
	w.opcode = kind->opcode;
	if (kind->type != NIC_QPT_UD)
		aim(&w, b->side, 0);
	faults.lose = 1000;
	if (kind->opcode == VNET_WR_FLUSH) {
		w.rdma.swap = vnet_flush_operand(VNET_FLUSH_GLOBAL, VNET_FLUSH_MR);
		length = 0;
	}
	end_send(a, &w, 0, length);
	CHECK(row->busy == 1);
	return &row->tx[0];
}

/* A frame from side 1 to side 0 with one acknowledgement for `channel`. Returns its length. */
static u32 begin_frame(u8 kind, u32 channel, u32 code)
{
	const struct nic_tx *tx = &side[0].nic.row[0].tx[channel];

	memset(bytes, 0, sizeof(*head) + 4 * sizeof(*ack));
	sign_for(0, head);
	head->kind = kind;
	head->nacks = 1;
	ack->seq = tx->seq;
	ack->timestamp = tx->timestamp;
	ack->channel = (u8)channel;
	ack->code = (u8)code;
	return sizeof(*head) + sizeof(*ack);
}

static void arrives(u32 length)
{
	head->crc = 0;
	head->crc = plat_crc32c(0, bytes, length);
	inject(0, bytes, length);
}

/* The frame increments this counter, and changes nothing else. */
static void changes_nothing(u32 length, const u64 *counter)
{
	struct sight before = look(), after;
	u64 counted = *counter;
	struct vnet_cqe cqe;

	arrives(length);
	after = look();
	CHECK(*counter == counted + 1);
	/* This includes the time at which the peer was last heard. */
	CHECK(!memcmp(&before, &after, sizeof(before)));
	CHECK(!end_poll(a, &cqe));
}

/* Adds a message for `a` to the frame. */
static u32 add_message(u32 length)
{
	struct vnet_frame_op *op = (struct vnet_frame_op *)(bytes + length);

	head->kind = VNET_FRAME_DATA;
	*op = (struct vnet_frame_op){ .seq = side[0].nic.row[0].rx[5].seq + 1,
				      .channel = 5,
				      .opcode = VNET_WR_SEND,
				      .flags = VNET_OP_FIRST | VNET_OP_LAST,
				      .qp_type = a->type == NIC_QPT_UD ? NIC_QPT_RC : a->type,
				      .src_qpn = b->qpn,
				      .dst_qpn = a->qpn,
				      .psn = 17 };
	return length + sizeof(*op);
}

/* A frame with a code that such a request cannot have is dropped. */
static void refuse_codes(const struct kind *kind)
{
	const struct nic_counters *c;

	post(kind);
	c = &side[0].nic.hdr->counters;
	for (u32 code = 0; code < 256; code++) {
		if (has(kind, code))
			continue;
		changes_nothing(begin_frame(VNET_FRAME_ACK, 0, code), &c->bad_field);
		changes_nothing(add_message(begin_frame(VNET_FRAME_DATA, 0, code)), &c->bad_field);
	}
	CHECK(c->bad_field && !c->stale_answers);
	world_free();
}

/* A frame with a code that it can have is accepted. */
static void take_codes(const struct kind *kind)
{
	u32 length;

	for (u32 code = 0; code < 256; code++) {
		const struct nic_counters *c;
		struct nic_tx *tx;

		if (!has(kind, code))
			continue;
		tx = post(kind);
		c = &side[0].nic.hdr->counters;
		length = begin_frame(VNET_FRAME_ACK, 0, code);
		if (kind->opcode == VNET_WR_RDMA_READ && code == VNET_ACK_DONE) {
			memset(bytes + length, 0x5a, LENGTH);
			head->payload_len = LENGTH;
			length += LENGTH;
		}
		arrives(length);
		CHECK(!c->bad_field && !c->stale_answers);
		if (code >= VNET_NACK_FIRST && code <= VNET_RETURN_NO_QP)
			CHECK(tx->flags & NIC_TX_NACKED);
		else
			CHECK(!side[0].nic.row[0].busy);
		world_free();
	}
}

/* Read data is accepted only for a read, in full length, with ACK_DONE; else it is not written. */
static void test_data(void)
{
	static const struct kind read = { NIC_QPT_RC, VNET_WR_RDMA_READ, 0 };
	static const struct kind write = { NIC_QPT_RC, VNET_WR_RDMA_WRITE, 0 };
	const struct nic_counters *c;
	struct vnet_send_wqe w = request(VNET_WR_SEND, 8);
	u32 length;

	post(&read);
	c = &side[0].nic.hdr->counters;
	for (u32 code = 0; code < 256; code++) {
		length = begin_frame(VNET_FRAME_ACK, 0, code);
		memset(bytes + length, 0x5a, LENGTH);
		head->payload_len = code ? LENGTH : LENGTH - 1;
		changes_nothing(length + head->payload_len, &c->bad_field);
	}
	/* A second acknowledgement in the frame has a code that its packet cannot have. */
	end_send(a, &w, LENGTH, LENGTH);
	CHECK(side[0].nic.row[0].busy == 3);
	length = begin_frame(VNET_FRAME_ACK, 0, VNET_ACK_DONE) + sizeof(*ack);
	head->nacks = 2;
	ack[1] = (struct vnet_frame_ack){ .seq = side[0].nic.row[0].tx[1].seq,
					  .channel = 1,
					  .code = VNET_RETURN_DROPPED };
	memset(bytes + length, 0x5a, LENGTH);
	head->payload_len = LENGTH;
	changes_nothing(length + LENGTH, &c->bad_field);
	world_free();

	post(&write);
	c = &side[0].nic.hdr->counters;
	length = begin_frame(VNET_FRAME_ACK, 0, VNET_ACK_DONE);
	head->payload_len = LENGTH;
	changes_nothing(length + LENGTH, &c->bad_field);
	world_free();
}

/* Late acknowledgements are recognised by their sequence numbers. */
static void test_stale(void)
{
	const struct nic_counters *c;
	u64 before;
	u32 length;

	post(&kinds[0]);
	c = &side[0].nic.hdr->counters;
	length = begin_frame(VNET_FRAME_ACK, 0, VNET_ACK_DONE);
	ack->seq--;
	before = c->stale_answers;
	arrives(length);
	CHECK(c->stale_answers == before + 1 && side[0].nic.row[0].busy == 1);
	begin_frame(VNET_FRAME_ACK, 0, VNET_ACK_DONE);
	arrives(length);
	CHECK(c->stale_answers == before + 1 && !side[0].nic.row[0].busy);
	/* The same one again, and one for a channel that was never used. */
	arrives(length);
	CHECK(c->stale_answers == before + 2);
	ack->channel = 63;
	arrives(length);
	CHECK(c->stale_answers == before + 3 && !c->bad_field);
	world_free();

	/* For a read: without data, and with data and an earlier sequence number. */
	post(&kinds[5]);
	c = &side[0].nic.hdr->counters;
	length = begin_frame(VNET_FRAME_ACK, 0, VNET_ACK_DONE);
	arrives(length);
	CHECK(c->stale_answers == 1 && side[0].nic.row[0].busy == 1);
	ack->seq--;
	head->payload_len = LENGTH;
	changes_nothing(length + LENGTH, &c->stale_answers);
	world_free();
}

/* Repeats each packet of a channel: all count as duplicates, only the last is acknowledged. */
static void test_old_requests(u8 type)
{
	static u8 old[3][VNET_WIRE_MAX_FRAME] __attribute__((aligned(8)));
	struct vnet_send_wqe w = request(VNET_WR_SEND, 0);
	const struct nic_counters *c;
	struct vnet_cqe cqe;
	u64 before, sent;
	u32 length[3];

	world_make(2, &world_small);
	pair_make(&a, &b, type);
	memcpy(w.ud.dgid, side[1].nic.hdr->gid[0], 16);
	if (type == NIC_QPT_UD) {
		w.ud.remote_qpn = b->qpn;
		w.ud.remote_qkey = 0x1234;
	}
	for (u32 i = 0; i < 3; i++) {
		end_recv(b, i, i * 1024, 1024);
		end_send(a, &w, 0, LENGTH);
		/* The first one waits for the handshake. */
		while (!side[0].nic.row[0].busy)
			pass(5000);
		length[i] = last_frame(1, old[i]);
		CHECK(end_wait(a).status == VNET_WC_SUCCESS);
		CHECK(end_wait(b).status == VNET_WC_SUCCESS);
		pass(1000000);
	}
	c = &side[1].nic.hdr->counters;
	for (u32 i = 3; i--;) {
		before = c->duplicates;
		sent = c->acks_sent;
		inject(1, old[i], length[i]);
		pass(1000000);
		CHECK(c->duplicates == before + 1);
		CHECK(c->acks_sent == sent + (i == 2));
		CHECK(!end_poll(b, &cqe));
	}
	/* The same while another process executes the packet. */
	side[1].nic.row[0].rx[0].busy = 3;
	before = c->duplicates;
	inject(1, old[2], length[2]);
	CHECK(c->duplicates == before + 1 && !end_poll(b, &cqe));
	side[1].nic.row[0].rx[0].busy = 0;
	world_free();
}

/* --------------------------------------------------------- missing queue pairs */

/*
 * The peer of a connection does not exist any more: only one packet of the connection is
 * retransmitted, at increasing intervals, and other connections between the same NICs are not
 * delayed.
 */
static void test_nobody(u8 type)
{
	struct vnet_send_wqe w = request(VNET_WR_RDMA_WRITE, 0);
	const struct nic_counters *c;
	struct end *other[2];
	u64 start, before;

	world_make(3, &world_small);
	pair_make(&a, &b, type);
	for (u32 i = 0; i < 2; i++)
		other[i] = end_make(&side[i], NIC_QPT_RC, false);
	end_connect(other[0], other[1]);
	aim(&w, &side[1], 0);
	/* Raises the row's limit of outstanding packets. */
	for (u32 i = 0; i < 200; i++) {
		end_send(a, &w, 0, LENGTH);
		end_wait(a);
	}
	end_reset(b);
	for (u32 i = 0; i < 40; i++)
		end_send(a, &w, 0, LENGTH);
	start = now_ns;
	c = &side[0].nic.hdr->counters;
	before = c->retransmitted;
	pass(5000000);
	CHECK(c->retransmitted > before && c->retransmitted - before < 200);
	for (u32 i = 0; i < 100; i++) {
		end_send(other[0], &w, 0, LENGTH);
		CHECK(end_wait(other[0]).status == VNET_WC_SUCCESS);
	}
	CHECK(now_ns - start < 20000000 && c->retransmitted - before < 200);
	/* RC fails after its timeout and retries; UC continues. */
	CHECK(end_wait(a).status == (type == NIC_QPT_RC ? VNET_WC_RETRY_EXC_ERR : VNET_WC_SUCCESS));
	for (u32 i = 1; i < 40; i++)
		end_wait(a);
	CHECK(now_ns - start < 4000000000);
	world_free();
}

/*
 * The process of the peer has ended, and its NIC has not noticed: the request does not fail.
 * After the NIC resets the queue pair, the requester gets no answer and fails with RETRY_EXC.
 */
static void test_gone(u8 opcode, u32 length)
{
	struct vnet_send_wqe w = request(opcode, 0);
	struct vnet_cqe cqe;

	world_make(4, &world_small);
	pair_make(&a, &b, NIC_QPT_RC);
	end_recv(b, 1, 0, length);
	if (opcode != VNET_WR_SEND)
		aim(&w, &side[1], 0);
	memory_gone = true;
	end_send(a, &w, 0, length);
	pass(10000000);
	CHECK(!end_poll(a, &cqe) && !end_poll(b, &cqe));
	end_reset(b);
	CHECK(end_wait(a).status == VNET_WC_RETRY_EXC_ERR);
	memory_gone = false;
	world_free();
}

/*
 * Another process never releases the lock of the peer's queue pair: the requester gets only
 * BUSY, and fails when its timeout and retries are used up.
 */
static void test_busy_for_ever(void)
{
	struct vnet_send_wqe w = request(VNET_WR_SEND, 0);
	u64 start;

	world_make(5, &world_small);
	pair_make(&a, &b, NIC_QPT_RC);
	end_recv(b, 1, 0, LENGTH);
	nic_find_qp(&side[1].nic, b->qpn)->sq_lock = side[1].nic.self + 1;
	start = now_ns;
	end_send(a, &w, 0, LENGTH);
	CHECK(end_wait(a).status == VNET_WC_RETRY_EXC_ERR);
	CHECK(now_ns - start < 2000000000);
	nic_find_qp(&side[1].nic, b->qpn)->sq_lock = 0;
	world_free();
}

int main(void)
{
	for (u32 i = 0; i < sizeof(kinds) / sizeof(*kinds); i++) {
		refuse_codes(&kinds[i]);
		take_codes(&kinds[i]);
	}
	test_data();
	test_stale();
	test_old_requests(NIC_QPT_RC);
	test_old_requests(NIC_QPT_UC);
	test_old_requests(NIC_QPT_UD);
	test_nobody(NIC_QPT_RC);
	test_nobody(NIC_QPT_UC);
	test_busy_for_ever();
	test_gone(VNET_WR_SEND, LENGTH);
	test_gone(VNET_WR_SEND, 100000);
	test_gone(VNET_WR_RDMA_WRITE, 100000);
	test_gone(VNET_WR_RDMA_READ, 100000);
	test_gone(VNET_WR_ATOMIC_FETCH_ADD, 8);
	return 0;
}
