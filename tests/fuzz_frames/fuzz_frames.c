// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * A libFuzzer target: a hostile link against the firmware. The input is a sequence of frames,
 * some random, most of them valid except for what the input changes. In between, requests are
 * posted, time passes, and queue pairs are reset and connected again.
 *
 * Invariants: no access outside of registered memory (regions are separate heap blocks, checked
 * by the sanitizer); no lock is held; a frame without proof of its sender is dropped, and
 * changes no state of the peer. If no frame was forged, valid traffic on a fresh pair of queue
 * pairs still works at the end.
 */
#include "../fuzz/input.h"
#include "world.h"

#define REGION 65536u
#define TYPES 4
#define FRAME 1024
/* An offset that post() does not use, since its requests may still be outstanding. */
#define HONEST 32768u

int LLVMFuzzerTestOneInput(const u8 *data, size_t size);

static const u8 types[TYPES] = { NIC_QPT_RC, NIC_QPT_UC, NIC_QPT_UD, NIC_QPT_RAW_PACKET };
static const struct nic_config config = {
	.max_qp = 16,
	.max_cq = 16,
	.max_srq = 4,
	.max_mr = 16,
	.max_channel = 4,
	.max_client = 4,
	.max_row = 4,
	.max_frame = 4,
	.queue_bytes = 8 << 20,
	.stall_ns = 1000000,
};

/* A frame with valid proofs may have changed any state except memory. */
static bool forged;
/* Side 1's latest cookie for a caller at side 0's address with this nonce. */
static u8 cookie[VNET_WIRE_COOKIE_SIZE];
static const u8 nonce[VNET_WIRE_NONCE_SIZE] = "of the crafted";
static struct end *near[TYPES], *far[TYPES];

/* Fields that are set to the values that the receiver expects. */
enum repair {
	LIFE = 1 << 0,
	ROW = 1 << 1,
	SEQ = 1 << 2,
	PSN = 1 << 3,
	QP = 1 << 4,
	MEMORY = 1 << 5,
	PIECE = 1 << 6,
	CODE = 1 << 7,
};

static const u8 codes[] = { VNET_ACK_DONE,     VNET_ACK_RESULT,   VNET_NACK_ABSENT,
			    VNET_NACK_BUSY,    VNET_NACK_RNR,     VNET_NACK_EARLY,
			    VNET_RETURN_NO_QP, VNET_RETURN_ERROR, VNET_RETURN_DROPPED };

/* A code that no packet can have, or that the outstanding packet cannot have. */
static bool is_wrong(const struct vnet_frame_ack *ack)
{
	const struct nic_row *row = &side[1].nic.row[0];
	const struct nic_tx *tx = &row->tx[ack->channel];
	const struct nic_qp *qp = &side[1].nic.qp[tx->qpn & side[1].nic.qp_index_mask];

	if (!memchr(codes, ack->code, sizeof(codes)))
		return true;
	if (!(row->busy >> ack->channel & 1) || ack->seq != tx->seq || qp->qpn != tx->qpn)
		return false;
	return (ack->code == VNET_RETURN_DROPPED && qp->type == NIC_QPT_RC) ||
	       (ack->code == VNET_RETURN_NO_QP && qp->type == NIC_QPT_UD) ||
	       (ack->code != VNET_RETURN_DROPPED && ack->code != VNET_NACK_BUSY &&
		ack->code != VNET_ACK_DONE && qp->type == NIC_QPT_RAW_PACKET) ||
	       (ack->code == VNET_ACK_RESULT && tx->opcode == VNET_WR_SEND);
}

static u64 dropped(void)
{
	const struct nic_counters *c = &side[1].nic.hdr->counters;

	return c->bad_length + c->bad_field + c->bad_incarnation + c->bad_row + c->bad_gid +
	       c->bad_proof + c->bad_claim;
}

/* All valid flush operands, and invalid ones. */
static u64 some_flush(u8 n)
{
	return vnet_flush_operand(n % 4, n / 4 % 3);
}

