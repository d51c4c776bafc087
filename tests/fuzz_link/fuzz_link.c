// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * A libFuzzer target: hostile datagrams against the user-mode link. Frames of peers and
 * strangers have MACs that are valid, invalid, another node's, or repeated. They are coalesced
 * and truncated in any way, between changes of keys and injected faults.
 *
 * The verdict on each frame must agree with an independent implementation of the documentation
 * (judge.c), and be counted for one reason. If no frame is accepted, nothing in the NIC may
 * change except counters, and nothing may be sent. At the end, a valid peer must be accepted.
 */
#include <sodium.h>
#include <string.h>

#include "../fuzz/input.h"
#include "peer.h"
#include "world.h"

int LLVMFuzzerTestOneInput(const u8 *data, size_t size);

#define MAX_STEPS 200
#define SALTS 4u
#define REMEMBERED 8u
/* The longest crafted frame, except frames that are too long. */
#define ROOM 1024u

/* A frame as its sender sent it, and the number of the sender's address. */
struct remembered {
	u32 from;
	u32 length;
	u8 bytes[ROOM + 512];
};

static struct remembered past[REMEMBERED];
static u32 npast;
/* Next frame number of each sender. */
static u64 numbers[JUDGE_SECRETS][SALTS];
/* The datagram under construction; the number of its sender; the length of its first frame. */
static struct datagram *made;
static u32 made_from, made_first;

/* --------------------------------------------------------------------- datagrams */

static void look(void)
{
	world_look();
}

static void begin_datagram(u32 from)
{
	if (made)
		return;
	made = socket_next();
	if (!made) {
		look();
		made = socket_next();
	}
	made_from = from % WORLD_ADDRESSES;
	made->from = world_address[made_from];
	made->length = 0;
	made->joined = false;
	made_first = 0;
}

static void append(const u8 *bytes, u32 length)
{
	if (length > SOCKET_ROOM - made->length)
		length = SOCKET_ROOM - made->length;
	memcpy(made->bytes + made->length, bytes, length);
	made->length += length;
	if (!made_first)
		made_first = made->length;
}

/* Coalesced frames mostly have the length of the first one. */
static void end_datagram(void)
{
	u8 how;

	begin_datagram(take8());
	how = take8();
	made->joined = how < 160 || how >= 224;
	made->segment = how < 160 ? (int)made_first : (int)take32() >> how % 32;
	/* Too many short segments would take too long to judge. */
	if (made->segment > 0 && made->segment < 8 && made->length > 512)
		made->length = 512;
	socket_arrive();
	made = NULL;
}

/* ------------------------------------------------------------------------ frames */

static u32 make_hello(struct vnet_frame *frame, u32 from)
{
	struct vnet_frame_hello *hello = (void *)(frame + 1);

	memset(hello, 0, sizeof(*hello));
	gid_of(&world_address[from], hello->src_gid);
	gid_of(&world_own, hello->dst_gid);
	hello->payload = htole32(1024);
	hello->window = htole32(65536);
	return sizeof(*frame) + sizeof(*hello);
}

static u32 make_data(struct vnet_frame *frame)
{
	struct vnet_frame_op *op = (void *)(frame + 1);
	u32 payload = take8();

	memset(op, 0, sizeof(*op));
	op->channel = take8() % VNET_WIRE_CHANNELS;
	op->seq = htole32(1 + take8() % 4);
	op->opcode = VNET_WR_SEND;
	op->flags = VNET_OP_FIRST | VNET_OP_LAST;
	op->qp_type = NIC_QPT_RC;
	op->dst_qpn = htole32(take8());
	op->msg_len = htole32(payload);
	frame->payload_len = htole16((u16)payload);
	memset(op + 1, 0x5a, payload);
	return (u32)(sizeof(*frame) + sizeof(*op)) + payload;
}

static u32 make_acks(struct vnet_frame *frame)
{
	frame->nacks = take8() % 3;
	for (u32 i = 0; i < frame->nacks; i++)
		((struct vnet_frame_ack *)(frame + 1))[i] = (struct vnet_frame_ack){
			.seq = htole32(take8() % 4), .channel = take8(), .code = take8()
		};
	return (u32)(sizeof(*frame) + frame->nacks * sizeof(struct vnet_frame_ack));
}

