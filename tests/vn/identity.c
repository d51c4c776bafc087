// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * How a NIC checks the identity of peers. Tested are frames without proof of their sender,
 * HELLOs without cookies, and members of the key's group that claim another NIC's identity.
 */
#include "vn/vn.h"
#include "streams.h"

/* Addresses without a NIC; the test receives their frames. */
#define ELSEWHERE 2
#define NOWHERE 3

static u64 space[VNET_WIRE_MAX_FRAME / sizeof(u64)];
static struct vnet_frame *const head = (struct vnet_frame *)space;
static struct vnet_frame_hello *const hello = (struct vnet_frame_hello *)(head + 1);

#define HELLO_LENGTH ((u32)(sizeof(*head) + sizeof(*hello)))

static struct nic_row *row_of(u32 i)
{
	return &side[i].nic.row[0];
}

static void still_works(void)
{
	stream_sends(connected[0], connected[1], 20, 4, false);
}

/* Delivers the frame in `space` to side 1. */
static void arrives_from(u8 address, u32 length)
{
	head->crc = 0;
	nic_frame_set_crc(space, length);
	deliver_from(1, address, space, length);
}

/* -------------------------------------------------------------------- caller */

/* A member of the group that sends HELLO to side 1, and the contents of the last WELCOME to it. */
struct caller {
	u8 gid[16];
	u8 address;
	u64 life;
	u64 its_life;
	u32 its_row;
	u8 cookie[VNET_WIRE_COOKIE_SIZE];
};

static struct caller caller_of(u32 i, u8 address, u64 life)
{
	struct caller c = { .address = address, .life = life };

	memcpy(c.gid, side[i].nic.hdr->gid[0], sizeof(c.gid));
	return c;
}

static void call(const struct caller *c, u8 kind)
{
	memset(space, 0, HELLO_LENGTH);
	head->magic = VNET_WIRE_MAGIC;
	head->version = VNET_WIRE_VERSION;
	head->kind = kind;
	head->src_incarnation = nic_to_le64(c->life);
	head->dst_incarnation = nic_to_le64(c->its_life);
	head->src_row = nic_to_le32(5);
	head->dst_row = nic_to_le32(NIC_NONE);
	memcpy(hello->src_gid, c->gid, 16);
	memcpy(hello->dst_gid, side[1].nic.hdr->gid[0], 16);
	memcpy(hello->cookie, c->cookie, sizeof(hello->cookie));
	memset(hello->nonce, 0x77, sizeof(hello->nonce));
	hello->payload = nic_to_le32(1024);
	hello->window = nic_to_le32(65536);
	arrives_from(c->address, HELLO_LENGTH);
}

/* Reads the last frame to the caller as a WELCOME. Returns false if it is not one. */
static bool is_welcome(struct caller *c)
{
	u32 length = last_frame(c->address, space);

	if (length != HELLO_LENGTH || head->kind != VNET_FRAME_WELCOME ||
	    memcmp(hello->dst_gid, c->gid, 16) != 0)
		return false;
	c->its_life = nic_le64(head->src_incarnation);
	c->its_row = nic_le32(head->src_row);
	memcpy(c->cookie, hello->cookie, sizeof(c->cookie));
	return true;
}

/*
 * Sends HELLO, and again with the cookie of the WELCOME, as NICs do. If the address is side
 * 0's, frames to it are lost meanwhile.
 */
static void call_with_cookie(struct caller *c)
{
	u32 lose = faults.lose;

	faults.lose = c->address < ELSEWHERE ? 1000 : lose;
	memset(c->cookie, 0, sizeof(c->cookie));
	call(c, VNET_FRAME_HELLO);
	CHECK(is_welcome(c) && c->its_row == NIC_NONE);
	call(c, VNET_FRAME_HELLO);
	faults.lose = lose;
}

/* -------------------------------------------------------------------- proofs */