static void repair_op(struct vnet_frame_op *op, u8 what, u32 payload)
{
	const struct end *to = far[op->qp_type % TYPES];
	const struct nic_qp *qp = &side[1].nic.qp[to->qpn & side[1].nic.qp_index_mask];
	const struct nic_rx *rx;

	op->channel %= VNET_WIRE_CHANNELS;
	rx = &side[1].nic.row[0].rx[op->channel];
	if (what & SEQ)
		op->seq = rx->seq + 1;
	if (what & QP) {
		op->dst_qpn = to->type == NIC_QPT_RAW_PACKET ? VNET_WIRE_GROUP_QPN : to->qpn;
		op->src_qpn = near[op->qp_type % TYPES]->qpn;
		op->qp_type = to->type;
	}
	if ((what & PSN) && qp->frame < side[1].nic.max_frame)
		op->psn = side[1].nic.frame[qp->frame].expected + op->psn % 3;
	if (what & MEMORY) {
		op->rkey = side[1].key;
		op->remote_addr = (u64)(unsigned long)side[1].data + op->remote_addr % (2 * REGION);
	}
	if (what & PIECE) {
		op->opcode %= 9;
		if (op->opcode == 8) {
			op->opcode = VNET_WR_FLUSH;
			op->swap = some_flush((u8)op->swap);
		}
		op->offset %= 3 * FRAME;
		op->read_len %= 2 * FRAME;
		op->msg_len = op->offset +
			      (op->opcode == VNET_WR_RDMA_READ ? op->read_len : payload) +
			      op->msg_len % 2 * 100;
		op->flags &= (u8) ~(VNET_OP_FIRST | VNET_OP_LAST);
		op->flags |= op->offset ? 0 : VNET_OP_FIRST;
		op->flags |=
			op->offset + (op->opcode == VNET_WR_RDMA_READ ? op->read_len : payload) ==
					op->msg_len ?
				VNET_OP_LAST :
				0;
	}
}

/* Records the cookie in WELCOME frames to a caller at side 0's address. */
static void overhear(u32 i, const void *bytes, u32 length)
{
	const struct vnet_frame *frame = bytes;
	const struct vnet_frame_hello *hello = (const void *)(frame + 1);

	if (!i && frame->kind == VNET_FRAME_WELCOME && length == sizeof(*frame) + sizeof(*hello) &&
	    !memcmp(hello->nonce, nonce, sizeof(nonce)))
		memcpy(cookie, hello->cookie, sizeof(cookie));
}

/* The row that a frame to side 1 names; NULL: none. */
static const struct nic_row *row_of(const struct vnet_frame *f)
{
	u32 i = f->dst_row & 0xffff;

	return i < config.max_row && side[1].nic.row[i].id == f->dst_row ? &side[1].nic.row[i] :
									   NULL;
}

static bool has_secret(const struct vnet_frame *f)
{
	static const u8 none[VNET_WIRE_SECRET_SIZE];
	const struct nic_row *row = row_of(f);

	return !macs && row && row->local &&
	       (!memcmp(row->secret_in, f->secret, sizeof(f->secret)) ||
		(memcmp(none, f->secret, sizeof(none)) != 0 &&
		 !memcmp(row->secret_was, f->secret, sizeof(f->secret))));
}

/* The CRC stands for the MAC, and is right. */
static bool proves_itself(const struct vnet_frame *f)
{
	switch (f->kind) {
	case VNET_FRAME_DATA:
	case VNET_FRAME_ACK:
		return f->proof == VNET_PROOF_MAC ||
		       (f->proof == VNET_PROOF_SECRET && has_secret(f));
	case VNET_FRAME_REFUSE:
		return f->proof == VNET_PROOF_NONE;
	default:
		return f->proof == VNET_PROOF_MAC;
	}
}

/* Mostly the proof that the peer would give. */
static void repair_proof(struct vnet_frame *f, u8 how)
{
	const struct nic_row *row = row_of(f);

	if (how >= 0xc0) {
		f->proof %= 4;
		return;
	}
	memset(f->secret, 0, sizeof(f->secret));
	f->proof = f->kind == VNET_FRAME_REFUSE ? VNET_PROOF_NONE : VNET_PROOF_MAC;
	if (f->kind != VNET_FRAME_DATA && f->kind != VNET_FRAME_ACK)
		return;
	if (!row || !row->local || how % 8 == 0)
		return;
	f->proof = VNET_PROOF_SECRET;
	/* The secret of the other direction proves nothing. */
	memcpy(f->secret,
	       how % 8 == 1 ? row->secret_out :
	       how % 8 == 2 ? row->secret_was :
			      row->secret_in,
	       sizeof(f->secret));
}

/* The answer to the outstanding HELLO, or a HELLO with the recorded cookie. */
static void repair_hello(struct vnet_frame *f, struct vnet_frame_hello *hello, u8 what)
{
	const struct nic_row *row = &side[1].nic.row[0];

	if (what & QP) {
		memcpy(hello->src_gid, side[0].nic.hdr->gid[0], 16);
		memcpy(hello->dst_gid, side[1].nic.hdr->gid[0], 16);
	}
	if (what & PIECE) {
		memcpy(hello->nonce, f->kind == VNET_FRAME_HELLO ? nonce : row->nonce,
		       sizeof(hello->nonce));
		memcpy(hello->cookie, cookie, sizeof(hello->cookie));
	}
	if (what & MEMORY)
		memcpy(hello->share, row->peer_share, sizeof(hello->share));
	if (what & CODE)
		hello->flags = f->kind == VNET_FRAME_REFUSE ? VNET_REFUSAL_KEY : VNET_HELLO_LOCAL;
}