/*
 * Mostly the proof that the frame's kind requires. A peer of the loopback network has no secret
 * before the handshake.
 */
static u8 choose_proof(u8 kind, u32 from)
{
	u8 how = take8();

	if (how >= 0xd0)
		return how % 4;
	switch (kind) {
	case VNET_FRAME_DATA:
	case VNET_FRAME_ACK:
		return how % 4 && peer_row(from) != ~0u && judge_is_local(&world_address[from]) ?
			       VNET_PROOF_SECRET :
			       VNET_PROOF_MAC;
	case VNET_FRAME_REFUSE:
		return VNET_PROOF_NONE;
	default:
		return VNET_PROOF_MAC;
	}
}

/* A valid frame except for what the input changes, still without CRC and MAC. */
static u32 make_frame(struct vnet_frame *frame, u32 from)
{
	u8 what = take8(), kind = take8();
	u32 length;

	memset(frame, 0, sizeof(*frame));
	frame->magic = htole16(VNET_WIRE_MAGIC);
	frame->version = VNET_WIRE_VERSION;
	frame->kind = (u8)(1 + kind % 5);
	frame->proof = choose_proof(frame->kind, from);
	frame->src_incarnation = htole64(500 + (what >> 2) % 2);
	frame->dst_incarnation = htole64(what & 8 ? WORLD_INCARNATION : 0);
	frame->dst_row = htole32((what >> 4) % 2);
	if (frame->kind == VNET_FRAME_DATA)
		length = make_data(frame);
	else if (frame->kind == VNET_FRAME_ACK)
		length = make_acks(frame);
	else
		length = make_hello(frame, from);
	/* Mostly with the values that a peer knows from the link's answers. */
	if (kind < 0xd0) {
		frame->dst_incarnation = htole64(WORLD_INCARNATION);
		peer_complete(from, frame);
	}
	if ((what & 0xc0) == 64)
		frame->version -= (u8)(1 + take8() % 2);
	if (what & 128)
		((u8 *)frame)[take8() % length] = take8();
	return length;
}

/* Mostly the next number. */
static u64 choose_number(u64 *next)
{
	u8 how = take8();

	if (how >= 0xf0)
		*next = (u64)take32() << how % 32;
	else if (how >= 0xe0)
		*next += (u64)take8() * 1024;
	else if (how >= 0xc0)
		return *next - take8();
	return (*next)++;
}

/* Mostly the peer's key, sometimes another one. */
static void choose_seal(struct seal *seal, u32 from)
{
	u8 how = take8();
	u32 salt = how % SALTS;

	seal->from = &world_address[from];
	seal->to = &world_own;
	seal->secret = judge_secret_of(seal->from);
	if (how >= 0xc0)
		seal->secret = how / SALTS % (JUDGE_SECRETS + 1);
	memset(seal->salt, (int)salt, sizeof(seal->salt));
	if (seal->secret < JUDGE_SECRETS)
		seal->number = choose_number(&numbers[seal->secret][salt]);
}

static u32 finish(u8 *bytes, u32 length, u32 from)
{
	struct seal seal;

	if (((const struct vnet_frame *)(const void *)bytes)->proof != VNET_PROOF_MAC) {
		nic_frame_set_crc(bytes, length);
		return length;
	}
	choose_seal(&seal, from);
	if (seal.secret == JUDGE_SECRETS) {
		nic_frame_set_crc(bytes, length);
		return length;
	}
	judge_seal(&seal, bytes, length);
	return length + TRAILER;
}

/* Damages a frame in transit. */
static u32 spoil(u8 *bytes, u32 length)
{
	switch (take8() % 16) {
	case 0:
		bytes[take32() % length] ^= (u8)(1u << take8() % 8);
		return length;
	case 1:
		return take32() % length;
	case 2:
		memset(bytes + length, take8(), 16);
		return length + take8() % 16;
	default:
		return length;
	}
}