/* A write of `length` bytes from side 0's queue pair to side 1's memory. */
static u32 make_write(u32 length)
{
	struct vnet_frame_op *op = (struct vnet_frame_op *)(head + 1);
	const struct nic_endpoint *ep = &side[1].nic.frame[0];
	u32 i;

	for (i = 0; i < side[1].nic.max_frame && ep[i].qpn != connected[1]->qpn; i++)
		;
	CHECK(i < side[1].nic.max_frame);
	memset(space, 0, sizeof(*head) + sizeof(*op) + length);
	sign_for(1, head);
	head->kind = VNET_FRAME_DATA;
	head->payload_len = nic_to_le16((u16)length);
	*op = (struct vnet_frame_op){
		.seq = nic_to_le32(row_of(1)->rx[7].seq + 1),
		.channel = 7,
		.opcode = VNET_WR_RDMA_WRITE,
		.flags = VNET_OP_FIRST | VNET_OP_LAST,
		.qp_type = NIC_QPT_RC,
		.src_qpn = nic_to_le32(connected[0]->qpn),
		.dst_qpn = nic_to_le32(connected[1]->qpn),
		.psn = nic_to_le32(ep[i].expected),
		.msg_len = nic_to_le32(length),
		.remote_addr = nic_to_le64((u64)(unsigned long)side[1].data),
		.rkey = nic_to_le32(side[1].key),
	};
	memset(op + 1, 0xee, length);
	return sizeof(*head) + sizeof(*op) + length;
}

static bool is_written(void)
{
	return side[1].data[0] == 0xee && side[1].data[63] == 0xee;
}

/* The frame is dropped for lack of a proof, and nothing is written. */
static void proves_nothing(u8 address, u32 length)
{
	u64 before = counters(1)->bad_proof;

	arrives_from(address, length);
	CHECK(counters(1)->bad_proof == before + 1 && !is_written());
}

/*
 * Frames of a process without the key that knows all numbers, and sends from any address. The
 * last frame has the right secret, and is accepted: the others were dropped for their secrets
 * only.
 */
static void test_proofs(void)
{
	u32 length;

	memset(side[1].data, 0, 64);
	CHECK(row_of(1)->local && row_of(0)->local);
	CHECK(memcmp(row_of(1)->secret_in, row_of(1)->secret_out, VNET_WIRE_SECRET_SIZE) != 0);
	CHECK(!memcmp(row_of(1)->secret_in, row_of(0)->secret_out, VNET_WIRE_SECRET_SIZE));
	for (u32 i = 0; i < 8 * VNET_WIRE_SECRET_SIZE; i++) {
		length = make_write(64);
		head->secret[i / 8] ^= (u8)(1u << i % 8);
		proves_nothing(0, length);
	}
	length = make_write(64);
	memset(head->secret, 0, sizeof(head->secret));
	proves_nothing(0, length);
	/* The secret of the other direction: the next user of a NIC's address sees it. */
	length = make_write(64);
	memcpy(head->secret, row_of(1)->secret_out, sizeof(head->secret));
	proves_nothing(0, length);
	length = make_write(64);
	head->proof = VNET_PROOF_NONE;
	proves_nothing(0, length);
	length = make_write(64);
	head->proof = 77;
	proves_nothing(0, length);
	/* A secret from another machine is no proof, because others may have seen it. */
	length = make_write(64);
	macs = true;
	proves_nothing(0, length);
	macs = false;
	/* A HELLO without a MAC is not accepted. */
	memset(space, 0, HELLO_LENGTH);
	sign_for(1, head);
	head->kind = VNET_FRAME_HELLO;
	hello->payload = nic_to_le32(1024);
	proves_nothing(0, HELLO_LENGTH);
	arrives_from(0, make_write(64));
	CHECK(is_written());
}

/* ------------------------------------------------------------------- cookies */