/* The frame may be accepted as the peer's, so later traffic may fail. */
static bool is_forgery(const struct vnet_frame *f, u8 what)
{
	const struct vnet_frame_hello *hello = (const void *)(f + 1);

	if (f->kind == VNET_FRAME_REFUSE) {
		/* An attacker that does not see the traffic does not know the nonce. */
		hello = (const void *)((const struct vnet_frame_ack *)(f + 1) + f->nacks);
		for (u32 i = 0; i < config.max_row; i++)
			if (!memcmp(side[1].nic.row[i].nonce, hello->nonce, sizeof(nonce)))
				return true;
		return false;
	}
	return proves_itself(f) && (f->kind < VNET_FRAME_DATA || what & LIFE);
}

/* A frame with valid magic and CRC. */
static void crafted_frame(void)
{
	static u64 space[(FRAME + sizeof(struct vnet_frame) + sizeof(struct vnet_frame_op) +
			  4 * sizeof(struct vnet_frame_ack)) /
				 8 +
			 1];
	struct vnet_frame *f = (void *)space;
	u8 what = take8(), how = take8();
	u32 length = sizeof(*f), payload;
	static struct nic_row then;
	u64 before = dropped(), busy = side[1].nic.row[0].busy;
	u64 stale = side[1].nic.hdr->counters.stale_answers;
	bool wrong = false, proven;

	take(f, sizeof(*f));
	f->magic = VNET_WIRE_MAGIC;
	f->version = VNET_WIRE_VERSION;
	f->kind = (u8)(1 + f->kind % 5);
	f->nacks %= 5;
	payload = f->payload_len % FRAME;
	f->payload_len = (u16)payload;
	if (what & LIFE) {
		f->src_incarnation = side[0].nic.hdr->incarnation;
		f->dst_incarnation = side[1].nic.hdr->incarnation;
	}
	if (what & ROW) {
		f->dst_row = side[1].nic.row[0].id;
		f->src_row = side[1].nic.row[0].peer_row;
	}
	repair_proof(f, how);
	take((u8 *)f + length, f->nacks * sizeof(struct vnet_frame_ack));
	for (u32 i = 0; i < f->nacks; i++) {
		struct vnet_frame_ack *ack = (struct vnet_frame_ack *)(f + 1) + i;

		ack->channel %= VNET_WIRE_CHANNELS;
		if (what & SEQ)
			ack->seq = side[1].nic.row[0].tx[ack->channel].seq;
		if (what & CODE)
			ack->code = codes[ack->code % sizeof(codes)];
		wrong = wrong || is_wrong(ack);
	}
	length += f->nacks * sizeof(struct vnet_frame_ack);
	if (f->kind == VNET_FRAME_DATA) {
		struct vnet_frame_op *op = (void *)((u8 *)f + length);

		take(op, sizeof(*op));
		repair_op(op, what, payload);
		length += sizeof(*op);
	} else if (f->kind != VNET_FRAME_ACK) {
		struct vnet_frame_hello *hello = (void *)((u8 *)f + length);

		take(hello, sizeof(*hello));
		repair_hello(f, hello, what);
		f->payload_len = 0;
		payload = 0;
		length += sizeof(*hello);
	}
	memset((u8 *)f + length, take8(), payload);
	length += payload;
	f->crc = 0;
	f->crc = plat_crc32c(0, f, length);
	forged = forged || is_forgery(f, what);
	proven = proves_itself(f);
	memcpy(&then, side[1].nic.row, sizeof(then));
	deliver_from(1, how % 16 == 3 ? take8() % 4 : 0, f, length);
	if (!proven)
		CHECK(dropped() == before + 1 && !memcmp(&then, side[1].nic.row, sizeof(then)));
	nic_receive_end(&side[1].nic);
	/* Read data that nobody waits for is not examined further. */
	if (f->kind == VNET_FRAME_ACK && payload)
		before -= side[1].nic.hdr->counters.stale_answers - stale;
	/* The whole frame is dropped, with everything else in it. */
	CHECK(!wrong || f->kind < VNET_FRAME_DATA ||
	      (dropped() == before + 1 && side[1].nic.row[0].busy == busy));
}

static void raw_frame(void)
{
	static u64 space[FRAME / 8];
	u32 length = take8() * 4u;

	take(space, length);
	inject(1, space, length);
}