static void remember(u32 from, const u8 *bytes, u32 length)
{
	struct remembered *now = &past[npast++ % REMEMBERED];

	now->from = from;
	now->length = length;
	memcpy(now->bytes, bytes, length);
}

static void add_frame(void)
{
	static u64 space[(ROOM + 512) / 8];
	u8 *bytes = (void *)space;
	u32 from, length;

	begin_datagram(take8());
	from = made_from;
	length = finish(bytes, make_frame((void *)space, from), from);
	length = spoil(bytes, length);
	remember(from, bytes, length);
	append(bytes, length);
}

static void add_bytes(void)
{
	u8 bytes[64];
	u32 length;

	begin_datagram(take8());
	length = take8() % sizeof(bytes);
	take(bytes, length);
	append(bytes, length);
}

/* Fills the datagram to the maximum length, or slightly less. */
static void add_much(void)
{
	u32 length;

	begin_datagram(take8());
	length = SOCKET_ROOM - take8() % 128;
	if (length <= made->length)
		return;
	memset(made->bytes + made->length, take8(), length - made->length);
	made->length = length;
}

/* A recorded frame, from its original sender or from another one. */
static void add_again(void)
{
	const struct remembered *then;
	u8 which = take8();

	if (!npast)
		return;
	then = &past[which % (npast < REMEMBERED ? npast : REMEMBERED)];
	begin_datagram(which & 128 ? take8() : then->from);
	append(then->bytes, then->length);
}

/* The last frame that the link sent, reflected to it. */
static void add_reflected(void)
{
	begin_datagram(take8());
	append(world_last, world_last_length);
}

/* -------------------------------------------------------------------------- steps */

static void pass_time(void)
{
	u64 next;

	now_ns += 1ull << take8() % 34;
	(void)nic_run(&nic, 64, &next);
	plat_flush(&nic);
}

static void call_peer(void)
{
	u8 gid[16];

	gid_of(&world_address[take8() % WORLD_ADDRESSES], gid);
	nic_peer_call(&nic, gid);
	plat_flush(&nic);
}

static void choose_faults(void)
{
	struct link_faults faults = { .directions = LINK_IN, .seed = take8() };
	u8 which = take8();

	faults.loss = which & 1 ? 1u << 30 : 0;
	faults.duplicate = which & 2 ? 1u << 31 : 0;
	faults.reorder = which & 4 ? 1u << 30 : 0;
	faults.corrupt = which & 8 ? 1u << 30 : 0;
	faults.delay = which & 16 ? 50 : 0;
	faults.jitter = which & 32 ? 100 : 0;
	faults.down = which >= 0xf0;
	/* For some seeds, the faults apply to one peer only. */
	world_faults(&faults, faults.seed < WORLD_ADDRESSES ? &world_address[faults.seed] : NULL);
}

static void step(void)
{
	switch (take8() % 16) {
	case 0:
		add_bytes();
		break;
	case 1:
		add_much();
		break;
	case 2:
		add_reflected();
		break;
	case 3:
	case 4:
		add_again();
		break;
	case 5:
	case 6:
	case 7:
		end_datagram();
		break;
	case 8:
		look();
		break;
	case 9:
		pass_time();
		break;
	case 10:
		call_peer();
		break;
	default:
		add_frame();
		break;
	}
}

/*
 * Changes keys or faults: rarely, and with no datagram in transit. Once keys were given, there
 * are always some.
 */
static void change(void)
{
	u8 what = take8();

	if (what >= 16)
		return;
	look();
	if (what < 12)
		world_keys(1 + what % (JUDGE_SETS - 1));
	else
		choose_faults();
}

/* Sends a HELLO of this peer, which must be answered with WELCOME. */
static void say_hello(u32 from, struct seal *seal, struct vnet_frame *frame)
{
	u64 taken = world_taken();
	u32 length = sizeof(*frame) + sizeof(struct vnet_frame_hello);

	seal->number++;
	begin_datagram(from);
	judge_seal(seal, (void *)frame, length);
	append((void *)frame, length + TRAILER);
	socket_arrive();
	made = NULL;
	world_last_length = 0;
	world_look();
	CHECK(world_taken() == taken + 1 && world_last_length);
}