/* A HELLO without the cookie that was sent to its address creates no row. */
static void test_cookies(void)
{
	struct caller c, other;
	u32 high;

	high = side[1].nic.hdr->row_high;
	c = caller_of(0, ELSEWHERE, 5000);
	c.gid[14] = 9;
	c.its_life = side[1].nic.hdr->incarnation;
	for (u32 i = 0; i < 300; i++) {
		c.gid[13] = (u8)i;
		call(&c, VNET_FRAME_HELLO);
	}
	CHECK(side[1].nic.hdr->row_high == high);
	/* A cookie is valid for one address, GID and incarnation, and for a limited time. */
	call(&c, VNET_FRAME_HELLO);
	CHECK(is_welcome(&c));
	other = c;
	other.address = NOWHERE;
	call(&other, VNET_FRAME_HELLO);
	other = c;
	other.gid[13]++;
	call(&other, VNET_FRAME_HELLO);
	other = c;
	other.life++;
	call(&other, VNET_FRAME_HELLO);
	CHECK(side[1].nic.hdr->row_high == high);
	now_ns += 17000 * MS;
	call(&c, VNET_FRAME_HELLO);
	CHECK(side[1].nic.hdr->row_high == high);
	call_with_cookie(&c);
	CHECK(side[1].nic.hdr->row_high == high + 1);
	CHECK(side[1].nic.row[high].state == NIC_ROW_UP);
}

/* -------------------------------------------------------------------- claims */

/* A known peer keeps its identity as long as it answers. */
static void test_claims(void)
{
	struct nic_row *row;
	struct caller c;
	u64 life, claims;
	u32 id;

	row = row_of(1);
	life = row->incarnation;
	id = row->id;
	/* A later incarnation without a cookie, from the peer's address and from another one. */
	c = caller_of(0, 0, life + 1000);
	faults.lose = 1000;
	c.its_life = side[1].nic.hdr->incarnation;
	call(&c, VNET_FRAME_HELLO);
	call(&c, VNET_FRAME_WELCOME);
	c.address = ELSEWHERE;
	call(&c, VNET_FRAME_WELCOME);
	faults.lose = 0;
	CHECK(row->incarnation == life && row->id == id);
	/* With a cookie, from another address, for much longer than the `unreachable` time. */
	claims = counters(1)->bad_claim;
	for (u32 i = 0; i < 100; i++) {
		call_with_cookie(&c);
		pass(100 * MS);
	}
	CHECK(row->incarnation == life && row->id == id && !row->address.bytes[0]);
	CHECK(counters(1)->bad_claim == claims + 100);
	still_works();
	/* The same incarnation elsewhere, and an earlier one, there and at the peer's address. */
	c.life = life;
	call_with_cookie(&c);
	c.life = life - 1;
	call_with_cookie(&c);
	c.address = 0;
	call_with_cookie(&c);
	CHECK(row->incarnation == life && row->id == id && !row->address.bytes[0]);
	still_works();
	/* A later incarnation with a cookie at the peer's address is accepted. */
	c.life = life + 1;
	call_with_cookie(&c);
	CHECK(row->incarnation == life + 1 && row->id != id && row->state == NIC_ROW_UP);
}

/* Traffic resumes within 100 ms of a restart at the same address, whichever side begins. */
static void test_restart(void)
{
	u64 since;

	for (u32 who = 0; who < 2; who++) {
		begin_connected(4 + who, NIC_QPT_RC);
		nic_link_renew(&side[1].nic, side[1].nic.hdr->incarnation + 1000);
		since = now_ns;
		if (who) {
			nic_row_activate(&side[1].nic, row_of(1));
			while (row_of(0)->incarnation != side[1].nic.hdr->incarnation ||
			       row_of(0)->state != NIC_ROW_UP)
				pass(MS);
		} else {
			stream_sends(connected[0], connected[1], 1, 1, false);
		}
		CHECK(now_ns - since < 100 * MS);
		world_free();
	}
}

/*
 * A NIC has left its address. Another address with its GID is accepted after nobody has
 * answered at the old one for the `unreachable` time, and not earlier.
 */
static void test_moved(void)
{
	u64 since, dead_after;
	struct nic_row *row;
	struct caller c;

	row = row_of(1);
	c = caller_of(0, ELSEWHERE, row->incarnation - 500);
	dead_after = side[1].nic.hdr->settings.unreachable * MS;
	/* All frames to and from side 0 are lost. */
	faults.lose = 1000;
	since = now_ns;
	while (row->address.bytes[0] != ELSEWHERE) {
		call_with_cookie(&c);
		pass(50 * MS);
		CHECK(now_ns - since < 2 * dead_after);
	}
	CHECK(now_ns - since > dead_after && row->incarnation == c.life);
	CHECK(row->state == NIC_ROW_UP && counters(1)->bad_claim >= 4);
}