static void replay(void)
{
	static u8 frame[VNET_WIRE_MAX_FRAME];
	u32 to = take8() % 2;

	inject(to, frame, last_frame(to, frame));
}

static void post(void)
{
	u8 which = take8();
	struct end *e = which & 1 ? near[which / 2 % TYPES] : far[which / 2 % TYPES];
	struct end *other = which & 1 ? far[which / 2 % TYPES] : near[which / 2 % TYPES];
	struct vnet_send_wqe w = { .opcode = take8() % 11, .flags = VNET_WR_SIGNALED };
	u32 length = take8() * 16u;

	if (w.opcode == 10)
		w.opcode = VNET_WR_FLUSH;

	if (which & 32)
		w.flags |= VNET_WR_IMM64;
	if (which & 64) {
		end_recv(e, 0, take8() * 8u, take8() * 32u);
		return;
	}
	if (e->type == NIC_QPT_UD) {
		memcpy(w.ud.dgid, other->side->nic.hdr->gid[0], 16);
		w.ud.remote_qpn = other->qpn;
		w.ud.remote_qkey = 0x1234;
		length = length < 2048 ? length : 2048;
	} else {
		w.rdma.remote_addr = (u64)(unsigned long)other->side->data + take8() * 64u;
		w.rdma.rkey = other->side->key;
	}
	if (w.opcode == VNET_WR_FLUSH) {
		w.rdma.swap = some_flush(take8());
		w.rdma.compare_add = length;
		length = 0;
	}
	end_send(e, &w, take8() * 8u, w.opcode == 5 || w.opcode == 6 ? 8 : length);
}

static void drain(struct end *e)
{
	struct vnet_cqe cqe;

	while (end_poll(e, &cqe))
		;
}

static void renew(void)
{
	u32 i = take8() % TYPES;

	end_reset(near[i]);
	end_reset(far[i]);
	end_connect(near[i], far[i]);
}

/* A flow for all frames, at both ends. */
static void steer(struct end *e)
{
	const struct nic_flow flow = { .type = NIC_FLOW_SNIFFER, .qpn = e->qpn };

	if (e->type == NIC_QPT_RAW_PACKET)
		CHECK(nic_flow_create(&e->side->nic, 0, &flow) == NIC_OK);
}

static void honest_traffic(void)
{
	struct end *a = end_make(&side[0], NIC_QPT_RC, false);
	struct end *b = end_make(&side[1], NIC_QPT_RC, false);
	struct vnet_send_wqe w = { .opcode = VNET_WR_SEND, .flags = VNET_WR_SIGNALED };

	end_connect(a, b);
	memset(a->side->data + HONEST, 0x5a, 5000);
	memset(b->side->data + HONEST, 0, 5000);
	end_recv(b, 1, HONEST, 5000);
	end_send(a, &w, HONEST, 5000);
	CHECK(end_wait(b).status == VNET_WC_SUCCESS && b->side->data[HONEST + 4999] == 0x5a);
	CHECK(end_wait(a).status == VNET_WC_SUCCESS);
}

static bool locks_are_free(const struct nic *nic)
{
	for (u32 i = 0; i < nic->max_row; i++)
		if (nic->row[i].lock)
			return false;
	for (u32 i = 0; i < nic->max_qp; i++)
		if (nic->qp[i].sq_lock || nic->qp[i].rq.lock)
			return false;
	return !nic->hdr->row_lock && !nic->hdr->frame_lock;
}

int LLVMFuzzerTestOneInput(const u8 *data, size_t size)
{
	input = data;
	left = size;
	forged = false;
	world_data_bytes = REGION;
	/* In some inputs, both sides are on different machines. */
	macs = take8() & 1;
	memset(cookie, 0, sizeof(cookie));
	on_frame = overhear;
	world_make(1, &config);
	for (u32 i = 0; i < TYPES; i++) {
		near[i] = end_make(&side[0], types[i], false);
		far[i] = end_make(&side[1], types[i], types[i] == NIC_QPT_RC);
		end_connect(near[i], far[i]);
		steer(near[i]);
		steer(far[i]);
	}
	while (left) {
		switch (take8() % 8) {
		case 0:
			raw_frame();
			break;
		case 1:
			pass(1u << (12 + take8() % 9));
			break;
		case 2:
			replay();
			break;
		case 3:
		case 4:
			post();
			break;
		case 5:
			if (take8() < 16)
				renew();
			break;
		default:
			crafted_frame();
			break;
		}
		for (u32 i = 0; i < TYPES; i++) {
			drain(near[i]);
			drain(far[i]);
		}
		CHECK(locks_are_free(&side[0].nic) && locks_are_free(&side[1].nic));
	}
	if (!forged && size % 8 == 0)
		honest_traffic();
	world_free();
	return 0;
}