static bool last_is(u8 kind)
{
	return ((const struct vnet_frame *)(const void *)world_last)->kind == kind;
}

/* Whether another member of the group has claimed this peer's GID for another address. */
static bool is_impersonated(u32 who)
{
	u8 gid[16];

	gid_of(&world_address[who], gid);
	for (u32 i = 0; i < nic.max_row; i++)
		if (nic.row[i].state && !memcmp(nic.row[i].gid, gid, 16) &&
		    memcmp(&nic.row[i].address, &world_address[who], sizeof(*world_address)) != 0)
			return true;
	return false;
}

/* The peer is accepted: an acknowledgement frame without acknowledgements is not dropped. */
static void honest_ack(u32 from, struct seal *seal)
{
	static u64 space[256];
	struct vnet_frame *frame = (void *)space;
	u64 bad = world_dropped(), taken = world_taken();
	u32 length = sizeof(*frame);

	memset(space, 0, sizeof(space));
	frame->magic = htole16(VNET_WIRE_MAGIC);
	frame->version = VNET_WIRE_VERSION;
	frame->kind = VNET_FRAME_ACK;
	frame->src_incarnation = htole64(~0ull);
	frame->dst_incarnation = htole64(WORLD_INCARNATION);
	if (judge_is_local(&world_address[from]))
		frame->proof = VNET_PROOF_SECRET;
	peer_complete(from, frame);
	begin_datagram(from);
	if (frame->proof == VNET_PROOF_MAC) {
		seal->number++;
		judge_seal(seal, (void *)space, length);
		length += TRAILER;
	} else {
		nic_frame_set_crc(space, length);
	}
	append((void *)space, length);
	socket_arrive();
	made = NULL;
	world_look();
	CHECK(world_taken() == taken + 1 && world_dropped() == bad);
}

/* A valid peer completes the handshake. */
static void honest_peer(void)
{
	static u64 space[256];
	struct vnet_frame *frame = (void *)space;
	struct seal seal = { .to = &world_own };
	u32 from = 0;

	while (judge_is_stranger(&world_address[from]) ||
	       judge_secret_of(&world_address[from]) == JUDGE_SECRETS)
		if (++from == WORLD_ADDRESSES)
			return;
	memset(space, 0, sizeof(space));
	frame->magic = htole16(VNET_WIRE_MAGIC);
	frame->version = VNET_WIRE_VERSION;
	frame->kind = VNET_FRAME_HELLO;
	/* Later than any incarnation in an input. */
	frame->src_incarnation = htole64(~0ull);
	make_hello(frame, from);
	peer_complete(from, frame);
	seal.from = &world_address[from];
	seal.secret = judge_secret_of(seal.from);
	memset(seal.salt, 0x77, sizeof(seal.salt));
	say_hello(from, &seal, frame);
	CHECK(last_is(VNET_FRAME_WELCOME));
	frame->dst_incarnation = htole64(WORLD_INCARNATION);
	peer_complete(from, frame);
	if (is_impersonated(from))
		return;
	say_hello(from, &seal, frame);
	CHECK(last_is(VNET_FRAME_WELCOME) && peer_row(from) != ~0u);
	honest_ack(from, &seal);
}

int LLVMFuzzerTestOneInput(const u8 *data, size_t size)
{
	u8 what;

	input = data;
	left = size;
	npast = 0;
	made = NULL;
	memset(numbers, 0, sizeof(numbers));
	what = take8();
	world_begin(what & 1, what / 2 % JUDGE_SETS);
	if (what >= 0xe0)
		choose_faults();
	for (u32 i = 0; left && i < MAX_STEPS; i++) {
		step();
		if (take8() >= 0xf0)
			change();
	}
	if (made)
		socket_arrive();
	made = NULL;
	world_settle();
	honest_peer();
	world_end();
	return 0;
}