/* ---------------------------------------------------------------------- rows */

static bool has_row(u8 number, u8 address)
{
	for (u32 i = 0; i < side[1].nic.max_row; i++) {
		const struct nic_row *row = &side[1].nic.row[i];

		if (row->state != NIC_ROW_FREE && row->gid[13] == number &&
		    row->address.bytes[0] == address)
			return true;
	}
	return false;
}

/*
 * More NICs than rows: the row that was quiet for longest is reclaimed, but never one that a
 * connection needs. An address with many NICs replaces its own rows.
 */
static void test_rows(void)
{
	struct caller c;
	u32 most;

	most = side[1].nic.max_row;
	CHECK(most == 4);
	c = caller_of(0, ELSEWHERE, 5000);
	for (u32 i = 1; i <= 20; i++) {
		c.gid[13] = (u8)i;
		call_with_cookie(&c);
		CHECK(has_row((u8)i, ELSEWHERE));
		pass(MS);
	}
	CHECK(side[1].nic.hdr->row_high == most && counters(1)->reclaimed == 17);
	/* A NIC at another address keeps its row while the first address adds more. */
	c.address = NOWHERE;
	c.gid[13] = 100;
	call_with_cookie(&c);
	CHECK(has_row(100, NOWHERE));
	c.address = ELSEWHERE;
	for (u32 i = 21; i <= 40; i++) {
		c.gid[13] = (u8)i;
		call_with_cookie(&c);
		CHECK(has_row((u8)i, ELSEWHERE) && has_row(100, NOWHERE));
		pass(MS);
	}
	/* The row of the connection was never reclaimed. */
	CHECK(row_of(1)->state == NIC_ROW_UP && !row_of(1)->address.bytes[0]);
	still_works();
	CHECK(!counters(1)->no_row);
}

/* Moves a queue pair of side 1 from INIT to RTR, with a peer at this GID. */
static enum nic_result connect_to(const struct end *e, const u8 *gid)
{
	/* IBV_QP_STATE, AV, PATH_MTU, DEST_QPN and RQ_PSN. */
	const u32 mask = 1 | 128 | 256 | 1 << 20 | 1 << 12;
	struct nic_qp_attr attr = { .port = 1, .path_mtu = 5, .is_global = 1, .dest_qpn = 77 };

	memcpy(attr.dgid, gid, sizeof(attr.dgid));
	return nic_qp_modify(&side[1].nic, e->qpn, &attr, mask, 0, NIC_QPS_RTR);
}

/* The failed modify had no effect. */
static bool is_untouched(const struct nic_qp *qp)
{
	return qp->state == NIC_QPS_INIT && !qp->attr.dest_qpn && !qp->attr.dgid[0] &&
	       qp->row == NIC_NONE;
}

/*
 * The transition to RTR needs a row for a known address. It returns NIC_BUSY while the lock of
 * the row table is held, and fails with ENOMEM if all rows are in use.
 */
static void test_paths(void)
{
	struct nic *nic = &side[1].nic;
	const struct nic_qp *qp;
	struct end *e[3];
	struct caller c;
	u8 gid[16];

	for (u32 i = 0; i < 3; i++) {
		e[i] = end_make(&side[1], NIC_QPT_UC, false);
		end_state(e[i], NIC_QPS_INIT, NULL);
	}
	qp = nic_find_qp(nic, e[0]->qpn);
	/* A GID that has no row yet. */
	memcpy(gid, side[1].nic.hdr->gid[0], sizeof(gid));
	gid[13] = 200;

	nic->hdr->row_lock = nic->self + 1;
	CHECK(connect_to(e[0], gid) == NIC_BUSY && is_untouched(qp));
	nic->hdr->row_lock = 0;

	c = caller_of(0, ELSEWHERE, 5000);
	for (u32 i = 1; i < nic->max_row; i++) {
		c.gid[13] = (u8)i;
		call_with_cookie(&c);
		nic->row[i].owed = 1;
		pass(MS);
		if (i < 3)
			CHECK(connect_to(e[i], c.gid) == NIC_OK);
	}
	CHECK(connect_to(e[0], gid) == NIC_ENOMEM && is_untouched(qp));
	/*
	 * A queue pair that waits in a row without a busy channel does not keep the row in use.
	 * Rows of connections are kept even if they were quiet for longer.
	 */
	nic->row[1].owed = 0;
	nic->row[2].owed = 0;
	nic->row[3].owed = 0;
	nic->row[3].queue[0] = 12345;
	nic->row[3].queued = 1;
	CHECK(connect_to(e[0], gid) == NIC_OK && qp->row == 3 && qp->state == NIC_QPS_RTR);
	/* An unknown address is no error here: the requests will fail. */
	end_reset(e[0]);
	end_state(e[0], NIC_QPS_INIT, NULL);
	gid[15] = 99;
	CHECK(connect_to(e[0], gid) == NIC_OK && qp->row == NIC_NONE);
	still_works();
}

/*
 * A late HELLO with an earlier row number of the peer. Side 1 asks the peer for its row, and
 * restarts no channel: otherwise packets that had arrived would be accepted a second time.
 */
static void test_late_call(void)
{
	struct nic_row *row;
	struct caller c;
	u32 peer_row, seq;

	row = row_of(1);
	peer_row = row->peer_row;
	seq = row->rx[0].seq;
	CHECK(peer_row != 5 && seq);
	c = caller_of(0, 0, row->incarnation);
	call_with_cookie(&c);
	CHECK(row->peer_row == peer_row && row->rx[0].seq == seq && row->calls);
	pass(50 * MS);
	CHECK(row->peer_row == peer_row && row->rx[0].seq == seq);
	datagrams(connected[0], connected[1], 4);
}

/* ---------------------------------------------------------------- key groups */

/* A member of another key group claims the identity of side 0, and repeats frames of side 0. */
static void test_groups(void)
{
	static u8 bytes[VNET_WIRE_MAX_FRAME] __attribute__((aligned(8)));
	const struct nic_counters *count;
	struct caller c;
	struct nic_row *row;
	u32 length;
	u64 life;

	macs = true;
	world_make(8, &config);
	groups = true;
	connect_two(NIC_QPT_RC, false);
	still_works();
	count = counters(1);
	row = row_of(1);
	life = row->incarnation;
	CHECK(!row->local && !count->bad_gid && !counters(0)->bad_gid);
	length = last_frame(1, bytes);
	c = caller_of(0, ELSEWHERE, life + 1);
	call(&c, VNET_FRAME_HELLO);
	call(&c, VNET_FRAME_WELCOME);
	deliver_from(1, ELSEWHERE, bytes, length);
	CHECK(count->bad_gid == 3 && !count->duplicates && row->incarnation == life);
	/* A member of the same group, from an address of its own. */
	deliver_from(1, 1, bytes, length);
	CHECK(count->bad_gid == 3 && count->duplicates == 1);
	still_works();
	/* A row that was accepted before there were groups is checked again. */
	groups = false;
	row->address.bytes[0] = ELSEWHERE;
	groups = true;
	nic_link_check(&side[1].nic);
	CHECK(!row->incarnation && row->state != NIC_ROW_UP && !row->address.bytes[0]);
	/* The same for a row that is still calling. */
	row->address.bytes[0] = ELSEWHERE;
	nic_link_check(&side[1].nic);
	CHECK(row->state == NIC_ROW_CALLING && !row->address.bytes[0]);
	pass(100 * MS);
	still_works();
	CHECK(row->state == NIC_ROW_UP && row->incarnation == life);
	nic_link_check(&side[1].nic);
	CHECK(row->state == NIC_ROW_UP);
	groups = false;
	macs = false;
	world_free();
}

/* ----------------------------------------------------------------- addressing */

/* A member with its own row writes to a queue pair that is connected to another NIC. */
static void test_addressed(void)
{
	const struct vnet_frame_ack *ack = (const struct vnet_frame_ack *)(head + 1);
	struct caller c;
	u32 i, length;

	memset(side[1].data, 0, 64);
	c = caller_of(0, ELSEWHERE, 5000);
	c.gid[13] = 3;
	call_with_cookie(&c);
	i = side[1].nic.hdr->row_high - 1;
	CHECK(side[1].nic.row[i].state == NIC_ROW_UP);
	length = make_write(64);
	/* In its own frame, with a valid MAC. */
	head->proof = VNET_PROOF_MAC;
	memset(head->secret, 0, sizeof(head->secret));
	head->src_incarnation = nic_to_le64(c.life);
	head->src_row = nic_to_le32(5);
	head->dst_row = nic_to_le32(side[1].nic.row[i].id);
	arrives_from(ELSEWHERE, length);
	nic_receive_end(&side[1].nic);
	CHECK(!is_written());
	(void)last_frame(ELSEWHERE, space);
	CHECK(head->kind == VNET_FRAME_ACK && head->nacks == 1 && ack->code == VNET_RETURN_NO_QP);
	/* With the numbers of another row than the one whose secret the frame has. */
	length = make_write(64);
	head->dst_row = nic_to_le32(side[1].nic.row[i].id);
	arrives_from(0, length);
	CHECK(!is_written());
	/* From the right NIC, but from another queue pair. */
	length = make_write(64);
	((struct vnet_frame_op *)(head + 1))->src_qpn ^= nic_to_le32(1);
	arrives_from(0, length);
	nic_receive_end(&side[1].nic);
	CHECK(!is_written());
	still_works();
}

/* --------------------------------------------------------------------- limits */

/* Values that a member announces are limited, and channel numbers are checked. */
static void test_limits(void)
{
	struct vnet_frame_ack *ack = (struct vnet_frame_ack *)(head + 1);
	struct caller c;
	u64 before;
	u32 i;

	side[1].nic.hdr->settings.payload = 2048;
	c = caller_of(0, ELSEWHERE, 5000);
	c.gid[13] = 3;
	call_with_cookie(&c);
	i = side[1].nic.hdr->row_high - 1;
	CHECK(side[1].nic.row[i].payload == 1024);
	/* The same with a payload limit above the maximum. */
	c.gid[13] = 4;
	memset(c.cookie, 0, sizeof(c.cookie));
	call(&c, VNET_FRAME_HELLO);
	CHECK(is_welcome(&c));
	faults.lose = 1000;
	call(&c, VNET_FRAME_HELLO);
	hello->payload = nic_to_le32(0xffffffff);
	arrives_from(ELSEWHERE, HELLO_LENGTH);
	faults.lose = 0;
	for (i = 0; i < side[1].nic.hdr->row_high; i++)
		CHECK(side[1].nic.row[i].payload <= 2048 || i == 0);
	CHECK(side[1].nic.row[side[1].nic.hdr->row_high - 1].payload == 2048);
	/* Acknowledgements for invalid channels: the first number, the last, and some between. */
	for (u32 channel = VNET_WIRE_CHANNELS; channel < 256; channel += 1 + channel % 7) {
		memset(space, 0, sizeof(*head) + sizeof(*ack));
		sign_for(1, head);
		head->kind = VNET_FRAME_ACK;
		head->nacks = 1;
		ack->channel = (u8)channel;
		before = counters(1)->bad_field;
		arrives_from(0, sizeof(*head) + sizeof(*ack));
		CHECK(counters(1)->bad_field == before + 1);
	}
	still_works();
}

/* -------------------------------------------------------------------- refusal */

static u32 seen_hello;

static void on_hello(u32 to, const void *bytes, u32 length)
{
	const struct vnet_frame *frame = bytes;

	if (to != 0 || frame->kind != VNET_FRAME_HELLO)
		return;
	memcpy(space, bytes, length);
	seen_hello++;
}

/* A NIC with another key refuses a HELLO, and requests that wait for the handshake complete. */
static void test_refusal(void)
{
	struct vnet_send_wqe w = request(VNET_WR_SEND, 1);
	struct nic_address from = { { 0 } };
	u8 nonce[VNET_WIRE_NONCE_SIZE];
	u64 since;

	world_make(11, &config);
	connect_two(NIC_QPT_RC, false);
	refused = 0;
	seen_hello = 0;
	faults.lose = 1000;
	on_frame = on_hello;
	end_send(connected[1], &w, 0, 100);
	while (!seen_hello)
		pass(MS);
	on_frame = NULL;
	/* Side 0 cannot verify the HELLO, and is told the address to refuse. */
	nic_refuse_caller(&side[0].nic, &from, space, HELLO_LENGTH);
	CHECK(counters(0)->refusals_sent == 1);
	CHECK(last_frame(0, space) == HELLO_LENGTH && head->kind == VNET_FRAME_REFUSE);
	/* A REFUSE without the HELLO's nonce, or from another address, is ignored. */
	memcpy(nonce, hello->nonce, sizeof(nonce));
	hello->nonce[0] ^= 1;
	arrives_from(0, HELLO_LENGTH);
	memcpy(hello->nonce, nonce, sizeof(nonce));
	arrives_from(ELSEWHERE, HELLO_LENGTH);
	CHECK(!refused && !row_of(1)->refused);
	since = now_ns;
	arrives_from(0, HELLO_LENGTH);
	CHECK(refused == 1 && counters(1)->refusals == 1);
	CHECK(end_wait(connected[1]).status == VNET_WC_RETRY_EXC_ERR);
	CHECK(now_ns - since < 10 * MS);
	/* Only a HELLO can be refused. */
	arrives_from(0, HELLO_LENGTH);
	nic_refuse_caller(&side[1].nic, &from, space, HELLO_LENGTH);
	head->kind = VNET_FRAME_WELCOME;
	nic_refuse_caller(&side[1].nic, &from, space, HELLO_LENGTH);
	CHECK(!counters(1)->refusals_sent);
	faults.lose = 0;
	world_free();

	/* A REFUSE from a NIC that has answered before is ignored. */
	begin_connected(12, NIC_QPT_RC);
	memset(space, 0, HELLO_LENGTH);
	sign_for(1, head);
	head->kind = VNET_FRAME_REFUSE;
	head->proof = VNET_PROOF_NONE;
	memset(head->secret, 0, sizeof(head->secret));
	memcpy(hello->src_gid, side[0].nic.hdr->gid[0], 16);
	memcpy(hello->dst_gid, side[1].nic.hdr->gid[0], 16);
	memcpy(hello->nonce, row_of(1)->nonce, sizeof(hello->nonce));
	hello->payload = nic_to_le32(1024);
	hello->flags = nic_to_le32(VNET_REFUSAL_KEY);
	row_of(1)->calls = 1;
	refused = 0;
	arrives_from(0, HELLO_LENGTH);
	CHECK(!refused && row_of(1)->state == NIC_ROW_UP && !row_of(1)->refused);
	still_works();
	world_free();
}

/* ----------------------------------------------------------------------- keys */

/* Both sides change to another key: traffic continues with secrets that are derived from it. */
static void test_keys(void)
{
	u8 before[VNET_WIRE_SECRET_SIZE];

	memcpy(before, row_of(1)->secret_in, sizeof(before));
	world_key = 2;
	for (u32 i = 0; i < 2; i++)
		nic_link_check(&side[i].nic);
	CHECK(row_of(1)->state != NIC_ROW_UP);
	still_works();
	CHECK(row_of(1)->local && memcmp(before, row_of(1)->secret_in, sizeof(before)) != 0);
	world_key = 1;
}

int main(int argc, char **argv)
{
	static const struct vn_test tests[] = {
		{ "proofs", test_proofs, NIC_QPT_RC },
		{ "cookies", test_cookies, NIC_QPT_RC },
		{ "claims", test_claims, NIC_QPT_RC },
		{ "restart", test_restart, OWN_WORLD },
		{ "moved", test_moved, NIC_QPT_RC },
		{ "rows", test_rows, NIC_QPT_RC },
		{ "groups", test_groups, OWN_WORLD },
		{ "addressed", test_addressed, NIC_QPT_RC },
		{ "limits", test_limits, NIC_QPT_RC },
		{ "refusal", test_refusal, OWN_WORLD },
		{ "late-call", test_late_call, NIC_QPT_UD },
		{ "keys", test_keys, NIC_QPT_RC },
		{ "paths", test_paths, NIC_QPT_RC },
	};

	return run_named(argc, argv, tests, sizeof(tests) / sizeof(tests[0]));
}
